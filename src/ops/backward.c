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

static bool is_reached(const gb_tape *tape, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n++)
        for (int i = 0; i < GB_NODE_OUT; i++)
            if (ops_grad_of(tape, gb_tape_node_at(tape, n)->out[i]) != GB_NO_TENSOR)
                return true;
    return false;
}

/* Gradients of nodes [first, end), the last first. */
static bool walk(gb_tape *tape, uint32_t first, uint32_t end, gb_status *status)
{
    for (uint32_t n = end; n-- > first;) {
        const gb_node node = *gb_tape_node_at(tape, n); /* a copy: the list grows below */
        if (is_reached(tape, n, n + 1) && node.op->backward &&
            !node.op->backward(tape, &node, status))
            return false;
    }
    return true;
}

bool gb_backward_from(gb_tape *tape, gb_tensor tensor, gb_tensor gradient, gb_status *status)
{
    if (!gb_tape_ok(tape, status))
        return false;
    ops_set_grad(tape, tensor, gradient);
    for (uint32_t end = gb_tape_node_count(tape); end > 0;) {
        uint32_t first = gb_tape_layer_before(tape, end), copy = gb_tape_node_count(tape);
        if (first == UINT32_MAX) {
            first = end - 1;
            if (!walk(tape, first, end, status))
                return false;
        } else if (is_reached(tape, first, end)) {
            gb_tape_repeat(tape, first, end);
            if (!gb_tape_ok(tape, status) || !walk(tape, copy, copy + end - first, status))
                return false;
        }
        end = first;
    }
    return gb_tape_ok(tape, status);
}

void gb_initial_gradient(gb_tape *tape, gb_tensor tensor, gb_tensor gradient)
{
    if (gb_tape_ok(tape, NULL))
        ops_set_grad(tape, tensor, gradient);
}

void gb_add_to_gradients(gb_tape *tape)
{
    uint32_t count = gb_tape_tensor_count(tape);
    for (gb_tensor t = 0; t < (gb_tensor)count && gb_tape_ok(tape, NULL); t++) {
        gb_tensor_info info = *gb_tape_tensor(tape, t);
        if (info.role != GB_ROLE_PARAM || !info.needs_grad)
            continue;
        gb_tensor slot = gb_tape_grad_arena(tape, info.param);
        gb_tape_info(tape, t)->grad = slot;
    }
}
