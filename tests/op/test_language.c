/* Operations of language models, forward and backward, over awkward shapes, against the float64
 * reference; and the buckets of distances. */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define EPS 6e-8

/* ---- rows ---- */

static void norm_case(uint32_t rows, uint32_t cols)
{
    program p = program_make();
    program_param(&p, "x", rows, cols);
    program_param(&p, "gamma", 1, cols);
    program_freeze(&p);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 2);
    gb_tensor gamma = program_operand(&p, "gamma");
    /* Twice, so that both take a second gradient. */
    gb_tensor y =
        gb_add(p.tape, gb_rms_norm(p.tape, x, gamma, 1e-5f), gb_rms_norm(p.tape, x, gamma, 1e-1f));
    check_program(&p, y, NULL, 0, 200 * EPS);
    program_free(&p);
}

Test(language, rms_norm)
{
    norm_case(1, 4);
    norm_case(7, 33);
    norm_case(9, 64);
    norm_case(130, 128);
    norm_case(0, 8);
}

static void rotary_case(uint32_t rows, uint32_t head, uint32_t cols, uint32_t width)
{
    float *angles = calloc((size_t)rows * head + 1, sizeof *angles);
    for (uint32_t r = 0; r < rows; r++)
        gb_rotary_fill(10000, head, r * 37 % 1000, angles + (size_t)r * head);
    program p = program_make();
    program_param(&p, "x", rows, width);
    program_freeze(&p);
    gb_tensor t = gb_tape_input(p.tape, "rotary angles", GB_F32, rows, head);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 2);
    gb_tensor y = gb_add(p.tape, x, gb_rotary(p.tape, x, t, head, cols));
    input_values inputs[] = {{t, NULL, angles}};
    check_program(&p, y, inputs, 1, 64 * EPS);
    program_free(&p);
    free(angles);
}

Test(language, rotary)
{
    rotary_case(1, 8, 8, 8);
    rotary_case(19, 16, 48, 80);
    rotary_case(130, 64, 128, 131);
}

/* A pair of numbers keeps its length, and its product with another depends on the distance alone.
 */
Test(language, rotary_turns_by_distance)
{
    float a[16], b[16], c[16], d[16];
    gb_rotary_fill(500, 16, 3, a), gb_rotary_fill(500, 16, 10, b);
    gb_rotary_fill(500, 16, 105, c), gb_rotary_fill(500, 16, 112, d);
    for (uint32_t i = 0; i < 8; i++) {
        cr_expect_float_eq(a[i] * a[i] + a[8 + i] * a[8 + i], 1, 1e-6);
        cr_expect_float_eq(a[i] * b[i] + a[8 + i] * b[8 + i], c[i] * d[i] + c[8 + i] * d[8 + i],
                           1e-6);
    }
    cr_expect_float_eq(a[0], cos(3), 1e-6);
    cr_expect_float_eq(a[8 + 7], sin(3 * pow(500, -7.0 / 8)), 1e-6);
}

Test(language, gates)
{
    static const uint32_t shapes[][2] = {{1, 8}, {37, 24}, {130, 64}};
    for (uint32_t i = 0; i < 3 * 4 * 2; i++) {
        const uint32_t *shape = shapes[i % 3];
        program p = program_make();
        program_param(&p, "x", shape[0], shape[1]);
        program_freeze(&p);
        gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 3);
        gb_tensor y = gb_gate(p.tape, x, (gb_act)(i / 3 % 4), i / 12);
        check_program(&p, y, NULL, 0, 64 * EPS);
        program_free(&p);
    }
}

/* Far out every activation is flat or the line itself, and no number is lost on the way. */
Test(language, gates_far_out)
{
    for (uint32_t act = GB_ACT_RELU; act <= GB_ACT_SILU; act++) {
        program p = program_make();
        program_param(&p, "x", 9, 32);
        program_freeze(&p);
        gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 200);
        check_program(&p, gb_gate(p.tape, x, (gb_act)act, false), NULL, 0, 64 * EPS);
        program_free(&p);
    }
}

/* Shapes that do not fit are told, not computed. */
Test(language, misuse)
{
    program p = program_make();
    program_param(&p, "x", 4, 24);
    program_freeze(&p);
    gb_tensor x = program_operand(&p, "x"),
              t = gb_tape_input(p.tape, "rotary angles", GB_F32, 4, 12);
    gb_rotary(p.tape, x, t, 12, 24);
    cr_expect_not(gb_tape_ok(p.tape, &p.status));
    program_free(&p);
    p = program_make();
    program_param(&p, "x", 4, 24);
    program_freeze(&p);
    x = program_operand(&p, "x");
    gb_attention_gqa_params params = {.heads = 3,
                                      .kv_heads = 2,
                                      .head_dim = 4,
                                      .scale = 1,
                                      .bias = GB_NO_TENSOR,
                                      .max_q = 4,
                                      .max_k = 4};
    gb_tensor spans = gb_tape_input(p.tape, "spans", GB_U32, 1, 4);
    cr_expect_eq(gb_attention_gqa(p.tape, spans, x, 0, x, 12, 16, &params), GB_NO_TENSOR);
    cr_expect_not(gb_tape_ok(p.tape, &p.status));
    program_free(&p);
}

/* Only the rows that have a place go into the table. */
Test(language, put_rows)
{
    static const uint32_t tables[][2] = {{9, 8}, {40, 33}, {7, 5}};
    const uint32_t slots[8] = {6, GB_NO_ROW, 0, 3, GB_NO_ROW};
    for (uint32_t i = 0; i < 3; i++) {
        program p = program_make();
        program_param(&p, "x", 5, tables[i][1]);
        program_state(&p, "table", tables[i][0], tables[i][1]);
        program_freeze(&p);
        gb_tensor table = program_operand(&p, "table");
        gb_tensor at = gb_tape_input(p.tape, "place", GB_U32, 1, 5);
        gb_tensor x = program_operand(&p, "x");
        gb_tensor rows = gb_tape_input(p.tape, "rows", GB_F32, 5, tables[i][1]);
        gb_put_rows(p.tape, table, rows, at);
        gb_tensor y = gb_add(p.tape, gb_gather_rows(p.tape, table, at, GB_NO_TENSOR), x);
        input_values inputs[] = {{at, slots, NULL}};
        check_program(&p, y, inputs, 1, 4 * EPS);
        program_free(&p);
    }
}

/* Values of T5Attention._relative_position_bucket of transformers. */
Test(language, distance_buckets)
{
    static const struct {
        int32_t distance;       /* place of the key less that of the query */
        uint32_t both, earlier; /* bucket of 32 up to 128 */
    } wanted[] = {{0, 0, 0},    {1, 17, 0},    {-1, 1, 1},    {7, 23, 0},     {-7, 7, 7},
                  {8, 24, 0},   {-8, 8, 8},    {-15, 9, 15},  {-16, 10, 16},  {-20, 10, 17},
                  {40, 28, 0},  {-40, 12, 23}, {-64, 14, 26}, {-127, 15, 31}, {-128, 15, 31},
                  {500, 31, 0}, {-500, 15, 31}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        cr_expect_eq(gb_distance_bucket(wanted[i].distance, true, 32, 128), wanted[i].both, "%d",
                     wanted[i].distance);
        cr_expect_eq(gb_distance_bucket(wanted[i].distance, false, 32, 128), wanted[i].earlier,
                     "%d", wanted[i].distance);
    }
}
