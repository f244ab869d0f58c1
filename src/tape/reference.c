/* The float64 interpreter: every tensor has its own array, nothing is shared, nothing is fast. */
#include "tape.h"

#include <stdlib.h>

struct gb_reference {
    const gb_tape *tape; /* not owned */
    void **data;         /* per tensor: double* or uint32_t*, NULL for views, params ... */
    double *arenas[GB_ARENA_COUNT]; /* parameters, gradients, moments */
};

gb_reference *gb_reference_create(const gb_tape *tape, gb_status *status)
{
    gb_reference *reference = gb_alloc(1, sizeof *reference, status);
    if (!reference)
        return NULL;
    reference->tape = tape;
    bool ok = (reference->data = gb_alloc(tape->tensor_count, sizeof(void *), status)) != NULL;
    for (uint32_t t = 0; ok && t < tape->tensor_count; t++) {
        const gb_tensor_info *info = &tape->tensors[t];
        if (info->role != GB_ROLE_TEMP && info->role != GB_ROLE_OUTPUT &&
            info->role != GB_ROLE_INPUT)
            continue;
        size_t size = info->type == GB_F32 ? sizeof(double) : sizeof(uint32_t);
        reference->data[t] = gb_alloc((size_t)info->rows * info->ld, size, status);
        ok = reference->data[t] != NULL;
        if (ok && info->is_constant)
            ((double *)reference->data[t])[0] = info->constant;
    }
    for (int a = 0; ok && a < GB_ARENA_COUNT; a++) {
        uint64_t floats = tape->params ? gb_params_arena_floats(tape->params, (gb_arena_id)a) : 0;
        ok = (reference->arenas[a] = gb_alloc(floats, sizeof(double), status)) != NULL;
    }
    if (!ok) {
        gb_reference_destroy(reference);
        return NULL;
    }
    return reference;
}

void gb_reference_destroy(gb_reference *reference)
{
    if (!reference)
        return;
    for (uint32_t t = 0; reference->data && t < reference->tape->tensor_count; t++)
        free(reference->data[t]);
    free(reference->data);
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        free(reference->arenas[a]);
    free(reference);
}

double *gb_reference_arena(gb_reference *reference, gb_arena_id arena)
{
    return reference->arenas[arena];
}

double *gb_reference_f(gb_reference *reference, gb_tensor tensor)
{
    if (tensor == GB_NO_TENSOR)
        return NULL;
    const gb_tape *tape = reference->tape;
    uint32_t row0;
    gb_tensor root = gb_tape_root(tape, tensor, &row0);
    const gb_tensor_info *info = &tape->tensors[root];
    double *base = reference->data[root];
    if (info->role == GB_ROLE_PARAM || info->role == GB_ROLE_GRAD)
        base = reference->arenas[info->role == GB_ROLE_PARAM ? GB_ARENA_PARAMS : GB_ARENA_GRADS] +
               gb_params_at(tape->params, info->param)->offset;
    else if (info->role == GB_ROLE_STATE)
        base = reference->arenas[info->arena] + info->offset / 4;
    return base + (size_t)row0 * info->ld;
}

uint32_t *gb_reference_u(gb_reference *reference, gb_tensor tensor)
{
    uint32_t row0;
    gb_tensor root = gb_tape_root(reference->tape, tensor, &row0);
    return (uint32_t *)reference->data[root] + (size_t)row0 * reference->tape->tensors[root].ld;
}

void gb_reference_run_nodes(gb_reference *reference, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n++) {
        const gb_node *node = &reference->tape->nodes[n];
        node->op->reference(reference, reference->tape, node);
    }
}

void gb_reference_run(gb_reference *reference)
{
    gb_reference_run_nodes(reference, 0, reference->tape->node_count);
}
