/* How often verdicts err, and how much they find: 10,000 draws of made-up seeds for every kind of
 * claim. docs/design/verdicts.md shows the table that this prints, and is compared with it. */
#include "gabbro/report.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 10000, SEEDS = 8, ROWS = 8, COLUMNS = 14 };

/* What is true of a claim's rows: a mean each, in deviations between seeds; the columns from
 * `first` on have the same means plus `more` for the left rows. */
typedef struct truth {
    double means[ROWS]; /* of the sides */
    size_t first;       /* column where `more` begins to count */
    double more;        /* added to the lefts there */
} truth;

typedef struct scenario {
    const char *name;    /* as the page has it */
    const char *kind;    /* of the claim */
    size_t lefts, sides; /* rows */
    size_t columns;      /* of the claim */
    truth borders[3];    /* where the claim is just not true any more, and just not false */
    size_t border_count; /* of them */
    truth holds;         /* it holds, by two deviations */
    double failing;      /* share of runs that end 10 deviations lower */
    size_t seeds;        /* 0: SEEDS */
    bool lefts_fail;     /* only those of the left rows do */
    bool looks;          /* judged after each seed from the third on, and done when decided */
    double most;         /* percent of wrong verdicts that are known of; 0: 5 */
} scenario;

static const scenario scenarios[] = {
    {"above one row", "gt", 1, 2, 1, {{{0}}}, 1, {{2}}, 0},
    {"above one row, 3 runs in 10 fail", "gt", 1, 2, 1, {{{0}}}, 1, {{2}}, .3},
    {"above five rows", "gt", 1, 6, 1, {{{0}}, {{0, 0, -9, -9, -9, -9}}}, 2, {{2}}, 0},
    {"below one row", "lt", 1, 2, 1, {{{0}}}, 1, {{-2}}, 0},
    {"best of five rows", "best", 1, 5, 1, {{{0}}, {{0, 0, -9, -9, -9}}}, 2, {{2}}, 0},
    {"not below, margin 1", "ge:1", 1, 2, 1, {{{-1}}}, 1, {{1}}, 0},
    {"never falls in four, margin 1",
     "order:1",
     1,
     4,
     1,
     {{{0, -1, -2, -3}}, {{0, -1, 8, 17}}},
     2,
     {{0, 1, 2, 3}},
     0},
    {"falls somewhere in three", "not-order", 1, 3, 1, {{{0}}, {{0, 0, 9}}}, 2, {{0, 2, 0}}, 0},
    {"the same, margin 2", "near:2", 1, 2, 1, {{{2}}, {{-2}}}, 2, {{0}}, 0},
    {"three pairs", "each", 3, 6, 1, {{{0}}, {{0, 9, 9}}}, 2, {{2, 2, 2}}, 0},
    {"mean of three above mean of three", "mean", 3, 6, 1, {{{0}}}, 1, {{2, 2, 2}}, 0},
    {"wins on 13 of 14 sets",
     "wins:13",
     1,
     2,
     14,
     {{{0}}, {{0}, 2, 9}, {{0}, 13, -9}},
     3,
     {{2}},
     0},
    {"wins on 9 of 14 sets", "wins:9", 1, 2, 14, {{{0}}, {{0}, 6, 9}, {{0}, 9, -9}}, 3, {{2}}, 0},
    {"above one row, by 3 seeds", "gt", 1, 2, 1, {{{0}}}, 1, {{2}}, 0, .seeds = 3},
    {"above one row, judged after each seed from the third",
     "gt",
     1,
     2,
     1,
     {{{0}}},
     1,
     {{2}},
     0,
     .looks = true,
     .most = 10},
    {"above one row, 1 run in 10 of the left one fails",
     "gt",
     1,
     2,
     1,
     {{{1}}},
     1,
     {{3}},
     .1,
     .lefts_fail = true,
     .most = 20},
};

/* Values of all rows for one seed in one column. */
static void draw(const scenario *s, const truth *t, size_t column, gb_rng *rng, double *values)
{
    for (size_t i = 0; i < s->sides; i++) {
        values[i] = t->means[i] + gb_rng_normal(rng);
        if (i < s->lefts && column >= t->first)
            values[i] += t->more;
        bool fails = i < s->lefts || !s->lefts_fail;
        if (s->failing > 0 && fails && gb_rng_uniform(rng) < s->failing)
            values[i] -= 10;
    }
}

static gb_verdict judge_draw(const scenario *s, const truth *t, uint32_t which, uint32_t of)
{
    gb_claim_rule rule;
    gb_comparison all[GB_MOST_SIDES];
    cr_assert(gb_claim_rule_parse(s->kind, &rule));
    size_t n = gb_claim_comparisons(&rule, s->lefts, s->sides, false, all);
    double differences[COLUMNS * 8 * SEEDS], values[ROWS], margin;
    gb_rng rng = gb_rng_make(20, GB_RNG_TEST, of, which);
    for (size_t seed = 0; seed < SEEDS; seed++)
        for (size_t column = 0; column < s->columns; column++) {
            draw(s, t, column, &rng, values);
            for (size_t c = 0; c < n; c++)
                differences[(column * n + c) * SEEDS + seed] =
                    gb_comparison_difference(&all[c], &rule, values, &margin) + margin;
        }
    gb_judgement j;
    gb_status status = {0};
    n *= s->columns;
    size_t last = s->seeds ? s->seeds : SEEDS, seeds = s->looks ? GB_MIN_SEEDS : last;
    do
        cr_assert(gb_judge(differences, SEEDS, seeds, n, gb_claim_needs(&rule, n), &j, &status));
    while (j.verdict == GB_UNDECIDED && ++seeds <= last);
    return j.verdict;
}

/* Percent of the draws that end so. */
static void shares(const scenario *s, const truth *t, uint32_t of, double *supported,
                   double *contradicted)
{
    size_t counts[4] = {0};
    for (uint32_t i = 0; i < DRAWS; i++)
        counts[judge_draw(s, t, i, of)]++;
    *supported = 100.0 * (double)counts[GB_SUPPORTED] / DRAWS;
    *contradicted = 100.0 * (double)counts[GB_CONTRADICTED] / DRAWS;
}

/* The numbers of the page's line for a scenario: "| name | a | b | c |". */
static void expect_on_page(const char *page, const char *name, const double numbers[3])
{
    char *start = gb_format(NULL, "| %s |", name);
    const char *at = strstr(page, start);
    double said[3] = {NAN, NAN, NAN};
    cr_expect(at && sscanf(at + strlen(start), " %lf%% | %lf%% | %lf%% |", &said[0], &said[1],
                           &said[2]) == 3,
              "docs/design/verdicts.md has no line \"%s\" with three shares", name);
    for (int i = 0; i < 3; i++) /* another C library may round a draw the other way */
        cr_expect_lt(fabs(said[i] - numbers[i]), .15,
                     "docs/design/verdicts.md says %g of \"%s\", not %g", said[i], name,
                     numbers[i]);
    free(start);
}

Test(verdicts, seldom_err_and_find_what_is_there)
{
    gb_status status = {0};
    char *page = gb_read_file(GABBRO_TEST_DOCS "/design/verdicts.md", NULL, &status);
    cr_assert(page, "%s", status.what);
    for (uint32_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        double worst[3] = {0}, supported, contradicted; /* wrong yes, wrong no, found */
        for (uint32_t b = 0; b < s->border_count; b++) {
            shares(s, &s->borders[b], 10 * i + b, &supported, &contradicted);
            worst[0] = fmax(worst[0], supported);
            worst[1] = fmax(worst[1], contradicted);
        }
        shares(s, &s->holds, 10 * i + 9, &worst[2], &contradicted);
        printf("| %s | %.1f%% | %.1f%% | %.1f%% |\n", s->name, worst[0], worst[1], worst[2]);
        double most = s->most > 0 ? s->most : 5;
        cr_expect_leq(worst[0], most, "\"%s\" is supported by noise", s->name);
        cr_expect_leq(worst[1], most, "\"%s\" is contradicted by noise", s->name);
        cr_expect_leq(contradicted, 1, "\"%s\" is contradicted though it holds", s->name);
        expect_on_page(page, s->name, worst);
    }
    free(page);
}
