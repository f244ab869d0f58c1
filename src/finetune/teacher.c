/* What a teacher scored of a training set. */
#include "private.h"

#include <math.h>

/* Keeps those of `count` passages from `first` on that have a score. Returns how many. */
static uint32_t keep(gb_training_set *set, const gb_run *teacher, uint32_t query, uint32_t first,
                     uint32_t count, gb_taught *found)
{
    const gb_run_list *list = gb_run_find(teacher, query);
    uint32_t kept = 0;
    found->pairs += count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t passage = set->passages[first + i];
        if (!isnan(finetune_score_of(teacher, list, passage))) {
            set->passages[first + kept++] = passage;
            continue;
        }
        if (!found->missing++) {
            found->first_query = query;
            found->first_passage = passage;
        }
    }
    return kept;
}

void gb_training_set_teach(gb_training_set *set, const gb_run *teacher, uint32_t negatives,
                           gb_taught *found)
{
    uint32_t kept = 0;
    *found = (gb_taught){0};
    set->without_negatives = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        gb_training_query q = set->queries[i];
        q.positive_count = keep(set, teacher, q.query, q.positive_first, q.positive_count, found);
        q.negative_count = keep(set, teacher, q.query, q.negative_first, q.negative_count, found);
        if (!q.positive_count) {
            found->dropped_queries++;
            continue;
        }
        found->short_queries += q.negative_count < negatives;
        set->without_negatives += q.negative_count == 0;
        set->queries[kept++] = q;
    }
    set->count = kept;
}
