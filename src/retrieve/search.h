/* Exact search: what its files share. Private to the module. */
#ifndef RETRIEVE_SEARCH_H
#define RETRIEVE_SEARCH_H

#include <gabbro/retrieve.h>

#include <math.h>

/* gb_search of one process in one piece: params' piece, resume and ranks are not looked at. */
bool retrieve_search_whole(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                           const gb_search_params *params, const gb_found *found,
                           gb_status *status);
/* gb_search of one process: in pieces where params says so. */
bool retrieve_search_pieces(gb_device *device, const gb_vectors *queries,
                            const gb_vectors *passages, const gb_search_params *params,
                            const gb_found *found, gb_status *status);

/* The rows first, first + 1 ... of all passages as vectors of their own; window: memory that must
 * outlive them. */
typedef struct search_window {
    const gb_vectors *all; /* passages */
    uint32_t first;        /* row of the part's first */
} search_window;
gb_vectors retrieve_search_part(search_window *window, const gb_vectors *all, uint32_t first,
                                uint32_t count);

/* What was found for the queries from one on. */
static inline gb_found retrieve_search_from(const gb_found *found, size_t query, uint32_t k)
{
    return (gb_found){found->rows + query * k, found->scores + query * k};
}
/* Whether score a ranks above b; NaN is below every number. */
static inline bool retrieve_search_better(float a, float b)
{
    return !isnan(a) && (isnan(b) || a > b);
}
/* The best k of two falling lists into the first; among equal scores the first list's come first,
 * whose rows are lower. Rows of the second count from `base`. scratch [k]. */
void retrieve_search_merge(const gb_found *found, const gb_found *other, uint32_t base, uint32_t k,
                           const gb_found *scratch);

/* The best of what all ranks found, each in its own part of `passages` in all, into found on every
 * rank: k results of each query. */
bool retrieve_search_exchange(gb_ranks *ranks, uint32_t passages, uint32_t k, uint32_t queries,
                              const gb_found *found, gb_status *status);

/* What a search by inverted lists has in memory at most, unless one text needs more. */
typedef struct token_lists_limits {
    uint64_t part_bytes; /* of the vectors of passages; 0: 1 GiB */
    uint64_t products;   /* of a block of queries with these; 0: 2^24 */
} token_lists_limits;
/* Scores of all queries and passages of token vectors with tags, by inverted lists: each(query)
 * gets the passages in ascending order, in one piece or several. The bits are those of
 * gb_token_score. */
bool retrieve_token_lists_search(gb_device *device, const gb_token_vectors *queries,
                                 const gb_token_vectors *passages, token_lists_limits limits,
                                 gb_token_score_fn *each, void *context, gb_status *status);

/* Copies rows [first, first + count) of vectors to where they lie `ld` floats apart. */
bool retrieve_copy_rows(const gb_vectors *from, uint32_t first, uint32_t count, uint32_t ld,
                        float *to, gb_status *status);

#endif
