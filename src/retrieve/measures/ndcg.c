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

double gb_measure_ndcg(const gb_judged *query, double parameter)
{
    (void)parameter;
    double ideal = dcg(query->ideal, query->judged);
    return ideal > 0 ? dcg(query->grades, query->retrieved) / ideal : 0;
}

double gb_measure_ndcg_cut(const gb_judged *query, double cut)
{
    double ideal = dcg(query->ideal, cut < query->judged ? (uint32_t)cut : query->judged);
    return ideal > 0 ? dcg(query->grades, gb_ranks(query, cut)) / ideal : 0;
}
