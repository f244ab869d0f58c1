/* Rotary positions (Su et al., 2021), in LLaMA's order: the two numbers that are turned together
 * lie half a head apart. */
#include "ops.h"

#include <math.h>

enum { IN_X, IN_TURNS };
enum { ATTR_HEAD, ATTR_COLS, ATTR_BACK };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("rotary", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    ops_spec(&kernel, node->attr[ATTR_HEAD] / 4);
    ops_spec(&kernel, node->attr[ATTR_BACK]);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_TURNS], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, ROTARY_PUSH, .rows = info->rows, .ld4 = info->ld / 4,
         .turned4 = node->attr[ATTR_COLS] / 4);
    kernel.flops = 3.0 * info->rows * node->attr[ATTR_COLS];
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    uint32_t head = node->attr[ATTR_HEAD], half = head / 2;
    for (size_t r = 0; r < info->rows; r++) {
        const double *x = gb_reference_f(ref, node->in[IN_X]) + r * info->ld;
        const double *angles = gb_reference_f(ref, node->in[IN_TURNS]) + r * head;
        double *y = gb_reference_f(ref, node->out[0]) + r * info->ld;
        for (uint32_t c = 0; c < info->cols; c++)
            y[c] = x[c];
        for (uint32_t h = 0; h < node->attr[ATTR_COLS]; h += head)
            for (uint32_t c = 0; c < half; c++) {
                double cosine = angles[c],
                       sine = angles[half + c] * (node->attr[ATTR_BACK] ? -1 : 1);
                y[h + c] = x[h + c] * cosine - x[h + half + c] * sine;
                y[h + half + c] = x[h + half + c] * cosine + x[h + c] * sine;
            }
    }
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"rotary", emit, backward, reference},
                   op_gradient = {"d rotary", emit, NULL, reference};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    if (!ops_wants_grad(tape, node->in[IN_X]))
        return true;
    gb_node gradient = *node;
    gradient.op = &op_gradient;
    gradient.in[IN_X] = ops_grad_of(tape, node->out[0]);
    gradient.attr[ATTR_BACK] = 1;
    gradient.out[0] = ops_temp_like(tape, "d rotary", node->out[0]);
    gb_tape_append(tape, &gradient);
    ops_add_grad(tape, node->in[IN_X], gradient.out[0]);
    return true;
}

gb_tensor gb_rotary(gb_tape *tape, gb_tensor x, gb_tensor angles, uint32_t head_dim, uint32_t cols)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    const gb_tensor_info *xi = gb_tape_tensor(tape, x), *ti = gb_tape_tensor(tape, angles);
    if (!head_dim || head_dim % 8 || cols % head_dim || cols > xi->cols || ti->cols != head_dim ||
        ti->rows != xi->rows) {
        gb_tape_fail(tape, "rotary positions of heads of %u in %u of [%u,%u], by [%u,%u]", head_dim,
                     cols, xi->rows, xi->cols, ti->rows, ti->cols);
        return GB_NO_TENSOR;
    }
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_TURNS] = angles;
    node.attr[ATTR_HEAD] = head_dim;
    node.attr[ATTR_COLS] = cols;
    node.out[0] = ops_temp_like(tape, "rotary", x);
    gb_tape_append(tape, &node);
    return node.out[0];
}

void gb_rotary_fill(double theta, uint32_t head_dim, uint32_t position, float *angles)
{
    for (uint32_t c = 0; c < head_dim / 2; c++) {
        double angle = position * pow(theta, -2.0 * c / head_dim);
        angles[c] = (float)cos(angle);
        angles[head_dim / 2 + c] = (float)sin(angle);
    }
}
