/* Exact search of vectors in the host's memory, results on the host. */
#include "private.h"

#include "gabbro/retrieve.h"

#include <stdlib.h>

#define BEST     1000  /* passages wanted of a query */
#define SURVEYED 65536 /* passages at most where nothing runs */

typedef struct session {
    gb_device *device;      /* open */
    const bench_size *size; /* numbers of vectors and their width */
    float *vectors;         /* passages, then queries */
    uint32_t *rows;         /* [queries, BEST] */
    float *scores;          /* likewise */
} session;

/* Quick numbers between -1 and 1 that repeat late: drawing them well would take longer than the
 * search. */
static void fill(float *values, size_t count)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)state * (1.0f / 2147483648.0f);
    }
}

static bool search(void *context, gb_status *status)
{
    session *s = context;
    uint32_t width = s->size->hidden;
    gb_vectors passages = {s->size->search_texts, width, s->vectors, NULL, NULL};
    gb_vectors queries = {s->size->search_queries, width,
                          s->vectors + (size_t)s->size->search_texts * width, NULL, NULL};
    gb_search_params params = {.k = BEST, .quiet = true};
    const gb_found found = {s->rows, s->scores};
    return gb_search(s->device, &queries, &passages, &params, &found, status);
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    session *s = context;
    size_t results = (size_t)s->size->search_queries * BEST;
    size_t count = ((size_t)s->size->search_texts + s->size->search_queries) * s->size->hidden;
    s->device = b->device;
    s->vectors = gb_alloc(count, sizeof *s->vectors, status);
    s->rows = s->vectors ? gb_alloc(results, sizeof *s->rows, status) : NULL;
    s->scores = s->rows ? gb_alloc(results, sizeof *s->scores, status) : NULL;
    if (s->scores && !b->survey)
        fill(s->vectors, count);
    bool ok = s->scores && bench_call_measure(b, search, s, times, status);
    free(s->vectors);
    free(s->rows);
    free(s->scores);
    return ok;
}

bool bench_search_in(bench *b, const bench_size *size, const char *name, gb_status *status)
{
    session s = {.size = size};
    bench_case c = {.name = name,
                    .size = size,
                    .shape = json_pack("{s:i, s:i, s:i, s:i}", "queries", (int)size->search_queries,
                                       "passages", (int)size->search_texts, "width",
                                       (int)size->hidden, "best", BEST),
                    .expected = 2.0 * size->search_queries * size->search_texts * size->hidden,
                    .whole = true};
    return bench_case_run(b, &c, measure, &s, status);
}

bool bench_search(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        bench_size z = bench_sizes[i];
        char name[80];
        if (b->survey && z.search_texts > SURVEYED)
            z.search_texts = SURVEYED;
        snprintf(name, sizeof name, "%s %u in %u", z.name, z.search_queries, z.search_texts);
        if (b->sizes[i] && !bench_search_in(b, &z, name, status))
            return false;
    }
    return true;
}
