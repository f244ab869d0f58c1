/* Search by several ranks, each of which reads a part of the passages. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_BYTES (64u << 20) /* of all ranks at once */

/* What the ranks found for some queries: of each rank rows [cells], then scores [cells]. */
typedef struct exchange {
    char *all;            /* [ranks * 2 * cells * 4] */
    size_t *ends;         /* [ranks] */
    search_found scratch; /* of merging [k] */
} exchange;

/* The best of all ranks' lists, in their order; each is what its rank found in its own part. */
static bool merge_queries(gb_ranks *ranks, exchange *x, uint32_t passages, uint32_t queries,
                          uint32_t k, uint32_t *rows, float *scores, gb_status *status)
{
    uint32_t count = gb_ranks_count(ranks), own = gb_ranks_rank(ranks);
    size_t cells = (size_t)queries * k, bytes = 2 * cells * sizeof(float);
    memcpy(x->all + own * bytes, rows, bytes / 2);
    memcpy(x->all + own * bytes + bytes / 2, scores, bytes / 2);
    for (uint32_t r = 0; r < count; r++)
        x->ends[r] = (r + 1) * bytes;
    if (!gb_ranks_gather(ranks, x->all, x->ends, status))
        return false;
    memcpy(rows, x->all, bytes / 2);
    memcpy(scores, x->all + bytes / 2, bytes / 2);
    for (uint32_t r = 1; r < count; r++) {
        uint32_t *other_rows = (uint32_t *)(void *)(x->all + r * bytes);
        float *other_scores = (float *)(void *)(x->all + r * bytes + bytes / 2);
        uint32_t first, number;
        gb_ranks_range(r, count, passages, &first, &number);
        for (size_t at = 0; at < cells; at += k)
            search_merge(&(search_found){rows + at, scores + at},
                         &(search_found){other_rows + at, other_scores + at}, first, k,
                         &x->scratch);
    }
    return true;
}

static bool merge_all(gb_ranks *ranks, uint32_t passages, uint32_t queries, uint32_t k,
                      uint32_t *rows, float *scores, gb_status *status)
{
    uint32_t count = gb_ranks_count(ranks);
    size_t of_query = (size_t)count * k * 2 * sizeof(float);
    uint32_t most = of_query < EXCHANGE_BYTES ? (uint32_t)(EXCHANGE_BYTES / of_query) : 1;
    if (most > queries)
        most = queries;
    exchange x = {.all = gb_alloc(most, of_query, status)};
    x.ends = gb_alloc(count, sizeof *x.ends, status);
    x.scratch.rows = gb_alloc(k, sizeof *x.scratch.rows, status);
    x.scratch.scores = gb_alloc(k, sizeof *x.scratch.scores, status);
    bool ok = x.all && x.ends && x.scratch.rows && x.scratch.scores;
    for (uint32_t q = 0; ok && q < queries; q += most) {
        size_t at = (size_t)q * k;
        ok = merge_queries(ranks, &x, passages, queries - q < most ? queries - q : most, k,
                           rows + at, scores + at, status);
    }
    free(x.all);
    free(x.ends);
    free(x.scratch.rows);
    free(x.scratch.scores);
    return ok;
}

bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, uint32_t *rows, float *scores, gb_status *status)
{
    search_window window;
    uint32_t first, count, ranks = gb_ranks_count(params->ranks);
    gb_ranks_range(gb_ranks_rank(params->ranks), ranks, passages->rows, &first, &count);
    gb_vectors part = search_part(&window, passages, first, count);
    if (!search_pieces(device, queries, &part, params, rows, scores, status))
        return false;
    return ranks == 1 ||
           merge_all(params->ranks, passages->rows, queries->rows, params->k, rows, scores, status);
}
