/* Softmax cross-entropy of rows of logits against a uniform target over a set of columns, loss and
 * gradient in one pass: Bag-of-Word prediction, and contrastive losses with several positives. The
 * sum over rows and the vocabulary's chunks are softmax_loss.c's. */
#include "ops.h"

#include <math.h>

enum { IN_LOGITS, IN_TARGETS, IN_WEIGHTS, IN_EXCLUDE };
enum { OUT_LOSS, OUT_GRADIENT };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_LOGITS]);
    gb_kernel kernel = kernel_of("softmax_set", NULL);
    ops_long_row_kernel(&kernel, &emitter->target, info->rows, 3ull * info->cols);
    spec(&kernel, node->in[IN_EXCLUDE] != GB_NO_TENSOR);
    bind(&kernel, 0, node->in[IN_LOGITS], GB_READ_WRITE);
    bind(&kernel, 1, node->in[IN_TARGETS], GB_READ);
    bind(&kernel, 2, node->in[IN_WEIGHTS], GB_READ);
    bind(&kernel, 3, node->in[IN_EXCLUDE], GB_READ);
    bind(&kernel, 4, node->out[OUT_LOSS], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push_u32(&kernel, info->rows);
    push_u32(&kernel, info->cols);
    push_u32(&kernel, info->ld);
    push_u32(&kernel, gb_tape_tensor(tape, node->in[IN_TARGETS])->ld);
    push_u32(&kernel, gb_tape_tensor(tape, node->in[IN_WEIGHTS])->ld);
    push_u32(&kernel, gb_tape_tensor(tape, node->out[OUT_LOSS])->ld);
    kernel.flops = 8.0 * info->rows * info->cols;
    kernel.bytes = 16.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static bool bit(const uint32_t *row, uint32_t c)
{
    return row && (row[c / 32] >> (c % 32) & 1);
}

static void reference_row(double *row, uint32_t cols, const uint32_t *targets,
                          const uint32_t *exclude, double weight, double *loss)
{
    double top = -INFINITY, sum = 0, wanted = 0, number = 0;
    for (uint32_t c = 0; c < cols; c++)
        if (!bit(exclude, c))
            top = fmax(top, row[c]);
    for (uint32_t c = 0; c < cols; c++) {
        sum += bit(exclude, c) ? 0 : exp(row[c] - top);
        wanted += bit(targets, c) ? row[c] : 0;
        number += bit(targets, c);
    }
    *loss = number ? weight * (top + log(sum) - wanted / number) : 0;
    for (uint32_t c = 0; c < cols; c++)
        row[c] = number && !bit(exclude, c)
                     ? weight * (exp(row[c] - top) / sum - bit(targets, c) / number)
                     : 0;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_LOGITS]);
    uint32_t words = gb_tape_tensor(tape, node->in[IN_TARGETS])->ld;
    uint32_t weights_ld = gb_tape_tensor(tape, node->in[IN_WEIGHTS])->ld;
    uint32_t loss_ld = gb_tape_tensor(tape, node->out[OUT_LOSS])->ld;
    const uint32_t *targets = gb_reference_u(ref, node->in[IN_TARGETS]);
    bool has = node->in[IN_EXCLUDE] != GB_NO_TENSOR;
    const uint32_t *exclude = has ? gb_reference_u(ref, node->in[IN_EXCLUDE]) : NULL;
    for (size_t r = 0; r < info->rows; r++)
        reference_row(gb_reference_f(ref, node->in[IN_LOGITS]) + r * info->ld, info->cols,
                      targets + r * words, has ? exclude + r * words : NULL,
                      gb_reference_f(ref, node->in[IN_WEIGHTS])[r * weights_ld],
                      gb_reference_f(ref, node->out[OUT_LOSS]) + r * loss_ld);
}

static const gb_op op = {"softmax_set", emit, NULL, reference};

void ops_set_rows(gb_tape *tape, gb_tensor logits, gb_tensor targets, gb_tensor weights,
                  gb_tensor exclude, gb_tensor loss)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    const gb_tensor_info *l = gb_tape_tensor(tape, logits), *t = gb_tape_tensor(tape, targets);
    bool fits = t->rows == l->rows && t->cols == (l->cols + 31) / 32;
    if (fits && exclude != GB_NO_TENSOR) {
        const gb_tensor_info *e = gb_tape_tensor(tape, exclude);
        fits = e->rows == t->rows && e->cols == t->cols;
    }
    if (!fits) {
        gb_tape_fail(tape, "sets [%u,%u] for logits [%u,%u]", t->rows, t->cols, l->rows, l->cols);
        return;
    }
    gb_node node = node_of(&op);
    node.in[IN_LOGITS] = logits;
    node.in[IN_TARGETS] = targets;
    node.in[IN_WEIGHTS] = weights;
    node.in[IN_EXCLUDE] = exclude;
    node.out[OUT_LOSS] = loss;
    node.out[OUT_GRADIENT] = logits;
    gb_tape_append(tape, &node);
}
