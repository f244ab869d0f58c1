/* The per-query functions of the measures, one file each. Private to the room.
 * parameter is the cut-off rank (>= 1), the recall level, or ignored. A query without relevant
 * passages has the value 0 everywhere, as in trec_eval. */
#ifndef GABBRO_RETRIEVE_MEASURES_H
#define GABBRO_RETRIEVE_MEASURES_H

#include <gabbro/retrieve.h>

gb_measure_fn gb_measure_num_q, gb_measure_num_ret, gb_measure_num_rel, gb_measure_num_rel_ret;
gb_measure_fn gb_measure_map, gb_measure_map_cut;
gb_measure_fn gb_measure_rprec;
gb_measure_fn gb_measure_bpref;
gb_measure_fn gb_measure_recip_rank;
gb_measure_fn gb_measure_iprec_at_recall;
gb_measure_fn gb_measure_p;
gb_measure_fn gb_measure_recall;
gb_measure_fn gb_measure_ndcg, gb_measure_ndcg_cut;
gb_measure_fn gb_measure_hit;
gb_measure_fn gb_measure_mrr;
gb_measure_fn gb_measure_judged;

/* What a random order has in expectation. */
gb_chance_fn gb_chance_recall, gb_chance_ndcg, gb_chance_ndcg_cut, gb_chance_hit, gb_chance_mrr;

/* Number of ranks to look at: min(cut, retrieved). */
static inline uint32_t gb_ranks(const gb_judged *query, double cut)
{
    return cut < query->retrieved ? (uint32_t)cut : query->retrieved;
}

/* Relevant passages among the first `ranks` ranks. */
static inline uint32_t gb_relevant_in(const gb_judged *query, uint32_t ranks)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ranks; i++)
        found += query->grades[i] >= query->level;
    return found;
}

/* Rank of the first relevant passage among the first `ranks`, or 0. */
static inline uint32_t gb_first_relevant(const gb_judged *query, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        if (query->grades[i] >= query->level)
            return i + 1;
    return 0;
}

/* Probability that, drawing `passages` passages without replacement, the relevant ones come first
 * at `rank` (from 1): R / (N - rank + 1) of *none, the probability that no earlier rank has one. To
 * be asked rank by rank, with *none 1 at first. */
static inline double gb_chance_first(const gb_judged *query, uint64_t passages, uint32_t rank,
                                     double *none)
{
    double share = query->relevant / ((double)passages - rank + 1);
    double here = share < 1 ? *none * share : *none;
    *none -= here;
    return here;
}

#endif
