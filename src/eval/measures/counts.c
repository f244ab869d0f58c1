/* num_q, num_ret, num_rel, num_rel_ret: what was counted, summed over the queries. */
#include "measures.h"

double eval_num_q(const gb_judged *query, double parameter)
{
    (void)query, (void)parameter;
    return 1;
}

double eval_num_ret(const gb_judged *query, double parameter)
{
    (void)parameter;
    return query->retrieved;
}

double eval_num_rel(const gb_judged *query, double parameter)
{
    (void)parameter;
    return query->relevant;
}

double eval_num_rel_ret(const gb_judged *query, double parameter)
{
    (void)parameter;
    return eval_relevant_in(query, query->retrieved);
}
