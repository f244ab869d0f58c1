/* What a folder says of late interaction: read from the files of ColBERT, PyLate and our own. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define PYLATE_SETTINGS  "config_sentence_transformers.json"
#define COLBERT_SETTINGS "artifact.metadata"
#define COIL_SETTINGS    "late_interaction.json"

void gb_late_settings_free(gb_late_settings *late)
{
    free(late->skipped);
    *late = (gb_late_settings){0};
}

const char *gb_late_kind_name(gb_late_kind kind)
{
    return kind == GB_LATE_COLBERT ? "ColBERT" : kind == GB_LATE_COIL ? "COIL" : NULL;
}

/* ---- which kind ---- */

static bool has_file(const char *folder, const char *name)
{
    char *path = gb_path_join(NULL, folder, name);
    bool there = path && gb_file_exists(path);
    free(path);
    return there;
}

/* The Dense module of a list without Pooling, or NULL: it projects tokens. *count gets their
 * number. */
static const json_t *dense_module(const json_t *modules, size_t *count)
{
    const json_t *found = NULL;
    *count = 0;
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *module = json_array_get(modules, i);
        if (!strcmp(folder_class(gb_json_text(module, "type")), "Pooling"))
            return NULL;
        if (strcmp(folder_class(gb_json_text(module, "type")), "Dense") != 0)
            continue;
        found = module;
        ++*count;
    }
    return found;
}

gb_late_kind gb_folder_late_kind(const char *path)
{
    if (has_file(path, COIL_SETTINGS))
        return GB_LATE_COIL;
    if (has_file(path, COLBERT_SETTINGS))
        return GB_LATE_COLBERT;
    size_t count = 0;
    json_t *modules = has_file(path, "modules.json")
                          ? gb_json_load_in(path, "modules.json", GB_JSON_ANY, NULL)
                          : NULL;
    bool late = dense_module(modules, &count) != NULL;
    json_decref(modules);
    return late ? GB_LATE_COLBERT : GB_LATE_NONE;
}

/* Refuses what such a layer may do beyond W x. */
static bool check_dense(const char *dir, gb_status *status)
{
    char *path = gb_path_join(status, dir, "config.json");
    json_t *json = path ? gb_json_load(path, GB_JSON_REALS, status) : NULL;
    const char *activation = NULL;
    bool bias = false, residual = false;
    bool ok = json && gb_json_get_bool(json, "bias", path, &bias, status) &&
              gb_json_get_bool(json, "use_residual", path, &residual, status) &&
              gb_json_get_string(json, "activation_function", path, &activation, status);
    if (ok && (bias || residual || (activation && strcmp(folder_class(activation), "Identity"))))
        ok = gb_fail(status, GB_DATA, path, "only W x is computed",
                     "the projection has a bias, a residual or an activation");
    json_decref(json);
    free(path);
    return ok;
}

bool folder_dense_file(const char *folder, char **file, gb_status *status)
{
    *file = NULL;
    if (!has_file(folder, "modules.json"))
        return true;
    size_t count;
    json_t *modules = gb_json_load_in(folder, "modules.json", GB_JSON_ANY, status);
    const json_t *dense = dense_module(modules, &count);
    const char *sub = gb_json_text(dense, "path");
    char *dir = NULL;
    bool ok = modules != NULL;
    if (ok && dense && (count > 1 || *sub == '/' || strstr(sub, "..")))
        ok = gb_fail(status, GB_DATA, folder, "only one projection inside the folder is computed",
                     "modules.json has %zu projections, the last in \"%.100s\"", count, sub);
    else if (ok && dense)
        ok = (dir = gb_path_join(status, folder, sub)) && check_dense(dir, status);
    if (ok && dir)
        ok = (*file = gb_folder_tensor_file(dir, status)) != NULL;
    json_decref(modules);
    free(dir);
    return ok;
}

/* ---- markers ---- */

/* The id that a list of added tokens gives a text: of tokenizer_config.json, an object by id, or of
 * tokenizer.json, an array. */
static uint32_t id_in_list(const json_t *list, const char *text)
{
    const char *key;
    json_t *token;
    json_object_foreach((json_t *)list, key, token)
    {
        if (!strcmp(gb_json_text(token, "content"), text))
            return (uint32_t)strtoul(key, NULL, 10);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        token = json_array_get(list, i);
        uint32_t id = GB_MAP_NONE;
        if (!strcmp(gb_json_text(token, "content"), text) &&
            gb_json_get_u32(token, "id", "", &id, NULL))
            return id;
    }
    return GB_MAP_NONE;
}

static bool added_id(const char *folder, const char *text, uint32_t *id, gb_status *status)
{
    static const struct {
        const char *file, *key; /* key NULL: the file is an object of ids by text */
    } places[] = {{"tokenizer_config.json", "added_tokens_decoder"},
                  {"added_tokens.json", NULL},
                  {"tokenizer.json", "added_tokens"}};
    *id = GB_MAP_NONE;
    for (int i = 0; *id == GB_MAP_NONE && i < 3; i++) {
        if (!has_file(folder, places[i].file))
            continue;
        json_t *json = gb_json_load_in(folder, places[i].file, GB_JSON_REALS, status);
        if (!json)
            return false;
        if (places[i].key)
            *id = id_in_list(json_object_get(json, places[i].key), text);
        else
            gb_json_get_u32(json, text, "", id, NULL);
        json_decref(json);
    }
    return true;
}

static bool find_marker(const gb_folder *folder, const gb_vocab *vocab, const char *text,
                        gb_late_marker *marker, gb_status *status)
{
    const char *path = gb_folder_path(folder);
    *marker = (gb_late_marker){.id = GB_MAP_NONE};
    if (!*text)
        return true;
    if (strlen(text) >= sizeof marker->text)
        return gb_fail(status, GB_DATA, path, NULL, "the marker \"%.60s\" is longer than %zu bytes",
                       text, sizeof marker->text - 1);
    memcpy(marker->text, text, strlen(text) + 1);
    marker->id = gb_vocab_id(vocab, text, strlen(text));
    if (marker->id == GB_MAP_NONE && !added_id(path, text, &marker->id, status))
        return false;
    return marker->id < gb_folder_config(folder)->vocab_size ||
           gb_fail(status, GB_DATA, path, "fetch or write the model again",
                   "the marker \"%s\" is no token of vocab.txt or of the added tokens", text);
}

/* ---- tokens that are left out ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The tokens of the vocabulary among these words; NULL: ASCII punctuation. */
static bool skip_words(const json_t *words, const gb_vocab *vocab, gb_late_settings *late,
                       gb_status *status)
{
    static const char punctuation[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    size_t count = words ? json_array_size(words) : sizeof punctuation - 1;
    if (!(late->skipped = gb_alloc(count + 1, sizeof *late->skipped, status)))
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *word = json_array_get(words, i);
        const char *text = words ? json_string_value(word) : punctuation + i;
        uint32_t id = text ? gb_vocab_id(vocab, text, words ? strlen(text) : 1) : GB_MAP_NONE;
        if (id != GB_MAP_NONE)
            late->skipped[late->skipped_count++] = id;
    }
    qsort(late->skipped, late->skipped_count, sizeof *late->skipped, by_id);
    return true;
}

/* ---- settings ---- */

/* What the two programs call the same things. */
typedef struct late_names {
    const char *file;                                   /* in which they are */
    const char *query, *passage;                        /* markers */
    const char *query_length, *passage_length, *attend; /* see gb_late_settings */
    const char *markers[2];                             /* where the file is silent */
} late_names;
static const late_names of_pylate = {PYLATE_SETTINGS,   "query_prefix",
                                     "document_prefix", "query_length",
                                     "document_length", "attend_to_expansion_tokens",
                                     {"[Q] ", "[D] "}};
static const late_names of_colbert = {COLBERT_SETTINGS,
                                      "query_token_id",
                                      "doc_token_id",
                                      "query_maxlen",
                                      "doc_maxlen",
                                      "attend_to_mask_tokens",
                                      {"[unused0]", "[unused1]"}};

static const late_names *names_in(const char *dir)
{
    return has_file(dir, PYLATE_SETTINGS) ? &of_pylate : &of_colbert;
}

/* The object of that file, an empty one where there is none; its path, which the caller frees. */
static json_t *load_settings(const char *dir, const late_names *names, char **path,
                             gb_status *status)
{
    if (!(*path = gb_path_join(status, dir, names->file)))
        return NULL;
    if (gb_file_exists(*path))
        return gb_json_load(*path, GB_JSON_REALS, status);
    json_t *none = json_object();
    return none ? none : (gb_fail_memory(status, "reading a model"), NULL);
}

json_t *folder_late_markers(const char *dir, gb_status *status)
{
    if (gb_folder_late_kind(dir) != GB_LATE_COLBERT)
        return json_array();
    const late_names *names = names_in(dir);
    char *path;
    json_t *json = load_settings(dir, names, &path, status);
    const char *query = names->markers[0], *passage = names->markers[1];
    bool ok = json && gb_json_get_string(json, names->query, path, &query, status) &&
              gb_json_get_string(json, names->passage, path, &passage, status);
    json_t *markers = ok ? json_pack("[s, s]", query, passage) : NULL;
    if (ok && !markers)
        gb_fail_memory(status, "reading a tokenizer");
    json_decref(json);
    free(path);
    return markers;
}

/* Members of one file; those that it lacks stay. */
static bool read_members(const json_t *json, const late_names *names, const char *path,
                         gb_late_settings *late, const char *markers[2], gb_status *status)
{
    return gb_json_get_string(json, names->query, path, &markers[0], status) &&
           gb_json_get_string(json, names->passage, path, &markers[1], status) &&
           gb_json_get_u32(json, names->query_length, path, &late->query_length, status) &&
           gb_json_get_u32(json, names->passage_length, path, &late->passage_length, status) &&
           gb_json_get_bool(json, names->attend, path, &late->attend, status) &&
           gb_json_get_bool(json, "do_query_expansion", path, &late->expand, status);
}

static bool read_colbert(const gb_folder *folder, const gb_vocab *vocab, gb_late_settings *late,
                         gb_status *status)
{
    const late_names *names = names_in(gb_folder_path(folder));
    bool pylate = names == &of_pylate;
    char *path;
    json_t *json = load_settings(gb_folder_path(folder), names, &path, status);
    const char *markers[2] = {names->markers[0], names->markers[1]};
    const char *similarity = "cosine";
    bool punctuation = true;
    bool ok = json && read_members(json, names, path, late, markers, status) &&
              (pylate || (gb_json_get_bool(json, "mask_punctuation", path, &punctuation, status) &&
                          gb_json_get_string(json, "similarity", path, &similarity, status))) &&
              find_marker(folder, vocab, markers[0], &late->query, status) &&
              find_marker(folder, vocab, markers[1], &late->passage, status);
    if (ok && strcmp(similarity, "cosine") != 0)
        ok = gb_fail(status, GB_DATA, path, "only \"cosine\" is computed",
                     "the similarity \"%.60s\" is not known here", similarity);
    const json_t *words = pylate ? json_object_get(json, "skiplist_words") : NULL;
    ok = ok &&
         (!punctuation || skip_words(json_is_array(words) ? words : NULL, vocab, late, status));
    json_decref(json);
    free(path);
    return ok;
}

static bool read_coil(const gb_folder *folder, gb_late_settings *late, gb_status *status)
{
    char *path = gb_path_join(status, gb_folder_path(folder), COIL_SETTINGS);
    json_t *json = path ? gb_json_load(path, GB_JSON_REALS, status) : NULL;
    bool ok = json && gb_json_get_u32(json, "query_length", path, &late->query_length, status) &&
              gb_json_get_u32(json, "passage_length", path, &late->passage_length, status);
    if (ok && strcmp(gb_json_text(json, "kind"), "coil") != 0)
        ok = gb_fail(status, GB_DATA, path, "only \"coil\" is written there",
                     "late interaction of the kind \"%.60s\" is not known here",
                     gb_json_text(json, "kind"));
    json_decref(json);
    free(path);
    late->query.id = late->passage.id = GB_MAP_NONE;
    return ok;
}

static bool check_lengths(const char *path, const gb_bert_config *config,
                          const gb_late_settings *late, gb_status *status)
{
    uint32_t least = 3 + (late->kind == GB_LATE_COLBERT), most = config->max_positions;
    return (late->query_length >= least && late->query_length <= most &&
            late->passage_length >= least && late->passage_length <= most) ||
           gb_fail(status, GB_DATA, path, "correct the file",
                   "queries of %u tokens and passages of %u; both must lie in [%u, %u]",
                   late->query_length, late->passage_length, least, most);
}

/* MPNet attends by spans of a text's rows, in which no token can be left out. */
static bool can_expand(const gb_bert_config *config, const gb_late_settings *late,
                       const char *where, gb_status *status)
{
    return !config->buckets || !late->expand || late->attend ||
           gb_fail(status, GB_DATA, where, "take another encoder than MPNet",
                   "queries of MPNet cannot be filled up with [MASK]s that they do not attend to");
}

bool gb_folder_late(const gb_folder *folder, const gb_vocab *vocab, gb_late_settings *late,
                    gb_status *status)
{
    const char *path = gb_folder_path(folder);
    *late = (gb_late_settings){.kind = gb_folder_late_kind(path)};
    if (late->kind == GB_LATE_NONE)
        return true;
    bool colbert = late->kind == GB_LATE_COLBERT;
    late->width = folder_rows_of(folder, colbert ? "linear.weight" : "coil.weight");
    late->query_length = 32;
    late->passage_length = 180;
    late->expand = colbert;
    if (!late->width)
        return gb_fail(status, GB_DATA, path, "fetch or write the model again",
                       "a %s model without its projection, \"%s\"", gb_late_kind_name(late->kind),
                       colbert ? "linear.weight" : "coil.weight");
    return (colbert ? read_colbert(folder, vocab, late, status)
                    : read_coil(folder, late, status)) &&
           can_expand(gb_folder_config(folder), late, path, status) &&
           check_lengths(path, gb_folder_config(folder), late, status);
}

/* ---- a new model ---- */

static void set_marker(gb_late_marker *marker, uint32_t id, const char *text)
{
    marker->id = id;
    snprintf(marker->text, sizeof marker->text, "%s", text);
}

bool gb_late_settings_new(gb_late_kind kind, const gb_vocab *vocab, gb_bert_config *config,
                          gb_late_settings *late, gb_status *status)
{
    *late = (gb_late_settings){.kind = kind, .query.id = GB_MAP_NONE, .passage.id = GB_MAP_NONE};
    if (kind != GB_LATE_COLBERT)
        return true;
    uint32_t first = gb_vocab_id(vocab, "[unused0]", 9),
             second = gb_vocab_id(vocab, "[unused1]", 9);
    bool there = first != GB_MAP_NONE && second != GB_MAP_NONE;
    set_marker(&late->query, there ? first : config->vocab_size, there ? "[unused0]" : "[Q] ");
    set_marker(&late->passage, there ? second : config->vocab_size + 1,
               there ? "[unused1]" : "[D] ");
    config->vocab_size += there ? 0 : 2;
    late->expand = true;
    return can_expand(config, late, NULL, status) && skip_words(NULL, vocab, late, status);
}
