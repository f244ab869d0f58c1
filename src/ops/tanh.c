/* The hyperbolic tangent of every element. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_DY };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("tanh", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, node->in[IN_DY] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_DY], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, TANH_PUSH, .count = count);
    kernel.flops = 10.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    const double *dy = gb_reference_f(ref, node->in[IN_DY]);
    double *y = gb_reference_f(ref, node->out[0]);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        y[i] = dy ? dy[i] * (1 - x[i] * x[i]) : tanh(x[i]);
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"tanh", emit, backward, reference},
                   op_gradient = {"d tanh", emit, NULL, reference};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    if (!ops_wants_grad(tape, node->in[IN_X]))
        return true;
    gb_node gradient = ops_node_of(&op_gradient);
    gradient.in[IN_X] = node->out[0];
    gradient.in[IN_DY] = ops_grad_of(tape, node->out[0]);
    gradient.out[0] = ops_temp_like(tape, "d tanh", node->out[0]);
    gb_tape_append(tape, &gradient);
    ops_add_grad(tape, node->in[IN_X], gradient.out[0]);
    return true;
}

gb_tensor gb_tanh(gb_tape *tape, gb_tensor x)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.out[0] = ops_temp_like(tape, "tanh", x);
    gb_tape_append(tape, &node);
    return node.out[0];
}
