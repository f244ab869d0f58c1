/* coCondenser (Gao and Callan, 2022): masked LM of the encoder and of the Condenser head, and a
 * contrastive loss between the [CLS] vectors of the two masked texts of a pair.
 *   L = L_mlm + L_head + L_co,
 *   L_co = 1/2N sum_i -log exp(h_i . h_pos(i)) / sum_{j != i} exp(h_i . h_j), temperature 1.
 * The head's input is the late [CLS] and the states of a middle layer. */
#include "common.h"

#include <stdlib.h>

typedef struct cocondenser {
    gb_pretrain_params params; /* settings */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    gb_block *head;            /* [params.head_layers] */
    document_list documents;   /* spans of documents */
    row_order order;           /* documents (spans) or passages (queries) */
    masker masker;             /* scratch */
    gb_packed packed;          /* 2 * batch texts: pairs side by side */
    labelled_rows labelled;    /* masked rows */
} cocondenser;

typedef struct graph {
    gb_packed_inputs in;    /* texts */
    gb_rows_inputs cls;     /* their first rows */
    labelled_inputs labels; /* masked rows, of the encoder and again of the head */
    gb_tensor sibling;      /* u32 [2N, 1] */
    gb_tensor weights;      /* f32 [2N, 1] */
    gb_tensor itself;       /* u32 [2N, words]: the diagonal */
} graph;

/* Two texts: spans of one document, without replacement, or a passage and one of its queries. */
static void draw_pair(cocondenser *c, uint32_t row, gb_rng *rng, text_ids pair[2])
{
    if (c->params.context == GB_CONTEXT_SPAN) {
        uint32_t first = c->documents.first[row];
        row = first + gb_rng_below(rng, c->documents.first[row + 1] - first);
        pair[0] = span_ids(&c->data, &c->documents, row);
    } else {
        pair[0] = passage_ids(&c->data, row);
    }
    pair[1] = context_ids(&c->data, &c->params, &c->documents, row, rng);
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    cocondenser *c = self;
    gb_packed_reset(&c->packed);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        uint32_t row = row_order_at(&c->order, (uint64_t)step * c->params.batch + i);
        gb_rng context = gb_rng_make(c->params.seed, GB_RNG_CONTEXT, step, i);
        text_ids pair[2];
        draw_pair(c, row, &context, pair);
        for (uint32_t side = 0; side < 2; side++) {
            gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, 2 * i + side);
            if (!add_masked(&c->masker, &c->packed, &c->data, pair[side], c->params.mask_ratio,
                            c->params.longest, &rng, status))
                return false;
        }
    }
    shape->size[0] = gb_bucket_rows(c->packed.rows);
    shape->size[1] = gb_bucket_rows(2 * c->packed.labelled);
    return labelled_rows_of(&c->labelled, &c->packed, status);
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    cocondenser *c = self;
    graph *g = graph_;
    uint32_t texts = 2 * c->params.batch, rows = shape->size[0];
    g->in = gb_packed_declare(net, &c->bert->config, rows, texts);
    g->cls = gb_rows_declare(net, texts, rows);
    g->labels = labelled_declare(net, shape->size[1], rows, rows);
    g->sibling = gb_tape_input(net->tape, "siblings", GB_U32, texts, 1);
    g->weights = gb_tape_input(net->tape, "pair weights", GB_F32, texts, 1);
    g->itself = gb_tape_input(net->tape, "diagonal", GB_U32, texts, (texts + 31) / 32);

    gb_tensor middle, h = gb_bert_encode(net, c->bert, &g->in, c->params.skip_from, &middle);
    gb_tensor cls = gb_rows_gather(net, h, &g->cls);
    gb_tensor x = gb_merge_rows(net->tape, middle, cls, g->cls.inverse, g->cls.index);
    for (uint32_t l = 0; l < c->params.head_layers; l++)
        x = gb_block_apply(net, &c->head[l], &g->in, x);
    losses[1] = labelled_loss(net, c->bert, &g->labels, h, x);
    losses[2] = gb_softmax_loss(net->tape, gb_matmul(net->tape, GB_NT, cls, cls), g->sibling,
                                g->weights, g->itself);
    losses[0] = gb_add(net->tape, losses[1], losses[2]);
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    cocondenser *c = self;
    const graph *g = graph_;
    uint32_t texts = 2 * c->params.batch, words = (texts + 31) / 32;
    if (!gb_packed_fill(exec, &g->in, &c->packed, &c->bert->config, c->params.seed, step, status) ||
        !gb_rows_fill(exec, &g->cls, c->packed.starts, texts, status) ||
        !labelled_fill(exec, &g->labels, &c->labelled, &c->labelled, status))
        return false;
    uint32_t *sibling = gb_exec_input(exec, g->sibling, status);
    float *weights = sibling ? gb_exec_input(exec, g->weights, status) : NULL;
    uint32_t *itself = weights ? gb_exec_input(exec, g->itself, status) : NULL;
    if (!itself)
        return false;
    for (uint32_t i = 0; i < texts; i++) {
        sibling[i] = i ^ 1;
        weights[(size_t)i * 4] = 1.0f / (float)texts;
        for (uint32_t w = 0; w < words; w++)
            itself[i * words + w] = w == i / 32 ? 1u << (i % 32) : 0;
    }
    return true;
}

static void destroy(void *self)
{
    cocondenser *c = self;
    if (!c)
        return;
    document_list_free(&c->documents);
    row_order_free(&c->order);
    masker_free(&c->masker);
    gb_packed_free(&c->packed);
    labelled_rows_free(&c->labelled);
    free(c->head);
    free(c);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    cocondenser *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->data = *data;
    c->bert = bert;
    c->head = gb_alloc(params->head_layers, sizeof *c->head, status);
    bool ok = c->head != NULL;
    for (uint32_t l = 0; ok && l < params->head_layers; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "condenser.layer.%u", l);
        ok = gb_block_declare(model, prefix, &bert->config, &c->head[l], status);
    }
    ok = ok && document_list_make(&c->documents, data->collection, status) &&
         row_order_make(&c->order, data->collection, params->context == GB_CONTEXT_SPAN,
                        params->seed, status);
    if (!ok) {
        destroy(c);
        return NULL;
    }
    document_list_note(&c->documents, params);
    *task = (gb_task){.self = c,
                      .loss_names = {"total", "mlm", "contrastive"},
                      .graph_bytes = sizeof(graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill};
    return c;
}

const gb_objective objective_cocondenser = {"cocondenser", true, create, destroy};
