/* Exact search of token vectors that are compared where their tags are equal (COIL: Gao, Dai and
 * Callan, NAACL 2021), by inverted lists: of every tag the vectors of all passages that have it,
 * passage after passage. The scores have the bits of a search that looks at all pairs of tokens,
 * because the same kernels make the products, and sums have the order of the query's tokens. */
#include "search.h"

#include <gabbro/ops.h>

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* queries, and tokens of queries */

/* ---- lists ---- */

/* A token of a text. */
typedef struct token {
    uint32_t tag, row, text; /* row of the vectors */
} token;

static int by_tag(const void *a, const void *b)
{
    const token *x = a, *y = b;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The tokens of some texts by tag, in runs: those of one tag and passage, or one token of a query.
 */
typedef struct lists {
    gb_token_vectors runs; /* every run as a text */
    token *tokens;         /* [runs.tokens.rows] in that order */
    float *values;         /* [the same, width] */
    uint32_t *starts;      /* of the runs */
    uint32_t *tags;        /* [the same] */
} lists;

static void lists_free(lists *l)
{
    free(l->tokens);
    free(l->values);
    free(l->starts);
    free(l->tags);
    *l = (lists){0};
}

static const token *run_of(const lists *l, uint32_t run)
{
    return &l->tokens[l->starts[run]];
}

/* The first run of a tag that is not below this one. */
static uint32_t runs_below(const lists *l, uint64_t tag)
{
    uint32_t low = 0, high = l->runs.texts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (run_of(l, middle)->tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Vectors are read in their own order, a chunk at a time. */
static bool fill_values(const gb_token_vectors *from, uint32_t first, uint32_t rows, lists *l,
                        gb_status *status)
{
    enum { CHUNK = 4096 };
    uint32_t width = from->tokens.width, kept = l->runs.tokens.rows;
    float *chunk = gb_alloc((size_t)CHUNK * width, sizeof *chunk, status);
    uint32_t *place = gb_alloc(rows + 1, sizeof *place, status);
    bool ok = chunk && place;
    for (uint32_t i = 0; ok && i < rows; i++)
        place[i] = GB_NO_ROW;
    for (uint32_t i = 0; ok && i < kept; i++)
        place[l->tokens[i].row - first] = i;
    for (uint32_t at = 0; ok && at < rows; at += CHUNK) {
        uint32_t count = rows - at < CHUNK ? rows - at : CHUNK;
        ok = retrieve_copy_rows(&from->tokens, first + at, count, width, chunk, status);
        for (uint32_t i = 0; ok && i < count; i++)
            if (place[at + i] != GB_NO_ROW)
                memcpy(l->values + (size_t)place[at + i] * width, chunk + (size_t)i * width,
                       width * sizeof *chunk);
    }
    free(chunk);
    free(place);
    return ok;
}

/* Of texts [first, first + count); joined: tokens of one tag and text are one run. */
static bool lists_build(const gb_token_vectors *from, uint32_t first, uint32_t count, bool joined,
                        lists *l, gb_status *status)
{
    uint32_t begin = from->starts[first], rows = from->starts[first + count] - begin, kept = 0;
    *l = (lists){.tokens = gb_alloc((size_t)rows + 1, sizeof *l->tokens, status),
                 .starts = gb_alloc((size_t)rows + 1, sizeof *l->starts, status),
                 .tags = gb_alloc((size_t)rows + 1, sizeof *l->tags, status)};
    if (!l->tokens || !l->starts || !l->tags)
        return false;
    for (uint32_t text = first; text < first + count; text++)
        for (uint32_t row = from->starts[text]; row < from->starts[text + 1]; row++)
            if (from->tags[row] != GB_NO_ROW)
                l->tokens[kept++] = (token){from->tags[row], row, text};
    qsort(l->tokens, kept, sizeof *l->tokens, by_tag);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < kept; i++) {
        const token *t = &l->tokens[i];
        l->tags[i] = t->tag;
        if (!i || !joined || t[-1].tag != t->tag || t[-1].text != t->text)
            l->starts[runs++] = i;
    }
    l->starts[runs] = kept;
    uint32_t width = from->tokens.width;
    l->values = gb_alloc((size_t)kept * width + 1, sizeof *l->values, status);
    l->runs = (gb_token_vectors){.tokens = {.rows = kept, .width = width, .values = l->values},
                                 .starts = l->starts,
                                 .tags = l->tags,
                                 .texts = runs};
    return l->values && fill_values(from, begin, rows, l, status);
}

/* ---- products of a block of queries ---- */

/* What a query's token meets: the runs of its tag in the passages' lists. */
typedef struct meeting {
    uint32_t first, count; /* runs */
    size_t best;           /* place of the first's best product */
} meeting;

typedef struct block {
    const lists *passages;
    lists queries;     /* of the block */
    meeting *meetings; /* [tokens of the queries' lists] */
    float *best;       /* products */
    uint32_t *places;  /* [tokens of the block] of a query's row among the lists' tokens */
    uint32_t row;      /* first of the block */
} block;

static void block_free(block *b)
{
    lists_free(&b->queries);
    free(b->meetings);
    free(b->best);
    free(b->places);
}

static void take_products(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                          uint32_t count)
{
    const block *b = context;
    const meeting *m = &b->meetings[query];
    for (uint32_t i = 0; i < count; i++)
        if (rows[i] - m->first < m->count)
            b->best[m->best + rows[i] - m->first] = scores[i];
}

static bool meet(block *b, gb_status *status)
{
    const lists *q = &b->queries;
    uint32_t tokens = q->runs.texts;
    size_t total = 0;
    if (!(b->meetings = gb_alloc((size_t)tokens + 1, sizeof *b->meetings, status)))
        return false;
    for (uint32_t t = 0; t < tokens; t++) {
        uint64_t tag = run_of(q, t)->tag;
        meeting *m = &b->meetings[t];
        m->first = runs_below(b->passages, tag);
        m->count = runs_below(b->passages, tag + 1) - m->first;
        m->best = total;
        total += m->count;
        b->places[run_of(q, t)->row - b->row] = t;
    }
    return (b->best = gb_alloc(total + 1, sizeof *b->best, status)) != NULL;
}

/* The best product of every token with every passage that has its tag. Tokens of neighbouring tags
 * go through the device together. */
static bool multiply(gb_device *device, block *b, gb_status *status)
{
    uint32_t tokens = b->queries.runs.texts;
    if (!tokens || !b->passages->runs.texts)
        return true;
    uint32_t *rows = gb_alloc(b->passages->runs.texts, sizeof *rows, status);
    gb_token_scorer *scorer =
        rows ? gb_token_scorer_create(device, &b->queries.runs, &b->passages->runs, AT_ONCE, status)
             : NULL;
    for (uint32_t i = 0; scorer && i < b->passages->runs.texts; i++)
        rows[i] = i;
    bool ok = scorer != NULL;
    for (uint32_t t = 0, count; ok && t < tokens; t += count) {
        count = tokens - t < AT_ONCE ? tokens - t : AT_ONCE;
        const meeting *m = &b->meetings[t], *last = &b->meetings[t + count - 1];
        ok = gb_token_score(scorer, t, count, rows + m->first, last->first + last->count - m->first,
                            take_products, b, status);
    }
    gb_token_scorer_destroy(scorer);
    free(rows);
    return ok;
}

static bool block_build(gb_device *device, const gb_token_vectors *queries, uint32_t first,
                        uint32_t count, const lists *passages, block *b, gb_status *status)
{
    uint32_t rows = queries->starts[first + count] - queries->starts[first];
    *b = (block){.passages = passages,
                 .places = gb_alloc((size_t)rows + 1, sizeof *b->places, status),
                 .row = queries->starts[first]};
    for (uint32_t i = 0; b->places && i < rows; i++)
        b->places[i] = GB_NO_ROW;
    return b->places && lists_build(queries, first, count, false, &b->queries, status) &&
           meet(b, status) && multiply(device, b, status);
}

/* Queries from `first` on whose products with the passages are few enough, at least one. */
static uint32_t fitting(const gb_token_vectors *queries, uint32_t first, const lists *passages,
                        uint64_t most)
{
    uint64_t total = 0;
    uint32_t count = 0;
    while (first + count < queries->texts) {
        for (uint32_t r = queries->starts[first + count]; r < queries->starts[first + count + 1];
             r++)
            if (queries->tags[r] != GB_NO_ROW)
                total += runs_below(passages, (uint64_t)queries->tags[r] + 1) -
                         runs_below(passages, queries->tags[r]);
        if (count && total > most)
            break;
        count++;
    }
    return count;
}

/* ---- scores ---- */

/* Scores of some queries and all passages of a part. */
typedef struct scores {
    float *values;              /* [AT_ONCE, passages] */
    uint32_t query;             /* first of the queries */
    uint32_t passage, passages; /* the part's */
    uint32_t *rows;             /* [passages] of the passages */
    gb_token_vectors q, p; /* whole vectors, each as the only token of its text; width 0: none */
    uint32_t *q_starts, *p_starts; /* of these */
} scores;

static void add_whole(void *context, uint32_t query, const uint32_t *rows, const float *values,
                      uint32_t count)
{
    const scores *s = context;
    float *to = s->values + (size_t)(query - s->query) * s->passages;
    for (uint32_t i = 0; i < count; i++)
        to[rows[i] - s->passage] += values[i];
}

/* The sums over a query's tokens, in their order. */
static void add_tokens(const scores *s, const block *b, const gb_token_vectors *queries,
                       uint32_t query)
{
    float *to = s->values + (size_t)(query - s->query) * s->passages;
    for (uint32_t row = queries->starts[query]; row < queries->starts[query + 1]; row++) {
        uint32_t place = b->places[row - b->row];
        if (place == GB_NO_ROW)
            continue;
        const meeting *m = &b->meetings[place];
        for (uint32_t i = 0; i < m->count; i++)
            to[run_of(b->passages, m->first + i)->text - s->passage] += b->best[m->best + i];
    }
}

static uint32_t *count_up(uint32_t first, size_t count, gb_status *status)
{
    uint32_t *list = gb_alloc(count, sizeof *list, status);
    for (size_t i = 0; list && i < count; i++)
        list[i] = first + (uint32_t)i;
    return list;
}

static void scores_free(scores *s)
{
    free(s->values);
    free(s->rows);
    free(s->q_starts);
    free(s->p_starts);
}

static bool scores_begin(const gb_token_vectors *queries, const gb_token_vectors *passages,
                         uint32_t first, uint32_t count, scores *s, gb_status *status)
{
    *s = (scores){.values = gb_alloc((size_t)AT_ONCE * count, sizeof *s->values, status),
                  .passage = first,
                  .passages = count,
                  .rows = count_up(first, count, status),
                  .q_starts = count_up(0, (size_t)queries->texts + 1, status),
                  .p_starts = count_up(0, (size_t)passages->texts + 1, status)};
    s->q = (gb_token_vectors){
        .tokens = queries->whole, .starts = s->q_starts, .texts = queries->texts};
    s->p = (gb_token_vectors){
        .tokens = passages->whole, .starts = s->p_starts, .texts = passages->texts};
    return s->values && s->rows && s->q_starts && s->p_starts;
}

/* Hands on the scores of the queries of a block. */
static bool score_block(scores *s, const block *b, gb_token_scorer *whole,
                        const gb_token_vectors *queries, uint32_t first, uint32_t count,
                        gb_token_score_fn *each, void *context, gb_status *status)
{
    for (uint32_t q = first, now; q < first + count; q += now) {
        now = first + count - q < AT_ONCE ? first + count - q : AT_ONCE;
        s->query = q;
        memset(s->values, 0, (size_t)now * s->passages * sizeof *s->values);
        for (uint32_t i = 0; i < now; i++)
            add_tokens(s, b, queries, q + i);
        if (whole && !gb_token_score(whole, q, now, s->rows, s->passages, add_whole, s, status))
            return false;
        for (uint32_t i = 0; i < now; i++)
            each(context, q + i, s->rows, s->values + (size_t)i * s->passages, s->passages);
    }
    return true;
}

/* ---- the search ---- */

static bool search_part(gb_device *device, const gb_token_vectors *queries,
                        const gb_token_vectors *passages, uint32_t first, uint32_t count,
                        uint64_t products, gb_token_score_fn *each, void *context,
                        gb_status *status)
{
    lists parts = {0};
    scores s = {0};
    bool ok = lists_build(passages, first, count, true, &parts, status) &&
              scores_begin(queries, passages, first, count, &s, status);
    gb_token_scorer *whole =
        ok && s.p.tokens.width ? gb_token_scorer_create(device, &s.q, &s.p, AT_ONCE, status) : NULL;
    ok = ok && (whole || !s.p.tokens.width);
    for (uint32_t q = 0, now; ok && q < queries->texts; q += now) {
        now = fitting(queries, q, &parts, products);
        block b;
        ok = block_build(device, queries, q, now, &parts, &b, status) &&
             score_block(&s, &b, whole, queries, q, now, each, context, status);
        block_free(&b);
    }
    gb_token_scorer_destroy(whole);
    scores_free(&s);
    lists_free(&parts);
    return ok;
}

bool retrieve_token_lists_search(gb_device *device, const gb_token_vectors *queries,
                                 const gb_token_vectors *passages, token_lists_limits limits,
                                 gb_token_score_fn *each, void *context, gb_status *status)
{
    uint64_t bytes = limits.part_bytes ? limits.part_bytes : (uint64_t)1 << 30,
             products = limits.products ? limits.products : (uint64_t)1 << 24,
             most = bytes / (sizeof(float) * passages->tokens.width);
    bool ok = true;
    gb_progress progress;
    gb_progress_begin(&progress, "search", "passages", passages->texts, 0);
    for (uint32_t p = 0, count; ok && p < passages->texts; p += count) {
        for (count = 1; p + count < passages->texts &&
                        passages->starts[p + count + 1] - passages->starts[p] <= most;)
            count++;
        ok = search_part(device, queries, passages, p, count, products, each, context, status);
        gb_progress_update(&progress, p + count, NULL);
    }
    if (ok)
        gb_progress_end(&progress, passages->texts, NULL);
    return ok;
}
