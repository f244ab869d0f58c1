/* Search by several ranks, each of which reads a part of the passages. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_BYTES (64u << 20) /* of all ranks at once */

/* What the ranks found for some queries: of each rank rows [cells], then scores [cells]. */
typedef struct exchange {
    gb_ranks *ranks;   /* that search */
    uint32_t passages; /* of all ranks */
    uint32_t k;        /* results of a query */
    char *all;         /* [ranks * 2 * cells * 4] */
    size_t *ends;      /* [ranks] */
    gb_found scratch;  /* of merging [k] */
} exchange;

/* The best of all ranks' lists, in their order; each is what its rank found in its own part. */
static bool merge_queries(exchange *x, uint32_t queries, const gb_found *found, gb_status *status)
{
    uint32_t count = gb_ranks_count(x->ranks), own = gb_ranks_rank(x->ranks);
    size_t cells = (size_t)queries * x->k, bytes = 2 * cells * sizeof(float);
    memcpy(x->all + own * bytes, found->rows, bytes / 2);
    memcpy(x->all + own * bytes + bytes / 2, found->scores, bytes / 2);
    for (uint32_t r = 0; r < count; r++)
        x->ends[r] = (r + 1) * bytes;
    if (!gb_ranks_gather(x->ranks, x->all, x->ends, status))
        return false;
    memcpy(found->rows, x->all, bytes / 2);
    memcpy(found->scores, x->all + bytes / 2, bytes / 2);
    for (uint32_t r = 1; r < count; r++) {
        const gb_found theirs = {(uint32_t *)(void *)(x->all + r * bytes),
                                 (float *)(void *)(x->all + r * bytes + bytes / 2)};
        uint32_t first, number;
        gb_ranks_range(r, count, x->passages, &first, &number);
        for (uint32_t q = 0; q < queries; q++) {
            gb_found best = retrieve_search_from(found, q, x->k),
                     other = retrieve_search_from(&theirs, q, x->k);
            retrieve_search_merge(&best, &other, first, x->k, &x->scratch);
        }
    }
    return true;
}

/* Of as many queries at a time as may be exchanged. */
static bool merge_all(exchange *x, uint32_t queries, const gb_found *found, gb_status *status)
{
    if (!x->k) /* no passages */
        return true;
    uint32_t count = gb_ranks_count(x->ranks);
    size_t of_query = (size_t)count * x->k * 2 * sizeof(float);
    uint32_t most = of_query < EXCHANGE_BYTES ? (uint32_t)(EXCHANGE_BYTES / of_query) : 1;
    if (most > queries)
        most = queries;
    x->all = gb_alloc(most, of_query, status);
    x->ends = gb_alloc(count, sizeof *x->ends, status);
    x->scratch.rows = gb_alloc(x->k, sizeof *x->scratch.rows, status);
    x->scratch.scores = gb_alloc(x->k, sizeof *x->scratch.scores, status);
    bool ok = x->all && x->ends && x->scratch.rows && x->scratch.scores;
    for (uint32_t q = 0; ok && q < queries; q += most) {
        gb_found some = retrieve_search_from(found, q, x->k);
        ok = merge_queries(x, queries - q < most ? queries - q : most, &some, status);
    }
    free(x->all);
    free(x->ends);
    free(x->scratch.rows);
    free(x->scratch.scores);
    return ok;
}

bool retrieve_search_exchange(gb_ranks *ranks, uint32_t passages, uint32_t k, uint32_t queries,
                              const gb_found *found, gb_status *status)
{
    exchange x = {.ranks = ranks, .passages = passages, .k = k};
    return gb_ranks_count(ranks) == 1 || merge_all(&x, queries, found, status);
}

bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, const gb_found *found, gb_status *status)
{
    search_window window;
    uint32_t first, count, ranks = gb_ranks_count(params->ranks);
    gb_ranks_range(gb_ranks_rank(params->ranks), ranks, passages->rows, &first, &count);
    gb_vectors part = retrieve_search_part(&window, passages, first, count);
    return retrieve_search_pieces(device, queries, &part, params, found, status) &&
           retrieve_search_exchange(params->ranks, passages->rows, params->k, queries->rows, found,
                                    status);
}
