/* Activations of feed-forward layers: alone, or times a second half of the columns (Shazeer, 2020).
 */
#include "matmul.h"

#include <math.h>

enum { IN_X, IN_DY };
enum { ATTR_ACT, ATTR_GATED };

static bool emit_act(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                     const gb_tensor_info *info, gb_status *status)
{
    gb_kernel kernel = ops_kernel_of("gate", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, node->attr[ATTR_ACT]);
    ops_spec(&kernel, node->attr[ATTR_GATED]);
    ops_spec(&kernel, node->in[IN_DY] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_DY], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 3);
    push(&kernel, GATE_PUSH, .count = count, .ld4 = info->ld / 4);
    kernel.flops = 12.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return emit_act(emitter, tape, node, gb_tape_tensor(tape, node->out[0]), status);
}

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    return emit_act(emitter, tape, node, gb_tape_tensor(tape, node->in[IN_DY]), status);
}

/* The activation at v, and its derivative. */
static double act(uint32_t kind, double v, double *slope)
{
    double inner = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v), t = tanh(inner);
    double s = 1 / (1 + exp(-v));
    switch ((gb_act)kind) {
    case GB_ACT_GELU:
        *slope = ops_gelu_grad(v);
        return ops_gelu(v);
    case GB_ACT_GELU_TANH:
        *slope =
            0.5 * (1 + t) + 0.5 * v * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * v * v);
        return 0.5 * v * (1 + t);
    case GB_ACT_SILU:
        *slope = s + v * s * (1 - s);
        return v * s;
    default:
        *slope = v > 0;
        return fmax(v, 0);
    }
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    bool gated = node->attr[ATTR_GATED], gradient = node->in[IN_DY] != GB_NO_TENSOR;
    const gb_tensor_info *wide = gb_tape_tensor(tape, node->in[IN_X]);
    const gb_tensor_info *out = gb_tape_tensor(tape, node->out[0]);
    const gb_tensor_info *info = gradient ? gb_tape_tensor(tape, node->in[IN_DY]) : out;
    for (size_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + r * wide->ld;
        double *y = gb_reference_f(ref, node->out[0]) + r * out->ld;
        for (uint32_t c = 0; c < info->cols; c++) {
            double slope, a = act(node->attr[ATTR_ACT], x[c], &slope);
            double up = gated ? x[info->cols + c] : 1;
            if (!gradient) {
                y[c] = a * up;
                continue;
            }
            double dy = gb_reference_f(ref, node->in[IN_DY])[r * info->ld + c];
            y[c] = dy * up * slope;
            if (gated)
                y[info->cols + c] = dy * a;
        }
    }
}

static const gb_op op_gradient = {"d gate", emit_grad, NULL, reference};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    if (!ops_wants_grad(tape, node->in[IN_X]))
        return true;
    gb_node gradient = *node;
    gradient.op = &op_gradient;
    gradient.in[IN_DY] = ops_grad_of(tape, node->out[0]);
    gradient.out[0] = ops_temp_like(tape, "d gate", node->in[IN_X]);
    gb_tape_append(tape, &gradient);
    ops_add_grad(tape, node->in[IN_X], gradient.out[0]);
    return true;
}

static const gb_op op = {"gate", emit, backward, reference};

gb_tensor gb_gate(gb_tape *tape, gb_tensor x, gb_act kind, bool gated)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    if (gated && info.cols % 8)
        gb_tape_fail(tape, "gate over %u columns, which must be a multiple of 8", info.cols);
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.attr[ATTR_ACT] = kind;
    node.attr[ATTR_GATED] = gated;
    node.out[0] = gb_tape_temp(tape, "gated", GB_F32, info.rows, gated ? info.cols / 2 : info.cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}
