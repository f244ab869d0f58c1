/* The files that an import reads: opened, hashed, and shown while they are read; and their names.
 */
#include "data/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    size_t length;
    json_object_set_new(import->files, gb_path_name(path, &length), json_string(hex));
    begin_file(import, lines);
    return lines;
}

bool data_import_ends(const char *name, const char *end)
{
    return gb_ends_with(name, gb_unpack_stem(name), end);
}

static bool is_listed(const gb_entries *list, const char *name, size_t length)
{
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->names[i]) == length && !strncmp(list->names[i], name, length))
            return true;
    return false;
}

/* Where a file is there plain and compressed, the plain one is read. */
static void drop_packed_twins(gb_entries *list)
{
    size_t kept = 0, count = list->count;
    for (size_t i = 0; i < count; i++) {
        char *name = list->names[i];
        size_t stem = gb_unpack_stem(name);
        if (name[stem] && is_listed(list, name, stem))
            free(name);
        else
            list->names[kept++] = name;
        list->count = kept; /* the plain name sorts before its twins, so it is among these */
    }
}

bool data_import_list(const char *folder, gb_entries *list, gb_status *status)
{
    struct stat info;
    bool none =
        stat(folder, &info) == 0 ? !S_ISDIR(info.st_mode) : errno == ENOENT || errno == ENOTDIR;
    *list = (gb_entries){0};
    if (none)
        return true;
    if (!gb_entries_read(folder, "*", list, status))
        return false;
    drop_packed_twins(list);
    return true;
}
