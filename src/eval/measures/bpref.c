/* bpref (Buckley and Voorhees, SIGIR 2004): for each relevant passage, one minus the share of the
 * first R judged non-relevant passages that stand above it; unjudged passages do not count.
 * R is also capped by the number of judged non-relevant ones, as trec_eval does. */
#include "measures.h"

double eval_bpref(const gb_judged *query, double parameter)
{
    (void)parameter;
    uint32_t relevant = query->relevant, nonrelevant = query->judged - relevant;
    uint32_t bound = nonrelevant < relevant ? nonrelevant : relevant;
    uint32_t above = 0; /* judged non-relevant passages so far */
    double sum = 0;
    for (uint32_t i = 0; i < query->retrieved; i++) {
        if (query->grades[i] == GB_UNJUDGED)
            continue;
        if (query->grades[i] < query->level)
            above++;
        else
            sum += above ? 1 - (double)(above < relevant ? above : relevant) / bound : 1;
    }
    return relevant ? sum / relevant : 0;
}
