/* The k largest of each row and where they are: the last step of exact search. */
#include "ops.h"

#include <math.h>
#include <stdlib.h>

enum { OUT_VALUES, OUT_COLUMNS };

/* llvmpipe ends all loops of an invocation after 65535 iterations, silently: a lane with a row of
 * its own takes up to nine for every four columns. */
#define LONGEST_OWN_ROW 16384

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[0]);
    const gb_tensor_info *values = gb_tape_tensor(tape, node->out[OUT_VALUES]);
    if (!info->rows || !values->cols)
        return true;
    const gb_target *target = &emitter->target;
    bool own_rows = ops_lane_rows(target) && info->cols <= LONGEST_OWN_ROW;
    uint32_t lanes = ops_lanes(target);
    if (!own_rows)
        lanes = target->max_invocations < 256 ? target->max_invocations : 256;
    uint32_t rows_per_group = own_rows ? lanes : 1;
    gb_kernel kernel = ops_kernel_of("top_k", NULL);
    ops_spec(&kernel, lanes);
    ops_spec(&kernel, lanes / rows_per_group);
    ops_spec(&kernel, rows_per_group);
    gb_grid(target, (info->rows + rows_per_group - 1) / rows_per_group, kernel.grid);
    ops_bind_tensor(&kernel, 0, node->in[0], GB_READ);
    ops_bind_tensor(&kernel, 1, node->out[OUT_VALUES], GB_WRITE);
    ops_bind_tensor(&kernel, 2, node->out[OUT_COLUMNS], GB_WRITE);
    push(&kernel, TOP_K_PUSH, .rows = info->rows, .cols = info->cols, .ld4 = info->ld / 4,
         .k = values->cols, .values_ld = values->ld,
         .columns_ld = gb_tape_tensor(tape, node->out[OUT_COLUMNS])->ld);
    kernel.bytes = 6.0 * 4 * info->rows * info->cols + 8.0 * info->rows * values->cols;
    return gb_emit(emitter, &kernel, status);
}

/* Whether column a comes before column b: NaN last, then by value, then by column. */
static int before(const void *pa, const void *pb, void *context)
{
    const double *row = context;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    if (isnan(row[a]) != isnan(row[b]))
        return isnan(row[a]) ? 1 : -1;
    if (row[a] != row[b] && !isnan(row[a]))
        return row[a] > row[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[0]);
    const gb_tensor_info *vi = gb_tape_tensor(tape, node->out[OUT_VALUES]);
    uint32_t columns_ld = gb_tape_tensor(tape, node->out[OUT_COLUMNS])->ld;
    uint32_t *order = malloc(((size_t)info->cols + 1) * sizeof *order);
    for (uint32_t r = 0; order && r < info->rows; r++) {
        double *row = gb_reference_f(ref, node->in[0]) + (size_t)r * info->ld;
        double *values = gb_reference_f(ref, node->out[OUT_VALUES]) + (size_t)r * vi->ld;
        uint32_t *columns = gb_reference_u(ref, node->out[OUT_COLUMNS]) + (size_t)r * columns_ld;
        for (uint32_t c = 0; c < info->cols; c++)
            order[c] = c;
        gb_sort(order, info->cols, sizeof *order, before, row);
        for (uint32_t i = 0; i < vi->cols; i++) {
            values[i] = i < info->cols ? row[order[i]] : -INFINITY;
            columns[i] = i < info->cols ? order[i] : GB_NO_ROW;
        }
    }
    free(order);
}

static const gb_op op = {"top_k", emit, NULL, reference};

void gb_top_k(gb_tape *tape, gb_tensor scores, uint32_t k, gb_tensor *values, gb_tensor *columns)
{
    *values = *columns = GB_NO_TENSOR;
    if (!gb_tape_ok(tape, NULL))
        return;
    uint32_t rows = gb_tape_tensor(tape, scores)->rows;
    gb_node node = ops_node_of(&op);
    node.in[0] = scores;
    node.out[OUT_VALUES] = *values = gb_tape_temp(tape, "top values", GB_F32, rows, k);
    node.out[OUT_COLUMNS] = *columns = gb_tape_temp(tape, "top columns", GB_U32, rows, k);
    gb_tape_append(tape, &node);
}
