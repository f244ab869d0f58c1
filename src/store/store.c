/* The store as a whole: where it is, what it holds, and what can be removed. */
#include "store.h"
#include <gabbro/os.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *gb_store_root_find(const gb_config *config, const char *given, gb_status *status)
{
    if (given || config->store)
        return gb_strdup(given ? given : config->store, status);
    if (config->data_home && gb_os_is_absolute(config->data_home))
        return gb_path_join(status, config->data_home, "gabbro/store");
    if (config->home)
        return gb_path_join(status, config->home, ".local/share/gabbro/store");
    gb_fail(status, GB_USAGE, NULL, "name a store, or set GABBRO_STORE",
            "no place for the run store: neither HOME nor GABBRO_STORE is set");
    return NULL;
}

gb_store *gb_store_open(const char *root, gb_status *status)
{
    gb_store *store = gb_alloc(1, sizeof *store, status);
    bool ok = store && gb_make_dirs(root, status);
    if (ok && !(store->root = GB_TRY_OPEN(gb_os_real_path(root))))
        ok = gb_fail(status, GB_DATA, root, NULL, "cannot open the store: %s", strerror(errno));
    ok = ok && (store->work = gb_path_join(status, store->root, "work"));
    if (!ok) {
        gb_store_close(store);
        return NULL;
    }
    return store;
}

void gb_store_close(gb_store *store)
{
    if (!store)
        return;
    free(store->root);
    free(store->work);
    free(store);
}

const char *gb_store_root(const gb_store *store)
{
    return store->root;
}

/* ---- listing ---- */

static bool key_at_end(const char *name)
{
    size_t length = strlen(name), digits = GB_ARTIFACT_KEY - 1;
    return length > digits + 1 && name[length - digits - 1] == '-' &&
           strspn(name + length - digits, "0123456789abcdef") == digits;
}

/* Names of the finished artifacts. */
static bool scan(const char *folder, gb_entries *entries, gb_status *status)
{
    size_t kept = 0;
    if (!gb_entries_read(folder, "*", entries, status))
        return false;
    for (size_t i = 0; i < entries->count; i++)
        if (key_at_end(entries->names[i]))
            entries->names[kept++] = entries->names[i];
        else
            free(entries->names[i]);
    entries->count = kept;
    return true;
}

bool gb_store_each(gb_store *store, gb_store_each_fn *each, void *ctx, gb_status *status)
{
    gb_entries entries;
    if (!scan(store->root, &entries, status))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < entries.count; i++) {
        char *path = gb_path_join(status, store->root, entries.names[i]);
        json_t *run = path ? store_run_read(path, entries.names[i], NULL, NULL) : NULL;
        ok = path && each(ctx, entries.names[i], path, run, status);
        json_decref(run);
        free(path);
    }
    gb_entries_free(&entries);
    return ok;
}

bool gb_store_look(gb_store *store, const char *text, char **path, gb_status *status)
{
    gb_entries entries;
    *path = NULL;
    if (!scan(store->root, &entries, status))
        return false;
    const char *found = NULL;
    int matches = 0;
    size_t length = strlen(text);
    for (size_t i = 0; length && i < entries.count; i++) {
        const char *name = entries.names[i];
        const char *key = name + strlen(name) - (GB_ARTIFACT_KEY - 1);
        if (strncmp(name, text, length) != 0 && strncmp(key, text, length) != 0)
            continue;
        found = name;
        matches++;
    }
    bool ok =
        matches < 2 || gb_fail(status, GB_USAGE, text, "gabbro store list names the artifacts",
                               "%d finished artifacts start like this", matches);
    if (matches == 1)
        ok = (*path = gb_path_join(status, store->root, found)) != NULL;
    gb_entries_free(&entries);
    return ok;
}

char *gb_store_find(gb_store *store, const char *text, gb_status *status)
{
    char *path;
    if (gb_store_look(store, text, &path, status) && !path)
        gb_fail(status, GB_USAGE, text, "gabbro store list names the artifacts",
                "no finished artifact starts like this");
    return path;
}

/* ---- freeing ---- */

static uint64_t tree_bytes(const char *path)
{
    struct stat info;
    if (gb_os_stat_link(path, &info) != 0)
        return 0;
    uint64_t bytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    DIR *dir = S_ISDIR(info.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char *below = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0
                          ? NULL
                          : gb_path_join(NULL, path, entry->d_name);
        bytes += below ? tree_bytes(below) : 0;
        free(below);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

/* Removes a folder of an artifact nobody holds; one in use is left alone. */
static bool free_step(gb_store *store, const char *path, const char *name, bool dry_run,
                      uint32_t *count, uint64_t *bytes, gb_status *status)
{
    char *lock_path = gb_format(status, "%s/%s.lock", store->work, name);
    if (!lock_path)
        return false;
    gb_status busy = {0};
    bool waited, ok = true;
    int lock = store_lock_take(lock_path, false, &waited, &busy);
    if (lock < 0 && busy.code != GB_OK) {
        ok = false;
        if (status)
            *status = busy;
    } else if (lock >= 0) {
        gb_status why = {0};
        bool damaged;
        json_t *run = store_run_read(path, name, &damaged, &why);
        if (why.code == GB_MEMORY) { /* nothing is known of the step */
            ok = false;
            if (status)
                *status = why;
        } else if (!run && !damaged) {
            gb_log(GB_LOG_WARN, "%s stays, as it cannot be read: %s: %s", name, why.where,
                   why.what);
        } else if (!run) { /* a whole one was finished meanwhile, or only waits for its rename */
            (*count)++;
            *bytes += tree_bytes(path);
            ok = dry_run || gb_remove_tree(path, status);
        }
        json_decref(run);
        store_lock_drop(lock_path, lock);
    }
    free(lock_path);
    return ok;
}

static bool gc_finished(gb_store *store, bool dry_run, gb_store_freed *freed, gb_status *status)
{
    gb_entries entries;
    if (!scan(store->root, &entries, status))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < entries.count; i++) {
        const char *name = entries.names[i];
        char *path = gb_path_join(status, store->root, name);
        json_t *run = path ? store_run_read(path, name, NULL, NULL) : NULL;
        ok = path &&
             (run || free_step(store, path, name, dry_run, &freed->damaged, &freed->bytes, status));
        json_decref(run);
        free(path);
    }
    gb_entries_free(&entries);
    return ok;
}

/* Name of the step that an entry of work/ belongs to: without ".lock" or ".damaged". */
static bool step_of_entry(const char *entry, char name[GB_ARTIFACT_NAME])
{
    static const char *const ends[] = {".lock", ".damaged", ""};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(entry), tail = strlen(ends[i]);
        if (length < tail || strcmp(entry + length - tail, ends[i]) != 0)
            continue;
        if (length - tail >= GB_ARTIFACT_NAME)
            return false;
        memcpy(name, entry, length - tail);
        name[length - tail] = '\0';
        return key_at_end(name);
    }
    return false;
}

/* The lock of a process that ended without dropping it: to take and drop it removes it. */
static void drop_stale(const char *lock_path)
{
    bool waited;
    int lock = store_lock_take(lock_path, false, &waited, NULL);
    if (lock >= 0)
        store_lock_drop(lock_path, lock);
}

static bool gc_work(gb_store *store, bool dry_run, gb_store_freed *freed, gb_status *status)
{
    gb_entries entries;
    if (!gb_entries_read(store->work, "*", &entries, status))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < entries.count; i++) {
        char name[GB_ARTIFACT_NAME];
        char *path = gb_path_join(status, store->work, entries.names[i]);
        ok = path != NULL;
        if (ok && step_of_entry(entries.names[i], name)) {
            if (gb_dir_exists(path))
                ok = free_step(store, path, name, dry_run, &freed->work, &freed->bytes, status);
            else if (!dry_run)
                drop_stale(path);
        }
        free(path);
    }
    gb_entries_free(&entries);
    return ok;
}

bool gb_store_gc(gb_store *store, bool dry_run, gb_store_freed *freed, gb_status *status)
{
    *freed = (gb_store_freed){0};
    return gb_make_dirs(store->work, status) && gc_finished(store, dry_run, freed, status) &&
           gc_work(store, dry_run, freed, status);
}
