/* Operations of sparse vectors, forward and backward, against the float64 reference: term weights
 * over texts and chunks of awkward sizes, the FLOPS regulariser, and ties. */
#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define EPS 6e-8

/* Sequences of 1, 2, 3, .. rows, the last ones empty where `rows` are too few; the rest is padding.
 */
static uint32_t *fill_sequences(uint32_t texts, uint32_t rows, uint32_t padding)
{
    uint32_t *sequences = calloc(GB_SEQUENCES_HEADER + texts + 1, sizeof *sequences);
    uint32_t *starts = sequences + GB_SEQUENCES_HEADER;
    for (uint32_t t = 0; t < texts; t++) {
        uint32_t left = rows - padding - starts[t];
        starts[t + 1] = starts[t] + (t + 1 == texts || t + 1 > left ? left : t + 1);
    }
    return sequences;
}

static void weights_case(uint32_t texts, uint32_t rows, uint32_t padding, uint32_t vocabulary,
                         bool bias)
{
    uint32_t *sequences = fill_sequences(texts, rows, padding);
    program p = program_make();
    program_param(&p, "h", rows, 16);
    program_param(&p, "table", vocabulary, 16);
    program_param(&p, "bias", 1, vocabulary);
    program_freeze(&p);
    gb_tensor ts = gb_sequences_input(p.tape, "sequences", texts);
    gb_tensor h = gb_scale(p.tape, program_operand(&p, "h"), 1.5f);
    gb_tensor y = gb_term_weights(p.tape, h, program_operand(&p, "table"),
                                  bias ? program_operand(&p, "bias") : GB_NO_TENSOR, ts, 64);
    input_values inputs[] = {{ts, sequences, NULL}};
    check_program(&p, y, inputs, 1, 200 * EPS);
    program_free(&p);
    free(sequences);
}

Test(sparse, term_weights)
{
    weights_case(1, 1, 0, 3, true);
    weights_case(5, 20, 5, 101, false);
    weights_case(9, 64, 2, 260, true);
    weights_case(14, 150, 30, 70, true);  /* three chunks, texts across them */
    weights_case(2, 200, 130, 37, false); /* chunks of padding alone */
}

/* Two uses of one table, as of queries and of passages, add their gradients up. */
Test(sparse, term_weights_twice)
{
    enum { TEXTS = 4, ROWS = 70, VOCABULARY = 45 };
    uint32_t *sequences = fill_sequences(TEXTS, ROWS, 6);
    program p = program_make();
    program_param(&p, "h", ROWS, 8);
    program_param(&p, "table", VOCABULARY, 8);
    program_param(&p, "bias", 1, VOCABULARY);
    program_freeze(&p);
    gb_tensor ts = gb_sequences_input(p.tape, "sequences", TEXTS), w[2];
    for (int i = 0; i < 2; i++)
        w[i] = gb_term_weights(p.tape, gb_scale(p.tape, program_operand(&p, "h"), i ? -1.0f : 1.0f),
                               program_operand(&p, "table"), program_operand(&p, "bias"), ts, 64);
    input_values inputs[] = {{ts, sequences, NULL}};
    check_program(&p, gb_matmul(p.tape, GB_NT, w[0], w[1]), inputs, 1, 200 * EPS);
    program_free(&p);
    free(sequences);
}

static void flops_case(uint32_t texts, uint32_t cols)
{
    float *shares = calloc(texts + 3, sizeof *shares);
    for (uint32_t t = 0; t < texts; t++)
        shares[t] = 1.0f / (float)texts;
    program p = program_make();
    program_param(&p, "weights", texts, cols);
    program_freeze(&p);
    gb_tensor ts = gb_tape_input(p.tape, "shares", GB_F32, 1, texts);
    gb_tensor tf = gb_tape_input(p.tape, "factor", GB_F32, 1, 1);
    gb_tensor w = gb_scale(p.tape, program_operand(&p, "weights"), 1.5f);
    input_values inputs[] = {{ts, NULL, shares}};
    check_program(&p, gb_flops_loss(p.tape, w, ts, tf), inputs, 1, 200 * EPS);
    program_free(&p);
    free(shares);
}

Test(sparse, flops_loss)
{
    flops_case(1, 1);
    flops_case(7, 37);
    flops_case(33, 1030);
}

/* All rows of a text equal: the first has the gradient, and a text without positive logits none. */
Test(sparse, ties_go_to_the_first)
{
    enum { TEXTS = 2, ROWS = 6, WIDTH = 4, VOCABULARY = 4 };
    const uint32_t starts[TEXTS + 1] = {0, 3, ROWS};
    program p = program_make();
    program_param(&p, "h", ROWS, WIDTH);
    program_param(&p, "table", VOCABULARY, WIDTH);
    program_freeze(&p);
    gb_tensor ts = gb_sequences_input(p.tape, "sequences", TEXTS);
    gb_tensor w = gb_term_weights(p.tape, program_operand(&p, "h"), program_operand(&p, "table"),
                                  GB_NO_TENSOR, ts, 64);
    gb_tape_output(p.tape, w);
    gb_tensor td = gb_tape_input(p.tape, "dy", GB_F32, TEXTS, VOCABULARY);
    cr_assert(gb_backward_from(p.tape, w, td, &p.status), "%s", p.status.what);
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, true, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    size_t floats = gb_params_floats(p.params);
    float *values = calloc(floats, sizeof *values), *got = calloc(floats, sizeof *got);
    const gb_param *h = gb_params_at(p.params, 0), *table = gb_params_at(p.params, 1);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        values[h->offset + i] = i < 3 * WIDTH ? 1.0f : -1.0f;
    for (uint32_t i = 0; i < VOCABULARY * WIDTH; i++)
        values[table->offset + i] = 1.0f;
    cr_assert(gb_state_write(state, GB_ARENA_PARAMS, values, &p.status));
    uint32_t *sequences = gb_executable_input(exec, ts, &p.status);
    for (uint32_t i = 0; i <= TEXTS; i++)
        sequences[GB_SEQUENCES_HEADER + i] = starts[i];
    float *dy = gb_executable_input(exec, td, &p.status);
    for (uint32_t i = 0; i < TEXTS * VOCABULARY; i++)
        dy[i] = 1.0f;
    uint64_t ticket;
    cr_assert(gb_executable_run(exec, &ticket, &p.status) &&
              gb_executable_wait(exec, ticket, &p.status));
    cr_assert(gb_state_read(state, GB_ARENA_GRADS, got, &p.status));
    const float *weights = gb_executable_output(exec, ticket, w, &p.status);
    for (uint32_t i = 0; i < TEXTS * VOCABULARY; i++)
        cr_expect_float_eq(weights[i], i < VOCABULARY ? 1.6094379f : 0, 1e-6); /* log(1 + 4) */
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        cr_expect_float_eq(got[h->offset + i], i < WIDTH ? 0.8f : 0, 1e-6); /* 4 columns, 1 / 5 */
    free(values), free(got);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}
