/* Exact search against a plain double loop: ties, block borders, widths, nothing to search. */
#include <gabbro/ops.h>
#include <gabbro/retrieve.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

static gb_device *open_device(void)
{
    gb_status status = {0};
    static gb_config config;
    config = gb_config_read();
    gb_device_params params = gb_ops_device(&config, NULL);
    params.validation = params.quiet = true;
    gb_device *device = gb_device_open(&params, &status);
    MUST(device);
    return device;
}

static void close_device(gb_device *device)
{
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    gb_device_close(device);
}

/* Small whole numbers: products are exact in any order of summation, and ties abound. */
static float *whole_numbers(uint32_t rows, uint32_t width, uint32_t stream)
{
    gb_rng rng = gb_rng_make(21, GB_RNG_TEST, stream, 0);
    float *values = malloc(((size_t)rows * width + 1) * sizeof *values);
    for (size_t i = 0; i < (size_t)rows * width; i++)
        values[i] = (float)gb_rng_below(&rng, 5) - 2;
    return values;
}

static float *normal_numbers(uint32_t rows, uint32_t width, uint32_t stream)
{
    gb_rng rng = gb_rng_make(22, GB_RNG_TEST, stream, 0);
    float *values = malloc(((size_t)rows * width + 1) * sizeof *values);
    for (size_t i = 0; i < (size_t)rows * width; i++)
        values[i] = (float)gb_rng_normal(&rng);
    return values;
}

/* One result of the plain search. */
typedef struct hit {
    double score; /* inner product */
    uint32_t row; /* passage */
} hit;

static int by_score_then_row(const void *pa, const void *pb)
{
    const hit *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

/* An inner-product search under test. */
typedef struct trial {
    gb_vectors queries, passages; /* what and where */
    gb_search_params params;      /* how */
    gb_found found;               /* results */
} trial;

static trial compare_trial_make(uint32_t queries, uint32_t passages, uint32_t width, uint32_t k,
                                float *(*numbers)(uint32_t, uint32_t, uint32_t))
{
    trial t = {
        .queries = {.rows = queries, .width = width, .values = numbers(queries, width, 1)},
        .passages = {.rows = passages, .width = width, .values = numbers(passages, width, 2)},
        .params = {.k = k, .quiet = true}};
    size_t count = (size_t)queries * k + 1;
    t.found.rows = malloc(count * sizeof *t.found.rows);
    t.found.scores = malloc(count * sizeof *t.found.scores);
    memset(t.found.rows, 0xab, count * sizeof *t.found.rows);
    memset(t.found.scores, 0xab, count * sizeof *t.found.scores);
    return t;
}

static void compare_trial_free(trial *t)
{
    free((void *)t->queries.values);
    free((void *)t->passages.values);
    free(t->found.rows);
    free(t->found.scores);
}

static void trial_run(trial *t, gb_device *device)
{
    gb_status status = {0};
    MUST(gb_search(device, &t->queries, &t->passages, &t->params, &t->found, &status));
}

/* The results must be those of the plain search, row for row. */
static void trial_check(const trial *t)
{
    uint32_t width = t->queries.width, count = t->passages.rows, k = t->params.k;
    hit *hits = malloc((count + 1) * sizeof *hits);
    for (uint32_t q = 0; q < t->queries.rows; q++) {
        for (uint32_t p = 0; p < count; p++) {
            hits[p] = (hit){0, p};
            for (uint32_t i = 0; i < width; i++)
                hits[p].score += (double)t->queries.values[(size_t)q * width + i] *
                                 t->passages.values[(size_t)p * width + i];
        }
        qsort(hits, count, sizeof *hits, by_score_then_row);
        for (uint32_t i = 0; i < k; i++) {
            uint32_t row = t->found.rows[(size_t)q * k + i];
            float score = t->found.scores[(size_t)q * k + i];
            cr_assert_eq(row, i < count ? hits[i].row : GB_NO_ROW,
                         "%u passages, blocks of %u: query %u place %u is row %u with %g", count,
                         t->params.passage_block, q, i, row, score);
            cr_assert_eq(score, i < count ? hits[i].score : -INFINITY);
        }
    }
    free(hits);
}

static void check(gb_device *device, uint32_t queries, uint32_t passages, uint32_t width,
                  uint32_t k, uint32_t passage_block)
{
    trial t = compare_trial_make(queries, passages, width, k, whole_numbers);
    t.params.passage_block = passage_block;
    t.params.query_block = 64;
    trial_run(&t, device);
    trial_check(&t);
    compare_trial_free(&t);
}

Test(search, block_borders)
{
    gb_device *device = open_device();
    static const uint32_t passages[] = {1, 49, 50, 51, 99, 100, 101, 149};
    for (size_t i = 0; i < sizeof passages / sizeof *passages; i++)
        check(device, 7, passages[i], 5, 20, 50);
    static const uint32_t queries[] = {1, 63, 64, 65, 128};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        check(device, queries[i], 60, 3, 10, 25);
    close_device(device);
}

Test(search, k_against_blocks)
{
    gb_device *device = open_device();
    check(device, 5, 130, 8, 1, 64);
    check(device, 5, 130, 8, 64, 64);
    check(device, 5, 130, 8, 65, 64);  /* more than a block has */
    check(device, 5, 130, 8, 130, 64); /* everything */
    check(device, 5, 130, 8, 200, 64); /* more than there is */
    check(device, 5, 20, 8, 15, 1);    /* blocks of one passage */
    close_device(device);
}

/* Passages that come from a reader: what was asked, and a failure passed on. */
typedef struct reader {
    const float *values; /* all rows */
    uint32_t width;      /* of a row */
    uint32_t calls;      /* so far */
    uint32_t fail_at;    /* call that fails; 0: none */
    uint32_t largest;    /* block asked for */
} reader;

static const float *read_rows(void *context, uint32_t first, uint32_t count, gb_status *status)
{
    reader *r = context;
    r->largest = count > r->largest ? count : r->largest;
    if (++r->calls == r->fail_at) {
        gb_fail(status, GB_DATA, "vectors.bin", NULL, "cut short");
        return NULL;
    }
    return r->values + (size_t)first * r->width;
}

/* More than one query block in a group and more than one group. */
Test(search, many_queries)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(64 * 17 + 9, 20, 4, 3, whole_numbers);
    t.params.query_block = 64;
    t.params.passage_block = 16;
    reader r = {.values = t.passages.values, .width = 4};
    t.passages.values = NULL;
    t.passages.read = read_rows;
    t.passages.context = &r;
    trial_run(&t, device);
    cr_expect_eq(r.calls, 2 * 2, "both blocks, for both groups");
    t.passages.values = r.values;
    trial_check(&t);
    compare_trial_free(&t);
    close_device(device);
}

Test(search, all_scores_equal)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(3, 300, 6, 40, whole_numbers);
    memset((void *)t.queries.values, 0, 3 * 6 * sizeof(float));
    t.params.passage_block = 70;
    trial_run(&t, device);
    trial_check(&t);
    cr_expect_eq(t.found.rows[39], 39);
    compare_trial_free(&t);
    close_device(device);
}

/* Rounded sums: whatever the blocks, the same rows and the same bits. */
static void same_for_all_blocks(gb_device *device, uint32_t passages, uint32_t width)
{
    trial t = compare_trial_make(70, passages, width, 50, normal_numbers);
    trial_run(&t, device);
    size_t count = (size_t)70 * 50;
    uint32_t *rows = t.found.rows;
    float *scores = t.found.scores;
    t.found.rows = malloc(count * sizeof *t.found.rows);
    t.found.scores = malloc(count * sizeof *t.found.scores);
    static const uint32_t sizes[][2] = {{1, 100}, {64, 300}, {128, 64}, {1024, 1000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        t.params.query_block = sizes[i][0];
        t.params.passage_block = sizes[i][1];
        trial_run(&t, device);
        cr_expect_arr_eq(rows, t.found.rows, count * sizeof *rows);
        cr_expect_arr_eq(scores, t.found.scores, count * sizeof *scores);
    }
    for (uint32_t q = 0; q < 70; q++)
        for (uint32_t i = 1; i < 50; i++)
            cr_expect_leq(scores[q * 50 + i], scores[q * 50 + i - 1]);
    free(rows);
    free(scores);
    compare_trial_free(&t);
}

Test(search, independent_of_blocks)
{
    gb_device *device = open_device();
    same_for_all_blocks(device, 350, 37);
    same_for_all_blocks(device, 60, 1100); /* wide enough for split products */
    close_device(device);
}

/* Pieces change nothing but where a killed search goes on. */
Test(search, in_pieces)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(9, 250, 6, 12, whole_numbers);
    for (t.params.piece = 1; t.params.piece < 300; t.params.piece *= 7) {
        trial_run(&t, device);
        trial_check(&t);
    }
    compare_trial_free(&t);
    close_device(device);
}

Test(search, passages_from_a_reader)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(9, 250, 6, 12, whole_numbers);
    reader r = {.values = t.passages.values, .width = 6};
    t.passages.values = NULL;
    t.passages.read = read_rows;
    t.passages.context = &r;
    t.params.passage_block = 60;
    trial_run(&t, device);
    cr_expect_eq(r.calls, 5);
    cr_expect_eq(r.largest, 60);
    r = (reader){.values = r.values, .width = 6, .fail_at = 3};
    gb_status status = {0};
    cr_expect_not(gb_search(device, &t.queries, &t.passages, &t.params, &t.found, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.what, "cut short");
    t.passages.values = r.values;
    trial_run(&t, device); /* the device is still good */
    trial_check(&t);
    compare_trial_free(&t);
    close_device(device);
}

Test(search, not_a_number_comes_last)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(2, 6, 4, 6, whole_numbers);
    float *passages = (float *)t.passages.values;
    memset((void *)t.queries.values, 0, 8 * sizeof(float));
    passages[1 * 4] = NAN;
    passages[3 * 4 + 2] = NAN;
    t.params.passage_block = 2;
    trial_run(&t, device);
    static const uint32_t rows[] = {0, 2, 4, 5, 1, 3};
    cr_expect_arr_eq(t.found.rows, rows, sizeof rows);
    cr_expect(isnan(t.found.scores[4]) && isnan(t.found.scores[5]));
    compare_trial_free(&t);
    close_device(device);
}

Test(search, nothing_to_search)
{
    gb_device *device = open_device();
    check(device, 0, 10, 4, 3, 0);
    check(device, 3, 0, 4, 3, 0);
    check(device, 0, 0, 4, 3, 0);
    check(device, 3, 10, 4, 0, 0);
    close_device(device);
}

Test(search, vectors_of_different_widths)
{
    gb_device *device = open_device();
    trial t = compare_trial_make(3, 10, 4, 3, whole_numbers);
    t.passages.width = 5;
    gb_status status = {0};
    cr_expect_not(gb_search(device, &t.queries, &t.passages, &t.params, &t.found, &status));
    cr_expect_eq(status.code, GB_DATA);
    compare_trial_free(&t);
    close_device(device);
}
