/* The per-query functions of the measures, one file each. Private to the module.
 * parameter is the cut-off rank (>= 1), the recall level, or ignored. A query without relevant
 * passages has the value 0 everywhere, as in trec_eval. */
#ifndef EVAL_MEASURES_H
#define EVAL_MEASURES_H

#include <gabbro/eval.h>

gb_measure_fn eval_num_q, eval_num_ret, eval_num_rel, eval_num_rel_ret;
gb_measure_fn eval_map, eval_map_cut;
gb_measure_fn eval_rprec;
gb_measure_fn eval_bpref;
gb_measure_fn eval_recip_rank;
gb_measure_fn eval_iprec_at_recall;
gb_measure_fn eval_p;
gb_measure_fn eval_recall;
gb_measure_fn eval_ndcg, eval_ndcg_cut;
gb_measure_fn eval_hit;
gb_measure_fn eval_mrr;
gb_measure_fn eval_judged;

/* What a random order has in expectation. */
gb_chance_fn eval_chance_recall, eval_chance_ndcg, eval_chance_ndcg_cut, eval_chance_hit,
    eval_chance_mrr;

/* Number of ranks to look at: min(cut, retrieved). */
static inline uint32_t eval_ranks(const gb_judged *query, double cut)
{
    return cut < query->retrieved ? (uint32_t)cut : query->retrieved;
}

/* Relevant passages among the first `ranks` ranks. */
static inline uint32_t eval_relevant_in(const gb_judged *query, uint32_t ranks)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ranks; i++)
        found += query->grades[i] >= query->level;
    return found;
}

/* Rank of the first relevant passage among the first `ranks`, or 0. */
static inline uint32_t eval_first_relevant(const gb_judged *query, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        if (query->grades[i] >= query->level)
            return i + 1;
    return 0;
}

/* Probability that, drawing `passages` passages without replacement, the relevant ones come first
 * at `rank` (from 1): R / (N - rank + 1) of *none, the probability that no earlier rank has one. To
 * be asked rank by rank, with *none 1 at first. */
static inline double eval_chance_first(const gb_judged *query, uint64_t passages, uint32_t rank,
                                       double *none)
{
    double share = query->relevant / ((double)passages - rank + 1);
    double here = share < 1 ? *none * share : *none;
    *none -= here;
    return here;
}

#endif
