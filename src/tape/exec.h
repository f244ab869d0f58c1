/* Inside of the Vulkan executor. */
#ifndef TAPE_EXEC_H
#define TAPE_EXEC_H

#include "tape.h"

struct gb_state {
    gb_device *device;                 /* not owned */
    const gb_params *params;           /* not owned */
    gb_buffer *arenas[GB_ARENA_COUNT]; /* only parameters when not training */
    gb_program *clear[GB_ARENA_COUNT]; /* sets an arena to zeros; made when first asked for */
    gb_buffer **activations;           /* and scratch: of whichever program runs; may be NULL */
    uint32_t activation_count;         /* of these buffers */
    uint64_t buffer_bytes;             /* of each but the last */
    uint64_t activation_bytes;         /* of all */
    gb_program *poison;                /* sets them to NaN, for tests; else NULL */
    gb_executable *execs;              /* programs that use them, linked by their `next` */
};

/* Makes the activations so large, in as many buffers as the device's limits ask for; nothing may
 * refer to those that are there. After a failure there are none. */
bool tape_grow_activations(gb_state *state, uint64_t bytes, gb_status *status);

#endif
