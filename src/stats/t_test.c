/* Student's t: distribution, paired test, intervals, numbers of seeds; Holm's adjustment. */
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>

/* Continued fraction of DLMF 8.17.22, evaluated by the modified Lentz method (Thompson and
 * Barnett, J. Comput. Phys. 64, 1986). Converges quickly for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 20000; m++) {
        /* Even term d_2m, then odd term d_2m+1. */
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

double gb_incomplete_beta(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    double log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x);
    if (x < (a + 1) / (a + b + 2))
        return exp(log_front) * beta_fraction(a, b, x) / a;
    return 1 - exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

double gb_t_two_tailed(double t, double df)
{
    if (isinf(t))
        return 0;
    return gb_incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

static double t_density(double t, double df)
{
    double log_top = lgamma((df + 1) / 2) - lgamma(df / 2);
    return exp(log_top - (df + 1) / 2 * log1p(t * t / df)) / sqrt(df * M_PI);
}

/* Newton's method within a bracket that shrinks; where a step leaves it, its middle is taken. */
double gb_t_quantile(double p, double df)
{
    if (p < 0.5)
        return -gb_t_quantile(1 - p, df);
    double tails = 2 * (1 - p), low = 0, high = 1;
    while (gb_t_two_tailed(high, df) > tails && high < 1e300) {
        low = high;
        high *= 2;
    }
    double t = low + (high - low) / 2;
    for (int i = 0; i < 200; i++) {
        double excess = gb_t_two_tailed(t, df) - tails;
        *(excess > 0 ? &low : &high) = t;
        double next = t + excess / (2 * t_density(t, df));
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        if (next == t || fabs(next - t) < 1e-15 * t)
            return next;
        t = next;
    }
    return t;
}

/* z with P(Z <= z) = p of the standard normal distribution, by bisection. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (erfc(-middle * M_SQRT1_2) / 2 < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

void gb_moments(const double *a, const double *b, size_t n, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += b ? a[i] - b[i] : a[i];
    *mean = sum / n;
    for (size_t i = 0; i < n; i++) {
        double deviation = (b ? a[i] - b[i] : a[i]) - *mean;
        squares += deviation * deviation;
    }
    *sd = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

bool gb_ttest_paired(const double *a, const double *b, size_t n, gb_ttest *test, gb_status *status)
{
    if (n < 2)
        return gb_fail(status, GB_DATA, NULL, "evaluate more queries or seeds",
                       "a paired t-test needs two pairs, not %zu", n);
    gb_ttest out = {.n = n};
    gb_moments(a, b, n, &out.mean, &out.sd);
    if (out.sd > 0)
        out.t = out.mean / (out.sd / sqrt(n));
    else
        out.t = out.mean == 0 ? 0 : copysign(INFINITY, out.mean);
    out.p = gb_t_two_tailed(out.t, n - 1.0);
    *test = out;
    return true;
}

bool gb_summarise(const double *values, size_t n, gb_summary *summary, gb_status *status)
{
    if (n == 0)
        return gb_fail(status, GB_DATA, NULL, NULL, "no values to summarise");
    gb_summary out = {.n = n, .low = NAN, .high = NAN};
    gb_moments(values, NULL, n, &out.mean, &out.sd);
    if (n > 1) {
        double half = gb_t_quantile(0.975, n - 1.0) * out.sd / sqrt(n);
        out.low = out.mean - half;
        out.high = out.mean + half;
    }
    *summary = out;
    return true;
}

uint32_t gb_seeds_needed(double mean, double sd, double alpha, double power)
{
    const double limit = 1e6;
    double ratio = sd / fabs(mean);
    if (!(ratio >= 0) || isinf(ratio))
        return 0;
    /* The normal distribution gives a lower bound, from which few steps remain. */
    double z = normal_quantile(1 - alpha / 2) + normal_quantile(power);
    double n = fmax(2, ceil(z * z * ratio * ratio));
    for (; n <= limit; n++) {
        double t = gb_t_quantile(1 - alpha / 2, n - 1) + gb_t_quantile(power, n - 1);
        if (n >= t * t * ratio * ratio)
            return (uint32_t)n;
    }
    return 0;
}

static int by_p(const void *a, const void *b)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    return *x != *y ? (*x < *y ? -1 : 1) : (x > y) - (x < y);
}

bool gb_holm(const double *p, size_t n, double *adjusted, gb_status *status)
{
    const double **order = gb_alloc(n, sizeof *order, status);
    if (!order)
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = &p[i];
    qsort(order, n, sizeof *order, by_p);
    double running = 0; /* an adjusted p is never below that of a smaller p */
    for (size_t i = 0; i < n; i++) {
        running = fmax(running, fmin(1, *order[i] * (double)(n - i)));
        adjusted[order[i] - p] = running;
    }
    free(order);
    return true;
}
