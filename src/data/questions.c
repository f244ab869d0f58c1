/* The queries of a split: those with judgements, and those that have only answers. */
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool add(uint32_t **queries, uint32_t *count, size_t *capacity, uint32_t query,
                gb_status *status)
{
    if (!gb_grow(queries, capacity, (size_t)*count + 1, sizeof **queries, status))
        return false;
    (*queries)[(*count)++] = query;
    return true;
}

static bool add_questions(const gb_collection *collection, const char *path, uint32_t **queries,
                          uint32_t *count, size_t *capacity, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    gb_map *rows = lines ? gb_row_file_map(collection->query_ids, status) : NULL;
    char *line;
    size_t length;
    int got = rows ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        uint32_t row = gb_map_get(rows, line, length);
        if (row == GB_MAP_NONE)
            gb_lines_fail(lines, status, "import the collection again", "unknown query \"%.80s\"",
                          line);
        if (row == GB_MAP_NONE || !add(queries, count, capacity, row, status))
            got = -1;
    }
    gb_map_destroy(rows);
    gb_lines_close(lines);
    return got == 0;
}

bool gb_collection_split_queries(const gb_collection *collection, const char *split,
                                 const gb_qrels *qrels, uint32_t **queries, uint32_t *count,
                                 gb_status *status)
{
    size_t capacity = 0;
    *queries = NULL;
    *count = 0;
    char *path = gb_format(status, "%s/questions/%s.txt", collection->path, split);
    bool ok = path && gb_grow(queries, &capacity, 1, sizeof **queries, status);
    for (size_t i = 0; ok && i < qrels->count; i++)
        if (!i || qrels->rows[i].query != qrels->rows[i - 1].query)
            ok = add(queries, count, &capacity, qrels->rows[i].query, status);
    if (ok && gb_file_exists(path)) {
        ok = add_questions(collection, path, queries, count, &capacity, status);
        qsort(*queries, *count, sizeof **queries, by_number);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < *count; i++)
            if (!i || (*queries)[i] != (*queries)[i - 1])
                (*queries)[kept++] = (*queries)[i];
        *count = kept;
    }
    free(path);
    if (!ok) {
        free(*queries);
        *queries = NULL;
    }
    return ok;
}
