/* Rows taken from one matrix and put into another. Gather is its own gradient with the inverse
 * index, because each row is taken at most once; a look-up takes rows any number of times, and its
 * gradient adds them up by lists. */
#include "ops.h"

enum { IN_X, IN_INDEX, IN_OTHER, IN_INVERSE, IN_STARTS = IN_INVERSE, IN_ORDER };
enum { ATTR_MODE };
enum { CHOOSE, ADD, MASK }; /* as in gather_rows.comp */

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const gb_tensor_info *source = gb_tape_tensor(tape, node->in[IN_X]);
    gb_kernel kernel = ops_kernel_of("gather_rows", NULL);
    ops_row_kernel(&kernel, &emitter->target, info->rows);
    ops_spec(&kernel, node->in[IN_OTHER] != GB_NO_TENSOR);
    ops_spec(&kernel, node->attr[ATTR_MODE]);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_INDEX], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_OTHER], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], GB_WRITE);
    push(&kernel, GATHER_ROWS_PUSH, .rows = info->rows, .ld4 = info->ld / 4,
         .source_rows = source->rows);
    kernel.bytes = 8.0 * info->rows * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    uint32_t source_rows = gb_tape_tensor(tape, node->in[IN_X])->rows;
    const uint32_t *index = gb_reference_u(ref, node->in[IN_INDEX]);
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    const double *other = gb_reference_f(ref, node->in[IN_OTHER]);
    double *y = gb_reference_f(ref, node->out[0]);
    for (uint32_t r = 0; r < info->rows; r++) {
        bool found = index[r] < source_rows;
        for (uint32_t c = 0; c < info->cols; c++) {
            size_t at = (size_t)r * info->ld + c;
            double taken =
                found && node->attr[ATTR_MODE] != MASK ? x[(size_t)index[r] * info->ld + c] : 0;
            if (other && (!found || node->attr[ATTR_MODE] == ADD))
                taken += other[at];
            y[at] = taken;
        }
    }
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"gather_rows", emit, backward, reference};

static gb_tensor append(gb_tape *tape, const char *name, gb_tensor x, gb_tensor index,
                        gb_tensor other, gb_tensor inverse, uint32_t mode)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_INDEX] = index;
    node.in[IN_OTHER] = other;
    node.in[IN_INVERSE] = inverse;
    node.attr[ATTR_MODE] = mode;
    node.out[0] = gb_tape_temp(tape, name, GB_F32, gb_tape_tensor(tape, index)->cols,
                               gb_tape_tensor(tape, x)->cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    gb_tensor dy = ops_grad_of(tape, node->out[0]);
    gb_tensor x = node->in[IN_X], other = node->in[IN_OTHER];
    if (node->attr[ATTR_MODE] != CHOOSE)
        return gb_fail(status, GB_INTERNAL, "gather_rows", NULL, "a gradient has no gradient");
    if (ops_wants_grad(tape, x)) {
        /* The older gradient of x rides along as the addend. */
        gb_tensor dx = append(tape, "d gathered", dy, node->in[IN_INVERSE], ops_old_grad(tape, x),
                              node->in[IN_INDEX], ADD);
        ops_set_grad(tape, x, dx);
    }
    if (ops_wants_grad(tape, other))
        ops_add_grad(tape, other,
                     append(tape, "d kept", x, node->in[IN_INDEX], dy, node->in[IN_INVERSE], MASK));
    return true;
}

gb_tensor gb_gather_rows(gb_tape *tape, gb_tensor x, gb_tensor index, gb_tensor inverse)
{
    return append(tape, "gathered", x, index, GB_NO_TENSOR, inverse, CHOOSE);
}

gb_tensor gb_scatter_rows(gb_tape *tape, gb_tensor a, gb_tensor b, gb_tensor pick,
                          gb_tensor inverse)
{
    return append(tape, "merged", b, pick, a, inverse, CHOOSE);
}

static bool look_up_backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor dy = ops_grad_of(tape, node->out[0]);
    ops_table_gradient(tape, node->in[IN_X], node->in[IN_STARTS], node->in[IN_ORDER], dy);
    if (ops_wants_grad(tape, node->in[IN_OTHER]))
        ops_add_grad(tape, node->in[IN_OTHER], dy);
    return true;
}

static const gb_op op_look_up = {"look_up", emit, look_up_backward, reference};

gb_tensor gb_lookup_rows(gb_tape *tape, gb_tensor table, gb_tensor index, gb_row_index by_index,
                         gb_tensor addend)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info rows = *gb_tape_tensor(tape, index), entries = *gb_tape_tensor(tape, table);
    const gb_tensor_info *other = addend == GB_NO_TENSOR ? NULL : gb_tape_tensor(tape, addend);
    if (other && (other->rows != rows.cols || other->cols != entries.cols)) {
        gb_tape_fail(tape, "look_up: [%u, %u] added to [%u, %u]", other->rows, other->cols,
                     rows.cols, entries.cols);
        return GB_NO_TENSOR;
    }
    gb_node node = ops_node_of(&op_look_up);
    node.in[IN_X] = table;
    node.in[IN_INDEX] = index;
    node.in[IN_OTHER] = addend;
    node.in[IN_STARTS] = by_index.starts;
    node.in[IN_ORDER] = by_index.order;
    node.attr[ATTR_MODE] = other ? ADD : CHOOSE;
    node.out[0] = gb_tape_temp(tape, "looked up", GB_F32, rows.cols, entries.cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}

/* Written in place: each row reads itself, or a row of another tensor. */
static const gb_op op_replace = {"replace_rows", emit, NULL, reference};

void gb_replace_rows(gb_tape *tape, gb_tensor table, gb_tensor rows, gb_tensor pick)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    const gb_tensor_info *t = gb_tape_tensor(tape, table), *r = gb_tape_tensor(tape, rows);
    if (t->needs_grad || t->cols != r->cols || gb_tape_tensor(tape, pick)->cols != t->rows)
        gb_tape_fail(tape, "rows of %s [%u,%u] cannot be replaced by rows of %s [%u,%u]", t->name,
                     t->rows, t->cols, r->name, r->rows, r->cols);
    gb_node node = ops_node_of(&op_replace);
    node.in[IN_X] = rows;
    node.in[IN_INDEX] = pick;
    node.in[IN_OTHER] = table;
    node.attr[ATTR_MODE] = CHOOSE;
    node.out[0] = table;
    gb_tape_append(tape, &node);
}
