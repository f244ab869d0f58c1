/* Parameters of T5 and LLaMA, and reading them from Hugging Face folders. What lies together here
 * (key and value, gate and up) lies apart there; everything else has the same name on both sides.
 */
#include <gabbro/language.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_PREFIX "cache."

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

/* Joined here: the name's part, and the two that stand for it in the folders. */
static const char *const joined[][3] = {{".kv.", ".k.", ".v."},
                                        {".kv_proj.", ".k_proj.", ".v_proj."},
                                        {".wi_01.", ".wi_0.", ".wi_1."},
                                        {".gate_up_proj.", ".gate_proj.", ".up_proj."}};

/* ---- declaring ---- */

/* Where parameters are declared. */
typedef struct declaring {
    gb_params *params;                /* the list */
    const gb_language_config *config; /* sizes */
    gb_status *status;                /* of a failure */
} declaring;

static bool add(const declaring *d, const char *prefix, const char *name, uint32_t rows,
                uint32_t cols, uint32_t *index)
{
    char full[GB_WEIGHT_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    bool norm = strstr(name, "norm") != NULL;
    *index = gb_params_add(d->params, full, rows, cols, !norm, norm ? GB_INIT_ONES : GB_INIT_NORMAL,
                           (float)(1 / sqrt(cols)), d->status);
    return *index != UINT32_MAX;
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
            snprintf(name, sizeof name, CACHE_PREFIX "%s.%u", cross ? "cross" : "self", l);
            uint32_t *index = cross ? &lm->cross_cache[l] : &lm->self_cache[l];
            uint32_t rows = cross ? lm->encoded * lm->cached_encoded : lm->slots * lm->cached;
            *index =
                gb_params_add(d->params, name, rows, width, false, GB_INIT_ZEROS, 0, d->status);
            if (*index == UINT32_MAX)
                return false;
        }
    }
    return true;
}

bool gb_language_declare(gb_params *params, const gb_language_config *config,
                         const gb_language_cache *cache, gb_language *lm, gb_status *status)
{
    declaring d = {params, config, status};
    uint32_t layers = config->decoder_layers;
    *lm = (gb_language){.config = *config};
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
    *lm = (gb_language){0};
}

/* ---- reading ---- */

/* Rows [row0, row0 + rows) of a parameter from the tensor `name`. */
static bool load_rows(const gb_safetensors *tensors, const char *path, const char *name,
                      const gb_param *param, uint32_t row0, uint32_t rows, float *values,
                      gb_status *status)
{
    const gb_stored *stored = gb_safetensors_find(tensors, name);
    if (!stored)
        return gb_fail(status, GB_DATA, path,
                       "is it a model of the kind and size that config.json says?",
                       "tensor %.120s is missing", name);
    bool vector = strstr(name, "norm") != NULL;
    float *dense = gb_alloc((size_t)rows * param->cols, sizeof *dense, status);
    bool ok = dense && gb_stored_read(stored, vector ? param->cols : rows, vector ? 0 : param->cols,
                                      dense, status);
    for (uint32_t r = 0; ok && r < rows; r++)
        for (uint32_t c = 0; ok && c < param->cols; c++) {
            float value = dense[(size_t)r * param->cols + c];
            values[param->offset + (uint64_t)(row0 + r) * param->ld + c] = value;
            if (!isfinite(value))
                ok = gb_fail(status, GB_DATA, stored->path,
                             "the training that wrote it diverged, or the file is damaged",
                             "tensor %s is not finite in row %u", name, r);
        }
    free(dense);
    return ok;
}

static bool load_param(const gb_safetensors *tensors, const char *path, const gb_param *param,
                       float *values, gb_status *status)
{
    for (size_t j = 0; j < sizeof joined / sizeof *joined; j++) {
        const char *at = strstr(param->name, joined[j][0]);
        for (uint32_t half = 0; at && half < 2; half++) {
            char name[GB_WEIGHT_NAME];
            snprintf(name, sizeof name, "%.*s%s%s", (int)(at - param->name), param->name,
                     joined[j][1 + half], at + strlen(joined[j][0]));
            if (!load_rows(tensors, path, name, param, half * param->rows / 2, param->rows / 2,
                           values, status))
                return false;
        }
        if (at)
            return true;
    }
    return load_rows(tensors, path, param->name, param, 0, param->rows, values, status);
}

bool gb_language_load(const char *folder, const gb_params *params, float *values, gb_status *status)
{
    char *path = gb_path_join(status, folder, "model.safetensors");
    if (path && !gb_file_exists(path)) {
        free(path);
        path = gb_path_join(status, folder, "model.safetensors.index.json");
    }
    gb_safetensors *tensors = path ? gb_safetensors_open(path, status) : NULL;
    bool ok = tensors != NULL;
    memset(values, 0, gb_params_floats(params) * sizeof *values);
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (strncmp(param->name, CACHE_PREFIX, strlen(CACHE_PREFIX)))
            ok = load_param(tensors, path, param, values, status);
    }
    gb_safetensors_close(tensors);
    free(path);
    return ok;
}
