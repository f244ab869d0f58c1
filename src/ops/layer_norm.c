/* Layer normalisation (Ba et al., 2016), as BERT uses it: biased variance, eps inside the root. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_GAMMA, IN_BETA };
enum { OUT_Y, OUT_STATS };
enum { ATTR_EPS };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[OUT_Y]);
    gb_kernel kernel = kernel_of("layernorm_forward", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    for (int i = IN_X; i <= IN_BETA; i++)
        bind(&kernel, i, node->in[i], GB_READ);
    bind(&kernel, 3, node->out[OUT_Y], GB_WRITE);
    bind(&kernel, 4, node->out[OUT_STATS], GB_WRITE);
    push_u32(&kernel, info->rows);
    push_u32(&kernel, info->cols);
    push_u32(&kernel, info->ld / 4);
    kernel.push[kernel.push_count++] = node->attr[ATTR_EPS];
    kernel.flops = 8.0 * info->rows * info->cols;
    kernel.bytes = 8.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[OUT_Y]);
    const double *gamma = gb_reference_f(ref, node->in[IN_GAMMA]);
    const double *beta = gb_reference_f(ref, node->in[IN_BETA]);
    double eps = gb_bits_float(node->attr[ATTR_EPS]);
    for (uint32_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + (size_t)r * info->ld;
        double *y = gb_reference_f(ref, node->out[OUT_Y]) + (size_t)r * info->ld;
        double *stats = gb_reference_f(ref, node->out[OUT_STATS]) + (size_t)r * 4;
        double mean = 0, variance = 0;
        for (uint32_t c = 0; c < info->cols; c++)
            mean += x[c] / info->cols;
        for (uint32_t c = 0; c < info->cols; c++)
            variance += (x[c] - mean) * (x[c] - mean) / info->cols;
        stats[0] = mean;
        stats[1] = 1 / sqrt(variance + eps);
        for (uint32_t c = 0; c < info->cols; c++)
            y[c] = (x[c] - mean) * stats[1] * gamma[c] + beta[c];
    }
}

/* ---- gradient of x ---- */

enum { DX_X, DX_GAMMA, DX_STATS, DX_DY, DX_RESIDUAL };

static bool emit_dx(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = kernel_of("layernorm_backward", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    spec(&kernel, node->in[DX_RESIDUAL] != GB_NO_TENSOR);
    for (int i = DX_X; i <= DX_DY; i++)
        bind(&kernel, i, node->in[i], GB_READ);
    bind(&kernel, 4, node->out[0], GB_WRITE);
    bind(&kernel, 5, node->in[DX_RESIDUAL], GB_READ);
    push_u32(&kernel, info->rows);
    push_u32(&kernel, info->cols);
    push_u32(&kernel, info->ld / 4);
    kernel.flops = 14.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_dx(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *gamma = gb_reference_f(ref, node->in[DX_GAMMA]);
    const double *residual = gb_reference_f(ref, node->in[DX_RESIDUAL]);
    for (uint32_t r = 0; r < info->rows; r++) {
        size_t at = (size_t)r * info->ld;
        const double *x = gb_reference_f(ref, node->in[DX_X]) + at;
        const double *dy = gb_reference_f(ref, node->in[DX_DY]) + at;
        const double *stats = gb_reference_f(ref, node->in[DX_STATS]) + (size_t)r * 4;
        double *dx = gb_reference_f(ref, node->out[0]) + at;
        double mean_g = 0, mean_gx = 0;
        for (uint32_t c = 0; c < info->cols; c++) {
            double g = dy[c] * gamma[c];
            mean_g += g / info->cols;
            mean_gx += g * (x[c] - stats[0]) * stats[1] / info->cols;
        }
        for (uint32_t c = 0; c < info->cols; c++)
            dx[c] = stats[1] * (dy[c] * gamma[c] - mean_g - (x[c] - stats[0]) * stats[1] * mean_gx) +
                    (residual ? residual[at + c] : 0);
    }
}

static const gb_op op_dx = {"layer_norm_dx", emit_dx, NULL, reference_dx};

/* ---- gradients of gamma and beta ---- */

enum { PARAMS_X, PARAMS_STATS, PARAMS_DY };

static bool emit_params(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                        gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[PARAMS_X]);
    uint32_t lanes = ops_lanes(&emitter->target), ld4 = info->ld / 4;
    uint32_t blocks = gb_tape_tensor(tape, node->out[0])->rows;
    uint32_t column_groups = (ld4 + lanes - 1) / lanes;
    gb_kernel kernel = kernel_of("layernorm_params", NULL);
    spec(&kernel, lanes);
    for (int i = PARAMS_X; i <= PARAMS_DY; i++)
        bind(&kernel, i, node->in[i], GB_READ);
    bind(&kernel, 3, node->out[0], GB_WRITE);
    bind(&kernel, 4, node->out[1], GB_WRITE);
    push_u32(&kernel, info->rows);
    push_u32(&kernel, ld4);
    push_u32(&kernel, blocks);
    push_u32(&kernel, (info->rows + blocks - 1) / blocks);
    push_u32(&kernel, column_groups);
    gb_grid(&emitter->target, blocks * column_groups, kernel.grid);
    kernel.flops = 5.0 * info->rows * info->cols;
    kernel.bytes = 8.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_params(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[PARAMS_X]);
    uint32_t blocks = gb_tape_tensor(tape, node->out[0])->rows;
    uint32_t rows_per_block = (info->rows + blocks - 1) / blocks;
    const double *x = gb_reference_f(ref, node->in[PARAMS_X]);
    const double *dy = gb_reference_f(ref, node->in[PARAMS_DY]);
    const double *stats = gb_reference_f(ref, node->in[PARAMS_STATS]);
    double *partial_gamma = gb_reference_f(ref, node->out[0]);
    double *partial_beta = gb_reference_f(ref, node->out[1]);
    for (uint32_t c = 0; c < info->cols; c++) {
        for (uint32_t b = 0; b < blocks; b++) {
            double dgamma = 0, dbeta = 0;
            for (uint32_t r = b * rows_per_block; r < info->rows && r < (b + 1) * rows_per_block; r++) {
                size_t at = (size_t)r * info->ld + c;
                dgamma += dy[at] * (x[at] - stats[(size_t)r * 4]) * stats[(size_t)r * 4 + 1];
                dbeta += dy[at];
            }
            partial_gamma[(size_t)b * info->ld + c] = dgamma;
            partial_beta[(size_t)b * info->ld + c] = dbeta;
        }
    }
}

static const gb_op op_params = {"layer_norm_params", emit_params, NULL, reference_params};

static void params_gradient(gb_tape *tape, const gb_node *node, gb_tensor dy)
{
    gb_tensor_info info = *gb_tape_tensor(tape, node->in[IN_X]);
    uint32_t blocks = ops_row_blocks(info.rows);
    gb_node sums = node_of(&op_params);
    sums.in[PARAMS_X] = node->in[IN_X];
    sums.in[PARAMS_STATS] = node->out[OUT_STATS];
    sums.in[PARAMS_DY] = dy;
    sums.out[0] = gb_tape_temp(tape, "d gamma partials", GB_F32, blocks, info.cols);
    sums.out[1] = gb_tape_temp(tape, "d beta partials", GB_F32, blocks, info.cols);
    gb_tape_append(tape, &sums);
    bool accumulate;
    gb_tensor slot = param_grad(tape, node->in[IN_GAMMA], &accumulate);
    ops_column_sum_into(tape, sums.out[0], slot, accumulate);
    slot = param_grad(tape, node->in[IN_BETA], &accumulate);
    ops_column_sum_into(tape, sums.out[1], slot, accumulate);
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor dy = grad_of(tape, node->out[OUT_Y]);
    if (wants_grad(tape, node->in[IN_GAMMA]))
        params_gradient(tape, node, dy);
    if (wants_grad(tape, node->in[IN_X])) {
        gb_node dx = node_of(&op_dx);
        dx.in[DX_X] = node->in[IN_X];
        dx.in[DX_GAMMA] = node->in[IN_GAMMA];
        dx.in[DX_STATS] = node->out[OUT_STATS];
        dx.in[DX_DY] = dy;
        dx.in[DX_RESIDUAL] = old_grad(tape, node->in[IN_X]);
        dx.out[0] = ops_temp_like(tape, "d norm", node->in[IN_X]);
        gb_tape_append(tape, &dx);
        set_grad(tape, node->in[IN_X], dx.out[0]);
    }
    return true;
}

static const gb_op op = {"layer_norm", emit, backward, reference};

gb_tensor gb_layer_norm(gb_tape *tape, gb_tensor x, gb_tensor gamma, gb_tensor beta, float eps)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    if (gb_tape_tensor(tape, gamma)->cols != info.cols || gb_tape_tensor(tape, beta)->cols != info.cols)
        gb_tape_fail(tape, "layer norm of %u columns with gamma of %u", info.cols,
                     gb_tape_tensor(tape, gamma)->cols);
    gb_node node = node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_GAMMA] = gamma;
    node.in[IN_BETA] = beta;
    node.attr[ATTR_EPS] = gb_float_bits(eps);
    node.out[OUT_Y] = ops_temp_like(tape, "norm", x);
    node.out[OUT_STATS] = gb_tape_temp(tape, "norm stats", GB_F32, info.rows, 4);
    gb_tape_append(tape, &node);
    return node.out[OUT_Y];
}
