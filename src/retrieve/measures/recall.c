/* recall (trec_eval): share of the relevant passages that are among the first k. Not the R@k of MS
 * MARCO papers, which is hit.c. */
#include "measures.h"

double gb_measure_recall(const gb_judged *query, double cut)
{
    if (query->relevant == 0)
        return 0;
    return (double)gb_relevant_in(query, gb_ranks(query, cut)) / query->relevant;
}
