/* Inside of the Vulkan executor. */
#ifndef TAPE_EXEC_H
#define TAPE_EXEC_H

#include "tape.h"

struct gb_state {
    gb_device *device;                 /* not owned */
    const gb_params *params;           /* not owned */
    gb_buffer *arenas[GB_ARENA_COUNT]; /* only parameters when not training */
    gb_program *clear[GB_ARENA_COUNT]; /* sets an arena to zeros; made when first asked for */
};

#endif
