/* Masked language modelling (Devlin et al., 2019) of passages, whole words masked. */
#include "common.h"

#include <stdlib.h>

typedef struct mlm {
    gb_pretrain_params params; /* settings */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    gb_packed packed;          /* batch of the step */
    labelled_rows labelled;    /* its masked rows */
    texts_now now;             /* all of it or a part */
} mlm;

typedef struct graph {
    gb_packed_inputs in;    /* texts */
    labelled_inputs labels; /* masked rows */
} graph;

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    mlm *m = self;
    gb_packed_reset(&m->packed);
    for (uint32_t i = 0; i < m->params.batch; i++) {
        uint32_t passage = row_order_at(&m->order, (uint64_t)step * m->params.batch + i);
        gb_rng rng = gb_rng_make(m->params.seed, GB_RNG_MASK, step, i);
        if (!add_masked(&m->masker, &m->packed, &m->data, passage_ids(&m->data, passage),
                        m->params.mask_ratio, m->params.longest, &rng, status))
            return false;
    }
    return texts_drawn(&m->now, &m->packed, &m->labelled, 1, shape, status);
}

static uint32_t count(const void *self)
{
    return ((const mlm *)self)->params.batch;
}

static bool take_part(void *self, uint32_t first, uint32_t texts, gb_shape *shape,
                      gb_status *status)
{
    mlm *m = self;
    return texts_part(&m->now, &m->packed, &m->labelled, first, texts, 1, shape, status);
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    mlm *m = self;
    graph *g = graph_;
    g->in = texts_declare(net, m->bert, shape, texts_of(shape, m->params.batch));
    g->labels = labelled_declare(net, shape->size[1], shape->size[0], 0);
    gb_tensor h = gb_bert_encode(net, m->bert, &g->in, 0, NULL);
    losses[0] = labelled_loss(net, m->bert, &g->labels, h, GB_NO_TENSOR);
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    mlm *m = self;
    const graph *g = graph_;
    return texts_fill(exec, &g->in, &m->now, m->bert, m->params.seed, step, status) &&
           labelled_fill(exec, &g->labels, m->now.labelled, NULL, status);
}

static void destroy(void *self)
{
    mlm *m = self;
    if (!m)
        return;
    row_order_free(&m->order);
    masker_free(&m->masker);
    gb_packed_free(&m->packed);
    labelled_rows_free(&m->labelled);
    texts_free(&m->now);
    free(m);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    mlm *m = gb_alloc(1, sizeof *m, status);
    if (!m)
        return NULL;
    m->params = *params;
    m->data = *data;
    m->bert = bert;
    if (!row_order_passages(&m->order, data, params, status)) {
        free(m);
        return NULL;
    }
    *task = (gb_task){.self = m,
                      .loss_names = {"mlm"},
                      .graph_bytes = sizeof(graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill,
                      .cut = {.count = count, .select = take_part}};
    return m;
}

const gb_objective objective_mlm = {"mlm", false, create, destroy};
