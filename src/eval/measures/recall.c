/* recall (trec_eval): share of the relevant passages that are among the first k. Not the R@k of MS
 * MARCO papers, which is hit.c. */
#include "measures.h"

double eval_recall(const gb_judged *query, double cut)
{
    if (query->relevant == 0)
        return 0;
    return (double)eval_relevant_in(query, eval_ranks(query, cut)) / query->relevant;
}

/* k / N: each relevant passage is among the first k of N as likely as any other. */
double eval_chance_recall(const gb_judged *query, double cut, uint64_t passages)
{
    return query->relevant ? eval_ranks(query, cut) / (double)passages : 0;
}
