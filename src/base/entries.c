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

static bool cannot_read(const char *folder, gb_status *status)
{
    return gb_fail(status, GB_DATA, folder, "check the path and its permissions",
                   "cannot read the folder: %s", strerror(errno));
}

/* pattern: NULL for all names. */
static bool is_wanted(const char *name, const char *pattern)
{
    return pattern ? *name != '.' && gb_matches(pattern, name)
                   : strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool add_name(gb_entries *list, const char *name, gb_status *status)
{
    char *copy = gb_strdup(name, status);
    if (copy && gb_grow(&list->names, &list->capacity, list->count + 1, sizeof copy, status)) {
        list->names[list->count++] = copy;
        return true;
    }
    free(copy);
    return false;
}

static bool read_names(const char *folder, const char *pattern, gb_entries *list, gb_status *status)
{
    *list = (gb_entries){0};
    DIR *dir = GB_TRY_OPEN(opendir(folder));
    if (!dir)
        return cannot_read(folder, status);
    bool ok = true;
    struct dirent *entry;
    while (ok && (errno = 0, entry = GB_TRY_OPEN(readdir(dir))) != NULL)
        ok = !is_wanted(entry->d_name, pattern) || add_name(list, entry->d_name, status);
    if (ok && errno) /* at the end there is none */
        ok = cannot_read(folder, status);
    closedir(dir);
    if (!ok)
        gb_entries_free(list);
    else if (list->count)
        qsort(list->names, list->count, sizeof *list->names, by_bytes);
    return ok;
}

bool gb_entries_read(const char *folder, const char *pattern, gb_entries *list, gb_status *status)
{
    return read_names(folder, pattern, list, status);
}

bool gb_entries_all(const char *folder, gb_entries *list, gb_status *status)
{
    return read_names(folder, NULL, list, status);
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

bool gb_target_check(const char *target, const char *mark, gb_status *status)
{
    if (gb_file_exists(target))
        return gb_fail(status, GB_USAGE, target, "give another output folder",
                       "a file stands where the folder should be written");
    gb_entries entries = {0};
    if (gb_dir_exists(target) && !gb_entries_all(target, &entries, status))
        return false;
    bool empty = entries.count == 0;
    gb_entries_free(&entries);
    if (empty)
        return true;
    char *marked = gb_path_join(status, target, mark);
    if (!marked)
        return false;
    bool ours = gb_file_exists(marked);
    free(marked);
    if (!ours)
        return gb_fail(status, GB_USAGE, target, "give another output folder or empty this one",
                       "the output folder holds other files (no %s in it)", mark);
    return true;
}
