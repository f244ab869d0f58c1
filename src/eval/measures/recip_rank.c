/* recip_rank (trec_eval): 1 / rank of the first relevant passage of the whole list, 0 without one.
 * Published as MRR@10 after `-M 10`; the MS MARCO script's measure is mrr.c. */
#include "measures.h"

double eval_recip_rank(const gb_judged *query, double parameter)
{
    (void)parameter;
    uint32_t rank = eval_first_relevant(query, query->retrieved);
    return rank ? 1.0 / rank : 0;
}
