/* Exact search of token vectors: every passage is scored, the best of each query are kept. */
#include "search.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* queries */

/* What was found so far. */
typedef struct best_passages {
    const gb_found *found; /* falling lists */
    uint32_t *have;        /* [queries] passages in each list */
    uint32_t k;            /* at most */
} best_passages;

/* Passages come in ascending order, so that an equal score goes behind those before it. */
static void keep_best(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                      uint32_t count)
{
    const best_passages *b = context;
    gb_found list = retrieve_search_from(b->found, query, b->k);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t have = b->have[query];
        if (have == b->k && !retrieve_search_better(scores[i], list.scores[have - 1]))
            continue;
        uint32_t low = 0, high = have; /* behind all that are as good */
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (retrieve_search_better(scores[i], list.scores[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        uint32_t moved = (have < b->k ? have : b->k - 1) - low;
        memmove(list.scores + low + 1, list.scores + low, moved * sizeof *list.scores);
        memmove(list.rows + low + 1, list.rows + low, moved * sizeof *list.rows);
        list.scores[low] = scores[i];
        list.rows[low] = rows[i];
        b->have[query] += have < b->k;
    }
}

static bool search_all_pairs(gb_device *device, const gb_token_vectors *queries,
                             const gb_token_vectors *passages, best_passages *best,
                             gb_status *status)
{
    gb_token_scorer *scorer = gb_token_scorer_create(device, queries, passages, AT_ONCE, status);
    gb_progress progress;
    gb_progress_begin(&progress, "search", "queries", queries->texts, 0);
    bool ok = scorer != NULL;
    for (uint32_t q = 0, count; ok && q < queries->texts; q += count) {
        count = queries->texts - q < AT_ONCE ? queries->texts - q : AT_ONCE;
        ok = gb_token_score(scorer, q, count, NULL, passages->texts, keep_best, best, status);
        gb_progress_update(&progress, q + count, NULL);
    }
    if (ok)
        gb_progress_end(&progress, queries->texts, NULL);
    gb_token_scorer_destroy(scorer);
    return ok;
}

bool gb_token_search(gb_device *device, const gb_token_vectors *queries,
                     const gb_token_vectors *passages, uint32_t k, const gb_found *found,
                     gb_status *status)
{
    for (size_t i = 0; i < (size_t)queries->texts * k; i++) {
        found->rows[i] = GB_NO_ROW;
        found->scores[i] = -INFINITY;
    }
    if (!queries->texts || !passages->texts || !k)
        return true;
    best_passages best = {found, gb_alloc(queries->texts, sizeof *best.have, status), k};
    bool ok = best.have != NULL;
    if (ok && passages->tags && queries->tags)
        ok = retrieve_token_lists_search(device, queries, passages, (token_lists_limits){0},
                                         keep_best, &best, status);
    else if (ok)
        ok = search_all_pairs(device, queries, passages, &best, status);
    free(best.have);
    return ok;
}
