/* Topics of training queries: clusters of the vectors that a retriever makes of them. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* The vector that each query of the collection has: rows [queries], UINT32_MAX for none. */
static uint32_t *rows_of(const gb_collection *collection, const char *folder, uint32_t vectors,
                         gb_status *status)
{
    uint64_t count = gb_row_file_count(collection->queries);
    uint32_t *rows = gb_alloc(count, sizeof *rows, status), at = 0;
    gb_map *ids = rows ? gb_row_file_map(collection->query_ids, status) : NULL;
    char *path = ids ? gb_path_join(status, folder, "ids.txt") : NULL;
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    char *line;
    size_t length;
    int got = lines ? 1 : -1;
    for (uint64_t q = 0; rows && q < count; q++)
        rows[q] = UINT32_MAX;
    while (got == 1 && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        uint32_t query = gb_map_get(ids, line, length);
        if (query != GB_MAP_NONE && at < vectors)
            rows[query] = at;
        at++;
    }
    gb_lines_close(lines);
    gb_map_destroy(ids);
    free(path);
    if (got == 0 && at == vectors)
        return rows;
    if (got == 0)
        gb_fail(status, GB_DATA, folder, "give the folder that gabbro encode printed",
                "%u ids, %u vectors", at, vectors);
    free(rows);
    return NULL;
}

/* Copies the vectors of the training queries. */
static bool gather(const gb_collection *collection, const gb_training_set *set,
                   const gb_vectors *all, const uint32_t *rows, float *values, gb_status *status)
{
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t query = set->queries[i].query;
        size_t length;
        const char *id = gb_row_file_row(collection->query_ids, query, &length);
        if (rows[query] == UINT32_MAX)
            return gb_fail(status, GB_DATA, "--query-vectors", "gabbro encode --split train",
                           "the training query %.*s has no vector", (int)length, id);
        const float *vector = all->read(all->context, rows[query], 1, status);
        if (!vector)
            return false;
        memcpy(values + (size_t)i * all->width, vector, sizeof *values * all->width);
    }
    return true;
}

uint32_t *train_topics(const gb_collection *collection, const gb_training_set *set,
                       const char *folder, uint32_t clusters, uint64_t seed, gb_status *status)
{
    char *path = gb_path_join(status, folder, "vectors.npy");
    gb_npy *npy = path ? gb_npy_open((const char *const[]){path}, 1, status) : NULL;
    gb_vectors all = npy ? gb_npy_vectors(npy) : (gb_vectors){0};
    uint32_t *rows = npy ? rows_of(collection, folder, all.rows, status) : NULL;
    float *values = rows ? gb_alloc((size_t)set->count * all.width, sizeof *values, status) : NULL;
    uint32_t *topics = values ? gb_alloc(set->count, sizeof *topics, status) : NULL;
    const gb_vectors own = {.rows = set->count, .width = all.width, .values = values};
    bool ok = topics && gather(collection, set, &all, rows, values, status) &&
              gb_cluster_vectors(&own, clusters, seed, topics, status);
    free(path);
    free(rows);
    free(values);
    gb_npy_close(npy);
    if (ok)
        return topics;
    free(topics);
    return NULL;
}
