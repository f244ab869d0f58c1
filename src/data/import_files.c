/* The files that an import reads: opened, hashed, and shown while they are read; and their names.
 */
#include "data/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void data_import_files_done(gb_import *import)
{
    if (import->shown)
        gb_progress_end_long(&import->progress, import->progress.total);
    import->shown = NULL;
}

/* Of files that are read beside each other, as texts beside titles, the last opened is shown. */
static void begin_file(gb_import *import, const gb_lines *lines)
{
    uint64_t read, of;
    size_t length;
    const char *name = gb_path_name(gb_lines_path(lines), &length);
    data_import_files_done(import);
    snprintf(import->label, sizeof import->label, "import %.*s", (int)length, name);
    gb_lines_place(lines, &read, &of);
    gb_progress_begin(&import->progress, import->label, "KB", of / 1000, 0);
    import->shown = lines;
}

void data_import_show(gb_import *import, const gb_lines *lines)
{
    uint64_t read, of;
    if (!lines || lines != import->shown)
        return;
    gb_lines_place(lines, &read, &of);
    gb_progress_update(&import->progress, read / 1000, NULL);
}

gb_lines *data_import_open(gb_import *import, const char *path, gb_status *status)
{
    char hex[GB_HASH_SIZE];
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return NULL;
    if (!gb_hash_file(path, hex, status)) {
        gb_lines_close(lines);
        return NULL;
    }
    const char *slash = strrchr(path, '/');
    json_object_set_new(import->files, slash ? slash + 1 : path, json_string(hex));
    begin_file(import, lines);
    return lines;
}

size_t data_import_stem(const char *name)
{
    static const char *const endings[] = {".gz", ".zst"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && strcmp(name + length - end, endings[i]) == 0)
            return length - end;
    }
    return length;
}

bool data_import_ends(const char *name, const char *end)
{
    return gb_ends_with(name, data_import_stem(name), end);
}

bool data_import_find(const char *folder, const char *name, char **path, gb_status *status)
{
    static const char *const endings[] = {"", ".gz", ".zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        *path = gb_format(status, "%s/%s%s", folder, name, endings[i]);
        if (!*path)
            return false;
        if (gb_file_exists(*path))
            return true;
        free(*path);
    }
    *path = NULL;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool data_import_list(const char *folder, gb_import_names *list, gb_status *status)
{
    *list = (gb_import_names){0};
    DIR *dir = GB_TRY_OPEN(opendir(folder));
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ||
               gb_fail(status, GB_DATA, folder, "check its permissions",
                       "cannot read the folder: %s", strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        ok = gb_grow(&list->names, &list->capacity, list->count + 1, sizeof *list->names, status) &&
             (list->names[list->count] = gb_strdup(entry->d_name, status)) != NULL;
        list->count += ok;
    }
    closedir(dir);
    if (ok && list->count)
        qsort(list->names, list->count, sizeof *list->names, by_bytes);
    if (!ok)
        data_import_names_free(list);
    return ok;
}

void data_import_names_free(gb_import_names *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (gb_import_names){0};
}
