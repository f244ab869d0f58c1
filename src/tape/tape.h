/* Inside of a tape, for the files of this module. */
#ifndef TAPE_TAPE_H
#define TAPE_TAPE_H

#include <gabbro/tape.h>

/* A range of nodes. */
typedef struct tape_layer {
    uint32_t first, end; /* nodes [first, end) */
} tape_layer;

/* Who fills some of the inputs. */
typedef struct tape_filler {
    gb_fill fill;       /* how */
    const void *record; /* from what, in tape->records */
} tape_filler;

struct gb_tape {
    char name[64];            /* for messages */
    const gb_params *params;  /* of the model; not owned */
    gb_tensor_info *tensors;  /* all tensors */
    uint32_t tensor_count;    /* how many */
    size_t tensor_capacity;   /* allocated */
    gb_node *nodes;           /* the program in order */
    uint32_t node_count;      /* how many */
    size_t node_capacity;     /* allocated */
    gb_tensor *of_param;      /* tensor of each parameter, or GB_NO_TENSOR */
    gb_tensor *grad_of_param; /* gradient slot of each parameter, or GB_NO_TENSOR */
    tape_layer *layers;       /* computed again for their gradient, in order */
    size_t layer_count;       /* how many */
    size_t layer_capacity;    /* allocated */
    tape_filler *fillers;     /* of inputs, in the order they were registered */
    size_t filler_count;      /* how many */
    size_t filler_capacity;   /* allocated */
    gb_arena *records;        /* what they fill from; NULL until there is one */
    gb_status failure;        /* first failure while building */
};

/* Bytes of a tensor's rows. */
static inline uint64_t tape_tensor_bytes(const gb_tensor_info *info)
{
    return (uint64_t)info->rows * info->ld * 4;
}

/* Where the bytes of a tensor lie. */
typedef enum tensor_space {
    SPACE_TEMP,
    SPACE_INPUT,
    SPACE_ARENA0 /* + gb_arena_id */
} tensor_space;
typedef struct tensor_place {
    int space;      /* tensor_space */
    uint64_t start; /* first byte */
    uint64_t bytes; /* extent; 0: nowhere */
} tensor_place;
tensor_place tape_place_of(const gb_tape *tape, gb_tensor tensor);

#endif
