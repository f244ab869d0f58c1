/* Parameters of T5 and LLaMA, by the names of Hugging Face folders, and what they take. */
#include <gabbro/lm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix that files have in one or in two tensors. */
typedef struct matrix_name {
    const char *name;            /* behind the prefix of its layer; with parts it has a star */
    const gb_param_parts *parts; /* or NULL */
} matrix_name;

/* Names of a layer's parameters behind its prefix; NULL: it has none. */
typedef struct layer_names {
    const char *norm1, *cross_norm, *norm2; /* as in gb_lm_layer */
    matrix_name q, kv, o;                   /* self-attention */
    matrix_name cross_q, cross_kv, cross_o; /* cross attention */
    matrix_name up, gated_up, down;         /* feed-forward, without and with a gate */
} layer_names;

static const gb_param_parts t5_kv = {"kv", {"k", "v"}, 2}, t5_up = {"wi_01", {"wi_0", "wi_1"}, 2};
static const gb_param_parts llama_kv = {"kv_proj", {"k_proj", "v_proj"}, 2},
                            llama_up = {"gate_up_proj", {"gate_proj", "up_proj"}, 2};

static const layer_names t5_encoder = {.norm1 = "layer.0.layer_norm.weight",
                                       .q = {"layer.0.SelfAttention.q.weight"},
                                       .kv = {"layer.0.SelfAttention.*.weight", &t5_kv},
                                       .o = {"layer.0.SelfAttention.o.weight"},
                                       .norm2 = "layer.1.layer_norm.weight",
                                       .up = {"layer.1.DenseReluDense.wi.weight"},
                                       .gated_up = {"layer.1.DenseReluDense.*.weight", &t5_up},
                                       .down = {"layer.1.DenseReluDense.wo.weight"}};
static const layer_names t5_decoder = {.norm1 = "layer.0.layer_norm.weight",
                                       .q = {"layer.0.SelfAttention.q.weight"},
                                       .kv = {"layer.0.SelfAttention.*.weight", &t5_kv},
                                       .o = {"layer.0.SelfAttention.o.weight"},
                                       .cross_norm = "layer.1.layer_norm.weight",
                                       .cross_q = {"layer.1.EncDecAttention.q.weight"},
                                       .cross_kv = {"layer.1.EncDecAttention.*.weight", &t5_kv},
                                       .cross_o = {"layer.1.EncDecAttention.o.weight"},
                                       .norm2 = "layer.2.layer_norm.weight",
                                       .up = {"layer.2.DenseReluDense.wi.weight"},
                                       .gated_up = {"layer.2.DenseReluDense.*.weight", &t5_up},
                                       .down = {"layer.2.DenseReluDense.wo.weight"}};
static const layer_names llama = {.norm1 = "input_layernorm.weight",
                                  .q = {"self_attn.q_proj.weight"},
                                  .kv = {"self_attn.*.weight", &llama_kv},
                                  .o = {"self_attn.o_proj.weight"},
                                  .norm2 = "post_attention_layernorm.weight",
                                  .gated_up = {"mlp.*.weight", &llama_up},
                                  .down = {"mlp.down_proj.weight"}};

/* ---- declaring ---- */

/* Where parameters are declared. */
typedef struct declaring {
    gb_params *params;          /* the list */
    const gb_lm_config *config; /* sizes */
    gb_lm *lm;                  /* the model */
    gb_status *status;          /* of a failure */
} declaring;

/* `rest` says what the parameter is beside its name, "<prefix><name>". */
static bool add(const declaring *d, const char *prefix, const char *name, gb_param_spec rest,
                uint32_t *index)
{
    char full[GB_WEIGHT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    rest.name = full;
    rest.file = GB_FILE_REQUIRED;
    *index = gb_params_add(d->params, &rest, d->status);
    return *index != UINT32_MAX;
}

static bool add_norm(const declaring *d, const char *prefix, const char *name, uint32_t *index)
{
    const gb_param_spec norm = {
        .kind = GB_PARAM_VECTOR, .rows = 1, .cols = d->config->hidden_size, .init = GB_INIT_ONES};
    return add(d, prefix, name, norm, index);
}

/* std: of fresh values; 0: one over the root of the columns. Packed as the model is. */
static bool add_matrix(const declaring *d, const char *prefix, matrix_name name, uint32_t rows,
                       uint32_t cols, double std, uint32_t *index)
{
    gb_quant quant = d->lm->quant;
    const gb_param_spec matrix = {.rows = rows,
                                  .cols = quant ? gb_quant_cols(quant, cols) : cols,
                                  .untrained = quant != GB_QUANT_NONE,
                                  .init = GB_INIT_NORMAL,
                                  .init_std = (float)(std > 0 ? std : 1 / sqrt(cols)),
                                  .file_cols = cols,
                                  .parts = name.parts};
    return add(d, prefix, name.name, matrix, index);
}

static bool add_layer(const declaring *d, const char *prefix, const layer_names *n,
                      gb_lm_layer *layer)
{
    const gb_lm_config *c = d->config;
    uint32_t h = c->hidden_size, wide = c->heads * c->head_dim, k2 = 2 * c->kv_heads * c->head_dim;
    uint32_t f = c->intermediate_size;
    /* As T5's authors: its scores are not scaled, so queries begin small. */
    double of_q = c->kind == GB_LM_T5 ? 1 / sqrt(c->head_dim) / sqrt(h) : 0;
    return add_norm(d, prefix, n->norm1, &layer->norm1) &&
           add_matrix(d, prefix, n->q, wide, h, of_q, &layer->q) &&
           add_matrix(d, prefix, n->kv, k2, h, 0, &layer->kv) &&
           add_matrix(d, prefix, n->o, h, wide, 0, &layer->o) &&
           (!n->cross_norm || (add_norm(d, prefix, n->cross_norm, &layer->cross_norm) &&
                               add_matrix(d, prefix, n->cross_q, wide, h, of_q, &layer->cross_q) &&
                               add_matrix(d, prefix, n->cross_kv, k2, h, 0, &layer->cross_kv) &&
                               add_matrix(d, prefix, n->cross_o, h, wide, 0, &layer->cross_o))) &&
           add_norm(d, prefix, n->norm2, &layer->norm2) &&
           add_matrix(d, prefix, c->gated ? n->gated_up : n->up, c->gated ? 2 * f : f, h, 0,
                      &layer->up) &&
           add_matrix(d, prefix, n->down, h, f, 0, &layer->down);
}

static bool add_layers(const declaring *d, const char *prefix, const layer_names *names,
                       uint32_t count, gb_lm_layer *layers)
{
    for (uint32_t l = 0; l < count; l++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%u.", prefix, l);
        if (!add_layer(d, full, names, &layers[l]))
            return false;
    }
    return true;
}

/* The bias by distance that T5's stacks share. */
static bool add_bias(const declaring *d, const char *prefix, uint32_t *index)
{
    const gb_param_spec bias = {.rows = d->config->buckets,
                                .cols = d->config->heads,
                                .init = GB_INIT_NORMAL,
                                .init_std = (float)(1 / sqrt(d->config->hidden_size))};
    return add(d, prefix, "block.0.layer.0.SelfAttention.relative_attention_bias.weight", bias,
               index);
}

static bool add_t5(const declaring *d, gb_lm *lm)
{
    const gb_lm_config *c = d->config;
    const matrix_name shared = {"shared.weight", NULL}; /* begins large, as its authors' */
    return add_matrix(d, "", shared, c->vocab_size, c->hidden_size, 1, &lm->word) &&
           add_bias(d, "encoder.", &lm->encoder_bias) &&
           add_layers(d, "encoder.block", &t5_encoder, c->layers, lm->encoder) &&
           add_norm(d, "encoder.", "final_layer_norm.weight", &lm->encoder_norm) &&
           add_bias(d, "decoder.", &lm->decoder_bias) &&
           add_layers(d, "decoder.block", &t5_decoder, c->decoder_layers, lm->decoder) &&
           add_norm(d, "decoder.", "final_layer_norm.weight", &lm->decoder_norm);
}

static bool add_llama(const declaring *d, gb_lm *lm)
{
    const gb_lm_config *c = d->config;
    const matrix_name words = {"embed_tokens.weight", NULL};
    return add_matrix(d, "model.", words, c->vocab_size, c->hidden_size, 0, &lm->word) &&
           add_layers(d, "model.layers", &llama, c->decoder_layers, lm->decoder) &&
           add_norm(d, "model.", "norm.weight", &lm->decoder_norm);
}

/* An output matrix of its own. */
static bool add_output(const declaring *d, gb_lm *lm)
{
    const gb_lm_config *c = d->config;
    const matrix_name output = {"lm_head.weight", NULL};
    return add_matrix(d, "", output, c->vocab_size, c->hidden_size, c->kind == GB_LM_T5,
                      &lm->output);
}

/* Keys and values that stay from run to run: parameters that are not trained. */
static bool add_cache(const declaring *d, const gb_lm_cache *cache, gb_lm *lm)
{
    uint32_t width = 2 * d->config->kv_heads * d->config->head_dim;
    lm->slots = cache->slots;
    lm->cached = cache->max_length;
    lm->cached_encoded = d->config->layers ? cache->encoded : 0;
    lm->encoded = cache->encoded_texts ? cache->encoded_texts : cache->slots;
    for (uint32_t l = 0; cache->slots && l < d->config->decoder_layers; l++) {
        char name[64];
        for (int cross = 0; cross < (lm->cached_encoded ? 2 : 1); cross++) {
            snprintf(name, sizeof name, "cache.%s.%u", cross ? "cross" : "self", l);
            uint32_t *index = cross ? &lm->cross_cache[l] : &lm->self_cache[l];
            uint32_t rows = cross ? lm->encoded * lm->cached_encoded : lm->slots * lm->cached;
            *index = gb_params_add_state(d->params, name, rows, width, 0, d->status);
            if (*index == UINT32_MAX)
                return false;
        }
    }
    return true;
}

bool gb_lm_declare(gb_params *params, const gb_lm_config *config, const gb_lm_cache *cache,
                   gb_lm *lm, gb_status *status)
{
    declaring d = {params, config, lm, status};
    uint32_t layers = config->decoder_layers;
    *lm = (gb_lm){.config = *config, .quant = cache->quant};
    lm->encoder = gb_alloc(config->layers + 1, sizeof *lm->encoder, status);
    lm->decoder = gb_alloc(layers, sizeof *lm->decoder, status);
    lm->self_cache = gb_alloc(layers, sizeof *lm->self_cache, status);
    lm->cross_cache = gb_alloc(layers, sizeof *lm->cross_cache, status);
    bool ok = lm->encoder && lm->decoder && lm->self_cache && lm->cross_cache &&
              (config->kind == GB_LM_T5 ? add_t5(&d, lm) : add_llama(&d, lm));
    lm->output = lm->word;
    ok = ok && (config->tied || add_output(&d, lm)) && add_cache(&d, cache, lm);
    if (!ok)
        gb_lm_free(lm);
    return ok;
}

void gb_lm_free(gb_lm *lm)
{
    free(lm->encoder);
    free(lm->decoder);
    free(lm->self_cache);
    free(lm->cross_cache);
    *lm = (gb_lm){0};
}

/* ---- what they take ---- */

bool gb_lm_bytes(const gb_lm_config *config, const gb_lm_cache *cache, uint64_t *bytes,
                 gb_status *status)
{
    gb_lm lm = {0};
    gb_params *params = gb_params_create(status);
    bool ok = params && gb_lm_declare(params, config, cache, &lm, status);
    if (ok) {
        gb_params_freeze(params);
        *bytes = gb_params_floats(params) * sizeof(float);
    }
    gb_lm_free(&lm);
    gb_params_destroy(params);
    return ok;
}

bool gb_lm_fits(const char *folder, const gb_lm_config *config, const gb_lm_cache *cache,
                uint64_t budget, gb_status *status)
{
    const double gib = 1 << 30;
    uint64_t needed, other;
    char hint[200];
    snprintf(hint, sizeof hint, "take %sa device with more memory",
             cache->slots ? "fewer texts at a time, or " : "");
    if (!gb_lm_bytes(config, cache, &needed, status))
        return false;
    if (needed <= budget)
        return true;
    /* The first that fits: of 16 bits, bf16 takes every weight. Who makes no text takes float32. */
    static const gb_quant smaller[] = {GB_QUANT_BF16, GB_QUANT_Q8};
    gb_lm_cache tried = *cache;
    for (int i = 0; i < 2 && cache->slots; i++) {
        tried.quant = smaller[i];
        if (!gb_lm_bytes(config, &tried, &other, status))
            return false;
        if (other > budget || other >= needed)
            continue;
        snprintf(hint, sizeof hint, "--weights %s would fit, with %.3f GiB",
                 gb_packing_names[smaller[i]], (double)other / gib);
        break;
    }
    return gb_fail(status, GB_MEMORY, folder, hint,
                   "weights and caches as %s take %.3f GiB, and the device has %.3f GiB",
                   gb_packing_names[cache->quant], (double)needed / gib, (double)budget / gib);
}
