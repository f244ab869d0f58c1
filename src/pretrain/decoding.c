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
    return gb_packed_add(&d->contexts.all, &specials, text.ids, NULL, text.length,
                         d->params.longest, status);
}

/* Row 0 predicts from the [CLS] vector alone; [SEP] is a target too. */
bool decoder_next_tokens(decoding *d, gb_status *status)
{
    const gb_packed *texts = &d->contexts.all;
    d->contexts.labelled.count = 0;
    for (uint32_t s = 0; s < texts->count; s++)
        for (uint32_t r = texts->starts[s]; r + 1 < texts->starts[s + 1]; r++)
            if (!labelled_rows_add(&d->contexts.labelled, r, texts->ids[r + 1], status))
                return false;
    return true;
}

gb_tensor decoder_inputs(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    /* Slot 0 is the raw [CLS] vector; the other slots are the encoder's own embeddings. */
    return gb_merge_rows(dn->net->tape, gb_bert_embed(dn->net, d->bert, &dn->texts), cls,
                         dn->slot.inverse, dn->slot.index);
}

/* ---- masked and causal decoders ---- */

typedef struct plain_layers {
    gb_block *blocks;                /* [how.layers] */
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
    layers->blocks = gb_alloc(d->how.layers, sizeof *layers->blocks, status);
    bool ok = layers->blocks != NULL;
    for (uint32_t l = 0; ok && l < d->how.layers; l++) {
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
    return add_masked(&d->masker, &d->contexts.all, &d->data, text, d->how.decoder_mask_ratio,
                      d->params.longest, &rng, status);
}

static bool masked_tokens(decoding *d, gb_status *status)
{
    return labelled_rows_of(&d->contexts.labelled, &d->contexts.all, status);
}

static gb_tensor apply_masked(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = decoder_inputs(d, dn, cls);
    for (uint32_t l = 0; l < d->how.layers; l++)
        x = gb_block_apply(dn->net, &layers->blocks[l], &dn->texts, x);
    return x;
}

static gb_tensor apply_causal(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = decoder_inputs(d, dn, cls);
    for (uint32_t l = 0; l < d->how.layers; l++)
        x = gb_block_apply_causal(dn->net, &layers->blocks[l], &dn->texts, x, d->how.window);
    gb_tape *tape = dn->net->tape;
    return gb_layer_norm(tape, x, gb_tape_param(tape, layers->norm_weight),
                         gb_tape_param(tape, layers->norm_bias), dn->net->eps);
}

const decoder_kind decoder_masked = {
    2, create_masked, destroy_layers, add_masked_text, masked_tokens, apply_masked};
const decoder_kind decoder_causal = {
    1, create_causal, destroy_layers, decoder_add_plain, decoder_next_tokens, apply_causal};

/* ---- the task ---- */

/* The encoder's rows, the decoder's, rows with a loss of both, and the encoder's that are read. */
static void size(const void *self, uint32_t first, uint32_t count, gb_shape *shape)
{
    const decoding *d = self;
    shape->size[0] = gb_bucket_rows(batch_texts_rows(&d->passages, first, count));
    shape->size[1] = gb_bucket_rows(batch_texts_rows(&d->contexts, first, count));
    shape->size[2] = gb_bucket_rows(batch_texts_labelled(&d->passages, first, count) +
                                    batch_texts_labelled(&d->contexts, first, count));
    shape->size[SHAPE_READ] = batch_texts_read(&d->passages, first, count);
}

bool decoding_take_all(decoding *d, gb_shape *shape, gb_status *status)
{
    size(d, 0, d->params.batch, shape);
    return batch_texts_take_all(&d->passages, status) && batch_texts_take_all(&d->contexts, status);
}

static uint32_t count(const void *self)
{
    return ((const decoding *)self)->params.batch;
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    decoding *d = self;
    return batch_texts_take(&d->passages, first, texts, status) &&
           batch_texts_take(&d->contexts, first, texts, status);
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    decoding *d = self;
    batch_texts_reset(&d->passages);
    batch_texts_reset(&d->contexts);
    for (uint32_t i = 0; i < d->params.batch; i++) {
        gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i);
        text_ids pair[2];
        pair_source_at(&d->source, &d->data, &d->params, step, i, pair);
        if (!add_masked(&d->masker, &d->passages.all, &d->data, pair[0], d->how.mask_ratio,
                        d->params.longest, &rng, status) ||
            !d->decoder->add_text(d, pair[1], step, i, status))
            return false;
    }
    return labelled_rows_of(&d->passages.labelled, &d->passages.all, status) &&
           d->decoder->find_targets(d, status) && decoding_take_all(d, shape, status);
}

static void build(void *self, gb_net *net, const gb_shape *shape, gb_tensor losses[GB_MAX_LOSSES])
{
    decoding *d = self;
    const batch_texts *passages = &d->passages, *contexts = &d->contexts;
    uint32_t batch = texts_of(shape, d->params.batch), rows = shape->size[1];
    gb_packed_inputs in = batch_texts_declare(net, d->bert, shape, batch, passages, d->params.seed);
    decoder_net dn = {.net = net,
                      .texts = gb_packed_declare(net, &d->bert->config, rows, batch, &contexts->now,
                                                 d->params.seed)};
    gb_rows_inputs first = gb_first_rows_declare(net, batch, in.rows, &passages->now, 0);
    dn.slot = gb_first_rows_declare(net, batch, rows, &contexts->now, 0);
    labelled_inputs labels = labelled_declare(net, shape->size[2], in.rows, &passages->now_labelled,
                                              rows, &contexts->now_labelled);
    gb_tensor h = gb_bert_encode(net, d->bert, &in, 0, NULL);
    gb_tensor cls = gb_rows_gather(net, h, &first);
    losses[0] = labelled_loss(net, d->bert, &labels, h, d->decoder->apply(d, &dn, cls));
}

void decoding_destroy(void *self)
{
    decoding *d = self;
    if (!d)
        return;
    d->decoder->destroy(d->own);
    pair_source_free(&d->source);
    masker_free(&d->masker);
    batch_texts_free(&d->passages);
    batch_texts_free(&d->contexts);
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
    d->contexts.all_read = true;
    d->how = *(const decoding_settings *)params->own;
    if (!d->how.layers)
        d->how.layers = kind->layers;
    d->own = kind->create(d, model, status);
    if (!d->own || !pair_source_make(&d->source, data, params, false, status)) {
        decoding_destroy(d);
        return NULL;
    }
    *task = (gb_task){.self = d,
                      .loss_names = {"total"},
                      .sample = sample,
                      .build = build,
                      .cut = {.count = count, .size = size, .select = take}};
    return d;
}
