/* Search by several ranks. Stands on search and ranks. */
#ifndef GABBRO_SEARCH_RANKS_H
#define GABBRO_SEARCH_RANKS_H

#include <gabbro/ranks.h>
#include <gabbro/search.h>

/* As gb_search_pieces of one process, to the bit: every rank reads and searches its part of the
 * passages, then all of them get the best of all. piece 0: each part in one piece. resume: of this
 * rank alone, or NULL. ranks NULL: alone. Beyond the results a rank needs 64 MiB for the exchange.
 */
bool gb_search_ranks(gb_ranks *ranks, gb_device *device, const gb_vectors *queries,
                     const gb_vectors *passages, const gb_search_params *params, uint32_t piece,
                     const char *resume, uint32_t *rows, float *scores, gb_status *status);

#endif
