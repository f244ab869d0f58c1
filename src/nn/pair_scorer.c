/* Scores of many pairs by a cross-encoder, in batches; no pair is padded, so none need be sorted.
 */
#include <gabbro/nn.h>

#include <stdlib.h>

#define BATCH_ROWS  2048 /* tokens of a batch */
#define BATCH_PAIRS 128  /* pairs of a batch */

struct gb_pair_scorer {
    gb_pair_scorer_params how; /* as created */
    gb_executable *exec;       /* forward pass */
    uint32_t max_rows;         /* of a batch */
    gb_tensor scores;          /* [BATCH_PAIRS, 1] */
    gb_batch batch;            /* batch being filled */
    gb_selected_rows read;     /* first rows of its pairs */
    gb_padding padding;        /* of all batches */
    uint64_t ticket;           /* of the batch before, which the device may work on */
    float *out;                /* its scores [running] */
    uint32_t running;          /* its pairs; 0: none */
};
typedef struct gb_pair_scorer scorer;

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    scorer *s = self;
    const gb_bert *bert = s->how.bert;
    gb_builder builder = gb_builder_forward(tape, &bert->config, s->how.max_length);
    builder.padding = &s->padding;
    s->max_rows = BATCH_ROWS > s->how.max_length ? BATCH_ROWS : gb_bucket_rows(s->how.max_length);
    gb_batch_inputs in =
        gb_batch_declare(&builder, &bert->config, s->max_rows, BATCH_PAIRS, &s->batch, 0);
    gb_batch_pairs_declare(&builder, &bert->config, &in, &s->batch);
    gb_selected_rows_declare(&builder, &in, BATCH_PAIRS, &s->batch, &s->read);
    s->scores = gb_pair_scores(&builder, bert, s->how.head, &in, true);
    gb_tape_output(tape, s->scores);
    return true;
}

gb_pair_scorer *gb_pair_scorer_create(const gb_pair_scorer_params *params, gb_status *status)
{
    scorer *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->how = *params;
    const gb_executable_params program = {.name = "score pairs",
                                          .device = params->device,
                                          .params = params->params,
                                          .values = params->values,
                                          .build = build,
                                          .self = s};
    if ((s->exec = gb_executable_build(&program, status)))
        return s;
    gb_pair_scorer_destroy(s);
    return NULL;
}

/* Put the scores of the batch that was run last in place. */
static bool collect(scorer *s, gb_status *status)
{
    if (!s->running)
        return true;
    uint32_t ld = gb_tape_tensor(gb_executable_tape(s->exec), s->scores)->ld;
    const float *scores = gb_executable_output(s->exec, s->ticket, s->scores, status);
    for (uint32_t i = 0; scores && i < s->running; i++)
        s->out[i] = scores[(size_t)i * ld];
    s->running = 0;
    return scores != NULL;
}

/* Hand the batch to the device, and while it works collect the batch before. out: its scores. */
static bool flush(scorer *s, float *out, gb_status *status)
{
    uint64_t ticket;
    const gb_batch *batch = &s->batch;
    if (!batch->count)
        return true;
    if (!gb_selected_rows_list(&s->read, batch->starts, batch->count, NULL, 0, status) ||
        !gb_executable_submit(s->exec, 0, &ticket, status) || !collect(s, status))
        return false;
    s->ticket = ticket;
    s->out = out;
    s->running = batch->count;
    gb_batch_reset(&s->batch);
    return true;
}

/* One more pair, which makes a batch where it does not fit the one before. i: its number. */
static bool add(scorer *s, gb_token_text query, gb_token_text passage, uint32_t i, float *out,
                gb_status *status)
{
    const gb_pair_scorer_params *how = &s->how;
    size_t length = query.length + passage.length + 3;
    length = length < how->max_length ? length : how->max_length;
    bool full = s->batch.rows + length > s->max_rows || s->batch.count == BATCH_PAIRS;
    if (full && !flush(s, out + i - s->batch.count, status))
        return false;
    if (gb_interrupted())
        return gb_fail(status, GB_INTERRUPTED, "rerank", "run the same command again", "stopped");
    return gb_batch_add_pair(&s->batch, &how->specials, query, passage, how->max_length, status);
}

static void begin(scorer *s)
{
    s->running = 0;
    gb_batch_reset(&s->batch);
}

static bool end(scorer *s, uint32_t count, float *out, gb_status *status)
{
    return flush(s, out + count - s->batch.count, status) && collect(s, status);
}

bool gb_pair_scorer_run(gb_pair_scorer *s, const gb_text_pair *pairs, uint32_t count, float *scores,
                        gb_status *status)
{
    const gb_pair_scorer_params *how = &s->how;
    begin(s);
    for (uint32_t i = 0; i < count; i++) {
        gb_token_text query = gb_token_text_of(how->queries, pairs[i].query, how->max_query_length);
        gb_token_text passage =
            gb_token_text_of(how->passages, pairs[i].passage, how->max_passage_length);
        if (!add(s, query, passage, i, scores, status))
            return false;
    }
    return end(s, count, scores, status);
}

bool gb_pair_scorer_texts(gb_pair_scorer *s, const gb_token_text *queries,
                          const gb_token_text *passages, uint32_t count, float *scores,
                          gb_status *status)
{
    begin(s);
    for (uint32_t i = 0; i < count; i++)
        if (!add(s, queries[i], passages[i], i, scores, status))
            return false;
    return end(s, count, scores, status);
}

gb_padding gb_pair_scorer_padding(const gb_pair_scorer *s)
{
    return s->padding;
}

void gb_pair_scorer_destroy(gb_pair_scorer *s)
{
    if (!s)
        return;
    gb_executable_destroy(s->exec);
    gb_batch_free(&s->batch);
    gb_selected_rows_free(&s->read);
    free(s);
}
