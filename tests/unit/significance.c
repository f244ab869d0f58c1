/* Distribution of t, tests, intervals. Reference numbers: SciPy 1.17.1, statsmodels. */
#include <gabbro/stats.h>

#include <criterion/criterion.h>
#include <math.h>

static void near(double got, double wanted, double relative)
{
    cr_expect(fabs(got - wanted) <= relative * fabs(wanted), "%.17g instead of %.17g", got, wanted);
}

Test(significance, incomplete_beta)
{
    near(gb_incomplete_beta(0.5, 0.5, 0.25), 1. / 3, 1e-14);
    near(gb_incomplete_beta(2, 3, 0.4), 0.5248, 1e-14);
    near(gb_incomplete_beta(21, 0.5, 0.9), 0.03650749325866612, 1e-12);
    near(gb_incomplete_beta(3490, 0.5, 0.999), 0.008228791806529048, 1e-10);
    near(gb_incomplete_beta(1e5, 0.5, 0.99999), 0.15729868816242573, 1e-9);
    near(gb_incomplete_beta(10, 200, 0.03), 0.10050835237144835, 1e-11);
    cr_expect_eq(gb_incomplete_beta(2, 3, 0), 0);
    cr_expect_eq(gb_incomplete_beta(2, 3, 1), 1);
}

Test(significance, student)
{
    near(gb_t_two_tailed(2.5, 9), 0.033861827682985735, 1e-12);
    near(gb_t_two_tailed(-1, 1), 0.5, 1e-12);
    near(gb_t_two_tailed(12, 42), 3.706245241150908e-15, 1e-9);
    cr_expect_eq(gb_t_two_tailed(0, 5), 1);
    near(gb_t_quantile(0.975, 1), 12.706204736174694, 1e-12);
    near(gb_t_quantile(0.975, 9), 2.262157162798205, 1e-12);
    near(gb_t_quantile(0.995, 6979), 2.5765339623473786, 1e-10);
    near(gb_t_quantile(0.3, 5), -0.5594296444693604, 1e-12);
    cr_expect(fabs(gb_t_quantile(0.5, 4)) < 1e-9);
}

static const double system_a[] = {.3953, .51, .2, 1, .25, .5, 0, .333, .125, .9};
static const double system_b[] = {.2993, .50, .3, .5, .2, .5, .1, .25, .1, .4};

Test(significance, paired_t_test)
{
    gb_ttest test;
    cr_assert(gb_ttest_paired(system_a, system_b, 10, &test, NULL));
    near(test.mean, 0.1064, 1e-12);
    near(test.sd, 0.21759299416826616, 1e-12);
    near(test.t, 1.5463105525434508, 1e-12);
    near(test.p, 0.15643210991709472, 1e-12);
    gb_ttest reverse;
    cr_assert(gb_ttest_paired(system_b, system_a, 10, &reverse, NULL));
    cr_expect_eq(reverse.t, -test.t);
    cr_expect_eq(reverse.p, test.p);
}

Test(significance, t_test_without_spread)
{
    static const double a[] = {0.5, 0.75, 1}, b[] = {0.25, 0.5, 0.75};
    gb_ttest test;
    cr_assert(gb_ttest_paired(a, a, 3, &test, NULL));
    cr_expect_eq(test.p, 1); /* equal systems */
    cr_assert(gb_ttest_paired(a, b, 3, &test, NULL));
    cr_expect_eq(test.p, 0); /* the same difference everywhere */
    gb_status status = {0};
    cr_expect_not(gb_ttest_paired(a, b, 1, &test, &status));
    cr_expect_eq(status.code, GB_DATA);
}

Test(significance, randomisation)
{
    static const double difference[] = {.2, -.1, .3, .05, .4, .15}, zero[6] = {0};
    double exact, drawn, again, swapped;
    /* 2^6 <= 64: all sign patterns, 6 of which reach the observed sum. */
    cr_assert(gb_randomisation(difference, zero, 6, &(gb_resampling){64, 1}, &exact, NULL));
    cr_expect_eq(exact, 6. / 64);
    cr_assert(
        gb_randomisation(difference, zero, 6, &(gb_resampling){63, 1}, &drawn, NULL)); /* sampled */
    cr_expect(fabs(drawn - exact) < 0.12);
    /* The t-test of these pairs says .156; with 20000 rounds (>= 2^10) it is exact again. */
    cr_assert(gb_randomisation(system_a, system_b, 10, &(gb_resampling){1000, 7}, &drawn, NULL));
    cr_assert(gb_randomisation(system_a, system_b, 10, &(gb_resampling){1000, 7}, &again, NULL));
    cr_assert(gb_randomisation(system_a, system_b, 10, &(gb_resampling){20000, 7}, &exact, NULL));
    cr_assert(gb_randomisation(system_b, system_a, 10, &(gb_resampling){20000, 7}, &swapped, NULL));
    cr_expect_eq(drawn, again);
    cr_expect_eq(exact, swapped);
    cr_expect(fabs(drawn - exact) < 0.05, "%g %g", drawn, exact);
    cr_assert(gb_randomisation(zero, zero, 6, &(gb_resampling){10, 7}, &exact, NULL));
    cr_expect_eq(exact, 1);
}

Test(significance, bootstrap)
{
    double values[100];
    gb_interval once, again;
    gb_rng rng = gb_rng_make(3, GB_RNG_TEST, 0, 5);
    double sum = 0, squares = 0;
    for (int i = 0; i < 100; i++) {
        values[i] = gb_rng_uniform(&rng);
        sum += values[i];
        squares += values[i] * values[i];
    }
    cr_assert(gb_bootstrap(values, 100, &(gb_resampling){4000, 9}, 0.95, &once, NULL));
    cr_assert(gb_bootstrap(values, 100, &(gb_resampling){4000, 9}, 0.95, &again, NULL));
    cr_expect(once.low == again.low && once.high == again.high);
    double low = once.low, high = once.high;
    double mean = sum / 100, error = sqrt((squares / 100 - mean * mean) / 100);
    /* Near the normal interval mean +- 1.96 standard errors. */
    cr_expect(fabs(low - (mean - 1.96 * error)) < 0.2 * error, "%g %g", low, mean - 1.96 * error);
    cr_expect(fabs(high - (mean + 1.96 * error)) < 0.2 * error, "%g %g", high, mean + 1.96 * error);
    cr_expect_not(gb_bootstrap(values, 0, &(gb_resampling){10, 9}, 0.95, &once, NULL));
}

Test(significance, holm)
{
    static const double p[] = {.01, .04, .03, .005}, wanted[] = {.03, .06, .06, .02};
    static const double large[] = {.5, .5, .2}, wanted_large[] = {1, 1, .6};
    double adjusted[4];
    cr_assert(gb_holm(p, 4, adjusted, NULL));
    for (int i = 0; i < 4; i++)
        near(adjusted[i], wanted[i], 1e-12);
    cr_assert(gb_holm(large, 3, adjusted, NULL));
    for (int i = 0; i < 3; i++)
        near(adjusted[i], wanted_large[i], 1e-12);
}

Test(significance, summary_of_seeds)
{
    static const double seeds[] = {.342, .351, .339, .36, .347};
    gb_summary summary;
    cr_assert(gb_summarise(seeds, 5, &summary, NULL));
    near(summary.mean, 0.3478, 1e-12);
    near(summary.sd, 0.008228000972289668, 1e-12);
    near(summary.low, 0.33758358741552236, 1e-12);
    near(summary.high, 0.35801641258447764, 1e-12);
    cr_assert(gb_summarise(seeds, 1, &summary, NULL));
    cr_expect(summary.mean == .342 && isnan(summary.sd) && isnan(summary.low));
    cr_expect_not(gb_summarise(seeds, 0, &summary, NULL));
}

/* The exact power of the t-test (statsmodels' TTestPower) asks for 33.4, 9.9, 198.2, 4.2, 786.8. */
Test(significance, seeds_needed)
{
    cr_expect_eq(gb_seeds_needed(0.5, 1, 0.05, 0.8), 34);
    cr_expect_eq(gb_seeds_needed(-1, 1, 0.05, 0.8), 10);
    cr_expect_eq(gb_seeds_needed(0.2, 1, 0.05, 0.8), 199);
    cr_expect_eq(gb_seeds_needed(2, 1, 0.05, 0.8), 5);
    cr_expect_eq(gb_seeds_needed(0.1, 1, 0.05, 0.8), 787);
    cr_expect_eq(gb_seeds_needed(1, 0, 0.05, 0.8), 2);
    cr_expect_eq(gb_seeds_needed(0, 1, 0.05, 0.8), 0);
    cr_expect_eq(gb_seeds_needed(1e-9, 1, 0.05, 0.8), 0);
}

/* ---- agreement of reproductions; reference numbers: SciPy 1.17.1, repro_eval 0.5.0 ---- */

/* The list b a x d y c e beside the original a b c d e f. */
static const uint32_t placed[] = {1, 0, GB_MAP_NONE, 3, GB_MAP_NONE, 2, 4};

Test(significance, tau_union)
{
    double tau;
    cr_assert(gb_tau_union(placed, 7, 6, &tau, NULL));
    near(tau, 1. / 3, 1e-14);
    cr_assert(gb_tau_union((const uint32_t[]){0, 1, 2}, 3, 3, &tau, NULL));
    near(tau, 1, 0);
    cr_assert(gb_tau_union((const uint32_t[]){2, 1, 0}, 3, 3, &tau, NULL));
    near(tau, -1, 0);
    cr_assert(gb_tau_union(placed, 1, 6, &tau, NULL));
    cr_expect(isnan(tau), "one rank has no order");
}

Test(significance, rank_biased_overlap)
{
    double overlap;
    cr_assert(gb_rank_biased_overlap(placed, 7, 6, .9, &overlap, NULL));
    near(overlap, 0.7076211428571428, 1e-12);
    cr_assert(gb_rank_biased_overlap(placed, 7, 6, .5, &overlap, NULL));
    near(overlap, 0.4220238095238095, 1e-12);
    cr_assert(gb_rank_biased_overlap((const uint32_t[]){0, 1, 2}, 3, 3, .8, &overlap, NULL));
    near(overlap, 1, 1e-14);
    cr_assert(gb_rank_biased_overlap(placed, 0, 6, .8, &overlap, NULL));
    cr_expect(isnan(overlap), "an empty list overlaps with nothing");
}

Test(significance, tau_of_values_with_ties)
{
    near(gb_kendall_tau((const double[]){1, 2, 2, 4, 5}, (const double[]){2, 1, 3, 3, 5}, 5),
         2. / 3, 1e-14);
    cr_expect(isnan(gb_kendall_tau((const double[]){1, 1}, (const double[]){1, 2}, 2)));
}

Test(significance, effects)
{
    double ratio, relative;
    near(gb_rmse(system_a, system_b, 2), sqrt((.096 * .096 + .01 * .01) / 2), 1e-12);
    gb_effects_compare(&(gb_effect){.4, .2}, &(gb_effect){.5, .4}, &ratio, &relative);
    near(ratio, .5, 1e-14);
    near(relative, .75, 1e-14);
    gb_effects_compare(&(gb_effect){.2, .2}, &(gb_effect){.5, 0}, &ratio, &relative);
    cr_expect(isnan(ratio) && isnan(relative), "no effect, no baseline");
}
