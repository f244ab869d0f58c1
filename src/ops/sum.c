/* Sum of all elements of a short list (losses of rows) to a scalar. */
#include "ops.h"

#include <math.h>

bool ops_emit_sum(gb_emitter *emitter, const gb_tape *tape, gb_tensor x, gb_tensor out, bool root,
                  const char *label, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, x);
    if (!ops_check_iterations(&emitter->target, info->rows * (info->cols + 1ull), "sum", status))
        return false;
    gb_kernel kernel = ops_kernel_of("sum", label);
    ops_spec(&kernel, 1);
    ops_spec(&kernel, root);
    ops_bind_tensor(&kernel, 0, x, GB_READ);
    ops_bind_tensor(&kernel, 1, out, GB_WRITE);
    push(&kernel, SUM_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld, .alpha = 1);
    kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = 1;
    kernel.flops = (double)info->rows * info->cols;
    kernel.bytes = 4.0 * info->rows * info->ld;
    return gb_emit(emitter, &kernel, status);
}

double ops_reference_sum(gb_reference *ref, const gb_tape *tape, gb_tensor x)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, x);
    const double *values = gb_reference_f(ref, x);
    double sum = 0;
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++)
            sum += values[(size_t)r * info->ld + c];
    return sum;
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return ops_emit_sum(emitter, tape, node->in[0], node->out[0], true, NULL, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    *gb_reference_f(ref, node->out[0]) = sqrt(ops_reference_sum(ref, tape, node->in[0]));
}

/* The gradient of a sum is spread by the loss operations themselves, which know their rows. */
static const gb_op op = {"sum", emit, NULL, reference};

gb_tensor gb_sqrt_of_sum(gb_tape *tape, gb_tensor x)
{
    if (x == GB_NO_TENSOR)
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[0] = x;
    node.out[0] = gb_tape_temp(tape, "root", GB_F32, 1, 1);
    gb_tape_append(tape, &node);
    return node.out[0];
}
