/* Verdicts: kinds of claims, the seed as unit, cells at paper scale; and the data files: every
 * claim against the published cells. */
#include "gabbro/report.h"

#include <criterion/criterion.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of differences[comparison * n + seed]; `needed` of the comparisons must hold. */
static gb_judgement judge_some(const double *differences, size_t n, size_t comparisons,
                               size_t needed)
{
    gb_judgement judgement = {0};
    gb_status status = {0};
    cr_assert(gb_judge(differences, n, n, comparisons, needed, &judgement, &status), "%s",
              status.what);
    cr_assert(gb_judge_more_seeds(differences, n, n, &judgement, &status), "%s", status.what);
    return judgement;
}

static gb_judgement judge(const double *differences, size_t n)
{
    return judge_some(differences, n, 1, 1);
}

Test(judge, interval_over_seeds)
{
    /* t(.975, 4) = 2.776445105; mean 2, sd 1.581139, half width 1.963243. */
    gb_judgement j = judge((double[]){0, 1, 2, 3, 4}, 5);
    cr_expect_float_eq(j.mean, 2, 1e-12);
    cr_expect_float_eq(j.sd, 1.5811388, 1e-6);
    cr_expect_float_eq(j.low, 0.0367568, 1e-6);
    cr_expect_float_eq(j.high, 3.9632432, 1e-6);
    cr_expect_eq(j.verdict, GB_SUPPORTED);
    cr_expect_eq(judge((double[]){0, -1, -2, -3, -4}, 5).verdict, GB_CONTRADICTED);
}

Test(judge, the_study_of_three_seeds_is_undecided)
{
    /* Each of these seeds alone gives p < .001 over its queries. */
    gb_judgement j = judge((double[]){3.2, 14.0, 30.1}, 3);
    cr_expect_eq(j.verdict, GB_UNDECIDED);
    cr_expect(j.low < 0 && j.high > 0);
    cr_expect_eq(j.more_seeds, 5);
}

Test(judge, fewer_than_three_seeds_decide_nothing)
{
    gb_judgement one = judge((double[]){9}, 1), two = judge((double[]){9, 9.0001}, 2);
    cr_expect_eq(one.verdict, GB_UNDECIDED);
    cr_expect_eq(one.more_seeds, 2);
    cr_expect(isnan(one.low));
    cr_expect_eq(two.verdict, GB_UNDECIDED);
    cr_expect(two.low > 0, "the interval alone would say yes");
    cr_expect_eq(two.more_seeds, 1);
    gb_judgement none = judge(NULL, 0);
    cr_expect_eq(none.verdict, GB_UNDECIDED);
    cr_expect_eq(none.more_seeds, 3);
}

Test(judge, equal_differences)
{
    cr_expect_eq(judge((double[]){1, 1, 1}, 3).verdict, GB_SUPPORTED);
    gb_judgement zero = judge((double[]){0, 0, 0}, 3);
    cr_expect_eq(zero.verdict, GB_UNDECIDED);
    cr_expect_eq(zero.more_seeds, 0, "no number of seeds would do");
    cr_expect_eq(judge((double[]){-1, 0, 1}, 3).more_seeds, 0);
}

Test(judge, undecided_always_asks_for_more)
{
    /* So near that the power calculation says there are enough. */
    gb_judgement j = judge((double[]){-0.05, 1, 1, 1.2, 0.1}, 5);
    cr_expect_eq(j.verdict, GB_UNDECIDED);
    cr_expect_geq(j.more_seeds, 1);
}

/* Differences of a mean of 1 and a deviation of sqrt 2, which 18 seeds find four times in five;
 * five of them at once, half of the time. */
Test(judge, all_differences_are_to_be_found_at_once)
{
    double d[5 * 3];
    for (size_t i = 0; i < 15; i++)
        d[i] = 1 + (double)(int)(i % 3) * M_SQRT2 - M_SQRT2;
    cr_expect_eq(judge_some(d, 3, 1, 1).more_seeds, 18 - 3);
    cr_expect_eq(judge_some(d, 3, 5, 5).more_seeds, 30 - 3, "each with probability .96");
    for (size_t i = 3; i < 15; i++)
        d[i] += 99;
    cr_expect_eq(judge_some(d, 3, 5, 5).more_seeds, 18 - 3, "four are found in any case");
    for (size_t i = 0; i < 15; i++)
        d[i] = -d[i];
    cr_expect_eq(judge_some(d, 3, 5, 1).more_seeds, 18 - 3);
}

/* Two systems as good as each other in the mean, each the worse one in every other seed. */
static const double in_turns[] = {1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1};

Test(judge, noise_of_several_comparisons_contradicts_nothing)
{
    gb_judgement j = judge_some(in_turns, 6, 2, 2);
    cr_expect_eq(j.verdict, GB_UNDECIDED);
    cr_expect_float_eq(j.mean, 0, 1e-12);
    /* t(.975, 5) = 2.570582, t(.9875, 5) = 3.163381, sd 1.095445. */
    cr_expect_float_eq(j.low, -1.149598, 1e-5);
    cr_expect_float_eq(j.high, 1.414707, 1e-5);
    j = judge_some(in_turns, 6, 2, 1);
    cr_expect_eq(j.verdict, GB_UNDECIDED, "nor does it support that one of them is positive");
    cr_expect_float_eq(j.low, -1.414707, 1e-5, "one of two may err");
    cr_expect_float_eq(j.high, 1.149598, 1e-5);
}

Test(judge, several_comparisons)
{
    const double good[] = {3, 4, 5, 1, 2, 1}, one_bad[] = {3, 4, 5, -1, -1.1, -1.2},
                 bad[] = {-1, -1.1, -1.2, -3, -4, -5};
    gb_judgement j = judge_some(good, 3, 2, 2);
    cr_expect_eq(j.verdict, GB_UNDECIDED); /* 1, 2, 1 is not sure to be positive */
    cr_expect_eq(j.shown, 1);
    cr_expect_float_eq(j.mean, 4.0 / 3, 1e-12);
    cr_expect_eq(judge_some(one_bad, 3, 2, 2).verdict, GB_CONTRADICTED);
    j = judge_some(one_bad, 3, 2, 1);
    cr_expect_eq(j.verdict, GB_SUPPORTED, "one is enough");
    cr_expect_eq(j.shown, 0);
    j = judge_some(bad, 3, 2, 1);
    cr_expect_eq(j.verdict, GB_CONTRADICTED);
    cr_expect_eq(j.shown, 0, "the greatest");
    cr_expect(j.low < j.mean && j.mean < j.high && j.high < 0, "%g %g %g", j.low, j.mean, j.high);
    cr_expect_eq(judge_some((double[]){3, 3.1, 3.2, 1, 1.1, 1.2}, 3, 2, 2).verdict, GB_SUPPORTED);
}

/* costa-25: the first difference is certain and the second is not, though it is larger in the mean.
 */
Test(judge, what_is_shown_decides)
{
    const double d[] = {-.0100, -.0085, -.0095, -.002, -.027, -.002};
    gb_judgement j = judge_some(d, 3, 2, 2);
    cr_expect_eq(j.verdict, GB_CONTRADICTED);
    cr_expect_eq(j.shown, 0, "not the least by its mean");
    cr_expect_float_eq(j.mean, -.0280 / 3, 1e-12);
    /* sd .000763763; t(.975, 2) = 4.302653, t(.9875, 2) = 6.205347. */
    cr_expect_float_eq(j.sd, .000763763, 1e-8);
    cr_expect_float_eq(j.low, -.0112306, 1e-6);
    cr_expect_float_eq(j.high, -.0065970, 1e-6);
    double turned[6];
    for (size_t i = 0; i < 6; i++)
        turned[i] = -d[i];
    j = judge_some(turned, 3, 2, 1);
    cr_expect_eq(j.verdict, GB_SUPPORTED);
    cr_expect_eq(j.shown, 0, "not the greatest by its mean");
    cr_expect(j.low > 0 && j.low < j.mean && j.mean < j.high);
}

/* "wins:13" of 14 sets: eight, six, six, five and twelve wins in five seeds are noise where no
 * set's interval lies below zero. */
Test(judge, wins_are_counted_by_sets_that_are_sure)
{
    double d[14 * 5];
    for (size_t set = 0; set < 14; set++)
        for (size_t seed = 0; seed < 5; seed++)
            d[set * 5 + seed] = 1 + ((set + seed) % 2 ? 3 : -3); /* about half are wins */
    cr_expect_eq(judge_some(d, 5, 14, 13).verdict, GB_UNDECIDED);
    for (size_t i = 0; i < 12 * 5; i++)
        d[i] = 5 + (double)(i % 3);
    cr_expect_eq(judge_some(d, 5, 14, 13).verdict, GB_UNDECIDED, "twelve sure wins of thirteen");
    for (size_t i = 12 * 5; i < 13 * 5; i++)
        d[i] = 5 + (double)(i % 3);
    cr_expect_eq(judge_some(d, 5, 14, 13).verdict, GB_SUPPORTED, "thirteen, and one open");
    for (size_t i = 0; i < 2 * 5; i++)
        d[i] = -5 - (double)(i % 3);
    cr_expect_eq(judge_some(d, 5, 14, 13).verdict, GB_CONTRADICTED, "two sure losses");
}

/* ---- kinds ---- */

/* What decides for one set of values: the needed-th greatest difference with its margin. */
static double margin_of(const char *kind, const double *values, size_t lefts, size_t count,
                        bool lower_is_better)
{
    gb_claim_rule rule;
    cr_assert(gb_claim_rule_parse(kind, &rule), "%s", kind);
    size_t n = gb_claim_comparisons(&rule, lefts, count, lower_is_better, NULL);
    gb_comparison *all = calloc(n + 1, sizeof *all);
    double *d = calloc(n + 1, sizeof *d), margin;
    cr_assert_eq(gb_claim_comparisons(&rule, lefts, count, lower_is_better, all), n);
    for (size_t i = 0; i < n; i++)
        d[i] = gb_comparison_difference(&all[i], &rule, values, &margin) + margin;
    gb_sort_doubles(d, n);
    size_t needed = gb_claim_needs(&rule, n);
    double decides = n >= needed && n ? d[n - needed] : NAN;
    free(all);
    free(d);
    return decides;
}

Test(kind, what_is_compared)
{
    const double v[] = {5, 3, 4};
    cr_expect_float_eq(margin_of("gt", v, 1, 3, false), 1, 0);
    cr_expect_float_eq(margin_of("best", v, 1, 3, false), 1, 0);
    cr_expect_float_eq(margin_of("best", v, 1, 3, true), -2, 0, "the lowest loss is best");
    cr_expect_float_eq(margin_of("lt", v, 1, 3, false), -2, 0);
    cr_expect_float_eq(margin_of("lt", (double[]){2, 3}, 1, 2, true), 1, 0);
    cr_expect_float_eq(margin_of("ge:1", (double[]){3, 3.5}, 1, 2, false), .5, 1e-12);
    cr_expect_float_eq(margin_of("ge:1", (double[]){3, 4.5}, 1, 2, false), -.5, 1e-12);
    cr_expect_float_eq(margin_of("ge:10%", (double[]){.38, .4}, 1, 2, false), .02, 1e-12);
    cr_expect_float_eq(margin_of("order:0", (double[]){1, 2, 4}, 1, 3, false), 1, 0);
    cr_expect_float_eq(margin_of("order:0.5", v, 1, 3, false), -1.5, 0);
    cr_expect_float_eq(margin_of("not-order", v, 1, 3, false), 2, 0, "one fall is enough");
    cr_expect_float_eq(margin_of("not-order", (double[]){1, 2, 4}, 1, 3, false), -1, 0);
    cr_expect_float_eq(margin_of("near:0.5", (double[]){1, 1.2}, 1, 2, false), 0.3, 1e-12);
    cr_expect_float_eq(margin_of("near:2.4%", (double[]){.51, .5}, 1, 2, false), .002, 1e-12);
    cr_expect_float_eq(margin_of("each", (double[]){5, 7, 4, 3}, 2, 4, false), 1, 0);
    cr_expect_float_eq(margin_of("mean", (double[]){5, 7, 4, 3}, 2, 4, false), 2.5, 0);
    cr_expect_float_eq(margin_of("gt", (double[]){5, 7, 4, 6}, 2, 4, false), -1, 0,
                       "each left above each right");
    cr_expect(isnan(margin_of("each", v, 1, 3, false)), "one left, two rights");
    cr_expect(isnan(margin_of("gt", (double[]){1, NAN}, 1, 2, false)));
    cr_expect(gb_lower_is_better("mlm-eval-msmarco:MLM-loss"));
    cr_expect(!gb_lower_is_better("msmarco-dev:MRR@10"));
}

Test(kind, texts)
{
    gb_claim_rule rule;
    static const char *const wrong[] = {"",       "ge",      "order", "near:",  "near:x", "gt:1",
                                        "wins:0", "wins:2x", "ge:-1", "ge:1%%", "beats",  "best "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect(!gb_claim_rule_parse(wrong[i], &rule), "\"%s\"", wrong[i]);
    cr_expect(gb_claim_rule_parse("near:2.4%", &rule));
    cr_expect(rule.kind == GB_CLAIM_NEAR && rule.relative);
    cr_expect_float_eq(rule.margin, .024, 1e-12);
    cr_expect(gb_claim_rule_parse("wins:13", &rule));
    cr_expect_eq(gb_claim_needs(&rule, 14), 13);
}

Test(cell, tolerance_comes_from_the_seeds)
{
    /* n 3: t 4.302653, sd .1: 4.302653 * .1 * sqrt(4/3) = .496827, and half a printed digit .05. */
    cr_expect_eq(gb_judge_cell(38.8, 1, 39.34, 0.1, 3, 0.2), GB_CELL_OK);
    cr_expect_eq(gb_judge_cell(38.8, 1, 39.36, 0.1, 3, 0.2), GB_CELL_HIGH);
    cr_expect_eq(gb_judge_cell(38.8, 1, 38.26, 0.1, 3, 0.2), GB_CELL_OK);
    cr_expect_eq(gb_judge_cell(38.8, 1, 38.24, 0.1, 3, 0.2), GB_CELL_LOW);
    /* A deviation by luck too small: the least tolerance holds. */
    cr_expect_eq(gb_judge_cell(38.8, 1, 39.04, 0.0, 5, 0.2), GB_CELL_OK);
    cr_expect_eq(gb_judge_cell(38.8, 1, 39.06, 0.0, 5, 0.2), GB_CELL_HIGH);
    cr_expect_eq(gb_judge_cell(38.8, 1, 38.8, NAN, 1, 0.2), GB_CELL_NONE);
    cr_expect_str_eq(gb_cell_verdict_text(GB_CELL_HIGH), "[HIGH]");
    cr_expect_str_eq(gb_cell_verdict_text(GB_CELL_NONE), "");
}

/* ---- the data files ---- */

/* Values of a published table by "row @ group" and column, read without the code under test. */
typedef struct cells {
    gb_map *places;      /* "row @ group\tcolumn" -> index */
    double values[256];  /* as printed */
    char keys[256][200]; /* the same text */
    size_t count;        /* cells */
} cells;

static void fields_of(char *line, char *fields[16])
{
    size_t count = 0;
    for (char *at = line; at && count < 16;) {
        fields[count++] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
}

static void read_cells(const char *table, cells *out)
{
    char *path = gb_format(NULL, "%s/published/%s.tsv", GABBRO_TEST_TABLES, table);
    char *slash = strchr(path + strlen(GABBRO_TEST_TABLES) + 11, '/');
    *slash = '-';
    gb_status status = {0};
    gb_lines *lines = gb_lines_open(path, &status);
    cr_assert(lines, "%s: %s", path, status.what);
    out->places = gb_map_create(NULL);
    out->count = 0;
    char *line;
    size_t length;
    while (gb_lines_next(lines, &line, &length, &status) == 1) {
        char *f[16];
        fields_of(line, f);
        if (gb_lines_number(lines) == 1)
            continue;
        cr_assert_lt(out->count, 256);
        char *key = out->keys[out->count];
        int size = snprintf(key, 200, "%s @ %s\t%s", f[0], f[1], f[2]);
        cr_assert_lt(size, 200);
        cr_assert_eq(gb_map_get(out->places, key, (size_t)size), GB_MAP_NONE, "%s twice", key);
        gb_map_set(out->places, key, (size_t)size, (uint32_t)out->count, NULL);
        out->values[out->count++] = strtod(f[3], NULL);
    }
    gb_lines_close(lines);
    free(path);
}

static double cell_of(const cells *all, const char *row, size_t length, const char *column)
{
    char *key = gb_format(NULL, "%.*s\t%s", (int)length, row, column);
    uint32_t at = gb_map_get(all->places, key, strlen(key));
    free(key);
    return at == GB_MAP_NONE ? NAN : all->values[at];
}

/* Values of "row ; row ..." in a column, behind `values`; NAN where there is none. */
static size_t values_of(const cells *all, const char *rows, const char *column, double *values)
{
    size_t count = 0;
    for (const char *at = rows; at; count++) {
        const char *end = strstr(at, " ; ");
        values[count] = cell_of(all, at, end ? (size_t)(end - at) : strlen(at), column);
        at = end ? end + 3 : NULL;
    }
    return count;
}

/* "wins:N", and kinds of several columns: the columns of the first left row that fit. */
static size_t columns_of(const cells *all, char *const *f, const char *columns[64])
{
    size_t count = 0, length = strcspn(f[4], ";");
    length -= f[4][length] ? 1 : 0; /* the blank before it */
    for (size_t i = 0; i < all->count; i++) {
        const char *tab = strchr(all->keys[i], '\t');
        if ((size_t)(tab - all->keys[i]) == length && strncmp(all->keys[i], f[4], length) == 0 &&
            fnmatch(f[3], tab + 1, 0) == 0 &&
            (strncmp(tab + 1, "beir-average", 12) != 0 || strcmp(tab + 1, f[3]) == 0))
            columns[count++] = tab + 1;
    }
    return count;
}

/* By the published cells: how many columns have the claim, and in how many it holds. A margin plays
 * no part, but for "near". */
static bool holds(const cells *all, char *const *f)
{
    const char *columns[64];
    size_t count = columns_of(all, f, columns), wins = 0;
    cr_expect_gt(count, 0, "%s: no column %s", f[0], f[3]);
    const char *colon = strchr(f[2], ':');
    bool near = strncmp(f[2], "near", 4) == 0, wants = strncmp(f[2], "wins", 4) == 0;
    bool tie_counts = strncmp(f[2], "ge", 2) == 0 || strncmp(f[2], "order", 5) == 0;
    char kind[16];
    snprintf(kind, sizeof kind, "%.*s%s", (int)strcspn(f[2], ":"), f[2],
             near || wants ? colon
             : colon       ? ":0"
                           : "");
    for (size_t c = 0; c < count; c++) {
        double values[GB_MOST_SIDES];
        size_t lefts = values_of(all, f[4], columns[c], values);
        size_t sides = lefts + values_of(all, f[5], columns[c], values + lefts);
        for (size_t i = 0; i < sides; i++)
            cr_expect(!isnan(values[i]), "%s: side %zu has no cell in %s", f[0], i, columns[c]);
        double least =
            margin_of(wants ? "gt" : kind, values, lefts, sides, gb_lower_is_better(columns[c]));
        wins += tie_counts ? least > -1e-9 : least > 1e-9;
    }
    return wins >= (wants ? strtoul(colon + 1, NULL, 10) : count);
}

/* An order of the paper's cells whose margin is so wide that the reverse order has it, too. */
static bool says_nothing(const cells *all, char *const *f)
{
    double values[GB_MOST_SIDES], reversed[GB_MOST_SIDES];
    size_t sides = values_of(all, f[4], f[3], values);
    sides += values_of(all, f[5], f[3], values + sides);
    for (size_t i = 0; i < sides; i++)
        reversed[i] = values[sides - 1 - i];
    return margin_of(f[2], reversed, 1, sides, false) > 0;
}

Test(data, claims_agree_with_the_published_cells)
{
    gb_status status = {0};
    gb_lines *lines = gb_lines_open(GABBRO_TEST_TABLES "/claims.tsv", &status);
    cr_assert(lines, "%s", status.what);
    static cells all;
    char *line, table[64] = "";
    size_t length, claims = 0;
    while (gb_lines_next(lines, &line, &length, &status) == 1) {
        char *f[16];
        fields_of(line, f);
        if (gb_lines_number(lines) == 1)
            continue;
        claims++;
        if (strcmp(f[1], table) != 0) {
            gb_map_destroy(all.places);
            all.places = NULL;
            snprintf(table, sizeof table, "%s", f[1]);
            read_cells(table, &all);
        }
        cr_expect(f[8][0], "%s does not say where the paper says it", f[0]);
        if (strcmp(f[6], "text") != 0)
            cr_expect_eq(holds(&all, f), strcmp(f[6], "yes") == 0, "%s says holds = %s", f[0],
                         f[6]);
        if (strncmp(f[2], "order", 5) == 0)
            cr_expect_not(says_nothing(&all, f), "%s has too wide a margin", f[0]);
    }
    gb_map_destroy(all.places);
    gb_lines_close(lines);
    cr_expect_eq(claims, 203);
}

Test(data, main_table_is_complete)
{
    gb_status status = {0};
    gb_table_spec *spec = gb_table_spec_load(GABBRO_TEST_TABLES, "qac/table1", &status);
    cr_assert(spec, "%s: %s", status.where, status.what);
    size_t published = 0, trained = 0, cells_there = 0;
    for (size_t i = 0; i < spec->row_count; i++) {
        published += spec->rows[i].published[0] != '\0';
        trained += spec->rows[i].role == GB_ROW_TRAINED;
        cr_expect_leq(strlen(spec->rows[i].label), 38, "%s is cut in the table",
                      spec->rows[i].label);
    }
    for (size_t i = 0; i < spec->row_count * spec->column_count; i++)
        cells_there += spec->cells[i].present;
    cr_expect_eq(published, 26);
    cr_expect_eq(trained, 8);
    cr_expect_eq(cells_there, 108);
    cr_expect_eq(spec->claim_count, 16);
    cr_expect_gt(spec->deviation_count, 10);
    gb_table_spec_free(spec);
}

/* Every table and every figure with claims of the four papers has its rows, columns, cells, claims
 * and deviations, and all claims their rows. */
Test(data, all_tables_are_complete)
{
    static const char *const names[] = {
        "qac/table1",   "qac/table2",   "qac/table3",   "qac/table4",   "qac/table5",
        "qac/speed",    "llm/table1",   "llm/table2",   "llm/table3",   "llm/fig3",
        "llm/fig4",     "bow/table1",   "bow/table2",   "bow/table3",   "bow/table4",
        "bow/table5",   "bow/table6",   "bow/fig2",     "costa/table1", "costa/table2",
        "costa/table3", "costa/table4", "costa/table5", "costa/table6", "costa/table7",
        "costa/fig4"};
    size_t claims = 0;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        gb_status status = {0};
        gb_table_spec *spec = gb_table_spec_load(GABBRO_TEST_TABLES, names[n], &status);
        cr_assert(spec, "%s: %s: %s", names[n], status.where, status.what);
        claims += spec->claim_count;
        size_t trained = 0;
        for (size_t i = 0; i < spec->row_count; i++) {
            trained += spec->rows[i].role == GB_ROW_TRAINED;
            cr_expect_leq(strlen(spec->rows[i].label), 38, "%s: \"%s\" is cut", names[n],
                          spec->rows[i].label);
        }
        cr_expect_gt(trained, 0, "%s", names[n]);
        cr_expect_gt(spec->claim_count, 0, "%s", names[n]);
        cr_expect_gt(spec->deviation_count, 1, "%s", names[n]);
        gb_table_spec_free(spec);
    }
    cr_expect_eq(claims, 203);
}

Test(data, unknown_table_is_a_usage_error)
{
    gb_status status = {0};
    cr_expect_null(gb_table_spec_load(GABBRO_TEST_TABLES, "qac/table9", &status));
    cr_expect_eq(status.code, GB_USAGE);
}
