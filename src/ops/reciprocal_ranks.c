/* Reciprocal ranks of scores in their rows, for the weights of LambdaRank. */
#include "ops.h"

enum { IN_SCORES, IN_POSITIVES, IN_WEIGHTS };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SCORES]);
    gb_kernel kernel =
        ops_element_kernel(&emitter->target, "reciprocal_ranks", info->rows * info->ld);
    for (int i = IN_SCORES; i <= IN_WEIGHTS; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], GB_WRITE);
    push(&kernel, RECIPROCAL_RANKS_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld,
         .bits_ld = gb_tape_tensor(tape, node->in[IN_POSITIVES])->ld, .cut = node->attr[0]);
    kernel.flops = 2.0 * info->rows * info->cols * info->cols;
    kernel.bytes = 8.0 * info->rows * info->cols;
    return ops_check_iterations(&emitter->target, info->cols, "ranks", status) &&
           gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SCORES]);
    uint32_t bits_ld = gb_tape_tensor(tape, node->in[IN_POSITIVES])->ld;
    for (size_t r = 0; r < info->rows; r++) {
        const uint32_t *bits = gb_reference_u(ref, node->in[IN_POSITIVES]) + r * bits_ld;
        const double *s = gb_reference_f(ref, node->in[IN_SCORES]) + r * info->ld;
        const double *w = gb_reference_f(ref, node->in[IN_WEIGHTS]) + r * info->ld;
        double *ranks = gb_reference_f(ref, node->out[0]) + r * info->ld;
#define COUNTS(c) (w[c] != 0 || bits[(c) / 32] >> ((c)&31) & 1)
        for (uint32_t c = 0; c < info->ld; c++) {
            uint32_t before = 0;
            for (uint32_t j = 0; c < info->cols && j < info->cols; j++)
                before += COUNTS(j) && (s[j] > s[c] || (s[j] == s[c] && j < c));
            bool listed = c < info->cols && COUNTS(c) && before < node->attr[0];
            ranks[c] = listed ? 1.0 / (before + 1) : 0;
        }
#undef COUNTS
    }
}

static const gb_op op = {"reciprocal_ranks", emit, NULL, reference};

gb_tensor gb_reciprocal_ranks(gb_tape *tape, gb_tensor scores, const gb_pairs *pairs, uint32_t cut)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_SCORES] = scores;
    node.in[IN_POSITIVES] = pairs->positives;
    node.in[IN_WEIGHTS] = pairs->weights;
    node.attr[0] = cut ? cut : UINT32_MAX;
    node.out[0] = ops_temp_like(tape, "reciprocal ranks", scores);
    gb_tape_append(tape, &node);
    return node.out[0];
}
