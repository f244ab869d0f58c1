/* BM25: Lucene's one-byte lengths and the building of the index. */
#include "bm25.h"

#include <math.h>
#include <stdlib.h>

/* A float with a 4-bit significand (the leading 1 is implied, 3 bits are stored) for integers:
 * 0..7 as they are, then (8 + low three bits) << (exponent - 1). */
static uint32_t float_encode(uint32_t value)
{
    if (value < 8)
        return value;
    uint32_t shift = 28 - (uint32_t)__builtin_clz(value); /* bits below the four kept ones */
    return (shift + 1) << 3 | (value >> shift & 7);
}

static uint32_t float_decode(uint32_t code)
{
    return code < 8 ? code : (8 | (code & 7)) << ((code >> 3) - 1);
}

/* Codes that INT32_MAX leaves unused in a byte serve the smallest values exactly: 255 - 231 = 24.
 */
#define FREE_CODES 24

uint8_t gb_length_to_byte(uint32_t length)
{
    if (length > INT32_MAX)
        length = INT32_MAX;
    return (uint8_t)(length < FREE_CODES ? length : FREE_CODES + float_encode(length - FREE_CODES));
}

uint32_t gb_byte_to_length(uint8_t byte)
{
    return byte < FREE_CODES ? byte : FREE_CODES + float_decode(byte - FREE_CODES);
}

gb_bm25_params gb_bm25_defaults(void)
{
    return (gb_bm25_params){.k1 = 0.9, .b = 0.4, .source = gb_terms_english()};
}

gb_bm25 *gb_bm25_create(gb_bm25_params params, gb_status *status)
{
    if (!(params.k1 >= 0 && isfinite(params.k1) && params.b >= 0 && params.b <= 1)) {
        gb_fail(status, GB_USAGE, NULL, "k1 is at least 0, b lies in 0 to 1",
                "BM25 cannot use k1 %g, b %g", params.k1, params.b);
        return NULL;
    }
    if (params.rm3.passages &&
        !(params.rm3.terms && params.rm3.original >= 0 && params.rm3.original <= 1)) {
        gb_fail(status, GB_USAGE, NULL, "take at least one term, and a weight from 0 to 1",
                "RM3 cannot use %u terms, weight %g", params.rm3.terms, params.rm3.original);
        return NULL;
    }
    gb_bm25 *index = gb_alloc(1, sizeof *index, status);
    if (!index)
        return NULL;
    index->params = params;
    index->terms = gb_map_create(status);
    index->state = index->terms ? params.source.open(params.source.config, status) : NULL;
    if (!index->state) {
        gb_bm25_destroy(index);
        return NULL;
    }
    return index;
}

static void free_building(gb_bm25 *index)
{
    if (index->state)
        index->params.source.close(index->state);
    free(index->distinct);
    free(index->place);
    index->state = NULL;
    index->distinct = NULL;
    index->place = NULL;
}

void gb_bm25_destroy(gb_bm25 *index)
{
    if (!index)
        return;
    free_building(index);
    free(index->log);
    free(index->words);
    free(index->first);
    gb_map_destroy(index->terms);
    free(index->lengths);
    free(index->starts);
    free(index->texts);
    free(index->counts);
    free(index);
}

/* A text being added. */
typedef struct adding {
    gb_bm25 *index;    /* where to */
    size_t first;      /* its first entry in the log */
    uint64_t length;   /* terms so far */
    uint32_t times;    /* that each term counts */
    bool failed;       /* status is set */
    gb_status *status; /* of the caller */
} adding;

static bool add_term(void *ctx, const char *bytes, size_t length)
{
    adding *text = ctx;
    gb_bm25 *index = text->index;
    uint32_t term = gb_map_get(index->terms, bytes, length);
    text->failed = true; /* until the end is reached */
    if (term == GB_MAP_NONE) {
        term = index->term_count;
        if (term == GB_MAP_NONE - 1)
            return gb_fail(text->status, GB_DATA, NULL, NULL, "more than 4294967293 terms");
        if (!gb_grow(&index->place, &index->place_capacity, (size_t)term + 1, sizeof(size_t),
                     text->status) ||
            !gb_map_set(index->terms, bytes, length, term, text->status))
            return false;
        index->place[term] = 0;
        if (index->params.rm3.passages) {
            if (!gb_grow(&index->words, &index->word_capacity, (size_t)term + 1, sizeof(bool),
                         text->status))
                return false;
            index->words[term] = lexical_bm25_feedback_word(bytes, length);
        }
        index->term_count++;
    }
    if (index->place[term] > text->first) {
        index->log[index->place[term] - 1].count += text->times;
    } else {
        if (!gb_grow(&index->log, &index->log_capacity, index->log_count + 1, sizeof *index->log,
                     text->status))
            return false;
        index->log[index->log_count++] = (bm25_entry){term, text->times};
        index->place[term] = index->log_count;
    }
    text->length += text->times;
    text->failed = false;
    return true;
}

/* Terms of a text or of a part of it. */
static bool add_part(gb_bm25 *index, const char *text, size_t length, uint32_t times,
                     gb_status *status)
{
    if (index->finished)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "the index is finished");
    adding a = {.index = index,
                .first = index->text_first,
                .length = index->text_length,
                .times = times,
                .status = status};
    if (!index->params.source.terms(index->state, text, length, add_term, &a, status) || a.failed)
        return false;
    index->text_length = a.length;
    return true;
}

/* The text is complete. */
static bool end_text(gb_bm25 *index, gb_status *status)
{
    if (index->text_count >= GB_NO_PASSAGE - 1)
        return gb_fail(status, GB_DATA, NULL, NULL, "more than %u texts", index->text_count);
    uint32_t row = index->text_count;
    uint64_t terms = index->text_length;
    if (!gb_grow(&index->lengths, &index->length_capacity, (size_t)row + 1, 1, status) ||
        !gb_grow(&index->distinct, &index->distinct_capacity, (size_t)row + 1, sizeof(uint32_t),
                 status))
        return false;
    index->lengths[row] = gb_length_to_byte(terms < INT32_MAX ? (uint32_t)terms : INT32_MAX);
    index->distinct[row] = (uint32_t)(index->log_count - index->text_first);
    index->total_length += terms;
    index->filled_texts += terms > 0;
    index->text_count++;
    index->text_first = index->log_count;
    index->text_length = 0;
    return true;
}

bool gb_bm25_add(gb_bm25 *index, const char *text, size_t length, gb_status *status)
{
    return add_part(index, text, length, 1, status) && end_text(index, status);
}

bool gb_bm25_add_words(gb_bm25 *index, const char *word, size_t length, uint32_t count,
                       gb_status *status)
{
    return !count || add_part(index, word, length, count, status);
}

bool gb_bm25_end_words(gb_bm25 *index, gb_status *status)
{
    return end_text(index, status);
}

/* Where the entries of each text begin; the entries themselves stay. */
static bool keep_texts(gb_bm25 *index, gb_status *status)
{
    index->first = gb_alloc((size_t)index->text_count + 1, sizeof *index->first, status);
    for (uint32_t row = 0; index->first && row < index->text_count; row++)
        index->first[row + 1] = index->first[row] + index->distinct[row];
    return index->first;
}

bool gb_bm25_finish(gb_bm25 *index, gb_status *status)
{
    if (index->finished)
        return true;
    size_t *starts = gb_alloc((size_t)index->term_count + 2, sizeof *starts, status);
    index->texts = gb_alloc(index->log_count, sizeof *index->texts, status);
    index->counts = gb_alloc(index->log_count, sizeof *index->counts, status);
    if (!starts || !index->texts || !index->counts ||
        (index->params.rm3.passages && !keep_texts(index, status))) {
        free(starts);
        return false;
    }
    /* Counting sort by term, stable, so texts ascend inside a term. Sizes go two places ahead; the
     * placing pass then leaves starts[term] at the start of term. */
    for (size_t i = 0; i < index->log_count; i++)
        starts[index->log[i].term + 2]++;
    for (uint32_t t = 0; t < index->term_count; t++)
        starts[t + 2] += starts[t + 1];
    size_t entry = 0;
    for (uint32_t row = 0; row < index->text_count; row++)
        for (uint32_t i = 0; i < index->distinct[row]; i++, entry++) {
            size_t to = starts[index->log[entry].term + 1]++;
            uint32_t count = index->log[entry].count;
            index->texts[to] = row;
            index->counts[to] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
        }
    index->starts = starts;
    index->text_bytes = index->log_capacity * sizeof *index->log +
                        index->log_count * (sizeof *index->texts + sizeof *index->counts) +
                        index->distinct_capacity * sizeof *index->distinct + index->length_capacity;
    /* Lucene computes in float; so do we, to have its ties. */
    float k1 = (float)index->params.k1, b = (float)index->params.b;
    float mean =
        index->filled_texts ? (float)((double)index->total_length / index->filled_texts) : 1;
    for (int i = 0; i < 256; i++)
        index->inverse[i] =
            1.0f / (k1 * ((1 - b) + b * (float)gb_byte_to_length((uint8_t)i) / mean));
    free_building(index);
    if (!index->first) {
        free(index->log);
        index->log = NULL;
    }
    index->finished = true;
    return true;
}

uint32_t gb_bm25_count(const gb_bm25 *index)
{
    return index->text_count;
}

uint32_t gb_bm25_terms(const gb_bm25 *index)
{
    return index->term_count;
}

uint64_t gb_bm25_text_bytes(const gb_bm25 *index)
{
    return index->text_bytes;
}
