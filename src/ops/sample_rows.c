/* Draws from the softmax of rows of logits, by the largest of logits with Gumbel noise: no sum and
 * no second pass over a row (E. J. Gumbel, 1954; C. Maddison et al., "A* sampling", 2014). */
#include "ops.h"

#include <math.h>

enum { IN_LOGITS, IN_SEQUENCES };
enum { ATTR_FIRST_ROW };

/* Turns of loops that a vec4 of columns may take on CPU drivers: its own, four columns, and ten
 * rounds of Philox. */
#define TURNS 15

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_LOGITS]);
    if (!info->rows)
        return true;
    gb_kernel kernel = ops_kernel_of("sample_rows", NULL);
    ops_long_row_kernel(&kernel, &emitter->target, info->rows, (uint64_t)info->ld / 4 * TURNS);
    ops_bind_tensor(&kernel, 0, node->in[IN_LOGITS], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, SAMPLE_ROWS_PUSH, .rows = info->rows, .cols = info->cols, .ld4 = info->ld / 4,
         .first_row = node->attr[ATTR_FIRST_ROW],
         .drawn_ld = gb_tape_tensor(tape, node->out[0])->ld);
    kernel.flops = 20.0 * info->rows * info->cols;
    kernel.bytes = 4.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_LOGITS]);
    const uint32_t *words = gb_reference_u(ref, node->in[IN_SEQUENCES]);
    uint32_t *drawn = gb_reference_u(ref, node->out[0]);
    uint32_t drawn_ld = gb_tape_tensor(tape, node->out[0])->ld;
    for (uint32_t r = 0; r < info->rows; r++) {
        const double *row = gb_reference_f(ref, node->in[IN_LOGITS]) + (size_t)r * info->ld;
        gb_rng rng = gb_rng_make(words[0] | (uint64_t)words[1] << 32, GB_RNG_DRAW, words[2],
                                 node->attr[ATTR_FIRST_ROW] + r);
        uint32_t at = GB_NO_ROW;
        double best = -INFINITY;
        for (uint32_t c = 0; c < info->cols; c++) {
            double u = (gb_rng_u32(&rng) + .5) * 0x1p-32, key = row[c] - log(-log1p(-u));
            if (key > best) {
                best = key;
                at = c;
            }
        }
        drawn[(size_t)r * drawn_ld] = at;
    }
}

static const gb_op op = {"sample_rows", emit, NULL, reference};

/* Row r of the logits is row first_row + r of the draws. */
static void sample_into(gb_tape *tape, gb_tensor logits, gb_tensor sequences, uint32_t first_row,
                        gb_tensor drawn)
{
    gb_node node = ops_node_of(&op);
    node.in[IN_LOGITS] = logits;
    node.in[IN_SEQUENCES] = sequences;
    node.attr[ATTR_FIRST_ROW] = first_row;
    node.out[0] = drawn;
    gb_tape_append(tape, &node);
}

gb_tensor gb_sample_rows(gb_tape *tape, gb_tensor logits, gb_tensor sequences)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    uint32_t rows = gb_tape_tensor(tape, logits)->rows;
    gb_tensor drawn = gb_tape_temp(tape, "drawn", GB_U32, rows, 1);
    sample_into(tape, logits, sequences, 0, drawn);
    return drawn;
}

gb_tensor gb_vocabulary_sample(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                               gb_tensor sequences, uint32_t chunk_rows)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    uint32_t all = gb_tape_tensor(tape, h)->rows;
    chunk_rows = (chunk_rows + 63) / 64 * 64; /* so that views start at aligned addresses */
    gb_tensor drawn = gb_tape_temp(tape, "drawn", GB_U32, all, 1);
    for (uint32_t row = 0, rows; row < all; row += rows) {
        rows = all - row < chunk_rows ? all - row : chunk_rows;
        gb_tensor logits =
            gb_linear(tape, gb_tape_view(tape, h, row, rows), table, bias, false, GB_NO_TENSOR);
        sample_into(tape, logits, sequences, row, gb_tape_view(tape, drawn, row, rows));
    }
    return drawn;
}
