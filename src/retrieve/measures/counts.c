/* num_q, num_ret, num_rel, num_rel_ret: what was counted, summed over the queries. */
#include "measures.h"

double gb_measure_num_q(const gb_judged *query, double parameter)
{
    (void)query, (void)parameter;
    return 1;
}

double gb_measure_num_ret(const gb_judged *query, double parameter)
{
    (void)parameter;
    return query->retrieved;
}

double gb_measure_num_rel(const gb_judged *query, double parameter)
{
    (void)parameter;
    return query->relevant;
}

double gb_measure_num_rel_ret(const gb_judged *query, double parameter)
{
    (void)parameter;
    return gb_relevant_in(query, query->retrieved);
}
