/* Root-mean-square layer normalisation (Zhang and Sennrich, 2019), as T5 and LLaMA use it. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_GAMMA, IN_STATS, IN_DY, IN_RESIDUAL };
enum { OUT_Y, OUT_STATS };
enum { GRAD_DX, GRAD_GAMMA, GRAD_UNUSED };
enum { ATTR_EPS };

static bool emit_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      const gb_tensor_info *info, gb_tensor y, gb_tensor stats, bool backward,
                      gb_status *status)
{
    gb_kernel kernel = ops_kernel_of("rms_norm", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    ops_spec(&kernel, backward);
    ops_spec(&kernel, node->in[IN_RESIDUAL] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_GAMMA], GB_READ);
    ops_bind_tensor(&kernel, 2, stats, backward ? GB_READ : GB_WRITE);
    ops_bind_tensor(&kernel, 3, y, GB_WRITE);
    ops_bind_tensor(&kernel, 4, node->in[IN_DY], GB_READ);
    ops_bind_tensor(&kernel, 5, node->in[IN_RESIDUAL], GB_READ);
    gb_use_texels(&emitter->target, tape, &kernel, 0x33);
    push(&kernel, RMS_NORM_PUSH, .rows = info->rows, .cols = info->cols, .ld4 = info->ld / 4,
         .eps = gb_bits_float(node->attr[ATTR_EPS]));
    kernel.flops = (backward ? 9.0 : 5.0) * info->rows * info->cols;
    kernel.bytes = (backward ? 12.0 : 8.0) * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return emit_rows(emitter, tape, node, gb_tape_tensor(tape, node->in[IN_X]), node->out[OUT_Y],
                     node->out[OUT_STATS], false, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_X]);
    const double *gamma = gb_reference_f(ref, node->in[IN_GAMMA]);
    double eps = gb_bits_float(node->attr[ATTR_EPS]);
    for (size_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + r * info->ld;
        double *y = gb_reference_f(ref, node->out[OUT_Y]) + r * info->ld, mean = 0;
        double *stats = gb_reference_f(ref, node->out[OUT_STATS]) + r * 4;
        for (uint32_t c = 0; c < info->cols; c++)
            mean += x[c] * x[c] / info->cols;
        stats[0] = 0;
        stats[1] = 1 / sqrt(mean + eps);
        for (uint32_t c = 0; c < info->cols; c++)
            y[c] = x[c] * stats[1] * gamma[c];
    }
}

/* ---- gradients ---- */

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    gb_tensor dx = node->out[GRAD_DX];
    const gb_tensor in[] = {node->in[IN_X], node->in[IN_STATS], node->in[IN_DY]};
    /* The sums of a layer norm with mean 0; those of its other parameter are left aside. */
    return (dx == GB_NO_TENSOR ||
            emit_rows(emitter, tape, node, gb_tape_tensor(tape, node->in[IN_X]), dx,
                      node->in[IN_STATS], true, status)) &&
           (node->out[GRAD_GAMMA] == GB_NO_TENSOR ||
            ops_emit_norm_params(emitter, tape, "rms_norm_params", in, node->out[GRAD_GAMMA],
                                 node->out[GRAD_UNUSED], status));
}

static void reference_dx(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_X]);
    const double *gamma = gb_reference_f(ref, node->in[IN_GAMMA]);
    const double *residual = gb_reference_f(ref, node->in[IN_RESIDUAL]);
    for (size_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + r * info->ld;
        const double *dy = gb_reference_f(ref, node->in[IN_DY]) + r * info->ld;
        double inverse = gb_reference_f(ref, node->in[IN_STATS])[r * 4 + 1], mean = 0;
        double *dx = gb_reference_f(ref, node->out[GRAD_DX]) + r * info->ld;
        for (uint32_t c = 0; c < info->cols; c++)
            mean += dy[c] * gamma[c] * x[c] * inverse / info->cols;
        for (uint32_t c = 0; c < info->cols; c++)
            dx[c] = inverse * (dy[c] * gamma[c] - x[c] * inverse * mean) +
                    (residual ? residual[r * info->ld + c] : 0);
    }
}

static void reference_gamma(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_X]);
    uint32_t blocks = gb_tape_tensor(tape, node->out[GRAD_GAMMA])->rows;
    uint32_t rows_per_block = (info->rows + blocks - 1) / blocks;
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    const double *dy = gb_reference_f(ref, node->in[IN_DY]);
    const double *stats = gb_reference_f(ref, node->in[IN_STATS]);
    double *partial = gb_reference_f(ref, node->out[GRAD_GAMMA]);
    for (size_t i = 0; i < (size_t)blocks * info->ld; i++)
        partial[i] = 0;
    for (size_t r = 0; r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++)
            partial[r / rows_per_block * info->ld + c] +=
                dy[r * info->ld + c] * x[r * info->ld + c] * stats[r * 4 + 1];
}

static void reference_grad(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    if (node->out[GRAD_DX] != GB_NO_TENSOR)
        reference_dx(ref, tape, node);
    if (node->out[GRAD_GAMMA] != GB_NO_TENSOR)
        reference_gamma(ref, tape, node);
}

static const gb_op op_grad = {"rms_norm_grad", emit_grad, NULL, reference_grad};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    bool gamma = ops_wants_grad(tape, node->in[IN_GAMMA]), x = ops_wants_grad(tape, node->in[IN_X]);
    gb_tensor_info info = *gb_tape_tensor(tape, node->in[IN_X]);
    uint32_t blocks = ops_row_blocks(info.rows);
    gb_node grad = ops_node_of(&op_grad);
    grad.in[IN_X] = node->in[IN_X];
    grad.in[IN_GAMMA] = node->in[IN_GAMMA];
    grad.in[IN_STATS] = node->out[OUT_STATS];
    grad.in[IN_DY] = ops_grad_of(tape, node->out[OUT_Y]);
    if (x) {
        grad.in[IN_RESIDUAL] = ops_old_grad(tape, node->in[IN_X]);
        grad.out[GRAD_DX] = ops_temp_like(tape, "d norm", node->in[IN_X]);
    }
    if (gamma) {
        grad.out[GRAD_GAMMA] = gb_tape_temp(tape, "d gamma partials", GB_F32, blocks, info.cols);
        grad.out[GRAD_UNUSED] = gb_tape_temp(tape, "unused partials", GB_F32, blocks, info.cols);
    }
    gb_tape_append(tape, &grad);
    if (x)
        ops_set_grad(tape, node->in[IN_X], grad.out[GRAD_DX]);
    if (gamma) {
        bool accumulate;
        gb_tensor slot = ops_param_grad(tape, node->in[IN_GAMMA], &accumulate);
        ops_column_sum_into(tape, grad.out[GRAD_GAMMA], slot, accumulate);
    }
    return true;
}

static const gb_op op = {"rms_norm", emit, backward, reference};

gb_tensor gb_rms_norm(gb_tape *tape, gb_tensor x, gb_tensor gamma, float eps)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    if (gb_tape_tensor(tape, gamma)->cols != info.cols)
        gb_tape_fail(tape, "rms norm of %u columns with gamma of %u", info.cols,
                     gb_tape_tensor(tape, gamma)->cols);
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_GAMMA] = gamma;
    node.attr[ATTR_EPS] = gb_float_bits(eps);
    node.out[OUT_Y] = ops_temp_like(tape, "norm", x);
    node.out[OUT_STATS] = gb_tape_temp(tape, "norm stats", GB_F32, info.rows, 4);
    gb_tape_append(tape, &node);
    return node.out[OUT_Y];
}
