/* Products with, and rows of, weights that are kept in fewer bits (see gabbro/ops.h). */
#include "ops.h"

#include <gabbro/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IN_X, IN_WEIGHT, IN_RESIDUAL };
enum { ATTR_PACKING };

/* ---- numbers ---- */

const char *const gb_packing_names[] = {[GB_QUANT_NONE] = "fp32",
                                        [GB_QUANT_F16] = "fp16",
                                        [GB_QUANT_BF16] = "bf16",
                                        [GB_QUANT_Q8] = "q8",
                                        NULL};

uint32_t gb_quant_cols(gb_quant quant, uint32_t cols)
{
    if (quant == GB_QUANT_NONE)
        return cols;
    return quant == GB_QUANT_Q8
               ? (cols + GB_QUANT_BLOCK - 1) / GB_QUANT_BLOCK * (1 + GB_QUANT_BLOCK / 4)
               : (cols + 1) / 2;
}

static uint32_t bfloat_of(float value)
{
    uint32_t bits = gb_float_bits(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static bool pack_block(const float *values, uint32_t count, uint32_t *words)
{
    float most = 0;
    bool finite = true;
    for (uint32_t c = 0; c < count; c++) {
        most = fmaxf(most, fabsf(values[c]));
        finite &= isfinite(values[c]) != 0;
    }
    float scale = most / 127;
    words[0] = gb_float_bits(scale);
    memset(words + 1, 0, GB_QUANT_BLOCK);
    for (uint32_t c = 0; c < count && scale > 0; c++) {
        float q = nearbyintf(values[c] / scale);
        q = fminf(fmaxf(q, -127), 127);
        words[1 + c / 4] |= ((uint32_t)(int32_t)q & 0xff) << 8 * (c % 4);
    }
    return finite;
}

bool gb_quant_pack_row(gb_quant quant, const float *values, uint32_t cols, uint32_t *words)
{
    bool fits = true;
    if (quant == GB_QUANT_NONE) {
        memcpy(words, values, cols * sizeof *values);
        return true;
    }
    if (quant == GB_QUANT_Q8) {
        for (uint32_t c = 0; c < cols; c += GB_QUANT_BLOCK, words += 1 + GB_QUANT_BLOCK / 4)
            fits &= pack_block(values + c, cols - c < GB_QUANT_BLOCK ? cols - c : GB_QUANT_BLOCK,
                               words);
        return fits;
    }
    uint32_t infinity = quant == GB_QUANT_F16 ? 0x7c00 : 0x7f80;
    memset(words, 0, gb_quant_cols(quant, cols) * sizeof *words);
    for (uint32_t c = 0; c < cols; c++) {
        uint32_t bits = quant == GB_QUANT_F16 ? gb_half_of(values[c]) : bfloat_of(values[c]);
        fits &= (bits & 0x7fff) < infinity;
        words[c / 2] |= bits << 16 * (c % 2);
    }
    return fits;
}

static float widen(gb_quant quant, const uint32_t *words, uint32_t c)
{
    if (quant == GB_QUANT_Q8) {
        const uint32_t *block = words + c / GB_QUANT_BLOCK * (1 + GB_QUANT_BLOCK / 4);
        uint32_t at = c % GB_QUANT_BLOCK;
        int8_t q = (int8_t)(block[1 + at / 4] >> 8 * (at % 4) & 0xff);
        return (float)q * gb_bits_float(block[0]);
    }
    uint32_t bits = words[c / 2] >> 16 * (c % 2) & 0xffff;
    if (quant == GB_QUANT_BF16)
        return gb_bits_float(bits << 16);
    return gb_half_value((uint16_t)bits);
}

void gb_quant_unpack_row(gb_quant quant, const uint32_t *words, uint32_t cols, float *values)
{
    if (quant == GB_QUANT_NONE)
        memcpy(values, words, cols * sizeof *values);
    for (uint32_t c = 0; quant != GB_QUANT_NONE && c < cols; c++)
        values[c] = widen(quant, words, c);
}

/* ---- products ---- */

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    const gb_tensor_info *x = gb_tape_tensor(tape, node->in[IN_X]);
    const gb_tensor_info *w = gb_tape_tensor(tape, node->in[IN_WEIGHT]);
    const gb_tensor_info *y = gb_tape_tensor(tape, node->out[0]);
    const uint32_t rows_at_once = 8; /* ROWS of the shader */
    gb_kernel kernel = ops_kernel_of("quant_linear", NULL);
    ops_long_row_kernel(&kernel, &emitter->target,
                        (x->rows + rows_at_once - 1) / rows_at_once * w->rows, x->cols / 4);
    ops_spec(&kernel, node->attr[ATTR_PACKING]);
    ops_spec(&kernel, node->in[IN_RESIDUAL] != GB_NO_TENSOR);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_WEIGHT], GB_READ);
    ops_bind_tensor(&kernel, 2, node->in[IN_RESIDUAL], GB_READ);
    ops_bind_tensor(&kernel, 3, node->out[0], GB_WRITE);
    gb_use_texels(&emitter->target, tape, &kernel, 1);
    push(&kernel, PACKED_LINEAR_PUSH, .rows = x->rows, .columns = w->rows, .k4 = x->cols / 4,
         .ldx4 = x->ld / 4, .ldw = w->ld, .ldy = y->ld);
    kernel.flops = 2.0 * x->rows * x->cols * w->rows;
    kernel.bytes =
        4.0 * (x->rows * (double)x->cols + w->rows * (double)w->cols + y->rows * (double)y->cols);
    return gb_emit(emitter, &kernel, status);
}

/* Of weights that are u32: the words of a parameter are no numbers to it. */
static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *x = gb_tape_tensor(tape, node->in[IN_X]);
    const gb_tensor_info *w = gb_tape_tensor(tape, node->in[IN_WEIGHT]);
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    const double *residual = gb_reference_f(ref, node->in[IN_RESIDUAL]);
    for (uint32_t r = 0; r < x->rows; r++)
        for (uint32_t m = 0; m < w->rows; m++) {
            const double *row = gb_reference_f(ref, node->in[IN_X]) + (size_t)r * x->ld;
            const uint32_t *words = gb_reference_u(ref, node->in[IN_WEIGHT]) + (size_t)m * w->ld;
            size_t at = (size_t)r * info->ld + m;
            double sum = residual ? residual[at] : 0;
            for (uint32_t c = 0; c < x->cols; c++)
                sum += row[c] * widen((gb_quant)node->attr[ATTR_PACKING], words, c);
            gb_reference_f(ref, node->out[0])[at] = sum;
        }
}

static const gb_op op = {"quant_linear", emit, NULL, reference};

gb_tensor gb_quant_linear(gb_tape *tape, gb_tensor x, gb_tensor weight, gb_quant quant,
                          gb_tensor residual)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info xi = *gb_tape_tensor(tape, x), wi = *gb_tape_tensor(tape, weight);
    const gb_tensor_info *ri = residual == GB_NO_TENSOR ? NULL : gb_tape_tensor(tape, residual);
    if (quant == GB_QUANT_NONE || xi.cols % 4 || wi.cols != gb_quant_cols(quant, xi.cols) ||
        (ri && (ri->rows != xi.rows || ri->cols != wi.rows))) {
        gb_tape_fail(tape, "[%u,%u] times weights of [%u,%u] words", xi.rows, xi.cols, wi.rows,
                     wi.cols);
        return GB_NO_TENSOR;
    }
    gb_node node = ops_node_of(&op);
    node.in[IN_X] = x;
    node.in[IN_WEIGHT] = weight;
    node.in[IN_RESIDUAL] = residual;
    node.attr[ATTR_PACKING] = quant;
    node.out[0] = gb_tape_temp(tape, "quantised product", GB_F32, xi.rows, wi.rows);
    gb_tape_append(tape, &node);
    return node.out[0];
}

/* ---- rows ---- */

static bool emit_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                      gb_status *status)
{
    const gb_tensor_info *table = gb_tape_tensor(tape, node->in[IN_WEIGHT]);
    const gb_tensor_info *y = gb_tape_tensor(tape, node->out[0]);
    gb_kernel kernel = ops_kernel_of("quant_rows", NULL);
    ops_row_kernel(&kernel, &emitter->target, y->rows);
    ops_spec(&kernel, node->attr[ATTR_PACKING]);
    ops_bind_tensor(&kernel, 0, node->in[IN_X], GB_READ);
    ops_bind_tensor(&kernel, 1, node->in[IN_WEIGHT], GB_READ);
    ops_bind_tensor(&kernel, 2, node->out[0], GB_WRITE);
    push(&kernel, PACKED_ROWS_PUSH, .rows = y->rows, .entries = table->rows, .k4 = y->cols / 4,
         .ldw = table->ld);
    kernel.bytes = 8.0 * y->rows * y->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_rows(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *table = gb_tape_tensor(tape, node->in[IN_WEIGHT]);
    const gb_tensor_info *y = gb_tape_tensor(tape, node->out[0]);
    const uint32_t *index = gb_reference_u(ref, node->in[IN_X]);
    const uint32_t *words = gb_reference_u(ref, node->in[IN_WEIGHT]);
    for (uint32_t r = 0; r < y->rows; r++)
        for (uint32_t c = 0; c < y->cols; c++)
            gb_reference_f(ref, node->out[0])[(size_t)r * y->ld + c] =
                index[r] < table->rows ? widen((gb_quant)node->attr[ATTR_PACKING],
                                               words + (size_t)index[r] * table->ld, c)
                                       : 0;
}

static const gb_op op_rows = {"quant_rows", emit_rows, NULL, reference_rows};

gb_tensor gb_quant_lookup(gb_tape *tape, gb_tensor table, gb_quant quant, uint32_t cols,
                          gb_tensor index)
{
    if (!gb_tape_ok(tape, NULL))
        return GB_NO_TENSOR;
    gb_tensor_info ti = *gb_tape_tensor(tape, table), rows = *gb_tape_tensor(tape, index);
    if (quant == GB_QUANT_NONE || cols % 4 || ti.cols != gb_quant_cols(quant, cols)) {
        gb_tape_fail(tape, "rows of %u columns from [%u,%u] words", cols, ti.rows, ti.cols);
        return GB_NO_TENSOR;
    }
    gb_node node = ops_node_of(&op_rows);
    node.in[IN_X] = index;
    node.in[IN_WEIGHT] = table;
    node.attr[ATTR_PACKING] = quant;
    node.out[0] = gb_tape_temp(tape, "looked up", GB_F32, rows.cols, cols);
    gb_tape_append(tape, &node);
    return node.out[0];
}
