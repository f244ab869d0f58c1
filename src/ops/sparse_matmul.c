/* Weighted sums of rows by lists from the host: means of spans of states, and their gradient, which
 * is the same operation with the lists transposed. */
#include "ops.h"

#include <string.h>

enum { IN_X, IN_STARTS, IN_ORDER, IN_WEIGHTS, IN_OTHER, IN_BACK };
enum { ATTR_LONGEST, ATTR_LONGEST_BACK };

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("sparse_matmul", NULL);
    uint32_t entries = gb_tape_tensor(tape, node->in[IN_ORDER])->cols;
    ops_long_row_kernel(&kernel, &emitter->target, info->rows,
                        (uint64_t)(node->attr[ATTR_LONGEST] + 1) * (info->ld / 4));
    ops_spec(&kernel, node->in[IN_OTHER] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_STARTS], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_ORDER], GB_READ);
    ops_bind_tensor(&kernel, 3, node->in[IN_WEIGHTS], GB_READ);
    ops_bind_tensor(&kernel, 4, node->in[IN_OTHER], GB_READ);
    ops_bind_tensor(&kernel, 5, node->out[0], GB_WRITE);
    push(&kernel, COMBINE_ROWS_PUSH, .rows = info->rows, .ld4 = info->ld / 4,
         .source_rows = gb_tape_tensor(tape, node->in[IN_X])->rows, .entries = entries);
    kernel.flops = 2.0 * entries * info->cols; /* at most */
    kernel.bytes = 4.0 * ((double)entries + info->rows) * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *starts = gb_reference_u(ref, node->in[IN_STARTS]);
    const uint32_t *order = gb_reference_u(ref, node->in[IN_ORDER]);
    const double *weights = gb_reference_f(ref, node->in[IN_WEIGHTS]);
    const double *x = gb_reference_f(ref, node->in[IN_X]);
    const double *other = gb_reference_f(ref, node->in[IN_OTHER]);
    double *y = gb_reference_f(ref, node->out[0]);
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++) {
            double sum = other ? other[(size_t)r * info->ld + c] : 0;
            for (uint32_t k = starts[r]; k < starts[r + 1]; k++)
                sum += weights[k] * x[(size_t)order[k] * info->ld + c];
            y[(size_t)r * info->ld + c] = sum;
        }
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"sparse_matmul", emit, backward, reference};

/* x combined by the lists at in[lists..], or, backwards, by those at in[IN_BACK..]. */
static gb_node combination(const gb_csr *there, const gb_csr *back, gb_tensor x)
{
    gb_node node = ops_node_of(&op);
    const gb_csr *lists[2] = {there, back};
    node.in[IN_X] = x;
    for (int i = 0; i < 2; i++) {
        int at = i ? IN_BACK : IN_STARTS;
        node.in[at] = lists[i]->starts;
        node.in[at + 1] = lists[i]->order;
        node.in[at + 2] = lists[i]->weights;
        node.attr[i] = lists[i]->max_length;
    }
    return node;
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor x = node->in[IN_X];
    if (!ops_wants_grad(tape, x))
        return true;
    const gb_tensor *in = node->in;
    gb_csr there = {in[IN_STARTS], in[IN_ORDER], in[IN_WEIGHTS], node->attr[ATTR_LONGEST]};
    gb_csr back = {in[IN_BACK], in[IN_BACK + 1], in[IN_BACK + 2], node->attr[ATTR_LONGEST_BACK]};
    gb_node gradient = combination(&back, &there, ops_grad_of(tape, node->out[0]));
    gradient.in[IN_OTHER] = ops_old_grad(tape, x);
    gradient.out[0] = ops_temp_like(tape, "d combined", x);
    gb_tape_append(tape, &gradient);
    ops_set_grad(tape, x, gradient.out[0]);
    return true;
}

static gb_csr lists_input(gb_tape *tape, const char *name, uint32_t rows, uint32_t entries,
                          uint32_t max_length)
{
    return (gb_csr){.starts = gb_tape_input(tape, name, GB_U32, 1, rows + 1),
                    .order = gb_tape_input(tape, "combined rows", GB_U32, 1, entries),
                    .weights = gb_tape_input(tape, "their weights", GB_F32, 1, entries),
                    .max_length = max_length};
}

gb_sparse gb_sparse_input(gb_tape *tape, uint32_t rows, uint32_t rows_of_x, uint32_t entries,
                          uint32_t max_length, uint32_t max_uses)
{
    return (gb_sparse){
        .there = lists_input(tape, "lists of rows", rows, entries, max_length),
        .back = lists_input(tape, "lists back", rows_of_x, entries, max_uses),
        .rows = rows,
        .rows_of_x = rows_of_x,
        .entries = entries,
    };
}

/* Lists as the device will read them. */
typedef struct filled {
    uint32_t *starts; /* [rows + 1] */
    uint32_t *order;  /* [entries] */
    float *weights;   /* [entries] */
} filled;

static bool open_lists(gb_executable *exec, const gb_csr *lists, filled *to, gb_status *status)
{
    to->starts = gb_executable_input(exec, lists->starts, status);
    to->order = to->starts ? gb_executable_input(exec, lists->order, status) : NULL;
    to->weights = to->order ? gb_executable_input(exec, lists->weights, status) : NULL;
    return to->weights != NULL;
}

/* Both ways, for `count` rows combined. */
static bool open_both(gb_executable *exec, const gb_sparse *in, uint32_t count, filled *there,
                      filled *back, gb_status *status)
{
    return open_lists(exec, &in->there, there, status) &&
           open_lists(exec, &in->back, back, status) &&
           (count <= in->entries || gb_fail(status, GB_INTERNAL, NULL, NULL,
                                            "%u rows combined, %u expected", count, in->entries));
}

bool gb_sparse_fill(gb_executable *exec, const gb_sparse *in, const uint32_t *starts,
                    const uint32_t *order, const float *weights, gb_status *status)
{
    filled there, back;
    uint32_t count = starts[in->rows];
    if (!open_both(exec, in, count, &there, &back, status))
        return false;
    memcpy(there.starts, starts, sizeof *starts * (in->rows + 1));
    memcpy(there.order, order, sizeof *order * count);
    memcpy(there.weights, weights, sizeof *weights * count);
    /* Transposed by a counting sort, so that each list keeps the order of the rows. */
    uint32_t *next = back.starts;
    memset(next, 0, sizeof *next * (in->rows_of_x + 1));
    for (uint32_t k = 0; k < count; k++)
        next[order[k] + 1]++;
    for (uint32_t x = 0; x < in->rows_of_x; x++)
        next[x + 1] += next[x];
    for (uint32_t r = 0; r < in->rows; r++)
        for (uint32_t k = starts[r]; k < starts[r + 1]; k++) {
            uint32_t at = next[order[k]]++;
            back.order[at] = r;
            back.weights[at] = weights[k];
        }
    memmove(next + 1, next, sizeof *next * in->rows_of_x);
    next[0] = 0;
    return true;
}

bool gb_sparse_fill_means(gb_executable *exec, const gb_sparse *in, const uint32_t *starts,
                          uint32_t count, uint32_t skip, gb_status *status)
{
    filled there, back;
    uint32_t entries = 0;
    if (!open_both(exec, in, starts[count] - starts[0], &there, &back, status))
        return false;
    for (uint32_t x = 0; x < starts[0]; x++)
        back.starts[x] = 0;
    for (uint32_t r = 0; r < count; r++) {
        uint32_t rows = starts[r + 1] - starts[r], first = starts[r] + (skip < rows ? skip : rows);
        there.starts[r] = entries;
        for (uint32_t x = starts[r]; x < starts[r + 1]; x++) {
            back.starts[x] = entries; /* a row of x is in one mean at most */
            if (x < first)
                continue;
            there.order[entries] = x;
            back.order[entries] = r;
            there.weights[entries] = back.weights[entries] = 1.0f / (float)(starts[r + 1] - first);
            entries++;
        }
    }
    for (uint32_t r = count; r <= in->rows; r++)
        there.starts[r] = entries;
    for (uint32_t x = starts[count]; x <= in->rows_of_x; x++)
        back.starts[x] = entries;
    return true;
}

gb_tensor gb_sparse_matmul(gb_tape *tape, gb_tensor x, const gb_sparse *in)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    const gb_tensor_info *info = gb_tape_tensor(tape, x);
    if (info->rows != in->rows_of_x)
        gb_tape_fail(tape, "%s has %u rows, lists are for %u", info->name, info->rows,
                     in->rows_of_x);
    gb_node node = combination(&in->there, &in->back, x);
    node.out[0] = gb_tape_temp(tape, "combined", GB_F32, in->rows, info->cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}
