/* Hits in an order in which equal scores keep their places. */
#ifndef GABBRO_EVAL_PLACED_H
#define GABBRO_EVAL_PLACED_H

#include <gabbro/eval.h>

/* A hit, and where it is in a list, or in what several lists name together. */
typedef struct eval_placed {
    gb_hit hit;  /* passage and score */
    uint32_t at; /* its place */
} eval_placed;
/* Sorts them by their scores, the best first, and equal ones by their places (src/eval/run.c). */
void eval_placed_sort(eval_placed *placed, size_t count);

#endif
