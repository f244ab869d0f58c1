/* What lies in the folders of artifacts, opened: models, collections, tokens, vocabularies. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- models ---- */

/* Ids of another vocabulary would give numbers that mean nothing. */
bool artifact_check_tokens(const char *hash, uint32_t positions, const char *path,
                           const gb_tokens *tokens, gb_status *status)
{
    if (strcmp(hash, tokens->vocabulary))
        return gb_fail(status, GB_DATA, path,
                       "tokenize with the model's own: gabbro vocabulary --from MODEL",
                       "the tokens were made with another vocabulary or casing than the model's");
    return gb_tokens_fit(path, "model", positions, "passage", tokens->max_passage, status) &&
           gb_tokens_fit(path, "model", positions, "query", tokens->max_query, status);
}

static bool check_tokens(const gb_model_input *model, const char *path, const gb_tokens *tokens,
                         gb_status *status)
{
    char hash[GB_HASH_SIZE];
    return gb_vocab_hash(model->vocab, hash, status) &&
           artifact_check_tokens(hash, model->config.max_positions, path, tokens, status);
}

/* The folder of an artifact, or the folder itself. */
static char *model_root(const char *path, gb_status *status)
{
    char *inside = gb_path_join(status, path, "model");
    if (!inside || gb_dir_exists(inside))
        return inside;
    free(inside);
    return gb_strdup(path, status);
}

char *gb_find_model_folder(const char *path, gb_status *status)
{
    char *root = model_root(path, status), *tower = NULL;
    if (!root || (gb_folder_tower(root, GB_TEXT_PASSAGE, &tower, status) && !tower))
        return root;
    free(root);
    return tower;
}

bool gb_find_query_tower(const char *path, char **tower, gb_status *status)
{
    char *root = model_root(path, status);
    *tower = NULL;
    bool ok = root && gb_folder_tower(root, GB_TEXT_QUERY, tower, status);
    free(root);
    return ok;
}

bool gb_model_users(const char *path, bool training, uint32_t *users, gb_status *status)
{
    char *folder = gb_find_model_folder(path, status);
    bool runs = false, ok = folder && gb_folder_runs_lm_kernels(folder, &runs, status);
    free(folder);
    *users |= runs ? training ? GB_USER_TRAIN_LM : GB_USER_GENERATE : 0;
    return ok;
}

float *gb_model_input_values(const gb_folder *folder, gb_params *params, gb_status *status)
{
    gb_params_freeze(params);
    float *values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    if (values && gb_model_load(folder, params, values, status))
        return values;
    free(values);
    return NULL;
}

bool gb_model_input_open(gb_model_input *model, const char *path, const gb_tokens *tokens,
                         gb_status *status)
{
    return gb_model_input_open_kinds(model, path, GB_FOLDER_ENCODER, tokens, status);
}

bool gb_model_input_open_kinds(gb_model_input *model, const char *path, uint32_t kinds,
                               const gb_tokens *tokens, gb_status *status)
{
    *model = (gb_model_input){0};
    char *folder = gb_find_model_folder(path, status);
    model->folder = folder ? gb_folder_open_kinds(folder, kinds, status) : NULL;
    free(folder);
    if (!model->folder)
        return false;
    model->config = *gb_folder_config(model->folder);
    model->vocab = gb_folder_vocab(model->folder, status);
    if (model->vocab && (!tokens || check_tokens(model, path, tokens, status))) {
        model->tokenizer = gb_vocab_get_rules(model->vocab)->words;
        return true;
    }
    gb_model_input_close(model);
    return false;
}

void gb_model_input_close(gb_model_input *model)
{
    gb_vocab_destroy(model->vocab);
    gb_folder_close(model->folder);
    *model = (gb_model_input){0};
}

/* ---- folders of artifacts ---- */

gb_collection *gb_open_collection(const char *step, gb_status *status)
{
    char *path = gb_path_join(status, step, "collection");
    gb_collection *collection = path ? gb_collection_open(path, status) : NULL;
    free(path);
    return collection;
}

/* The record of the artifact of this name in the folder above `inside`, "." that folder itself;
 * NULL where there is none. */
static json_t *record_above(const char *inside, const char *name)
{
    char *above = gb_path_join(NULL, inside, "..");
    char *path = above ? gb_path_join(NULL, above, name) : NULL;
    json_t *record = path ? gb_artifact_read(path, NULL) : NULL;
    free(above);
    free(path);
    return record;
}

/* Whether the artifact `step` was made of the texts of the collection, as far as the records of
 * both tell: counts may agree though the texts are others. Equal files of another collection will
 * do, whose record is read only then. */
static bool is_made_of(const char *step, const gb_collection *collection, bool with_queries)
{
    const char *const files[] = {"collection/passages.text.gbt", "collection/passages.title.gbt",
                                 with_queries ? "collection/queries.text.gbt" : NULL};
    json_t *record = gb_artifact_read(step, NULL), *own = record_above(collection->path, ".");
    const json_t *of = json_object_get(json_object_get(record, "inputs"), "collection");
    bool known = own && of && !json_equal(of, json_object_get(own, "step"));
    json_t *other = known ? record_above(step, json_string_value(of)) : NULL;
    bool same = true;
    for (size_t i = 0; other && i < sizeof files / sizeof *files && files[i]; i++) {
        const json_t *a = json_object_get(json_object_get(own, "outputs"), files[i]);
        const json_t *b = json_object_get(json_object_get(other, "outputs"), files[i]);
        same &= json_equal(a, b) || (!a && !b);
    }
    json_decref(record);
    json_decref(own);
    json_decref(other);
    return same;
}

static bool check_collection(const char *step, const gb_collection *collection,
                             const gb_tokens *tokens, gb_status *status)
{
    return (gb_row_file_count(tokens->passages) == collection->passages &&
            gb_row_file_count(tokens->queries) == gb_row_file_count(collection->queries) &&
            is_made_of(step, collection, true)) ||
           gb_fail(status, GB_DATA, collection->path, "tokenize this collection",
                   "the tokens are of another collection");
}

bool gb_use_queries(gb_collection *collection, const char *step, gb_status *status)
{
    return gb_collection_use_queries(collection, step, status) &&
           (is_made_of(step, collection, false) ||
            gb_fail(status, GB_DATA, step, "make them with gabbro queries --collection",
                    "the queries were generated for another collection, which has other texts"));
}

bool gb_open_tokens(const char *step, const gb_collection *collection, gb_tokens *tokens,
                    gb_status *status)
{
    char *path = gb_path_join(status, step, "tokens");
    bool ok =
        path &&
        gb_file_needed(step, "tokens", "give the folder that gabbro tokenize printed", status) &&
        gb_tokens_open(path, tokens, status);
    free(path);
    if (!ok || !collection || check_collection(step, collection, tokens, status))
        return ok;
    gb_tokens_close(tokens);
    return false;
}
