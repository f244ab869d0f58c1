/* Term weights of texts, from the states of their tokens through a vocabulary: log(1 +
 * relu(logit)), the largest of each column over the text (T. Formal et al., "SPLADE v2", 2021).
 * Logits come in chunks of rows, as in the vocabulary loss; what is kept of them is the place of
 * the largest. */
#include "ops.h"

#include <math.h>

/* The chunk; then, for the gradient, what all logits are made of. */
enum { IN_LOGITS, IN_SEQUENCES, IN_TOPS, IN_PLACES, IN_H, IN_TABLE, IN_BIAS };
enum { OUT_WEIGHTS, OUT_TOPS, OUT_PLACES };
enum { ATTR_FIRST_ROW, ATTR_CHUNK_ROWS };

/* Of the gradient of a chunk. */
enum { GRAD_SEQUENCES, GRAD_WEIGHTS, GRAD_PLACES, GRAD_DWEIGHTS };

static uint32_t texts_of(const gb_tape *tape, gb_tensor sequences)
{
    return gb_tape_tensor(tape, sequences)->cols - GB_SEQUENCES_HEADER - 1;
}

/* Push constants and grid for `spans` texts by groups of columns. */
static bool emit_columns(gb_emitter *emitter, const gb_tape *tape, gb_kernel *kernel,
                         gb_tensor logits, uint32_t first_row, uint32_t texts, uint32_t spans,
                         gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, logits);
    uint32_t lanes = kernel->spec[0], groups = (info->ld / 4 + lanes - 1) / lanes;
    push(kernel, TERM_POOL_PUSH, .first_row = first_row, .rows = info->rows, .ld4 = info->ld / 4,
         .texts = texts, .column_groups = groups);
    gb_grid(&emitter->target, spans * groups, kernel->grid);
    kernel->flops = (double)info->rows * info->cols;
    kernel->bytes = 4.0 * info->rows * info->cols + 12.0 * texts * info->cols;
    return ops_check_iterations(&emitter->target, info->rows, "term weights", status) &&
           gb_emit(emitter, kernel, status);
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    bool first = node->in[IN_TOPS] == GB_NO_TENSOR, last = node->out[OUT_TOPS] == GB_NO_TENSOR;
    gb_tensor tops = first ? node->out[OUT_TOPS] : node->in[IN_TOPS];
    uint32_t texts = texts_of(tape, node->in[IN_SEQUENCES]);
    gb_kernel kernel = ops_kernel_of("term_pool", NULL);
    ops_spec(&kernel, ops_lanes(&emitter->target));
    ops_spec(&kernel, first);
    ops_spec(&kernel, last);
    ops_bind_tensor(&kernel, 0, node->in[IN_LOGITS], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_SEQUENCES], GB_READ);
    ops_bind_tensor(&kernel, 2, tops, first ? GB_WRITE : last ? GB_READ : GB_READ_WRITE);
    ops_bind_tensor(&kernel, 3, node->out[OUT_PLACES], first ? GB_WRITE : GB_READ_WRITE);
    ops_bind_tensor(&kernel, 4, node->out[OUT_WEIGHTS], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    return emit_columns(emitter, tape, &kernel, node->in[IN_LOGITS], node->attr[ATTR_FIRST_ROW],
                        texts, texts, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_LOGITS]);
    const double *logits = gb_reference_f(ref, node->in[IN_LOGITS]);
    const uint32_t *starts = gb_reference_u(ref, node->in[IN_SEQUENCES]) + GB_SEQUENCES_HEADER;
    bool first = node->in[IN_TOPS] == GB_NO_TENSOR, last = node->out[OUT_TOPS] == GB_NO_TENSOR;
    const double *before = first ? NULL : gb_reference_f(ref, node->in[IN_TOPS]);
    double *to = gb_reference_f(ref, node->out[last ? OUT_WEIGHTS : OUT_TOPS]);
    uint32_t *places = gb_reference_u(ref, node->out[OUT_PLACES]);
    uint32_t texts = texts_of(tape, node->in[IN_SEQUENCES]), row0 = node->attr[ATTR_FIRST_ROW];
    for (uint32_t t = 0; t < texts; t++)
        for (uint32_t c = 0; c < info->cols; c++) {
            size_t at = (size_t)t * info->ld + c;
            double top = first ? 0 : before[at];
            uint32_t place = first ? GB_NO_ROW : places[at];
            for (uint32_t r = 0; r < info->rows; r++) {
                bool inside = row0 + r >= starts[t] && row0 + r < starts[t + 1];
                if (inside && logits[(size_t)r * info->ld + c] > top) {
                    top = logits[(size_t)r * info->ld + c];
                    place = row0 + r;
                }
            }
            places[at] = place;
            to[at] = last ? log1p(top) : top;
        }
}

/* ---- the gradient of a chunk of logits ---- */

static bool emit_gradient(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                          gb_status *status)
{
    uint32_t texts = texts_of(tape, node->in[GRAD_SEQUENCES]);
    gb_kernel kernel = ops_kernel_of("term_pool_backward", NULL);
    ops_spec(&kernel, ops_lanes(&emitter->target));
    for (int i = GRAD_SEQUENCES; i <= GRAD_DWEIGHTS; i++)
        ops_bind_tensor(&kernel, i, node->in[i], GB_READ);
    ops_bind_tensor(&kernel, 4, node->out[0], GB_WRITE);
    return emit_columns(emitter, tape, &kernel, node->out[0], node->attr[ATTR_FIRST_ROW], texts,
                        texts + 1, status);
}

static void reference_gradient(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *weights = gb_reference_f(ref, node->in[GRAD_WEIGHTS]);
    const double *dweights = gb_reference_f(ref, node->in[GRAD_DWEIGHTS]);
    const uint32_t *places = gb_reference_u(ref, node->in[GRAD_PLACES]);
    double *out = gb_reference_f(ref, node->out[0]);
    uint32_t texts = texts_of(tape, node->in[GRAD_SEQUENCES]), row0 = node->attr[ATTR_FIRST_ROW];
    memset(out, 0, sizeof *out * info->rows * info->ld);
    for (uint32_t t = 0; t < texts; t++)
        for (uint32_t c = 0; c < info->cols; c++) {
            size_t at = (size_t)t * info->ld + c;
            uint32_t row = places[at] - row0; /* large where it is of another chunk or no row */
            if (places[at] >= row0 && row < info->rows)
                out[(size_t)row * info->ld + c] = dweights[at] * exp(-weights[at]);
        }
}

static const gb_op op_gradient = {"d term_pool", emit_gradient, NULL, reference_gradient};

static gb_tensor chunk_gradient(gb_tape *tape, const gb_node *of, uint32_t row, uint32_t rows)
{
    gb_node node = ops_node_of(&op_gradient);
    node.in[GRAD_SEQUENCES] = of->in[IN_SEQUENCES];
    node.in[GRAD_WEIGHTS] = of->out[OUT_WEIGHTS];
    node.in[GRAD_PLACES] = of->out[OUT_PLACES];
    node.in[GRAD_DWEIGHTS] = ops_grad_of(tape, of->out[OUT_WEIGHTS]);
    node.attr[ATTR_FIRST_ROW] = row;
    node.out[0] = gb_tape_temp(tape, "d logits", GB_F32, rows,
                               gb_tape_tensor(tape, of->out[OUT_WEIGHTS])->cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}

/* Of the last chunk's node, which stands for all. */
static bool backward(gb_tape *tape, const gb_node *node, gb_status *status)
{
    (void)status;
    gb_tensor h = node->in[IN_H], table = node->in[IN_TABLE], bias = node->in[IN_BIAS];
    bool of_h = ops_wants_grad(tape, h), of_table = ops_wants_grad(tape, table);
    bool of_bias = ops_wants_grad(tape, bias), more = false, more_bias = false;
    gb_tensor dh = of_h ? ops_temp_like(tape, "d head", h) : GB_NO_TENSOR;
    gb_tensor dtable = of_table ? ops_param_grad(tape, table, &more) : GB_NO_TENSOR;
    gb_tensor dbias = of_bias ? ops_param_grad(tape, bias, &more_bias) : GB_NO_TENSOR;
    uint32_t all = gb_tape_tensor(tape, h)->rows, row = 0;
    do { /* once even without rows: the gradients must be written */
        uint32_t chunk = node->attr[ATTR_CHUNK_ROWS];
        uint32_t rows = all - row < chunk ? all - row : chunk;
        gb_tensor h_chunk = gb_tape_view(tape, h, row, rows);
        gb_tensor dlogits = chunk_gradient(tape, node, row, rows);
        if (of_h)
            ops_matmul_into(tape, GB_NN, dlogits, table, gb_tape_view(tape, dh, row, rows),
                            GB_NO_TENSOR, false);
        if (of_table && of_bias)
            ops_weight_gradient_into(tape, dlogits, h_chunk, dtable, more || row > 0, dbias,
                                     more_bias || row > 0);
        else if (of_table)
            ops_matmul_into(tape, GB_TN, dlogits, h_chunk, dtable, GB_NO_TENSOR, more || row > 0);
        else if (of_bias)
            ops_column_sum_into(tape, dlogits, dbias, more_bias || row > 0);
        row += rows;
    } while (row < all);
    if (of_h)
        ops_add_grad(tape, h, dh);
    return true;
}

/* Chunks before the last have no gradient of their own. */
static const gb_op op_chunk = {"term_pool chunk", emit, NULL, reference};
static const gb_op op = {"term_pool", emit, backward, reference};

gb_tensor gb_term_weights(gb_tape *tape, gb_tensor h, gb_tensor table, gb_tensor bias,
                          gb_tensor sequences, uint32_t chunk_rows)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    uint32_t all = gb_tape_tensor(tape, h)->rows, cols = gb_tape_tensor(tape, table)->rows;
    uint32_t texts = texts_of(tape, sequences), row = 0, rows;
    chunk_rows = (chunk_rows + 63) / 64 * 64; /* so that views start at aligned addresses */
    gb_tensor weights = gb_tape_temp(tape, "term weights", GB_F32, texts, cols);
    gb_tensor places = gb_tape_temp(tape, "their rows", GB_U32, texts, (cols + 3) / 4 * 4);
    gb_tensor tops =
        all > chunk_rows ? gb_tape_temp(tape, "largest logits", GB_F32, texts, cols) : GB_NO_TENSOR;
    do {
        rows = all - row < chunk_rows ? all - row : chunk_rows;
        bool last = row + rows == all;
        gb_node node = ops_node_of(last ? &op : &op_chunk);
        node.in[IN_LOGITS] =
            gb_linear(tape, gb_tape_view(tape, h, row, rows), table, bias, false, GB_NO_TENSOR);
        node.in[IN_SEQUENCES] = sequences;
        node.in[IN_TOPS] = row ? tops : GB_NO_TENSOR;
        node.in[IN_PLACES] = row ? places : GB_NO_TENSOR;
        if (last) {
            node.in[IN_H] = h;
            node.in[IN_TABLE] = table;
            node.in[IN_BIAS] = bias;
        }
        node.attr[ATTR_FIRST_ROW] = row;
        node.attr[ATTR_CHUNK_ROWS] = chunk_rows;
        node.out[OUT_WEIGHTS] = last ? weights : GB_NO_TENSOR;
        node.out[OUT_TOPS] = last ? GB_NO_TENSOR : tops;
        node.out[OUT_PLACES] = places;
        gb_tape_append(tape, &node);
        row += rows;
    } while (row < all);
    return weights;
}
