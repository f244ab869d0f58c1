/* ndcg, ndcg_cut (Jarvelin and Kekalainen, ACM TOIS 20, 2002, as trec_eval computes it): gain =
 * grade (linear), discount log2(rank + 1), divided by the same sum over all judged passages of the
 * query in the best order. The relevance level plays no part. */
#include <math.h>

#include "measures.h"

static double dcg(const int32_t *grades, uint32_t ranks)
{
    double sum = 0;
    for (uint32_t i = 0; i < ranks; i++)
        if (grades[i] > 0) /* GB_UNJUDGED is negative */
            sum += grades[i] / log2(i + 2.0);
    return sum;
}

double eval_ndcg(const gb_judged *query, double parameter)
{
    (void)parameter;
    double ideal = dcg(query->ideal, query->judged);
    return ideal > 0 ? dcg(query->grades, query->retrieved) / ideal : 0;
}

double eval_ndcg_cut(const gb_judged *query, double cut)
{
    double ideal = dcg(query->ideal, cut < query->judged ? (uint32_t)cut : query->judged);
    return ideal > 0 ? dcg(query->grades, eval_ranks(query, cut)) / ideal : 0;
}

/* Every rank has the mean gain of the collection, sum of grades / N, in expectation. */
static double chance(const gb_judged *query, uint32_t ranks, double ideal, uint64_t passages)
{
    double gains = 0, discounts = 0;
    for (uint32_t i = 0; i < query->judged && query->ideal[i] > 0; i++)
        gains += query->ideal[i];
    for (uint32_t i = 0; i < ranks; i++)
        discounts += 1 / log2(i + 2.0);
    return ideal > 0 ? gains / (double)passages * discounts / ideal : 0;
}

double eval_chance_ndcg(const gb_judged *query, double parameter, uint64_t passages)
{
    (void)parameter;
    return chance(query, query->retrieved, dcg(query->ideal, query->judged), passages);
}

double eval_chance_ndcg_cut(const gb_judged *query, double cut, uint64_t passages)
{
    double ideal = dcg(query->ideal, cut < query->judged ? (uint32_t)cut : query->judged);
    return chance(query, eval_ranks(query, cut), ideal, passages);
}
