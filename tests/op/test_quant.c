/* Weights in fewer bits: how they are rounded, products with them and rows of them against the
 * float64 reference, and how far a product moves. */
#include "harness.h"

#include <criterion/criterion.h>
#include <gabbro/ops.h>
#include <gabbro/tape.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 6e-8

static float *random_values(size_t count, uint32_t seed)
{
    gb_rng rng = gb_rng_make(seed, GB_RNG_TEST, 3, 3);
    float *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)gb_rng_normal(&rng) * (i % 64 < 32 ? 1 : 0.01f);
    return values;
}

/* ---- numbers ---- */

static float through(gb_quant quant, float value, bool *fits)
{
    uint32_t words[9];
    float back[4], values[4] = {value, 0, 0, 0};
    *fits = gb_quant_pack_row(quant, values, 4, words);
    gb_quant_unpack_row(quant, words, 4, back);
    return back[0];
}

Test(packed, rounds_to_the_nearest)
{
    static const struct {
        float value, half, bfloat; /* INFINITY: beyond it */
    } cases[] = {{0, 0, 0},
                 {-1, -1, -1},
                 {65504, 65504, 65536},
                 {65519, 65504, 65536},
                 {65520, INFINITY, 65536},
                 {3.4e38f, INFINITY, INFINITY},
                 {1.0009765625f, 1.0009765625f, 1},     /* 1 + 2^-10 */
                 {1.00048828125f, 1, 1},                /* half-way: to the even */
                 {1.00146484375f, 1.001953125f, 1},     /* half-way: to the even */
                 {1.01171875f, 1.01171875f, 1.015625f}, /* 1 + 3/256: to the even */
                 {0x1p-14f, 0x1p-14f, 0x1p-14f},        /* smallest normal half */
                 {0x1.fffp-15f, 0x1p-14f, 0x1p-14f},    /* rounds up to it */
                 {-0x1p-24f, -0x1p-24f, -0x1p-24f},     /* smallest half */
                 {0x1p-25f, 0, 0x1p-25f},
                 {0x1.8p-24f, 0x1p-23f, 0x1.8p-24f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool fits;
        float half = through(GB_QUANT_F16, cases[i].value, &fits);
        cr_expect_eq(fits, isfinite(cases[i].half));
        cr_expect(!fits || half == cases[i].half, "%a: half %a", cases[i].value, half);
        float bfloat = through(GB_QUANT_BF16, cases[i].value, &fits);
        cr_expect_eq(fits, isfinite(cases[i].bfloat));
        cr_expect(!fits || bfloat == cases[i].bfloat, "%a: bfloat %a", cases[i].value, bfloat);
    }
}

Test(packed, blocks_of_bytes_keep_half_a_scale)
{
    const uint32_t cols = 100; /* the last block is short */
    float *values = random_values(cols, 1), back[100];
    uint32_t words[4 * 9];
    cr_assert_eq(gb_quant_cols(GB_QUANT_Q8, cols), 4 * 9);
    memset(values + 64, 0, 32 * sizeof *values); /* a block of zeros */
    cr_assert(gb_quant_pack_row(GB_QUANT_Q8, values, cols, words));
    gb_quant_unpack_row(GB_QUANT_Q8, words, cols, back);
    for (uint32_t c = 0; c < cols; c++) {
        float scale = gb_bits_float(words[c / 32 * 9]);
        cr_expect(fabsf(values[c] - back[c]) <= scale * 0.50001f, "column %u: %g, %g", c, values[c],
                  back[c]);
    }
    values[3] = INFINITY;
    cr_expect_not(gb_quant_pack_row(GB_QUANT_Q8, values, cols, words));
    free(values);
}

/* ---- programs ---- */

/* Words of a random matrix. */
static uint32_t *random_words(gb_quant quant, uint32_t rows, uint32_t cols)
{
    uint32_t words = gb_quant_cols(quant, cols);
    uint32_t *out = calloc((size_t)rows * words + 1, sizeof *out);
    for (uint32_t r = 0; r < rows; r++) {
        float *values = random_values(cols, r);
        cr_assert(gb_quant_pack_row(quant, values, cols, out + (size_t)r * words));
        free(values);
    }
    return out;
}

static void linear_case(gb_quant quant, uint32_t n, uint32_t k, uint32_t m, bool residual)
{
    uint32_t *words = random_words(quant, m, k);
    program p = program_make();
    program_param(&p, "b", n, m); /* something that takes a gradient */
    program_freeze(&p);
    gb_tensor x = gb_tape_input(p.tape, "x", GB_F32, n, k);
    gb_tensor w = gb_tape_input(p.tape, "w", GB_U32, m, gb_quant_cols(quant, k));
    gb_tensor r = residual ? gb_tape_input(p.tape, "r", GB_F32, n, m) : GB_NO_TENSOR;
    gb_tensor y = gb_quant_linear(p.tape, gb_scale(p.tape, x, 2), w, quant, r);
    y = gb_add(p.tape, y, program_operand(&p, "b"));
    input_values inputs[] = {{w, words, NULL}};
    check_program(&p, y, inputs, 1, 20 * sqrt(k) * EPS);
    program_free(&p);
    free(words);
}

static void rows_case(gb_quant quant, uint32_t entries, uint32_t cols)
{
    const uint32_t index[] = {0, entries - 1, 1 % entries, GB_NO_ROW, 0};
    uint32_t *words = random_words(quant, entries, cols);
    program p = program_make();
    program_param(&p, "b", 5, cols);
    program_freeze(&p);
    gb_tensor table = gb_tape_input(p.tape, "t", GB_U32, entries, gb_quant_cols(quant, cols));
    gb_tensor at = gb_tape_input(p.tape, "index", GB_U32, 1, 5);
    gb_tensor y =
        gb_add(p.tape, gb_quant_lookup(p.tape, table, quant, cols, at), program_operand(&p, "b"));
    uint32_t padded[8] = {0};
    memcpy(padded, index, sizeof index);
    input_values inputs[] = {{table, words, NULL}, {at, padded, NULL}};
    check_program(&p, y, inputs, 2, 4 * EPS);
    program_free(&p);
    free(words);
}

Test(packed, products_and_rows)
{
    for (gb_quant quant = GB_QUANT_F16; quant <= GB_QUANT_Q8; quant++) {
        linear_case(quant, 1, 4, 1, false);
        linear_case(quant, 9, 36, 13, true);
        linear_case(quant, 8, 64, 70, false);
        linear_case(quant, 17, 260, 5, true);
        rows_case(quant, 7, 4);
        rows_case(quant, 3, 132);
    }
}

/* A product differs from that of the unpacked weights by no more than its blocks' half scales
 * allow. */
Test(packed, a_product_moves_by_half_a_scale)
{
    const uint32_t k = 256, m = 50;
    double share = 0;
    float *x = random_values(k, 77);
    for (uint32_t row = 0; row < m; row++) {
        uint32_t words[256 / 32 * 9];
        float *w = random_values(k, row), back[256];
        cr_assert(gb_quant_pack_row(GB_QUANT_Q8, w, k, words));
        gb_quant_unpack_row(GB_QUANT_Q8, words, k, back);
        double moved = 0, bound = 0;
        for (uint32_t c = 0; c < k; c++) {
            moved += x[c] * ((double)w[c] - back[c]);
            bound += 0.5 * fabs(x[c]) * gb_bits_float(words[c / 32 * 9]);
        }
        cr_expect_leq(fabs(moved), bound * (1 + 1e-5));
        share = fmax(share, fabs(moved) / bound);
        free(w);
    }
    cr_expect(share > 0.01 && share < 0.9, "%g of the bound", share);
    free(x);
}

Test(packed, misuse)
{
    program p = program_make();
    program_param(&p, "x", 4, 24);
    program_freeze(&p);
    gb_tensor w = gb_tape_input(p.tape, "w", GB_U32, 8, 24);
    cr_expect_eq(gb_quant_linear(p.tape, program_operand(&p, "x"), w, GB_QUANT_Q8, GB_NO_TENSOR),
                 GB_NO_TENSOR);
    cr_expect_not(gb_tape_ok(p.tape, &p.status));
    program_free(&p);
}

/* ---- uploads ---- */

/* A state begins with zeros, more of them than are uploaded at once, and takes a part. */
Test(packed, a_state_is_written_in_parts)
{
    program p = program_make();
    program_param(&p, "x", 900, 1001);
    program_freeze(&p);
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, false, &p.status);
    cr_assert(state, "%s", p.status.what);
    size_t floats = gb_params_floats(p.params), first = floats - 700;
    float *values = random_values(500, 4), *read = calloc(floats, sizeof *read);
    cr_assert(gb_state_write_part(state, first, 500, values, &p.status));
    memset(read, 0xff, floats * sizeof *read);
    cr_assert(gb_state_read(state, GB_ARENA_PARAMS, read, &p.status));
    for (size_t i = 0; i < floats; i++)
        if (read[i] != (i < first || i >= first + 500 ? 0 : values[i - first]))
            cr_assert_fail("float %zu is %g", i, read[i]);
    free(values);
    free(read);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}
