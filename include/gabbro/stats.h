/* Stats module: tests of differences, intervals and summaries of repeated measurements. Stands on
 * base only. */
#ifndef GABBRO_STATS_H
#define GABBRO_STATS_H

#include <gabbro/base.h>

/* Regularised incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1. Continued fraction
 * DLMF 8.17.22 by the modified Lentz method, with the symmetry 8.17.4. */
double gb_incomplete_beta(double a, double b, double x);
double gb_t_two_tailed(double t, double df); /* P(|T| >= |t|) of Student's t, df > 0 */
double gb_t_quantile(double p, double df);   /* t with P(T <= t) = p, 0 < p < 1 */

typedef struct gb_ttest {
    size_t n;    /* pairs */
    double mean; /* of a - b */
    double sd;   /* of a - b, n - 1 in the denominator */
    double t;    /* mean / (sd / sqrt n); +-INFINITY or 0 when sd is 0 */
    double p;    /* two-tailed, df = n - 1 */
} gb_ttest;
/* Paired t-test over values of the same queries (or seeds) in the same order, n >= 2. */
bool gb_ttest_paired(const double *a, const double *b, size_t n, gb_ttest *test, gb_status *status);

/* Fisher's paired randomisation test, two-tailed: p = (1 + count of |permuted mean| >= |mean|) /
 * (1 + rounds); signs drawn from seed (GB_RNG_TEST, round). All 2^n sign patterns are taken
 * instead, without the 1s, when they are no more than rounds. n >= 1, rounds >= 1. */
bool gb_randomisation(const double *a, const double *b, size_t n, uint32_t rounds, uint64_t seed,
                      double *p, gb_status *status);
/* Percentile bootstrap interval of the mean: `level` (e.g. 0.95) between *low and *high. */
bool gb_bootstrap(const double *values, size_t n, uint32_t rounds, uint64_t seed, double level,
                  double *low, double *high, gb_status *status);
/* Holm's step-down adjusted p values (Scand. J. Statist. 6, 1979), in the order given. */
bool gb_holm(const double *p, size_t n, double *adjusted, gb_status *status);

/* Arithmetic mean and deviation (n - 1 in the denominator; NAN for n = 1) of a[i] - b[i], or of
 * a[i] where b is NULL; n >= 1. */
void gb_moments(const double *a, const double *b, size_t n, double *mean, double *sd);

typedef struct gb_summary {
    size_t n;    /* values */
    double mean; /* arithmetic mean */
    double sd;   /* n - 1 in the denominator; NAN for n = 1 */
    double low;  /* 95% t-interval of the mean; NAN for n = 1 */
    double high; /* its other end */
} gb_summary;
/* Summary of the values of n >= 1 seeds. */
bool gb_summarise(const double *values, size_t n, gb_summary *summary, gb_status *status);
/* Number of pairs (seeds) with which a paired two-sided t-test at `alpha` finds a difference of
 * `mean` with deviation `sd` with probability `power`: smallest n >= 2 with
 * n >= ((t(1 - alpha/2, n-1) + t(power, n-1)) sd / mean)^2. 0 when mean is 0 or n would pass
 * 1,000,000. */
uint32_t gb_seeds_needed(double mean, double sd, double alpha, double power);

#endif
