/* Training queries with their positives and pools of hard negatives. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

void gb_training_set_free(gb_training_set *set)
{
    free(set->queries);
    free(set->passages);
    *set = (gb_training_set){0};
}

static bool add_passage(gb_training_set *set, uint32_t passage, gb_status *status)
{
    if (!gb_grow(&set->passages, &set->passage_capacity, set->passage_count + 1,
                 sizeof *set->passages, status))
        return false;
    set->passages[set->passage_count++] = passage;
    return true;
}

static bool listed(const gb_training_set *set, size_t first, uint32_t passage)
{
    for (size_t i = first; i < set->passage_count; i++)
        if (set->passages[i] == passage)
            return true;
    return false;
}

/* Positives of the judgements [first, end), then the pool of all runs. */
static bool add_query(gb_training_set *set, const gb_qrels *qrels, size_t first, size_t end,
                      const gb_run *runs, size_t run_count, uint32_t depth, gb_status *status)
{
    size_t start = set->passage_count;
    gb_training_query entry = {.query = qrels->rows[first].query,
                               .positive_first = (uint32_t)start};
    for (size_t i = first; i < end; i++)
        if (qrels->rows[i].grade > 0 && !add_passage(set, qrels->rows[i].passage, status))
            return false;
    entry.positive_count = (uint32_t)(set->passage_count - start);
    if (!entry.positive_count)
        return true;
    entry.negative_first = (uint32_t)set->passage_count;
    for (size_t r = 0; r < run_count; r++) {
        const gb_run_list *list = gb_run_find(&runs[r], entry.query);
        for (uint32_t i = 0; list && i < list->count && i < depth; i++) {
            uint32_t passage = runs[r].hits[list->first + i].passage;
            if (passage != GB_NO_PASSAGE && !listed(set, start, passage) &&
                !add_passage(set, passage, status))
                return false;
        }
    }
    entry.negative_count = (uint32_t)set->passage_count - entry.negative_first;
    set->without_negatives += entry.negative_count == 0;
    set->queries[set->count++] = entry;
    return true;
}

bool gb_training_set_make(gb_training_set *set, const gb_qrels *qrels, const gb_run *runs,
                          size_t run_count, uint32_t depth, gb_status *status)
{
    *set = (gb_training_set){0};
    set->queries = gb_alloc(qrels->count, sizeof *set->queries, status);
    bool ok = set->queries != NULL;
    for (size_t first = 0, end; ok && first < qrels->count; first = end) {
        for (end = first; end < qrels->count && qrels->rows[end].query == qrels->rows[first].query;)
            end++;
        ok = add_query(set, qrels, first, end, runs, run_count, depth, status);
    }
    if (ok && !set->count)
        ok = gb_fail(status, GB_DATA, NULL,
                     "judge at least one passage of a training query relevant",
                     "no training query has a positive");
    if (!ok)
        gb_training_set_free(set);
    return ok;
}

bool finetune_is_positive(const gb_training_set *set, const gb_training_query *query,
                          uint32_t passage)
{
    const uint32_t *positives = set->passages + query->positive_first;
    for (uint32_t i = 0; i < query->positive_count; i++)
        if (positives[i] == passage)
            return true;
    return false;
}

bool gb_training_negatives(const gb_training_set *set, const gb_training_query *query,
                           uint64_t seed, uint32_t epoch, uint32_t count, uint32_t passages,
                           uint32_t *pool, uint32_t *negatives, gb_status *status)
{
    uint32_t size = query->negative_count;
    if (size)
        memcpy(pool, set->passages + query->negative_first, sizeof *pool * size);
    gb_rng shuffle = gb_rng_make(seed, GB_RNG_NEGATIVE, 0, query->query);
    gb_rng_shuffle(&shuffle, pool, size);
    gb_rng random = gb_rng_make(seed, GB_RNG_NEGATIVE, 1 + epoch, query->query);
    if (count > size && query->positive_count >= passages)
        return gb_fail(status, GB_DATA, NULL, "judge fewer passages relevant, or add others",
                       "every passage of the collection is a positive of one training query: "
                       "there is no negative");
    for (uint32_t n = 0; n < count; n++) {
        uint64_t at = (uint64_t)epoch * count + n;
        if (n < size) {
            negatives[n] = pool[at % size];
            continue;
        }
        do
            negatives[n] = gb_rng_below(&random, passages);
        while (finetune_is_positive(set, query, negatives[n]));
    }
    return true;
}
