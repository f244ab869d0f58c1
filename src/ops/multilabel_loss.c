/* Softmax cross-entropy of rows of logits against a uniform target over a set of columns, loss and
 * gradient in one pass: Bag-of-Word prediction, and contrastive losses with several positives. The
 * sum over rows and the vocabulary's chunks are softmax_loss.c's. */
#include "ops.h"

#include <math.h>

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    uint32_t bits_ld = gb_tape_tensor(tape, node->in[ROWS_WANTED])->ld;
    return ops_emit_softmax_rows(emitter, tape, node, "softmax_multilabel", bits_ld, 8, status);
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
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    uint32_t words = gb_tape_tensor(tape, node->in[ROWS_WANTED])->ld;
    uint32_t weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld;
    uint32_t loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld;
    const uint32_t *targets = gb_reference_u(ref, node->in[ROWS_WANTED]);
    bool has = node->in[ROWS_EXCLUDE] != GB_NO_TENSOR;
    const uint32_t *exclude = has ? gb_reference_u(ref, node->in[ROWS_EXCLUDE]) : NULL;
    for (size_t r = 0; r < info->rows; r++)
        reference_row(gb_reference_f(ref, node->in[ROWS_LOGITS]) + r * info->ld, info->cols,
                      targets + r * words, has ? exclude + r * words : NULL,
                      gb_reference_f(ref, node->in[ROWS_WEIGHTS])[r * weights_ld],
                      gb_reference_f(ref, node->out[ROWS_OUT_LOSS]) + r * loss_ld);
}

static const gb_op op = {"softmax_multilabel", emit, NULL, reference};

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
    ops_append_loss_rows(tape, &op, logits, targets, weights, exclude, loss);
}
