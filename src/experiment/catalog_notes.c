/* Which rows of tables a store's artifacts are: files TABLE.SCALE.json in its folder "rows". */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "rows"
#define ENDING ".json"

/* {"table", "scale", "rows": {ROW: {SEED: NAME}}} as it was, or a fresh one. */
static json_t *read_note(const char *path, const char *table, const char *scale, gb_status *status)
{
    json_t *note = gb_file_exists(path) ? gb_json_load(path, 0, NULL) : NULL;
    if (json_is_object(json_object_get(note, "rows")))
        return note;
    json_decref(note); /* none, or damaged: what is known now is enough */
    note = json_pack("{s:s, s:s, s:{}}", "table", table, "scale", scale, "rows");
    if (!note)
        gb_fail_memory(status, "noting rows");
    return note;
}

/* Rows that stay keep the seeds that are not made now. */
static bool merge(json_t *rows, const json_t *fresh)
{
    const char *row;
    json_t *seeds;
    bool ok = true;
    json_object_foreach((json_t *)fresh, row, seeds)
    {
        json_t *old = json_object_get(rows, row);
        ok = ok && (old ? json_object_update(old, seeds) : json_object_set(rows, row, seeds)) == 0;
    }
    return ok;
}

bool gb_catalog_note(const char *root, const char *table, const char *scale, const json_t *rows,
                     gb_status *status)
{
    char *folder = gb_path_join(status, root, FOLDER);
    char *path = folder ? gb_format(status, "%s/%s.%s" ENDING, folder, table, scale) : NULL;
    for (char *at = path ? path + strlen(folder) + 1 : NULL; at && *at; at++)
        if (*at == '/')
            *at = '-';
    gb_file_lock lock = {.fd = -1};
    json_t *note = path && gb_make_dirs(folder, status) && gb_file_lock_take(&lock, path, status)
                       ? read_note(path, table, scale, status)
                       : NULL;
    bool ok = note &&
              (merge(json_object_get(note, "rows"), rows) || gb_fail_memory(status, "noting rows"));
    ok = ok && gb_json_save(note, GB_JSON_FILE, path, status);
    gb_file_lock_drop(&lock);
    json_decref(note);
    free(path);
    free(folder);
    return ok;
}

bool experiment_each_note(const char *root, experiment_note_fn *each, void *self, gb_status *status)
{
    gb_entries entries = {0};
    char *folder = gb_path_join(status, root, FOLDER);
    if (!folder)
        return false;
    bool ok = !gb_dir_exists(folder) || gb_entries_read(folder, "*" ENDING, &entries, status);
    for (size_t i = 0; ok && i < entries.count; i++) {
        json_t *note = gb_json_load_in(folder, entries.names[i], 0, NULL);
        ok = (!note || each(self, note, status)); /* a damaged note says nothing */
        json_decref(note);
    }
    gb_entries_free(&entries);
    free(folder);
    return ok;
}
