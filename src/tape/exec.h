/* Inside of the Vulkan executor. */
#ifndef TAPE_EXEC_H
#define TAPE_EXEC_H

#include "tape.h"

/* A part of an arena that is a buffer of its own, from the start of a parameter. */
typedef struct arena_piece {
    uint64_t start, bytes; /* in the arena */
    gb_buffer *buffer;     /* that it is */
} arena_piece;

struct gb_state {
    gb_device *device;                    /* not owned */
    const gb_params *params;              /* not owned */
    arena_piece *arenas[GB_ARENA_COUNT];  /* only parameters when not training */
    uint32_t piece_count[GB_ARENA_COUNT]; /* of each; one where the device's limits allow it */
    gb_program *clear[GB_ARENA_COUNT];    /* sets an arena to zeros; made when first asked for */
    gb_buffer **activations;              /* and scratch: of whichever program runs; may be NULL */
    uint32_t activation_count;            /* of these buffers */
    uint64_t buffer_bytes;                /* of each but the last */
    uint64_t activation_bytes;            /* of all */
    gb_program *poison;                   /* sets them to NaN, for tests; else NULL */
    gb_executable *execs;                 /* programs that use them, linked by their `next` */
};

/* The piece in which a place of an arena is. */
const arena_piece *tape_piece_at(const gb_state *state, gb_arena_id arena, uint64_t start);

/* Makes the activations so large, in as many buffers as the device's limits ask for; nothing may
 * refer to those that are there. After a failure there are none. */
bool tape_grow_activations(gb_state *state, uint64_t bytes, gb_status *status);

#endif
