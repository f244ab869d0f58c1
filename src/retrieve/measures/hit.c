/* Hit@k: 1 when at least one relevant passage is among the first k. Its mean is the share of such
 * queries; MS MARCO papers call it R@k. trec_eval's name is success; recall.c is something else. */
#include "measures.h"

double gb_measure_hit(const gb_judged *query, double cut)
{
    return gb_first_relevant(query, gb_ranks(query, cut)) != 0;
}
