/* One step of a training as a program of its own, for those who look at its tensors. */
#ifndef COMPARE_PASS_H
#define COMPARE_PASS_H

#include <gabbro/nn.h>

typedef struct pass {
    gb_tape *tape;  /* forward and gradient */
    void *graph;    /* inputs */
    gb_tensor loss; /* total */
} pass;

/* Draws the batch of `step` and builds its program. `all`: every tensor is kept and copied back.
 * Zero or filled, pass_free takes both. */
bool pass_make(pass *p, const gb_training *training, uint32_t step, bool all, gb_status *status);
void pass_free(pass *p);

#endif
