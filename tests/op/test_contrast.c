/* Operations of contrastive objectives, forward and backward, over awkward shapes, against the
 * float64 reference; and that parameters which are not trained change as they should. */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 6e-8

/* ---- cross entropy against sets ---- */

static void set_bit(uint32_t *row, uint32_t c)
{
    row[c / 32] |= 1u << (c % 32);
}

/* Row r: every (r + 2)-th column from r on is a target; row 1 has none, row 2 all of them. Excluded
 * are some that are no targets. */
static void fill_sets(uint32_t rows, uint32_t cols, uint32_t *targets, uint32_t *exclude,
                      float *weights)
{
    uint32_t words = (cols + 31) / 32;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < cols; c++) {
            bool target = r == 2 || (r != 1 && c % (r + 2) == r % (r + 2));
            if (target)
                set_bit(targets + r * words, c);
            else if ((c + r) % 3 == 0 && c != 5)
                set_bit(exclude + r * words, c);
        }
        weights[r * 4] = 0.1f * (float)(r + 1);
    }
}

static void set_case(uint32_t rows, uint32_t cols, bool exclusion)
{
    uint32_t words = (cols + 31) / 32;
    uint32_t *targets = calloc(rows * words + 1, 4), *exclude = calloc(rows * words + 1, 4);
    float *weights = calloc(rows * 4 + 4, 4);
    fill_sets(rows, cols, targets, exclude, weights);
    program p = program_make();
    program_param(&p, "logits", rows, cols);
    program_freeze(&p);
    gb_tensor tt = gb_tape_input(p.tape, "targets", GB_U32, rows, words);
    gb_tensor te = gb_tape_input(p.tape, "exclude", GB_U32, rows, words);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, rows, 1);
    gb_tensor logits = gb_scale(p.tape, program_operand(&p, "logits"), 1.5f);
    gb_tensor y = gb_multilabel_loss(p.tape, logits, tt, tw, exclusion ? te : GB_NO_TENSOR);
    input_values inputs[] = {{tt, targets, NULL}, {te, exclude, NULL}, {tw, NULL, weights}};
    check_program(&p, y, inputs, 3, 200 * EPS);
    program_free(&p);
    free(targets), free(exclude), free(weights);
}

Test(contrast, set_loss)
{
    set_case(1, 1, false);
    set_case(4, 3, false);
    set_case(9, 37, true);
    set_case(9, 64, false);
    set_case(130, 33, true);
}

/* Rows as long as BERT's vocabulary, and longer. */
Test(contrast, set_loss_of_long_rows)
{
    set_case(3, 41000, true);
}

static void vocabulary_case(uint32_t rows, uint32_t vocabulary, uint32_t width, bool bias)
{
    uint32_t words = (vocabulary + 31) / 32;
    uint32_t *targets = calloc(rows * words + 1, 4), *exclude = calloc(rows * words + 1, 4);
    float *weights = calloc(rows * 4 + 4, 4);
    fill_sets(rows, vocabulary, targets, exclude, weights);
    program p = program_make();
    program_param(&p, "h", rows, width);
    program_param(&p, "table", vocabulary, width);
    program_param(&p, "bias", 1, vocabulary);
    program_freeze(&p);
    gb_tensor tt = gb_tape_input(p.tape, "targets", GB_U32, rows, words);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, rows, 1);
    gb_tensor y = gb_vocabulary_multilabel_loss(
        p.tape, gb_scale(p.tape, program_operand(&p, "h"), 1.5f), program_operand(&p, "table"),
        bias ? program_operand(&p, "bias") : GB_NO_TENSOR, tt, tw, 64);
    input_values inputs[] = {{tt, targets, NULL}, {tw, NULL, weights}};
    check_program(&p, y, inputs, 2, 200 * EPS);
    program_free(&p);
    free(targets), free(exclude), free(weights);
}

Test(contrast, vocabulary_set_loss)
{
    vocabulary_case(1, 3, 8, true);
    vocabulary_case(33, 101, 16, false);
    vocabulary_case(150, 70, 16, true); /* three chunks */
}

static void preference_case(uint32_t rows, uint32_t cols)
{
    uint32_t *pairs = calloc(rows * 2 + 1, 4);
    for (uint32_t r = 0; r < rows; r++) {
        pairs[2 * r] = r == 1 ? GB_NO_ROW : (r * 3) % cols;
        pairs[2 * r + 1] = (r * 3 + 1 + r % (cols - 1)) % cols;
    }
    program p = program_make();
    program_param(&p, "scores", rows, cols);
    program_freeze(&p);
    gb_tensor tp = gb_tape_input(p.tape, "pairs", GB_U32, rows, 2);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, rows, 1);
    gb_tensor scores = gb_scale(p.tape, program_operand(&p, "scores"), 1.5f);
    gb_tensor y = gb_preference_loss(p.tape, scores, tp, tw);
    input_values inputs[] = {{tp, pairs, NULL}};
    check_program(&p, y, inputs, 1, 200 * EPS);
    program_free(&p);
    free(pairs);
}

Test(contrast, preference_loss)
{
    preference_case(1, 2);
    preference_case(9, 37);
    preference_case(130, 260);
}

/* A loss times a number that is only known on the device. */
Test(contrast, scaled_loss)
{
    enum { ROWS = 5, COLS = 9 };
    uint32_t targets[ROWS] = {1, 2, 0x1ff, 0, 6};
    program p = program_make();
    program_param(&p, "logits", ROWS, COLS);
    program_freeze(&p);
    gb_tensor tt = gb_tape_input(p.tape, "targets", GB_U32, ROWS, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, ROWS, 1);
    gb_tensor by = gb_tape_input(p.tape, "factor", GB_F32, 1, 1);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "logits"), 1.0f);
    gb_tensor loss = gb_multilabel_loss(p.tape, x, tt, tw, GB_NO_TENSOR);
    input_values inputs[] = {{tt, targets, NULL}};
    check_program(&p, gb_scale_by(p.tape, loss, by), inputs, 1, 200 * EPS);
    program_free(&p);
}

/* ---- rows ---- */

static gb_sparse span_lists(gb_tape *tape, uint32_t rows, uint32_t of, uint32_t length)
{
    return gb_sparse_input(tape, rows, of, rows * length, length, rows);
}

/* Means of overlapping ranges; the first row has no list. */
static void combine_case(uint32_t rows, uint32_t of, uint32_t width, uint32_t length)
{
    uint32_t entries = rows * length;
    uint32_t *starts = calloc(rows + 1, 4), *order = calloc(entries + 1, 4);
    uint32_t *back_starts = calloc(of + 1, 4), *back_order = calloc(entries + 1, 4);
    float *weights = calloc(entries + 4, 4), *back_weights = calloc(entries + 4, 4);
    uint32_t count = 0;
    for (uint32_t r = 1; r < rows; r++) {
        starts[r] = count;
        for (uint32_t k = 0; k < length; k++) {
            order[count] = (r * 5 + k) % of;
            weights[count++] = 1.0f / (float)(length + r % 3);
        }
    }
    starts[rows] = count;
    uint32_t back = 0;
    for (uint32_t x = 0; x < of; x++) {
        back_starts[x] = back;
        for (uint32_t r = 1; r < rows; r++)
            for (uint32_t k = starts[r]; k < starts[r + 1]; k++)
                if (order[k] == x) {
                    back_order[back] = r;
                    back_weights[back++] = weights[k];
                }
    }
    back_starts[of] = back;
    program p = program_make();
    program_param(&p, "x", of, width);
    program_freeze(&p);
    gb_sparse in = span_lists(p.tape, rows, of, length);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 1.5f);
    gb_tensor y = gb_sparse_matmul(p.tape, x, &in);
    y = gb_add(p.tape, y, gb_sparse_matmul(p.tape, x, &in)); /* the gradients add up */
    input_values inputs[] = {
        {in.there.starts, starts, NULL},   {in.there.order, order, NULL},
        {in.there.weights, NULL, weights}, {in.back.starts, back_starts, NULL},
        {in.back.order, back_order, NULL}, {in.back.weights, NULL, back_weights}};
    check_program(&p, y, inputs, 6, 64 * EPS);
    program_free(&p);
    free(starts), free(order), free(weights), free(back_starts), free(back_order);
    free(back_weights);
}

Test(contrast, combine_rows)
{
    combine_case(2, 3, 5, 1);
    combine_case(7, 40, 16, 9);
    combine_case(20, 33, 22, 33);
    combine_case(3, 700, 768, 512); /* longer than a lane may loop on CPU drivers */
}

/* What the host writes as the way back is the transposed lists. */
Test(contrast, combination_is_transposed)
{
    enum { ROWS = 4, OF = 6 };
    const uint32_t starts[ROWS + 1] = {0, 2, 2, 5, 6}, order[] = {3, 1, 5, 3, 0, 3};
    const float weights[] = {.5f, .25f, 1, 2, 3, 4};
    const uint32_t wanted_starts[OF + 1] = {0, 1, 2, 2, 5, 5, 6}, wanted[] = {2, 0, 0, 2, 3, 2};
    const float wanted_weights[] = {3, .25f, .5f, 2, 4, 1};
    program p = program_make();
    program_param(&p, "x", OF, 4);
    program_freeze(&p);
    gb_sparse in = gb_sparse_input(p.tape, ROWS, OF, 8, 3, 3);
    gb_tape_output(p.tape, gb_sparse_matmul(p.tape, program_operand(&p, "x"), &in));
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, false, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    cr_assert(gb_sparse_fill(exec, &in, starts, order, weights, &p.status));
    const uint32_t *s = gb_executable_input(exec, in.back.starts, &p.status);
    const uint32_t *o = gb_executable_input(exec, in.back.order, &p.status);
    const float *w = gb_executable_input(exec, in.back.weights, &p.status);
    cr_expect_arr_eq(s, wanted_starts, sizeof wanted_starts);
    cr_expect_arr_eq(o, wanted, sizeof wanted);
    cr_expect_arr_eq(w, wanted_weights, sizeof wanted_weights);
    const uint32_t too_many[ROWS + 1] = {0, 2, 2, 5, 9};
    cr_expect_not(gb_sparse_fill(exec, &in, too_many, order, weights, &p.status));
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}

/* Means of neighbouring rows are written as the lists that say the same. */
Test(contrast, means_are_lists)
{
    enum { ROWS = 4, OF = 7, FIRST = 2 };
    const uint32_t starts[] = {FIRST, 4, 4, 7}, lists[ROWS + 1] = {0, 2, 2, 5, 5};
    const uint32_t order[] = {2, 3, 4, 5, 6};
    const float weights[] = {.5f, .5f, 1.f / 3, 1.f / 3, 1.f / 3};
    program p = program_make();
    program_param(&p, "x", OF, 4);
    program_freeze(&p);
    gb_sparse in[2];
    for (int i = 0; i < 2; i++) {
        in[i] = gb_sparse_input(p.tape, ROWS, OF, OF, 3, 1);
        gb_tape_output(p.tape, gb_sparse_matmul(p.tape, program_operand(&p, "x"), &in[i]));
    }
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, false, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    cr_assert(gb_sparse_fill(exec, &in[0], lists, order, weights, &p.status));
    cr_assert(gb_sparse_fill_means(exec, &in[1], starts, 3, 0, &p.status));
    const gb_csr *both[2][2] = {{&in[0].there, &in[1].there}, {&in[0].back, &in[1].back}};
    for (int way = 0; way < 2; way++) {
        const void *wanted[3], *got[3];
        for (int i = 0; i < 2; i++) {
            const void **to = i ? got : wanted;
            to[0] = gb_executable_input(exec, both[way][i]->starts, &p.status);
            to[1] = gb_executable_input(exec, both[way][i]->order, &p.status);
            to[2] = gb_executable_input(exec, both[way][i]->weights, &p.status);
        }
        cr_expect_eq(memcmp(got[0], wanted[0], ((way ? OF : ROWS) + 1) * sizeof *starts), 0);
        cr_expect_eq(memcmp(got[1], wanted[1], sizeof order), 0);
        cr_expect_eq(memcmp(got[2], wanted[2], sizeof weights), 0);
    }
    /* Without the first two of each there is one list, of the last row. */
    cr_assert(gb_sparse_fill_means(exec, &in[1], starts, 3, 2, &p.status));
    const uint32_t *rows = gb_executable_input(exec, in[1].there.starts, &p.status);
    const uint32_t *uses = gb_executable_input(exec, in[1].back.starts, &p.status);
    const uint32_t *order_left = gb_executable_input(exec, in[1].there.order, &p.status);
    const float *weights_left = gb_executable_input(exec, in[1].back.weights, &p.status);
    cr_expect_arr_eq(rows, ((uint32_t[ROWS + 1]){0, 0, 0, 1, 1}), (ROWS + 1) * sizeof *rows);
    cr_expect_arr_eq(uses, ((uint32_t[OF + 1]){[OF] = 1}), (OF + 1) * sizeof *uses);
    cr_expect(order_left[0] == 6 && weights_left[0] == 1);
    const uint32_t too_many[] = {0, 4, OF + 1};
    cr_expect_not(gb_sparse_fill_means(exec, &in[1], too_many, 2, 0, &p.status));
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}

static void unary_case(gb_tensor (*operation)(gb_tape *, gb_tensor), uint32_t rows, uint32_t cols,
                       float scale)
{
    program p = program_make();
    program_param(&p, "x", rows, cols);
    program_freeze(&p);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), scale);
    gb_tensor y = gb_add(p.tape, operation(p.tape, x), x);
    check_program(&p, y, NULL, 0, 64 * EPS);
    program_free(&p);
}

Test(contrast, tanh)
{
    unary_case(gb_tanh, 1, 1, 1);
    unary_case(gb_tanh, 37, 19, 4);
    unary_case(gb_tanh, 130, 64, 1e-3f);
    unary_case(gb_tanh, 0, 8, 1);
    unary_case(gb_tanh, 5, 8, 60); /* flat on both sides, and no overflow */
}

Test(contrast, normalize_rows)
{
    unary_case(gb_normalize_rows, 1, 3, 1);
    unary_case(gb_normalize_rows, 37, 19, 4);
    unary_case(gb_normalize_rows, 130, 64, 1);
    unary_case(gb_normalize_rows, 0, 8, 1);
}

/* ---- parameters that are not trained ---- */

/* The target follows its source and takes rows, and a gradient does not go through it. */
Test(contrast, untrained_parameters)
{
    enum { ROWS = 7, COLS = 5, NEW = 3 };
    program p = program_make();
    program_param(&p, "x", ROWS, COLS);
    program_state(&p, "target", ROWS, COLS);
    program_param(&p, "new", NEW, COLS);
    program_freeze(&p);
    gb_tensor target = program_operand(&p, "target");
    gb_tensor m = gb_tape_input(p.tape, "m", GB_F32, 1, 1);
    gb_tensor pick = gb_tape_input(p.tape, "pick", GB_U32, 1, ROWS);
    gb_tensor x = program_operand(&p, "x");
    gb_ema_update(p.tape, target, x, m);
    gb_replace_rows(p.tape, target, program_operand(&p, "new"), pick);
    gb_tensor y = gb_add(p.tape, gb_scale(p.tape, target, 1), x);
    gb_tape_output(p.tape, y);
    cr_assert(
        gb_backward_from(p.tape, y, gb_tape_input(p.tape, "dy", GB_F32, ROWS, COLS), &p.status));
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, true, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    size_t floats = gb_params_floats(p.params);
    float *before = calloc(floats, 4), *after = calloc(floats, 4);
    gb_params_init(p.params, 1, before);
    cr_assert(gb_state_write(state, GB_ARENA_PARAMS, before, &p.status));
    *(float *)gb_executable_input(exec, m, &p.status) = 0.75f;
    uint32_t *index = gb_executable_input(exec, pick, &p.status);
    for (uint32_t r = 0; r < ROWS; r++)
        index[r] = r < 2 ? GB_NO_ROW : r - 2;
    uint64_t ticket;
    cr_assert(gb_executable_run(exec, &ticket, &p.status) &&
              gb_executable_wait(exec, ticket, &p.status));
    cr_assert(gb_state_read(state, GB_ARENA_PARAMS, after, &p.status));
    const gb_param *px = gb_params_at(p.params, 0), *pt = gb_params_at(p.params, 1),
                   *pn = gb_params_at(p.params, 2);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLS; c++) {
            size_t at = (size_t)r * px->ld + c;
            float wanted = 0.75f * before[pt->offset + at] + 0.25f * before[px->offset + at];
            if (r >= 2 && r - 2 < NEW)
                wanted = before[pn->offset + (size_t)(r - 2) * pn->ld + c];
            cr_expect_float_eq(after[pt->offset + at], wanted, 1e-6);
            cr_expect_eq(after[px->offset + at], before[px->offset + at]);
        }
    free(before), free(after);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}
