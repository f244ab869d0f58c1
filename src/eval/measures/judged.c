/* Judged@k: share of the first k retrieved passages that have a judgement. A low value says that
 * the other measures take unjudged passages for non-relevant ones. */
#include "measures.h"

double eval_judged(const gb_judged *query, double cut)
{
    uint32_t ranks = eval_ranks(query, cut), judged = 0;
    for (uint32_t i = 0; i < ranks; i++)
        judged += query->grades[i] != GB_UNJUDGED;
    return ranks ? (double)judged / ranks : 0;
}
