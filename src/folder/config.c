/* config.json: Hugging Face's BertConfig and those of its kin. */
#include "folder/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Far above any BERT, so that sizes computed from a damaged file stay small numbers. */
#define SIZE_LIMIT  (1u << 24)
#define LAYER_LIMIT 1000u

/* The whole numbers of the file; those that are required must be at least 1. */
static const struct {
    const char *key; /* name in BERT's config.json */
    size_t offset;   /* of the field in gb_bert_config */
    bool required;   /* no default: the model cannot be read without it */
} sizes[] = {
    {"vocab_size", offsetof(gb_bert_config, vocab_size), true},
    {"hidden_size", offsetof(gb_bert_config, hidden_size), true},
    {"num_hidden_layers", offsetof(gb_bert_config, layers), true},
    {"num_attention_heads", offsetof(gb_bert_config, heads), true},
    {"intermediate_size", offsetof(gb_bert_config, intermediate_size), true},
    {"max_position_embeddings", offsetof(gb_bert_config, max_positions), true},
    {"type_vocab_size", offsetof(gb_bert_config, type_vocab_size), true},
    {"pad_token_id", offsetof(gb_bert_config, pad_token_id), false},
    {"relative_attention_num_buckets", offsetof(gb_bert_config, buckets), false},
    {"local_attention", offsetof(gb_bert_config, window), false},
    {"global_attn_every_n_layers", offsetof(gb_bert_config, global_every), false},
};
#define SIZE_COUNT (sizeof sizes / sizeof sizes[0])

/* What the encoder's config.json calls a number; NULL: it has none. */
static const char *size_key(const folder_architecture *of, size_t i)
{
    switch (sizes[i].offset) {
    case offsetof(gb_bert_config, hidden_size):
        return of->hidden;
    case offsetof(gb_bert_config, layers):
        return of->layers;
    case offsetof(gb_bert_config, heads):
        return of->heads;
    case offsetof(gb_bert_config, intermediate_size):
        return of->inner;
    case offsetof(gb_bert_config, type_vocab_size):
        return of->types ? sizes[i].key : NULL;
    case offsetof(gb_bert_config, buckets):
        return of->buckets ? sizes[i].key : NULL;
    case offsetof(gb_bert_config, window):
    case offsetof(gb_bert_config, global_every):
        return of->rotary ? sizes[i].key : NULL;
    default:
        return sizes[i].key;
    }
}

static uint32_t *size_field(gb_bert_config *config, size_t i)
{
    return (uint32_t *)((char *)config + sizes[i].offset);
}

static bool check_reals(const gb_bert_config *config, const char *where, const char *hint,
                        gb_status *status)
{
    const folder_architecture *of = folder_architecture_of(config->kind);
    const struct {
        const char *key;
        double value, below;
    } reals[] = {
        {of->eps, config->layer_norm_eps, 1},
        {of->dropout, config->hidden_dropout, 1},
        {of->attention_dropout, config->attention_dropout, 1},
        {"initializer_range", config->initializer_range, 10},
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (!(reals[i].value >= 0 && reals[i].value < reals[i].below))
            return gb_fail(status, GB_DATA, where, hint, "\"%s\" is %g; it must lie in [0, %g)",
                           reals[i].key, reals[i].value, reals[i].below);
    return true;
}

bool gb_bert_config_check(const gb_bert_config *config, const char *where, gb_status *status)
{
    static const char hint[] = "correct the model's configuration";
    gb_bert_config copy = *config;
    const folder_architecture *of = folder_architecture_of(config->kind);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        uint32_t value = *size_field(&copy, i);
        uint32_t limit = size_field(&copy, i) == &copy.layers ? LAYER_LIMIT : SIZE_LIMIT;
        const char *key = size_key(of, i);
        if ((value == 0 && sizes[i].required && key) || value > limit)
            return gb_fail(status, GB_DATA, where, hint, "\"%s\" is %u; it must lie in [%d, %u]",
                           key ? key : sizes[i].key, value, sizes[i].required, limit);
    }
    if (of->buckets &&
        (config->buckets < 4 || config->buckets % 4 || config->buckets / 2 >= GB_FARTHEST))
        return gb_fail(status, GB_DATA, where, hint, "%u buckets of distances up to %u",
                       config->buckets, GB_FARTHEST);
    if (config->hidden_size % config->heads != 0)
        return gb_fail(status, GB_DATA, where, hint,
                       "%u attention heads do not divide a hidden size of %u", config->heads,
                       config->hidden_size);
    if (config->hidden_size / config->heads % 4)
        return gb_fail(status, GB_DATA, where, hint,
                       "heads of %u numbers; only multiples of 4 are computed",
                       config->hidden_size / config->heads);
    if (config->pad_token_id >= config->vocab_size)
        return gb_fail(status, GB_DATA, where, hint,
                       "\"pad_token_id\" is %u, outside a vocabulary of %u", config->pad_token_id,
                       config->vocab_size);
    return check_reals(config, where, hint, status) &&
           (!of->rotary || folder_modern_check(config, where, hint, status));
}

/* The towers of DPR are BERTs under a name of their own, unless their vectors are projected. Where
 * no type is said it is a BERT, as the first of them were, but not under the name of another class:
 * the weights of a RoBERTa can have the shapes of a BERT's. */
static bool read_type(const json_t *json, const char *path, const char **type, gb_status *status)
{
    uint32_t projected = 0;
    const char *name = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    if (!gb_json_get_string(json, "model_type", path, type, status))
        return false;
    if (!json_object_get(json, "model_type") && name && strncmp(name, "Bert", 4) != 0)
        return gb_fail(status, GB_DATA, path, "add it: the name of the kind of model",
                       "\"model_type\" is missing, and the model is a \"%.60s\"", name);
    if (strcmp(*type, "dpr") != 0)
        return true;
    *type = folder_architecture_of(GB_ENCODER_BERT)->type;
    return gb_json_get_u32(json, "projection_dim", path, &projected, status) &&
           (!projected ||
            gb_fail(status, GB_DATA, path, "only vectors as BERT makes them are computed",
                    "\"projection_dim\" is %u", projected));
}

/* Settings under which the same weights would mean another computation; *found gets the encoder. */
static bool check_kind(const json_t *json, const char *path, gb_encoder_kind *found,
                       gb_status *status)
{
    const char *type = folder_architecture_of(GB_ENCODER_BERT)->type;
    if (!read_type(json, path, &type, status) ||
        !folder_architecture_find(type, found, path, status))
        return false;
    const struct {
        const char *key;    /* name in config.json */
        const char *wanted; /* the value computed here */
        const char *hint;   /* what to do about another */
    } kinds[] = {
        {folder_architecture_of(*found)->act, "gelu", "only the exact (erf) GELU is computed"},
        {"position_embedding_type", "absolute", "only absolute positions are computed"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *value = kinds[i].wanted;
        if (!gb_json_get_string(json, kinds[i].key, path, &value, status))
            return false;
        if (strcmp(value, kinds[i].wanted) != 0)
            return gb_fail(status, GB_DATA, path, kinds[i].hint,
                           "\"%s\" is \"%.60s\"; it must be \"%s\"", kinds[i].key, value,
                           kinds[i].wanted);
    }
    bool decoder = false, cross = false, tied = true;
    if (!gb_json_get_bool(json, "is_decoder", path, &decoder, status) ||
        !gb_json_get_bool(json, "add_cross_attention", path, &cross, status) ||
        !gb_json_get_bool(json, "tie_word_embeddings", path, &tied, status))
        return false;
    if (decoder || cross)
        return gb_fail(status, GB_DATA, path, "only BERT encoders can be read",
                       "the model is a decoder");
    if (!tied)
        return gb_fail(status, GB_DATA, path, "only tied output matrices are computed",
                       "\"tie_word_embeddings\" is false");
    return true;
}

bool folder_read_architecture(const char *path, char name[GB_WEIGHT_NAME], gb_status *status)
{
    json_t *json = gb_json_load(path, GB_JSON_REALS, status);
    const char *text = json_string_value(json_array_get(json_object_get(json, "architectures"), 0));
    snprintf(name, GB_WEIGHT_NAME, "%s", text ? text : "");
    bool ok = json != NULL;
    json_decref(json);
    return ok;
}

/* Rows of the position embeddings become positions of texts. */
static bool settle_positions(const folder_architecture *of, const char *path,
                             gb_bert_config *config, gb_status *status)
{
    config->position_offset = of->after_padding ? config->pad_token_id + 1 : 0;
    if (config->max_positions <= config->position_offset)
        return gb_fail(status, GB_DATA, path, "correct the model's configuration",
                       "\"max_position_embeddings\" is %u; the first %u are of padding",
                       config->max_positions, config->position_offset);
    config->max_positions -= config->position_offset;
    return true;
}

static bool read_fields(const json_t *json, const char *path, gb_encoder_kind kind,
                        gb_bert_config *config, gb_status *status)
{
    const folder_architecture *of = folder_architecture_of(kind);
    *config = GB_BERT_BASE;
    config->kind = kind;
    config->pad_token_id = of->pad;
    config->buckets = of->buckets;
    config->type_vocab_size = of->types ? config->type_vocab_size : 0;
    if (of->rotary)
        folder_modern_defaults(config);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        const char *key = size_key(of, i);
        if (!key)
            continue;
        if (sizes[i].required && !json_is_number(json_object_get(json, key)))
            return gb_fail(status, GB_DATA, path, "is it the config.json of a BERT model?",
                           "\"%s\" is missing or no number", key);
        if (!gb_json_get_u32(json, key, path, size_field(config, i), status))
            return false;
    }
    return gb_json_get_real(json, of->eps, path, &config->layer_norm_eps, status) &&
           gb_json_get_real(json, of->dropout, path, &config->hidden_dropout, status) &&
           gb_json_get_real(json, of->attention_dropout, path, &config->attention_dropout,
                            status) &&
           gb_json_get_real(json, "initializer_range", path, &config->initializer_range, status) &&
           (!of->rotary || folder_modern_read(json, path, config, status)) &&
           settle_positions(of, path, config, status);
}

bool gb_bert_config_read(const char *path, gb_bert_config *config, gb_status *status)
{
    json_t *json = gb_json_load(path, GB_JSON_REALS, status);
    if (!json)
        return false;
    gb_bert_config read;
    gb_encoder_kind kind;
    bool ok = check_kind(json, path, &kind, status) &&
              read_fields(json, path, kind, &read, status) &&
              gb_bert_config_check(&read, path, status);
    json_decref(json);
    if (ok)
        *config = read;
    return ok;
}

/* Always with a point or an exponent: Python would take 0 for an int. (json_dumps has one precision
 * for all and prints 0.1 with 17 digits.) */
static const char *real_text(double value, char text[40])
{
    gb_format_double(value, text);
    if (!strpbrk(text, ".e"))
        strcat(text, ".0");
    return text;
}

/* What config.json says of the whole model. */
typedef struct model_kind {
    const char *architecture; /* transformers' class */
    const char *labels;       /* further lines, sorted in between; "": none */
    const char *activation;   /* another of them */
} model_kind;

/* config.json of another encoder than BERT, in the order of its keys. */
static bool write_own(const char *path, const gb_bert_config *config, bool head, gb_status *status)
{
    const folder_architecture *of = folder_architecture_of(config->kind);
    json_t *json = json_pack(
        "{s:[s], s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:s}", "architectures",
        head ? of->with_head : of->bare, "model_type", of->type, of->act, "gelu", "vocab_size",
        (json_int_t)config->vocab_size, of->hidden, (json_int_t)config->hidden_size, of->layers,
        (json_int_t)config->layers, of->heads, (json_int_t)config->heads, of->inner,
        (json_int_t)config->intermediate_size, "max_position_embeddings",
        (json_int_t)(config->max_positions + config->position_offset), "pad_token_id",
        (json_int_t)config->pad_token_id, "initializer_range", config->initializer_range,
        "torch_dtype", "float32");
    json_object_set_new(json, of->dropout, json_real(config->hidden_dropout));
    json_object_set_new(json, of->attention_dropout, json_real(config->attention_dropout));
    json_object_set_new(json, of->eps, json_real(config->layer_norm_eps));
    if (of->types)
        json_object_set_new(json, "type_vocab_size", json_integer(config->type_vocab_size));
    if (of->buckets)
        json_object_set_new(json, "relative_attention_num_buckets", json_integer(config->buckets));
    if (of->rotary)
        folder_modern_write(json, config);
    bool ok =
        gb_json_save(json, FOLDER_JSON | JSON_SORT_KEYS | JSON_REAL_PRECISION(15), path, status);
    json_decref(json);
    return ok;
}

static bool write_config(const char *path, const gb_bert_config *config, const model_kind *kind,
                         gb_status *status)
{
    if (!gb_bert_config_check(config, path, status))
        return false;
    char text[4][40];
    gb_text json = {0};
    gb_text_printf(&json,
                   "{\n"
                   "  \"architectures\": [\n    \"%s\"\n  ],\n"
                   "  \"attention_probs_dropout_prob\": %s,\n"
                   "  \"classifier_dropout\": null,\n"
                   "  \"hidden_act\": \"gelu\",\n"
                   "  \"hidden_dropout_prob\": %s,\n"
                   "  \"hidden_size\": %u,\n"
                   "%s"
                   "  \"initializer_range\": %s,\n"
                   "  \"intermediate_size\": %u,\n"
                   "  \"layer_norm_eps\": %s,\n"
                   "  \"max_position_embeddings\": %u,\n"
                   "  \"model_type\": \"bert\",\n"
                   "  \"num_attention_heads\": %u,\n"
                   "  \"num_hidden_layers\": %u,\n"
                   "  \"pad_token_id\": %u,\n"
                   "  \"position_embedding_type\": \"absolute\",\n"
                   "%s"
                   "  \"torch_dtype\": \"float32\",\n"
                   "  \"type_vocab_size\": %u,\n"
                   "  \"use_cache\": true,\n"
                   "  \"vocab_size\": %u\n"
                   "}\n",
                   kind->architecture, real_text(config->attention_dropout, text[0]),
                   real_text(config->hidden_dropout, text[1]), config->hidden_size, kind->labels,
                   real_text(config->initializer_range, text[2]), config->intermediate_size,
                   real_text(config->layer_norm_eps, text[3]), config->max_positions, config->heads,
                   config->layers, config->pad_token_id, kind->activation, config->type_vocab_size,
                   config->vocab_size);
    bool ok = json.failed ? gb_fail_memory(status, "writing config.json")
                          : gb_write_file(path, json.data, json.length, status);
    gb_text_free(&json);
    return ok;
}

bool gb_bert_config_write(const char *path, const gb_bert_config *config, bool head,
                          gb_status *status)
{
    const folder_architecture *of = folder_architecture_of(config->kind);
    if (config->kind != GB_ENCODER_BERT)
        return gb_bert_config_check(config, path, status) && write_own(path, config, head, status);
    return write_config(path, config, &(model_kind){head ? of->with_head : of->bare, "", ""},
                        status);
}

#define ACTIVATION_KEY "sbert_ce_default_activation_function"

bool gb_bert_config_write_pairs(const char *path, const gb_bert_config *config, bool probability,
                                gb_status *status)
{
    return write_config(path, config,
                        &(model_kind){FOLDER_PAIRS,
                                      "  \"id2label\": {\n    \"0\": \"LABEL_0\"\n  },\n"
                                      "  \"label2id\": {\n    \"LABEL_0\": 0\n  },\n",
                                      probability ? "  \"" ACTIVATION_KEY
                                                    "\": \"torch.nn.modules.activation.Sigmoid\",\n"
                                                  : "  \"" ACTIVATION_KEY
                                                    "\": \"torch.nn.modules.linear.Identity\",\n"},
                        status);
}

bool gb_folder_runs_lm_kernels(const char *folder, bool *runs, gb_status *status)
{
    char *body = folder_find_body(folder, status);
    char *path = body ? gb_path_join(status, body, "config.json") : NULL;
    json_t *json = path && gb_file_exists(path) ? gb_json_load(path, GB_JSON_REALS, NULL) : NULL;
    gb_encoder_kind kind;
    const char *type = json ? gb_json_text(json, "model_type") : "";
    *runs = !strcmp(type, "llama") ||
            (folder_architecture_find(type, &kind, path, NULL) &&
             (folder_architecture_of(kind)->buckets > 0 || folder_architecture_of(kind)->rotary));
    json_decref(json);
    bool ok = path != NULL;
    free(path);
    free(body);
    return ok;
}
