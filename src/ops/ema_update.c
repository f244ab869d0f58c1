/* Parameters that a program changes itself instead of training them: copies that follow others with
 * a momentum, and tables whose rows are replaced. */
#include "ops.h"

enum { IN_SOURCE, IN_MOMENTUM, IN_TARGET };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("ema_update", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_bind_tensor(&kernel, 0, node->in[IN_SOURCE], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_MOMENTUM], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_READ_WRITE);
    push(&kernel, MOMENTUM_PUSH, .count = count);
    kernel.flops = 3.0 * info->rows * info->cols;
    kernel.bytes = 12.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *source = gb_reference_f(ref, node->in[IN_SOURCE]);
    double m = *gb_reference_f(ref, node->in[IN_MOMENTUM]);
    double *target = gb_reference_f(ref, node->out[0]);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        target[i] = m * target[i] + (1 - m) * source[i];
}

static const gb_op op = {"ema_update", emit, NULL, reference};

void gb_ema_update(gb_tape *tape, gb_tensor target, gb_tensor source, gb_tensor momentum)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    const gb_tensor_info *t = gb_tape_tensor(tape, target), *s = gb_tape_tensor(tape, source);
    if (t->needs_grad || t->rows != s->rows || t->cols != s->cols)
        gb_tape_fail(tape, "%s [%u,%u] cannot follow %s [%u,%u]", t->name, t->rows, t->cols,
                     s->name, s->rows, s->cols);
    gb_node node = ops_node_of(&op);
    node.in[IN_SOURCE] = source;
    node.in[IN_MOMENTUM] = momentum;
    node.in[IN_TARGET] = target;
    node.out[0] = target;
    gb_tape_append(tape, &node);
}
