/* gb_top_k against the float64 reference: awkward shapes, ties, special values. */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

/* How the scores of a test are made. */
typedef enum fill { RANDOM, FEW_VALUES, ALL_EQUAL, SPECIAL, RISING, FALLING } fill;

static float score(fill how, gb_rng *rng, uint32_t row, uint32_t column)
{
    static const float special[] = {NAN,     -NAN,   INFINITY, -INFINITY, 0.0f,   -0.0f, 1e-45f,
                                    -1e-45f, 1e-38f, -1e-38f,  3e38f,     -3e38f, 1.0f,  -1.0f};
    switch (how) {
    case RANDOM:
        return (float)gb_rng_normal(rng);
    case FEW_VALUES:
        return (float)gb_rng_below(rng, 3) - 1;
    case ALL_EQUAL:
        return 0.25f - (float)(row % 2);
    case SPECIAL:
        return special[gb_rng_below(rng, sizeof special / sizeof *special)];
    case RISING:
        return (float)column * 0.5f - 100;
    case FALLING:
        return -(float)column;
    }
    return 0;
}

/* One result, for sorting. */
typedef struct pair {
    float value;     /* score */
    uint32_t column; /* where */
} pair;

/* NaN last, greater values first, then lower columns: written unlike the code under test. */
static int by_rank(const void *pa, const void *pb)
{
    const pair *a = pa, *b = pb;
    bool a_has = a->column != GB_NO_ROW, b_has = b->column != GB_NO_ROW;
    if (a_has != b_has)
        return b_has - a_has;
    bool greater = a->value > b->value || (isnan(b->value) && !isnan(a->value));
    bool smaller = b->value > a->value || (isnan(a->value) && !isnan(b->value));
    if (greater || smaller)
        return greater ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* A run of top_k on the device. */
typedef struct search {
    uint32_t rows, cols, k;            /* shape */
    gb_device *device;                 /* where */
    gb_params *params;                 /* none */
    gb_state *state;                   /* empty */
    gb_tape *tape;                     /* one node */
    gb_tensor scores, values, columns; /* of the node */
    gb_executable *exec;               /* recorded */
} search;

static search search_make(gb_device *device, uint32_t rows, uint32_t cols, uint32_t k)
{
    gb_status status = {0};
    search s = {.rows = rows, .cols = cols, .k = k, .device = device};
    MUST(s.params = gb_params_create(&status));
    gb_params_freeze(s.params);
    MUST(s.state = gb_state_create(device, s.params, false, &status));
    MUST(s.tape = gb_tape_create(s.params, "top k", &status));
    s.scores = gb_tape_input(s.tape, "scores", GB_F32, rows, cols);
    gb_top_k(s.tape, s.scores, k, &s.values, &s.columns);
    gb_tape_output(s.tape, s.values);
    gb_tape_output(s.tape, s.columns);
    MUST(s.exec = gb_executable_create(s.state, s.tape, &status));
    return s;
}

static void search_free(search *s)
{
    gb_executable_destroy(s->exec);
    gb_tape_destroy(s->tape);
    gb_state_destroy(s->state);
    gb_params_destroy(s->params);
}

static void compare_row(const search *s, uint32_t row, pair *got, const double *values,
                        const uint32_t *columns, const float *scores)
{
    qsort(got, s->k, sizeof *got, by_rank);
    for (uint32_t i = 0; i < s->k; i++) {
        cr_assert_eq(got[i].column, columns[i], "[%u,%u] k %u row %u place %u: column %u, not %u",
                     s->rows, s->cols, s->k, row, i, got[i].column, columns[i]);
        if (i >= s->cols)
            cr_assert(isinf(got[i].value) && got[i].value < 0);
        else /* the very bits, also of NaN and -0 */
            cr_assert(!memcmp(&got[i].value, &scores[got[i].column], 4), "bits of row %u", row);
        if (i < s->cols && !isnan(values[i]))
            cr_assert_eq((double)got[i].value, values[i]);
    }
}

static void check(gb_device *device, uint32_t rows, uint32_t cols, uint32_t k, fill how)
{
    gb_status status = {0};
    search s = search_make(device, rows, cols, k);
    gb_reference *ref = gb_reference_create(s.tape, &status);
    MUST(ref);
    uint32_t ld = gb_tape_tensor(s.tape, s.scores)->ld;
    uint32_t values_ld = gb_tape_tensor(s.tape, s.values)->ld;
    float *input = gb_executable_input(s.exec, s.scores, &status);
    MUST(input);
    gb_rng rng = gb_rng_make(11, GB_RNG_TEST, rows, cols);
    float *kept = malloc(((size_t)rows * ld + 1) * sizeof *kept);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < ld; c++) {
            size_t at = (size_t)r * ld + c;
            kept[at] = c < cols ? score(how, &rng, r, c) : INFINITY; /* padding must not win */
            input[at] = kept[at];
            gb_reference_f(ref, s.scores)[at] = kept[at];
        }
    uint64_t ticket;
    MUST(gb_executable_run(s.exec, &ticket, &status));
    MUST(gb_executable_wait(s.exec, ticket, &status));
    gb_reference_run(ref);
    pair *got = malloc((k + 1) * sizeof *got);
    const float *values =
        rows && k ? gb_executable_output(s.exec, ticket, s.values, &status) : NULL;
    const uint32_t *columns =
        rows && k ? gb_executable_output(s.exec, ticket, s.columns, &status) : NULL;
    MUST(!rows || !k || (values && columns));
    for (uint32_t r = 0; r < rows && k; r++) {
        for (uint32_t i = 0; i < k; i++)
            got[i] = (pair){values[(size_t)r * values_ld + i], columns[(size_t)r * k + i]};
        compare_row(&s, r, got, gb_reference_f(ref, s.values) + (size_t)r * values_ld,
                    gb_reference_u(ref, s.columns) + (size_t)r * k, kept + (size_t)r * ld);
    }
    free(got);
    free(kept);
    gb_reference_destroy(ref);
    search_free(&s);
}

static void check_fills(uint32_t rows, uint32_t cols, uint32_t k)
{
    gb_device *device = test_device();
    for (int how = RANDOM; how <= FALLING; how++)
        check(device, rows, cols, k, (fill)how);
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    gb_device_close(device);
}

Test(top_k, awkward_shapes)
{
    static const uint32_t shapes[][3] = {{1, 1, 1},   {3, 5, 2},   {8, 4, 4},    {9, 33, 32},
                                         {13, 64, 1}, {7, 65, 64}, {17, 100, 99}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_fills(shapes[i][0], shapes[i][1], shapes[i][2]);
}

Test(top_k, one_all_and_more)
{
    check_fills(5, 70, 1);
    check_fills(5, 70, 70);
    check_fills(5, 70, 83);
    check_fills(2, 3, 300);
}

Test(top_k, nothing_to_do)
{
    check_fills(0, 10, 3);
    check_fills(4, 0, 3); /* rows without columns */
    check_fills(4, 10, 0);
    check_fills(0, 0, 0);
}

/* Ties whose columns differ above the first eight bits. */
Test(top_k, wide_rows)
{
    check_fills(3, 3001, 1500);
    check_fills(2, 70001, 66000);
}

Test(top_k, many_rows)
{
    gb_device *device = test_device();
    check(device, 2000, 1000, 100, RANDOM);
    check(device, 2000, 1000, 100, FEW_VALUES);
    gb_device_close(device);
}

/* The order of results is part of the bits that must not change from run to run. */
Test(top_k, twice_the_same)
{
    gb_status status = {0};
    gb_device *device = test_device();
    search s = search_make(device, 50, 500, 40);
    gb_rng rng = gb_rng_make(5, GB_RNG_TEST, 0, 0);
    float *kept = malloc(50 * 500 * sizeof *kept);
    for (size_t i = 0; i < 50 * 500; i++)
        kept[i] = score(FEW_VALUES, &rng, 0, 0);
    uint64_t tickets[2];
    for (int run = 0; run < 2; run++) {
        memcpy(gb_executable_input(s.exec, s.scores, &status), kept, 50 * 500 * sizeof *kept);
        MUST(gb_executable_run(s.exec, &tickets[run], &status));
    }
    const void *first = gb_executable_output(s.exec, tickets[0], s.columns, &status);
    const void *second = gb_executable_output(s.exec, tickets[1], s.columns, &status);
    MUST(first && second);
    cr_expect_arr_eq(first, second, 50 * 40 * 4);
    free(kept);
    search_free(&s);
    gb_device_close(device);
}
