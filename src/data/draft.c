/* Folders that are written under another name and then appear at once. */
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

static bool target_may_go(const char *target, const char *mark, gb_status *status)
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

char *gb_draft_create(const char *target, const char *mark, gb_status *status)
{
    size_t length = strlen(target);
    while (length > 1 && target[length - 1] == '/')
        length--;
    char *path = gb_format(status, "%.*s", (int)length, target);
    char *slash = path ? strrchr(path, '/') : NULL;
    bool ok = path && target_may_go(target, mark, status);
    if (ok && slash && slash > path) {
        *slash = '\0';
        ok = gb_make_dirs(path, status);
        *slash = '/';
    }
    char *draft = ok ? gb_draft_folder(path, status) : NULL;
    free(path);
    return draft;
}
