/* Hit@k: 1 when at least one relevant passage is among the first k. Its mean is the share of such
 * queries; MS MARCO papers call it R@k. trec_eval's name is success; recall.c is something else. */
#include "measures.h"

double eval_hit(const gb_judged *query, double cut)
{
    return eval_first_relevant(query, eval_ranks(query, cut)) != 0;
}

/* 1 - C(N - R, k) / C(N, k) (hypergeometric), summed over the rank of the first relevant passage so
 * that nothing cancels where it is small. */
double eval_chance_hit(const gb_judged *query, double cut, uint64_t passages)
{
    double sum = 0, none = 1;
    uint32_t ranks = eval_ranks(query, cut);
    for (uint32_t rank = 1; rank <= ranks; rank++)
        sum += eval_chance_first(query, passages, rank, &none);
    return sum;
}
