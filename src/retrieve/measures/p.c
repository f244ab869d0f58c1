/* P: relevant passages among the first k, divided by k even when fewer were retrieved. */
#include "measures.h"

double gb_measure_p(const gb_judged *query, double cut)
{
    return gb_relevant_in(query, gb_ranks(query, cut)) / cut;
}
