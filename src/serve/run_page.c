/* The page of a run and the files beside it, to be looked at. */
#include "http.h"

#include <gabbro/reproduce.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 64 << 20 }; /* of a file */

/* What is served, by the end of its name; nothing else of a folder is. */
static const struct {
    const char *end, *type;
} kinds[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".json", "application/json"},
    {".jsonl", "application/jsonl"},
    {".csv", "text/csv; charset=utf-8"},
    {".tsv", "text/tab-separated-values; charset=utf-8"},
    {".md", "text/markdown; charset=utf-8"},
    {".tex", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t end = strlen(kinds[i].end);
        if (length > end && !strcmp(path + length - end, kinds[i].end))
            return kinds[i].type;
    }
    return NULL;
}

/* Whether a path is names of letters, digits, "._-" that begin with no point, "/" between them: so
 * it leads to no folder above, and to nothing that is hidden. */
static bool is_plain(const char *path)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    for (;;) {
        size_t length = strspn(path, letters);
        if (!length || *path == '.')
            return false;
        if (!path[length])
            return true;
        if (path[length] != '/')
            return false;
        path += length + 1;
    }
}

/* The bytes of a plain file below a folder, no link on the way. */
static bool read_below(const char *folder, const char *path, gb_text *out)
{
    char name[256], bytes[1 << 14];
    struct stat info;
    ssize_t got = -1;
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = below;
    }
    int file = at < 0 ? -1 : openat(at, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= MAX_BYTES)
        while ((got = read(file, bytes, sizeof bytes)) > 0)
            gb_text_append(out, bytes, (size_t)got);
    if (file >= 0)
        close(file);
    if (at >= 0)
        close(at);
    return got == 0 && !out->failed;
}

bool serve_run_read(serve_job *job, const serve_site *site, const char *path)
{
    path += *path == '/';
    if (!*path)
        path = GB_PAGE_PROGRESS;
    const char *type = is_plain(path) ? type_of(path) : NULL;
    bool found = type && read_below(site->how->run, path, &job->body);
    if (!found) {
        gb_text_free(&job->body);
        if (strcmp(path, GB_PAGE_PROGRESS) != 0)
            return serve_fail(job, SERVE_NO_PATH, "there is no %.200s", path);
        gb_reproduce_page_missing(&job->body);
    }
    if (!strcmp(path, GB_PAGE_PROGRESS))
        gb_reproduce_page_mark(&job->body);
    job->type = type;
    job->status = 200;
    return true;
}
