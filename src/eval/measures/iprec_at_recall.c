/* iprec_at_recall: highest precision at any rank from which on recall is at least the level.
 * The level in passages is rounded to the nearest integer (trec_eval 10; older versions add 0.9 and
 * cut). */
#include <math.h>

#include "measures.h"

double eval_iprec_at_recall(const gb_judged *query, double level)
{
    long wanted = lround(level * query->relevant);
    uint32_t found = eval_relevant_in(query, query->retrieved);
    if (found == 0 || wanted > (long)found)
        return 0;
    double best = 0;
    for (uint32_t i = query->retrieved; i > 0; i--) { /* found: relevant ones in the first i */
        double precision = (double)found / i;
        if (precision > best)
            best = precision;
        if (query->grades[i - 1] >= query->level && (long)found-- == wanted)
            break;
    }
    return best;
}
