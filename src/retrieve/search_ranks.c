#include "found.h"

#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_BYTES (64u << 20) /* of all ranks at once */

/* What the ranks found for some queries: of each rank rows [cells], then scores [cells]. */
typedef struct exchange {
    char *all;           /* [ranks * 2 * cells * 4] */
    size_t *ends;        /* [ranks] */
    uint32_t *room_rows; /* [k] */
    float *room_scores;  /* [k] */
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
        const uint32_t *new_rows = (const uint32_t *)(const void *)(x->all + r * bytes);
        const float *new_scores = (const float *)(const void *)(x->all + r * bytes + bytes / 2);
        uint32_t first, number;
        gb_ranks_range(r, count, passages, &first, &number);
        for (size_t at = 0; at < cells; at += k)
            found_merge(rows + at, scores + at, new_rows + at, new_scores + at, first, k,
                        x->room_rows, x->room_scores);
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
    x.room_rows = gb_alloc(k, sizeof *x.room_rows, status);
    x.room_scores = gb_alloc(k, sizeof *x.room_scores, status);
    bool ok = x.all && x.ends && x.room_rows && x.room_scores;
    for (uint32_t q = 0; ok && q < queries; q += most) {
        size_t at = (size_t)q * k;
        ok = merge_queries(ranks, &x, passages, queries - q < most ? queries - q : most, k,
                           rows + at, scores + at, status);
    }
    free(x.all);
    free(x.ends);
    free(x.room_rows);
    free(x.room_scores);
    return ok;
}

bool gb_search_ranks(gb_ranks *ranks, gb_device *device, const gb_vectors *queries,
                     const gb_vectors *passages, const gb_search_params *params, uint32_t piece,
                     const char *resume, uint32_t *rows, float *scores, gb_status *status)
{
    found_window window;
    uint32_t first, count;
    gb_ranks_range(gb_ranks_rank(ranks), gb_ranks_count(ranks), passages->rows, &first, &count);
    gb_vectors part = found_in(&window, passages, first, count);
    bool ok = piece ? gb_search_pieces(device, queries, &part, params, piece, resume, rows, scores,
                                       status)
                    : gb_search(device, queries, &part, params, rows, scores, status);
    return ok && (gb_ranks_count(ranks) == 1 ||
                  merge_all(ranks, passages->rows, queries->rows, params->k, rows, scores, status));
}
