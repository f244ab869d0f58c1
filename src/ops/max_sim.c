/* Late interaction: the sum over the tokens of a query of their greatest product with a token of a
 * passage. Products come from the matmul, chunk by chunk; a chunk is reduced to the best of every
 * passage before the next is made. What was the best is kept, so that the gradient needs no
 * products again. */
#include "ops.h"

#include <math.h>

#define CHUNK_BYTES ((uint64_t)32 << 20) /* of similarities at once */
#define CHUNK_STEP  64   /* chunks are multiples, so that views start at aligned addresses */
#define CLEAR_ROWS  4096 /* rows of no text that one workgroup clears */

/* ---- the best passage token of each query token ---- */

enum { IN_SIMILARITIES, IN_QUERY_TAGS, IN_STARTS, IN_TAGS };
enum { OUT_BEST, OUT_WHERE };
enum { ATTR_FLOOR };

static bool emit_best(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SIMILARITIES]);
    const gb_tensor_info *best = gb_tape_tensor(tape, node->out[OUT_BEST]);
    if (!info->rows || !best->cols)
        return true;
    gb_kernel kernel =
        ops_element_kernel(&emitter->target, "max_sim_forward", info->rows * best->cols);
    ops_spec(&kernel, node->attr[ATTR_FLOOR]);
    for (int i = IN_SIMILARITIES; i <= IN_TAGS; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[OUT_BEST], GB_WRITE);
    ops_bind_tensor(&kernel, 5, node->out[OUT_WHERE], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, MAX_SIM_FORWARD_PUSH, .rows = info->rows, .passages = best->cols,
         .columns = info->cols, .ld4 = info->ld / 4, .best_ld = best->ld);
    kernel.flops = (double)info->rows * info->cols;
    kernel.bytes = 4.0 * info->rows * (info->cols + 2.0 * best->cols);
    return gb_emit(emitter, &kernel, status);
}

static void reference_best(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_SIMILARITIES]);
    const gb_tensor_info *bi = gb_tape_tensor(tape, node->out[OUT_BEST]);
    const uint32_t *starts = gb_reference_u(ref, node->in[IN_STARTS]);
    const uint32_t *tags = gb_reference_u(ref, node->in[IN_TAGS]);
    for (size_t i = 0; i < info->rows; i++) {
        const double *row = gb_reference_f(ref, node->in[IN_SIMILARITIES]) + i * info->ld;
        double *best = gb_reference_f(ref, node->out[OUT_BEST]) + i * bi->ld;
        uint32_t *where = gb_reference_u(ref, node->out[OUT_WHERE]) + i * bi->cols;
        uint32_t tag = gb_reference_u(ref, node->in[IN_QUERY_TAGS])[i];
        for (uint32_t p = 0; p < bi->cols; p++) {
            double top = node->attr[ATTR_FLOOR] ? 0 : -INFINITY;
            where[p] = GB_NO_ROW;
            for (uint32_t j = starts[p]; j < starts[p + 1] && j < info->cols; j++)
                if (tag != GB_NO_ROW && tags[j] == tag && row[j] > top) {
                    top = row[j];
                    where[p] = j;
                }
            best[p] = where[p] == GB_NO_ROW ? 0 : top;
        }
    }
}

static const gb_op op_best = {"max_sim_best", emit_best, NULL, reference_best};

/* ---- their sums ---- */

enum { IN_BEST, IN_WHERE, IN_Q, IN_P, IN_QUERY_STARTS, IN_PASSAGE_STARTS, IN_DSCORES };

static bool emit_sum(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                     gb_status *status)
{
    const gb_tensor_info *best = gb_tape_tensor(tape, node->in[IN_BEST]);
    const gb_tensor_info *scores = gb_tape_tensor(tape, node->out[0]);
    if (!scores->rows || !scores->cols)
        return true;
    gb_kernel kernel =
        ops_element_kernel(&emitter->target, "max_sim_sum", scores->rows * scores->cols);
    ops_bind_tensor(&kernel, 0, node->in[IN_BEST], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_QUERY_STARTS], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_PASSAGE_STARTS], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], GB_WRITE);
    push(&kernel, MAX_SIM_SUM_PUSH, .rows = best->rows, .queries = scores->rows,
         .passages = scores->cols, .best_ld = best->ld, .scores_ld = scores->ld);
    kernel.flops = (double)best->rows * best->cols;
    kernel.bytes = 4.0 * best->rows * best->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_sum(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *bi = gb_tape_tensor(tape, node->in[IN_BEST]);
    const gb_tensor_info *si = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *starts = gb_reference_u(ref, node->in[IN_QUERY_STARTS]);
    const uint32_t *passage_starts = gb_reference_u(ref, node->in[IN_PASSAGE_STARTS]);
    const double *best = gb_reference_f(ref, node->in[IN_BEST]);
    double *scores = gb_reference_f(ref, node->out[0]);
    for (uint32_t q = 0; q < si->rows; q++)
        for (uint32_t p = 0; p < si->cols; p++) {
            double sum = passage_starts[p + 1] == GB_NO_ROW ? -INFINITY : 0;
            for (uint32_t i = starts[q]; i < starts[q + 1]; i++)
                sum += best[(size_t)i * bi->ld + p];
            scores[(size_t)q * si->ld + p] = sum;
        }
}

/* ---- gradients ---- */

static bool emit_gradient(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                          gb_status *status, bool of_passages)
{
    const gb_tensor_info *qi = gb_tape_tensor(tape, node->in[IN_Q]);
    const gb_tensor_info *pi = gb_tape_tensor(tape, node->in[IN_P]);
    const gb_tensor_info *scores = gb_tape_tensor(tape, node->in[IN_DSCORES]);
    uint32_t lanes = ops_lanes(&emitter->target), ld4 = qi->ld / 4;
    uint32_t column_groups = (ld4 + lanes - 1) / lanes;
    gb_kernel kernel =
        ops_kernel_of(of_passages ? "max_sim_backward_p" : "max_sim_backward_q", NULL);
    ops_spec(&kernel, lanes);
    ops_bind_tensor(&kernel, 0, node->in[of_passages ? IN_Q : IN_P], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_DSCORES], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_WHERE], GB_READ);
    ops_bind_tensor(&kernel, 3, node->in[IN_QUERY_STARTS], GB_READ);
    if (of_passages) {
        ops_spec(&kernel, CLEAR_ROWS);
        ops_bind_tensor(&kernel, 4, node->in[IN_PASSAGE_STARTS], GB_READ);
    }
    ops_bind_tensor(&kernel, of_passages ? 5 : 4, node->out[0],
                    of_passages ? GB_READ_WRITE : GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, MAX_SIM_BACKWARD_PUSH, .query_rows = qi->rows, .passage_rows = pi->rows,
         .queries = scores->rows, .passages = scores->cols, .q_ld4 = ld4, .p_ld4 = ld4,
         .scores_ld = scores->ld, .column_groups = column_groups);
    uint32_t clearing = (pi->rows + CLEAR_ROWS - 1) / CLEAR_ROWS;
    uint32_t groups = of_passages ? scores->cols + clearing : qi->rows;
    gb_grid(&emitter->target, groups * column_groups, kernel.grid);
    kernel.flops = 2.0 * qi->rows * scores->cols * qi->cols;
    kernel.bytes = 4.0 * qi->rows * scores->cols * qi->cols;
    uint64_t iterations =
        of_passages ? (uint64_t)qi->rows + scores->rows + CLEAR_ROWS : scores->cols;
    return ops_check_iterations(&emitter->target, iterations, "max_sim", status) &&
           gb_emit(emitter, &kernel, status);
}

static bool emit_q(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return !gb_tape_tensor(tape, node->in[IN_Q])->rows ||
           emit_gradient(emitter, tape, node, status, false);
}

static bool emit_p(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    return !gb_tape_tensor(tape, node->in[IN_P])->rows ||
           emit_gradient(emitter, tape, node, status, true);
}

/* out of one side += the weighted rows of the other. */
static void reference_gradient(gb_reference *ref, const gb_tape *tape, const gb_node *node,
                               bool of_passages)
{
    const gb_tensor_info *si = gb_tape_tensor(tape, node->in[IN_DSCORES]);
    const gb_tensor_info *oi = gb_tape_tensor(tape, node->out[0]);
    const double *other = gb_reference_f(ref, node->in[of_passages ? IN_Q : IN_P]);
    const double *weights = gb_reference_f(ref, node->in[IN_DSCORES]);
    const uint32_t *where = gb_reference_u(ref, node->in[IN_WHERE]);
    const uint32_t *starts = gb_reference_u(ref, node->in[IN_QUERY_STARTS]);
    double *out = gb_reference_f(ref, node->out[0]);
    for (size_t at = 0; at < (size_t)oi->rows * oi->ld; at++)
        out[at] = 0;
    for (size_t q = 0; q < si->rows; q++)
        for (uint32_t i = starts[q]; i < starts[q + 1]; i++)
            for (uint32_t p = 0; p < si->cols; p++) {
                uint32_t j = where[(size_t)i * si->cols + p];
                size_t to = of_passages ? j : i, from = of_passages ? i : j;
                for (uint32_t c = 0; c < oi->cols && j != GB_NO_ROW; c++)
                    out[to * oi->ld + c] += weights[q * si->ld + p] * other[from * oi->ld + c];
            }
}

static void reference_q(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    reference_gradient(ref, tape, node, false);
}

static void reference_p(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    reference_gradient(ref, tape, node, true);
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    static const gb_op ops[] = {{"d max_sim queries", emit_q, NULL, reference_q},
                                {"d max_sim passages", emit_p, NULL, reference_p}};
    (void)status;
    for (int side = 0; side < 2; side++) {
        gb_tensor x = node->in[IN_Q + side];
        if (!ops_wants_grad(tape, x))
            continue;
        gb_node gradient = *node;
        gradient.op = &ops[side];
        gradient.in[IN_DSCORES] = ops_grad_of(tape, node->out[0]);
        gradient.out[0] = ops_temp_like(tape, "d tokens", x);
        gb_tape_append(tape, &gradient);
        ops_add_grad(tape, x, gradient.out[0]);
    }
    return true;
}

/* ---- the operation ---- */

gb_max_sim_input gb_max_sim_declare(gb_tape *tape, uint32_t queries, uint32_t query_rows,
                                    uint32_t passages, uint32_t passage_rows)
{
    return (gb_max_sim_input){
        .query_starts = gb_tape_input(tape, "query starts", GB_U32, 1, queries + 1),
        .passage_starts = gb_tape_input(tape, "passage starts", GB_U32, 1, passages + 1),
        .query_tags = gb_tape_input(tape, "query tags", GB_U32, query_rows, 1),
        .passage_tags = gb_tape_input(tape, "passage tags", GB_U32, 1, (passage_rows + 3) / 4 * 4)};
}

static bool fits(gb_tape *tape, const gb_tensor_info *q, const gb_tensor_info *p,
                 const gb_max_sim_input *in)
{
    uint32_t query_tags = gb_tape_tensor(tape, in->query_tags)->rows;
    uint32_t passage_tags = gb_tape_tensor(tape, in->passage_tags)->cols;
    return (q->cols == p->cols && q->rows == query_tags && (p->rows + 3) / 4 * 4 == passage_tags) ||
           gb_tape_fail(tape, "max_sim: tokens [%u,%u] and [%u,%u] with %u and %u tags", q->rows,
                        q->cols, p->rows, p->cols, query_tags, passage_tags);
}

gb_tensor gb_max_sim(gb_tape *tape, gb_tensor q, gb_tensor p, const gb_max_sim_input *in,
                     bool floor)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info qi = *gb_tape_tensor(tape, q), pi = *gb_tape_tensor(tape, p);
    if (!fits(tape, &qi, &pi, in))
        return GB_NO_TENSOR;
    static const gb_op op = {"max_sim", emit_sum, backward, reference_sum};
    uint32_t queries = gb_tape_tensor(tape, in->query_starts)->cols - 1;
    uint32_t passages = gb_tape_tensor(tape, in->passage_starts)->cols - 1;
    uint64_t rows_at_once = CHUNK_BYTES / 4 / (pi.rows + 1) / CHUNK_STEP * CHUNK_STEP;
    rows_at_once = rows_at_once < CHUNK_STEP ? CHUNK_STEP : rows_at_once;
    gb_node sum = ops_node_of(&op);
    sum.in[IN_BEST] = gb_tape_temp(tape, "best of tokens", GB_F32, qi.rows, passages);
    sum.in[IN_WHERE] = gb_tape_temp(tape, "best tokens", GB_U32, qi.rows, passages);
    for (uint32_t row = 0, rows; row < qi.rows; row += rows) {
        rows = qi.rows - row < rows_at_once ? qi.rows - row : (uint32_t)rows_at_once;
        gb_node best = ops_node_of(&op_best);
        best.in[IN_SIMILARITIES] = gb_matmul(tape, GB_NT, gb_tape_view(tape, q, row, rows), p);
        best.in[IN_QUERY_TAGS] = gb_tape_view(tape, in->query_tags, row, rows);
        best.in[IN_STARTS] = in->passage_starts;
        best.in[IN_TAGS] = in->passage_tags;
        best.out[OUT_BEST] = gb_tape_view(tape, sum.in[IN_BEST], row, rows);
        best.out[OUT_WHERE] = gb_tape_view(tape, sum.in[IN_WHERE], row, rows);
        best.attr[ATTR_FLOOR] = floor;
        gb_tape_append(tape, &best);
    }
    sum.in[IN_Q] = q;
    sum.in[IN_P] = p;
    sum.in[IN_QUERY_STARTS] = in->query_starts;
    sum.in[IN_PASSAGE_STARTS] = in->passage_starts;
    sum.out[0] = gb_tape_temp(tape, "late scores", GB_F32, queries, passages);
    gb_tape_append(tape, &sum);
    return sum.out[0];
}
