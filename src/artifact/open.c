/* What lies in the folders of steps, opened: models, collections, tokens, vocabularies. */
#include <gabbro/artifact.h>
#include <gabbro/store.h>

#include <stdlib.h>
#include <string.h>

uint32_t gb_step_setting_u32(const char *dir, const char *name)
{
    json_t *run = gb_step_read(dir, NULL);
    const json_t *value = json_object_get(json_object_get(run, "settings"), name);
    uint32_t found = json_is_integer(value) ? (uint32_t)json_integer_value(value) : 0;
    json_decref(run);
    return found;
}

/* ---- models ---- */

bool gb_vocab_hash(const gb_vocab *vocab, char hash[GB_HASH_SIZE], gb_status *status)
{
    gb_text list = {0};
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++)
        gb_text_printf(&list, "%s\n", gb_vocab_token(vocab, id));
    bool ok = !list.failed || gb_fail_memory(status, "comparing vocabularies");
    if (ok)
        gb_hash_bytes(list.data ? list.data : "", list.length, hash);
    gb_text_free(&list);
    return ok;
}

bool gb_tokens_match(const gb_vocab *vocab, const char *tokens_step, bool *same, gb_status *status)
{
    char hash[GB_HASH_SIZE];
    if (!gb_vocab_hash(vocab, hash, status))
        return false;
    json_t *run = gb_step_read(tokens_step, NULL);
    const char *theirs =
        json_string_value(json_object_get(json_object_get(run, "facts"), "vocabulary"));
    *same = !theirs || !strcmp(theirs, hash);
    json_decref(run);
    return true;
}

/* Ids of another vocabulary would give numbers that mean nothing. */
static bool check_tokens(const gb_model_input *model, const char *path, const char *tokens_step,
                         gb_status *status)
{
    static const gb_tokenizer_params made_with = GB_TOKENIZER_DEFAULTS;
    bool same;
    if (!gb_tokens_match(model->vocab, tokens_step, &same, status))
        return false;
    if (!same)
        return gb_fail(status, GB_DATA, path,
                       "tokenize with the model's own: gabbro vocabulary --from MODEL/vocab.txt",
                       "the tokens were made with another vocabulary than the model's");
    uint32_t passage = gb_step_setting_u32(tokens_step, "passage-tokens");
    uint32_t query = gb_step_setting_u32(tokens_step, "query-tokens");
    uint32_t longest = passage > query ? passage : query;
    if (longest > model->config.max_positions)
        return gb_fail(status, GB_DATA, path, "tokenize with fewer tokens a passage",
                       "the model has %u positions, passages up to %u tokens",
                       model->config.max_positions, longest);
    if (model->tokenizer.lower_case != made_with.lower_case ||
        model->tokenizer.split_cjk != made_with.split_cjk)
        return gb_fail(status, GB_DATA, path, "take an uncased model",
                       "the model's tokenizer has other settings than gabbro tokenize");
    return true;
}

char *gb_find_model_folder(const char *path, gb_status *status)
{
    char *inside = gb_path_join(status, path, "model");
    if (!inside || gb_dir_exists(inside))
        return inside;
    free(inside);
    return gb_strdup(path, status);
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

bool gb_model_input_open(gb_model_input *model, const char *path, const char *tokens_step,
                         gb_status *status)
{
    *model = (gb_model_input){0};
    char *folder = gb_find_model_folder(path, status);
    model->folder = folder ? gb_folder_open(folder, status) : NULL;
    free(folder);
    if (!model->folder)
        return false;
    model->config = *gb_folder_config(model->folder);
    model->vocab = gb_folder_vocab(model->folder, status);
    if (model->vocab && gb_folder_tokenizer(model->folder, &model->tokenizer, status) &&
        (!tokens_step || check_tokens(model, path, tokens_step, status)))
        return true;
    gb_model_input_close(model);
    return false;
}

void gb_model_input_close(gb_model_input *model)
{
    gb_vocab_destroy(model->vocab);
    gb_folder_close(model->folder);
    *model = (gb_model_input){0};
}

/* ---- folders of steps ---- */

gb_collection *gb_open_collection(const char *step, gb_status *status)
{
    char *path = gb_path_join(status, step, "collection");
    gb_collection *collection = path ? gb_collection_open(path, status) : NULL;
    free(path);
    return collection;
}

bool gb_open_tokens(const char *step, gb_tokens *tokens, gb_status *status)
{
    if (!gb_step_setting_u32(step, "passage-tokens") || !gb_step_setting_u32(step, "query-tokens"))
        return gb_fail(status, GB_DATA, step, "give the folder that gabbro tokenize printed",
                       "no run.json that says how long tokenised texts may be");
    char *path = gb_path_join(status, step, "tokens");
    bool ok = path && gb_tokens_open(path, tokens, status);
    free(path);
    return ok;
}

gb_vocab *gb_open_vocabulary(const char *step, gb_status *status)
{
    char *path = gb_path_join(status, step, "vocab.txt");
    gb_vocab *vocab = path ? gb_vocab_load(path, status) : NULL;
    free(path);
    return vocab;
}
