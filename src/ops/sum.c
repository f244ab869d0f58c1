/* Sum of all elements of a short list (losses of rows) to a scalar. */
#include "ops.h"

#include <math.h>

enum { ATTR_ROOT };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[0]);
    gb_kernel kernel = kernel_of("sum", NULL);
    spec(&kernel, 1);
    spec(&kernel, node->attr[ATTR_ROOT]);
    bind(&kernel, 0, node->in[0], GB_READ);
    bind(&kernel, 1, node->out[0], GB_WRITE);
    push_u32(&kernel, info->rows);
    push_u32(&kernel, info->cols);
    push_u32(&kernel, info->ld);
    push_f32(&kernel, 1.0f);
    kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = 1;
    kernel.flops = (double)info->rows * info->cols;
    kernel.bytes = 4.0 * info->rows * info->ld;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[0]);
    const double *x = gb_reference_f(ref, node->in[0]);
    double sum = 0;
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++)
            sum += x[(size_t)r * info->ld + c];
    *gb_reference_f(ref, node->out[0]) = node->attr[ATTR_ROOT] ? sqrt(sum) : sum;
}

/* The gradient of a sum is spread by the loss operations themselves, which know their rows. */
static const gb_op op = {"sum", emit, NULL, reference};

static gb_tensor append(gb_tape *tape, gb_tensor x, bool root)
{
    if (x == GB_NO_TENSOR)
        return GB_NO_TENSOR;
    gb_node node = node_of(&op);
    node.in[0] = x;
    node.out[0] = gb_tape_temp(tape, root ? "root" : "total", GB_F32, 1, 1);
    node.attr[ATTR_ROOT] = root;
    gb_tape_append(tape, &node);
    return node.out[0];
}

gb_tensor gb_sum(gb_tape *tape, gb_tensor x)
{
    return append(tape, x, false);
}

gb_tensor gb_root_of_sum(gb_tape *tape, gb_tensor x)
{
    return append(tape, x, true);
}
