/* Rows put into a table in place, as into a cache: only those rows of it are touched. */
#include "ops.h"

enum { IN_X, IN_PLACE, IN_TABLE };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *x = gb_tape_tensor(tape, node->in[IN_X]);
    gb_kernel kernel = ops_kernel_of("put_rows", NULL);
    ops_row_kernel(&kernel, &emitter->target, x->rows);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_PLACE], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_READ_WRITE); /* the other rows stay */
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, PUT_ROWS_PUSH, .rows = x->rows, .ld4 = x->ld / 4,
         .table_rows = gb_tape_tensor(tape, node->out[0])->rows);
    kernel.bytes = 8.0 * x->rows * x->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *x = gb_tape_tensor(tape, node->in[IN_X]);
    const gb_tensor_info *table = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *place = gb_reference_u(ref, node->in[IN_PLACE]);
    for (uint32_t r = 0; r < x->rows; r++)
        for (uint32_t c = 0; place[r] < table->rows && c < x->ld; c++)
            gb_reference_f(ref, node->out[0])[(size_t)place[r] * table->ld + c] =
                gb_reference_f(ref, node->in[IN_X])[(size_t)r * x->ld + c];
}

static const gb_op op = {"put_rows", emit, NULL, reference};

void gb_put_rows(gb_tape *tape, gb_tensor table, gb_tensor rows, gb_tensor place)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    const gb_tensor_info *t = gb_tape_tensor(tape, table), *r = gb_tape_tensor(tape, rows);
    if (t->needs_grad || t->cols != r->cols || gb_tape_tensor(tape, place)->cols != r->rows)
        gb_tape_fail(tape, "rows of %s [%u,%u] cannot be put into %s [%u,%u]", r->name, r->rows,
                     r->cols, t->name, t->rows, t->cols);
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = rows;
    node.in[IN_PLACE] = place;
    node.in[IN_TABLE] = table;
    node.out[0] = table;
    gb_tape_append(tape, &node);
}
