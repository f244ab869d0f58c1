/* Extractive query generator: short web-like queries from the salient words and phrases of a
 * passage. A word's weight is its saturated count in the passage times its rarity in the
 * collection (the shape of BM25's term weight); a phrase is up to three neighbouring content words.
 * It stands in where no query generation model's output is at hand. */
#include "data/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PHRASE_WORDS = 3, CANDIDATES = 24, TRIES = 8 };

/* A run of neighbouring words of a passage. */
typedef struct phrase {
    uint32_t start; /* place of its first word */
    uint32_t words; /* 1..PHRASE_WORDS */
    double score;   /* how telling it is */
} phrase;

typedef struct querygen {
    gb_row_file *titles, *texts;              /* the passages */
    gb_map *numbers;                          /* word -> number */
    gb_arena *arena;                          /* the words' bytes */
    char **words;                             /* [count of numbers] */
    uint32_t *df;                             /* passages with the word */
    uint32_t *seen;                           /* last passage counted for it, plus 1 */
    uint32_t *tf;                             /* count in the current passage */
    size_t words_space, df_space, seen_space; /* capacities */
    uint32_t *tokens;      /* current passage: word numbers, GB_MAP_NONE between phrases */
    size_t tokens_space;   /* capacity */
    uint32_t token_count;  /* tokens in use */
    uint32_t passage;      /* current one */
    bool counting;         /* first reading: count passages with each word */
    phrase *phrases;       /* candidates of the current passage, best first */
    size_t phrases_space;  /* capacity */
    uint32_t phrase_count; /* candidates in use */
    gb_status *status;     /* for the callback */
    gb_progress progress;  /* in passages, each read twice */
} querygen;

/* ---- words ---- */

static bool is_content(const char *bytes, size_t length)
{
    unsigned char first = (unsigned char)bytes[0];
    bool letter = first >= 0x80 || (first >= 'a' && first <= 'z');
    bool digit = first >= '0' && first <= '9';
    return (digit || (letter && length > 1)) && !gb_is_stop_word(bytes, length);
}

static uint32_t add_word(querygen *gen, const char *bytes, size_t length)
{
    uint32_t number = (uint32_t)gb_map_count(gen->numbers);
    if (!gb_grow(&gen->words, &gen->words_space, (size_t)number + 1, sizeof *gen->words,
                 gen->status) ||
        !gb_grow(&gen->df, &gen->df_space, (size_t)number + 1, sizeof *gen->df, gen->status) ||
        !gb_grow(&gen->seen, &gen->seen_space, (size_t)number + 1, sizeof *gen->seen,
                 gen->status) ||
        !(gen->words[number] = gb_arena_strdup(gen->arena, bytes, length, gen->status)) ||
        !gb_map_set(gen->numbers, bytes, length, number, gen->status))
        return GB_MAP_NONE;
    gen->df[number] = gen->seen[number] = 0;
    return number;
}

/* A word of the current passage, in reading order. */
static bool on_word(void *ctx, const char *bytes, size_t length)
{
    querygen *gen = ctx;
    uint32_t number = GB_MAP_NONE;
    if (is_content(bytes, length)) {
        number = gb_map_get(gen->numbers, bytes, length);
        if (number == GB_MAP_NONE && (number = add_word(gen, bytes, length)) == GB_MAP_NONE)
            return false;
        if (gen->counting && gen->seen[number] != gen->passage + 1) {
            gen->seen[number] = gen->passage + 1;
            gen->df[number]++;
        }
    }
    if (!gb_grow(&gen->tokens, &gen->tokens_space, (size_t)gen->token_count + 1,
                 sizeof *gen->tokens, gen->status))
        return false;
    gen->tokens[gen->token_count++] = number;
    return true;
}

static bool read_passage(querygen *gen, uint32_t passage)
{
    static const gb_tokenizer_params params = {true, true, 100};
    gb_row_file *tables[] = {gen->titles, gen->texts};
    gen->token_count = 0;
    gen->passage = passage;
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        const char *text = gb_row_file_row(tables[i], passage, &length);
        if (!gb_pretokenize(params, text, length, on_word, gen, gen->status) ||
            !on_word(gen, ".", 1)) /* no phrase across title and text */
            return false;
    }
    return true;
}

/* ---- phrases ---- */

static double word_weight(const querygen *gen, uint32_t word)
{
    double passages = (double)gb_row_file_count(gen->texts), tf = gen->tf[word];
    return tf / (tf + 1.2) * log((passages + 1.0) / (gen->df[word] + 0.5));
}

static int by_score(const void *a, const void *b)
{
    const phrase *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->words > y->words) - (x->words < y->words);
}

/* Keep the best candidates, each wording once. Equal wordings have equal scores, so the first kept
 * is the earliest. */
static void keep_best(querygen *gen, size_t count)
{
    gen->phrase_count = 0;
    for (size_t i = 0; i < count && gen->phrase_count < CANDIDATES; i++) {
        phrase p = gen->phrases[i];
        bool repeat = false;
        for (uint32_t j = 0; j < gen->phrase_count && !repeat; j++)
            repeat = gen->phrases[j].words == p.words &&
                     memcmp(gen->tokens + gen->phrases[j].start, gen->tokens + p.start,
                            p.words * sizeof *gen->tokens) == 0;
        if (!repeat)
            gen->phrases[gen->phrase_count++] = p;
    }
}

static bool find_phrases(querygen *gen)
{
    const uint32_t *tokens = gen->tokens;
    for (uint32_t i = 0; i < gen->token_count; i++)
        if (tokens[i] != GB_MAP_NONE)
            gen->tf[tokens[i]]++;
    size_t count = 0;
    for (uint32_t i = 0; i < gen->token_count; i++) {
        double sum = 0;
        for (uint32_t n = 1; n <= PHRASE_WORDS && i + n <= gen->token_count; n++) {
            if (tokens[i + n - 1] == GB_MAP_NONE)
                break;
            sum += word_weight(gen, tokens[i + n - 1]);
            phrase p = {.start = i, .words = n, .score = sum / sqrt(n)};
            if (sum <= 0)
                continue;
            if (!gb_grow(&gen->phrases, &gen->phrases_space, count + 1, sizeof *gen->phrases,
                         gen->status))
                return false;
            gen->phrases[count++] = p;
        }
    }
    if (count)
        qsort(gen->phrases, count, sizeof *gen->phrases, by_score);
    keep_best(gen, count);
    for (uint32_t i = 0; i < gen->token_count; i++)
        if (tokens[i] != GB_MAP_NONE)
            gen->tf[tokens[i]] = 0;
    return true;
}

/* ---- queries ---- */

/* A candidate drawn with probability proportional to its squared score. */
static const phrase *draw_phrase(const querygen *gen, gb_rng *rng)
{
    double total = 0;
    for (uint32_t i = 0; i < gen->phrase_count; i++)
        total += gen->phrases[i].score * gen->phrases[i].score;
    double at = gb_rng_uniform(rng) * total;
    for (uint32_t i = 0; i < gen->phrase_count; i++) {
        at -= gen->phrases[i].score * gen->phrases[i].score;
        if (at < 0)
            return &gen->phrases[i];
    }
    return &gen->phrases[gen->phrase_count - 1];
}

static bool share_word(const querygen *gen, const phrase *a, const phrase *b)
{
    for (uint32_t i = 0; i < a->words; i++)
        for (uint32_t j = 0; j < b->words; j++)
            if (gen->tokens[a->start + i] == gen->tokens[b->start + j])
                return true;
    return false;
}

static void append_phrase(const querygen *gen, const phrase *p, gb_text *out)
{
    for (uint32_t i = 0; i < p->words; i++)
        gb_text_printf(out, "%s%s", out->length ? " " : "", gen->words[gen->tokens[p->start + i]]);
}

/* One or two phrases in reading order; a sixth of the queries as a question. */
static void write_query(const querygen *gen, gb_rng *rng, gb_text *out)
{
    out->length = 0;
    const phrase *a = draw_phrase(gen, rng), *b = draw_phrase(gen, rng);
    bool question = gb_rng_below(rng, 6) == 0, two = gb_rng_below(rng, 3) > 0;
    if (question)
        gb_text_printf(out, "what is");
    if (two && !question && !share_word(gen, a, b)) {
        append_phrase(gen, a->start < b->start ? a : b, out);
        append_phrase(gen, a->start < b->start ? b : a, out);
    } else {
        append_phrase(gen, a, out);
    }
}

/* All queries of the current passage. Repeats are drawn again a few times: a very short passage may
 * still have equal ones. A passage without any content word has none. */
static void write_passage(const querygen *gen, uint32_t per_passage, uint64_t seed, gb_text *query,
                          gb_text *row)
{
    row->length = 0;
    for (uint32_t k = 0; k < per_passage && gen->phrase_count; k++) {
        gb_rng rng = gb_rng_make(seed, GB_RNG_QUERYGEN, k, gen->passage);
        for (int attempt = 0; attempt < TRIES; attempt++) {
            write_query(gen, &rng, query);
            if (!gb_generated_row_has(row->data, row->length, query->data, query->length))
                break;
        }
        gb_text_append(row, query->data, query->length);
        gb_text_append(row, "\n", 1);
    }
}

static bool write_all(querygen *gen, gb_row_writer *writer, uint32_t per_passage, uint64_t seed,
                      gb_generated_counts *counts)
{
    gb_text query = {0}, row = {0};
    bool ok = true;
    uint32_t passages = (uint32_t)gb_row_file_count(gen->texts);
    for (uint32_t p = 0; p < passages && ok; p++) {
        ok = read_passage(gen, p) && find_phrases(gen);
        if (!ok)
            break;
        write_passage(gen, per_passage, seed, &query, &row);
        counts->without += row.length == 0;
        counts->queries += row.length ? per_passage : 0;
        gb_progress_update(&gen->progress, (uint64_t)passages + p + 1, NULL);
        ok = query.failed || row.failed
                 ? gb_fail_memory(gen->status, "generating queries")
                 : gb_row_writer_add(writer, row.data, row.length, gen->status);
    }
    counts->least = counts->most = counts->queries ? per_passage : 0;
    gb_text_free(&query);
    gb_text_free(&row);
    return ok;
}

static bool querygen_open(querygen *gen, const char *folder, gb_status *status)
{
    gen->status = status;
    gen->titles = gb_row_file_open_in(folder, "passages.title.gbt", 1, status);
    gen->texts = gb_row_file_open_in(folder, "passages.text.gbt", 1, status);
    gen->numbers = gb_map_create(status);
    gen->arena = gb_arena_create(1 << 16, status);
    if (!gen->titles || !gen->texts || !gen->numbers || !gen->arena)
        return false;
    uint32_t passages = (uint32_t)gb_row_file_count(gen->texts);
    gen->counting = true;
    gb_progress_begin(&gen->progress, "extract queries", "passages", 2 * (uint64_t)passages, 0);
    for (uint32_t p = 0; p < passages; p++) {
        if (!read_passage(gen, p))
            return false;
        gb_progress_update(&gen->progress, p + 1, NULL);
    }
    gen->counting = false;
    gen->tf = gb_alloc(gb_map_count(gen->numbers), sizeof *gen->tf, status);
    return gen->tf != NULL;
}

bool data_generated_extract(const char *folder, const char *out_folder, uint32_t per_passage,
                            uint64_t seed, gb_generated_counts *counts, gb_status *status)
{
    *counts = (gb_generated_counts){0};
    querygen gen = {0};
    gb_row_writer *writer = NULL;
    bool ok = querygen_open(&gen, folder, status) &&
              (writer = gb_row_writer_open_in(out_folder, "generated.gbt", 1, status)) &&
              write_all(&gen, writer, per_passage, seed, counts);
    if (ok)
        gb_progress_end_long(&gen.progress, gen.progress.total);
    ok = gb_row_writer_end(writer, ok, status);
    gb_row_file_close(gen.titles);
    gb_row_file_close(gen.texts);
    gb_map_destroy(gen.numbers);
    gb_arena_destroy(gen.arena);
    free(gen.words);
    free(gen.df);
    free(gen.seen);
    free(gen.tf);
    free(gen.tokens);
    free(gen.phrases);
    return ok;
}
