/* Generated queries as docTTTTTquery gives them: a line a passage, in the collection's order. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

/* The parts of one sample: files that follow each other by name. */
typedef struct sample {
    char **paths;    /* [parts] */
    size_t parts;    /* files */
    size_t capacity; /* of paths */
    size_t next;     /* part to open next */
    gb_lines *lines; /* open part, or NULL */
} sample;

typedef struct samples {
    sample *items;   /* by name */
    size_t count;    /* samples */
    size_t capacity; /* of items */
} samples;

static bool ends_as_text(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strstr(name, ".txt") != NULL;
}

bool data_generated_is_lines(const char *path)
{
    char *own = gb_path_join(NULL, path, GENERATED_FILE);
    bool lines = (gb_dir_exists(path) && !(own && gb_file_exists(own))) || ends_as_text(path);
    free(own);
    return lines;
}

static void samples_free(samples *all)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < all->items[i].parts; k++)
            free(all->items[i].paths[k]);
        free(all->items[i].paths);
        gb_lines_close(all->items[i].lines);
    }
    free(all->items);
}

/* Add a file to the last sample, or to a new one. The path is taken over. */
static bool add_file(samples *all, char *path, bool new_sample, gb_status *status)
{
    bool ok = path != NULL;
    if (ok && new_sample) {
        ok = gb_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items, status);
        if (ok)
            all->items[all->count++] = (sample){0};
    }
    sample *last = ok ? &all->items[all->count - 1] : NULL;
    ok = ok && gb_grow(&last->paths, &last->capacity, last->parts + 1, sizeof *last->paths, status);
    if (ok)
        last->paths[last->parts++] = path;
    else
        free(path);
    return ok;
}

/* A sample's files have the same name up to ".txt". */
static bool list_samples(samples *all, const char *path, gb_status *status)
{
    if (!gb_dir_exists(path))
        return add_file(all, gb_strdup(path, status), true, status);
    gb_entries list;
    bool ok = data_import_list(path, &list, status);
    const char *before = NULL;
    for (size_t i = 0; ok && i < list.count; i++) {
        const char *name = list.names[i];
        if (!ends_as_text(name))
            continue;
        size_t length = (size_t)(strstr(name, ".txt") - name);
        bool same = before && strncmp(before, name, length + 4) == 0;
        ok = add_file(all, gb_path_join(status, path, name), !same, status);
        before = name;
    }
    gb_entries_free(&list);
    if (ok && !all->count)
        ok = gb_fail(status, GB_DATA, path, "predicted_queries_*.txt, a line a passage",
                     "no file of queries in this folder");
    return ok;
}

/* Next line of a sample; a part that ends gives way to the next. */
static int sample_next(sample *s, char **line, size_t *length, gb_status *status)
{
    for (;;) {
        int got = s->lines ? gb_lines_next(s->lines, line, length, status) : 0;
        if (got != 0)
            return got;
        if (s->next == s->parts)
            return 0;
        gb_lines_close(s->lines);
        if (!(s->lines = gb_lines_open(s->paths[s->next++], status)))
            return -1;
    }
}

/* Queries of a line, with tabs between; white space around them is trimmed. */
static uint32_t append_queries(gb_text *row, const char *line, size_t length)
{
    uint32_t count = 0;
    for (size_t at = 0; at < length;) {
        const char *tab = memchr(line + at, '\t', length - at);
        size_t end = tab ? (size_t)(tab - line) : length, stop = end;
        while (at < stop && line[at] == ' ')
            at++;
        while (stop > at && strchr(" \r", line[stop - 1]))
            stop--;
        if (stop > at) {
            gb_text_append(row, line + at, stop - at);
            gb_text_append(row, "\n", 1);
            count++;
        }
        at = end + 1;
    }
    return count;
}

/* The queries of one passage, of all samples. */
static bool read_row(samples *all, uint32_t passage, uint32_t passages, gb_text *row,
                     uint32_t *queries, gb_status *status)
{
    row->length = 0;
    *queries = 0;
    for (size_t i = 0; i < all->count; i++) {
        char *line;
        size_t length;
        sample *s = &all->items[i];
        int got = sample_next(s, &line, &length, status);
        if (got < 0)
            return false;
        if (got == 0)
            return gb_fail(status, GB_DATA, s->paths[s->parts - 1],
                           "the queries belong to another collection, or a part is missing",
                           "queries of %u passages, the collection has %u", passage, passages);
        if (!gb_utf8_valid(line, length) || memchr(line, '\0', length))
            return gb_lines_fail(s->lines, status, "save the file as UTF-8", "invalid UTF-8");
        *queries += append_queries(row, line, length);
    }
    return !row->failed || gb_fail_memory(status, "reading generated queries");
}

static bool expect_ends(samples *all, uint32_t passages, gb_status *status)
{
    for (size_t i = 0; i < all->count; i++) {
        char *line;
        size_t length;
        int got = sample_next(&all->items[i], &line, &length, status);
        if (got == 1)
            gb_lines_fail(all->items[i].lines, status, "the queries belong to another collection",
                          "more lines than the collection has passages (%u)", passages);
        if (got != 0)
            return false;
    }
    return true;
}

bool data_generated_lines(const char *folder, const char *path, uint32_t passages,
                          gb_generated_counts *counts, gb_status *status)
{
    samples all = {0};
    gb_text row = {0};
    *counts = (gb_generated_counts){0};
    gb_row_writer *writer = list_samples(&all, path, status)
                                ? gb_row_writer_open_in(folder, "generated.gbt", 1, status)
                                : NULL;
    bool ok = writer != NULL;
    for (uint32_t p = 0; ok && p < passages; p++) {
        uint32_t queries = 0;
        ok = read_row(&all, p, passages, &row, &queries, status) &&
             gb_row_writer_add(writer, row.data ? row.data : "", row.length, status);
        data_generated_count(counts, queries);
    }
    ok = ok && expect_ends(&all, passages, status);
    if (ok && !counts->queries)
        ok = gb_fail(status, GB_DATA, path, NULL, "no generated queries in the file");
    ok = gb_row_writer_end(writer, ok, status);
    gb_text_free(&row);
    samples_free(&all);
    return ok;
}
