/* The scores of late interaction, forward and backward, against the float64 reference; what the
 * reference cannot tell, such as which of two equal tokens the gradient goes to, against numbers.
 */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 6e-8

/* Texts of a side: some rows of no text, then texts of 0, 1, ... tokens in turn. */
typedef struct side {
    uint32_t texts;   /* how many */
    uint32_t longest; /* tokens of a text at most */
    uint32_t before;  /* rows of no text before and after them */
    uint32_t rows;    /* in all */
    uint32_t *starts; /* [texts + 1] */
    uint32_t *tags;   /* [rows + 3] */
} side;

static side side_make(uint32_t texts, uint32_t longest, uint32_t before, uint32_t tags)
{
    side s = {texts, longest, before, 0, calloc(texts + 1, 4), NULL};
    s.starts[0] = before;
    for (uint32_t i = 0; i < texts; i++)
        s.starts[i + 1] = s.starts[i] + (i * 7 + longest) % (longest + 1);
    s.rows = s.starts[texts] + before;
    s.tags = calloc(s.rows + 4, 4);
    for (uint32_t r = 0; r < s.rows + 3; r++)
        s.tags[r] = r % 11 == 3 ? GB_NO_ROW : r * r % tags;
    return s;
}

static void side_free(side *s)
{
    free(s->starts), free(s->tags);
}

static void late_case(side q, side p, uint32_t width, bool floor)
{
    program t = program_make();
    program_param(&t, "q", q.rows, width);
    program_param(&t, "p", p.rows, width);
    program_freeze(&t);
    gb_max_sim_input in = gb_max_sim_declare(t.tape, q.texts, q.rows, p.texts, p.rows);
    gb_tensor tq = gb_scale(t.tape, program_operand(&t, "q"), 1.5f);
    gb_tensor tp = gb_scale(t.tape, program_operand(&t, "p"), 0.75f);
    gb_tensor y = gb_max_sim(t.tape, tq, tp, &in, floor);
    input_values inputs[] = {{in.query_starts, q.starts, NULL},
                             {in.passage_starts, p.starts, NULL},
                             {in.query_tags, q.tags, NULL},
                             {in.passage_tags, p.tags, NULL}};
    check_program(&t, y, inputs, 4, 64 * EPS);
    program_free(&t);
    side_free(&q), side_free(&p);
}

Test(maxsim, one_token)
{
    late_case(side_make(1, 1, 0, 1), side_make(1, 1, 0, 1), 3, false);
}

Test(maxsim, all_tokens)
{
    late_case(side_make(5, 6, 0, 1), side_make(7, 9, 0, 1), 16, false);
    late_case(side_make(9, 32, 2, 1), side_make(70, 41, 5, 1), 128, false);
}

Test(maxsim, equal_tokens)
{
    late_case(side_make(5, 6, 1, 4), side_make(7, 9, 3, 4), 16, true);
    late_case(side_make(9, 16, 0, 50), side_make(40, 63, 1, 50), 32, true);
    late_case(side_make(9, 16, 0, 50), side_make(40, 63, 1, 50), 22, false);
}

/* Wider than a workgroup. */
Test(maxsim, wide_tokens)
{
    late_case(side_make(3, 4, 1, 2), side_make(4, 5, 1, 2), 768, false);
}

/* More similarities than are made at once. */
Test(maxsim, chunks)
{
    late_case(side_make(15, 12, 60, 3), side_make(180, 600, 0, 3), 4, false);
}

/* Both sides are rows of one tensor, as in a batch. */
Test(maxsim, one_tensor)
{
    enum { QUERIES = 2, PASSAGES = 3, ROWS = 13 };
    const uint32_t q[] = {1, 3, 5}, p[] = {5, 8, 8, 12};
    uint32_t tags[ROWS + 3] = {[9] = GB_NO_ROW};
    program t = program_make();
    program_param(&t, "h", ROWS, 8);
    program_freeze(&t);
    gb_max_sim_input in = gb_max_sim_declare(t.tape, QUERIES, ROWS, PASSAGES, ROWS);
    gb_tensor h = gb_scale(t.tape, program_operand(&t, "h"), 1.5f);
    gb_tensor y = gb_max_sim(t.tape, h, h, &in, false);
    input_values inputs[] = {{in.query_starts, q, NULL},
                             {in.passage_starts, p, NULL},
                             {in.query_tags, tags, NULL},
                             {in.passage_tags, tags, NULL}};
    check_program(&t, y, inputs, 4, 64 * EPS);
    program_free(&t);
}

/* ---- numbers ---- */

static const float *run_once(program *p, gb_executable *exec, gb_tensor y)
{
    uint64_t ticket;
    cr_assert(gb_executable_run(exec, &ticket, &p->status), "%s", p->status.what);
    return gb_executable_output(exec, ticket, y, &p->status);
}

static void set_words(program *p, gb_executable *exec, gb_tensor input, const uint32_t *words,
                      uint32_t count)
{
    uint32_t *to = gb_executable_input(exec, input, &p->status);
    cr_assert(to);
    for (uint32_t i = 0; i < count; i++)
        to[i] = words[i];
}

/* One query of two tokens; passages of two equal tokens and a worse one, of negative ones, of no
 * token, and one that does not exist. The first of equals gets the gradient. */
Test(maxsim, ties_and_missing_passages)
{
    enum { Q = 2, P = 5, PASSAGES = 4, WIDTH = 4 };
    const float q_values[Q * WIDTH] = {1, 0, 0, 0, 0, 1, 0, 0};
    const float p_values[P * WIDTH] = {.25f, -1, 0,  0,  .5f, -2, 0,  0,  .5f, -2,
                                       0,    0,  -1, -3, 0,   0,  -2, -4, 0,   0};
    const uint32_t q_starts[] = {0, Q}, p_starts[] = {0, 3, 5, 5, GB_NO_ROW};
    const uint32_t tags[8] = {0};
    for (int floor = 0; floor < 2; floor++) {
        program p = program_make();
        program_param(&p, "q", Q, WIDTH);
        program_param(&p, "p", P, WIDTH);
        program_freeze(&p);
        gb_max_sim_input in = gb_max_sim_declare(p.tape, 1, Q, PASSAGES, P);
        gb_tensor y =
            gb_max_sim(p.tape, program_operand(&p, "q"), program_operand(&p, "p"), &in, floor);
        gb_tape_output(p.tape, y);
        gb_tensor dy = gb_tape_input(p.tape, "dy", GB_F32, 1, PASSAGES);
        cr_assert(gb_backward_from(p.tape, y, dy, &p.status));
        gb_device *device = test_device();
        gb_state *state = gb_state_create(device, p.params, true, &p.status);
        gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
        cr_assert(exec, "%s", p.status.what);
        float values[256] = {0}, grads[256];
        cr_assert_leq(gb_params_floats(p.params), 256);
        uint64_t at = gb_params_at(p.params, 1)->offset;
        memcpy(values, q_values, sizeof q_values);
        memcpy(values + at, p_values, sizeof p_values);
        cr_assert(gb_state_write(state, GB_ARENA_PARAMS, values, &p.status));
        set_words(&p, exec, in.query_starts, q_starts, 2);
        set_words(&p, exec, in.passage_starts, p_starts, PASSAGES + 1);
        set_words(&p, exec, in.query_tags, tags, Q);
        set_words(&p, exec, in.passage_tags, tags, 8);
        float *weights = gb_executable_input(exec, dy, &p.status);
        weights[0] = 1, weights[1] = 10, weights[2] = 100, weights[3] = 0;
        const float *scores = run_once(&p, exec, y);
        cr_assert(scores);
        cr_expect_eq(scores[0], floor ? .5f : -.5f);
        cr_expect_eq(scores[1], floor ? 0 : -4);
        cr_expect_eq(scores[2], 0);
        cr_expect(isinf(scores[3]) && scores[3] < 0);
        cr_assert(gb_state_read(state, GB_ARENA_GRADS, grads, &p.status));
        const float *dp = grads + at;
        cr_expect_eq(dp[1 * WIDTH], 1, "the first of two equal tokens");
        cr_expect_eq(dp[2 * WIDTH], 0, "the second of two equal tokens");
        cr_expect_eq(dp[0 * WIDTH + 1], floor ? 0 : 1);
        cr_expect_eq(dp[3 * WIDTH], floor ? 0 : 10);
        cr_expect_eq(dp[3 * WIDTH + 1], floor ? 0 : 10);
        cr_expect_eq(dp[4 * WIDTH], 0);
        cr_expect_eq(grads[0], .5f + (floor ? 0 : -10));
        gb_executable_destroy(exec);
        gb_state_destroy(state);
        gb_device_close(device);
        program_free(&p);
    }
}
