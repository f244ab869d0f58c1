/* Stats module: tests of differences, intervals, and summaries of repeated measurements. It stands
 * on base only. */
#ifndef GABBRO_STATS_H
#define GABBRO_STATS_H

#include <gabbro/base.h>

/* Computes the regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 <= x <= 1, by the
 * continued fraction DLMF 8.17.22 with the modified Lentz method, and the symmetry 8.17.4. */
double gb_incomplete_beta(double a, double b, double x);
/* P(|T| >= |t|) of Student's t with df > 0 degrees of freedom. */
double gb_t_two_tailed(double t, double df);
/* The t with P(T <= t) = p, for 0 < p < 1. */
double gb_t_quantile(double p, double df);

/* Result of a paired t-test of a against b. */
typedef struct gb_ttest {
    size_t n;    /* pairs */
    double mean; /* mean of a - b */
    double sd;   /* standard deviation of a - b, with n - 1 in the denominator */
    double t;    /* mean / (sd / sqrt n); +-INFINITY or 0 when sd is 0 */
    double p;    /* two-tailed, df = n - 1 */
} gb_ttest;
/* Tests by a paired t-test whether the means of a and b [n] differ. Both hold values of the same
 * queries (or seeds) in the same order; n >= 2. */
bool gb_ttest_paired(const double *a, const double *b, size_t n, gb_ttest *test, gb_status *status);

/* How values are drawn again and again. */
typedef struct gb_resampling {
    uint32_t rounds; /* number of rounds, at least 1 */
    uint64_t seed;   /* of the draws of all rounds (GB_RNG_TEST, round) */
} gb_resampling;
/* Tests the same by Fisher's paired randomisation test, two-tailed: p = (1 + number of rounds with
 * |permuted mean| >= |mean|) / (1 + rounds), with drawn signs. If there are at most as many sign
 * patterns (2^n) as rounds, all of them are taken instead, and the 1s are left out. n >= 1. */
bool gb_randomisation(const double *a, const double *b, size_t n, const gb_resampling *draws,
                      double *p, gb_status *status);
/* Between which values a quantity lies. */
typedef struct gb_interval {
    double low;  /* lower end */
    double high; /* upper end */
} gb_interval;
/* Estimates the interval that holds the mean of values [n] with probability `level` (e.g. 0.95), by
 * the percentile bootstrap. */
bool gb_bootstrap(const double *values, size_t n, const gb_resampling *draws, double level,
                  gb_interval *interval, gb_status *status);
/* Adjusts p values [n] for the number of tests, by Holm's step-down method (Scand. J. Statist. 6,
 * 1979). adjusted [n] has the order of p. */
bool gb_holm(const double *p, size_t n, double *adjusted, gb_status *status);

/* Computes mean and standard deviation (n - 1 in the denominator; NAN for n = 1) of a[i] - b[i], or
 * of a[i] if b is NULL; n >= 1. */
void gb_moments(const double *a, const double *b, size_t n, double *mean, double *sd);

/* What is printed of several values of the same thing, such as those of all seeds. */
typedef struct gb_summary {
    size_t n;    /* number of values */
    double mean; /* arithmetic mean */
    double sd;   /* standard deviation, n - 1 in the denominator; NAN for n = 1 */
    double low;  /* lower end of the 95% t-interval of the mean; NAN for n = 1 */
    double high; /* its upper end */
} gb_summary;
/* Summarises values [n], n >= 1. */
bool gb_summarise(const double *values, size_t n, gb_summary *summary, gb_status *status);
/* Says how many pairs (seeds) are needed so that a paired two-sided t-test at level `alpha` finds a
 * difference of `mean` with standard deviation `sd` with probability `power`: the smallest n >= 2
 * with n >= ((t(1 - alpha/2, n-1) + t(power, n-1)) sd / mean)^2. 0 if mean is 0 or n would exceed
 * 1,000,000. */
uint32_t gb_seeds_needed(double mean, double sd, double alpha, double power);

/* ---- agreement of a reproduction with its original (Breuer et al., SIGIR 2020) ---- */

/* Kendall's tau of a list and an original one over the union of their items. places [count] are the
 * positions that the list's items have in the original, counted from 0, or GB_MAP_NONE; the
 * original has `of` items. Items are numbered by their places in the original, then those that it
 * lacks in the order of the list; compared are the numbers at the same ranks, as far as both lists
 * go. *tau is NAN where that is less than two ranks. */
bool gb_tau_union(const uint32_t *places, size_t count, size_t of, double *tau, gb_status *status);
/* Rank-biased overlap of the same lists, extrapolated: Webber, Moffat and Zobel, A Similarity
 * Measure for Indefinite Rankings (TOIS 28, 2010), equation 32. 0 < p < 1 is the persistence.
 * *overlap is NAN where a list is empty. */
bool gb_rank_biased_overlap(const uint32_t *places, size_t count, size_t of, double p,
                            double *overlap, gb_status *status);
/* Kendall's tau-b of two series of values [n]; NAN for less than two, or where all are equal in
 * one. */
double gb_kendall_tau(const double *x, const double *y, size_t n);
/* Root of the mean squared difference of two series of values [n]; NAN for none. */
double gb_rmse(const double *x, const double *y, size_t n);
/* What a system gains over a baseline, by mean values. */
typedef struct gb_effect {
    double value, base; /* of the system, of the baseline */
} gb_effect;
/* Compares the effect in a reproduction (`other`) with the original one: *ratio is effect ratio,
 * other / original of value - base, 1 in a perfect reproduction; *relative is the delta of the
 * relative improvements, original - other of (value - base) / base, 0 in one. NAN where they are
 * undefined. */
void gb_effects_compare(const gb_effect *original, const gb_effect *other, double *ratio,
                        double *relative);

#endif
