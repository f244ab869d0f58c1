/* y = alpha * a * scalar + beta * b, element by element: sums, differences and scalings. */
#include "ops.h"

enum { IN_A, IN_B, IN_SCALAR };
enum { ATTR_ALPHA, ATTR_BETA };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("axpby", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, node->in[IN_B] != GB_NO_TENSOR);
    ops_spec(&kernel, node->in[IN_SCALAR] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_A], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_B], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_SCALAR], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0],
                    GB_WRITE); /* may be b itself: each element is its own */
    push(&kernel, AXPBY_PUSH, .count = count, .alpha = gb_bits_float(node->attr[ATTR_ALPHA]),
         .beta = gb_bits_float(node->attr[ATTR_BETA]));
    kernel.flops = 2.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static gb_tensor append(gb_tape *tape, gb_tensor a, float alpha, gb_tensor b, float beta,
                        gb_tensor scalar);

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    gb_tensor dy = ops_grad_of(tape, node->out[0]);
    const gb_tensor_info *info = gb_tape_tensor(tape, dy);
    float factors[2] = {gb_bits_float(node->attr[ATTR_ALPHA]),
                        gb_bits_float(node->attr[ATTR_BETA])};
    for (int i = 0; i < 2; i++) {
        gb_tensor x = node->in[i];
        if (!ops_wants_grad(tape, x))
            continue;
        gb_tensor scalar = i == 0 ? node->in[IN_SCALAR] : GB_NO_TENSOR;
        if (scalar != GB_NO_TENSOR && ops_wants_grad(tape, scalar))
            return gb_fail(status, GB_INTERNAL, "axpby", NULL, "the scalar takes no gradient");
        gb_tensor dx;
        if (info->is_constant && scalar == GB_NO_TENSOR)
            dx = gb_tape_constant(tape, info->constant * factors[i]);
        else if (info->is_constant) /* [1,1] like the scalar, and not stored */
            dx = append(tape, scalar, (float)info->constant * factors[i], GB_NO_TENSOR, 0,
                        GB_NO_TENSOR);
        else if (factors[i] == 1.0f && scalar == GB_NO_TENSOR)
            dx = dy;
        else
            dx = append(tape, dy, factors[i], GB_NO_TENSOR, 0, scalar);
        info = gb_tape_tensor(tape, dy);
        ops_add_grad(tape, x, dx);
    }
    return true;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *a = gb_reference_f(ref, node->in[IN_A]), *b = gb_reference_f(ref, node->in[IN_B]);
    const double *scalar = gb_reference_f(ref, node->in[IN_SCALAR]);
    double *y = gb_reference_f(ref, node->out[0]);
    double alpha = gb_bits_float(node->attr[ATTR_ALPHA]),
           beta = gb_bits_float(node->attr[ATTR_BETA]);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        y[i] = alpha * (scalar ? scalar[0] : 1) * a[i] + (b ? beta * b[i] : 0);
}

static const gb_op op = {"axpby", emit, backward, reference};

static gb_tensor append(gb_tape *tape, gb_tensor a, float alpha, gb_tensor b, float beta,
                        gb_tensor scalar)
{
    if (a == GB_NO_TENSOR)
        return GB_NO_TENSOR;
    if (b != GB_NO_TENSOR) {
        gb_tensor_info ia = *gb_tape_tensor(tape, a), ib = *gb_tape_tensor(tape, b);
        if (ia.rows != ib.rows || ia.cols != ib.cols)
            gb_tape_fail(tape, "sum of %s [%u,%u] and %s [%u,%u]", ia.name, ia.rows, ia.cols,
                         ib.name, ib.rows, ib.cols);
        if (ia.is_constant && ib.is_constant)
            return gb_tape_constant(tape, alpha * ia.constant + beta * ib.constant);
        if (ia.is_constant || ib.is_constant)
            gb_tape_fail(tape, "sum of a constant and %s", ia.is_constant ? ib.name : ia.name);
    }
    gb_node node = ops_node_of(&op);
    node.in[IN_A] = a;
    node.in[IN_B] = b;
    node.in[IN_SCALAR] = scalar;
    node.attr[ATTR_ALPHA] = gb_float_bits(alpha);
    node.attr[ATTR_BETA] = gb_float_bits(beta);
    node.out[0] = ops_temp_like(tape, b == GB_NO_TENSOR ? "scaled" : "sum", a);
    gb_tape_append(tape, &node);
    return node.out[0];
}

void ops_scale_into(gb_tape *tape, gb_tensor x, gb_tensor g, gb_tensor out, bool accumulate)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    const gb_tensor_info *info = gb_tape_tensor(tape, g);
    gb_node node = ops_node_of(&op);
    node.in[IN_A] = x;
    node.in[IN_B] = accumulate ? out : GB_NO_TENSOR;
    node.in[IN_SCALAR] = info->is_constant ? GB_NO_TENSOR : g;
    node.attr[ATTR_ALPHA] = gb_float_bits(info->is_constant ? (float)info->constant : 1.0f);
    node.attr[ATTR_BETA] = gb_float_bits(1.0f);
    node.out[0] = out;
    gb_tape_append(tape, &node);
}

gb_tensor gb_scale(gb_tape *tape, gb_tensor x, float alpha)
{
    return append(tape, x, alpha, GB_NO_TENSOR, 0, GB_NO_TENSOR);
}

gb_tensor gb_add(gb_tape *tape, gb_tensor a, gb_tensor b)
{
    return append(tape, a, 1, b, 1, GB_NO_TENSOR);
}

gb_tensor gb_scale_by(gb_tape *tape, gb_tensor x, gb_tensor scalar)
{
    return append(tape, x, 1, GB_NO_TENSOR, 0, scalar);
}
