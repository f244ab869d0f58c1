#include "decoding.h"

#include <stdlib.h>

/* ---- for decoders ---- */

void pretrain_decoder_prefix(uint32_t l, char prefix[DECODER_PREFIX])
{
    snprintf(prefix, DECODER_PREFIX, "decoder.layer.%u", l);
}

bool pretrain_decoder_add_plain(decoding *d, text_ids text, uint32_t step, uint32_t i,
                                gb_status *status)
{
    (void)step, (void)i;
    gb_special_ids specials = gb_vocab_specials(d->data.vocab);
    return gb_batch_add(&d->contexts.all, &specials, text.ids, NULL, text.length,
                        d->params.max_length, status);
}

/* Row 0 predicts from the [CLS] vector alone; [SEP] is a target too. */
bool pretrain_decoder_next_tokens(decoding *d, gb_status *status)
{
    const gb_batch *texts = &d->contexts.all;
    d->contexts.labelled.count = 0;
    for (uint32_t s = 0; s < texts->count; s++)
        for (uint32_t r = texts->starts[s]; r + 1 < texts->starts[s + 1]; r++)
            if (!pretrain_labelled_rows_add(&d->contexts.labelled, r, texts->ids[r + 1], status))
                return false;
    return true;
}

gb_tensor pretrain_decoder_inputs(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    /* Slot 0 is the raw [CLS] vector; the other slots are the encoder's own embeddings. */
    return gb_scatter_rows(dn->builder->tape, gb_bert_embed(dn->builder, d->bert, &dn->texts), cls,
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
        pretrain_decoder_prefix(l, prefix);
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

const gb_block *pretrain_decoder_block(const decoding *d, uint32_t l)
{
    return &((const plain_layers *)d->own)->blocks[l];
}

static bool add_masked_text(decoding *d, text_ids text, uint32_t step, uint32_t i,
                            gb_status *status)
{
    gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i + 1);
    return pretrain_add_masked(&d->masker, &d->contexts.all, &d->data, text,
                               d->how.decoder_mask_ratio, d->params.max_length, &rng, status);
}

static bool masked_tokens(decoding *d, gb_status *status)
{
    return pretrain_labelled_rows_of(&d->contexts.labelled, &d->contexts.all, status);
}

static gb_tensor apply_masked(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = pretrain_decoder_inputs(d, dn, cls);
    for (uint32_t l = 0; l < d->how.layers; l++)
        x = gb_block_apply(dn->builder, &layers->blocks[l], &dn->texts, x);
    return x;
}

static gb_tensor apply_causal(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const plain_layers *layers = d->own;
    gb_tensor x = pretrain_decoder_inputs(d, dn, cls);
    for (uint32_t l = 0; l < d->how.layers; l++)
        x = gb_block_apply_causal(dn->builder, &layers->blocks[l], &dn->texts, x, d->how.window);
    gb_tape *tape = dn->builder->tape;
    return gb_layer_norm(tape, x, gb_tape_param(tape, layers->norm_weight),
                         gb_tape_param(tape, layers->norm_bias), dn->builder->eps);
}

const decoder_kind decoder_masked = {
    2, create_masked, destroy_layers, add_masked_text, masked_tokens, apply_masked};
const decoder_kind decoder_causal = {1,
                                     create_causal,
                                     destroy_layers,
                                     pretrain_decoder_add_plain,
                                     pretrain_decoder_next_tokens,
                                     apply_causal};

/* ---- the task ---- */

/* The encoder's rows, the decoder's, rows with a loss of both, and the encoder's that are read. */
static void size(const void *self, uint32_t first, uint32_t count, gb_bucket *bucket)
{
    const decoding *d = self;
    bucket->size[0] = gb_bucket_rows(pretrain_batch_texts_rows(&d->passages, first, count));
    bucket->size[1] = gb_bucket_rows(pretrain_batch_texts_rows(&d->contexts, first, count));
    bucket->size[2] = gb_bucket_rows(pretrain_batch_texts_labelled(&d->passages, first, count) +
                                     pretrain_batch_texts_labelled(&d->contexts, first, count));
    bucket->size[BUCKET_SELECTED] = pretrain_batch_texts_read(&d->passages, first, count);
}

bool pretrain_decoding_take_all(decoding *d, gb_bucket *bucket, gb_status *status)
{
    size(d, 0, d->params.batch, bucket);
    return pretrain_batch_texts_take_all(&d->passages, status) &&
           pretrain_batch_texts_take_all(&d->contexts, status);
}

static uint32_t count(const void *self)
{
    return ((const decoding *)self)->params.batch;
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    decoding *d = self;
    return pretrain_batch_texts_take(&d->passages, first, texts, status) &&
           pretrain_batch_texts_take(&d->contexts, first, texts, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    decoding *d = self;
    pretrain_batch_texts_reset(&d->passages);
    pretrain_batch_texts_reset(&d->contexts);
    for (uint32_t i = 0; i < d->params.batch; i++) {
        gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i);
        text_ids pair[2];
        pretrain_pair_source_at(&d->source, &d->data, &d->params, step, i, pair);
        if (!pretrain_add_masked(&d->masker, &d->passages.all, &d->data, pair[0], d->how.mask_ratio,
                                 d->params.max_length, &rng, status) ||
            !d->decoder->add_text(d, pair[1], step, i, status))
            return false;
    }
    return pretrain_labelled_rows_of(&d->passages.labelled, &d->passages.all, status) &&
           d->decoder->find_targets(d, status) && pretrain_decoding_take_all(d, bucket, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    decoding *d = self;
    const batch_texts *passages = &d->passages, *contexts = &d->contexts;
    uint32_t batch = pretrain_texts_of(bucket, d->params.batch), rows = bucket->size[1];
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, d->bert, bucket, batch, passages, d->params.seed);
    decoder_net dn = {.builder = builder,
                      .texts = gb_batch_declare(builder, &d->bert->config, rows, batch,
                                                &contexts->now, d->params.seed)};
    gb_selection first = gb_first_rows_declare(builder, batch, in.rows, &passages->now, 0);
    dn.slot = gb_first_rows_declare(builder, batch, rows, &contexts->now, 0);
    labelled_inputs labels = pretrain_labelled_declare(
        builder, bucket->size[2], in.rows, &passages->now_labelled, rows, &contexts->now_labelled);
    gb_tensor h = gb_bert_encode(builder, d->bert, &in, 0, NULL);
    gb_tensor cls = gb_selection_gather(builder, h, &first);
    losses[0] =
        pretrain_labelled_loss(builder, d->bert, &labels, h, d->decoder->apply(d, &dn, cls));
}

void pretrain_decoding_destroy(void *self)
{
    decoding *d = self;
    if (!d)
        return;
    d->decoder->destroy(d->own);
    pretrain_pair_source_free(&d->source);
    pretrain_masker_free(&d->masker);
    pretrain_batch_texts_free(&d->passages);
    pretrain_batch_texts_free(&d->contexts);
    free(d);
}

void *pretrain_decoding_create(const gb_pretrain_params *params, const gb_pretrain_data *data,
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
    if (!d->own || !pretrain_pair_source_make(&d->source, data, params, false, status)) {
        pretrain_decoding_destroy(d);
        return NULL;
    }
    *task = (gb_task){.self = d,
                      .loss_names = {"total"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return d;
}
