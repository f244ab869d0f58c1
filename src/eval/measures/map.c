/* Average precision: mean over ALL relevant passages of the precision at their rank, 0 for those
 * not retrieved. map_cut stops at a rank and keeps the denominator. */
#include "measures.h"

static double average_precision(const gb_judged *query, uint32_t ranks)
{
    double sum = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < ranks; i++)
        if (query->grades[i] >= query->level)
            sum += (double)++found / (i + 1);
    return query->relevant ? sum / query->relevant : 0;
}

double eval_map(const gb_judged *query, double parameter)
{
    (void)parameter;
    return average_precision(query, query->retrieved);
}

double eval_map_cut(const gb_judged *query, double cut)
{
    return average_precision(query, eval_ranks(query, cut));
}
