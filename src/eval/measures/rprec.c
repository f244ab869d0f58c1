/* Rprec: precision at rank R, R = number of relevant passages. */
#include "measures.h"

double eval_rprec(const gb_judged *query, double parameter)
{
    (void)parameter;
    if (query->relevant == 0)
        return 0;
    return (double)eval_relevant_in(query, eval_ranks(query, query->relevant)) / query->relevant;
}
