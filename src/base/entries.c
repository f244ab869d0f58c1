/* What is in a folder, and a copy of it. */
#include "gabbro/base.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool gb_entries_read(const char *folder, const char *pattern, gb_entries *list, gb_status *status)
{
    *list = (gb_entries){0};
    DIR *dir = GB_TRY_OPEN(opendir(folder));
    if (!dir)
        return gb_fail(status, GB_DATA, folder, "check the path and its permissions",
                       "cannot read the folder: %s", strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || !gb_matches(pattern, entry->d_name))
            continue;
        char *name = gb_strdup(entry->d_name, status);
        ok = name &&
             gb_grow(&list->names, &list->capacity, list->count + 1, sizeof *list->names, status);
        if (ok)
            list->names[list->count++] = name;
        else
            free(name);
    }
    closedir(dir);
    if (!ok)
        gb_entries_free(list);
    else if (list->count)
        qsort(list->names, list->count, sizeof *list->names, by_bytes);
    return ok;
}

void gb_entries_free(gb_entries *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (gb_entries){0};
}

static bool copy_entries(const char *from, const char *to, bool deep, gb_status *status);

static bool copy_entry(const char *from, const char *to, const char *name, bool deep,
                       gb_status *status)
{
    char *source = gb_path_join(status, from, name);
    char *target = source ? gb_path_join(status, to, name) : NULL;
    bool ok = target != NULL;
    if (ok && !gb_dir_exists(source))
        ok = gb_copy_file(source, target, status);
    else if (ok && deep)
        ok = copy_entries(source, target, deep, status);
    free(source);
    free(target);
    return ok;
}

static bool copy_entries(const char *from, const char *to, bool deep, gb_status *status)
{
    gb_entries entries;
    bool ok = gb_entries_read(from, "*", &entries, status) && gb_make_dirs(to, status);
    for (size_t i = 0; ok && i < entries.count; i++)
        ok = copy_entry(from, to, entries.names[i], deep, status);
    gb_entries_free(&entries);
    return ok;
}

bool gb_copy_files(const char *from, const char *to, gb_status *status)
{
    return copy_entries(from, to, false, status);
}

bool gb_copy_tree(const char *from, const char *to, gb_status *status)
{
    return copy_entries(from, to, true, status);
}
