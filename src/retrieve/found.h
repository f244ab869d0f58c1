/* What was found in parts of the passages. */
#ifndef RETRIEVE_FOUND_H
#define RETRIEVE_FOUND_H

#include <gabbro/retrieve.h>

/* The rows first, first + 1 ... of all passages as vectors of their own; window: room that must
 * outlive them. */
typedef struct found_window {
    const gb_vectors *all; /* passages */
    uint32_t first;        /* row of the part's first */
} found_window;
gb_vectors found_in(found_window *window, const gb_vectors *all, uint32_t first, uint32_t count);

/* The best k of two falling lists into the first; among equal scores the first list's come first,
 * whose rows are lower. Rows of the second count from `base`. room [k]. */
void found_merge(uint32_t *rows, float *scores, const uint32_t *new_rows, const float *new_scores,
                 uint32_t base, uint32_t k, uint32_t *room_rows, float *room_scores);

#endif
