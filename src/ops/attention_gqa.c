/* Attention of rows over rows of the same or of another list: with a learned bias by distance (T5,
 * Raffel et al., 2020), with heads of keys that several heads of queries share (Ainslie et al.,
 * 2023), and with queries that are the last of longer sequences of keys, as in a cache. */
#include "attention_kernel.h"

#include <math.h>

enum { IN_SPANS, IN_Q, IN_KV, IN_BIAS, IN_OUT, IN_DOUT, IN_LSE };
enum { OUT_Y, OUT_LSE };
enum { GRAD_Q, GRAD_KV, GRAD_BIAS, GRAD_LSE };
enum {
    ATTR_HEADS,
    ATTR_KV_HEADS,
    ATTR_HEAD_DIM,
    ATTR_SCALE,
    ATTR_CAUSAL,
    ATTR_LONGEST_Q,
    ATTR_LONGEST_K,
    ATTR_Q_COL,
    ATTR_K_COL,
    ATTR_V_COL
};

/* Start of a kernel whose workgroups own rows of up to `rows` of each of `heads` heads, and whose
 * lanes take up to `iterations` rows of the other side. */
static bool start(gb_kernel *kernel, const attention_choice *choice, const gb_target *target,
                  const gb_tape *tape, const gb_node *node, uint32_t heads, uint32_t rows,
                  uint64_t iterations, gb_status *status)
{
    const uint32_t *attr = node->attr;
    const gb_tensor_info *q = gb_tape_tensor(tape, node->in[IN_Q]);
    const gb_tensor_info *kv = gb_tape_tensor(tape, node->in[IN_KV]);
    const gb_tensor_info *bias =
        node->in[IN_BIAS] == GB_NO_TENSOR ? NULL : gb_tape_tensor(tape, node->in[IN_BIAS]);
    uint32_t sequences = gb_tape_tensor(tape, node->in[IN_SPANS])->rows;
    uint32_t strips = (rows + choice->rows - 1) / choice->rows;
    if (!ops_check_iterations(target, iterations, "attention", status))
        return false;
    *kernel = ops_attention_kernel(choice, attr[ATTR_HEAD_DIM], attr[ATTR_CAUSAL], bias != NULL);
    push(kernel, ATTEND_PUSH, .sequences = sequences, .heads = attr[ATTR_HEADS],
         .share = attr[ATTR_HEADS] / attr[ATTR_KV_HEADS], .strips = strips, .q_ld4 = q->ld / 4,
         .q_col4 = attr[ATTR_Q_COL] / 4, .kv_ld4 = kv->ld / 4, .k_col4 = attr[ATTR_K_COL] / 4,
         .v_col4 = attr[ATTR_V_COL] / 4, .out_ld4 = attr[ATTR_HEADS] * attr[ATTR_HEAD_DIM] / 4,
         .lse_ld = (2 * attr[ATTR_HEADS] + 3) & ~3u, .bias_ld = bias ? bias->ld : 0,
         .reach = bias ? bias->rows / 2 : 0, .scale = gb_bits_float(attr[ATTR_SCALE]));
    gb_grid(target, sequences * heads * strips, kernel->grid);
    /* As if all sequences of keys were as long as the mean: lengths are not known here. */
    double mean = sequences ? (double)kv->rows / sequences : 0;
    kernel->flops = 4.0 * q->rows * mean * attr[ATTR_HEADS] * attr[ATTR_HEAD_DIM];
    kernel->bytes = 16.0 * q->rows * attr[ATTR_HEADS] * attr[ATTR_HEAD_DIM];
    return true;
}

/* What the kernel reads, on CPU drivers as texels; `rest` at bindings 4, 5... */
static void bind_all(gb_kernel *kernel, const attention_choice *choice, const gb_target *target,
                     const gb_tape *tape, const gb_node *node, const gb_tensor *rest,
                     uint32_t count)
{
    for (int i = IN_SPANS; i <= IN_BIAS; i++)
        ops_bind_tensor(kernel, i, node->in[i], GB_READ);
    for (uint32_t i = 0; i < count; i++)
        ops_bind_tensor(kernel, (int)i + 4, rest[i], GB_READ);
    if (choice->by_lanes)
        gb_use_texels(target, tape, kernel, 0xe | ((1u << count) - 1) << 4);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_target *target = &emitter->target;
    const uint32_t *attr = node->attr;
    attention_choice choice =
        ops_attention_choose(target, ATTENTION_FORWARD, true, attr[ATTR_HEAD_DIM]);
    gb_kernel kernel;
    if (!start(&kernel, &choice, target, tape, node, attr[ATTR_HEADS], attr[ATTR_LONGEST_Q],
               attr[ATTR_LONGEST_K], status))
        return false;
    bind_all(&kernel, &choice, target, tape, node, NULL, 0);
    ops_bind_tensor(&kernel, 4, node->out[OUT_Y], GB_WRITE);
    ops_bind_tensor(&kernel, 5, node->out[OUT_LSE], GB_WRITE);
    return gb_emit(emitter, &kernel, status);
}

/* Gradient of the bias: a lane an element. */
static bool emit_bias(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      const gb_tensor *read, gb_status *status)
{
    const gb_tensor_info *bias = gb_tape_tensor(tape, node->out[GRAD_BIAS]);
    const gb_target *target = &emitter->target;
    uint32_t lanes = ops_lanes(target);
    attention_choice choice = {.shader = "attention_gqa_backward_bias",
                               .lanes = lanes,
                               .rows = lanes,
                               .by_lanes = true,
                               .spec = {lanes},
                               .spec_count = 1};
    uint64_t iterations = (uint64_t)gb_tape_tensor(tape, node->in[IN_Q])->rows +
                          gb_tape_tensor(tape, node->in[IN_SPANS])->rows;
    gb_kernel kernel;
    if (!start(&kernel, &choice, target, tape, node, 1, 1, iterations, status))
        return false;
    gb_grid(target, (bias->rows * bias->ld + lanes - 1) / lanes, kernel.grid);
    bind_all(&kernel, &choice, target, tape, node, read, 2);
    ops_bind_tensor(&kernel, 6, node->out[GRAD_BIAS], GB_WRITE);
    return gb_emit(emitter, &kernel, status);
}

static bool emit_grad(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    const uint32_t *attr = node->attr;
    gb_tensor dq = node->out[GRAD_Q], dkv = node->out[GRAD_KV];
    const gb_target *target = &emitter->target;
    attention_choice choice =
        ops_attention_choose(target, ATTENTION_BACKWARD_Q, true, attr[ATTR_HEAD_DIM]);
    gb_kernel kernel;
    if (!start(&kernel, &choice, target, tape, node, attr[ATTR_HEADS], attr[ATTR_LONGEST_Q],
               attr[ATTR_LONGEST_K], status))
        return false;
    kernel.flops *= 1.5;
    bind_all(&kernel, &choice, target, tape, node,
             (gb_tensor[]){node->in[IN_OUT], node->in[IN_DOUT]}, 2);
    ops_bind_tensor(&kernel, 6, node->in[IN_LSE], GB_READ_WRITE);
    ops_bind_tensor(&kernel, 7, dq, GB_WRITE);
    if (!gb_emit(emitter, &kernel, status))
        return false;
    const gb_tensor read[] = {node->in[IN_DOUT], node->in[IN_LSE]};
    choice = ops_attention_choose(target, ATTENTION_BACKWARD_KV, true, attr[ATTR_HEAD_DIM]);
    uint32_t share = attr[ATTR_HEADS] / attr[ATTR_KV_HEADS];
    if (!start(&kernel, &choice, target, tape, node, attr[ATTR_KV_HEADS], attr[ATTR_LONGEST_K],
               (uint64_t)attr[ATTR_LONGEST_Q] * share + share, status))
        return false;
    kernel.flops *= 2;
    bind_all(&kernel, &choice, target, tape, node, read, 2);
    ops_bind_tensor(&kernel, 6, dkv == GB_NO_TENSOR ? dq : dkv, GB_WRITE);
    return gb_emit(emitter, &kernel, status) &&
           (node->out[GRAD_BIAS] == GB_NO_TENSOR || emit_bias(emitter, tape, node, read, status));
}

/* ---- reference ---- */

/* One query of one head, and the keys that it sees. */
typedef struct query_view {
    const double *q;         /* its numbers */
    const double *k, *v;     /* those of the first key */
    const double *bias;      /* at key 0, or NULL */
    uint32_t kv_ld, bias_ld; /* strides */
    uint32_t keys, head_dim; /* seen; numbers of a head */
    double scale;            /* of scores */
    size_t q_at, k_at, v_at; /* the same places as offsets, for gradients */
    size_t out_at, lse_at;   /* of the output and its log-sum-exp */
    ptrdiff_t bias_at;       /* of the bias */
} query_view;

static query_view view_of(gb_reference *ref, const gb_tape *tape, const gb_node *node,
                          const uint32_t *span, uint32_t i, uint32_t head)
{
    const uint32_t *attr = node->attr;
    uint32_t dim = attr[ATTR_HEAD_DIM], heads = attr[ATTR_HEADS], row = span[0] + i;
    uint32_t kv_col = head / (heads / attr[ATTR_KV_HEADS]) * dim;
    uint32_t place = i + (attr[ATTR_CAUSAL] && span[3] > span[1] ? span[3] - span[1] : 0);
    size_t q_ld = gb_tape_tensor(tape, node->in[IN_Q])->ld;
    query_view v = {.kv_ld = gb_tape_tensor(tape, node->in[IN_KV])->ld,
                    .keys = attr[ATTR_CAUSAL] && place + 1 < span[3] ? place + 1 : span[3],
                    .head_dim = dim,
                    .scale = gb_bits_float(attr[ATTR_SCALE]),
                    .q_at = row * q_ld + attr[ATTR_Q_COL] + head * dim,
                    .out_at = (size_t)row * heads * dim + head * dim,
                    .lse_at = (size_t)row * ((2 * heads + 3) & ~3u) + head};
    v.k_at = (size_t)span[2] * v.kv_ld + attr[ATTR_K_COL] + kv_col;
    v.v_at = (size_t)span[2] * v.kv_ld + attr[ATTR_V_COL] + kv_col;
    v.q = gb_reference_f(ref, node->in[IN_Q]) + v.q_at;
    v.k = gb_reference_f(ref, node->in[IN_KV]) + v.k_at;
    v.v = gb_reference_f(ref, node->in[IN_KV]) + v.v_at;
    if (node->in[IN_BIAS] != GB_NO_TENSOR) {
        const gb_tensor_info *bias = gb_tape_tensor(tape, node->in[IN_BIAS]);
        v.bias_ld = bias->ld;
        v.bias_at = ((ptrdiff_t)(bias->rows / 2) - (ptrdiff_t)place) * bias->ld + head;
        v.bias = gb_reference_f(ref, node->in[IN_BIAS]);
    }
    return v;
}

static double score(const query_view *v, uint32_t j)
{
    double dot = 0;
    for (uint32_t d = 0; d < v->head_dim; d++)
        dot += v->q[d] * v->k[(size_t)j * v->kv_ld + d];
    return dot * v->scale + (v->bias ? v->bias[v->bias_at + (ptrdiff_t)j * v->bias_ld] : 0);
}

static void reference_query(const query_view *v, double *y, double *lse)
{
    double top = -INFINITY, sum = 0;
    for (uint32_t j = 0; j < v->keys; j++)
        top = fmax(top, score(v, j));
    for (uint32_t j = 0; j < v->keys; j++)
        sum += exp(score(v, j) - top);
    for (uint32_t d = 0; d < v->head_dim; d++) {
        y[v->out_at + d] = 0;
        for (uint32_t j = 0; j < v->keys; j++)
            y[v->out_at + d] += exp(score(v, j) - top) / sum * v->v[(size_t)j * v->kv_ld + d];
    }
    lse[v->lse_at] = sum > 0 ? top + log(sum) : 3.0e38;
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    uint32_t count = gb_tape_tensor(tape, node->in[IN_SPANS])->rows;
    for (uint32_t s = 0; s < count; s++) {
        const uint32_t *span = gb_reference_u(ref, node->in[IN_SPANS]) + (size_t)s * 4;
        for (uint32_t h = 0; h < node->attr[ATTR_HEADS]; h++)
            for (uint32_t i = 0; i < span[1]; i++) {
                query_view v = view_of(ref, tape, node, span, i, h);
                reference_query(&v, gb_reference_f(ref, node->out[OUT_Y]),
                                gb_reference_f(ref, node->out[OUT_LSE]));
            }
    }
}

/* Gradients of one query, added. */
static void reference_query_grad(gb_reference *ref, const gb_node *node, const query_view *v)
{
    const double *out = gb_reference_f(ref, node->in[IN_OUT]) + v->out_at;
    const double *dout = gb_reference_f(ref, node->in[IN_DOUT]) + v->out_at;
    double *lse = gb_reference_f(ref, node->in[IN_LSE]) + v->lse_at, delta = 0;
    double *dq = gb_reference_f(ref, node->out[GRAD_Q]);
    double *dkv = node->out[GRAD_KV] == GB_NO_TENSOR ? dq : gb_reference_f(ref, node->out[GRAD_KV]);
    for (uint32_t d = 0; d < v->head_dim; d++)
        delta += out[d] * dout[d];
    lse[node->attr[ATTR_HEADS]] = delta;
    for (uint32_t j = 0; j < v->keys; j++) {
        size_t at = (size_t)j * v->kv_ld;
        double p = exp(score(v, j) - *lse), dp = 0;
        for (uint32_t d = 0; d < v->head_dim; d++)
            dp += dout[d] * v->v[at + d];
        double ds = p * (dp - delta);
        if (node->out[GRAD_BIAS] != GB_NO_TENSOR)
            gb_reference_f(ref, node->out[GRAD_BIAS])[v->bias_at + (ptrdiff_t)j * v->bias_ld] += ds;
        for (uint32_t d = 0; d < v->head_dim; d++) {
            dq[v->q_at + d] += ds * v->scale * v->k[at + d];
            dkv[v->k_at + at + d] += ds * v->scale * v->q[d];
            dkv[v->v_at + at + d] += p * dout[d];
        }
    }
}

static void reference_grad(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    for (int o = GRAD_Q; o <= GRAD_BIAS; o++) {
        if (node->out[o] == GB_NO_TENSOR)
            continue;
        const gb_tensor_info *info = gb_tape_tensor(tape, node->out[o]);
        for (size_t e = 0; e < (size_t)info->rows * info->ld; e++)
            gb_reference_f(ref, node->out[o])[e] = 0;
    }
    uint32_t count = gb_tape_tensor(tape, node->in[IN_SPANS])->rows;
    for (uint32_t s = 0; s < count; s++) {
        const uint32_t *span = gb_reference_u(ref, node->in[IN_SPANS]) + (size_t)s * 4;
        for (uint32_t h = 0; h < node->attr[ATTR_HEADS]; h++)
            for (uint32_t i = 0; i < span[1]; i++) {
                query_view v = view_of(ref, tape, node, span, i, h);
                reference_query_grad(ref, node, &v);
            }
    }
}

static const gb_op op_grad = {"attention_gqa_grad", emit_grad, NULL, reference_grad};

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    bool together = node->in[IN_Q] == node->in[IN_KV],
         bias = ops_wants_grad(tape, node->in[IN_BIAS]);
    gb_node grad = *node;
    grad.op = &op_grad;
    grad.in[IN_OUT] = node->out[OUT_Y];
    grad.in[IN_DOUT] = ops_grad_of(tape, node->out[OUT_Y]);
    grad.in[IN_LSE] = node->out[OUT_LSE];
    grad.out[GRAD_Q] = ops_temp_like(tape, together ? "d qkv" : "d q", node->in[IN_Q]);
    grad.out[GRAD_KV] = together ? GB_NO_TENSOR : ops_temp_like(tape, "d kv", node->in[IN_KV]);
    grad.out[GRAD_BIAS] = bias ? ops_temp_like(tape, "d bias", node->in[IN_BIAS]) : GB_NO_TENSOR;
    grad.out[GRAD_LSE] = grad.in[IN_LSE]; /* takes delta */
    gb_tape_append(tape, &grad);
    ops_add_grad(tape, node->in[IN_Q], grad.out[GRAD_Q]);
    if (!together)
        ops_add_grad(tape, node->in[IN_KV], grad.out[GRAD_KV]);
    if (bias)
        ops_add_grad(tape, node->in[IN_BIAS], grad.out[GRAD_BIAS]);
    return true;
}

static const gb_op op = {"attention_gqa", emit, backward, reference};

static bool fits(gb_tape *tape, gb_tensor q, uint32_t q_col, gb_tensor kv, uint32_t k_col,
                 uint32_t v_col, const gb_attention_gqa_params *p)
{
    const gb_tensor_info *qi = gb_tape_tensor(tape, q), *ki = gb_tape_tensor(tape, kv);
    const gb_tensor_info *bias = p->bias == GB_NO_TENSOR ? NULL : gb_tape_tensor(tape, p->bias);
    if (!p->heads || !p->kv_heads || p->heads % p->kv_heads || !p->head_dim || p->head_dim % 4 ||
        q_col % 4 || k_col % 4 || v_col % 4 || q_col + p->heads * p->head_dim > qi->ld ||
        k_col + p->kv_heads * p->head_dim > ki->ld || v_col + p->kv_heads * p->head_dim > ki->ld)
        return gb_tape_fail(tape, "attention of %u and %u heads of %u on [%u,%u] and [%u,%u]",
                            p->heads, p->kv_heads, p->head_dim, qi->rows, qi->cols, ki->rows,
                            ki->cols);
    if (bias && (bias->rows % 2 == 0 || bias->cols != p->heads || bias->rows / 2 + 1 < p->max_q ||
                 bias->rows / 2 + 1 < p->max_k))
        return gb_tape_fail(tape, "bias [%u,%u] for %u heads and texts of %u and %u", bias->rows,
                            bias->cols, p->heads, p->max_q, p->max_k);
    return true;
}

gb_tensor gb_attention_gqa(gb_tape *tape, gb_tensor spans, gb_tensor q, uint32_t q_col,
                           gb_tensor kv, uint32_t k_col, uint32_t v_col,
                           const gb_attention_gqa_params *params)
{
    if (!gb_tape_ok(tape, NULL) || !fits(tape, q, q_col, kv, k_col, v_col, params))
        return GB_NO_TENSOR;
    gb_node node = ops_node_of(&op);
    node.in[IN_SPANS] = spans;
    node.in[IN_Q] = q;
    node.in[IN_KV] = kv;
    node.in[IN_BIAS] = params->bias;
    uint32_t rows = gb_tape_tensor(tape, q)->rows;
    uint32_t attr[] = {params->heads,
                       params->kv_heads,
                       params->head_dim,
                       gb_float_bits(params->scale),
                       params->causal,
                       params->max_q,
                       params->max_k,
                       q_col,
                       k_col,
                       v_col};
    for (size_t i = 0; i < sizeof attr / sizeof *attr; i++)
        node.attr[i] = attr[i];
    node.out[OUT_Y] =
        gb_tape_temp(tape, "attended", GB_F32, rows, params->heads * params->head_dim);
    node.out[OUT_LSE] = gb_tape_temp(tape, "lse", GB_F32, rows, 2 * params->heads);
    gb_tape_append(tape, &node);
    return node.out[OUT_Y];
}

uint32_t gb_distance_bucket(int32_t distance, bool both_sides, uint32_t buckets,
                            uint32_t max_distance)
{
    uint32_t base = 0, far = distance < 0 ? (uint32_t)-distance : (uint32_t)distance;
    if (both_sides) {
        buckets /= 2;
        base = distance > 0 ? buckets : 0;
    } else if (distance > 0) {
        far = 0;
    }
    uint32_t exact = buckets / 2;
    if (far < exact)
        return base + far;
    /* In float32, as torch computes it: whole numbers of the quotient would move otherwise. */
    float place = logf((float)far / (float)exact) / (float)log((double)max_distance / exact);
    uint32_t bucket = exact + (uint32_t)(place * (float)(buckets - exact));
    return base + (bucket < buckets - 1 ? bucket : buckets - 1);
}
