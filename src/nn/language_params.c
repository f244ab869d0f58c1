/* Parameters of T5 and LLaMA, by the names of Hugging Face folders, and what they take. */
#include "nn/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of a layer's parameters behind its prefix; NULL: it has none. */
typedef struct layer_names {
    const char *norm1, *q, *kv, *o;                        /* as in gb_language_layer */
    const char *cross_norm, *cross_q, *cross_kv, *cross_o; /* cross attention */
    const char *norm2, *up, *down;                         /* feed-forward */
} layer_names;

static const layer_names t5_encoder = {.norm1 = "layer.0.layer_norm.weight",
                                       .q = "layer.0.SelfAttention.q.weight",
                                       .kv = "layer.0.SelfAttention.kv.weight",
                                       .o = "layer.0.SelfAttention.o.weight",
                                       .norm2 = "layer.1.layer_norm.weight",
                                       .up = "layer.1.DenseReluDense.wi",
                                       .down = "layer.1.DenseReluDense.wo.weight"};
static const layer_names t5_decoder = {.norm1 = "layer.0.layer_norm.weight",
                                       .q = "layer.0.SelfAttention.q.weight",
                                       .kv = "layer.0.SelfAttention.kv.weight",
                                       .o = "layer.0.SelfAttention.o.weight",
                                       .cross_norm = "layer.1.layer_norm.weight",
                                       .cross_q = "layer.1.EncDecAttention.q.weight",
                                       .cross_kv = "layer.1.EncDecAttention.kv.weight",
                                       .cross_o = "layer.1.EncDecAttention.o.weight",
                                       .norm2 = "layer.2.layer_norm.weight",
                                       .up = "layer.2.DenseReluDense.wi",
                                       .down = "layer.2.DenseReluDense.wo.weight"};
static const layer_names llama = {.norm1 = "input_layernorm.weight",
                                  .q = "self_attn.q_proj.weight",
                                  .kv = "self_attn.kv_proj.weight",
                                  .o = "self_attn.o_proj.weight",
                                  .norm2 = "post_attention_layernorm.weight",
                                  .up = "mlp.gate_up_proj",
                                  .down = "mlp.down_proj.weight"};

/* ---- declaring ---- */

/* Where parameters are declared. */
typedef struct declaring {
    gb_params *params;                /* the list */
    const gb_language_config *config; /* sizes */
    gb_language *lm;                  /* the model */
    gb_status *status;                /* of a failure */
} declaring;

/* Columns of parameter `index`: its own, or, when it is packed, those it stands for. */
static bool set_width(gb_language *lm, uint32_t index, uint32_t width, gb_status *status)
{
    if (!gb_grow(&lm->widths, &lm->width_capacity, index + 1, sizeof *lm->widths, status))
        return false;
    while (lm->width_count < index + 1)
        lm->widths[lm->width_count++] = 0;
    lm->widths[index] = width;
    return true;
}

/* Standard deviation of fresh values. T5's are those of its authors: its scores are not scaled, so
 * that queries begin small, and its embeddings begin large. */
static double init_std(const gb_language_config *c, const char *name, uint32_t cols)
{
    bool t5 = c->kind == GB_LANGUAGE_T5;
    if (t5 && (strstr(name, "shared.") || strstr(name, "lm_head.")))
        return 1;
    if (t5 && strstr(name, "relative_attention_bias"))
        return 1 / sqrt(c->hidden_size);
    return (t5 && strstr(name, ".q.") ? 1 / sqrt(c->head_dim) : 1) / sqrt(cols);
}

static bool add(const declaring *d, const char *prefix, const char *name, uint32_t rows,
                uint32_t cols, uint32_t *index)
{
    char full[GB_WEIGHT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    bool norm = strstr(name, "norm") != NULL;
    bool packed = d->lm->packing && !norm && !strstr(name, "relative_attention_bias");
    uint32_t words = packed ? gb_packed_cols(d->lm->packing, cols) : cols;
    *index = gb_params_add(d->params,
                           &(gb_param_spec){.name = full,
                                            .kind = norm ? GB_PARAM_VECTOR : GB_PARAM_MATRIX,
                                            .rows = rows,
                                            .cols = words,
                                            .untrained = packed,
                                            .init = norm ? GB_INIT_ONES : GB_INIT_NORMAL,
                                            .init_std = (float)init_std(d->config, name, cols)},
                           d->status);
    return *index != UINT32_MAX && set_width(d->lm, *index, packed ? cols : 0, d->status);
}

static bool add_layer(const declaring *d, const char *prefix, const layer_names *n,
                      gb_language_layer *layer)
{
    const gb_language_config *c = d->config;
    uint32_t h = c->hidden_size, wide = c->heads * c->head_dim, k2 = 2 * c->kv_heads * c->head_dim;
    uint32_t f = c->intermediate_size;
    char up[64];
    snprintf(up, sizeof up, "%s%s.weight", n->up,
             c->kind == GB_LANGUAGE_T5 && c->gated ? "_01" : "");
    return add(d, prefix, n->norm1, 1, h, &layer->norm1) &&
           add(d, prefix, n->q, wide, h, &layer->q) && add(d, prefix, n->kv, k2, h, &layer->kv) &&
           add(d, prefix, n->o, h, wide, &layer->o) &&
           (!n->cross_q || (add(d, prefix, n->cross_norm, 1, h, &layer->cross_norm) &&
                            add(d, prefix, n->cross_q, wide, h, &layer->cross_q) &&
                            add(d, prefix, n->cross_kv, k2, h, &layer->cross_kv) &&
                            add(d, prefix, n->cross_o, h, wide, &layer->cross_o))) &&
           add(d, prefix, n->norm2, 1, h, &layer->norm2) &&
           add(d, prefix, up, c->gated ? 2 * f : f, h, &layer->up) &&
           add(d, prefix, n->down, h, f, &layer->down);
}

static bool add_layers(const declaring *d, const char *prefix, const layer_names *names,
                       uint32_t count, gb_language_layer *layers)
{
    for (uint32_t l = 0; l < count; l++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%u.", prefix, l);
        if (!add_layer(d, full, names, &layers[l]))
            return false;
    }
    return true;
}

#define T5_BIAS ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"

static bool add_t5(const declaring *d, gb_language *lm)
{
    const gb_language_config *c = d->config;
    return add(d, "", "shared.weight", c->vocab_size, c->hidden_size, &lm->word) &&
           add(d, "encoder", T5_BIAS, c->buckets, c->heads, &lm->encoder_bias) &&
           add_layers(d, "encoder.block", &t5_encoder, c->layers, lm->encoder) &&
           add(d, "encoder.", "final_layer_norm.weight", 1, c->hidden_size, &lm->encoder_norm) &&
           add(d, "decoder", T5_BIAS, c->buckets, c->heads, &lm->decoder_bias) &&
           add_layers(d, "decoder.block", &t5_decoder, c->decoder_layers, lm->decoder) &&
           add(d, "decoder.", "final_layer_norm.weight", 1, c->hidden_size, &lm->decoder_norm);
}

static bool add_llama(const declaring *d, gb_language *lm)
{
    const gb_language_config *c = d->config;
    return add(d, "model.", "embed_tokens.weight", c->vocab_size, c->hidden_size, &lm->word) &&
           add_layers(d, "model.layers", &llama, c->decoder_layers, lm->decoder) &&
           add(d, "model.", "norm.weight", 1, c->hidden_size, &lm->decoder_norm);
}

/* Keys and values that stay from run to run: parameters that are not trained. */
static bool add_cache(const declaring *d, const gb_language_cache *cache, gb_language *lm)
{
    uint32_t width = 2 * d->config->kv_heads * d->config->head_dim;
    lm->slots = cache->slots;
    lm->cached = cache->longest;
    lm->cached_encoded = d->config->layers ? cache->encoded : 0;
    lm->encoded = cache->encoded_texts ? cache->encoded_texts : cache->slots;
    for (uint32_t l = 0; cache->slots && l < d->config->decoder_layers; l++) {
        char name[64];
        for (int cross = 0; cross < (lm->cached_encoded ? 2 : 1); cross++) {
            snprintf(name, sizeof name, LANGUAGE_CACHE "%s.%u", cross ? "cross" : "self", l);
            uint32_t *index = cross ? &lm->cross_cache[l] : &lm->self_cache[l];
            uint32_t rows = cross ? lm->encoded * lm->cached_encoded : lm->slots * lm->cached;
            *index = gb_params_add_state(d->params, name, rows, width, 0, d->status);
            if (*index == UINT32_MAX)
                return false;
        }
    }
    return true;
}

bool gb_language_declare(gb_params *params, const gb_language_config *config,
                         const gb_language_cache *cache, gb_language *lm, gb_status *status)
{
    declaring d = {params, config, lm, status};
    uint32_t layers = config->decoder_layers;
    *lm = (gb_language){.config = *config, .packing = cache->packing};
    lm->encoder = gb_alloc(config->layers + 1, sizeof *lm->encoder, status);
    lm->decoder = gb_alloc(layers, sizeof *lm->decoder, status);
    lm->self_cache = gb_alloc(layers, sizeof *lm->self_cache, status);
    lm->cross_cache = gb_alloc(layers, sizeof *lm->cross_cache, status);
    bool ok = lm->encoder && lm->decoder && lm->self_cache && lm->cross_cache &&
              (config->kind == GB_LANGUAGE_T5 ? add_t5(&d, lm) : add_llama(&d, lm));
    lm->output = lm->word;
    ok = ok && (config->tied || add(&d, "", "lm_head.weight", config->vocab_size,
                                    config->hidden_size, &lm->output));
    ok = ok && add_cache(&d, cache, lm);
    if (!ok)
        gb_language_free(lm);
    return ok;
}

void gb_language_free(gb_language *lm)
{
    free(lm->encoder);
    free(lm->decoder);
    free(lm->self_cache);
    free(lm->cross_cache);
    free(lm->widths);
    *lm = (gb_language){0};
}

/* ---- what they take ---- */

bool gb_language_bytes(const gb_language_config *config, const gb_language_cache *cache,
                       uint64_t *bytes, gb_status *status)
{
    gb_language lm = {0};
    gb_params *params = gb_params_create(status);
    bool ok = params && gb_language_declare(params, config, cache, &lm, status);
    if (ok) {
        gb_params_freeze(params);
        *bytes = gb_params_floats(params) * sizeof(float);
    }
    gb_language_free(&lm);
    gb_params_destroy(params);
    return ok;
}

bool gb_language_fits(const char *folder, const gb_language_config *config,
                      const gb_language_cache *cache, uint64_t budget, gb_status *status)
{
    const double gib = 1 << 30;
    uint64_t needed, other;
    char hint[200] = "take fewer texts at a time, or a device with more memory";
    if (!gb_language_bytes(config, cache, &needed, status))
        return false;
    if (needed <= budget)
        return true;
    /* The first that fits: of 16 bits, bf16 takes every weight. */
    static const gb_packing smaller[] = {GB_PACKED_BF16, GB_PACKED_Q8};
    gb_language_cache tried = *cache;
    for (int i = 0; i < 2; i++) {
        tried.packing = smaller[i];
        if (!gb_language_bytes(config, &tried, &other, status))
            return false;
        if (other > budget || other >= needed)
            continue;
        snprintf(hint, sizeof hint, "--weights %s would fit, with %.3f GiB",
                 gb_packing_name(smaller[i]), (double)other / gib);
        break;
    }
    return gb_fail(status, GB_MEMORY, folder, hint,
                   "weights and caches as %s take %.3f GiB, and the device has %.3f GiB",
                   gb_packing_name(cache->packing), (double)needed / gib, (double)budget / gib);
}
