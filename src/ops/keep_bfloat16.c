/* Activations kept for the gradient as bfloat16: two operations around the time between. */
#include "ops.h"

enum { IN_X };
enum { ATTR_RESTORE };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    bool restore = node->attr[ATTR_RESTORE];
    gb_tensor floats = restore ? node->out[0] : node->in[IN_X];
    gb_tensor kept = restore ? node->in[IN_X] : node->out[0];
    const gb_tensor_info *info = gb_tape_tensor(tape, floats);
    gb_kernel kernel = ops_kernel_of("keep_bfloat16", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, restore);
    ops_bind_tensor(&kernel, 0, floats, restore ? GB_WRITE : GB_READ);
    ops_bind_tensor(&kernel, 1, kept, restore ? GB_READ : GB_WRITE);
    push(&kernel, KEEP_BFLOAT16_PUSH, .count = count);
    kernel.bytes = 6.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void keep(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    uint32_t *kept = gb_reference_u(ref, node->out[0]);
    for (size_t i = 0; i < 2 * (size_t)info->rows * info->ld; i += 2) {
        uint32_t pair[2];
        for (int k = 0; k < 2; k++) {
            uint32_t bits = gb_float_bits((float)x[i + k]);
            pair[k] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        }
        kept[i / 2] = pair[1] << 16 | pair[0];
    }
}

static void restore(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *kept = gb_reference_u(ref, node->in[IN_X]);
    double *y = gb_reference_f(ref, node->out[0]);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        y[i] = gb_bits_float(i % 2 ? kept[i / 2] & 0xffff0000u : kept[i / 2] << 16);
}

void gb_keep_bfloat16(gb_tape *tape, uint32_t first)
{
    static const gb_op op_keep = {"keep as bfloat16", emit, NULL, keep},
                       op_restore = {"restore from bfloat16", emit, NULL, restore};
    gb_node to = ops_node_of(&op_keep), from = ops_node_of(&op_restore);
    from.attr[ATTR_RESTORE] = true;
    gb_tape_keep_between(tape, first, &to, &from);
}
