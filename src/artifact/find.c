/* Where a model is that somebody names: a folder, an artifact, or a model of Hugging Face's cache.
 */
#include <gabbro/artifact.h>
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>

/* Hugging Face's cache: a folder models--OWNER--NAME for each model. */
static char *hub_folder(const gb_config *config, gb_status *status)
{
    if (config->hub_cache)
        return gb_strdup(config->hub_cache, status);
    if (config->hub_home)
        return gb_path_join(status, config->hub_home, "hub");
    if (config->cache_home)
        return gb_path_join(status, config->cache_home, "huggingface/hub");
    return gb_path_join(status, config->home ? config->home : ".", ".cache/huggingface/hub");
}

static bool is_hub_name(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    const char *slash = strchr(name, '/');
    return *name && *name != '/' && *name != '.' && !name[strspn(name, letters)] &&
           (!slash || (slash[1] && !strchr(slash + 1, '/')));
}

/* The commit that a model's branch "main" is at, in the cache. NULL without a failure: there is
 * none. */
static char *hub_snapshot(const char *hub, const char *owner, const char *name, gb_status *status)
{
    char *model = gb_format(status, "%s/models--%s%s%s", hub, owner, *owner ? "--" : "", name);
    for (char *at = model ? model + strlen(hub) + 1 : NULL; at && *at; at++)
        if (*at == '/') { /* OWNER/NAME */
            char *whole = gb_format(status, "%.*s--%s", (int)(at - model), model, at + 1);
            free(model);
            model = whole;
            break;
        }
    char *branch = model ? gb_path_join(status, model, "refs/main") : NULL;
    size_t length;
    char *commit = branch && gb_file_exists(branch) ? gb_read_file(branch, &length, status) : NULL,
         *found = NULL;
    if (commit) {
        commit[strcspn(commit, "\r\n")] = '\0';
        found = gb_format(status, "%s/snapshots/%s", model, commit);
        if (found && !gb_dir_exists(found)) {
            free(found);
            found = NULL;
        }
    }
    free(commit);
    free(branch);
    free(model);
    return found;
}

static char *find_in_hub(const gb_config *config, const char *name, gb_status *status)
{
    char *hub = hub_folder(config, status);
    char *found = hub ? hub_snapshot(hub, "", name, status) : NULL;
    if (hub && !found && !strchr(name, '/'))
        found = hub_snapshot(hub, "sentence-transformers", name, status);
    if (hub && !found && (!status || status->code == GB_OK))
        gb_fail(status, GB_DATA, name,
                "give a folder, an artifact, or a model that was downloaded before, by the name "
                "that it has on Hugging Face",
                "no folder and no artifact of that name, and no such model in %s", hub);
    free(hub);
    return found;
}

/* An artifact of the user's store; *found is NULL if there is none, or no store. */
static bool find_in_store(const gb_config *config, const char *name, char **found,
                          gb_status *status)
{
    gb_status none = {0};
    char *root = gb_store_root_find(config, NULL, &none);
    bool ok = true;
    *found = NULL;
    if (root && gb_dir_exists(root) && !strchr(name, '/')) {
        gb_store *store = gb_store_open(root, status);
        ok = store && gb_store_look(store, name, found, status);
        gb_store_close(store);
    }
    free(root);
    return ok;
}

char *gb_find_collection(const gb_config *config, const char *name, gb_status *status)
{
    if (gb_dir_exists(name) || gb_file_exists(name))
        return gb_strdup(name, status);
    char *found;
    if (find_in_store(config, name, &found, status) && !found)
        gb_fail(status, GB_DATA, name, "give a folder or file to import, or an artifact",
                "no such collection");
    return found;
}

char *gb_find_folder(const gb_config *config, const char *name, gb_status *status)
{
    if (gb_dir_exists(name))
        return gb_strdup(name, status);
    char *found;
    if (find_in_store(config, name, &found, status) && !found)
        gb_fail(status, GB_DATA, name, "gabbro store list names artifacts",
                "no folder and no artifact of that name");
    return found;
}

/* A file is no model: says what it is. */
static char *refuse_file(const char *name, gb_status *status)
{
    char magic[4] = "";
    FILE *file = gb_os_fopen(name, "rb");
    bool gguf = file && fread(magic, 1, 4, file) == 4 && !memcmp(magic, "GGUF", 4);
    if (file)
        fclose(file);
    gb_fail(status, GB_DATA, name,
            "give a folder with config.json, model.safetensors and a tokenizer, as Hugging Face's "
            "tools write it",
            "%s, which is not read as a model", gguf ? "a GGUF file" : "a file");
    return NULL;
}

char *gb_find_model(const gb_config *config, const char *name, gb_status *status)
{
    if (gb_dir_exists(name))
        return gb_strdup(name, status);
    char *found;
    if (!find_in_store(config, name, &found, status) || found)
        return found;
    if (gb_file_exists(name))
        return refuse_file(name, status);
    return is_hub_name(name) ? find_in_hub(config, name, status)
                             : (gb_fail(status, GB_DATA, name, NULL, "no such folder"), NULL);
}

char *gb_find_vocabulary(const char *folder, gb_status *status)
{
    char hashes[2][GB_HASH_SIZE];
    char *file = gb_path_join(status, folder, "vocab.txt");
    gb_vocab *whole = file ? gb_vocabulary_read(folder, status) : NULL;
    gb_vocab *list = whole && gb_file_exists(file) ? gb_vocab_load(file, NULL) : NULL;
    bool ok = whole && gb_vocab_hash(whole, hashes[0], status) &&
              (!list || gb_vocab_hash(list, hashes[1], status));
    char *found = NULL;
    if (ok)
        found = gb_strdup(list && strcmp(hashes[0], hashes[1]) == 0 ? file : folder, status);
    gb_vocab_destroy(list);
    gb_vocab_destroy(whole);
    free(file);
    return found;
}
