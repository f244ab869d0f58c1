/* Fisher's randomisation test and the bootstrap. */
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>

enum { ROW_RANDOMISATION, ROW_BOOTSTRAP }; /* keep the streams of the two apart */

/* Sum of the differences with the signs of `rng`, or of the bits of `pattern` when rng is NULL. */
static double signed_sum(const double *difference, size_t n, gb_rng *rng, uint64_t pattern)
{
    double sum = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        if (rng && i % 32 == 0)
            bits = gb_rng_u32(rng);
        bool negative = rng ? bits >> (i % 32) & 1 : pattern >> i & 1;
        sum += negative ? -difference[i] : difference[i];
    }
    return sum;
}

bool gb_randomisation(const double *a, const double *b, size_t n, const gb_resampling *draws,
                      double *p, gb_status *status)
{
    uint32_t rounds = draws->rounds;
    if (n == 0 || rounds == 0)
        return gb_fail(status, GB_DATA, NULL, NULL, "a randomisation test needs pairs and rounds");
    double *difference = gb_alloc(n, sizeof *difference, status);
    if (!difference)
        return false;
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        difference[i] = a[i] - b[i];
        size += fabs(difference[i]);
    }
    /* Sums that are equal but for rounding count as equal. */
    double observed = fabs(signed_sum(difference, n, NULL, 0)) - 1e-12 * size;
    bool all = n < 32 && (uint64_t)1 << n <= rounds;
    uint64_t patterns = all ? (uint64_t)1 << n : rounds, extreme = 0;
    for (uint64_t i = 0; i < patterns; i++) {
        gb_rng rng = gb_rng_make(draws->seed, GB_RNG_TEST, (uint32_t)i, ROW_RANDOMISATION);
        extreme += fabs(signed_sum(difference, n, all ? NULL : &rng, i)) >= observed;
    }
    *p = all ? (double)extreme / patterns : (1.0 + extreme) / (1.0 + patterns);
    free(difference);
    return true;
}

bool gb_bootstrap(const double *values, size_t n, const gb_resampling *draws, double level,
                  gb_interval *interval, gb_status *status)
{
    uint32_t rounds = draws->rounds;
    if (n == 0 || n > UINT32_MAX || rounds == 0 || !(level > 0 && level < 1))
        return gb_fail(status, GB_DATA, NULL, NULL, "a bootstrap needs values, rounds and a level");
    double *means = gb_alloc(rounds, sizeof *means, status);
    if (!means)
        return false;
    for (uint32_t i = 0; i < rounds; i++) {
        gb_rng rng = gb_rng_make(draws->seed, GB_RNG_TEST, i, ROW_BOOTSTRAP);
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += values[gb_rng_below(&rng, (uint32_t)n)];
        means[i] = sum / n;
    }
    gb_sort_doubles(means, rounds);
    uint32_t cut = (uint32_t)((1 - level) / 2 * rounds); /* values outside, at each end */
    *interval = (gb_interval){means[cut], means[rounds - 1 - cut]};
    free(means);
    return true;
}
