/* Multi-head attention inside sequences of a batch (Vaswani et al., 2017): streaming softmax
 * forward; backward in two passes (queries, then keys and values), no atomics. */
#include "attention_kernel.h"

#include <math.h>

enum { IN_SEQUENCES, IN_Q, IN_KV, IN_BITS, IN_OUT, IN_DOUT, IN_LSE };
enum { OUT_Y, OUT_LSE };
enum {
    ATTR_HEADS,
    ATTR_MASK,
    ATTR_WINDOW,
    ATTR_LONGEST,
    ATTR_DROPOUT,
    ATTR_SITE,
    ATTR_Q_COL,
    ATTR_K_COL,
    ATTR_V_COL,
    ATTR_WIDTH,
    ATTR_SELECTED
};

/* How the words of the sequences input lie, see gb_sequences_input and gb_selection_input. */
typedef struct sequences_layout {
    uint32_t count;      /* sequences */
    uint32_t queries_at; /* starts of their queries */
    uint32_t rows_at;    /* rows of the queries; 0: a query's place is its row */
} sequences_layout;

static sequences_layout layout_of(const gb_tape *tape, const gb_node *node)
{
    uint32_t words = gb_tape_tensor(tape, node->in[IN_SEQUENCES])->cols - GB_SEQUENCES_HEADER;
    if (!node->attr[ATTR_SELECTED])
        return (sequences_layout){words - 1, GB_SEQUENCES_HEADER, 0};
    uint32_t starts = (words - gb_tape_tensor(tape, node->in[IN_Q])->rows) / 2;
    return (sequences_layout){starts - 1, GB_SEQUENCES_HEADER + starts,
                              GB_SEQUENCES_HEADER + 2 * starts};
}

static uint32_t head_dim_of(const gb_node *node)
{
    return node->attr[ATTR_WIDTH] / node->attr[ATTR_HEADS];
}

/* Start of one of the three kernels. */
static gb_kernel attention_kernel(const attention_choice *choice, const gb_tape *tape,
                                  const gb_node *node)
{
    uint32_t width = node->attr[ATTR_WIDTH], sequences = layout_of(tape, node).count;
    uint32_t queries = gb_tape_tensor(tape, node->in[IN_Q])->rows;
    uint32_t rows = gb_tape_tensor(tape, node->in[IN_KV])->rows;
    gb_kernel kernel = ops_attention_kernel(choice, head_dim_of(node), node->attr[ATTR_MASK],
                                            gb_bits_float(node->attr[ATTR_DROPOUT]) > 0);
    /* A lower bound, as lengths are not known here: rows of unequal sequences meet more keys (the
     * mean of squares is at least the square of the mean). */
    double mean = sequences ? (double)rows / sequences : 0;
    kernel.flops = 4.0 * queries * mean * width;
    kernel.bytes = 8.0 * (rows + queries) * width;
    return kernel;
}

/* The gradients lie as queries, keys and values do. */
static void push_all(gb_kernel *kernel, const gb_tape *tape, const gb_node *node, uint32_t strips)
{
    const uint32_t *attr = node->attr;
    uint32_t heads = attr[ATTR_HEADS], head_dim = attr[ATTR_WIDTH] / heads;
    uint32_t q_ld4 = gb_tape_tensor(tape, node->in[IN_Q])->ld / 4;
    uint32_t kv_ld4 = gb_tape_tensor(tape, node->in[IN_KV])->ld / 4;
    gb_tensor bits = node->in[IN_BITS];
    sequences_layout layout = layout_of(tape, node);
    float p = gb_bits_float(attr[ATTR_DROPOUT]);
    push(kernel, ATTENTION_PUSH, .sequences = layout.count, .heads = heads, .strips = strips,
         .q_ld4 = q_ld4, .q_col4 = attr[ATTR_Q_COL] / 4, .kv_ld4 = kv_ld4,
         .k_col4 = attr[ATTR_K_COL] / 4, .v_col4 = attr[ATTR_V_COL] / 4,
         .out_ld4 = attr[ATTR_WIDTH] / 4, .lse_ld = (2 * heads + 3) & ~3u,
         .window = attr[ATTR_WINDOW],
         .mask_ld = bits == GB_NO_TENSOR ? 0 : gb_tape_tensor(tape, bits)->ld,
         .scale = 1.0f / sqrtf((float)head_dim), .dropout_index = attr[ATTR_SITE],
         .threshold = ops_keep_threshold(p), .keep_scale = 1.0f / (1.0f - p), .dq_ld4 = q_ld4,
         .dq_col4 = attr[ATTR_Q_COL] / 4, .dkv_ld4 = kv_ld4, .dk_col4 = attr[ATTR_K_COL] / 4,
         .dv_col4 = attr[ATTR_V_COL] / 4, .queries_at = layout.queries_at,
         .rows_at = layout.rows_at);
}

/* The shuffling kernels of CPU drivers (common/attention_cpu.glsl) are unrolled over the head
 * dimension: not for very wide heads. */
#define WIDEST_UNROLLED 64

/* Emit a bound kernel whose operands `mask` may be read as texels. A CPU has few cores: there one
 * workgroup walks a whole (sequence, head), unless its loops would be too long; kernels on texels
 * know no other way. */
static bool emit_kernel(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                        const attention_choice *choice, gb_kernel *kernel, uint32_t mask,
                        gb_status *status)
{
    const gb_target *target = &emitter->target;
    uint64_t max_length = node->attr[ATTR_LONGEST], own = choice->rows;
    uint64_t strips = (max_length + own - 1) / own;
    if (!ops_check_iterations(target, max_length + 1, "attention", status))
        return false;
    if (choice->by_lanes && head_dim_of(node) <= WIDEST_UNROLLED &&
        !(target->avoid & GB_QUIRK_NO_SHUFFLE_ATTENTION) &&
        ops_iterations_fit(target, strips * (strips + 1)))
        gb_use_texels(target, tape, kernel, mask);
    if (kernel->texels ||
        (choice->by_lanes && ops_iterations_fit(target, strips * (max_length + 1))))
        strips = 1;
    push_all(kernel, tape, node, (uint32_t)strips);
    gb_grid(target, layout_of(tape, node).count * node->attr[ATTR_HEADS] * (uint32_t)strips,
            kernel->grid);
    return gb_emit(emitter, kernel, status);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    attention_choice choice =
        ops_attention_choose(&emitter->target, ATTENTION_FORWARD, false, head_dim_of(node));
    gb_kernel kernel = attention_kernel(&choice, tape, node);
    ops_bind_tensor(&kernel, 0, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_Q], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_KV], GB_READ);
    ops_bind_tensor(&kernel, 3, node->in[IN_BITS], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[OUT_Y], GB_WRITE);
    ops_bind_tensor(&kernel, 5, node->out[OUT_LSE], GB_WRITE);
    return emit_kernel(emitter, tape, node, &choice, &kernel, 1 << 1 | 1 << 2, status);
}

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    gb_tensor dq = node->out[0], dkv = node->out[1] == GB_NO_TENSOR ? dq : node->out[1];
    attention_choice choice =
        ops_attention_choose(&emitter->target, ATTENTION_BACKWARD_Q, false, head_dim_of(node));
    gb_kernel kernel = attention_kernel(&choice, tape, node);
    kernel.flops *= 1.5;
    ops_bind_tensor(&kernel, 0, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_Q], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_KV], GB_READ);
    ops_bind_tensor(&kernel, 3, node->in[IN_BITS], GB_READ);
    ops_bind_tensor(&kernel, 4, node->in[IN_OUT], GB_READ);
    ops_bind_tensor(&kernel, 5, node->in[IN_DOUT], GB_READ);
    ops_bind_tensor(&kernel, 6, node->in[IN_LSE], GB_READ_WRITE);
    ops_bind_tensor(&kernel, 7, dq, GB_WRITE);
    if (!emit_kernel(emitter, tape, node, &choice, &kernel, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5,
                     status))
        return false;
    choice =
        ops_attention_choose(&emitter->target, ATTENTION_BACKWARD_KV, false, head_dim_of(node));
    kernel = attention_kernel(&choice, tape, node);
    kernel.flops *= 2;
    ops_bind_tensor(&kernel, 0, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_Q], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_KV], GB_READ);
    ops_bind_tensor(&kernel, 3, node->in[IN_BITS], GB_READ);
    ops_bind_tensor(&kernel, 4, node->in[IN_DOUT], GB_READ);
    ops_bind_tensor(&kernel, 5, node->in[IN_LSE], GB_READ);
    ops_bind_tensor(&kernel, 6, dkv, GB_WRITE);
    return emit_kernel(emitter, tape, node, &choice, &kernel, 1 << 1 | 1 << 2 | 1 << 4, status);
}

/* ---- reference ---- */

/* Everything about one (sequence, head) that both directions need. */
typedef struct head_view {
    const double *q;              /* first query of the batch */
    const double *kv;             /* first row of the sequence */
    uint32_t q_ld, kv_ld;         /* row strides */
    uint32_t q_col, k_col, v_col; /* first column of the head */
    uint32_t start, length;       /* rows of the sequence */
    uint32_t first, queries;      /* its queries */
    const uint32_t *rows;         /* of the batch, of all queries; NULL: they are all rows */
    uint32_t head, head_dim;      /* which head, its width */
} head_view;

/* i: place of the query's row in its sequence. */
static bool sees(const gb_node *node, const uint32_t *bits, uint32_t bits_ld, uint32_t query,
                 uint32_t i, uint32_t j)
{
    switch (node->attr[ATTR_MASK]) {
    case GB_MASK_CAUSAL:
        return j <= i;
    case GB_MASK_WINDOW:
        return j == 0 || (j <= i && j + node->attr[ATTR_WINDOW] > i);
    case GB_MASK_BITS:
        return bits[(size_t)query * bits_ld + j / 32] >> (j & 31) & 1;
    default:
        return true;
    }
}

static double keep_factor(const gb_node *node, const uint32_t *sequences, uint32_t row, uint32_t j,
                          uint32_t head)
{
    float p = gb_bits_float(node->attr[ATTR_DROPOUT]);
    if (p <= 0)
        return 1;
    uint32_t counter[4] = {sequences[3] + row, head << 16 | j >> 2, sequences[2],
                           node->attr[ATTR_SITE] << 4 | GB_RNG_DROPOUT};
    uint32_t bits[4];
    gb_philox(counter, sequences, bits);
    return bits[j & 3] >= ops_keep_threshold(p) ? 1.0 / (1.0 - p) : 0;
}

static head_view view_of(gb_reference *ref, const gb_tape *tape, const gb_node *node, uint32_t s,
                         uint32_t head)
{
    sequences_layout layout = layout_of(tape, node);
    const uint32_t *words = gb_reference_u(ref, node->in[IN_SEQUENCES]);
    const uint32_t *starts = words + GB_SEQUENCES_HEADER, *queries = words + layout.queries_at;
    uint32_t head_dim = node->attr[ATTR_WIDTH] / node->attr[ATTR_HEADS], offset = head * head_dim;
    head_view view = {.q_ld = gb_tape_tensor(tape, node->in[IN_Q])->ld,
                      .kv_ld = gb_tape_tensor(tape, node->in[IN_KV])->ld,
                      .q_col = node->attr[ATTR_Q_COL] + offset,
                      .k_col = node->attr[ATTR_K_COL] + offset,
                      .v_col = node->attr[ATTR_V_COL] + offset,
                      .start = starts[s],
                      .length = starts[s + 1] - starts[s],
                      .first = queries[s],
                      .queries = queries[s + 1] - queries[s],
                      .rows = layout.rows_at ? words + layout.rows_at : NULL,
                      .head = head,
                      .head_dim = head_dim};
    view.q = gb_reference_f(ref, node->in[IN_Q]);
    view.kv = gb_reference_f(ref, node->in[IN_KV]) + (size_t)view.start * view.kv_ld;
    return view;
}

/* Row of the batch that a query is. */
static uint32_t row_of(const head_view *v, uint32_t query)
{
    return v->rows ? v->rows[query] : query;
}

static double score(const head_view *v, uint32_t query, uint32_t j)
{
    double dot = 0;
    for (uint32_t d = 0; d < v->head_dim; d++)
        dot += v->q[(size_t)query * v->q_ld + v->q_col + d] *
               v->kv[(size_t)j * v->kv_ld + v->k_col + d];
    return dot / sqrt(v->head_dim);
}

static void reference_row(gb_reference *ref, const gb_tape *tape, const gb_node *node,
                          const head_view *v, uint32_t query)
{
    const uint32_t *sequences = gb_reference_u(ref, node->in[IN_SEQUENCES]);
    const uint32_t *bits =
        node->in[IN_BITS] == GB_NO_TENSOR ? NULL : gb_reference_u(ref, node->in[IN_BITS]);
    uint32_t bits_ld = bits ? gb_tape_tensor(tape, node->in[IN_BITS])->ld : 0;
    uint32_t width = node->attr[ATTR_WIDTH], row = row_of(v, query), i = row - v->start;
    uint32_t lse_ld = gb_tape_tensor(tape, node->out[OUT_LSE])->ld;
    double top = -INFINITY, sum = 0;
    for (uint32_t j = 0; j < v->length; j++)
        if (sees(node, bits, bits_ld, query, i, j))
            top = fmax(top, score(v, query, j));
    for (uint32_t j = 0; j < v->length; j++)
        if (sees(node, bits, bits_ld, query, i, j))
            sum += exp(score(v, query, j) - top);
    double *y =
        gb_reference_f(ref, node->out[OUT_Y]) + (size_t)query * width + v->head * v->head_dim;
    for (uint32_t d = 0; d < v->head_dim; d++)
        y[d] = 0;
    for (uint32_t j = 0; j < v->length; j++) {
        if (!sees(node, bits, bits_ld, query, i, j))
            continue;
        double p =
            exp(score(v, query, j) - top) / sum * keep_factor(node, sequences, row, j, v->head);
        for (uint32_t d = 0; d < v->head_dim; d++)
            y[d] += p * v->kv[(size_t)j * v->kv_ld + v->v_col + d];
    }
    gb_reference_f(ref, node->out[OUT_LSE])[(size_t)query * lse_ld + v->head] =
        sum > 0 ? top + log(sum) : 3.0e38;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    uint32_t count = layout_of(tape, node).count;
    for (uint32_t s = 0; s < count; s++)
        for (uint32_t h = 0; h < node->attr[ATTR_HEADS]; h++) {
            head_view view = view_of(ref, tape, node, s, h);
            for (uint32_t i = 0; i < view.queries; i++)
                reference_row(ref, tape, node, &view, view.first + i);
        }
}

/* Gradient of a query against key j, added to dq, dk, dv. */
static void reference_pair(gb_reference *ref, const gb_node *node, const head_view *v,
                           uint32_t query, uint32_t j, double lse, double delta)
{
    const uint32_t *sequences = gb_reference_u(ref, node->in[IN_SEQUENCES]);
    uint32_t width = node->attr[ATTR_WIDTH], row = row_of(v, query);
    const double *dout =
        gb_reference_f(ref, node->in[IN_DOUT]) + (size_t)query * width + v->head * v->head_dim;
    double *dq = gb_reference_f(ref, node->out[0]) + (size_t)query * v->q_ld + v->q_col;
    double *dkv = gb_reference_f(ref, node->out[1] == GB_NO_TENSOR ? node->out[0] : node->out[1]) +
                  (size_t)(v->start + j) * v->kv_ld;
    double p = exp(score(v, query, j) - lse), kept = keep_factor(node, sequences, row, j, v->head),
           dp = 0;
    for (uint32_t d = 0; d < v->head_dim; d++)
        dp += dout[d] * v->kv[(size_t)j * v->kv_ld + v->v_col + d];
    double ds = p * (dp * kept - delta) / sqrt(v->head_dim);
    for (uint32_t d = 0; d < v->head_dim; d++) {
        dq[d] += ds * v->kv[(size_t)j * v->kv_ld + v->k_col + d];
        dkv[v->k_col + d] += ds * v->q[(size_t)query * v->q_ld + v->q_col + d];
        dkv[v->v_col + d] += p * kept * dout[d];
    }
}

static void reference_grad(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    uint32_t count = layout_of(tape, node).count;
    const uint32_t *bits =
        node->in[IN_BITS] == GB_NO_TENSOR ? NULL : gb_reference_u(ref, node->in[IN_BITS]);
    uint32_t bits_ld = bits ? gb_tape_tensor(tape, node->in[IN_BITS])->ld : 0;
    uint32_t width = node->attr[ATTR_WIDTH], heads = node->attr[ATTR_HEADS];
    const gb_tensor_info *lse_info = gb_tape_tensor(tape, node->in[IN_LSE]);
    for (int o = 0; o < 2; o++)
        for (size_t e = 0;
             node->out[o] != GB_NO_TENSOR && e < (size_t)gb_tape_tensor(tape, node->out[o])->rows *
                                                     gb_tape_tensor(tape, node->out[o])->ld;
             e++)
            gb_reference_f(ref, node->out[o])[e] = 0;
    for (uint32_t sh = 0; sh < count * heads; sh++) {
        head_view v = view_of(ref, tape, node, sh / heads, sh % heads);
        for (uint32_t query = v.first; query < v.first + v.queries; query++) {
            size_t at = (size_t)query * width + v.head * v.head_dim;
            const double *out = gb_reference_f(ref, node->in[IN_OUT]) + at;
            const double *dout = gb_reference_f(ref, node->in[IN_DOUT]) + at;
            double *lse = gb_reference_f(ref, node->in[IN_LSE]) + (size_t)query * lse_info->ld;
            double delta = 0;
            for (uint32_t d = 0; d < v.head_dim; d++)
                delta += out[d] * dout[d];
            lse[heads + v.head] = delta;
            for (uint32_t j = 0; j < v.length; j++)
                if (sees(node, bits, bits_ld, query, row_of(&v, query) - v.start, j))
                    reference_pair(ref, node, &v, query, j, lse[v.head], delta);
        }
    }
}

static const gb_op op_grad = {"attention_grad", emit_grad, NULL, reference_grad};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor dout = ops_grad_of(tape, node->out[OUT_Y]);
    gb_node grad = *node;
    grad.op = &op_grad;
    grad.in[IN_OUT] = node->out[OUT_Y];
    grad.in[IN_DOUT] = dout;
    grad.in[IN_LSE] = node->out[OUT_LSE];
    bool together = node->in[IN_Q] == node->in[IN_KV];
    grad.out[0] = ops_temp_like(tape, together ? "d qkv" : "d q", node->in[IN_Q]);
    grad.out[1] = together ? GB_NO_TENSOR : ops_temp_like(tape, "d kv", node->in[IN_KV]);
    grad.out[2] = grad.in[IN_LSE]; /* takes delta */
    gb_tape_append(tape, &grad);
    ops_add_grad(tape, node->in[IN_Q], grad.out[0]);
    if (!together)
        ops_add_grad(tape, node->in[IN_KV], grad.out[1]);
    return true;
}

static const gb_op op = {"attention", emit, backward, reference};

gb_tensor gb_sequences_input(gb_tape *tape, const char *name, uint32_t sequences)
{
    return gb_tape_input(tape, name, GB_U32, 1, GB_SEQUENCES_HEADER + sequences + 1);
}

gb_tensor gb_selection_input(gb_tape *tape, const char *name, uint32_t sequences, uint32_t queries)
{
    return gb_tape_input(tape, name, GB_U32, 1,
                         GB_SEQUENCES_HEADER + 2 * (sequences + 1) + queries);
}

gb_tensor gb_attention(gb_tape *tape, gb_tensor sequences, gb_tensor q, uint32_t q_col,
                       gb_tensor kv, uint32_t k_col, uint32_t v_col, uint32_t width,
                       const gb_attention_params *params)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info qi = *gb_tape_tensor(tape, q), ki = *gb_tape_tensor(tape, kv);
    if (!params->heads || width % params->heads || width / params->heads % 4 || q_col % 4 ||
        k_col % 4 || v_col % 4 || q_col + width > qi.ld || k_col + width > ki.ld ||
        v_col + width > ki.ld)
        gb_tape_fail(tape, "attention of width %u with %u heads on [%u,%u] and [%u,%u]", width,
                     params->heads, qi.rows, qi.cols, ki.rows, ki.cols);
    if (!params->selected && qi.rows != ki.rows)
        gb_tape_fail(tape, "attention of %u rows to %u without a selection", qi.rows, ki.rows);
    gb_node node = ops_node_of(&op);
    node.in[IN_SEQUENCES] = sequences;
    node.in[IN_Q] = q;
    node.in[IN_KV] = kv;
    node.in[IN_BITS] = params->mask == GB_MASK_BITS ? params->bits : GB_NO_TENSOR;
    uint32_t attr[] = {params->heads,
                       params->mask,
                       params->window,
                       params->max_length,
                       gb_float_bits(params->dropout),
                       params->dropout_index,
                       q_col,
                       k_col,
                       v_col,
                       width,
                       params->selected};
    for (size_t i = 0; i < sizeof attr / sizeof *attr; i++)
        node.attr[i] = attr[i];
    node.out[OUT_Y] = gb_tape_temp(tape, "attended", GB_F32, qi.rows, width);
    node.out[OUT_LSE] = gb_tape_temp(tape, "lse", GB_F32, qi.rows, 2 * params->heads);
    gb_tape_append(tape, &node);
    return node.out[OUT_Y];
}
