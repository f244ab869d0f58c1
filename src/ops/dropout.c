/* Dropout (Srivastava et al., 2014) by Philox: the mask is drawn again in the backward pass. */
#include "ops.h"

enum { IN_X, IN_SEQUENCES, IN_OTHER };
enum { ATTR_P, ATTR_SITE, ATTR_SELECTED };

/* Word of the sequences input that has the row of row 0 of x; 0: it is row 0. */
static uint32_t rows_at(const gb_tape *tape, const gb_node *node)
{
    return node->attr[ATTR_SELECTED] ? gb_tape_tensor(tape, node->in[IN_SEQUENCES])->cols -
                                           gb_tape_tensor(tape, node->in[IN_X])->rows
                                     : 0;
}

static uint32_t threshold_of(const gb_node *node)
{
    return ops_keep_threshold(gb_bits_float(node->attr[ATTR_P]));
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("dropout", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    ops_spec(&kernel, node->in[IN_OTHER] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_OTHER], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], GB_WRITE);
    push(&kernel, DROPOUT_PUSH, .count = count, .dropout_index = node->attr[ATTR_SITE],
         .threshold = threshold_of(node),
         .scale = 1.0f / (1.0f - gb_bits_float(node->attr[ATTR_P])), .ld4 = info->ld / 4,
         .rows_at = rows_at(tape, node));
    kernel.flops = (double)info->rows * info->cols;
    kernel.bytes = 8.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *words = gb_reference_u(ref, node->in[IN_SEQUENCES]);
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    const double *other = gb_reference_f(ref, node->in[IN_OTHER]);
    double *y = gb_reference_f(ref, node->out[0]);
    double scale = 1.0 / (1.0 - gb_bits_float(node->attr[ATTR_P]));
    uint32_t ld4 = info->ld / 4, listed = rows_at(tape, node);
    for (uint32_t at = 0; at < info->rows * ld4; at++) {
        uint32_t row = words[3] + (listed ? words[listed + at / ld4] : at / ld4);
        uint32_t counter[4] = {row * ld4 + at % ld4, words[2], node->attr[ATTR_SITE],
                               GB_RNG_DROPOUT},
                 bits[4];
        gb_philox(counter, words, bits);
        for (uint32_t i = 0; i < 4; i++) {
            size_t e = (size_t)at * 4 + i;
            y[e] = (bits[i] >= threshold_of(node) ? x[e] * scale : 0) + (other ? other[e] : 0);
        }
    }
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"dropout", emit, backward, reference};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_node grad = *node;
    grad.in[IN_X] = ops_grad_of(tape, node->out[0]);
    grad.in[IN_OTHER] = ops_old_grad(tape, node->in[IN_X]);
    grad.out[0] = ops_temp_like(tape, "d dropped", node->in[IN_X]);
    gb_tape_append(tape, &grad);
    ops_set_grad(tape, node->in[IN_X], grad.out[0]);
    return true;
}

gb_tensor gb_dropout(gb_tape *tape, gb_tensor x, float p, uint32_t dropout_index,
                     gb_tensor sequences, bool selected)
{
    if (p <= 0 || !gb_tape_ok(tape, NULL))
        return x;
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_SEQUENCES] = sequences;
    node.attr[ATTR_P] = gb_float_bits(p);
    node.attr[ATTR_SITE] = dropout_index;
    node.attr[ATTR_SELECTED] = selected;
    node.out[0] = ops_temp_like(tape, "dropped", x);
    gb_tape_append(tape, &node);
    return node.out[0];
}
