/* P: relevant passages among the first k, divided by k even when fewer were retrieved. */
#include "measures.h"

double eval_p(const gb_judged *query, double cut)
{
    return eval_relevant_in(query, eval_ranks(query, cut)) / cut;
}
