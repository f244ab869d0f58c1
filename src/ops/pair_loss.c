/* Losses of pairs of scores in a row: differences that a teacher has (MarginMSE), or an order that
 * is wanted (RankNet, LambdaRank). Loss and gradient come from one pass. */
#include "ops.h"

#include <math.h>

enum { IN_SCORES, IN_POSITIVES, IN_WEIGHTS, IN_TEACHER, IN_RANKS };
enum { OUT_LOSSES, OUT_GRADIENT };
enum { ATTR_SQUARE };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SCORES]);
    gb_kernel kernel = ops_element_kernel(&emitter->target, "pair_loss", info->rows * info->ld);
    ops_spec(&kernel, node->attr[ATTR_SQUARE]);
    ops_spec(&kernel, node->in[IN_TEACHER] != GB_NO_TENSOR);
    ops_spec(&kernel, node->in[IN_RANKS] != GB_NO_TENSOR);
    for (int i = IN_SCORES; i <= IN_RANKS; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 5, node->out[OUT_LOSSES], GB_WRITE);
    ops_bind_tensor(&kernel, 6, node->out[OUT_GRADIENT], GB_WRITE);
    push(&kernel, PAIR_LOSS_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld,
         .bits_ld = gb_tape_tensor(tape, node->in[IN_POSITIVES])->ld);
    kernel.flops = 20.0 * info->rows * info->cols;
    kernel.bytes = 24.0 * info->rows * info->cols;
    return ops_check_iterations(&emitter->target, info->cols, "losses of pairs", status) &&
           gb_emit(emitter, &kernel, status);
}

static double *values_of(gb_reference *ref, gb_tensor tensor, size_t at)
{
    return tensor == GB_NO_TENSOR ? NULL : gb_reference_f(ref, tensor) + at;
}

/* Loss of a pair by the difference d, *slope in it. */
static double pair_loss(double d, bool square, double *slope)
{
    *slope = square ? 2 * d : -1 / (1 + exp(d));
    return square ? d * d : fmax(-d, 0) + log1p(exp(-fabs(d)));
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SCORES]);
    uint32_t bits_ld = gb_tape_tensor(tape, node->in[IN_POSITIVES])->ld;
    for (size_t r = 0; r < info->rows; r++) {
        const uint32_t *bits = gb_reference_u(ref, node->in[IN_POSITIVES]) + r * bits_ld;
        const double *s = gb_reference_f(ref, node->in[IN_SCORES]) + r * info->ld;
        const double *w = gb_reference_f(ref, node->in[IN_WEIGHTS]) + r * info->ld;
        const double *t = values_of(ref, node->in[IN_TEACHER], r * info->ld);
        const double *ranks = values_of(ref, node->in[IN_RANKS], r * info->ld);
        double *losses = gb_reference_f(ref, node->out[OUT_LOSSES]) + r * info->ld;
        double *gradient = gb_reference_f(ref, node->out[OUT_GRADIENT]) + r * info->ld;
#define POSITIVE(c) (bits[(c) / 32] >> ((c)&31) & 1)
        for (uint32_t c = 0; c < info->ld; c++)
            losses[c] = gradient[c] = 0;
        for (uint32_t i = 0; i < info->cols; i++)
            for (uint32_t j = 0; j < info->cols && POSITIVE(i); j++) {
                if (POSITIVE(j) || w[j] == 0)
                    continue;
                double lambda = ranks ? fabs(ranks[i] - ranks[j]) : 1, slope;
                double loss =
                    pair_loss(s[i] - s[j] - (t ? t[i] - t[j] : 0), node->attr[ATTR_SQUARE], &slope);
                losses[j] += w[j] * lambda * loss;
                gradient[i] += w[j] * lambda * slope;
                gradient[j] -= w[j] * lambda * slope;
            }
#undef POSITIVE
    }
}

static const gb_op op = {"pair_loss", emit, NULL, reference};

gb_tensor gb_pair_loss(gb_tape *tape, gb_tensor scores, const gb_pairs *pairs)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_SCORES] = scores;
    node.in[IN_POSITIVES] = pairs->positives;
    node.in[IN_WEIGHTS] = pairs->weights;
    node.in[IN_TEACHER] = pairs->teacher;
    node.in[IN_RANKS] = pairs->ranks;
    node.attr[ATTR_SQUARE] = pairs->square;
    node.out[OUT_LOSSES] = ops_temp_like(tape, "pair losses", scores);
    node.out[OUT_GRADIENT] = ops_temp_like(tape, "d scores", scores);
    gb_tape_append(tape, &node);
    return ops_total_loss(tape, node.out[OUT_LOSSES], scores, node.out[OUT_GRADIENT]);
}
