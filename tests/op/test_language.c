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

/* ---- attention ---- */

typedef struct attend_case {
    uint32_t heads, kv_heads, head_dim; /* as in gb_attention_gqa_params */
    float scale;                        /* of scores */
    bool causal, bias, together;        /* together: queries and keys in one tensor */
    uint32_t lengths[6][2];             /* queries and keys of each sequence */
} attend_case;

static gb_tensor attend(const attend_case *c, program *p, gb_tensor spans, uint32_t max_q,
                        uint32_t max_k)
{
    uint32_t wide = c->heads * c->head_dim, narrow = c->kv_heads * c->head_dim;
    gb_attention_gqa_params params = {.heads = c->heads,
                                      .kv_heads = c->kv_heads,
                                      .head_dim = c->head_dim,
                                      .scale = c->scale,
                                      .causal = c->causal,
                                      .bias = GB_NO_TENSOR,
                                      .max_q = max_q,
                                      .max_k = max_k};
    if (c->bias)
        params.bias = gb_scale(p->tape, program_operand(p, "bias"), 0.5f);
    gb_tensor q = gb_scale(p->tape, program_operand(p, "q"), 1.25f);
    if (c->together)
        return gb_attention_gqa(p->tape, spans, q, 0, q, wide, wide + narrow, &params);
    return gb_attention_gqa(p->tape, spans, q, 0, program_operand(p, "kv"), narrow, 0, &params);
}

static void run_attend(const attend_case *c)
{
    uint32_t spans[6][4], q_rows = 0, k_rows = 0, max_length[2] = {0, 0};
    for (uint32_t s = 0; s < 6; s++) {
        uint32_t both[] = {q_rows, c->lengths[s][0], k_rows, c->lengths[s][1]};
        for (int w = 0; w < 4; w++)
            spans[s][w] = both[w];
        for (int side = 0; side < 2; side++)
            max_length[side] = fmax(max_length[side], c->lengths[s][side]);
        q_rows += c->lengths[s][0];
        k_rows += c->lengths[s][1];
    }
    uint32_t wide = c->heads * c->head_dim, narrow = c->kv_heads * c->head_dim;
    uint32_t reach = (max_length[0] > max_length[1] ? max_length[0] : max_length[1]) - 1;
    program p = program_make();
    program_param(&p, "q", q_rows, c->together ? wide + 2 * narrow : wide);
    program_param(&p, "kv", k_rows, 2 * narrow);
    program_param(&p, "bias", 2 * reach + 1, c->heads);
    program_freeze(&p);
    gb_tensor t = gb_tape_input(p.tape, "spans", GB_U32, 6, 4);
    gb_tensor y = attend(c, &p, t, max_length[0], max_length[1]);
    input_values inputs[] = {{t, spans[0], NULL}};
    check_program(&p, y, inputs, 1, 400 * EPS);
    program_free(&p);
}

Test(language, attend, .timeout = 100)
{
    static const attend_case cases[] = {
        /* T5: encoder, decoder, cross attention with texts that differ and one without keys */
        {2, 2, 8, 1, false, true, true, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
        {3, 3, 4, 1, true, true, false, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
        {2, 2, 8, 1, false, false, false, {{3, 1}, {9, 30}, {8, 0}, {17, 5}, {0, 7}, {40, 41}}},
        /* LLaMA: shared heads of keys, whole and behind what a cache holds */
        {4, 2, 8, 0.3f, true, false, true, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
        {6, 1, 4, 0.5f, true, false, false, {{1, 1}, {1, 9}, {8, 12}, {1, 33}, {0, 7}, {40, 41}}},
        {2, 1, 12, 1, true, true, false, {{1, 1}, {1, 9}, {8, 12}, {1, 33}, {0, 7}, {4, 41}}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_attend(&cases[i]);
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
