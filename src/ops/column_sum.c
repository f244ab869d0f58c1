/* Sums over the rows of a matrix, in two stages and a fixed order: gradients of biases. */
#include "ops.h"

enum { ATTR_ACCUMULATE };
enum { OUT_SUM, OUT_PARTIAL };

static bool emit_stage(gb_emitter *emitter, const gb_tape *tape, gb_tensor x, gb_tensor out,
                       uint32_t blocks, bool accumulate, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, x);
    uint32_t lanes = ops_lanes(&emitter->target), ld4 = info->ld / 4;
    uint32_t column_groups = (ld4 + lanes - 1) / lanes;
    gb_kernel kernel = ops_kernel_of("column_sum", NULL);
    ops_spec(&kernel, lanes);
    ops_spec(&kernel, accumulate);
    ops_bind_tensor(&kernel, 0, x, GB_READ);
    ops_bind_tensor(&kernel, 1, out, accumulate ? GB_READ_WRITE : GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, COLUMN_SUM_PUSH, .rows = info->rows, .ld4 = ld4, .blocks = blocks,
         .rows_per_block = (info->rows + blocks - 1) / blocks, .column_groups = column_groups);
    gb_grid(&emitter->target, blocks * column_groups, kernel.grid);
    kernel.flops = (double)info->rows * info->cols;
    kernel.bytes = 4.0 * info->rows * info->ld;
    return gb_emit(emitter, &kernel, status);
}

bool ops_emit_column_sum(gb_emitter *emitter, const gb_tape *tape, gb_tensor x, gb_tensor out,
                         gb_tensor partials, bool accumulate, gb_status *status)
{
    if (partials == GB_NO_TENSOR)
        return emit_stage(emitter, tape, x, out, 1, accumulate, status);
    uint32_t blocks = gb_tape_tensor(tape, partials)->rows;
    return emit_stage(emitter, tape, x, partials, blocks, false, status) &&
           emit_stage(emitter, tape, partials, out, 1, accumulate, status);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return ops_emit_column_sum(emitter, tape, node->in[0], node->out[OUT_SUM],
                               node->out[OUT_PARTIAL], node->attr[ATTR_ACCUMULATE], status);
}

void ops_reference_column_sum(gb_reference *ref, const gb_tape *tape, gb_tensor x, gb_tensor out,
                              bool accumulate)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, x);
    const double *values = gb_reference_f(ref, x);
    double *sums = gb_reference_f(ref, out);
    for (uint32_t c = 0; c < info->cols; c++) {
        double sum = accumulate ? sums[c] : 0;
        for (uint32_t r = 0; r < info->rows; r++)
            sum += values[(size_t)r * info->ld + c];
        sums[c] = sum;
    }
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    ops_reference_column_sum(ref, tape, node->in[0], node->out[OUT_SUM],
                             node->attr[ATTR_ACCUMULATE]);
}

static const gb_op op = {"column_sum", emit, NULL, reference};

gb_tensor ops_column_partials(gb_tape *tape, gb_tensor x)
{
    gb_tensor_info info = *gb_tape_tensor(tape, x);
    uint32_t blocks = ops_row_blocks(info.rows);
    return blocks > 1 ? gb_tape_temp(tape, "column partials", GB_F32, blocks, info.cols)
                      : GB_NO_TENSOR;
}

void ops_column_sum_into(gb_tape *tape, gb_tensor x, gb_tensor out, bool accumulate)
{
    if (x == GB_NO_TENSOR || out == GB_NO_TENSOR)
        return;
    gb_node node = ops_node_of(&op);
    node.in[0] = x;
    node.in[1] = accumulate ? out : GB_NO_TENSOR;
    node.out[OUT_SUM] = out;
    node.out[OUT_PARTIAL] = ops_column_partials(tape, x);
    node.attr[ATTR_ACCUMULATE] = accumulate;
    gb_tape_append(tape, &node);
}
