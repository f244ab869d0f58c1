/* Folders that are written under another name and then appear at once. */
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

char *gb_draft_create(const char *target, const char *mark, gb_status *status)
{
    size_t length = strlen(target);
    while (length > 1 && target[length - 1] == '/')
        length--;
    char *path = gb_format(status, "%.*s", (int)length, target);
    char *slash = path ? strrchr(path, '/') : NULL;
    bool ok = path && gb_target_check(target, mark, status);
    if (ok && slash && slash > path) {
        *slash = '\0';
        ok = gb_make_dirs(path, status);
        *slash = '/';
    }
    char *draft = ok ? gb_draft_folder(path, status) : NULL;
    free(path);
    return draft;
}
