/* Negatives that a file names, found again in a collection. */
#include "data/training.h"
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

/* Negatives of one query. */
typedef struct pool {
    uint32_t *rows;  /* passages */
    size_t capacity; /* of rows */
    uint32_t count;  /* in rows */
    uint32_t seen;   /* met so far, in rows or not */
} pool;

struct gb_negatives {
    pool *pools;      /* [queries of the collection] */
    size_t queries;   /* number of them */
    uint64_t skipped; /* unknown queries and passages */
};

static bool unknown(gb_negatives *n, const gb_negatives_params *params, const gb_lines *lines,
                    const char *kind, const char *name, gb_status *status)
{
    n->skipped++;
    return params->skip_unknown ||
           gb_lines_fail(lines, status, "see --skip-unknown", "unknown %s \"%.80s\"", kind, name);
}

/* Once each; of more than are wanted every one has the same chance to stay. */
static bool pool_add(pool *p, uint32_t query, uint32_t row, const gb_negatives_params *params,
                     gb_status *status)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i] == row)
            return true;
    p->seen++;
    if (params->per_query && p->count == params->per_query) {
        gb_rng rng = gb_rng_make(params->seed, GB_RNG_NEGATIVE, p->seen, query);
        uint32_t place = gb_rng_below(&rng, p->seen);
        if (place < p->count)
            p->rows[place] = row;
        return true;
    }
    if (!gb_grow(&p->rows, &p->capacity, (size_t)p->count + 1, sizeof *p->rows, status))
        return false;
    p->rows[p->count++] = row;
    return true;
}

static bool take_example(gb_negatives *n, data_finder *f, const gb_negatives_params *params,
                         const gb_lines *lines, const training_example *e, gb_status *status)
{
    uint32_t query, row;
    if (!data_find_query(f, e, &query, status))
        return false;
    if (query == GB_MAP_NONE)
        return unknown(n, params, lines, "query", e->query_id ? e->query_id : e->query, status);
    for (size_t i = 0; i < e->negatives.count; i++) {
        const training_passage *passage = &e->negatives.items[i];
        if (!data_find_passage(f, passage, &row, status))
            return false;
        bool ok = row == GB_MAP_NONE ? unknown(n, params, lines, "passage",
                                               passage->id ? passage->id : passage->text, status)
                                     : pool_add(&n->pools[query], query, row, params, status);
        if (!ok)
            return false;
    }
    return true;
}

gb_negatives *gb_negatives_read(const gb_collection *collection, const gb_negatives_params *params,
                                gb_status *status)
{
    data_finder f = {.collection = collection};
    gb_negatives *n = gb_alloc(1, sizeof *n, status);
    gb_lines *lines = n ? gb_lines_open(params->path, status) : NULL;
    training_file *file = lines ? data_training_open(lines, params->path, status) : NULL;
    const training_example *example;
    int got = -1;
    if (file) {
        n->queries = gb_row_file_count(collection->queries);
        got = (n->pools = gb_alloc(n->queries, sizeof *n->pools, status)) ? 1 : -1;
    }
    uint32_t found = 0;
    while (got == 1 && (got = data_training_next(file, &example, status)) == 1)
        if (!take_example(n, &f, params, lines, example, status))
            got = -1;
    for (size_t q = 0; got == 0 && q < n->queries; q++)
        found += n->pools[q].count > 0;
    if (got == 0 && !found) {
        gb_fail(status, GB_DATA, params->path, "is it of this collection?",
                "no negatives for any query of the collection");
        got = -1;
    }
    data_training_close(file);
    gb_lines_close(lines);
    data_finder_free(&f);
    if (got == 0)
        return n;
    gb_negatives_destroy(n);
    return NULL;
}

void gb_negatives_destroy(gb_negatives *negatives)
{
    if (!negatives)
        return;
    for (size_t q = 0; negatives->pools && q < negatives->queries; q++)
        free(negatives->pools[q].rows);
    free(negatives->pools);
    free(negatives);
}

const uint32_t *gb_negatives_of(const gb_negatives *negatives, uint32_t query, uint32_t *count)
{
    *count = negatives->pools[query].count;
    return negatives->pools[query].rows;
}

uint64_t gb_negatives_skipped(const gb_negatives *negatives)
{
    return negatives->skipped;
}
