/* SEED (Lu et al., 2021): a decoder too weak to write a passage on its own, because it sees only
 * the last few tokens, must take the rest from the passage's [CLS] vector, which it reads as the
 * one vector of its memory. Released: three layers with a window of two tokens. */
#include "decoding.h"

#include <stdlib.h>

static void *create_layers(const decoding *d, gb_params *model, gb_status *status)
{
    uint32_t count = d->how.layers;
    gb_memory_block *blocks = gb_alloc(count, sizeof *blocks, status);
    bool ok = blocks != NULL;
    for (uint32_t l = 0; ok && l < count; l++) {
        char prefix[DECODER_PREFIX];
        pretrain_decoder_prefix(l, prefix);
        ok = gb_memory_block_declare(model, prefix, &d->bert->config, &blocks[l], status);
    }
    if (ok)
        return blocks;
    free(blocks);
    return NULL;
}

/* The [CLS] token starts the text here; its vector comes by the memory. */
static gb_tensor apply(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const gb_memory_block *blocks = d->own;
    const gb_batch_inputs *in = &dn->texts;
    gb_broadcast_inputs spread =
        gb_broadcast_declare(dn->builder, in->rows, in->count, &d->contexts.now);
    gb_tensor x = gb_bert_embed(dn->builder, d->bert, in);
    for (uint32_t l = 0; l < d->how.layers; l++)
        x = gb_memory_block_apply(dn->builder, &blocks[l], in, &spread, x, cls, d->how.window);
    return x;
}

static const decoder_kind decoder_memory = {
    3, create_layers, free, pretrain_decoder_add_plain, pretrain_decoder_next_tokens, apply};

/* A window of 2, released with three layers. */
static const decoding_settings defaults = {.mask_ratio = .15, .layers = 3, .window = 2};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio), OPTION_DECODER_LAYERS, OPTION_WINDOW, {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return pretrain_decoding_create(&own, data, bert, model, &decoder_memory, task, status);
}

const gb_objective objective_seed = {
    .name = "seed",
    .help = "the passage written from [CLS] by a decoder with a small window (SEED)",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = pretrain_decoding_destroy};
