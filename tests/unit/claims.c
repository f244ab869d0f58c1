/* Verdicts: margins of claims, the seed as unit, cells at paper scale; and the data files: every
 * claim against the published cells. */
#include "gabbro/report.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of differences[comparison * n + seed]. */
static gb_judgement judge_rule(const double *differences, size_t n, gb_claim_rule rule)
{
    gb_judgement judgement = {0};
    gb_status status = {0};
    cr_assert(gb_judge(differences, n, n, &rule, &judgement, &status), "%s", status.what);
    return judgement;
}

static gb_judgement judge(const double *differences, size_t n)
{
    return judge_rule(differences, n, (gb_claim_rule){.comparisons = 1});
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

Test(judge, equal_in_every_seed_is_at_least_equal)
{
    static const char *const kinds[] = {"ge", "order", "near:0.1", "gt", "best", "lt"};
    static const double equal[3], last_below[3] = {0, 0, -.1};
    for (size_t i = 0; i < 6; i++) {
        gb_claim_rule rule = gb_claim_rule_of(kinds[i], 2);
        cr_expect_eq(rule.or_equal, i < 3, "%s", kinds[i]);
        rule.comparisons = 1;
        cr_expect_eq(judge_rule(equal, 3, rule).verdict,
                     rule.or_equal ? GB_SUPPORTED : GB_UNDECIDED, "%s", kinds[i]);
        cr_expect_eq(judge_rule(last_below, 3, rule).verdict, GB_UNDECIDED, "%s", kinds[i]);
    }
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

/* Two systems as good as each other in the mean, each the worse one in every other seed: the least
 * difference of a seed is always -1, which says nothing against the claim. */
static const double in_turns[] = {1, -1, 1, -1, 1, -1, -1, 1, -1, 1, -1, 1};

Test(judge, noise_of_several_comparisons_contradicts_nothing)
{
    gb_judgement j = judge_rule(in_turns, 6, (gb_claim_rule){.comparisons = 2, .or_equal = true});
    cr_expect_eq(j.verdict, GB_UNDECIDED);
    cr_expect_float_eq(j.mean, 0, 1e-12);
    cr_expect_float_eq(j.low, -1, 1e-12);
    /* t(.9875, 5) = 3.163381, sd 1.095445: half width 1.414707. */
    cr_expect_float_eq(j.high, 1.414707, 1e-5);
    cr_expect_eq(judge_rule(in_turns, 6, (gb_claim_rule){.comparisons = 2, .any = true}).verdict,
                 GB_UNDECIDED, "nor does it support that one of them is positive");
}

Test(judge, several_comparisons)
{
    gb_claim_rule both = {.comparisons = 2}, one = {.comparisons = 2, .any = true};
    const double good[] = {3, 4, 5, 1, 2, 1}, one_bad[] = {3, 4, 5, -1, -1.1, -1.2},
                 bad[] = {-1, -1.1, -1.2, -3, -4, -5};
    gb_judgement j = judge_rule(good, 3, both);
    cr_expect_eq(j.verdict, GB_UNDECIDED); /* 1, 2, 1 is not sure to be positive */
    cr_expect_eq(j.shown, 1);
    cr_expect_float_eq(j.mean, 4.0 / 3, 1e-12);
    cr_expect_eq(judge_rule(one_bad, 3, both).verdict, GB_CONTRADICTED);
    cr_expect_eq(judge_rule(one_bad, 3, one).verdict, GB_SUPPORTED);
    j = judge_rule(bad, 3, one);
    cr_expect_eq(j.verdict, GB_CONTRADICTED);
    cr_expect_eq(j.shown, 0, "the greatest");
    cr_expect(j.low < j.mean && j.mean < j.high && j.high < 0, "%g %g %g", j.low, j.mean, j.high);
    cr_expect_eq(judge_rule((double[]){3, 3.1, 3.2, 1, 1.1, 1.2}, 3, both).verdict, GB_SUPPORTED);
}

/* What decides for one set of values: the least difference, or the greatest. */
static double margin(const char *kind, const double *values, size_t count, bool lower_is_better)
{
    double all[GB_MOST_COMPARISONS], best = NAN;
    size_t n = gb_claim_differences(kind, values, count, lower_is_better, all);
    gb_claim_rule rule = gb_claim_rule_of(kind, count);
    if (strncmp(kind, "wins:", 5) != 0)
        cr_expect_eq(rule.comparisons, n, "%s", kind);
    for (size_t i = 0; i < n; i++)
        best = rule.any ? fmax(best, all[i]) : fmin(best, all[i]);
    return best;
}

Test(margin, kinds)
{
    const double v[] = {5, 3, 4};
    cr_expect_float_eq(margin("gt", v, 3, false), 1, 0);
    cr_expect_float_eq(margin("ge", v, 3, false), 1, 0);
    cr_expect_float_eq(margin("best", v, 3, false), 1, 0);
    cr_expect_float_eq(margin("best", v, 3, true), -2, 0, "the lowest loss is best");
    cr_expect_float_eq(margin("lt", v, 3, false), -2, 0);
    cr_expect_float_eq(margin("lt", (double[]){2, 3}, 2, true), 1, 0);
    cr_expect_float_eq(margin("order", (double[]){1, 2, 4}, 3, false), 1, 0);
    cr_expect_float_eq(margin("order", v, 3, false), -2, 0);
    cr_expect_float_eq(margin("not-order", v, 3, false), 2, 0);
    cr_expect_float_eq(margin("not-order", (double[]){1, 2, 4}, 3, false), -1, 0);
    cr_expect_float_eq(margin("near:0.5", (double[]){1, 1.2}, 2, false), 0.3, 1e-12);
    cr_expect(isnan(margin("wins:9", v, 2, false)));
    double all[GB_MOST_COMPARISONS];
    cr_expect_eq(gb_claim_differences("gt", (double[]){1, NAN}, 2, false, all), 1);
    cr_expect(isnan(all[0]));
    cr_expect(gb_lower_is_better("mlm-eval-msmarco:MLM-loss"));
    cr_expect(!gb_lower_is_better("msmarco-dev:MRR@10"));
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

/* ---- the data files ---------------------------------------------------------------------------
 */

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

/* "wins:N": on how many columns of the sets is left above right? */
static int count_wins(const cells *all, const char *left, const char *right)
{
    int wins = 0;
    for (size_t i = 0; i < all->count; i++) {
        const char *tab = strchr(all->keys[i], '\t');
        size_t length = strlen(left);
        if ((size_t)(tab - all->keys[i]) == length && strncmp(all->keys[i], left, length) == 0 &&
            strncmp(tab + 1, "beir-average", 12) != 0)
            wins += all->values[i] > cell_of(all, right, strlen(right), tab + 1);
    }
    return wins;
}

static bool holds(const cells *all, char *const *f)
{
    if (strncmp(f[2], "wins:", 5) == 0)
        return count_wins(all, f[4], f[5]) >= atoi(f[2] + 5);
    double values[32];
    size_t count = 1;
    values[0] = cell_of(all, f[4], strlen(f[4]), f[3]);
    for (const char *at = f[5]; at; count++) {
        const char *end = strstr(at, " ; ");
        values[count] = cell_of(all, at, end ? (size_t)(end - at) : strlen(at), f[3]);
        cr_expect(!isnan(values[count]), "%s: no cell of %s in %s", f[0], at, f[3]);
        at = end ? end + 3 : NULL;
    }
    double least = margin(f[2], values, count, gb_lower_is_better(f[3]));
    bool tie_counts = strcmp(f[2], "ge") == 0 || strcmp(f[2], "order") == 0;
    if (f[6][0] && count == 2) /* the delta that the text states, rounding of two cells allowed */
        cr_expect_lt(fabs(fabs(values[0] - values[1]) - strtod(f[6], NULL)), 0.11, "%s: %s", f[0],
                     f[6]);
    return tie_counts ? least > -1e-9 : least > 1e-9;
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
        cr_expect_eq(holds(&all, f), strcmp(f[7], "yes") == 0, "%s says holds = %s", f[0], f[7]);
    }
    gb_map_destroy(all.places);
    gb_lines_close(lines);
    cr_expect_eq(claims, 169);
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
    cr_expect_eq(spec->claim_count, 15);
    cr_expect_gt(spec->deviation_count, 10);
    gb_table_spec_free(spec);
}

/* Every table of the four papers has its rows, columns, cells, deviations, and all claims their
 * rows. */
Test(data, all_tables_are_complete)
{
    static const struct {
        const char *paper; /* name */
        int tables;        /* numbered from 1 */
    } papers[] = {{"qac", 5}, {"llm", 3}, {"bow", 6}, {"costa", 7}};
    size_t claims = 0;
    for (size_t p = 0; p < sizeof papers / sizeof *papers; p++) {
        for (int t = 1; t <= papers[p].tables; t++) {
            char name[20];
            snprintf(name, sizeof name, "%s/table%d", papers[p].paper, t);
            gb_status status = {0};
            gb_table_spec *spec = gb_table_spec_load(GABBRO_TEST_TABLES, name, &status);
            cr_assert(spec, "%s: %s: %s", name, status.where, status.what);
            claims += spec->claim_count;
            size_t trained = 0;
            for (size_t i = 0; i < spec->row_count; i++) {
                trained += spec->rows[i].role == GB_ROW_TRAINED;
                cr_expect_leq(strlen(spec->rows[i].label), 38, "%s: \"%s\" is cut", name,
                              spec->rows[i].label);
            }
            cr_expect_gt(trained, 0, "%s", name);
            cr_expect_gt(spec->deviation_count, 1, "%s", name);
            gb_table_spec_free(spec);
        }
    }
    cr_expect_eq(claims, 169);
}

Test(data, unknown_table_is_a_usage_error)
{
    gb_status status = {0};
    cr_expect_null(gb_table_spec_load(GABBRO_TEST_TABLES, "qac/table9", &status));
    cr_expect_eq(status.code, GB_USAGE);
}
