/* Attention, forward and backward, with every mask and with dropout, against the float64 reference:
 * by the kernels of the profile, and by cooperative matrices where there are any. Their operands
 * are 16-bit floats to begin with, so what they round are probabilities and the slopes of scores.
 */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 6e-8

/* Of sums of floats; by matrices each weight of a sum is rounded once, and so is what the slope of
 * a score takes from the output: together no more than one rounding of the largest value, and as
 * much of 1. */
static double bound(gb_precision precision)
{
    return 400 * EPS + (precision == GB_FP32 ? 0 : test_rounding(precision));
}

/* ---- heads of their own ---- */

typedef struct attention_case {
    gb_mask_kind mask;
    uint32_t window;
    float dropout;
    bool together;
} attention_case;

static void run_attention(gb_precision precision, const attention_case *c, const uint32_t *lengths,
                          uint32_t sequences, uint32_t heads, uint32_t width)
{
    uint32_t words[64] = {123, 456, 7, 90}, rows = 0, max_length = 0;
    for (uint32_t s = 0; s < sequences; s++) {
        words[GB_SEQUENCES_HEADER + s] = rows;
        rows += lengths[s];
        max_length = lengths[s] > max_length ? lengths[s] : max_length;
    }
    words[GB_SEQUENCES_HEADER + sequences] = rows;
    program p = program_of_precision(precision);
    program_param(&p, "q", rows, c->together ? 3 * width : width);
    program_param(&p, "kv", rows, 2 * width);
    program_freeze(&p);
    gb_tensor seq = gb_sequences_input(p.tape, "sequences", sequences);
    gb_tensor bits = gb_tape_input(p.tape, "bits", GB_U32, rows, 2);
    uint32_t *mask = malloc((rows * 2 + 1) * 4);
    gb_rng rng = gb_rng_make(4, GB_RNG_TEST, 0, 0);
    for (uint32_t i = 0; i < rows * 2; i++)
        mask[i] = i < 2 ? 0 : gb_rng_u32(&rng); /* the first row sees nothing */
    gb_attention_params params = {.heads = heads,
                                  .mask = c->mask,
                                  .window = c->window,
                                  .bits = bits,
                                  .max_length = max_length,
                                  .dropout = c->dropout,
                                  .dropout_index = 3};
    gb_tensor q = gb_scale(p.tape, program_operand(&p, "q"), 1.25f);
    gb_tensor y = c->together ? gb_attention(p.tape, seq, q, 0, q, width, 2 * width, width, &params)
                              : gb_attention(p.tape, seq, q, 0, program_operand(&p, "kv"), 0, width,
                                             width, &params);
    input_values inputs[] = {{seq, words, NULL}, {bits, mask, NULL}};
    check_program(&p, y, inputs, 2, bound(precision));
    program_free(&p);
    free(mask);
}

static const attention_case cases[] = {
    {GB_MASK_NONE, 0, 0, true},  {GB_MASK_CAUSAL, 0, 0, false}, {GB_MASK_WINDOW, 3, 0, true},
    {GB_MASK_BITS, 0, 0, false}, {GB_MASK_NONE, 0, 0.3f, true}, {GB_MASK_BITS, 0, 0.1f, true}};
static const uint32_t lengths[] = {1, 9, 8, 17, 0, 40};

Test(attention, masks_and_dropout)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_attention(GB_FP32, &cases[i], lengths, 6, 2, 16);
        run_attention(GB_FP32, &cases[i], lengths, 3, 1, 4);
    }
    /* lanes of GPUs with several parts of a head */
    run_attention(GB_FP32, &cases[4], lengths + 4, 2, 1, 72);
}

/* The heads of BERT and others, and narrower ones, which are filled up. */
static void by_matrices(gb_precision precision)
{
    run_attention(precision, &cases[1], lengths, 6, 2, 16);
    run_attention(precision, &cases[2], lengths, 6, 1, 4);
    run_attention(precision, &cases[4], lengths + 3, 3, 1, 32);
    run_attention(precision, &cases[5], lengths + 3, 3, 2, 128);
    run_attention(precision, &cases[0], lengths + 4, 2, 1, 128);
}

Test(attention, masks_and_dropout_by_matrices)
{
    test_each_precision(by_matrices);
}

/* Queries are some rows: all of the first text, some of others, none of the last; the places that
 * fill up belong to an empty text, as those behind a batch may. */
static void run_selected(gb_precision precision, gb_mask_kind mask, float dropout)
{
    enum { ROWS = 50, TEXTS = 5, PLACES = 17, HEADS = 2, WIDTH = 16, BEFORE = 4 + 2 * (TEXTS + 1) };
    uint32_t words[] = {123, 456, 7, 90, 0, 3,  11, 30, 50, 50, 0,  3,  6,  9,  14, 17, 0,
                        1,   2,   3, 7,  8, 11, 12, 13, 30, 31, 32, 33, 34, 49, 49, 49};
    _Static_assert(sizeof words / sizeof *words == BEFORE + PLACES, "a row for each place");
    const uint32_t *rows = words + BEFORE;
    uint32_t index[PLACES], inverse[ROWS], seen[PLACES];
    for (uint32_t r = 0; r < ROWS; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < PLACES; i++) {
        index[i] = i < 14 ? rows[i] : GB_NO_ROW;
        if (i < 14)
            inverse[rows[i]] = i;
        seen[i] = 0x5a6b7c8d >> i;
    }
    program p = program_of_precision(precision);
    program_param(&p, "x", ROWS, WIDTH);
    program_param(&p, "kv", ROWS, 2 * WIDTH);
    program_freeze(&p);
    gb_tensor seq = gb_selection_input(p.tape, "sequences", TEXTS, PLACES);
    gb_tensor from = gb_tape_input(p.tape, "index", GB_U32, 1, PLACES);
    gb_tensor to = gb_tape_input(p.tape, "inverse", GB_U32, 1, ROWS);
    gb_tensor bits = gb_tape_input(p.tape, "bits", GB_U32, PLACES, 1);
    gb_attention_params params = {.heads = HEADS,
                                  .mask = mask,
                                  .window = 3,
                                  .bits = bits,
                                  .max_length = 20,
                                  .dropout = dropout,
                                  .dropout_index = 3,
                                  .selected = true};
    gb_tensor q = gb_gather_rows(p.tape, program_operand(&p, "x"), from, to);
    gb_tensor kv = gb_scale(p.tape, program_operand(&p, "kv"), 1.25f);
    gb_tensor y = gb_attention(p.tape, seq, q, 0, kv, 0, WIDTH, WIDTH, &params);
    y = gb_dropout(p.tape, y, dropout, 4, seq, true);
    input_values inputs[] = {
        {seq, words, NULL}, {from, index, NULL}, {to, inverse, NULL}, {bits, seen, NULL}};
    check_program(&p, y, inputs, 4, bound(precision));
    program_free(&p);
}

Test(attention, of_some_rows)
{
    run_selected(GB_FP32, GB_MASK_NONE, 0);
    run_selected(GB_FP32, GB_MASK_NONE, .3f);
    run_selected(GB_FP32, GB_MASK_CAUSAL, .3f);
    run_selected(GB_FP32, GB_MASK_WINDOW, 0);
    run_selected(GB_FP32, GB_MASK_BITS, .3f);
}

static void some_by_matrices(gb_precision precision)
{
    run_selected(precision, GB_MASK_NONE, .3f);
    run_selected(precision, GB_MASK_CAUSAL, 0);
}

Test(attention, of_some_rows_by_matrices)
{
    test_each_precision(some_by_matrices);
}

/* A selection of rows has the values that these rows have among all, dropped as they are. */
Test(attention, selected_rows_are_those_of_all)
{
    enum { ROWS = 20, TEXTS = 2, PLACES = 5, WIDTH = 8 };
    static const uint32_t rows[PLACES] = {0, 4, 7, 8, 19}, places[TEXTS + 1] = {0, 3, 5};
    uint32_t words[5 + TEXTS + TEXTS + 1 + PLACES] = {9, 8, 7, 60, 0, 8, ROWS};
    uint32_t inverse[ROWS];
    memcpy(words + 5 + TEXTS, places, sizeof places);
    memcpy(words + 6 + 2 * TEXTS, rows, sizeof rows);
    for (uint32_t r = 0; r < ROWS; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < PLACES; i++)
        inverse[rows[i]] = i;
    program p = program_make();
    program_param(&p, "x", ROWS, 3 * WIDTH);
    program_freeze(&p);
    gb_tensor all = gb_sequences_input(p.tape, "sequences", TEXTS);
    gb_tensor some = gb_selection_input(p.tape, "selection", TEXTS, PLACES);
    gb_tensor index = gb_tape_input(p.tape, "index", GB_U32, 1, PLACES);
    gb_tensor back = gb_tape_input(p.tape, "inverse", GB_U32, 1, ROWS);
    gb_attention_params params = {
        .heads = 2, .mask = GB_MASK_CAUSAL, .max_length = 12, .dropout = .3f, .dropout_index = 2};
    gb_tensor x = program_operand(&p, "x");
    gb_tensor a = gb_attention(p.tape, all, x, 0, x, WIDTH, 2 * WIDTH, WIDTH, &params);
    a = gb_gather_rows(p.tape, gb_dropout(p.tape, a, .25f, 1, all, false), index, back);
    params.selected = true;
    gb_tensor q = gb_gather_rows(p.tape, x, index, back);
    gb_tensor b = gb_attention(p.tape, some, q, 0, x, WIDTH, 2 * WIDTH, WIDTH, &params);
    b = gb_dropout(p.tape, b, .25f, 1, some, true);
    gb_tape_output(p.tape, a);
    gb_tape_output(p.tape, b);
    gb_reference *ref = gb_reference_create(p.tape, &p.status);
    cr_assert(ref, "%s", p.status.what);
    memcpy(gb_reference_u(ref, all), words, (5 + TEXTS) * sizeof *words);
    memcpy(gb_reference_u(ref, some), words, sizeof words);
    memcpy(gb_reference_u(ref, index), rows, sizeof rows);
    memcpy(gb_reference_u(ref, back), inverse, sizeof inverse);
    double *values = gb_reference_f(ref, x);
    for (uint32_t i = 0; i < ROWS * 3 * WIDTH; i++)
        values[i] = sin(i);
    gb_reference_run(ref);
    bool dropped = false;
    for (uint32_t i = 0; i < PLACES * WIDTH; i++) {
        cr_expect_eq(gb_reference_f(ref, a)[i], gb_reference_f(ref, b)[i]);
        dropped |= gb_reference_f(ref, a)[i] == 0;
    }
    cr_expect(dropped);
    gb_reference_destroy(ref);
    program_free(&p);
}

/* Rows of one text that see all of its values, which are 1, give 1, each of them: loops of a CPU
 * driver end early, and silently, where one lane walks too many rows. */
static void run_long_attention(gb_precision precision, uint32_t rows, uint32_t width)
{
    uint32_t words[GB_SEQUENCES_HEADER + 2] = {[GB_SEQUENCES_HEADER + 1] = rows};
    program p = program_of_precision(precision);
    uint32_t ones = program_param(&p, "qkv", rows, width);
    program_freeze(&p);
    gb_tensor seq = gb_sequences_input(p.tape, "sequences", 1), x = program_operand(&p, "qkv");
    gb_attention_params params = {.heads = 1, .max_length = rows};
    gb_tensor y = gb_attention(p.tape, seq, x, 0, x, 0, 0, width, &params);
    gb_tape_output(p.tape, y);
    gb_device *device = test_device();
    gb_device_use_precision(device, precision);
    gb_state *state = gb_state_create(device, p.params, true, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    float *values = calloc(gb_params_floats(p.params), sizeof *values);
    for (size_t i = 0; i < (size_t)rows * width; i++)
        values[gb_params_at(p.params, ones)->offset + i] = 1;
    cr_assert(gb_state_write(state, GB_ARENA_PARAMS, values, &p.status));
    memcpy(gb_executable_input(exec, seq, &p.status), words, sizeof words);
    uint64_t ticket;
    cr_assert(gb_executable_run(exec, &ticket, &p.status));
    const float *got = gb_executable_output(exec, ticket, y, &p.status);
    uint32_t wrong = 0;
    for (size_t i = 0; got && i < (size_t)rows * width; i++)
        wrong += !(fabsf(got[i] - 1) <= 1e-3f);
    cr_expect(got && !wrong, "%u of %u numbers are wrong", wrong, rows * width);
    free(values);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}

Test(attention, of_long_texts)
{
    gb_device *device = test_device();
    bool cpu = gb_device_get_caps(device)->profile == GB_PROFILE_CPU;
    gb_device_close(device);
    /* too wide for the kernels that read texels */
    run_long_attention(GB_FP32, cpu ? 800 : 300, 68);
    if (cpu)
        run_long_attention(GB_FP32, 2100, 4);
}

static void long_by_matrices(gb_precision precision)
{
    run_long_attention(precision, 2100, 8);
}

Test(attention, of_long_texts_by_matrices)
{
    test_each_precision(long_by_matrices);
}

/* ---- shared heads of keys, and a bias by distance ---- */

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

static void run_attend(gb_precision precision, const attend_case *c)
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
    program p = program_of_precision(precision);
    program_param(&p, "q", q_rows, c->together ? wide + 2 * narrow : wide);
    program_param(&p, "kv", k_rows, 2 * narrow);
    program_param(&p, "bias", 2 * reach + 1, c->heads);
    program_freeze(&p);
    gb_tensor t = gb_tape_input(p.tape, "spans", GB_U32, 6, 4);
    gb_tensor y = attend(c, &p, t, max_length[0], max_length[1]);
    input_values inputs[] = {{t, spans[0], NULL}};
    check_program(&p, y, inputs, 1, bound(precision));
    program_free(&p);
}

static const attend_case attend_cases[] = {
    /* T5: encoder, decoder, cross attention with texts that differ and one without keys */
    {2, 2, 8, 1, false, true, true, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
    {3, 3, 4, 1, true, true, false, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
    {2, 2, 8, 1, false, false, false, {{3, 1}, {9, 30}, {8, 0}, {17, 5}, {0, 7}, {40, 41}}},
    /* LLaMA: shared heads of keys, whole and behind what a cache holds */
    {4, 2, 8, 0.3f, true, false, true, {{1, 1}, {9, 9}, {8, 8}, {17, 17}, {0, 0}, {40, 40}}},
    {6, 1, 4, 0.5f, true, false, false, {{1, 1}, {1, 9}, {8, 12}, {1, 33}, {0, 7}, {40, 41}}},
    {2, 1, 12, 1, true, true, false, {{1, 1}, {1, 9}, {8, 12}, {1, 33}, {0, 7}, {4, 41}}}};

static void shared_heads(gb_precision precision)
{
    for (size_t i = 0; i < sizeof attend_cases / sizeof *attend_cases; i++)
        run_attend(precision, &attend_cases[i]);
}

Test(attention, shared_heads)
{
    shared_heads(GB_FP32);
}

Test(attention, shared_heads_by_matrices)
{
    test_each_precision(shared_heads);
}
