/* MRR@k (MS MARCO script): 1 / rank of the first relevant passage if that rank is at most k, else
 * 0. Its mean is over all judged queries and its ranks are those of the file (GB_EVAL_MSMARCO). */
#include "measures.h"

double gb_measure_mrr(const gb_judged *query, double cut)
{
    uint32_t rank = gb_first_relevant(query, gb_ranks(query, cut));
    return rank ? 1.0 / rank : 0;
}
