/* Hinge loss of pairs of scores that a softmax over the two has turned into probabilities (PROP, Ma
 * et al., 2021), loss and gradient in one pass. The sum over rows is softmax_loss.c's. */
#include "ops.h"

#include <math.h>

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    gb_kernel kernel = ops_kernel_of("preference", NULL);
    ops_long_row_kernel(&kernel, &emitter->target, info->rows, info->ld);
    ops_bind_tensor(&kernel, 0, node->in[ROWS_LOGITS], GB_READ_WRITE);
    ops_bind_tensor(&kernel, 1, node->in[ROWS_WANTED], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[ROWS_WEIGHTS], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[ROWS_OUT_LOSS], GB_WRITE);
    push(&kernel, PREFERENCE_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld,
         .weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld,
         .loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld);
    kernel.flops = 10.0 * info->rows;
    kernel.bytes = 4.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    const uint32_t *pairs = gb_reference_u(ref, node->in[ROWS_WANTED]);
    uint32_t weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld;
    uint32_t loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld;
    for (size_t r = 0; r < info->rows; r++) {
        double *row = gb_reference_f(ref, node->in[ROWS_LOGITS]) + r * info->ld;
        double *loss = gb_reference_f(ref, node->out[ROWS_OUT_LOSS]) + r * loss_ld;
        double weight = gb_reference_f(ref, node->in[ROWS_WEIGHTS])[r * weights_ld];
        uint32_t better = pairs[2 * r], worse = pairs[2 * r + 1];
        bool counted = better < info->cols && worse < info->cols;
        double p = counted ? 1 / (1 + exp(row[better] - row[worse])) : 0;
        *loss = counted ? weight * fmax(0, 1 - (1 - p) + p) : 0;
        for (uint32_t c = 0; c < info->cols; c++)
            row[c] = 0;
        if (counted) {
            row[worse] += 2 * weight * p * (1 - p);
            row[better] -= 2 * weight * p * (1 - p);
        }
    }
}

static const gb_op op = {"preference", emit, NULL, reference};

void ops_preference_rows(gb_tape *tape, gb_tensor scores, gb_tensor pairs, gb_tensor weights,
                         gb_tensor exclude, gb_tensor loss)
{
    ops_append_loss_rows(tape, &op, scores, pairs, weights, exclude, loss);
}
