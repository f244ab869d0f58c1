/* Descriptions, keys, the list of outputs and run.json. */
#include "store.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 32 };

static bool kind_ok(const char *kind)
{
    size_t length = kind ? strlen(kind) : 0;
    return length >= 1 && length <= 40 &&
           strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

json_t *store_desc_to_json(const gb_artifact_desc *desc, gb_status *status)
{
    if (!kind_ok(desc->kind) || (desc->settings && !json_is_object(desc->settings)) ||
        (desc->inputs && !json_is_object(desc->inputs))) {
        gb_fail(status, GB_INTERNAL, desc->kind, NULL,
                "a step needs a kind of a-z, 0-9 and '-', and objects as settings and inputs");
        return NULL;
    }
    json_t *settings = desc->settings ? json_deep_copy(desc->settings) : json_object();
    json_t *defaults = desc->defaults ? json_deep_copy(desc->defaults) : json_array();
    json_t *inputs = desc->inputs ? json_deep_copy(desc->inputs) : json_object();
    json_t *all = json_pack("{s:s, s:I, s:o, s:o, s:o, s:s?, s:s?}", "kind", desc->kind, "version",
                            (json_int_t)desc->version, "settings", settings, "defaults", defaults,
                            "inputs", inputs, "kernels", desc->kernels, "device", desc->device);
    if (!all)
        gb_fail(status, GB_INTERNAL, desc->kind, "texts must be valid UTF-8",
                "cannot describe the step");
    return all;
}

json_t *gb_artifact_given(const json_t *run)
{
    json_t *settings = json_copy(json_object_get(run, "settings")), *name;
    size_t i;
    json_array_foreach(json_object_get(run, "defaults"), i, name) if (json_is_string(name))
        json_object_del(settings, json_string_value(name));
    return settings;
}

/* What of a description decides the result. New reference; NULL for lack of memory. */
static json_t *decisive_of(const json_t *desc)
{
    json_t *decisive = json_copy((json_t *)desc);
    json_object_del(decisive, "defaults");
    if (json_object_set_new(decisive, "settings", gb_artifact_given(desc)) == 0)
        return decisive;
    json_decref(decisive);
    return NULL;
}

bool store_desc_key(const json_t *desc, char key[GB_ARTIFACT_KEY], gb_status *status)
{
    json_t *decisive = decisive_of(desc);
    char *text = json_dumps(decisive, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(decisive);
    if (!text)
        return gb_fail_memory(status, "hashing a step");
    char hex[GB_HASH_SIZE];
    gb_hash_bytes(text, strlen(text), hex);
    free(text);
    if (!gb_memory_check("hashing a step", status))
        return false;
    memcpy(key, hex, GB_ARTIFACT_KEY - 1);
    key[GB_ARTIFACT_KEY - 1] = '\0';
    return true;
}

/* ---- walking a folder ---- */

/* Called for each file and, behind its content, each folder; relative is "" for the top. */
typedef bool walk_fn(void *ctx, const char *path, const char *relative, bool folder,
                     gb_status *status);

static bool walk(const char *top, const char *relative, int depth, walk_fn *each, void *ctx,
                 gb_status *status);

static bool walk_entry(const char *top, const char *relative, int depth, walk_fn *each, void *ctx,
                       gb_status *status)
{
    char *path = gb_path_join(status, top, relative);
    struct stat info;
    bool ok = path != NULL;
    if (ok && gb_os_stat_link(path, &info) != 0)
        ok = gb_fail(status, GB_DATA, path, NULL, "cannot read: %s", strerror(errno));
    else if (ok && S_ISDIR(info.st_mode))
        ok = walk(top, relative, depth + 1, each, ctx, status);
    else if (ok && S_ISREG(info.st_mode))
        ok = each(ctx, path, relative, false, status);
    else if (ok)
        ok = gb_fail(status, GB_DATA, path, "a step holds plain files and folders only",
                     "neither a file nor a folder");
    free(path);
    return ok;
}

static bool walk(const char *top, const char *relative, int depth, walk_fn *each, void *ctx,
                 gb_status *status)
{
    char *path = relative[0] ? gb_path_join(status, top, relative) : gb_strdup(top, status);
    if (!path)
        return false;
    gb_entries entries = {0};
    bool ok = depth < MAX_DEPTH ? gb_entries_all(path, &entries, status)
                                : gb_fail(status, GB_DATA, path, NULL, "nested too deeply");
    for (size_t i = 0; ok && i < entries.count; i++) {
        char *name = gb_path_join(status, relative, entries.names[i]);
        ok = name && walk_entry(top, name, depth, each, ctx, status);
        free(name);
    }
    gb_entries_free(&entries);
    ok = ok && each(ctx, path, relative, true, status);
    free(path);
    return ok;
}

/* ---- outputs ---- */

/* Some file systems cannot: not an error. */
bool store_sync(const char *path, gb_status *status)
{
    return GB_TRY_CALL(gb_os_sync_path(path)) == 0 || errno == EINVAL || errno == EROFS ||
           gb_fail(status, GB_DATA, path, "check the disk and its free space",
                   "cannot bring to the disk: %s", strerror(errno));
}

static bool collect_one(void *ctx, const char *path, const char *relative, bool folder,
                        gb_status *status)
{
    json_t *outputs = ctx;
    struct stat info;
    char hex[GB_HASH_SIZE];
    size_t resume = strlen(RESUME_FOLDER);
    if (strcmp(relative, RUN_FILE) == 0 ||
        (strncmp(relative, RESUME_FOLDER, resume) == 0 && strchr("/", relative[resume])))
        return true;
    if (!store_sync(path, status))
        return false;
    if (folder)
        return true;
    if (!gb_hash_file(path, hex, status))
        return false;
    if (stat(path, &info) != 0)
        return gb_fail(status, GB_DATA, path, NULL, "cannot read: %s", strerror(errno));
    json_t *entry = json_pack("{s:I, s:s}", "bytes", (json_int_t)info.st_size, "sha256", hex);
    if (json_object_set_new(outputs, relative, entry) != 0)
        return gb_fail(status, GB_DATA, path, "name files in UTF-8", "cannot list the output");
    return true;
}

json_t *store_outputs_collect(const char *folder, gb_status *status)
{
    json_t *outputs = json_object();
    if (!outputs)
        gb_fail_memory(status, "listing outputs");
    else if (!walk(folder, "", 0, collect_one, outputs, status)) {
        json_decref(outputs);
        outputs = NULL;
    }
    return outputs;
}

/* Files of gb_out, model folders and the former ones they replace, folders of collections. */
static bool remove_draft(void *ctx, const char *path, const char *relative, bool folder,
                         gb_status *status)
{
    (void)ctx;
    const char *slash = strrchr(relative, '/');
    const char *name = slash ? slash + 1 : relative;
    size_t length = strlen(name);
    if (!gb_ends_with(name, length, ".draft") && !gb_ends_with(name, length, ".draft.old"))
        return true;
    if (folder)
        return gb_remove_tree(path, status);
    gb_os_remove(path);
    return true;
}

bool store_remove_drafts(const char *folder, gb_status *status)
{
    return walk(folder, "", 0, remove_draft, NULL, status);
}

/* ---- run.json ---- */

/* Whether a file is known to be missing: one that cannot be looked at may be there. */
static bool is_missing(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* The outputs as run.json lists them; with `hash` their content too. *known: false where a file
 * cannot be looked at. */
static bool outputs_fit(const char *folder, json_t *outputs, bool hash, bool *known,
                        gb_status *status)
{
    const char *name;
    json_t *entry;
    json_object_foreach(outputs, name, entry)
    {
        char *path = gb_path_join(status, folder, name);
        struct stat info;
        char hex[GB_HASH_SIZE];
        const char *expected = json_string_value(json_object_get(entry, "sha256"));
        bool ok = path != NULL;
        if (ok && stat(path, &info) != 0 && !is_missing(path)) {
            *known = false;
            ok = gb_fail(status, GB_DATA, path, NULL, "cannot read: %s", strerror(errno));
        } else if (ok && (is_missing(path) || !S_ISREG(info.st_mode)))
            ok = gb_fail(status, GB_DATA, path, NULL, "missing from the step");
        else if (ok && info.st_size != json_integer_value(json_object_get(entry, "bytes")))
            ok = gb_fail(status, GB_DATA, path, NULL, "not of the size that run.json gives");
        else if (ok && hash && !expected)
            ok = gb_fail(status, GB_DATA, path, NULL, "run.json gives no hash of it");
        else if (ok && hash && !gb_hash_file(path, hex, status))
            ok = false;
        else if (ok && hash && strcmp(hex, expected) != 0)
            ok = gb_fail(status, GB_DATA, path, NULL, "its content changed since it was written");
        free(path);
        if (!ok)
            return false;
    }
    return true;
}

/* Does the description in run.json hash to the name it carries? */
static bool name_fits(const json_t *run, const char *name, const char *path, gb_status *status)
{
    static const char *const parts[] = {"kind",   "version", "settings", "defaults",
                                        "inputs", "kernels", "device"};
    const char *said = json_string_value(json_object_get(run, "step"));
    const char *kind = json_string_value(json_object_get(run, "kind"));
    json_t *desc = json_object();
    bool ok = desc != NULL;
    for (size_t i = 0; ok && i < sizeof parts / sizeof parts[0]; i++)
        ok = json_object_set(desc, parts[i], json_object_get(run, parts[i])) == 0;
    char key[GB_ARTIFACT_KEY], full[GB_ARTIFACT_NAME] = "";
    bool named = ok && kind_ok(kind), known = !named || store_desc_key(desc, key, status);
    json_decref(desc);
    if (!known || !gb_memory_check("reading run.json", status))
        return false;
    if (named)
        snprintf(full, sizeof full, "%s-%s", kind, key);
    if (!said || strcmp(said, full) != 0 || (name && strcmp(said, name) != 0))
        return gb_fail(status, GB_DATA, path, NULL, "does not describe the step it lies in");
    return true;
}

json_t *store_run_read(const char *folder, const char *name, bool *damaged, gb_status *status)
{
    gb_status why = {0};
    size_t length;
    char *path = gb_path_join(&why, folder, RUN_FILE);
    char *text = path ? gb_read_file(path, &length, &why) : NULL;
    bool known = text || (path && is_missing(path));
    json_t *run = text ? gb_json_parse(text, length, 0, path, &why) : NULL;
    json_t *outputs = json_object_get(run, "outputs");
    if (run && (!json_is_object(outputs) || !name_fits(run, name, path, &why) ||
                !outputs_fit(folder, outputs, false, &known, &why))) {
        if (!json_is_object(outputs))
            gb_fail(&why, GB_DATA, path, NULL, "damaged: no list of outputs");
        json_decref(run);
        run = NULL;
    }
    if (damaged)
        *damaged = !run && known && why.code != GB_MEMORY;
    if (!run && status)
        *status = why;
    free(text);
    free(path);
    return run;
}

json_t *gb_artifact_read(const char *path, gb_status *status)
{
    return store_run_read(path, NULL, NULL, status);
}

bool gb_artifact_verify(const char *path, gb_status *status)
{
    json_t *run = store_run_read(path, NULL, NULL, status);
    bool known,
        ok = run && outputs_fit(path, json_object_get(run, "outputs"), true, &known, status);
    json_decref(run);
    return ok;
}

bool gb_identity(const char *path, char identity[GB_IDENTITY], gb_status *status)
{
    char hex[GB_HASH_SIZE];
    char *run_path = gb_path_join(status, path, RUN_FILE);
    if (!run_path)
        return false;
    bool step = gb_file_exists(run_path), ok = true;
    free(run_path);
    if (step) {
        json_t *run = store_run_read(path, NULL, NULL, status);
        ok = run != NULL;
        if (ok)
            snprintf(identity, GB_IDENTITY, "%s", json_string_value(json_object_get(run, "step")));
        json_decref(run);
        return ok;
    }
    ok = gb_dir_exists(path) ? gb_hash_tree(path, hex, status) : gb_hash_file(path, hex, status);
    if (ok)
        snprintf(identity, GB_IDENTITY, "sha256:%s", hex);
    return ok;
}
