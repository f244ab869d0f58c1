/* Unsupervised SimCSE (Gao et al., 2021): a sentence is encoded twice, and its two vectors, which
 * differ by dropout alone, find each other in the batch.
 *   L = mean_i -log exp(cos(z_i, z'_i) / t) / sum_j exp(cos(z_i, z'_j) / t),  z = tanh(W cls + b).
 * The projector is used in training only, as released. The text is a random sentence of a passage.
 */
#include "contrast.h"

#include <stdlib.h>

typedef struct simcse {
    gb_pretrain_params params; /* settings */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    gb_projector projector;    /* on [CLS] */
    row_order order;           /* passages */
    gb_packed packed;          /* sentences, then the same again */
    texts_now now;             /* all of it or a part */
    gb_id_range *sentences;    /* scratch */
    size_t sentence_capacity;  /* allocated */
} simcse;

typedef struct graph {
    gb_packed_inputs in; /* texts */
    side_inputs sides;   /* both views of them */
} graph;

static bool add_sentence(simcse *s, uint32_t step, uint32_t i, gb_status *status)
{
    text_ids text =
        passage_ids(&s->data, row_order_at(&s->order, (uint64_t)step * s->params.batch + i));
    gb_rng rng = gb_rng_make(s->params.seed, GB_RNG_CONTEXT, step, i);
    if (!gb_grow(&s->sentences, &s->sentence_capacity, text.length + 1, sizeof *s->sentences,
                 status))
        return false;
    uint32_t count = gb_id_sentences(s->data.vocab, text.ids, (uint32_t)text.length, s->sentences);
    gb_id_range range = count ? s->sentences[gb_rng_below(&rng, count)] : (gb_id_range){0, 0};
    gb_special_ids specials = gb_vocab_specials(s->data.vocab);
    return gb_packed_add(&s->packed, &specials, text.ids + range.start, NULL,
                         range.end - range.start, s->params.longest, status);
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    simcse *s = self;
    gb_packed_reset(&s->packed);
    for (uint32_t i = 0; i < 2 * s->params.batch; i++)
        if (!add_sentence(s, step, i % s->params.batch, status))
            return false;
    return texts_drawn(&s->now, &s->packed, NULL, 0, shape, status);
}

static uint32_t count(const void *self)
{
    return 2 * ((const simcse *)self)->params.batch;
}

static bool take_part(void *self, uint32_t first, uint32_t texts, gb_shape *shape,
                      gb_status *status)
{
    simcse *s = self;
    return texts_part(&s->now, &s->packed, NULL, first, texts, 1, shape, status);
}

/* Projected [CLS] vectors of length 1. */
static gb_tensor view(const simcse *s, gb_net *net, gb_tensor h, const gb_rows_inputs *cls)
{
    gb_tensor z = gb_projector_apply(net, &s->projector, gb_rows_gather(net, h, cls));
    return gb_normalize_rows(net->tape, z);
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    simcse *s = self;
    graph *g = graph_;
    uint32_t batch = s->params.batch, rows = shape->size[0];
    if (shape->texts) {
        g->in = texts_declare(net, s->bert, shape, shape->texts);
        g->sides.first = gb_rows_declare(net, shape->texts, rows);
        net->vectors = view(s, net, gb_bert_encode(net, s->bert, &g->in, 0, NULL), &g->sides.first);
        losses[0] = GB_NO_TENSOR;
        return;
    }
    g->in = texts_declare(net, s->bert, shape, 2 * batch);
    g->sides = side_declare(net, batch, rows);
    gb_tensor h = gb_bert_encode(net, s->bert, &g->in, 0, NULL);
    losses[0] = pair_loss(net, &g->sides.pairs, view(s, net, h, &g->sides.first),
                          view(s, net, h, &g->sides.second), s->params.temperature);
}

static void compare(void *self, gb_net *net, gb_tensor vectors, void *graph_,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    simcse *s = self;
    graph *g = graph_;
    g->sides = side_declare(net, s->params.batch, 2 * s->params.batch);
    losses[0] = side_loss(net, &g->sides, vectors, s->params.temperature);
}

static bool fill_compare(void *self, gb_exec *exec, const void *graph_, gb_status *status)
{
    (void)self;
    return side_fill_vectors(exec, &((const graph *)graph_)->sides, status);
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    simcse *s = self;
    const graph *g = graph_;
    const gb_packed *texts = s->now.packed;
    if (!texts_fill(exec, &g->in, &s->now, s->bert, s->params.seed, step, status))
        return false;
    if (texts != &s->packed)
        return gb_rows_fill(exec, &g->sides.first, texts->starts, texts->count, status);
    return side_fill(exec, &g->sides, texts->starts, status);
}

static void destroy(void *self)
{
    simcse *s = self;
    if (!s)
        return;
    row_order_free(&s->order);
    gb_packed_free(&s->packed);
    texts_free(&s->now);
    free(s->sentences);
    free(s);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    if (bert->config.hidden_dropout <= 0 && bert->config.attention_dropout <= 0) {
        gb_fail(status, GB_USAGE, NULL, "give a --dropout, e.g. .1",
                "simcse needs dropout: its two views of a text differ by nothing else");
        return NULL;
    }
    simcse *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->params = *params;
    s->data = *data;
    s->bert = bert;
    if (!gb_projector_declare(model, "projector", GB_PROJECTOR_NONLINEAR, &bert->config,
                              &s->projector, status) ||
        !row_order_passages(&s->order, data, params, status)) {
        destroy(s);
        return NULL;
    }
    *task = (gb_task){.self = s,
                      .loss_names = {"contrastive"},
                      .graph_bytes = sizeof(graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill,
                      .cut = {.count = count,
                              .select = take_part,
                              .vectors = 1,
                              .compare = compare,
                              .fill_compare = fill_compare}};
    return s;
}

const gb_objective objective_simcse = {"simcse", false, create, destroy, "contrast"};
