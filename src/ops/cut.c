/* A tensor cut in two, such as weights that are stored together. The parts are copies, since a part
 * need not begin where a kernel can bind it. */
#include "ops.h"

enum { IN_PART0, IN_PART1, IN_OLD }; /* of the gradient; x itself forward */

/* Copies `count4` vec4s. */
static bool emit_copy(gb_emitter *emitter, const gb_tape *tape, gb_tensor part, gb_tensor x,
                      uint32_t from4, gb_tensor y, uint32_t to4, bool accumulate, gb_status *status)
{
    gb_kernel kernel = ops_kernel_of("copy_part", NULL);
    const gb_tensor_info *info = gb_tape_tensor(tape, part);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, accumulate);
    ops_bind_tensor(&kernel, 0, x, GB_READ);
    ops_bind_tensor(&kernel, 1, y, accumulate ? GB_READ_WRITE : GB_WRITE);
    push(&kernel, COPY_PART_PUSH, .count = count, .from4 = from4, .to4 = to4);
    kernel.bytes = (accumulate ? 12.0 : 8.0) * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static uint32_t size_of(const gb_tape *tape, gb_tensor tensor)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, tensor);
    return info->rows * info->ld;
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    uint32_t from4 = size_of(tape, node->out[0]) / 4;
    return emit_copy(emitter, tape, node->out[0], node->in[0], 0, node->out[0], 0, false, status) &&
           emit_copy(emitter, tape, node->out[1], node->in[0], from4, node->out[1], 0, false,
                     status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const double *x = gb_reference_f(ref, node->in[0]);
    for (int part = 0; part < 2; part++) {
        double *y = gb_reference_f(ref, node->out[part]);
        for (uint32_t i = 0; i < size_of(tape, node->out[part]); i++)
            y[i] = *x++;
    }
}

/* ---- gradient: the parts put together again ---- */

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    gb_tensor a = node->in[IN_PART0], b = node->in[IN_PART1];
    bool accumulate = node->in[IN_OLD] != GB_NO_TENSOR;
    return emit_copy(emitter, tape, a, a, 0, node->out[0], 0, accumulate, status) &&
           emit_copy(emitter, tape, b, b, 0, node->out[0], size_of(tape, a) / 4, accumulate,
                     status);
}

static void reference_grad(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    double *dx = gb_reference_f(ref, node->out[0]);
    for (int part = IN_PART0; part <= IN_PART1; part++) {
        const double *dy = gb_reference_f(ref, node->in[part]);
        for (uint32_t i = 0; i < size_of(tape, node->in[part]); i++, dx++)
            *dx = dy[i] + (node->in[IN_OLD] != GB_NO_TENSOR ? *dx : 0);
    }
}

static const gb_op op_grad = {"cut_grad", emit_grad, NULL, reference_grad};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    gb_tensor x = node->in[0];
    gb_node grad = ops_node_of(&op_grad);
    if (!ops_wants_grad(tape, x))
        return true;
    for (int part = 0; part < 2; part++) {
        grad.in[part] = ops_grad_of(tape, node->out[part]);
        if (grad.in[part] == GB_NO_TENSOR)
            return gb_fail(status, GB_INTERNAL, "cut", NULL, "a part has no gradient");
    }
    bool accumulate = false, param = gb_tape_tensor(tape, x)->role == GB_ROLE_PARAM;
    grad.out[0] = param ? ops_param_grad(tape, x, &accumulate) : ops_temp_like(tape, "d cut", x);
    grad.in[IN_OLD] = accumulate ? grad.out[0] : GB_NO_TENSOR;
    gb_tape_append(tape, &grad);
    if (!param)
        ops_add_grad(tape, x, grad.out[0]);
    return true;
}

static const gb_op op = {"cut", emit, backward, reference};

void gb_cut(gb_tape *tape, gb_tensor x, uint32_t first, gb_tensor parts[2])
{
    parts[0] = parts[1] = GB_NO_TENSOR;
    if (!gb_tape_ok(tape, NULL))
        return;
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    bool columns = info.rows == 1;
    uint32_t whole = columns ? info.cols : info.rows;
    if (first > whole || (columns && (first % 4 || whole % 4))) {
        gb_tape_fail(tape, "%s [%u,%u] cannot be cut at %u", info.name, info.rows, info.cols,
                     first);
        return;
    }
    gb_node node = ops_node_of(&op);
    node.in[0] = x;
    for (int part = 0; part < 2; part++) {
        uint32_t size = part ? whole - first : first;
        node.out[part] = parts[part] =
            gb_tape_temp(tape, info.name, GB_F32, columns ? 1 : size, columns ? size : info.cols);
    }
    gb_tape_append(tape, &node);
}
