/* The task of a generator: the query is written for its passage. */
#include "gabbro/querygen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writing {
    gb_querygen_task_params params; /* settings */
    const gb_qrels *pairs;          /* queries and their passages */
    const gb_tokens *tokens;        /* texts */
    const gb_lm *lm;                /* model */
    gb_epochs order;                /* of the pairs */
    uint32_t *prompt;               /* scratch: a passage and its end */
    gb_lm_pairs batch;              /* drawn */
} writing;

/* The index-th visit. */
static const gb_qrel *visit(writing *w, uint64_t index)
{
    return &w->pairs->rows[gb_epochs_at(&w->order, index)];
}

static const uint32_t *text_of(const gb_row_file *file, uint32_t row, uint32_t max_length,
                               size_t *length)
{
    const uint32_t *ids = gb_row_file_row(file, row, length);
    if (*length + 2 > max_length)
        *length = max_length - 2;
    return ids;
}

static bool add_pair(writing *w, const gb_qrel *pair, gb_status *status)
{
    size_t length, query_length;
    const uint32_t *passage =
        text_of(w->tokens->passages, pair->passage, w->params.max_passage_length, &length);
    const uint32_t *query =
        text_of(w->tokens->queries, pair->query, w->params.max_query_length, &query_length);
    memcpy(w->prompt, passage, sizeof *passage * length);
    w->prompt[length] = w->lm->config.end_id;
    return gb_lm_pairs_add(&w->batch, &w->lm->config, w->prompt, length + 1, query, query_length,
                           status);
}

static bool sample(void *self, uint32_t step, gb_bucket *shape, gb_status *status)
{
    writing *w = self;
    gb_lm_pairs_reset(&w->batch);
    for (uint32_t i = 0; i < w->params.batch; i++)
        if (!add_pair(w, visit(w, (uint64_t)step * w->params.batch + i), status))
            return false;
    shape->size[0] = gb_bucket_rows(w->batch.target.rows);
    shape->size[1] = w->batch.source.rows ? gb_bucket_rows(w->batch.source.rows) : 0;
    return true;
}

/* A query begins with one token more than it has, and so does a text behind its prompt. */
static gb_lm_pairs_sizes sizes_of(const writing *w, const gb_bucket *shape)
{
    bool encoder = w->lm->config.layers > 0;
    return (gb_lm_pairs_sizes){.texts = w->params.batch,
                               .source_rows = shape->size[1],
                               .target_rows = shape->size[0],
                               .max_source_length = w->params.max_passage_length,
                               .max_target_length = w->params.max_query_length +
                                                    (encoder ? 0 : w->params.max_passage_length)};
}

static void build(void *self, gb_builder *net, const gb_bucket *shape,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    writing *w = self;
    gb_lm_pairs_sizes sizes = sizes_of(w, shape);
    gb_lm_pairs_inputs in = gb_lm_pairs_declare(net->tape, w->lm, &sizes, &w->batch, true, true);
    losses[0] = gb_lm_loss(net->tape, w->lm, &in);
}

void *gb_querygen_task_create(const gb_querygen_task_params *params, const gb_qrels *pairs,
                              const gb_tokens *tokens, const gb_lm *lm, gb_task *task,
                              gb_status *status)
{
    writing *w = gb_alloc(1, sizeof *w, status);
    if (!w)
        return NULL;
    w->params = *params;
    w->pairs = pairs;
    w->tokens = tokens;
    w->lm = lm;
    w->prompt = gb_alloc(params->max_passage_length, sizeof *w->prompt, status);
    if (!w->prompt || !gb_epochs_make(&w->order, (uint32_t)pairs->count, params->seed, 2, status)) {
        gb_querygen_task_destroy(w);
        return NULL;
    }
    *task = (gb_task){.self = w, .loss_names = {"writing"}, .sample = sample, .build = build};
    return w;
}

void gb_querygen_task_destroy(void *self)
{
    writing *w = self;
    if (!w)
        return;
    gb_lm_pairs_free(&w->batch);
    gb_epochs_free(&w->order);
    free(w->prompt);
    free(w);
}

/* ---- measuring ---- */

/* The forward pass over batches that fill one program. */
typedef struct measurement {
    writing *w;          /* whose pairs */
    gb_executable *exec; /* forward pass */
    gb_tensor loss;      /* sum over the tokens of a batch */
} measurement;

static bool build_loss(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    measurement *m = self;
    writing *w = m->w;
    uint32_t batch = w->params.batch;
    gb_lm_pairs_sizes sizes = sizes_of(w, &(gb_bucket){0});
    sizes.target_rows = batch * sizes.max_target_length;
    sizes.source_rows = w->lm->config.layers ? batch * sizes.max_source_length : 0;
    gb_lm_pairs_inputs in = gb_lm_pairs_declare(tape, w->lm, &sizes, &w->batch, false, false);
    m->loss = gb_lm_loss(tape, w->lm, &in);
    gb_tape_output(tape, m->loss);
    return true;
}

static bool measure(measurement *m, double *sum, uint64_t *tokens, gb_status *status)
{
    writing *w = m->w;
    for (size_t i = 0; i < w->pairs->count;) {
        gb_lm_pairs_reset(&w->batch);
        for (uint32_t k = 0; k < w->params.batch && i < w->pairs->count; k++, i++)
            if (!add_pair(w, &w->pairs->rows[i], status))
                return false;
        uint64_t ticket;
        if (!gb_executable_submit(m->exec, 0, &ticket, status))
            return false;
        const float *loss = gb_executable_output(m->exec, ticket, m->loss, status);
        if (!loss)
            return false;
        *sum += *loss;
        *tokens += w->batch.target.labelled;
    }
    return true;
}

bool gb_querygen_loss(gb_device *device, void *self, const gb_params *params, const float *values,
                      double *loss, gb_status *status)
{
    measurement m = {.w = self};
    const gb_executable_params program = {.name = "held-out loss",
                                          .device = device,
                                          .params = params,
                                          .values = values,
                                          .build = build_loss,
                                          .self = &m};
    double sum = 0;
    uint64_t tokens = 0;
    bool ok =
        (m.exec = gb_executable_build(&program, status)) && measure(&m, &sum, &tokens, status);
    *loss = tokens ? sum / (double)tokens : NAN;
    gb_executable_destroy(m.exec);
    return ok;
}

bool gb_querygen_unigram_loss(const gb_qrels *train, const gb_qrels *pairs, const gb_tokens *tokens,
                              const gb_lm_config *config, double *loss, gb_status *status)
{
    uint32_t size = config->vocab_size, end = config->end_id;
    double *counts = gb_alloc(size, sizeof *counts, status), all = size, sum = 0, total = 0;
    if (!counts)
        return false;
    for (size_t i = 0; i < train->count; i++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(tokens->queries, train->rows[i].query, &length);
        for (size_t k = 0; k <= length; k++, all++)
            counts[k < length ? ids[k] : end]++;
    }
    for (size_t i = 0; i < pairs->count; i++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(tokens->queries, pairs->rows[i].query, &length);
        for (size_t k = 0; k <= length; k++, total++)
            sum += log(all / (counts[k < length ? ids[k] : end] + 1));
    }
    *loss = total > 0 ? sum / total : NAN;
    free(counts);
    return true;
}
