/* sentence-transformers' files: how a sentence vector is made of the model's states. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROMPT_SETTINGS "config_sentence_transformers.json"
#define SIMILARITY      "similarity_fn_name" /* of the same */
#define TERM_POOLING    "1_SpladePooling"

/* How sentence-transformers named the file over the years; the first that is there counts. */
static const char *const transformer_settings[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

const char *folder_transformer_settings(const char *dir)
{
    for (size_t i = 0; i < sizeof transformer_settings / sizeof *transformer_settings; i++) {
        char *path = gb_path_join(NULL, dir, transformer_settings[i]);
        bool there = path && gb_file_exists(path);
        free(path);
        if (there)
            return transformer_settings[i];
    }
    return transformer_settings[0];
}

/* ---- writing ---- */

/* sparse: a module of SparseEncoder. */
static json_t *module(int index, const char *path, bool sparse, const char *kind)
{
    char name[16], type[80];
    snprintf(name, sizeof name, "%d", index);
    snprintf(type, sizeof type, "sentence_transformers.%smodels.%s",
             sparse ? "sparse_encoder." : "", kind);
    return json_pack("{s:i, s:s, s:s, s:s}", "idx", index, "name", name, "path", path, "type",
                     type);
}

static json_t *term_settings(uint32_t vocab_size)
{
    return json_pack("{s:s, s:s, s:I}", "pooling_strategy", "max", "activation_function", "relu",
                     "word_embedding_dimension", (json_int_t)vocab_size);
}

/* Without it sentence-transformers would take the mean over tokens. */
static json_t *pooling_settings(uint32_t hidden_size, gb_pooling pooling)
{
    bool mean = pooling == GB_POOLING_MEAN, last = pooling == GB_POOLING_LAST;
    return json_pack("{s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "word_embedding_dimension",
                     (json_int_t)hidden_size, "pooling_mode_cls_token", !mean && !last,
                     "pooling_mode_mean_tokens", mean, "pooling_mode_max_tokens", 0,
                     "pooling_mode_mean_sqrt_len_tokens", 0, "pooling_mode_weightedmean_tokens", 0,
                     "pooling_mode_lasttoken", last, "include_prompt", 1);
}

static json_t *modules_of(const gb_sentence_settings *how)
{
    if (how->query_tokens)
        return json_pack("[o]", module(0, "", false, "Router"));
    if (how->pooling == GB_POOLING_TERMS)
        return json_pack("[o, o]", module(0, "", true, "MLMTransformer"),
                         module(1, TERM_POOLING, true, "SpladePooling"));
    json_t *list = json_pack("[o, o]", module(0, "", false, "Transformer"),
                             module(1, "1_Pooling", false, "Pooling"));
    if (how->normalize)
        json_array_append_new(list, module(2, "2_Normalize", false, "Normalize"));
    return list;
}

static json_t *prompts_of(const gb_sentence_settings *how)
{
    json_t *prompts = json_object();
    if (how->query_prompt)
        json_object_set_new(prompts, "query", json_string(how->query_prompt));
    if (how->passage_prompt)
        json_object_set_new(prompts, "document", json_string(how->passage_prompt));
    return prompts;
}

static bool save(const char *dir, const char *name, json_t *json, gb_status *status)
{
    bool ok = gb_json_save_in(json, FOLDER_JSON, dir, name, status);
    json_decref(json);
    return ok;
}

bool folder_write_prompts(const char *dir, const gb_sentence_settings *how, gb_status *status)
{
    json_t *prompts =
        json_pack("{s:o, s:n, s:s}", "prompts", prompts_of(how), "default_prompt_name", SIMILARITY,
                  gb_similarity_word(how->normalize ? GB_SIMILARITY_COSINE : GB_SIMILARITY_DOT));
    if (how->pooling == GB_POOLING_TERMS)
        json_object_set_new(prompts, "model_type", json_string("SparseEncoder"));
    return save(dir, PROMPT_SETTINGS, prompts, status);
}

bool folder_write_sentence(const char *dir, const char *body, const gb_folder_params *params,
                           gb_status *status)
{
    const gb_sentence_settings *how = &params->sentence;
    if (how->late)
        return folder_write_late(dir, params, status);
    bool terms = how->pooling == GB_POOLING_TERMS;
    uint32_t length = how->max_length ? how->max_length : params->config->max_positions;
    char *pooling = gb_path_join(status, dir,
                                 how->query_tokens ? FOLDER_DOCUMENT_POOLING
                                 : terms           ? TERM_POOLING
                                                   : "1_Pooling");
    bool ok =
        pooling && gb_make_dirs(pooling, status) &&
        save(pooling, "config.json",
             terms ? term_settings(params->config->vocab_size)
                   : pooling_settings(params->config->hidden_size, how->pooling),
             status) &&
        save(dir, "modules.json", modules_of(how), status) &&
        save(body, transformer_settings[0],
             json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)length, "do_lower_case", 0),
             status) &&
        folder_write_prompts(dir, how, status) &&
        (!how->query_tokens || folder_write_router(dir, params, status));
    free(pooling);
    return ok;
}

/* ---- reading ---- */

static bool fail_pooling(const char *path, const char *mode, gb_status *status)
{
    return gb_fail(status, GB_DATA, path, "only \"cls\", \"mean\" and \"lasttoken\" are computed",
                   "pooling \"%.60s\" is not known here", mode);
}

/* "pooling_mode": "cls", or the older pooling_mode_<x>: true, of which exactly one may be set. */
static bool read_pooling(const json_t *json, const char *path, gb_pooling *pooling,
                         gb_status *status)
{
    static const char prefix[] = "pooling_mode_";
    const char *mode = NULL, *key;
    json_t *value;
    if (!gb_json_get_string(json, "pooling_mode", path, &mode, status))
        return false;
    json_object_foreach((json_t *)json, key, value)
    {
        if (mode && json_object_get(json, "pooling_mode"))
            break;
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !json_is_true(value))
            continue;
        if (mode)
            return fail_pooling(path, "several together", status);
        mode = key + sizeof prefix - 1;
    }
    if (mode && (strcmp(mode, "cls") == 0 || strcmp(mode, "cls_token") == 0))
        *pooling = GB_POOLING_CLS;
    else if (mode && (strcmp(mode, "mean") == 0 || strcmp(mode, "mean_tokens") == 0))
        *pooling = GB_POOLING_MEAN;
    else if (mode && strcmp(mode, "lasttoken") == 0)
        *pooling = GB_POOLING_LAST;
    else
        return fail_pooling(path, mode ? mode : "none", status);
    return true;
}

/* Load dir/sub/name; a sub that leaves the folder is refused. */
static json_t *load(const char *dir, const char *sub, const char *name, char **path,
                    gb_status *status)
{
    *path = NULL;
    if (sub[0] == '/' || strstr(sub, "..")) {
        gb_fail(status, GB_DATA, dir, "correct modules.json", "the path \"%.100s\" leads elsewhere",
                sub);
        return NULL;
    }
    *path = gb_format(status, "%s/%s%s%s", dir, sub, *sub ? "/" : "", name);
    return *path ? gb_json_load(*path, GB_JSON_REALS, status) : NULL;
}

static bool read_state_pooling(const json_t *json, const char *path, gb_sentence_settings *settings,
                               gb_status *status)
{
    bool with_prompt = true;
    if (!read_pooling(json, path, &settings->pooling, status) ||
        !gb_json_get_bool(json, "include_prompt", path, &with_prompt, status))
        return false;
    settings->prompt_left_out = !with_prompt && settings->pooling == GB_POOLING_MEAN;
    return true;
}

/* A folder whose files are read. */
typedef struct source {
    const char *path, *body; /* of the folder, and of config.json and the tensors */
    const gb_folder *folder; /* an encoder, opened; NULL: a language model */
} source;

/* SpladePooling: {"pooling_strategy": "max", "activation_function": "relu"}. */
static bool read_term_pooling(const source *from, const json_t *json, const char *path,
                              gb_sentence_settings *settings, gb_status *status)
{
    const char *strategy = "max", *activation = "relu";
    if (!gb_json_get_string(json, "pooling_strategy", path, &strategy, status) ||
        !gb_json_get_string(json, "activation_function", path, &activation, status))
        return false;
    if (strcmp(strategy, "max") != 0 || strcmp(activation, "relu") != 0)
        return gb_fail(
            status, GB_DATA, path, "only the \"max\" over tokens of log(1 + \"relu\") is computed",
            "term weights by \"%.40s\" of \"%.40s\" are not known here", strategy, activation);
    if (!from->folder || !gb_folder_has_head(from->folder))
        return gb_fail(status, GB_DATA, from->path, "write the folder from a BertForMaskedLM",
                       "term weights are made by the masked-LM head, which the model lacks");
    settings->pooling = GB_POOLING_TERMS;
    return true;
}

/* config.json of a pooling's sub-folder. */
static bool read_pooling_of(const source *from, const char *sub, bool terms,
                            gb_sentence_settings *settings, gb_status *status)
{
    char *path;
    json_t *json = load(from->path, sub, "config.json", &path, status);
    bool ok = json && (terms ? read_term_pooling(from, json, path, settings, status)
                             : read_state_pooling(json, path, settings, status));
    json_decref(json);
    free(path);
    return ok;
}

/* One module: {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling", ...}; newer
 * versions spell the type otherwise up to its last part. */
static bool read_module(const source *from, const json_t *module, const char *modules_path,
                        gb_sentence_settings *settings, gb_status *status)
{
    const char *type = "", *sub = "";
    if (!json_is_object(module))
        return gb_fail(status, GB_DATA, modules_path, NULL, "a module is no JSON object");
    if (!gb_json_get_string(module, "type", modules_path, &type, status) ||
        !gb_json_get_string(module, "path", modules_path, &sub, status))
        return false;
    const char *kind = folder_class(type);
    if (strcmp(kind, "Transformer") == 0 || strcmp(kind, "MLMTransformer") == 0) {
        return *sub == '\0' || gb_fail(status, GB_DATA, modules_path, "give that folder instead",
                                       "the model lies in the sub-folder \"%.100s\"", sub);
    } else if (strcmp(kind, "Normalize") == 0) {
        settings->normalize = true;
        return true;
    } else if (strcmp(kind, "Router") == 0 && from->folder) {
        char *pooling;
        bool ok = folder_read_router(from->folder, &pooling, status) &&
                  read_pooling_of(from, pooling, true, settings, status);
        settings->query_tokens = ok;
        free(pooling);
        return ok;
    }
    bool terms = strcmp(kind, "SpladePooling") == 0;
    if (!terms && strcmp(kind, "Pooling") != 0)
        return gb_fail(status, GB_DATA, modules_path,
                       "only Transformer, Pooling, Normalize, MLMTransformer and SpladePooling are "
                       "computed",
                       "module \"%.100s\" is not known here", type);
    return read_pooling_of(from, sub, terms, settings, status);
}

static bool read_modules(const source *from, const char *path, gb_sentence_settings *settings,
                         gb_status *status)
{
    json_t *modules = gb_json_load(path, GB_JSON_ANY, status);
    if (!modules)
        return false;
    bool ok = json_is_array(modules) ||
              gb_fail(status, GB_DATA, path, "the file is damaged; fetch or write it again",
                      "not a JSON list");
    for (size_t i = 0; ok && i < json_array_size(modules); i++)
        ok = read_module(from, json_array_get(modules, i), path, settings, status);
    json_decref(modules);
    return ok;
}

/* Whether the folder's modules.json, if there is one, names a module of that class. */
static bool has_module(const char *path, const char *kind, bool *has, gb_status *status)
{
    char *file = gb_path_join(status, path, "modules.json");
    bool there = file && gb_file_exists(file);
    json_t *modules = there ? gb_json_load(file, GB_JSON_ANY, status) : NULL;
    bool ok = file && (modules || !there);
    *has = false;
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const char *type = gb_json_text(json_array_get(modules, i), "type");
        *has = *has || strcmp(folder_class(type), kind) == 0;
    }
    json_decref(modules);
    free(file);
    return ok;
}

bool gb_folder_is_sparse(const char *path, bool *sparse, gb_status *status)
{
    return has_module(path, "SpladePooling", sparse, status) &&
           (*sparse || folder_router_is_sparse(path, sparse, status));
}

/* ---- similarity ---- */

static const char *const similarities[] = {[GB_SIMILARITY_DOT] = "dot",
                                           [GB_SIMILARITY_COSINE] = "cosine",
                                           [GB_SIMILARITY_EUCLIDEAN] = "euclidean",
                                           [GB_SIMILARITY_MANHATTAN] = "manhattan"};

const char *gb_similarity_word(gb_similarity similarity)
{
    return similarities[similarity];
}

/* "similarity_fn_name"; null is as if it were absent. */
static bool take_similarity(const json_t *json, const char *path, gb_similarity *similarity,
                            gb_status *status)
{
    const char *word = NULL;
    *similarity = GB_SIMILARITY_UNSTATED;
    if (!gb_json_get_string(json, SIMILARITY, path, &word, status))
        return false;
    for (gb_similarity s = GB_SIMILARITY_DOT; word && s <= GB_SIMILARITY_MANHATTAN; s++)
        if (strcmp(word, similarities[s]) == 0)
            *similarity = s;
    return !word || *similarity != GB_SIMILARITY_UNSTATED ||
           gb_fail(status, GB_DATA, path, "\"cosine\" and \"dot\" are computed",
                   "the similarity \"%.60s\" is not known here", word);
}

static bool read_similarity(const char *folder, gb_similarity *similarity, gb_status *status)
{
    char *path = gb_path_join(status, folder, PROMPT_SETTINGS);
    bool ok = path != NULL;
    *similarity = GB_SIMILARITY_UNSTATED;
    if (ok && gb_file_exists(path)) {
        json_t *json = gb_json_load(path, GB_JSON_REALS, status);
        ok = json && take_similarity(json, path, similarity, status);
        json_decref(json);
    }
    free(path);
    return ok;
}

bool gb_folder_is_cosine_unscaled(const char *path, bool *unscaled, gb_status *status)
{
    gb_similarity similarity;
    bool scaled;
    bool ok = read_similarity(path, &similarity, status) &&
              has_module(path, "Normalize", &scaled, status);
    *unscaled = ok && similarity == GB_SIMILARITY_COSINE && !scaled;
    return ok;
}

/* ---- reading all of it ---- */

bool folder_read_length(const char *dir, const char *name, const char *member, uint32_t least,
                        uint32_t *length, gb_status *status)
{
    char *path = gb_path_join(status, dir, name);
    bool ok = path != NULL;
    if (ok && gb_file_exists(path)) {
        json_t *json = gb_json_load(path, GB_JSON_REALS, status);
        const json_t *value = json_object_get(json, member);
        double number = json_is_number(value) ? json_number_value(value) : *length;
        ok = json && (number >= least ||
                      gb_fail(status, GB_DATA, path, "correct the file",
                              "\"%s\" is %g; it must be %u at least", member, number, least));
        if (ok && number < *length) /* huge where transformers knows none */
            *length = (uint32_t)number;
        json_decref(json);
    }
    free(path);
    return ok;
}

/* The longest input: max_seq_length, where it is not stated what the tokenizer allows, as in
 * sentence-transformers; never above what the position embeddings hold. */
static bool read_length(const source *from, gb_sentence_settings *settings, gb_status *status)
{
    uint32_t length = UINT32_MAX;
    bool ok = folder_read_length(from->body, folder_transformer_settings(from->body),
                                 "max_seq_length", 2, &length, status) &&
              (length < UINT32_MAX || folder_read_length(from->body, "tokenizer_config.json",
                                                         "model_max_length", 2, &length, status));
    if (length < settings->max_length)
        settings->max_length = length;
    return ok;
}

gb_pooling gb_pooling_named(const char *word)
{
    return !word                       ? GB_POOLING_UNSTATED
           : strcmp(word, "mean") == 0 ? GB_POOLING_MEAN
           : strcmp(word, "last") == 0 ? GB_POOLING_LAST
                                       : GB_POOLING_CLS;
}

const char *gb_pooling_word(gb_pooling pooling)
{
    return pooling == GB_POOLING_CLS    ? "cls"
           : pooling == GB_POOLING_MEAN ? "mean"
           : pooling == GB_POOLING_LAST ? "last"
                                        : NULL;
}

/* settings->max_length is the number of positions. */
static bool read_sentence(const source *from, gb_sentence_settings *settings, gb_status *status)
{
    char *path = gb_path_join(status, from->path, "modules.json");
    bool ok = path != NULL;
    if (ok && gb_file_exists(path))
        ok = read_modules(from, path, settings, status);
    free(path);
    return ok && read_length(from, settings, status) &&
           read_similarity(from->path, &settings->similarity, status);
}

bool gb_folder_sentence(const gb_folder *folder, gb_sentence_settings *settings, gb_status *status)
{
    gb_sentence_settings read = {.max_length = gb_folder_config(folder)->max_positions};
    const source from = {gb_folder_path(folder), folder_body(folder), folder};
    gb_late_kind late = gb_folder_late_kind(from.path);
    if (late != GB_LATE_NONE)
        return gb_fail(status, GB_DATA, from.path,
                       "gabbro encode, evaluate and mine read it, and finetune --scoring goes on "
                       "with it",
                       "a %s model, whose vectors are of tokens and not of texts",
                       gb_late_kind_name(late));
    bool ok = read_sentence(&from, &read, status);
    if (ok)
        *settings = read;
    return ok;
}

/* Copy the first of the named prompts that is there and not empty; none is no failure. */
static bool take_prompt(const json_t *prompts, const char *const *names, const char *path,
                        char **prompt, gb_status *status)
{
    const char *text = NULL;
    for (; *names && !text; names++)
        if (!gb_json_get_string(prompts, *names, path, &text, status))
            return false;
    return !text || !*text || (*prompt = gb_strdup(text, status)) != NULL;
}

static bool read_prompts(const json_t *json, const char *path, gb_text_prompts *read,
                         gb_status *status)
{
    const json_t *prompts = json_object_get(json, "prompts");
    const char *otherwise = NULL;
    if (!gb_json_get_string(json, "default_prompt_name", path, &otherwise, status))
        return false;
    if (prompts && !json_is_null(prompts) && !json_is_object(prompts))
        return gb_fail(status, GB_DATA, path, "correct the file", "\"prompts\" is no JSON object");
    if (otherwise && !json_object_get(prompts, otherwise))
        return gb_fail(status, GB_DATA, path, "correct the file",
                       "\"default_prompt_name\" is \"%.60s\", which is not among the prompts",
                       otherwise);
    const char *const of_query[] = {"query", otherwise, NULL};
    const char *const of_passage[] = {"document", "passage", "corpus", otherwise, NULL};
    return take_prompt(prompts, of_query, path, &read->query, status) &&
           take_prompt(prompts, of_passage, path, &read->passage, status);
}

static bool read_prompts_of(const char *folder, gb_text_prompts *prompts, gb_status *status)
{
    *prompts = (gb_text_prompts){0};
    char *path = gb_path_join(status, folder, PROMPT_SETTINGS);
    bool ok = path != NULL;
    if (ok && gb_file_exists(path)) {
        json_t *json = gb_json_load(path, GB_JSON_REALS, status);
        ok = json && read_prompts(json, path, prompts, status);
        json_decref(json);
    }
    free(path);
    if (!ok)
        gb_text_prompts_free(prompts);
    return ok;
}

bool gb_lm_folder_sentence(const char *folder, const gb_lm_config *config,
                           gb_sentence_settings *settings, gb_text_prompts *prompts,
                           gb_status *status)
{
    const source from = {folder, folder, NULL};
    *settings = (gb_sentence_settings){.max_length = config->max_positions};
    return folder_check_lowering(folder, false, status) && /* no tokenizer of a LLaMA does it */
           read_sentence(&from, settings, status) && read_prompts_of(folder, prompts, status);
}

bool gb_folder_prompts(const gb_folder *folder, gb_text_prompts *prompts, gb_status *status)
{
    return read_prompts_of(gb_folder_path(folder), prompts, status);
}

void gb_text_prompts_free(gb_text_prompts *prompts)
{
    free(prompts->query);
    free(prompts->passage);
    *prompts = (gb_text_prompts){0};
}
