/* What ModernBERT's config.json says beyond BERT's settings: transformers' ModernBertConfig. */
#include "folder/internal.h"

#include <string.h>

void folder_modern_defaults(gb_bert_config *config)
{
    config->hidden_dropout = config->attention_dropout = 0;
    config->layer_norm_eps = 1e-5;
    config->window = 128;
    config->global_every = 3;
    config->theta = 160000;
    config->local_theta = 10000;
}

/* Settings under which the same weights would mean another computation. */
static bool check_settings(const json_t *json, const char *path, gb_status *status)
{
    static const struct {
        const char *key; /* name in config.json */
        bool wanted;     /* what is computed, and the default */
    } flags[] = {{"attention_bias", false},
                 {"mlp_bias", false},
                 {"norm_bias", false},
                 {"classifier_bias", false},
                 {"decoder_bias", true}};
    const json_t *scaling = json_object_get(json, "rope_scaling");
    const char *act = "gelu";
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool value = flags[i].wanted;
        if (!gb_json_get_bool(json, flags[i].key, path, &value, status))
            return false;
        if (value != flags[i].wanted)
            return gb_fail(status, GB_DATA, path,
                           "only ModernBERT with no other bias than the decoder's is computed",
                           "\"%s\" is %s", flags[i].key, value ? "true" : "false");
    }
    if (scaling && !json_is_null(scaling))
        return gb_fail(status, GB_DATA, path, "only plain rotary positions are computed",
                       "\"rope_scaling\" is set");
    return gb_json_get_string(json, "classifier_activation", path, &act, status) &&
           (strcmp(act, "gelu") == 0 ||
            gb_fail(status, GB_DATA, path, "only the exact (erf) GELU is computed",
                    "\"classifier_activation\" is \"%.60s\"; it must be \"gelu\"", act));
}

/* Those of transformers 5, for layers that look at all tokens and for the others. */
static bool read_rope(const json_t *json, const char *path, gb_bert_config *config,
                      gb_status *status)
{
    const json_t *both = json_object_get(json, "rope_parameters");
    const char *key;
    json_t *value;
    if (!json_is_object(both))
        return folder_read_rope(both, path, &config->theta, status);
    json_object_foreach((json_t *)both, key, value)
    {
        bool global = strcmp(key, "full_attention") == 0;
        if (!global && strcmp(key, "sliding_attention") != 0)
            return gb_fail(status, GB_DATA, path,
                           "they are those of \"full_attention\" and of \"sliding_attention\"",
                           "\"rope_parameters\" have \"%.60s\"", key);
        if (!folder_read_rope(value, path, global ? &config->theta : &config->local_theta, status))
            return false;
    }
    return true;
}

/* Whether every n-th layer looks at all tokens, from the first, and no other one. */
static bool is_every(const json_t *types, uint32_t n)
{
    bool every = n > 0;
    for (size_t i = 0; every && i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        every = type && strcmp(type, i % n == 0 ? "full_attention" : "sliding_attention") == 0;
    }
    return every;
}

/* The same where transformers 5 lists the layers: what the file says besides, or what they are. */
static bool read_layers(const json_t *json, const char *path, gb_bert_config *config,
                        gb_status *status)
{
    const json_t *types = json_object_get(json, "layer_types");
    uint32_t n = config->global_every;
    if (!types || json_is_null(types))
        return true;
    if (json_array_size(types) == config->layers && !is_every(types, n))
        for (n = 1; n < config->layers && !is_every(types, n);)
            n++;
    config->global_every = n;
    return (json_array_size(types) == config->layers && is_every(types, n)) ||
           gb_fail(status, GB_DATA, path,
                   "every n-th layer must be of \"full_attention\", from the first, and the others "
                   "of \"sliding_attention\"",
                   "\"layer_types\" are not those of %u such layers", config->layers);
}

bool folder_modern_read(const json_t *json, const char *path, gb_bert_config *config,
                        gb_status *status)
{
    if (!check_settings(json, path, status) ||
        !gb_json_get_real(json, "global_rope_theta", path, &config->theta, status))
        return false;
    if (json_is_null(json_object_get(json, "local_rope_theta")))
        config->local_theta = config->theta;
    return gb_json_get_real(json, "local_rope_theta", path, &config->local_theta, status) &&
           read_rope(json, path, config, status) && read_layers(json, path, config, status);
}

bool folder_modern_check(const gb_bert_config *config, const char *where, const char *hint,
                         gb_status *status)
{
    if (!(config->theta > 1 && config->local_theta > 1))
        return gb_fail(status, GB_DATA, where, hint,
                       "\"global_rope_theta\" is %g and \"local_rope_theta\" %g; they must be "
                       "above 1",
                       config->theta, config->local_theta);
    if (!config->global_every)
        return gb_fail(status, GB_DATA, where, hint, "\"global_attn_every_n_layers\" is 0");
    if (config->hidden_size / config->heads % 8 || config->intermediate_size % 4)
        return gb_fail(
            status, GB_DATA, where,
            "heads must be of a multiple of 8 numbers, and the feed-forward layer of one "
            "of 4",
            "%u heads in %u numbers, and %u of the feed-forward layer", config->heads,
            config->hidden_size, config->intermediate_size);
    return true;
}

void folder_modern_write(json_t *json, const gb_bert_config *config)
{
    json_object_set_new(json, "embedding_dropout", json_real(config->hidden_dropout));
    json_object_set_new(json, "global_rope_theta", json_real(config->theta));
    json_object_set_new(json, "local_rope_theta", json_real(config->local_theta));
    json_object_set_new(json, "local_attention", json_integer(config->window));
    json_object_set_new(json, "global_attn_every_n_layers", json_integer(config->global_every));
}
