/* config.json of language models: Hugging Face's T5Config and LlamaConfig. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

/* Far above any model, so that sizes computed from a damaged file stay small numbers. */
#define SIZE_LIMIT  (1u << 24)
#define LAYER_LIMIT 1000u

/* A whole number of the file. */
typedef struct size_key {
    const char *key; /* name in config.json */
    uint32_t *value; /* where it goes; holds the default */
    bool required;   /* no default */
} size_key;

static bool read_sizes(const json_t *json, const char *path, const size_key *keys, size_t count,
                       gb_status *status)
{
    for (size_t i = 0; i < count; i++) {
        const size_key *k = &keys[i];
        if (k->required && !json_is_number(json_object_get(json, k->key)))
            return gb_fail(status, GB_DATA, path, "is it the config.json of a language model?",
                           "\"%s\" is missing or no number", k->key);
        if (!gb_json_get_u32(json, k->key, path, k->value, status))
            return false;
        bool token = strstr(k->key, "token_id") != NULL;
        if ((*k->value == 0 && !token) || *k->value > SIZE_LIMIT)
            return gb_fail(status, GB_DATA, path, "correct the model's configuration",
                           "\"%s\" is %u; it must lie in [%d, %u]", k->key, *k->value, !token,
                           SIZE_LIMIT);
    }
    return true;
}

static bool read_act(const char *key, const char *value, const char *path, gb_lm_config *config,
                     gb_status *status)
{
    static const struct {
        const char *name; /* in config.json */
        gb_lm_act act;    /* what it is */
    } acts[] = {{"relu", GB_LM_RELU},
                {"gelu", GB_LM_GELU},
                {"gelu_new", GB_LM_GELU_TANH},
                {"silu", GB_LM_SILU}};
    if (config->kind == GB_LM_T5 && !strncmp(value, "gated-", 6)) {
        config->gated = true;
        /* transformers takes gelu_new where T5's files say gated-gelu. */
        value = strcmp(value, "gated-gelu") ? value + 6 : "gelu_new";
    }
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (!strcmp(value, acts[i].name)) {
            config->act = acts[i].act;
            return true;
        }
    return gb_fail(status, GB_DATA, path, "relu, gelu, gelu_new and silu are computed",
                   "\"%s\" is \"%.60s\"", key, value);
}

static bool read_t5(const json_t *json, const char *path, gb_lm_config *c, gb_status *status)
{
    *c = (gb_lm_config){.kind = GB_LM_T5,
                        .buckets = 32,
                        .farthest = 128,
                        .max_positions = SIZE_LIMIT,
                        .end_id = 1,
                        .eps = 1e-6,
                        .tied = true};
    const size_key keys[] = {{"vocab_size", &c->vocab_size, true},
                             {"d_model", &c->hidden_size, true},
                             {"d_kv", &c->head_dim, true},
                             {"d_ff", &c->intermediate_size, true},
                             {"num_heads", &c->heads, true},
                             {"num_layers", &c->layers, true},
                             {"relative_attention_num_buckets", &c->buckets, false},
                             {"relative_attention_max_distance", &c->farthest, false},
                             {"eos_token_id", &c->end_id, false},
                             {"pad_token_id", &c->start_id, false},
                             {"decoder_start_token_id", &c->start_id, false}};
    const char *act = "relu";
    if (!read_sizes(json, path, keys, sizeof keys / sizeof *keys, status))
        return false;
    c->kv_heads = c->heads;
    c->decoder_layers = c->layers;
    const size_key decoder = {"num_decoder_layers", &c->decoder_layers, false};
    if (c->buckets < 4 || c->buckets % 4 || c->farthest <= c->buckets / 2)
        return gb_fail(status, GB_DATA, path, "correct the model's configuration",
                       "%u buckets of distances up to %u", c->buckets, c->farthest);
    return read_sizes(json, path, &decoder, 1, status) &&
           gb_json_get_real(json, "layer_norm_epsilon", path, &c->eps, status) &&
           gb_json_get_bool(json, "tie_word_embeddings", path, &c->tied, status) &&
           gb_json_get_string(json, "feed_forward_proj", path, &act, status) &&
           read_act("feed_forward_proj", act, path, c, status);
}

/* Settings under which the same weights would mean another computation. */
static bool check_llama(const json_t *json, const char *path, gb_status *status)
{
    static const char *const biases[] = {"attention_bias", "mlp_bias"};
    const json_t *scaling = json_object_get(json, "rope_scaling");
    if (scaling && !json_is_null(scaling))
        return gb_fail(status, GB_DATA, path, "only plain rotary positions are computed",
                       "\"rope_scaling\" is set");
    for (int i = 0; i < 2; i++) {
        bool bias = false;
        if (!gb_json_get_bool(json, biases[i], path, &bias, status))
            return false;
        if (bias)
            return gb_fail(status, GB_DATA, path, "only layers without biases are computed",
                           "\"%s\" is true", biases[i]);
    }
    return true;
}

static bool read_llama(const json_t *json, const char *path, gb_lm_config *c, gb_status *status)
{
    *c = (gb_lm_config){.kind = GB_LM_LLAMA,
                        .max_positions = 2048,
                        .start_id = 1,
                        .end_id = 2,
                        .eps = 1e-6,
                        .theta = 10000,
                        .gated = true};
    const size_key keys[] = {{"vocab_size", &c->vocab_size, true},
                             {"hidden_size", &c->hidden_size, true},
                             {"intermediate_size", &c->intermediate_size, true},
                             {"num_attention_heads", &c->heads, true},
                             {"num_hidden_layers", &c->decoder_layers, true},
                             {"max_position_embeddings", &c->max_positions, false},
                             {"bos_token_id", &c->start_id, false},
                             {"eos_token_id", &c->end_id, false}};
    const char *act = "silu";
    if (!check_llama(json, path, status) ||
        !read_sizes(json, path, keys, sizeof keys / sizeof *keys, status))
        return false;
    c->kv_heads = c->heads;
    c->head_dim = c->hidden_size / c->heads;
    const size_key rest[] = {{"num_key_value_heads", &c->kv_heads, false},
                             {"head_dim", &c->head_dim, false}};
    return read_sizes(json, path, rest, 2, status) &&
           gb_json_get_real(json, "rms_norm_eps", path, &c->eps, status) &&
           gb_json_get_real(json, "rope_theta", path, &c->theta, status) &&
           folder_read_rope(json_object_get(json, "rope_parameters"), path, &c->theta, status) &&
           gb_json_get_bool(json, "tie_word_embeddings", path, &c->tied, status) &&
           gb_json_get_string(json, "hidden_act", path, &act, status) &&
           read_act("hidden_act", act, path, c, status);
}

bool gb_folder_is_llama(const char *folder)
{
    char *path = gb_path_join(NULL, folder, "config.json");
    json_t *json = path && gb_file_exists(path) ? gb_json_load(path, GB_JSON_REALS, NULL) : NULL;
    bool llama = json && strcmp(gb_json_text(json, "model_type"), "llama") == 0;
    json_decref(json);
    free(path);
    return llama;
}

static bool check(const gb_lm_config *c, const char *path, gb_status *status)
{
    static const char hint[] = "correct the model's configuration";
    bool llama = c->kind == GB_LM_LLAMA;
    uint32_t unit = llama ? 8 : 4;
    if (c->layers > LAYER_LIMIT || c->decoder_layers > LAYER_LIMIT)
        return gb_fail(status, GB_DATA, path, hint, "%u layers",
                       c->layers > LAYER_LIMIT ? c->layers : c->decoder_layers);
    if (c->heads % c->kv_heads || c->head_dim % unit || c->hidden_size % 4 ||
        c->intermediate_size % 4)
        return gb_fail(status, GB_DATA, path,
                       "sizes must be multiples of 4 (heads of LLaMA: of 8), and heads of keys "
                       "divide those of queries",
                       "%u and %u heads of %u, widths %u and %u", c->heads, c->kv_heads,
                       c->head_dim, c->hidden_size, c->intermediate_size);
    if (c->start_id >= c->vocab_size || c->end_id >= c->vocab_size)
        return gb_fail(status, GB_DATA, path, hint, "tokens %u and %u, outside a vocabulary of %u",
                       c->start_id, c->end_id, c->vocab_size);
    if (!(c->eps >= 0 && c->eps < 1) || (llama && !(c->theta > 1)))
        return gb_fail(status, GB_DATA, path, hint, "eps %g, theta %g", c->eps, c->theta);
    return true;
}

bool gb_lm_config_read(const char *path, gb_lm_config *config, gb_status *status)
{
    json_t *json = gb_json_load(path, GB_JSON_REALS, status);
    if (!json)
        return false;
    const char *type = "";
    gb_lm_config read;
    bool ok = gb_json_get_string(json, "model_type", path, &type, status);
    if (ok && !strcmp(type, "t5"))
        ok = read_t5(json, path, &read, status);
    else if (ok && !strcmp(type, "llama"))
        ok = read_llama(json, path, &read, status);
    else if (ok)
        ok = gb_fail(status, GB_DATA, path, "give a T5 or LLaMA model",
                     "\"model_type\" is \"%.60s\"", type);
    ok = ok && check(&read, path, status);
    if (ok)
        *config = read;
    json_decref(json);
    return ok;
}
