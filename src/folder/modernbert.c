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
    static const char *const scaled[] = {"rope_scaling", "rope_parameters"};
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
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        const json_t *value = json_object_get(json, scaled[i]);
        if (value && !json_is_null(value))
            return gb_fail(status, GB_DATA, path,
                           "only the plain rotary positions of \"global_rope_theta\" and "
                           "\"local_rope_theta\" are computed",
                           "\"%s\" is set", scaled[i]);
    }
    return gb_json_get_string(json, "classifier_activation", path, &act, status) &&
           (strcmp(act, "gelu") == 0 ||
            gb_fail(status, GB_DATA, path, "only the exact (erf) GELU is computed",
                    "\"classifier_activation\" is \"%.60s\"; it must be \"gelu\"", act));
}

bool folder_modern_read(const json_t *json, const char *path, gb_bert_config *config,
                        gb_status *status)
{
    if (!check_settings(json, path, status) ||
        !gb_json_get_real(json, "global_rope_theta", path, &config->theta, status))
        return false;
    if (json_is_null(json_object_get(json, "local_rope_theta")))
        config->local_theta = config->theta;
    return gb_json_get_real(json, "local_rope_theta", path, &config->local_theta, status);
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
