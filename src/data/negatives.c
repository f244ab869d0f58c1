/* Negatives that a file names, found again in a collection. */
#include "data/training.h"
#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

/* Negatives of one query. */
typedef struct pool {
    uint32_t *rows;        /* [count] passages */
    uint32_t *lots;        /* [count] numbers drawn for them, of which the smallest stay */
    size_t room, lot_room; /* capacities of rows and lots */
    uint32_t count;        /* passages */
    uint32_t last;         /* where the largest lot is, once there are as many as are wanted */
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

static void pool_free(pool *p)
{
    free(p->rows);
    free(p->lots);
}

static void find_last(pool *p)
{
    p->last = 0;
    for (uint32_t i = 1; i < p->count; i++)
        if (p->lots[i] > p->lots[p->last])
            p->last = i;
}

/* Once each. Of more than are wanted every passage has the same chance to stay, however often the
 * file names it: its lot is drawn by its row. */
static bool pool_add(pool *p, uint32_t query, uint32_t row, const gb_negatives_params *params,
                     gb_status *status)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i] == row)
            return true;
    gb_rng rng = gb_rng_make(params->seed, GB_RNG_NEGATIVE, row, query);
    uint32_t lot = gb_rng_u32(&rng);
    bool full = params->per_query && p->count == params->per_query;
    if (full && lot >= p->lots[p->last])
        return true;
    if (!full && (!gb_grow(&p->rows, &p->room, p->count + 1, sizeof *p->rows, status) ||
                  !gb_grow(&p->lots, &p->lot_room, p->count + 1, sizeof *p->lots, status)))
        return false;
    uint32_t place = full ? p->last : p->count++;
    p->rows[place] = row;
    p->lots[place] = lot;
    if (p->count == params->per_query)
        find_last(p);
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
        pool_free(&negatives->pools[q]);
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
