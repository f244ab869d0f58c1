/* Differentiate a program: walk it once from the loss to the parameters. */
#include "ops.h"

bool gb_backward(gb_tape *tape, gb_tensor loss, gb_status *status)
{
    if (!gb_tape_ok(tape, status))
        return false;
    const gb_tensor_info *info = gb_tape_tensor(tape, loss);
    if (info->rows != 1 || info->cols != 1)
        return gb_fail(status, GB_INTERNAL, info->name, NULL, "the loss is not a scalar");
    return gb_backward_from(tape, loss, gb_tape_constant(tape, 1.0), status);
}

bool gb_backward_from(gb_tape *tape, gb_tensor tensor, gb_tensor gradient, gb_status *status)
{
    if (!gb_tape_ok(tape, status))
        return false;
    set_grad(tape, tensor, gradient);
    for (uint32_t n = gb_tape_node_count(tape); n-- > 0;) {
        const gb_node node = *gb_tape_node_at(tape, n); /* a copy: the list grows below */
        bool reached = false;
        for (int i = 0; i < GB_NODE_OUT; i++)
            reached |= grad_of(tape, node.out[i]) != GB_NO_TENSOR;
        if (reached && node.op->backward && !node.op->backward(tape, &node, status))
            return false;
    }
    return gb_tape_ok(tape, status);
}
