/* Tab-separated files with a header line. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* Cuts file->copy at its tabs; parts beyond `max` are counted only. */
static size_t split(char *line, char **parts, size_t max)
{
    size_t count = 0;
    for (char *at = line; at;) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = '\0';
        if (count < max)
            parts[count] = at;
        count++;
        at = tab ? tab + 1 : NULL;
    }
    return count;
}

/* 1 with the next line cut into parts, 0, -1. */
static int next_parts(tsv *file, char **parts, size_t max, size_t *count, gb_status *status)
{
    char *line;
    size_t length;
    int got = gb_lines_next(file->lines, &line, &length, status);
    if (got != 1)
        return got;
    if (!gb_utf8_valid(line, length) || memchr(line, '\0', length)) {
        gb_lines_fail(file->lines, status, "save the file as UTF-8 text", "not valid UTF-8 text");
        return -1;
    }
    if (!gb_grow(&file->copy, &file->capacity, length + 1, 1, status))
        return -1;
    memcpy(file->copy, line, length);
    file->copy[length] = '\0';
    *count = split(file->copy, parts, max);
    return 1;
}

bool report_tsv_open(tsv *file, const char *path, const char *const *wanted, size_t count,
                     gb_status *status)
{
    *file = (tsv){.count = count};
    file->lines = gb_lines_open(path, status);
    char *parts[64];
    int got = file->lines ? next_parts(file, parts, 64, &file->width, status) : -1;
    if (got == 0)
        gb_fail(status, GB_DATA, path, NULL, "empty file: a header line is missing");
    bool ok = got == 1 && (file->width <= 64 ||
                           gb_lines_fail(file->lines, status, NULL, "more than 64 columns"));
    for (size_t i = 0; ok && i < count; i++) {
        size_t place = 0;
        while (place < file->width && strcmp(parts[place], wanted[i]) != 0)
            place++;
        file->places[i] = place;
        ok = place < file->width || gb_lines_fail(file->lines, status, "see tables/README.md",
                                                  "the header has no column \"%s\"", wanted[i]);
    }
    if (!ok)
        report_tsv_close(file);
    return ok;
}

int report_tsv_next(tsv *file, gb_status *status)
{
    char *parts[64];
    size_t count;
    int got = next_parts(file, parts, 64, &count, status);
    if (got != 1)
        return got;
    if (count != file->width) {
        gb_lines_fail(file->lines, status, "fields are separated by single tabs",
                      "%zu fields where the header has %zu", count, file->width);
        return -1;
    }
    for (size_t i = 0; i < file->count; i++)
        file->fields[i] = parts[file->places[i]];
    return 1;
}

void report_tsv_close(tsv *file)
{
    gb_lines_close(file->lines);
    free(file->copy);
    *file = (tsv){0};
}
