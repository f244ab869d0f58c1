/* Matrix products in three forms with epilogues: C (+)= gelu(op(A) op(B) + bias) + residual.
 * Gradients are products of the other forms, so nothing is ever transposed in memory. */
#include "ops.h"
#include "matmul.h"

enum { IN_A, IN_B, IN_BIAS, IN_RESIDUAL, IN_PRE, IN_OLD, IN_OLD_SUMS };
enum { OUT_C, OUT_PRE, OUT_PARTIALS, OUT_SUMS, OUT_SUM_PARTIALS };
enum { ATTR_FORM, ATTR_ACT, ATTR_SPLITS };

static void matmul_shape(const gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b,
                         uint32_t *m, uint32_t *n, uint32_t *k, bool *fits)
{
    const gb_tensor_info *ia = gb_tape_tensor(tape, a), *ib = gb_tape_tensor(tape, b);
    *m = form == GB_TN ? ia->cols : ia->rows;
    *k = form == GB_TN ? ia->rows : ia->cols;
    *n = form == GB_NT ? ib->rows : ib->cols;
    *fits = *k == (form == GB_NT ? ib->cols : ib->rows);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    matmul_call call = {.form = (gb_matmul_form)node->attr[ATTR_FORM],
                        .act = node->attr[ATTR_ACT],
                        .splits = node->attr[ATTR_SPLITS],
                        .a = node->in[IN_A],
                        .b = node->in[IN_B],
                        .bias = node->in[IN_BIAS],
                        .residual = node->in[IN_RESIDUAL],
                        .pre = node->attr[ATTR_ACT] == MATMUL_GELU ? node->out[OUT_PRE]
                                                                   : node->in[IN_PRE],
                        .c = node->out[OUT_C],
                        .partials = node->out[OUT_PARTIALS],
                        .accumulate = node->in[IN_OLD] != GB_NO_TENSOR,
                        .sums = node->out[OUT_SUMS],
                        .sum_partials = node->out[OUT_SUM_PARTIALS],
                        .accumulate_sums = node->in[IN_OLD_SUMS] != GB_NO_TENSOR};
    bool fits;
    matmul_shape(tape, call.form, call.a, call.b, &call.m, &call.n, &call.k, &fits);
    if (!call.m || !call.n)
        return call.sums == GB_NO_TENSOR ||
               ops_emit_column_sum(emitter, tape, call.a, call.sums, call.sum_partials,
                                   call.accumulate_sums, status);
    return ops_matmul_emit(emitter, tape, &call, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    gb_matmul_form form = (gb_matmul_form)node->attr[ATTR_FORM];
    uint32_t m, n, k;
    bool fits;
    matmul_shape(tape, form, node->in[IN_A], node->in[IN_B], &m, &n, &k, &fits);
    uint32_t lda = gb_tape_tensor(tape, node->in[IN_A])->ld,
             ldb = gb_tape_tensor(tape, node->in[IN_B])->ld;
    uint32_t ldc = gb_tape_tensor(tape, node->out[OUT_C])->ld;
    const double *a = gb_reference_f(ref, node->in[IN_A]), *b = gb_reference_f(ref, node->in[IN_B]);
    const double *bias = gb_reference_f(ref, node->in[IN_BIAS]);
    const double *residual = gb_reference_f(ref, node->in[IN_RESIDUAL]);
    const double *pre_in = gb_reference_f(ref, node->in[IN_PRE]);
    double *c = gb_reference_f(ref, node->out[OUT_C]),
           *pre = gb_reference_f(ref, node->out[OUT_PRE]);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * ldc + j;
            double sum = bias ? bias[j] : 0;
            for (uint32_t l = 0; l < k; l++)
                sum += (form == GB_TN ? a[(size_t)l * lda + i] : a[(size_t)i * lda + l]) *
                       (form == GB_NT ? b[(size_t)j * ldb + l] : b[(size_t)l * ldb + j]);
            if (node->attr[ATTR_ACT] == MATMUL_GELU) {
                pre[at] = sum;
                sum = ops_gelu(sum);
            } else if (node->attr[ATTR_ACT] == MATMUL_GELU_GRAD) {
                sum *= ops_gelu_grad(pre_in[at]);
            }
            if (residual)
                sum += residual[at];
            c[at] = sum + (node->in[IN_OLD] != GB_NO_TENSOR ? c[at] : 0);
        }
    if (node->out[OUT_SUMS] != GB_NO_TENSOR)
        ops_reference_column_sum(ref, tape, node->in[IN_A], node->out[OUT_SUMS],
                                 node->in[IN_OLD_SUMS] != GB_NO_TENSOR);
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status);

static const gb_op op = {"matmul", emit, backward, reference};

static gb_node product(gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b)
{
    gb_node node = ops_node_of(&op);
    node.in[IN_A] = a;
    node.in[IN_B] = b;
    node.attr[ATTR_FORM] = form;
    uint32_t m, n, k;
    bool fits;
    matmul_shape(tape, form, a, b, &m, &n, &k, &fits);
    if (!fits)
        gb_tape_fail(tape, "product of %s [%u,%u] and %s [%u,%u] in form %d",
                     gb_tape_tensor(tape, a)->name, gb_tape_tensor(tape, a)->rows,
                     gb_tape_tensor(tape, a)->cols, gb_tape_tensor(tape, b)->name,
                     gb_tape_tensor(tape, b)->rows, gb_tape_tensor(tape, b)->cols, (int)form);
    node.attr[ATTR_SPLITS] = ops_matmul_splits(m, n, k);
    if (node.attr[ATTR_SPLITS] > 1)
        node.out[OUT_PARTIALS] =
            gb_tape_temp(tape, "split partials", GB_F32, node.attr[ATTR_SPLITS] * m, n);
    return node;
}

void ops_matmul_into(gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b, gb_tensor c,
                     gb_tensor residual, bool accumulate)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    gb_node node = product(tape, form, a, b);
    node.in[IN_RESIDUAL] = residual;
    node.in[IN_OLD] = accumulate ? c : GB_NO_TENSOR;
    node.out[OUT_C] = c;
    gb_tape_append(tape, &node);
}

void ops_weight_gradient_into(gb_tape *tape, gb_tensor a, gb_tensor b, gb_tensor c, bool accumulate,
                              gb_tensor sums, bool accumulate_sums)
{
    if (!gb_tape_ok(tape, NULL))
        return;
    gb_node node = product(tape, GB_TN, a, b);
    node.in[IN_OLD] = accumulate ? c : GB_NO_TENSOR;
    node.in[IN_OLD_SUMS] = accumulate_sums ? sums : GB_NO_TENSOR;
    node.out[OUT_C] = c;
    node.out[OUT_SUMS] = sums;
    node.out[OUT_SUM_PARTIALS] = ops_column_partials(tape, a);
    gb_tape_append(tape, &node);
}

/* Gradient of one operand, dX = op(P) op(Q), into its slot or added to its older gradient. */
static void operand_gradient(gb_tape *tape, gb_tensor x, gb_matmul_form form, gb_tensor p,
                             gb_tensor q)
{
    if (!ops_wants_grad(tape, x))
        return;
    if (gb_tape_tensor(tape, x)->role == GB_ROLE_PARAM) {
        bool accumulate;
        gb_tensor slot = ops_param_grad(tape, x, &accumulate);
        ops_matmul_into(tape, form, p, q, slot, GB_NO_TENSOR, accumulate);
        return;
    }
    gb_tensor old = ops_old_grad(tape, x), dx = ops_temp_like(tape, "d operand", x);
    ops_matmul_into(tape, form, p, q, dx, old, false);
    ops_set_grad(tape, x, dx);
}

/* Whether `gradient` is the gradient of one tensor alone and no node has read it yet. */
static bool gradient_of_one(const gb_tape *tape, gb_tensor gradient)
{
    uint32_t owners = 0;
    for (uint32_t t = 0; t < gb_tape_tensor_count(tape); t++)
        owners += gb_tape_tensor(tape, (gb_tensor)t)->grad == gradient;
    if (owners > 1)
        return false;
    for (uint32_t n = 0; n < gb_tape_node_count(tape); n++)
        for (int i = 0; i < GB_NODE_IN; i++)
            if (gb_tape_node_at(tape, n)->in[i] != GB_NO_TENSOR &&
                gb_tape_root(tape, gb_tape_node_at(tape, n)->in[i], NULL) == gradient)
                return false;
    return true;
}

/* d(pre) of a layer with GELU. When dy came from a product and is nobody else's gradient, the
 * factor gelu'(pre) is moved into that product's epilogue and costs no pass over memory. */
static gb_tensor through_gelu(gb_tape *tape, gb_tensor pre, gb_tensor dy)
{
    int32_t producer = gb_tape_tensor(tape, dy)->producer;
    gb_node *maker = producer >= 0 ? gb_tape_node(tape, (uint32_t)producer) : NULL;
    if (maker && maker->op == &op && maker->out[OUT_C] == dy &&
        maker->attr[ATTR_ACT] == MATMUL_LINEAR && maker->in[IN_RESIDUAL] == GB_NO_TENSOR &&
        maker->in[IN_OLD] == GB_NO_TENSOR && maker->in[IN_BIAS] == GB_NO_TENSOR &&
        gradient_of_one(tape, dy)) {
        maker->attr[ATTR_ACT] = MATMUL_GELU_GRAD;
        maker->in[IN_PRE] = pre;
        return dy;
    }
    return ops_gelu_backward(tape, pre, dy);
}

/* Whether a gradient may be written where x has it: x is a parameter, or has no older one. */
static bool has_slot(const gb_tape *tape, gb_tensor x)
{
    return ops_wants_grad(tape, x) && (gb_tape_tensor(tape, x)->role == GB_ROLE_PARAM ||
                                       ops_old_grad(tape, x) == GB_NO_TENSOR);
}

static gb_tensor slot_of(gb_tape *tape, gb_tensor x, bool *accumulate)
{
    if (gb_tape_tensor(tape, x)->role == GB_ROLE_PARAM)
        return ops_param_grad(tape, x, accumulate);
    gb_tensor dx = ops_temp_like(tape, "d operand", x);
    *accumulate = false;
    ops_set_grad(tape, x, dx);
    return dx;
}

static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    gb_tensor dy = ops_grad_of(tape, node->out[OUT_C]);
    gb_tensor a = node->in[IN_A], b = node->in[IN_B];
    if (node->in[IN_OLD] != GB_NO_TENSOR || node->attr[ATTR_ACT] == MATMUL_GELU_GRAD)
        return gb_fail(status, GB_INTERNAL, "matmul", NULL, "a gradient has no gradient");
    if (node->in[IN_RESIDUAL] != GB_NO_TENSOR)
        ops_add_grad(tape, node->in[IN_RESIDUAL], dy);
    if (node->attr[ATTR_ACT] == MATMUL_GELU)
        dy = through_gelu(tape, node->out[OUT_PRE], dy);
    bool layer =
        node->attr[ATTR_FORM] == GB_NT && has_slot(tape, node->in[IN_BIAS]) && has_slot(tape, b);
    if (layer) {
        operand_gradient(tape, a, GB_NN, dy, b);
        bool accumulate, accumulate_bias;
        gb_tensor slot = slot_of(tape, b, &accumulate);
        gb_tensor bias = slot_of(tape, node->in[IN_BIAS], &accumulate_bias);
        ops_weight_gradient_into(tape, dy, a, slot, accumulate, bias, accumulate_bias);
        return true;
    }
    if (ops_wants_grad(tape, node->in[IN_BIAS])) {
        gb_tensor bias = node->in[IN_BIAS];
        bool accumulate = false, own = has_slot(tape, bias);
        gb_tensor sums =
            own ? slot_of(tape, bias, &accumulate) : ops_temp_like(tape, "d bias", bias);
        ops_column_sum_into(tape, dy, sums, accumulate);
        if (!own)
            ops_add_grad(tape, bias, sums);
    }
    switch ((gb_matmul_form)node->attr[ATTR_FORM]) {
    case GB_NN: /* C = A B: dA = dC B^T, dB = A^T dC */
        operand_gradient(tape, a, GB_NT, dy, b);
        operand_gradient(tape, b, GB_TN, a, dy);
        break;
    case GB_NT: /* C = A B^T: dA = dC B, dB = dC^T A */
        operand_gradient(tape, a, GB_NN, dy, b);
        operand_gradient(tape, b, GB_TN, dy, a);
        break;
    case GB_TN: /* C = A^T B: dA = B dC^T, dB = A dC */
        operand_gradient(tape, a, GB_NT, b, dy);
        operand_gradient(tape, b, GB_NN, a, dy);
        break;
    }
    return true;
}

static gb_tensor append(gb_tape *tape, gb_node *node, const char *name)
{
    uint32_t m, n, k;
    bool fits;
    matmul_shape(tape, (gb_matmul_form)node->attr[ATTR_FORM], node->in[IN_A], node->in[IN_B], &m,
                 &n, &k, &fits);
    node->out[OUT_C] = gb_tape_temp(tape, name, GB_F32, m, n);
    if (node->attr[ATTR_ACT] == MATMUL_GELU)
        node->out[OUT_PRE] = gb_tape_temp(tape, "pre gelu", GB_F32, m, n);
    gb_tape_append(tape, node);
    return node->out[OUT_C];
}

gb_tensor gb_matmul(gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = product(tape, form, a, b);
    return append(tape, &node, "product");
}

gb_tensor gb_linear(gb_tape *tape, gb_tensor x, gb_tensor weight, gb_tensor bias, bool gelu,
                    gb_tensor residual)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_node node = product(tape, GB_NT, x, weight);
    node.in[IN_BIAS] = bias;
    node.in[IN_RESIDUAL] = residual;
    node.attr[ATTR_ACT] = gelu ? MATMUL_GELU : MATMUL_LINEAR;
    return append(tape, &node, "linear");
}
