/* Softmax cross-entropy over rows of logits, loss and gradient in one pass, with excluded columns:
 * the in-batch contrastive loss, and the inner part of the vocabulary loss. */
#include "ops.h"

#include <math.h>

/* ---- one pass over the logits, in place ---- */

bool ops_emit_softmax_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                           const char *shader, uint32_t bits_ld, double flops, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    gb_kernel kernel = ops_kernel_of(shader, NULL);
    ops_long_row_kernel(&kernel, &emitter->target, info->rows, 3ull * info->cols);
    ops_spec(&kernel, node->in[ROWS_EXCLUDE] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[ROWS_LOGITS], GB_READ_WRITE);
    for (int i = ROWS_WANTED; i <= ROWS_EXCLUDE; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[ROWS_OUT_LOSS], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, SOFTMAX_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld,
         .bits_ld = bits_ld, .weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld,
         .loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld);
    kernel.flops = flops * info->rows * info->cols;
    kernel.bytes = 16.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

void ops_append_loss_rows(gb_tape *tape, const gb_op *op, gb_tensor logits, gb_tensor wanted,
                          gb_tensor weights, gb_tensor exclude, gb_tensor loss)
{
    gb_node node = ops_node_of(op);
    node.in[ROWS_LOGITS] = logits;
    node.in[ROWS_WANTED] = wanted;
    node.in[ROWS_WEIGHTS] = weights;
    node.in[ROWS_EXCLUDE] = exclude;
    node.out[ROWS_OUT_LOSS] = loss;
    node.out[ROWS_OUT_GRADIENT] = logits;
    gb_tape_append(tape, &node);
}

static bool emit_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    gb_tensor exclude = node->in[ROWS_EXCLUDE];
    uint32_t bits_ld = exclude == GB_NO_TENSOR ? 0 : gb_tape_tensor(tape, exclude)->ld;
    return ops_emit_softmax_rows(emitter, tape, node, "softmax_cross_entropy", bits_ld, 6, status);
}

static void reference_rows(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[ROWS_LOGITS]);
    const uint32_t *labels = gb_reference_u(ref, node->in[ROWS_WANTED]);
    const double *weights = gb_reference_f(ref, node->in[ROWS_WEIGHTS]);
    bool has = node->in[ROWS_EXCLUDE] != GB_NO_TENSOR;
    const uint32_t *exclude = has ? gb_reference_u(ref, node->in[ROWS_EXCLUDE]) : NULL;
    uint32_t exclude_ld = has ? gb_tape_tensor(tape, node->in[ROWS_EXCLUDE])->ld : 0;
    uint32_t weights_ld = gb_tape_tensor(tape, node->in[ROWS_WEIGHTS])->ld;
    uint32_t loss_ld = gb_tape_tensor(tape, node->out[ROWS_OUT_LOSS])->ld;
    double *loss = gb_reference_f(ref, node->out[ROWS_OUT_LOSS]);
    for (uint32_t r = 0; r < info->rows; r++) {
        double *row = gb_reference_f(ref, node->in[ROWS_LOGITS]) + (size_t)r * info->ld;
        bool counted = labels[r] < info->cols;
        double weight = counted ? weights[(size_t)r * weights_ld] : 0, top = -INFINITY, sum = 0;
        double target = counted ? row[labels[r]] : 0;
#define EXCLUDED(c) (exclude && (exclude[(size_t)r * exclude_ld + (c) / 32] >> ((c)&31) & 1))
        for (uint32_t c = 0; c < info->cols; c++)
            if (!EXCLUDED(c))
                top = fmax(top, row[c]);
        for (uint32_t c = 0; c < info->cols; c++)
            if (!EXCLUDED(c))
                sum += exp(row[c] - top);
        loss[(size_t)r * loss_ld] = counted ? weight * (top + log(sum) - target) : 0;
        for (uint32_t c = 0; c < info->cols; c++)
            row[c] =
                counted && !EXCLUDED(c) ? weight * (exp(row[c] - top) / sum - (c == labels[r])) : 0;
#undef EXCLUDED
    }
}

static const gb_op op_rows = {"softmax_rows", emit_rows, NULL, reference_rows};

/* Turn logits into their gradient in place; losses of rows into `loss` [R,1]. */
static void softmax_rows(gb_tape *tape, gb_tensor logits, gb_tensor labels, gb_tensor weights,
                         gb_tensor exclude, gb_tensor loss)
{
    ops_append_loss_rows(tape, &op_rows, logits, labels, weights, exclude, loss);
}

/* ---- the loss: a sum of row losses that already knows its gradients ---- */

#define PAIRS 3 /* tensors with a gradient made in the forward pass */
enum { IN_LOSSES, IN_X0, IN_D0 = IN_X0 + PAIRS };

static bool emit_total(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                       gb_status *status)
{
    return ops_emit_sum(emitter, tape, node->in[IN_LOSSES], node->out[0], false, "loss", status);
}

static void reference_total(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    *gb_reference_f(ref, node->out[0]) = ops_reference_sum(ref, tape, node->in[IN_LOSSES]);
}

static void param_gradient(gb_tape *tape, gb_tensor param, gb_tensor gradient, gb_tensor g);

static bool backward_total(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor g = ops_grad_of(tape, node->out[0]);
    for (int i = 0; i < PAIRS; i++) {
        gb_tensor x = node->in[IN_X0 + i], dx = node->in[IN_D0 + i];
        if (!ops_wants_grad(tape, x))
            continue;
        if (gb_tape_tensor(tape, x)->role == GB_ROLE_PARAM)
            param_gradient(tape, x, dx, g);
        else
            ops_add_grad(tape, x, ops_times_scalar(tape, dx, g));
    }
    return true;
}

static const gb_op op_total = {"loss", emit_total, backward_total, reference_total};

/* slot (+)= g * gradient, for a parameter whose gradient was made in the forward pass. */
static void param_gradient(gb_tape *tape, gb_tensor param, gb_tensor gradient, gb_tensor g)
{
    bool accumulate;
    gb_tensor slot = ops_param_grad(tape, param, &accumulate);
    ops_scale_into(tape, gradient, g, slot, accumulate);
}

static gb_node total_of(gb_tape *tape, gb_tensor losses)
{
    gb_node node = ops_node_of(&op_total);
    node.in[IN_LOSSES] = losses;
    node.out[0] = gb_tape_temp(tape, "loss", GB_F32, 1, 1);
    return node;
}

gb_tensor ops_total_loss(gb_tape *tape, gb_tensor losses, gb_tensor x, gb_tensor gradient)
{
    gb_node node = total_of(tape, losses);
    node.in[IN_X0] = x;
    node.in[IN_D0] = gradient;
    gb_tape_append(tape, &node);
    return node.out[0];
}

/* By what is wanted of a row: a label (softmax_rows), a set of targets (ops_set_rows), ... */
typedef void rows_fn(gb_tape *tape, gb_tensor logits, gb_tensor wanted, gb_tensor weights,
                     gb_tensor exclude, gb_tensor loss);

static gb_tensor rows_loss(gb_tape *tape, rows_fn *rows_of, gb_tensor logits, gb_tensor wanted,
                           gb_tensor weights, gb_tensor exclude)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    uint32_t rows = gb_tape_tensor(tape, logits)->rows;
    gb_tensor losses = gb_tape_temp(tape, "row losses", GB_F32, rows, 1);
    rows_of(tape, logits, wanted, weights, exclude, losses);
    return ops_total_loss(tape, losses, logits, logits); /* they hold their gradient now */
}

gb_tensor gb_softmax_loss(gb_tape *tape, gb_tensor logits, gb_tensor labels, gb_tensor weights,
                          gb_tensor exclude)
{
    return rows_loss(tape, softmax_rows, logits, labels, weights, exclude);
}

gb_tensor gb_multilabel_loss(gb_tape *tape, gb_tensor logits, gb_tensor targets, gb_tensor weights,
                             gb_tensor exclude)
{
    return rows_loss(tape, ops_set_rows, logits, targets, weights, exclude);
}

gb_tensor gb_target_loss(gb_tape *tape, gb_tensor scores, gb_tensor targets, gb_tensor weights,
                         gb_tensor exclude)
{
    return rows_loss(tape, ops_target_rows, scores, targets, weights, exclude);
}

gb_tensor gb_preference_loss(gb_tape *tape, gb_tensor scores, gb_tensor pairs, gb_tensor weights)
{
    return rows_loss(tape, ops_preference_rows, scores, pairs, weights, GB_NO_TENSOR);
}

/* dtable (+)= logits^T h, and dbias (+)= column sums of logits where there is a bias. */
static void table_gradient(gb_tape *tape, gb_tensor logits, gb_tensor h, gb_tensor dtable,
                           gb_tensor dbias, bool accumulate)
{
    if (dbias == GB_NO_TENSOR)
        ops_matmul_into(tape, GB_TN, logits, h, dtable, GB_NO_TENSOR, accumulate);
    else
        ops_weight_gradient_into(tape, logits, h, dtable, accumulate, dbias, accumulate);
}

static gb_tensor vocabulary_loss(gb_tape *tape, rows_fn *rows_of, gb_tensor h, gb_tensor table,
                                 gb_tensor bias, gb_tensor wanted, gb_tensor weights,
                                 uint32_t chunk_rows)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info hi = *gb_tape_tensor(tape, h), ti = *gb_tape_tensor(tape, table);
    chunk_rows = (chunk_rows + 63) / 64 * 64; /* so that views start at aligned addresses */
    gb_tensor losses = gb_tape_temp(tape, "row losses", GB_F32, hi.rows, 1);
    gb_tensor dh = gb_tape_temp(tape, "d head", GB_F32, hi.rows, hi.cols);
    gb_tensor dtable = gb_tape_temp(tape, "d table", GB_F32, ti.rows, ti.cols);
    gb_tensor dbias = bias == GB_NO_TENSOR
                          ? GB_NO_TENSOR
                          : gb_tape_temp(tape, "d vocabulary bias", GB_F32, 1, ti.rows);
    uint32_t row = 0;
    do { /* once even without rows: the gradients must be written */
        uint32_t rows = hi.rows - row < chunk_rows ? hi.rows - row : chunk_rows;
        gb_tensor h_chunk = gb_tape_view(tape, h, row, rows);
        gb_tensor logits = gb_linear(tape, h_chunk, table, bias, false, GB_NO_TENSOR);
        rows_of(tape, logits, gb_tape_view(tape, wanted, row, rows),
                gb_tape_view(tape, weights, row, rows), GB_NO_TENSOR,
                gb_tape_view(tape, losses, row, rows));
        ops_matmul_into(tape, GB_NN, logits, table, gb_tape_view(tape, dh, row, rows), GB_NO_TENSOR,
                        false);
        table_gradient(tape, logits, h_chunk, dtable, dbias, row > 0);
        row += rows;
    } while (row < hi.rows);
    gb_node node = total_of(tape, losses);
    gb_tensor x[PAIRS] = {h, table, bias}, d[PAIRS] = {dh, dtable, dbias};
    for (int i = 0; i < PAIRS; i++) {
        node.in[IN_X0 + i] = x[i];
        node.in[IN_D0 + i] = d[i];
    }
    gb_tape_append(tape, &node);
    return node.out[0];
}

gb_tensor gb_vocabulary_loss(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                             gb_tensor labels, gb_tensor weights, uint32_t chunk_rows)
{
    return vocabulary_loss(tape, softmax_rows, h, table, bias, labels, weights, chunk_rows);
}

gb_tensor gb_vocabulary_multilabel_loss(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                                        gb_tensor targets, gb_tensor weights, uint32_t chunk_rows)
{
    return vocabulary_loss(tape, ops_set_rows, h, table, bias, targets, weights, chunk_rows);
}
