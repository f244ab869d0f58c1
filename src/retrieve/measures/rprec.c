/* Rprec: precision at rank R, R = number of relevant passages. */
#include "measures.h"

double gb_measure_rprec(const gb_judged *query, double parameter)
{
    (void)parameter;
    if (query->relevant == 0)
        return 0;
    return (double)gb_relevant_in(query, gb_ranks(query, query->relevant)) / query->relevant;
}
