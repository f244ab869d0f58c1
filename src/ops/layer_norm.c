/* Layer normalisation (Ba et al., 2016), as BERT uses it: biased variance, eps inside the root. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_GAMMA, IN_BETA };
enum { OUT_Y, OUT_STATS };
enum { ATTR_EPS };

/* The kernels of CPU drivers (common/norm_cpu.glsl) are unrolled over a row: not for very wide
 * ones. */
#define CPU_LANES       8
#define WIDEST_UNROLLED 1024
#define CPU_ROWS        16 /* of a workgroup of the forward pass */

/* Start of a kernel: specs 0, 1 and the grid, by row or, on a CPU, by group of rows. */
static void start(gb_kernel *kernel, const gb_target *target, const gb_tape *tape,
                  const gb_tensor_info *info, uint32_t texels, uint32_t cpu_groups)
{
    if (info->cols <= WIDEST_UNROLLED && !(target->avoid & GB_QUIRK_NO_SHUFFLE_NORM))
        gb_use_texels(target, tape, kernel, texels);
    if (!kernel->texels) {
        ops_row_kernel(kernel, target, info->rows);
        return;
    }
    ops_spec(kernel, CPU_LANES);
    ops_spec(kernel, (info->ld / 4 + CPU_LANES - 1) / CPU_LANES);
    gb_grid(target, cpu_groups, kernel->grid);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[OUT_Y]);
    gb_kernel kernel = ops_kernel_of("layernorm_forward", NULL);
    for (int i = IN_X; i <= IN_BETA; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[OUT_Y], GB_WRITE);
    ops_bind_tensor(&kernel, 4, node->out[OUT_STATS], GB_WRITE);
    start(&kernel, &emitter->target, tape, info, 7, (info->rows + CPU_ROWS - 1) / CPU_ROWS);
    push(&kernel, LAYERNORM_FORWARD_PUSH, .rows = info->rows, .cols = info->cols,
         .ld4 = info->ld / 4, .eps = gb_bits_float(node->attr[ATTR_EPS]),
         .rows_per_group = CPU_ROWS);
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

/* ---- gradients ---- */

enum { GRAD_X, GRAD_GAMMA, GRAD_STATS, GRAD_DY, GRAD_RESIDUAL };
enum { GRAD_OUT_DX, GRAD_OUT_GAMMA, GRAD_OUT_BETA }; /* either half may be unwanted */

/* dx, and on a CPU the partial sums of dgamma and dbeta in the same pass (*both). */
static bool emit_dx(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, bool *both,
                    gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[GRAD_OUT_DX]);
    gb_tensor dgamma = node->out[GRAD_OUT_GAMMA];
    uint32_t blocks = dgamma == GB_NO_TENSOR ? 0 : gb_tape_tensor(tape, dgamma)->rows;
    gb_kernel kernel = ops_kernel_of("layernorm_backward", NULL);
    for (int i = GRAD_X; i <= GRAD_DY; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[GRAD_OUT_DX], GB_WRITE);
    ops_bind_tensor(&kernel, 5, node->in[GRAD_RESIDUAL], GB_READ);
    start(&kernel, &emitter->target, tape, info, blocks ? 0x2f : 0, blocks);
    *both = kernel.texels != 0;
    ops_spec(&kernel, node->in[GRAD_RESIDUAL] != GB_NO_TENSOR);
    if (*both) {
        ops_bind_tensor(&kernel, 6, dgamma, GB_WRITE);
        ops_bind_tensor(&kernel, 7, node->out[GRAD_OUT_BETA], GB_WRITE);
    }
    push(&kernel, LAYERNORM_BACKWARD_PUSH, .rows = info->rows, .cols = info->cols,
         .ld4 = info->ld / 4, .blocks = blocks,
         .rows_per_block = blocks ? (info->rows + blocks - 1) / blocks : 0);
    kernel.flops = (*both ? 19.0 : 14.0) * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

bool ops_emit_norm_params(gb_emitter *emitter, const gb_tape *tape, const char *label,
                          const gb_tensor in[3], gb_tensor dgamma, gb_tensor dbeta,
                          gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, in[0]);
    uint32_t lanes = ops_lanes(&emitter->target), ld4 = info->ld / 4;
    uint32_t blocks = gb_tape_tensor(tape, dgamma)->rows;
    uint32_t column_groups = (ld4 + lanes - 1) / lanes;
    gb_kernel kernel = ops_kernel_of("layernorm_params", label);
    ops_spec(&kernel, lanes);
    for (int i = 0; i < 3; i++)
        ops_bind_tensor(&kernel, i, in[i], GB_READ);
    ops_bind_tensor(&kernel, 3, dgamma, GB_WRITE);
    ops_bind_tensor(&kernel, 4, dbeta, GB_WRITE);
    push(&kernel, LAYERNORM_PARAMS_PUSH, .rows = info->rows, .ld4 = ld4, .blocks = blocks,
         .rows_per_block = (info->rows + blocks - 1) / blocks, .column_groups = column_groups);
    gb_grid(&emitter->target, blocks * column_groups, kernel.grid);
    kernel.flops = 5.0 * info->rows * info->cols;
    kernel.bytes = 8.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    bool both = false;
    if (node->out[GRAD_OUT_DX] != GB_NO_TENSOR && !emit_dx(emitter, tape, node, &both, status))
        return false;
    const gb_tensor in[] = {node->in[GRAD_X], node->in[GRAD_STATS], node->in[GRAD_DY]};
    return both || node->out[GRAD_OUT_GAMMA] == GB_NO_TENSOR ||
           ops_emit_norm_params(emitter, tape, NULL, in, node->out[GRAD_OUT_GAMMA],
                                node->out[GRAD_OUT_BETA], status);
}

static void reference_dx(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[GRAD_OUT_DX]);
    const double *gamma = gb_reference_f(ref, node->in[GRAD_GAMMA]);
    const double *residual = gb_reference_f(ref, node->in[GRAD_RESIDUAL]);
    for (uint32_t r = 0; r < info->rows; r++) {
        size_t at = (size_t)r * info->ld;
        const double *x = gb_reference_f(ref, node->in[GRAD_X]) + at;
        const double *dy = gb_reference_f(ref, node->in[GRAD_DY]) + at;
        const double *stats = gb_reference_f(ref, node->in[GRAD_STATS]) + (size_t)r * 4;
        double *dx = gb_reference_f(ref, node->out[GRAD_OUT_DX]) + at;
        double mean_g = 0, mean_gx = 0;
        for (uint32_t c = 0; c < info->cols; c++) {
            double g = dy[c] * gamma[c];
            mean_g += g / info->cols;
            mean_gx += g * (x[c] - stats[0]) * stats[1] / info->cols;
        }
        for (uint32_t c = 0; c < info->cols; c++)
            dx[c] =
                stats[1] * (dy[c] * gamma[c] - mean_g - (x[c] - stats[0]) * stats[1] * mean_gx) +
                (residual ? residual[at + c] : 0);
    }
}

static void reference_params(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[GRAD_X]);
    uint32_t blocks = gb_tape_tensor(tape, node->out[GRAD_OUT_GAMMA])->rows;
    uint32_t rows_per_block = (info->rows + blocks - 1) / blocks;
    const double *x = gb_reference_f(ref, node->in[GRAD_X]);
    const double *dy = gb_reference_f(ref, node->in[GRAD_DY]);
    const double *stats = gb_reference_f(ref, node->in[GRAD_STATS]);
    double *partial_gamma = gb_reference_f(ref, node->out[GRAD_OUT_GAMMA]);
    double *partial_beta = gb_reference_f(ref, node->out[GRAD_OUT_BETA]);
    for (uint32_t c = 0; c < info->cols; c++) {
        for (uint32_t b = 0; b < blocks; b++) {
            double dgamma = 0, dbeta = 0;
            for (uint32_t r = b * rows_per_block; r < info->rows && r < (b + 1) * rows_per_block;
                 r++) {
                size_t at = (size_t)r * info->ld + c;
                dgamma += dy[at] * (x[at] - stats[(size_t)r * 4]) * stats[(size_t)r * 4 + 1];
                dbeta += dy[at];
            }
            partial_gamma[(size_t)b * info->ld + c] = dgamma;
            partial_beta[(size_t)b * info->ld + c] = dbeta;
        }
    }
}

static void reference_grad(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    if (node->out[GRAD_OUT_DX] != GB_NO_TENSOR)
        reference_dx(ref, tape, node);
    if (node->out[GRAD_OUT_GAMMA] != GB_NO_TENSOR)
        reference_params(ref, tape, node);
}

static const gb_op op_grad = {"layer_norm_grad", emit_grad, NULL, reference_grad};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    bool params = ops_wants_grad(tape, node->in[IN_GAMMA]),
         x = ops_wants_grad(tape, node->in[IN_X]);
    gb_tensor_info info = *gb_tape_tensor(tape, node->in[IN_X]);
    uint32_t blocks = ops_row_blocks(info.rows);
    gb_node grad = ops_node_of(&op_grad);
    grad.in[GRAD_X] = node->in[IN_X];
    grad.in[GRAD_GAMMA] = node->in[IN_GAMMA];
    grad.in[GRAD_STATS] = node->out[OUT_STATS];
    grad.in[GRAD_DY] = ops_grad_of(tape, node->out[OUT_Y]);
    if (x) {
        grad.in[GRAD_RESIDUAL] = ops_old_grad(tape, node->in[IN_X]);
        grad.out[GRAD_OUT_DX] = ops_temp_like(tape, "d norm", node->in[IN_X]);
    }
    if (params) {
        grad.out[GRAD_OUT_GAMMA] =
            gb_tape_temp(tape, "d gamma partials", GB_F32, blocks, info.cols);
        grad.out[GRAD_OUT_BETA] = gb_tape_temp(tape, "d beta partials", GB_F32, blocks, info.cols);
    }
    gb_tape_append(tape, &grad);
    if (x)
        ops_set_grad(tape, node->in[IN_X], grad.out[GRAD_OUT_DX]);
    if (params) {
        bool accumulate;
        gb_tensor slot = ops_param_grad(tape, node->in[IN_GAMMA], &accumulate);
        ops_column_sum_into(tape, grad.out[GRAD_OUT_GAMMA], slot, accumulate);
        if (!ops_wants_grad(tape, node->in[IN_BETA])) /* zeros: a norm without a bias */
            return true;
        slot = ops_param_grad(tape, node->in[IN_BETA], &accumulate);
        ops_column_sum_into(tape, grad.out[GRAD_OUT_BETA], slot, accumulate);
    }
    return true;
}

static const gb_op op = {"layer_norm", emit, backward, reference};

gb_tensor gb_layer_norm(gb_tape *tape, gb_tensor x, gb_tensor gamma, gb_tensor beta, float eps)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    if (gb_tape_tensor(tape, gamma)->cols != info.cols ||
        gb_tape_tensor(tape, beta)->cols != info.cols)
        gb_tape_fail(tape, "layer norm of %u columns with gamma of %u", info.cols,
                     gb_tape_tensor(tape, gamma)->cols);
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_GAMMA] = gamma;
    node.in[IN_BETA] = beta;
    node.attr[ATTR_EPS] = gb_float_bits(eps);
    node.out[OUT_Y] = ops_temp_like(tape, "norm", x);
    node.out[OUT_STATS] = gb_tape_temp(tape, "norm stats", GB_F32, info.rows, 4);
    gb_tape_append(tape, &node);
    return node.out[OUT_Y];
}
