/* Draws from the softmax of rows: against the float64 reference, their frequencies, and that they
 * are the same again. */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)
#define SEED    0x123456789abull

/* One program that draws from rows of logits. */
typedef struct draws {
    uint32_t rows, cols;     /* shape */
    gb_device *device;       /* where */
    gb_params *params;       /* none */
    gb_state *state;         /* empty */
    gb_tape *tape;           /* logits, twice themselves, draws */
    gb_tensor logits, words; /* inputs */
    gb_tensor drawn;         /* output */
    gb_executable *exec;     /* recorded */
} draws;

static draws draws_make(uint32_t rows, uint32_t cols)
{
    gb_status status = {0};
    draws d = {.rows = rows, .cols = cols, .device = test_device()};
    MUST(d.params = gb_params_create(&status));
    gb_params_freeze(d.params);
    MUST(d.state = gb_state_create(d.device, d.params, false, &status));
    MUST(d.tape = gb_tape_create(d.params, "draws", &status));
    d.logits = gb_tape_input(d.tape, "logits", GB_F32, rows, cols);
    d.words = gb_sequences_input(d.tape, "sequences", 1);
    d.drawn = gb_sample_rows(d.tape, gb_scale(d.tape, d.logits, 2), d.words);
    gb_tape_output(d.tape, d.drawn);
    MUST(d.exec = gb_executable_create(d.state, d.tape, &status));
    return d;
}

static void draws_free(draws *d)
{
    cr_expect_eq(gb_device_validation_count(d->device), 0, "the validation layer spoke");
    gb_executable_destroy(d->exec);
    gb_tape_destroy(d->tape);
    gb_state_destroy(d->state);
    gb_params_destroy(d->params);
    gb_device_close(d->device);
}

static void write_words(uint32_t *words, uint32_t step)
{
    words[0] = (uint32_t)SEED;
    words[1] = (uint32_t)(SEED >> 32);
    words[2] = step;
}

/* Draw on the device; values [rows * cols] are half of the logits. The caller frees. */
static uint32_t *draw(draws *d, const float *values, uint32_t step)
{
    gb_status status = {0};
    uint32_t ld = gb_tape_tensor(d->tape, d->logits)->ld;
    float *logits = gb_executable_input(d->exec, d->logits, &status);
    uint32_t *words = logits ? gb_executable_input(d->exec, d->words, &status) : NULL;
    MUST(words);
    write_words(words, step);
    for (uint32_t r = 0; r < d->rows; r++)
        for (uint32_t c = 0; c < ld; c++) /* padding must not be drawn */
            logits[(size_t)r * ld + c] = c < d->cols ? values[(size_t)r * d->cols + c] : 1e30f;
    uint64_t ticket;
    MUST(gb_executable_run(d->exec, &ticket, &status));
    const uint32_t *drawn = gb_executable_output(d->exec, ticket, d->drawn, &status);
    MUST(drawn);
    uint32_t *copy = malloc(d->rows * sizeof *copy);
    memcpy(copy, drawn, d->rows * sizeof *copy);
    return copy;
}

static float *random_values(uint32_t rows, uint32_t cols)
{
    float *values = malloc((size_t)rows * cols * sizeof *values);
    gb_rng rng = gb_rng_make(3, GB_RNG_TEST, rows, cols);
    for (size_t i = 0; i < (size_t)rows * cols; i++)
        values[i] = (float)gb_rng_normal(&rng);
    return values;
}

/* ---- against float64 ---- */

/* A logit with its Gumbel noise. */
static double noisy(const float *row, uint32_t step, uint32_t r, uint32_t c)
{
    gb_rng rng = gb_rng_make(SEED, GB_RNG_DRAW, step, r);
    uint32_t bits = 0;
    for (uint32_t i = 0; i <= c; i++)
        bits = gb_rng_u32(&rng);
    return 2.0 * row[c] - log(-log(1 - (bits + .5) / 4294967296.0));
}

static void check(uint32_t rows, uint32_t cols)
{
    gb_status status = {0};
    draws d = draws_make(rows, cols);
    float *values = random_values(rows, cols);
    uint32_t *got = draw(&d, values, 5);
    gb_reference *ref = gb_reference_create(d.tape, &status);
    MUST(ref);
    uint32_t ld = gb_tape_tensor(d.tape, d.logits)->ld;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++)
            gb_reference_f(ref, d.logits)[(size_t)r * ld + c] = values[(size_t)r * cols + c];
    write_words(gb_reference_u(ref, d.words), 5);
    gb_reference_run(ref);
    const uint32_t *wanted = gb_reference_u(ref, d.drawn);
    for (uint32_t r = 0; r < rows; r++) {
        const float *row = values + (size_t)r * cols;
        cr_assert(got[r] < cols && wanted[r] < cols);
        if (got[r] != wanted[r]) { /* as good as equal in float32 */
            double lost = noisy(row, 5, r, wanted[r]) - noisy(row, 5, r, got[r]);
            cr_expect(lost >= 0 && lost < 1e-4, "[%u,%u] row %u: column %u, not %u", rows, cols, r,
                      got[r], wanted[r]);
        }
    }
    gb_reference_destroy(ref);
    free(values);
    free(got);
    draws_free(&d);
}

Test(sample, awkward_shapes)
{
    check(1, 1);
    check(3, 5);
    check(8, 4);
    check(9, 33);
    check(130, 260);
    check(3, 41000); /* as long as BERT's vocabulary, and longer */
}

/* ---- frequencies ---- */

#define DRAWS 6000
#define KINDS 7

/* Draws of one distribution; column 1 has half of it. */
static uint32_t *many(double probability[KINDS])
{
    static const double shares[KINDS] = {.02, .5, .003, .1, .2, .127, .05};
    draws d = draws_make(DRAWS, KINDS);
    float *values = malloc(sizeof *values * DRAWS * KINDS);
    for (uint32_t i = 0; i < DRAWS * KINDS; i++)
        values[i] = (float)((log(shares[i % KINDS]) + 3) / 2);
    uint32_t *drawn = draw(&d, values, 1);
    memcpy(probability, shares, sizeof shares);
    free(values);
    draws_free(&d);
    return drawn;
}

Test(sample, frequencies_fit_the_softmax)
{
    double probability[KINDS], distance = 0;
    uint32_t *drawn = many(probability), counts[KINDS] = {0};
    for (uint32_t i = 0; i < DRAWS; i++)
        counts[drawn[i]]++;
    for (uint32_t k = 0; k < KINDS; k++) {
        double wanted = probability[k] * DRAWS;
        distance += (counts[k] - wanted) * (counts[k] - wanted) / wanted;
    }
    cr_expect_lt(distance, 22.46, "chi-square %g, six degrees of freedom", distance); /* p .001 */
    free(drawn);
}

/* Whether a row draws the likeliest column tells nothing of the row behind it. */
Test(sample, rows_are_independent)
{
    double probability[KINDS], distance = 0;
    uint32_t *drawn = many(probability), counts[4] = {0};
    for (uint32_t i = 0; i + 1 < DRAWS; i += 2)
        counts[2 * (drawn[i] == 1) + (drawn[i + 1] == 1)]++;
    for (uint32_t k = 0; k < 4; k++) {
        double wanted = DRAWS / 8.0;
        distance += (counts[k] - wanted) * (counts[k] - wanted) / wanted;
    }
    cr_expect_lt(distance, 16.27, "chi-square %g, three degrees of freedom", distance);
    free(drawn);
}

/* ---- the same again ---- */

Test(sample, twice_the_same)
{
    draws d = draws_make(200, 50);
    float *values = random_values(200, 50);
    uint32_t *first = draw(&d, values, 4), *second = draw(&d, values, 4);
    uint32_t *other = draw(&d, values, 5), equal = 0;
    cr_expect_arr_eq(first, second, 200 * sizeof *first);
    for (uint32_t r = 0; r < 200; r++)
        equal += first[r] == other[r];
    cr_expect_lt(equal, 100, "%u of 200 draws are those of another step", equal);
    free(values), free(first), free(second), free(other);
    draws_free(&d);
}

/* Neither chunks nor rows that fill up a bucket change a draw. */
Test(sample, chunks_make_no_difference)
{
    enum { ROWS = 150, WIDTH = 8, WORDS = 70 };
    const uint32_t rows[] = {ROWS, ROWS, 192}, chunks[] = {64, 1000, 128};
    gb_status status = {0};
    uint32_t drawn[3][ROWS];
    for (int i = 0; i < 3; i++) {
        program p = program_make();
        program_param(&p, "h", 192, WIDTH);
        program_param(&p, "table", WORDS, WIDTH);
        program_param(&p, "bias", 1, WORDS);
        program_freeze(&p);
        gb_device *device = test_device();
        gb_tensor words = gb_sequences_input(p.tape, "sequences", 1);
        gb_tensor h =
            gb_tape_view(p.tape, gb_scale(p.tape, program_operand(&p, "h"), 2), 0, rows[i]);
        gb_tensor y = gb_vocabulary_sample(p.tape, h, program_operand(&p, "table"),
                                           program_operand(&p, "bias"), words, chunks[i]);
        gb_tape_output(p.tape, y);
        gb_state *state = gb_state_create(device, p.params, false, &status);
        MUST(state);
        gb_executable *exec = gb_executable_create(state, p.tape, &status);
        MUST(exec);
        float *values = malloc(gb_params_floats(p.params) * sizeof *values);
        gb_params_init(p.params, 1, values);
        MUST(gb_state_write(state, GB_ARENA_PARAMS, values, &status));
        write_words(gb_executable_input(exec, words, &status), 2);
        uint64_t ticket;
        MUST(gb_executable_run(exec, &ticket, &status));
        const uint32_t *got = gb_executable_output(exec, ticket, y, &status);
        MUST(got);
        memcpy(drawn[i], got, sizeof drawn[i]);
        free(values);
        gb_executable_destroy(exec);
        gb_state_destroy(state);
        gb_device_close(device);
        program_free(&p);
    }
    cr_expect_arr_eq(drawn[0], drawn[1], sizeof drawn[0]);
    cr_expect_arr_eq(drawn[0], drawn[2], sizeof drawn[0]);
}

/* Rows of NaN have no draw; what is impossible is not drawn. */
Test(sample, special_values)
{
    enum { ROWS = 40, COLS = 9 };
    draws d = draws_make(ROWS, COLS);
    float values[ROWS * COLS];
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLS; c++)
            values[r * COLS + c] = r % 2 ? NAN : c == r % COLS ? -4.f : -INFINITY;
    uint32_t *drawn = draw(&d, values, 0);
    for (uint32_t r = 0; r < ROWS; r++)
        cr_expect_eq(drawn[r], r % 2 ? GB_NO_ROW : r % COLS, "row %u: %u", r, drawn[r]);
    free(drawn);
    draws_free(&d);
}
