/* Gradient of the exact GELU (Hendrycks and Gimpel, 2016): dx = dy * (Phi(x) + x phi(x)). The
 * forward pass is an epilogue of the matrix product (matmul.c). */
#include "matmul.h"

#include <math.h>

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("gelu_backward", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_bind_tensor(&kernel, 0, node->in[0], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[1], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, GELU_BACKWARD_PUSH, .count = count);
    kernel.flops = 30.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

double ops_gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

double ops_gelu_grad(double x)
{
    return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *pre = gb_reference_f(ref, node->in[0]), *dy = gb_reference_f(ref, node->in[1]);
    double *dx = gb_reference_f(ref, node->out[0]);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        dx[i] = dy[i] * ops_gelu_grad(pre[i]);
}

static const gb_op op = {"gelu_backward", emit, NULL, reference};

gb_tensor ops_gelu_backward(gb_tape *tape, gb_tensor pre, gb_tensor dy)
{
    gb_node node = ops_node_of(&op);
    node.in[0] = pre;
    node.in[1] = dy;
    node.out[0] = ops_temp_like(tape, "d gelu", pre);
    gb_tape_append(tape, &node);
    return node.out[0];
}
