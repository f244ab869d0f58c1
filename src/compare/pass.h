/* One step of a training as a program of its own, for those who look at its tensors. */
#ifndef COMPARE_PASS_H
#define COMPARE_PASS_H

#include <gabbro/trainer.h>

typedef struct pass {
    gb_executable *exec; /* forward and gradient, over the state it was made with */
    gb_tensor loss;      /* total */
} pass;

/* Draws the batch of `step` and builds its program. `all`: every tensor is kept and copied back.
 * Zero or made, compare_pass_free takes both; it comes before the end of the state. */
bool compare_pass_make(pass *p, gb_state *state, const gb_training *training, uint32_t step,
                       bool all, gb_status *status);
void compare_pass_free(pass *p);

#endif
