/* Divergence of a softmax from wanted probabilities, loss and gradient in one pass: what a
 * teacher's softmax over several passages asks for. The sum over rows is softmax_loss.c's. */
#include "ops.h"

#include <math.h>

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    gb_tensor exclude = node->in[ROWS_EXCLUDE];
    gb_kernel kernel = ops_kernel_of("softmax_targets", NULL);
    ops_long_row_kernel(&kernel, &emitter->target, info->rows, 3ull * info->ld);
    ops_spec(&kernel, exclude != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[ROWS_LOGITS], GB_READ_WRITE);
    for (int i = ROWS_WANTED; i <= ROWS_EXCLUDE; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[ROWS_OUT_LOSS], GB_WRITE);
    push(&kernel, SOFTMAX_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld,
         .bits_ld = exclude == GB_NO_TENSOR ? 0 : gb_tape_tensor(tape, exclude)->ld,
         .weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld,
         .loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld);
    kernel.flops = 12.0 * info->rows * info->cols;
    kernel.bytes = 20.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

/* A row of scores and of what is wanted of it. */
typedef struct target_row {
    double *scores;          /* [cols], which become their gradient */
    const double *targets;   /* [cols] */
    const uint32_t *exclude; /* bits, or NULL */
    uint32_t cols;           /* columns */
} target_row;

static bool counts(const target_row *row, uint32_t c)
{
    return !row->exclude || !(row->exclude[c / 32] >> (c & 31) & 1);
}

static double reference_row(target_row *row, double weight)
{
    double top = -INFINITY, sum = 0, whole = 0, apart = 0;
    for (uint32_t c = 0; c < row->cols; c++)
        top = counts(row, c) ? fmax(top, row->scores[c]) : top;
    for (uint32_t c = 0; c < row->cols; c++) {
        if (!counts(row, c))
            continue;
        double p = row->targets[c];
        sum += exp(row->scores[c] - top);
        whole += p;
        apart += p > 0 ? p * (log(p) - (row->scores[c] - top)) : 0;
    }
    for (uint32_t c = 0; c < row->cols; c++)
        row->scores[c] = counts(row, c)
                             ? weight * (whole * exp(row->scores[c] - top) / sum - row->targets[c])
                             : 0;
    return whole > 0 ? weight * (apart + whole * log(sum)) : 0;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    bool has = node->in[ROWS_EXCLUDE] != GB_NO_TENSOR;
    const uint32_t *exclude = has ? gb_reference_u(ref, node->in[ROWS_EXCLUDE]) : NULL;
    uint32_t bits_ld = has ? gb_tape_tensor(tape, node->in[ROWS_EXCLUDE])->ld : 0;
    uint32_t weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld;
    uint32_t loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld;
    for (size_t r = 0; r < info->rows; r++) {
        target_row row = {.scores = gb_reference_f(ref, node->in[ROWS_LOGITS]) + r * info->ld,
                          .targets = gb_reference_f(ref, node->in[ROWS_WANTED]) + r * info->ld,
                          .exclude = has ? exclude + r * bits_ld : NULL,
                          .cols = info->cols};
        gb_reference_f(ref, node->out[ROWS_OUT_LOSS])[r * loss_ld] =
            reference_row(&row, gb_reference_f(ref, node->in[ROWS_WEIGHTS])[r * weights_ld]);
    }
}

static const gb_op op = {"target_rows", emit, NULL, reference};

void ops_target_rows(gb_tape *tape, gb_tensor scores, gb_tensor targets, gb_tensor weights,
                     gb_tensor exclude, gb_tensor loss)
{
    ops_append_loss_rows(tape, &op, scores, targets, weights, exclude, loss);
}
