/* Which kernel of attention a device runs, for both operations of attention. */
#ifndef OPS_ATTENTION_KERNEL_H
#define OPS_ATTENTION_KERNEL_H

#include "ops.h"

/* Three kernels make an output and its gradients; those with heads of keys that are shared (gqa)
 * are others. */
typedef enum attention_part {
    ATTENTION_FORWARD,
    ATTENTION_BACKWARD_Q,
    ATTENTION_BACKWARD_KV
} attention_part;

typedef struct attention_choice {
    const char *shader;  /* its name */
    uint32_t lanes;      /* of a workgroup */
    uint32_t rows;       /* own rows of a workgroup, at a time */
    bool by_lanes;       /* each lane has a row, as CPU drivers have it best; else tiles, on GPUs */
    uint32_t spec[7];    /* constants from id 4 on */
    uint32_t spec_count; /* of them */
} attention_choice;

/* Chooses by what the target is and the width of a head (numbers, a multiple of 4). */
attention_choice ops_attention_choose(const gb_target *target, attention_part part, bool gqa,
                                      uint32_t head_dim);
/* Start of the chosen kernel, with the two constants of the operation, ids 2 and 3. */
gb_kernel ops_attention_kernel(const attention_choice *choice, uint32_t head_dim, uint32_t second,
                               uint32_t third);

#endif
