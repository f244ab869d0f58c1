/* From nodes to kernels, and the barriers between them. */
#include "tape.h"

#include <stdlib.h>

tensor_place tape_place_of(const gb_tape *tape, gb_tensor tensor)
{
    tensor_place place = {0};
    if (tensor == GB_NO_TENSOR)
        return place;
    const gb_tensor_info *info = &tape->tensors[tensor];
    uint32_t row0 = 0;
    const gb_tensor_info *root = &tape->tensors[gb_tape_root(tape, tensor, &row0)];
    place.bytes = tape_tensor_bytes(info);
    place.start = (uint64_t)row0 * root->ld * 4;
    switch (root->role) {
    case GB_ROLE_PARAM:
        place.space = SPACE_ARENA0 + GB_ARENA_PARAMS;
        place.start += gb_params_at(tape->params, root->param)->offset * 4;
        break;
    case GB_ROLE_GRAD:
        place.space = SPACE_ARENA0 + GB_ARENA_GRADS;
        place.start += gb_params_at(tape->params, root->param)->offset * 4;
        break;
    case GB_ROLE_STATE:
        place.space = SPACE_ARENA0 + (int)root->arena;
        place.start += root->offset;
        break;
    case GB_ROLE_INPUT:
        place.space = SPACE_INPUT;
        place.start += root->offset;
        break;
    default:
        place.space = SPACE_TEMP;
        place.start += root->offset;
        if (!root->placed)
            place.bytes = 0;
    }
    return place;
}

bool gb_emit(gb_emitter *emitter, const gb_kernel *kernel, gb_status *status)
{
    if (!kernel->grid[0] || !kernel->grid[1] || !kernel->grid[2])
        return true; /* nothing to do */
    if (kernel->spec_count > GB_KERNEL_SPECS)
        return gb_fail(status, GB_INTERNAL, kernel->shader, NULL, "%u specialization constants",
                       kernel->spec_count);
    if (!gb_grow(&emitter->kernels, &emitter->capacity, emitter->count + 1,
                 sizeof *emitter->kernels, status))
        return false;
    gb_kernel *added = &emitter->kernels[emitter->count++];
    *added = *kernel;
    added->node = emitter->node;
    if (!added->label)
        added->label = added->shader;
    return true;
}

void gb_use_texels(const gb_target *target, const gb_tape *tape, gb_kernel *kernel, uint32_t mask)
{
    uint32_t bound = 0;
    for (uint32_t i = 0; i < GB_KERNEL_BINDINGS; i++) {
        uint64_t bytes = mask >> i & 1 ? tape_place_of(tape, kernel->bind[i]).bytes : 0;
        if (bytes > target->max_texel_bytes)
            return;
        bound |= (uint32_t)(bytes > 0) << i;
    }
    kernel->texels = bound;
}

void gb_grid(const gb_target *target, uint32_t n, uint32_t grid[3])
{
    grid[0] = n;
    grid[1] = grid[2] = 1;
    if (n > target->max_groups) {
        /* Rows of a thousand groups or more, as many of them as a grid has, for a long dispatch is
         * cut between them. */
        enum { ROWS = 65535, WIDTH = 1024 };
        uint32_t least = (uint32_t)(((uint64_t)n + ROWS - 1) / ROWS);
        uint32_t width = least > WIDTH ? least : WIDTH;
        width = width < target->max_groups ? width : target->max_groups;
        grid[1] = (n + width - 1) / width;
        grid[0] = (n + grid[1] - 1) / grid[1];
    }
}

static bool overlap(const tensor_place *a, const tensor_place *b)
{
    return a->space == b->space && a->start < b->start + b->bytes && b->start < a->start + a->bytes;
}

/* Whether two kernels may not run at the same time. */
static bool conflict(const gb_tape *tape, const gb_kernel *a, const gb_kernel *b)
{
    for (int i = 0; i < GB_KERNEL_BINDINGS; i++) {
        tensor_place pa = tape_place_of(tape, a->bind[i]);
        if (!pa.bytes)
            continue;
        for (int j = 0; j < GB_KERNEL_BINDINGS; j++) {
            if (!((a->access[i] | b->access[j]) & GB_WRITE))
                continue;
            tensor_place pb = tape_place_of(tape, b->bind[j]);
            if (pb.bytes && overlap(&pa, &pb))
                return true;
        }
    }
    return false;
}

static void set_barriers(gb_emitter *emitter, const gb_tape *tape, bool full)
{
    size_t first = 0; /* first kernel since the last barrier */
    for (size_t k = 0; k < emitter->count; k++) {
        bool needed = full && k > 0;
        for (size_t earlier = first; earlier < k && !needed; earlier++)
            needed = conflict(tape, &emitter->kernels[earlier], &emitter->kernels[k]);
        emitter->kernels[k].barrier = needed;
        if (needed)
            first = k;
    }
}

bool gb_emit_tape(gb_emitter *emitter, const gb_tape *tape, bool full, gb_status *status)
{
    emitter->count = 0;
    for (uint32_t n = 0; n < tape->node_count; n++) {
        const gb_node *node = &tape->nodes[n];
        emitter->node = n;
        if (!node->op->emit(emitter, tape, node, status))
            return false;
    }
    set_barriers(emitter, tape, full);
    return true;
}
