/* MRR@k (MS MARCO script): 1 / rank of the first relevant passage if that rank is at most k, else
 * 0. Its mean is over all judged queries and its ranks are those of the file (GB_EVAL_MSMARCO). */
#include "measures.h"

double eval_mrr(const gb_judged *query, double cut)
{
    uint32_t rank = eval_first_relevant(query, eval_ranks(query, cut));
    return rank ? 1.0 / rank : 0;
}

/* Sum over the first k ranks of 1 / rank times the probability that the first relevant passage
 * stands there (negative hypergeometric). */
double eval_chance_mrr(const gb_judged *query, double cut, uint64_t passages)
{
    double sum = 0, none = 1;
    uint32_t ranks = eval_ranks(query, cut);
    for (uint32_t rank = 1; rank <= ranks; rank++)
        sum += eval_chance_first(query, passages, rank, &none) / rank;
    return sum;
}
