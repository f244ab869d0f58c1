/* Embeddings: the sum of word, position and type vectors; gradients by lists of rows, no atomics.
 */
#include "ops.h"

#include <string.h>

enum {
    IN_IDS,
    IN_POSITIONS,
    IN_WORD,
    IN_POSITION,
    IN_TYPE,
    IN_ID_STARTS,
    IN_ID_ORDER,
    IN_POSITION_STARTS,
    IN_POSITION_ORDER
};

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("embed_forward", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    for (int i = IN_IDS; i <= IN_TYPE; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 5, node->out[0], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 0x1c);
    push(&kernel, EMBED_FORWARD_PUSH, .rows = info->rows, .ld4 = info->ld / 4,
         .vocabulary = gb_tape_tensor(tape, node->in[IN_WORD])->rows,
         .max_positions = gb_tape_tensor(tape, node->in[IN_POSITION])->rows);
    kernel.flops = 2.0 * info->rows * info->cols;
    kernel.bytes = 16.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *ids = gb_reference_u(ref, node->in[IN_IDS]);
    const uint32_t *positions = gb_reference_u(ref, node->in[IN_POSITIONS]);
    const double *word = gb_reference_f(ref, node->in[IN_WORD]);
    const double *position = gb_reference_f(ref, node->in[IN_POSITION]);
    const double *type = gb_reference_f(ref, node->in[IN_TYPE]);
    double *y = gb_reference_f(ref, node->out[0]);
    for (uint32_t n = 0; n < info->rows; n++)
        for (uint32_t c = 0; c < info->cols; c++)
            y[(size_t)n * info->ld + c] = word[(size_t)ids[n] * info->ld + c] +
                                          position[(size_t)positions[n] * info->ld + c] + type[c];
}

/* ---- gradient of one table ---- */

enum { ROWS_STARTS, ROWS_ORDER, ROWS_DY, ROWS_TABLE };

static bool emit_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    const gb_tensor_info *table = gb_tape_tensor(tape, node->out[0]);
    const gb_tensor_info *dy = gb_tape_tensor(tape, node->in[ROWS_DY]);
    bool accumulate = node->in[ROWS_TABLE] != GB_NO_TENSOR;
    gb_kernel kernel = ops_kernel_of("embed_backward", NULL);
    /* One entry may have all the rows. */
    ops_long_row_kernel(&kernel, &emitter->target, table->rows,
                        (uint64_t)(table->ld / 4) * ((uint64_t)dy->rows + 1));
    ops_spec(&kernel, accumulate);
    ops_bind_tensor(&kernel, 0, node->in[ROWS_STARTS], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[ROWS_ORDER], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[ROWS_DY], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], accumulate ? GB_READ_WRITE : GB_WRITE);
    push(&kernel, EMBED_BACKWARD_PUSH, .entries = table->rows, .ld4 = table->ld / 4,
         .rows = dy->rows);
    kernel.flops = (double)dy->rows * dy->cols;
    kernel.bytes = 4.0 * dy->rows * dy->cols + 4.0 * table->rows * table->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_rows(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *table = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *starts = gb_reference_u(ref, node->in[ROWS_STARTS]);
    const uint32_t *order = gb_reference_u(ref, node->in[ROWS_ORDER]);
    const double *dy = gb_reference_f(ref, node->in[ROWS_DY]);
    double *out = gb_reference_f(ref, node->out[0]);
    if (node->in[ROWS_TABLE] == GB_NO_TENSOR)
        memset(out, 0, sizeof(double) * table->rows * table->ld);
    for (uint32_t v = 0; v < table->rows; v++)
        for (uint32_t r = starts[v]; r < starts[v + 1]; r++)
            for (uint32_t c = 0; c < table->cols; c++)
                out[(size_t)v * table->ld + c] += dy[(size_t)order[r] * table->ld + c];
}

static const gb_op op_rows = {"embed_rows", emit_rows, NULL, reference_rows};

void ops_table_gradient(gb_tape *tape, gb_tensor table, gb_tensor starts, gb_tensor order,
                        gb_tensor dy)
{
    if (!ops_wants_grad(tape, table))
        return;
    bool accumulate = false, param = gb_tape_tensor(tape, table)->role == GB_ROLE_PARAM;
    gb_tensor slot =
        param ? ops_param_grad(tape, table, &accumulate) : ops_temp_like(tape, "d table", table);
    gb_node node = ops_node_of(&op_rows);
    node.in[ROWS_STARTS] = starts;
    node.in[ROWS_ORDER] = order;
    node.in[ROWS_DY] = dy;
    node.in[ROWS_TABLE] = accumulate ? slot : GB_NO_TENSOR;
    node.out[0] = slot;
    gb_tape_append(tape, &node);
    if (!param)
        ops_add_grad(tape, table, slot);
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor dy = ops_grad_of(tape, node->out[0]);
    ops_table_gradient(tape, node->in[IN_WORD], node->in[IN_ID_STARTS], node->in[IN_ID_ORDER], dy);
    ops_table_gradient(tape, node->in[IN_POSITION], node->in[IN_POSITION_STARTS],
                       node->in[IN_POSITION_ORDER], dy);
    if (ops_wants_grad(tape, node->in[IN_TYPE])) {
        /* Every token has type 0: its row gets the column sums, the other rows stay zero. */
        bool accumulate;
        gb_tensor slot = ops_param_grad(tape, node->in[IN_TYPE], &accumulate);
        ops_column_sum_into(tape, dy, gb_tape_view(tape, slot, 0, 1), accumulate);
    }
    return true;
}

static const gb_op op = {"embed", emit, backward, reference};

gb_row_index gb_row_index_input(gb_tape *tape, const char *name, uint32_t entries, uint32_t rows)
{
    return (gb_row_index){gb_tape_input(tape, name, GB_U32, 1, entries + 1),
                          gb_tape_input(tape, name, GB_U32, 1, rows)};
}

void gb_row_index_sort(const uint32_t *ids, uint32_t rows, uint32_t entries, uint32_t *starts,
                       uint32_t *order)
{
    memset(starts, 0, sizeof *starts * (entries + 1));
    for (uint32_t r = 0; r < rows; r++)
        if (ids[r] < entries)
            starts[ids[r]]++;
    uint32_t end = 0;
    for (uint32_t v = 0; v < entries; v++)
        starts[v] = end += starts[v];
    starts[entries] = end;
    for (uint32_t r = rows; r-- > 0;) /* backwards, so that starts end at the first row */
        if (ids[r] < entries)
            order[--starts[ids[r]]] = r;
}

gb_tensor gb_embed(gb_tape *tape, gb_tensor ids, gb_tensor positions, gb_row_index by_id,
                   gb_row_index by_position, gb_tensor word, gb_tensor position, gb_tensor type)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_IDS] = ids;
    node.in[IN_POSITIONS] = positions;
    node.in[IN_WORD] = word;
    node.in[IN_POSITION] = position;
    node.in[IN_TYPE] = type;
    node.in[IN_ID_STARTS] = by_id.starts;
    node.in[IN_ID_ORDER] = by_id.order;
    node.in[IN_POSITION_STARTS] = by_position.starts;
    node.in[IN_POSITION_ORDER] = by_position.order;
    node.out[0] = gb_tape_temp(tape, "embedded", GB_F32, gb_tape_tensor(tape, ids)->cols,
                               gb_tape_tensor(tape, word)->cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}
