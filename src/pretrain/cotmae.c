/* CoT-MAE (Wu et al., 2023): the encoder's masked LM of a passage, and the decoding of its context
 * from the passage's [CLS] vector and the context's own embeddings.
 * Two decoders: causal (released code: GPT-2 blocks, window 3, every next token is a target), and
 * masked (the paper's text: BERT layers, masked tokens are the targets). */
#include "common.h"

#include <stdlib.h>

typedef struct cotmae {
    gb_pretrain_params params;       /* settings */
    gb_pretrain_data data;           /* texts */
    const gb_bert *bert;             /* model */
    gb_block *blocks;                /* decoder, [params.decoder_layers] */
    uint32_t norm_weight, norm_bias; /* last norm of the causal decoder */
    document_list documents;         /* passages of documents */
    row_order order;                 /* passages */
    masker masker;                   /* scratch */
    gb_packed passages, contexts;    /* encoder's and decoder's batch */
    labelled_rows masked, targets;   /* rows with a loss in each */
} cotmae;

typedef struct graph {
    gb_packed_inputs in, context; /* passages and contexts */
    gb_rows_inputs cls;           /* first rows of the passages */
    gb_rows_inputs slot;          /* first rows of the contexts */
    labelled_inputs labels;       /* rows with a loss */
} graph;

/* Every row but the last predicts the next token; row 0 predicts from the [CLS] vector alone. */
static bool next_tokens(cotmae *c, gb_status *status)
{
    c->targets.count = 0;
    for (uint32_t s = 0; s < c->contexts.count; s++)
        for (uint32_t r = c->contexts.starts[s]; r + 1 < c->contexts.starts[s + 1]; r++)
            if (!labelled_rows_add(&c->targets, r, c->contexts.ids[r + 1], status))
                return false;
    return true;
}

static bool add_context(cotmae *c, text_ids text, uint32_t step, uint32_t i, gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(c->data.vocab);
    if (c->params.decoder == GB_DECODER_CAUSAL)
        return gb_packed_add(&c->contexts, &specials, text.ids, NULL, text.length,
                             c->params.longest, status);
    gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, 2 * i + 1);
    return add_masked(&c->masker, &c->contexts, &c->data, text, c->params.decoder_mask_ratio,
                      c->params.longest, &rng, status);
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    cotmae *c = self;
    gb_packed_reset(&c->passages);
    gb_packed_reset(&c->contexts);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        uint32_t row = row_order_at(&c->order, (uint64_t)step * c->params.batch + i);
        gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, 2 * i);
        gb_rng draw = gb_rng_make(c->params.seed, GB_RNG_CONTEXT, step, i);
        bool halves = c->params.context == GB_CONTEXT_SPAN && c->documents.halves;
        if (halves)
            row = 2 * row + gb_rng_below(&draw, 2);
        text_ids text =
            halves ? span_ids(&c->data, &c->documents, row) : passage_ids(&c->data, row);
        if (!add_masked(&c->masker, &c->passages, &c->data, text, c->params.mask_ratio,
                        c->params.longest, &rng, status) ||
            !add_context(c, context_ids(&c->data, &c->params, &c->documents, row, &draw), step, i,
                         status))
            return false;
    }
    bool causal = c->params.decoder == GB_DECODER_CAUSAL;
    if (!labelled_rows_of(&c->masked, &c->passages, status) ||
        !(causal ? next_tokens(c, status) : labelled_rows_of(&c->targets, &c->contexts, status)))
        return false;
    shape->size[0] = gb_bucket_rows(c->passages.rows);
    shape->size[1] = gb_bucket_rows(c->contexts.rows);
    shape->size[2] = gb_bucket_rows(c->masked.count + c->targets.count);
    return true;
}

static gb_tensor decode(const cotmae *c, gb_net *net, const gb_packed_inputs *context, gb_tensor x)
{
    bool causal = c->params.decoder == GB_DECODER_CAUSAL;
    for (uint32_t l = 0; l < c->params.decoder_layers; l++)
        x = causal ? gb_block_apply_causal(net, &c->blocks[l], context, x, c->params.window)
                   : gb_block_apply(net, &c->blocks[l], context, x);
    return causal ? gb_layer_norm(net->tape, x, gb_tape_param(net->tape, c->norm_weight),
                                  gb_tape_param(net->tape, c->norm_bias), net->eps)
                  : x;
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    cotmae *c = self;
    graph *g = graph_;
    uint32_t batch = c->params.batch, rows = shape->size[0], context_rows = shape->size[1];
    g->in = gb_packed_declare(net, &c->bert->config, rows, batch);
    g->context = gb_packed_declare(net, &c->bert->config, context_rows, batch);
    g->cls = gb_rows_declare(net, batch, rows);
    g->slot = gb_rows_declare(net, batch, context_rows);
    g->labels = labelled_declare(net, shape->size[2], rows, context_rows);

    gb_tensor h = gb_bert_encode(net, c->bert, &g->in, 0, NULL);
    gb_tensor cls = gb_rows_gather(net, h, &g->cls);
    /* Slot 0 is the raw [CLS] vector; the other slots are the encoder's own embeddings. */
    gb_tensor x = gb_merge_rows(net->tape, gb_bert_embed(net, c->bert, &g->context), cls,
                                g->slot.inverse, g->slot.index);
    losses[0] = labelled_loss(net, c->bert, &g->labels, h, decode(c, net, &g->context, x));
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    cotmae *c = self;
    const graph *g = graph_;
    const gb_bert_config *config = &c->bert->config;
    return gb_packed_fill(exec, &g->in, &c->passages, config, c->params.seed, step, status) &&
           gb_packed_fill(exec, &g->context, &c->contexts, config, c->params.seed, step, status) &&
           gb_rows_fill(exec, &g->cls, c->passages.starts, c->params.batch, status) &&
           gb_rows_fill(exec, &g->slot, c->contexts.starts, c->params.batch, status) &&
           labelled_fill(exec, &g->labels, &c->masked, &c->targets, status);
}

static void destroy(void *self)
{
    cotmae *c = self;
    if (!c)
        return;
    document_list_free(&c->documents);
    row_order_free(&c->order);
    masker_free(&c->masker);
    gb_packed_free(&c->passages);
    gb_packed_free(&c->contexts);
    labelled_rows_free(&c->masked);
    labelled_rows_free(&c->targets);
    free(c->blocks);
    free(c);
}

static bool declare(cotmae *c, gb_params *model, gb_status *status)
{
    uint32_t hidden = c->bert->config.hidden_size;
    c->blocks = gb_alloc(c->params.decoder_layers, sizeof *c->blocks, status);
    bool ok = c->blocks != NULL;
    for (uint32_t l = 0; ok && l < c->params.decoder_layers; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "decoder.layer.%u", l);
        ok = gb_block_declare(model, prefix, &c->bert->config, &c->blocks[l], status);
    }
    if (!ok || c->params.decoder != GB_DECODER_CAUSAL)
        return ok;
    c->norm_weight =
        gb_params_add(model, "decoder.LayerNorm.weight", 1, hidden, false, GB_INIT_ONES, 0, status);
    c->norm_bias =
        gb_params_add(model, "decoder.LayerNorm.bias", 1, hidden, false, GB_INIT_ZEROS, 0, status);
    return c->norm_weight != UINT32_MAX && c->norm_bias != UINT32_MAX;
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    cotmae *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->data = *data;
    c->bert = bert;
    if (!declare(c, model, status) ||
        !document_list_make(&c->documents, data->collection, status) ||
        !row_order_make(&c->order, data->collection, false, params->seed, status)) {
        destroy(c);
        return NULL;
    }
    document_list_note(&c->documents, params);
    *task = (gb_task){.self = c,
                      .loss_names = {"total"},
                      .graph_bytes = sizeof(graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill};
    return c;
}

const gb_objective objective_cotmae = {"cotmae", true, create, destroy};
