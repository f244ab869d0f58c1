/* WordPiece: the longest known piece first, from left to right (Wu et al. 2016; Devlin et al.
 * 2019). A word with any unknown rest, or one too long, becomes a single [UNK]. */
#include "text/unicode.h"
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

struct gb_tokenizer {
    const gb_vocab *vocab;      /* not owned */
    gb_tokenizer_params params; /* as given */
};

/* State of one call of gb_tokenize. */
typedef struct piece_job {
    const gb_tokenizer *tokenizer; /* whose */
    gb_ids *ids;                   /* where the ids go */
    gb_status *status;             /* for running out of memory */
    char *buffer;                  /* two spare bytes, then the word */
    size_t capacity;               /* bytes allocated */
} piece_job;

gb_tokenizer *gb_tokenizer_create(const gb_vocab *vocab, gb_tokenizer_params params,
                                  gb_status *status)
{
    if (params.max_word_chars == 0) {
        gb_fail(status, GB_USAGE, NULL, "100 is BERT's value",
                "the longest word of a tokenizer must have at least 1 character");
        return NULL;
    }
    gb_tokenizer *tokenizer = gb_alloc(1, sizeof *tokenizer, status);
    if (tokenizer)
        *tokenizer = (gb_tokenizer){vocab, params};
    return tokenizer;
}

void gb_tokenizer_destroy(gb_tokenizer *tokenizer)
{
    free(tokenizer);
}

bool gb_ids_append(gb_ids *ids, uint32_t id, gb_status *status)
{
    if (!gb_grow(&ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data, status))
        return false;
    ids->data[ids->count++] = id;
    return true;
}

static bool put_id(piece_job *job, uint32_t id)
{
    return gb_ids_append(job->ids, id, job->status);
}

/* The longest token that starts at `from` (bytes up to `end`); its length in *used. A token is
 * whole characters, so only lengths that end at one can match. */
static uint32_t max_piece_length(const gb_vocab *vocab, const char *from, const char *end,
                                 size_t *used)
{
    size_t length = (size_t)(end - from), max_length = text_vocab_longest(vocab);
    if (length > max_length)
        length = max_length;
    for (; length > 0; length--) {
        uint32_t id = gb_vocab_id(vocab, from, length);
        if (id != GB_MAP_NONE) {
            *used = length;
            return id;
        }
    }
    return GB_MAP_NONE;
}

/* Callback of gb_pretokenize: one word. */
static bool cut_word(void *ctx, const char *bytes, size_t length)
{
    piece_job *job = ctx;
    const gb_vocab *vocab = job->tokenizer->vocab;
    uint32_t unknown = gb_vocab_specials(vocab).unk;
    if (length > job->tokenizer->params.max_word_chars &&
        text_unicode_count(bytes, length) > job->tokenizer->params.max_word_chars)
        return put_id(job, unknown);
    uint32_t whole = gb_vocab_id(vocab, bytes, length);
    if (whole != GB_MAP_NONE)
        return put_id(job, whole);
    if (!gb_grow(&job->buffer, &job->capacity, length + 2, 1, job->status))
        return false;
    memcpy(job->buffer + 2, bytes, length);
    char *at = job->buffer + 2, *end = at + length;
    size_t first = job->ids->count, mark = 0;
    while (at + mark < end) {
        size_t used = 0;
        uint32_t id = max_piece_length(vocab, at, end, &used);
        if (id == GB_MAP_NONE || used <= mark) {
            job->ids->count = first;
            return put_id(job, unknown);
        }
        if (!put_id(job, id))
            return false;
        /* The bytes before the rest are done with: "##" goes over the last two of them. */
        mark = 2;
        at = at + used - mark;
        at[0] = at[1] = '#';
    }
    return true;
}

/* Which special token starts at text[0]; -1 for none. */
static int special_at(const char *text, size_t length)
{
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        size_t size = strlen(special_names[i]);
        if (size <= length && memcmp(text, special_names[i], size) == 0)
            return i;
    }
    return -1;
}

bool gb_tokenize(const gb_tokenizer *tokenizer, const char *text, size_t length, gb_ids *ids,
                 gb_status *status)
{
    piece_job job = {.tokenizer = tokenizer, .ids = ids, .status = status};
    size_t before = ids->count, done = 0;
    bool ok = true;
    /* Special tokens are cut out of the raw text; what lies between is normalised by itself. */
    for (size_t at = 0; ok && at < length;) {
        const char *bracket = memchr(text + at, '[', length - at);
        if (!bracket)
            break;
        at = (size_t)(bracket - text);
        int which = special_at(bracket, length - at);
        if (which < 0) {
            at++;
            continue;
        }
        ok = gb_pretokenize(tokenizer->params, text + done, at - done, cut_word, &job, status) &&
             put_id(&job, text_vocab_special(tokenizer->vocab, which));
        at += strlen(special_names[which]);
        done = at;
    }
    ok =
        ok && gb_pretokenize(tokenizer->params, text + done, length - done, cut_word, &job, status);
    free(job.buffer);
    if (!ok)
        ids->count = before;
    return ok;
}
