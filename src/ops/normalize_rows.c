/* Rows divided by their length, for cosine similarities. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_DY };

/* Shorter rows are divided by it instead, as torch's cosine_similarity does. */
#define EPS 1e-8f

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("normalize_rows", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    ops_spec(&kernel, node->in[IN_DY] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_DY], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, NORMALIZE_ROWS_PUSH, .rows = info->rows, .cols = info->cols, .ld4 = info->ld / 4,
         .eps = EPS);
    kernel.flops = 5.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    bool gradient = node->in[IN_DY] != GB_NO_TENSOR;
    for (size_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + r * info->ld;
        const double *dy = gradient ? gb_reference_f(ref, node->in[IN_DY]) + r * info->ld : NULL;
        double *y = gb_reference_f(ref, node->out[0]) + r * info->ld, square = 0, dot = 0;
        for (uint32_t c = 0; c < info->cols; c++) {
            square += x[c] * x[c];
            dot += gradient ? x[c] * dy[c] : 0;
        }
        double length = fmax(sqrt(square), (double)EPS);
        double along = sqrt(square) > (double)EPS ? dot / (length * length) : 0;
        for (uint32_t c = 0; c < info->cols; c++)
            y[c] = (gradient ? dy[c] - along * x[c] : x[c]) / length;
    }
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"normalize_rows", emit, backward, reference},
                   op_gradient = {"d normalize_rows", emit, NULL, reference};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    if (!ops_wants_grad(tape, node->in[IN_X]))
        return true;
    gb_node gradient = ops_node_of(&op_gradient);
    gradient.in[IN_X] = node->in[IN_X];
    gradient.in[IN_DY] = ops_grad_of(tape, node->out[0]);
    gradient.out[0] = ops_temp_like(tape, "d normalized", node->out[0]);
    gb_tape_append(tape, &gradient);
    ops_add_grad(tape, node->in[IN_X], gradient.out[0]);
    return true;
}

gb_tensor gb_normalize_rows(gb_tape *tape, gb_tensor x)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.out[0] = ops_temp_like(tape, "normalized", x);
    gb_tape_append(tape, &node);
    return node.out[0];
}
