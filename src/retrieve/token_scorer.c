/* Scores of late interaction on the device: a block of queries against blocks of passages, one
 * block running while the scores of the one before are handed on. */
#include "search.h"

#include <gabbro/ops.h>

#include <stdlib.h>
#include <string.h>

#define QUERY_TOKENS   2048  /* of a block, unless one text is longer */
#define PASSAGE_TOKENS 32768 /* the same */
#define PASSAGES       2048  /* of a block */
#define LARGEST_WIDTH  4096

/* One side of a block. */
typedef struct block_side {
    const gb_token_vectors *from; /* what there is */
    uint32_t texts, rows;         /* of a block */
    gb_tensor tokens;             /* f32 [rows, width] */
    gb_tensor whole;              /* f32 [texts, width], or none */
    gb_tensor starts, tags;       /* see gb_max_sim_input */
} block_side;

/* A block on its way through the device. */
typedef struct running_block {
    uint64_t ticket;      /* of its run; 0: none */
    const uint32_t *rows; /* passages of the block [count], in scorer.listed or the caller's */
    uint32_t count;       /* of them */
} running_block;

struct gb_token_scorer {
    block_side queries, passages;
    gb_tensor scores;    /* [queries, passages] */
    gb_executable *exec; /* the program */
    uint32_t *listed;    /* [all passages] their rows, for those who ask for all */
};

/* ---- the program ---- */

static uint32_t longest(const gb_token_vectors *v)
{
    uint32_t most = 1;
    for (uint32_t t = 0; t < v->texts; t++)
        if (v->starts[t + 1] - v->starts[t] > most)
            most = v->starts[t + 1] - v->starts[t];
    return most;
}

static block_side size_side(const gb_token_vectors *v, uint32_t texts, uint32_t tokens)
{
    block_side side = {.from = v, .texts = texts < v->texts ? texts : v->texts};
    uint32_t all = v->tokens.rows ? v->tokens.rows : 1, most = longest(v);
    side.texts = side.texts ? side.texts : 1;
    side.rows = tokens < most ? most : tokens;
    if ((uint64_t)side.texts * most < side.rows)
        side.rows = side.texts * most;
    side.rows = ((side.rows < all ? side.rows : all) + 63) / 64 * 64;
    return side;
}

static void declare_side(block_side *side, gb_tape *tape, gb_tensor starts, gb_tensor tags)
{
    const gb_token_vectors *v = side->from;
    side->tokens = gb_tape_input(tape, "tokens", GB_F32, side->rows, v->tokens.width);
    side->whole = v->whole.width
                      ? gb_tape_input(tape, "whole texts", GB_F32, side->texts, v->whole.width)
                      : GB_NO_TENSOR;
    side->starts = starts;
    side->tags = tags;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    gb_token_scorer *s = self;
    gb_max_sim_input in = gb_max_sim_declare(tape, s->queries.texts, s->queries.rows,
                                             s->passages.texts, s->passages.rows);
    declare_side(&s->queries, tape, in.query_starts, in.query_tags);
    declare_side(&s->passages, tape, in.passage_starts, in.passage_tags);
    bool tagged = s->queries.from->tags != NULL;
    s->scores = gb_max_sim(tape, s->queries.tokens, s->passages.tokens, &in, tagged);
    if (s->queries.whole != GB_NO_TENSOR)
        s->scores =
            gb_add(tape, s->scores, gb_matmul(tape, GB_NT, s->queries.whole, s->passages.whole));
    gb_tape_output(tape, s->scores);
    return true;
}

/* A program of inputs alone. */
static bool declare_nothing(void *self, gb_params *params, gb_status *status)
{
    (void)self, (void)params, (void)status;
    return true;
}

static bool fits(const gb_token_vectors *q, const gb_token_vectors *p, gb_status *status)
{
    if (q->tokens.width != p->tokens.width || !q->tokens.width || q->tokens.width > LARGEST_WIDTH ||
        q->whole.width != p->whole.width || q->whole.width > LARGEST_WIDTH)
        return gb_fail(status, GB_DATA, "search", "encode queries and passages with the same model",
                       "tokens of queries have %u dimensions and of passages %u, whole texts %u "
                       "and %u; both must have as many, at most %u",
                       q->tokens.width, p->tokens.width, q->whole.width, p->whole.width,
                       LARGEST_WIDTH);
    return !q->tags == !p->tags ||
           gb_fail(status, GB_DATA, "search", "encode queries and passages with the same model",
                   "only %s have tags of tokens", q->tags ? "queries" : "passages");
}

gb_token_scorer *gb_token_scorer_create(gb_device *device, const gb_token_vectors *queries,
                                        const gb_token_vectors *passages, uint32_t queries_at_once,
                                        gb_status *status)
{
    if (!fits(queries, passages, status))
        return NULL;
    gb_token_scorer *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->queries = size_side(queries, queries_at_once, QUERY_TOKENS);
    s->passages = size_side(passages, PASSAGES, PASSAGE_TOKENS);
    const gb_executable_params program = {.name = "late interaction",
                                          .device = device,
                                          .declare = declare_nothing,
                                          .build = build,
                                          .self = s};
    if ((s->listed = gb_alloc(passages->texts, sizeof *s->listed, status)) &&
        (s->exec = gb_executable_build(&program, status))) {
        for (uint32_t p = 0; p < passages->texts; p++)
            s->listed[p] = p;
        return s;
    }
    gb_token_scorer_destroy(s);
    return NULL;
}

void gb_token_scorer_destroy(gb_token_scorer *s)
{
    if (!s)
        return;
    gb_executable_destroy(s->exec);
    free(s->listed);
    free(s);
}

/* ---- running it ---- */

/* Texts that fit into a block: rows [count] of them at most. */
static uint32_t fitting(const block_side *side, const uint32_t *rows, uint32_t count)
{
    const uint32_t *starts = side->from->starts;
    uint32_t texts = 0, tokens = 0;
    while (texts < count && texts < side->texts) {
        tokens += starts[rows[texts] + 1] - starts[rows[texts]];
        if (tokens > side->rows)
            break;
        texts++;
    }
    return texts;
}

/* Copies vectors and tags of texts rows [count] to the device; texts that follow each other are
 * read together. */
static bool fill_side(gb_token_scorer *s, const block_side *side, const uint32_t *rows,
                      uint32_t count, gb_status *status)
{
    const gb_token_vectors *v = side->from;
    const gb_tape *tape = gb_executable_tape(s->exec);
    float *tokens = gb_executable_input(s->exec, side->tokens, status);
    uint32_t *starts = tokens ? gb_executable_input(s->exec, side->starts, status) : NULL;
    uint32_t *tags = starts ? gb_executable_input(s->exec, side->tags, status) : NULL;
    bool wholes = side->whole != GB_NO_TENSOR;
    float *whole = tags && wholes ? gb_executable_input(s->exec, side->whole, status) : NULL;
    if (!tags || (wholes && !whole))
        return false;
    uint32_t ld = gb_tape_tensor(tape, side->tokens)->ld, at = 0;
    uint32_t whole_ld = wholes ? gb_tape_tensor(tape, side->whole)->ld : 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && rows[end] == rows[end - 1] + 1;)
            end++;
        uint32_t first = v->starts[rows[i]], tokens_here = v->starts[rows[end - 1] + 1] - first;
        if ((tokens_here && !retrieve_copy_rows(&v->tokens, first, tokens_here, ld,
                                                tokens + (size_t)at * ld, status)) ||
            (wholes && !retrieve_copy_rows(&v->whole, rows[i], end - i, whole_ld,
                                           whole + (size_t)i * whole_ld, status)))
            return false;
        for (uint32_t t = i; t < end; t++)
            starts[t] = at + v->starts[rows[t]] - first;
        for (uint32_t t = 0; t < tokens_here; t++)
            tags[at + t] = v->tags ? v->tags[first + t] : 0;
        at += tokens_here;
    }
    for (uint32_t t = count; t <= side->texts; t++)
        starts[t] = at; /* those that are not there are empty */
    for (uint32_t t = at; t < side->rows; t++)
        tags[t] = GB_NO_ROW;
    return true;
}

static bool hand_on(gb_token_scorer *s, const running_block *block, uint32_t first, uint32_t count,
                    gb_token_score_fn *each, void *context, gb_status *status)
{
    const float *scores = gb_executable_output(s->exec, block->ticket, s->scores, status);
    if (!scores)
        return false;
    size_t ld = gb_tape_tensor(gb_executable_tape(s->exec), s->scores)->ld;
    for (uint32_t q = 0; q < count; q++)
        each(context, first + q, block->rows, scores + q * ld, block->count);
    return true;
}

/* Queries [first, first + count), which fit into a block, against all blocks of passages. */
static bool score_block(gb_token_scorer *s, const uint32_t *queries, uint32_t count,
                        const uint32_t *rows, uint32_t row_count, gb_token_score_fn *each,
                        void *context, gb_status *status)
{
    running_block last = {0};
    for (uint32_t done = 0; done < row_count;) {
        running_block now = {.rows = rows + done,
                             .count = fitting(&s->passages, rows + done, row_count - done)};
        if (!fill_side(s, &s->queries, queries, count, status) ||
            !fill_side(s, &s->passages, now.rows, now.count, status) ||
            !gb_executable_run(s->exec, &now.ticket, status) ||
            (last.ticket && !hand_on(s, &last, *queries, count, each, context, status)))
            return false;
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, "search", "run the same command again",
                           "interrupted");
        done += now.count;
        last = now;
    }
    return !last.ticket || hand_on(s, &last, *queries, count, each, context, status);
}

bool gb_token_score(gb_token_scorer *s, uint32_t first, uint32_t count, const uint32_t *rows,
                    uint32_t row_count, gb_token_score_fn *each, void *context, gb_status *status)
{
    uint32_t *queries = gb_alloc(count, sizeof *queries, status);
    bool ok = queries != NULL;
    for (uint32_t q = 0; ok && q < count; q++)
        queries[q] = first + q;
    for (uint32_t done = 0, now; ok && done < count; done += now) {
        now = fitting(&s->queries, queries + done, count - done);
        ok = score_block(s, queries + done, now, rows ? rows : s->listed, row_count, each, context,
                         status);
    }
    free(queries);
    return ok;
}
