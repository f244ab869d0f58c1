/* A training step of a one-layer encoder with every operation in it: embeddings, attention with
 * dropout, a layer with GELU, a vocabulary loss over chunks, its gradients, and AdamW. */
#ifndef TESTS_TAPE_SMALL_PROGRAM_H
#define TESTS_TAPE_SMALL_PROGRAM_H

#include <gabbro/ops.h>

typedef struct small_program {
    gb_params *params; /* of the encoder */
    gb_tape *tape;     /* forward, and backward and AdamW when training */
    gb_tensor ids, positions, sequences, index, inverse, labels, weights, step; /* inputs */
    gb_row_index by_id, by_position;                                            /* inputs */
    gb_tensor loss, norm; /* outputs; norm only when training */
} small_program;

small_program small_program_make(bool training);
void small_program_free(small_program *p);
/* The inputs of one step, a function of `step` alone. */
void small_program_fill(const small_program *p, gb_executable *exec, uint32_t step);

#endif
