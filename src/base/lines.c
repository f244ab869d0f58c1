/* Line reader over plain and packed files. */
#include "gabbro/base.h"

#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 1 << 17 };
enum { MARK = 3 }; /* bytes of UTF-8's byte order mark */

struct gb_lines {
    gb_unpack *file; /* the source */
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
    gb_lines *lines = gb_alloc(1, sizeof *lines, status);
    if (lines && (lines->path = gb_strdup(strcmp(path, "-") ? path : "standard input", status)) &&
        (lines->file = gb_unpack_open(path, status)))
        return lines;
    gb_lines_close(lines);
    return NULL;
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
    gb_status why = {0};
    int64_t got = gb_unpack_read(lines->file, lines->data + lines->end, READ_BYTES, &why);
    if (got < 0 && why.code == GB_DATA)
        return gb_lines_fail(lines, status, why.hint, "%s", why.what);
    if (got < 0) {
        if (status)
            *status = why;
        return false;
    }
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
        if (lines->number == 0 && have >= 2 &&
            (!memcmp(from, "\xff\xfe", 2) || !memcmp(from, "\xfe\xff", 2))) {
            gb_lines_fail(lines, status, "save it as UTF-8, such as by iconv -f UTF-16 -t UTF-8",
                          "the file is UTF-16");
            return -1;
        }
        if (newline || (lines->ended && have > 0)) {
            size_t size = newline ? (size_t)(newline - from) : have;
            lines->start += newline ? size + 1 : size;
            if (newline && size > 0 && from[size - 1] == '\r')
                size--;
            if (lines->number == 0 && size >= MARK && memcmp(from, "\xef\xbb\xbf", MARK) == 0) {
                from += MARK;
                size -= MARK;
                if (!newline && size == 0)
                    return 0;
            }
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

int gb_lines_next_text(gb_lines *lines, char **line, size_t *length, gb_status *status)
{
    int got;
    while ((got = gb_lines_next(lines, line, length, status)) == 1 && *length == 0)
        ;
    if (got != 1 || (gb_utf8_valid(*line, *length) && !memchr(*line, '\0', *length)))
        return got;
    gb_lines_fail(lines, status, "save the file as UTF-8", "invalid UTF-8");
    return -1;
}

uint64_t gb_lines_number(const gb_lines *lines)
{
    return lines->number;
}

const char *gb_lines_path(const gb_lines *lines)
{
    return lines->path;
}

void gb_lines_place(const gb_lines *lines, uint64_t *read, uint64_t *of)
{
    gb_unpack_place(lines->file, read, of);
}

bool gb_lines_fail(const gb_lines *lines, gb_status *status, const char *hint, const char *fmt, ...)
{
    char what[400], where[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (!lines)
        return gb_fail(status, GB_DATA, NULL, hint, "%s", what);
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
    gb_unpack_close(lines->file);
    free(lines->data);
    free(lines->path);
    free(lines);
}

bool gb_lines_check_id(const gb_lines *lines, const char *id, bool is_query, gb_status *status)
{
    const char *fault = gb_id_fault(id, is_query);
    return !fault ||
           gb_lines_fail(lines, status, *id ? "rename it" : "give every line an id",
                         "the %s id \"%.80s\" %s", is_query ? "query" : "passage", id, fault);
}
