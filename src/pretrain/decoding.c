#include "decoding.h"

#include <stdlib.h>

/* ---- for decoders ---- */

void decoder_prefix(uint32_t l, char prefix[DECODER_PREFIX])
{
    snprintf(prefix, DECODER_PREFIX, "decoder.layer.%u", l);
}

bool decoder_add_plain(decoding *d, text_ids text, uint32_t step, uint32_t i, gb_status *status)
{
    (void)step, (void)i;
    gb_special_ids specials = gb_vocab_specials(d->data.vocab);
    return gb_packed_add(&d->contexts, &specials, text.ids, NULL, text.length, d->params.longest,
                         status);
}

/* Row 0 predicts from the [CLS] vector alone; [SEP] is a target too. */
bool decoder_next_tokens(decoding *d, gb_status *status)
{
    const gb_packed *texts = &d->contexts;
    d->targets.count = 0;
    for (uint32_t s = 0; s < texts->count; s++)
        for (uint32_t r = texts->starts[s]; r + 1 < texts->starts[s + 1]; r++)
            if (!labelled_rows_add(&d->targets, r, texts->ids[r + 1], status))
                return false;
    return true;
}

gb_tensor decoder_inputs(const decoding *d, gb_net *net, const decoding_graph *g, gb_tensor cls)
{
    /* Slot 0 is the raw [CLS] vector; the other slots are the encoder's own embeddings. */
    return gb_merge_rows(net->tape, gb_bert_embed(net, d->bert, &g->context), cls, g->slot.inverse,
                         g->slot.index);
}

/* ---- masked and causal decoders ---- */

typedef struct plain_layers {
    gb_block *blocks;                /* [params.decoder_layers] */
    uint32_t norm_weight, norm_bias; /* last norm, where layers are pre-norm */
} plain_layers;

static void destroy_layers(void *own)
{
    plain_layers *layers = own;
    if (!layers)
        return;
    free(layers->blocks);
    free(layers);
}

static plain_layers *create_layers(const decoding *d, gb_params *model, gb_status *status)
{
    plain_layers *layers = gb_alloc(1, sizeof *layers, status);
    if (!layers)
        return NULL;
    layers->blocks = gb_alloc(d->params.decoder_layers, sizeof *layers->blocks, status);
    bool ok = layers->blocks != NULL;
    for (uint32_t l = 0; ok && l < d->params.decoder_layers; l++) {
        char prefix[DECODER_PREFIX];
        decoder_prefix(l, prefix);
        ok = gb_block_declare(model, prefix, &d->bert->config, &layers->blocks[l], status);
    }
    if (ok)
        return layers;
    destroy_layers(layers);
    return NULL;
}

static void *create_masked(const decoding *d, gb_params *model, gb_status *status)
{
    return create_layers(d, model, status);
}

static void *create_causal(const decoding *d, gb_params *model, gb_status *status)
{
    uint32_t hidden = d->bert->config.hidden_size;
    plain_layers *layers = create_layers(d, model, status);
    if (!layers)
        return NULL;
    layers->norm_weight =
        gb_params_add_vector(model, "decoder.LayerNorm.weight", hidden, GB_INIT_ONES, status);
    layers->norm_bias =
        gb_params_add_vector(model, "decoder.LayerNorm.bias", hidden, GB_INIT_ZEROS, status);
    if (layers->norm_weight != UINT32_MAX && layers->norm_bias != UINT32_MAX)
        return layers;
    destroy_layers(layers);
    return NULL;
}

const gb_block *decoder_block(const decoding *d, uint32_t l)
{
    return &((const plain_layers *)d->own)->blocks[l];
}

static bool add_masked_text(decoding *d, text_ids text, uint32_t step, uint32_t i,
                            gb_status *status)
{
    gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i + 1);
    return add_masked(&d->masker, &d->contexts, &d->data, text, d->params.decoder_mask_ratio,
                      d->params.longest, &rng, status);
}

static bool masked_tokens(decoding *d, gb_status *status)
{
    return labelled_rows_of(&d->targets, &d->contexts, status);
}

static gb_tensor apply_masked(const decoding *d, gb_net *net, decoding_graph *g, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = decoder_inputs(d, net, g, cls);
    for (uint32_t l = 0; l < d->params.decoder_layers; l++)
        x = gb_block_apply(net, &layers->blocks[l], &g->context, x);
    return x;
}

static gb_tensor apply_causal(const decoding *d, gb_net *net, decoding_graph *g, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = decoder_inputs(d, net, g, cls);
    for (uint32_t l = 0; l < d->params.decoder_layers; l++)
        x = gb_block_apply_causal(net, &layers->blocks[l], &g->context, x, d->params.window);
    return gb_layer_norm(net->tape, x, gb_tape_param(net->tape, layers->norm_weight),
                         gb_tape_param(net->tape, layers->norm_bias), net->eps);
}

const decoder_kind decoder_masked = {
    2, create_masked, destroy_layers, add_masked_text, masked_tokens, apply_masked, NULL};
const decoder_kind decoder_causal = {
    1, create_causal, destroy_layers, decoder_add_plain, decoder_next_tokens, apply_causal, NULL};

/* ---- the task ---- */

/* The encoder's rows, the decoder's, rows with a loss of both, and the encoder's that are read. */
static void size_of(const decoding *d, uint32_t read, gb_shape *shape)
{
    const texts_now *now = d->now;
    shape->size[0] = gb_bucket_rows(now[0].packed->rows);
    shape->size[1] = gb_bucket_rows(now[1].packed->rows);
    shape->size[2] = gb_bucket_rows(now[0].labelled->count + now[1].labelled->count);
    shape->size[SHAPE_READ] = read;
}

bool decoding_whole(decoding *d, gb_shape *shape, gb_status *status)
{
    gb_shape of[2] = {0};
    if (!texts_whole(&d->now[0], &d->passages, &d->masked, &of[0], status) ||
        !texts_whole(&d->now[1], &d->contexts, &d->targets, &of[1], status))
        return false;
    size_of(d, of[0].size[SHAPE_READ], shape);
    return true;
}

static uint32_t count(const void *self)
{
    return ((const decoding *)self)->params.batch;
}

static bool take_part(void *self, uint32_t first, uint32_t texts, gb_shape *shape,
                      gb_status *status)
{
    decoding *d = self;
    gb_shape of[2] = {0};
    if (!texts_part(&d->now[0], &d->passages, &d->masked, first, texts, 1, &of[0], status) ||
        !texts_part(&d->now[1], &d->contexts, &d->targets, first, texts, 1, &of[1], status))
        return false;
    size_of(d, of[0].size[SHAPE_READ], shape);
    return true;
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    decoding *d = self;
    gb_packed_reset(&d->passages);
    gb_packed_reset(&d->contexts);
    for (uint32_t i = 0; i < d->params.batch; i++) {
        gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i);
        text_ids pair[2];
        pair_source_at(&d->source, &d->data, &d->params, step, i, pair);
        if (!add_masked(&d->masker, &d->passages, &d->data, pair[0], d->params.mask_ratio,
                        d->params.longest, &rng, status) ||
            !d->decoder->add_text(d, pair[1], step, i, status))
            return false;
    }
    if (!labelled_rows_of(&d->masked, &d->passages, status) || !d->decoder->find_targets(d, status))
        return false;
    return decoding_whole(d, shape, status);
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    decoding *d = self;
    decoding_graph *g = graph_;
    uint32_t batch = texts_of(shape, d->params.batch), rows = shape->size[0];
    uint32_t context_rows = shape->size[1];
    g->in = texts_declare(net, d->bert, shape, batch);
    g->context = gb_packed_declare(net, &d->bert->config, context_rows, batch);
    g->cls = gb_rows_declare(net, batch, rows);
    g->slot = gb_rows_declare(net, batch, context_rows);
    g->labels = labelled_declare(net, shape->size[2], rows, context_rows);
    gb_tensor h = gb_bert_encode(net, d->bert, &g->in, 0, NULL);
    gb_tensor cls = gb_rows_gather(net, h, &g->cls);
    losses[0] = labelled_loss(net, d->bert, &g->labels, h, d->decoder->apply(d, net, g, cls));
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    decoding *d = self;
    const decoding_graph *g = graph_;
    const gb_bert_config *config = &d->bert->config;
    const gb_packed *passages = d->now[0].packed, *contexts = d->now[1].packed;
    return texts_fill(exec, &g->in, &d->now[0], d->bert, d->params.seed, step, status) &&
           gb_packed_fill(exec, &g->context, contexts, config, d->params.seed, step, status) &&
           gb_rows_fill(exec, &g->cls, passages->starts, passages->count, status) &&
           gb_rows_fill(exec, &g->slot, contexts->starts, contexts->count, status) &&
           labelled_fill(exec, &g->labels, d->now[0].labelled, d->now[1].labelled, status) &&
           (!d->decoder->fill || d->decoder->fill(d, exec, g, status));
}

void decoding_destroy(void *self)
{
    decoding *d = self;
    if (!d)
        return;
    d->decoder->destroy(d->own);
    pair_source_free(&d->source);
    masker_free(&d->masker);
    gb_packed_free(&d->passages);
    gb_packed_free(&d->contexts);
    labelled_rows_free(&d->masked);
    labelled_rows_free(&d->targets);
    texts_free(&d->now[0]);
    texts_free(&d->now[1]);
    free(d);
}

void *decoding_create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                      const gb_bert *bert, gb_params *model, const decoder_kind *kind,
                      gb_task *task, gb_status *status)
{
    decoding *d = gb_alloc(1, sizeof *d, status);
    if (!d)
        return NULL;
    d->params = *params;
    d->data = *data;
    d->bert = bert;
    d->decoder = kind;
    d->now[1].all_read = true;
    if (!d->params.decoder_layers)
        d->params.decoder_layers = kind->layers;
    d->own = kind->create(d, model, status);
    if (!d->own || !pair_source_make(&d->source, data, params, false, status)) {
        decoding_destroy(d);
        return NULL;
    }
    *task = (gb_task){.self = d,
                      .loss_names = {"total"},
                      .graph_bytes = sizeof(decoding_graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill,
                      .cut = {.count = count, .select = take_part}};
    return d;
}
