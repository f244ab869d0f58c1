/* Line reader over plain or gzip files. zlib's gzread tells the two apart by content. */
#include "gabbro/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_BYTES = 1 << 17 };

struct gb_lines {
    gzFile file;     /* the source */
    char *path;      /* as given to open */
    char *data;      /* bytes read and not yet given out, from `start` to `end` */
    size_t capacity; /* bytes allocated for data */
    size_t start;    /* first byte of the next line */
    size_t end;      /* behind the last byte read */
    uint64_t number; /* lines given */
    bool ended;      /* the source has no more bytes */
};

gb_lines *gb_lines_open(const char *path, gb_status *status)
{
    int fd = GB_TRY_CALL(open(path, O_RDONLY | O_CLOEXEC));
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        gb_fail(status, GB_DATA, path, "check the path and its permissions", "cannot open: %s",
                strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (S_ISDIR(info.st_mode)) {
        gb_fail(status, GB_DATA, path, "give the path of a file", "is a folder, not a file");
        close(fd);
        return NULL;
    }
    gb_lines *lines = gb_alloc(1, sizeof *lines, status);
    if (lines)
        lines->path = gb_strdup(path, status);
    if (!lines || !lines->path) {
        close(fd);
        gb_lines_close(lines);
        return NULL;
    }
    lines->file = gb_fault(GB_FAULT_MEMORY) ? NULL : gzdopen(fd, "rb");
    if (!lines->file) {
        close(fd);
        gb_fail_memory(status, "opening a file");
        gb_lines_close(lines);
        return NULL;
    }
    gzbuffer(lines->file, READ_BYTES);
    return lines;
}

/* Read more bytes behind `end`; false on error. */
static bool lines_fill(gb_lines *lines, gb_status *status)
{
    if (lines->start > 0) {
        memmove(lines->data, lines->data + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (!gb_grow(&lines->data, &lines->capacity, lines->end + READ_BYTES + 1, 1, status))
        return false;
    errno = 0;
    if (gb_fault(GB_FAULT_FILE))
        return gb_lines_fail(lines, status, "check the disk", "cannot read: %s", strerror(EIO));
    int got = gzread(lines->file, lines->data + lines->end, READ_BYTES), code = Z_OK;
    gzerror(lines->file, &code);
    const char *again = "fetch or write the file again";
    if (code == Z_BUF_ERROR)
        return gb_lines_fail(lines, status, again, "the file is cut off inside its gzip data");
    if (code == Z_MEM_ERROR)
        return gb_fail_memory(status, "reading a gzip file");
    if (code == Z_ERRNO)
        return gb_lines_fail(lines, status, "check the disk", "cannot read: %s", strerror(errno));
    if (got < 0 || code < 0)
        return gb_lines_fail(lines, status, again, "the file's gzip data are damaged");
    if (got == 0)
        lines->ended = true;
    lines->end += (size_t)got;
    return true;
}

int gb_lines_next(gb_lines *lines, char **line, size_t *length, gb_status *status)
{
    size_t seen = 0; /* bytes of the line already searched */
    for (;;) {
        size_t have = lines->end - lines->start;
        char *from = lines->data ? lines->data + lines->start : NULL;
        char *newline = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
        if (newline || (lines->ended && have > 0)) {
            size_t size = newline ? (size_t)(newline - from) : have;
            lines->start += newline ? size + 1 : size;
            if (newline && size > 0 && from[size - 1] == '\r')
                size--;
            from[size] = '\0';
            lines->number++;
            *line = from;
            *length = size;
            return 1;
        }
        if (lines->ended)
            return 0;
        seen = have;
        if (!lines_fill(lines, status))
            return -1;
    }
}

uint64_t gb_lines_number(const gb_lines *lines)
{
    return lines->number;
}

const char *gb_lines_path(const gb_lines *lines)
{
    return lines->path;
}

bool gb_lines_fail(const gb_lines *lines, gb_status *status, const char *hint, const char *fmt, ...)
{
    char what[400], where[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    /* Of a long path the end says more, and the line number must stay. */
    size_t length = strlen(lines->path);
    size_t skip = length > 270 ? length - 270 : 0;
    int end = snprintf(where, sizeof where, "%s", lines->path + skip);
    if (lines->number > 0) /* 0: not even the first line could be read */
        snprintf(where + end, sizeof where - (size_t)end, ":%llu",
                 (unsigned long long)lines->number);
    return gb_fail(status, GB_DATA, where, hint, "%s", what);
}

void gb_lines_close(gb_lines *lines)
{
    if (!lines)
        return;
    if (lines->file)
        gzclose(lines->file);
    free(lines->data);
    free(lines->path);
    free(lines);
}
