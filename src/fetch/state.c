/* What a server said of the file whose beginning lies in NAME.part. */
#include "fetch/private.h"

#include <stdlib.h>
#include <string.h>

bool fetch_remote_load(const char *path, gb_remote *remote)
{
    *remote = (gb_remote){0};
    if (!gb_file_exists(path))
        return false;
    gb_lines *lines = gb_lines_open(path, NULL);
    char *line;
    size_t length;
    bool whole = false;
    while (lines && gb_lines_next(lines, &line, &length, NULL) == 1) {
        if (strcspn(line, "\r") != length) { /* no header has a "\r" or a NUL */
            whole = false;
            break;
        }
        char *value = strchr(line, ' ');
        if (!value)
            continue;
        *value++ = '\0';
        if (!strcmp(line, "url"))
            snprintf(remote->url, sizeof remote->url, "%s", value);
        else if (!strcmp(line, "etag"))
            snprintf(remote->etag, sizeof remote->etag, "%s", value);
        else if (!strcmp(line, "modified"))
            snprintf(remote->modified, sizeof remote->modified, "%s", value);
        else if (!strcmp(line, "total")) {
            remote->total = strtoull(value, NULL, 10);
            whole = true;
        }
    }
    gb_lines_close(lines);
    return whole && remote->url[0];
}

bool fetch_remote_save(const char *path, const gb_remote *remote, gb_status *status)
{
    gb_text text = {0};
    gb_text_printf(&text, "url %s\netag %s\nmodified %s\ntotal %llu\n", remote->url, remote->etag,
                   remote->modified, (unsigned long long)remote->total);
    bool ok = gb_text_write(&text, path, status);
    gb_text_free(&text);
    return ok;
}

bool fetch_remote_same(const gb_remote *a, const gb_remote *b)
{
    if (a->etag[0] && b->etag[0] && !strcmp(a->url, b->url) && strcmp(a->etag, b->etag) != 0)
        return false;
    if (a->modified[0] && b->modified[0] && !strcmp(a->url, b->url) &&
        strcmp(a->modified, b->modified) != 0)
        return false;
    return !a->total || !b->total || a->total == b->total;
}
