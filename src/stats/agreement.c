/* How far two orders agree, for reproductions: Breuer et al., How to Measure the Reproducibility of
 * System-oriented IR Experiments (SIGIR 2020). */
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorts items [n] and counts the pairs that were in the wrong order. */
static uint64_t count_inversions(uint32_t *items, uint32_t *scratch, size_t n)
{
    if (n < 2)
        return 0;
    size_t half = n / 2, i = 0, j = half, at = 0;
    uint64_t wrong =
        count_inversions(items, scratch, half) + count_inversions(items + half, scratch, n - half);
    while (i < half && j < n) {
        if (items[j] < items[i]) {
            wrong += half - i;
            scratch[at++] = items[j++];
        } else {
            scratch[at++] = items[i++];
        }
    }
    while (i < half)
        scratch[at++] = items[i++];
    memcpy(items, scratch, at * sizeof *items); /* the rest is in its place */
    return wrong;
}

bool gb_tau_union(const uint32_t *places, size_t count, size_t of, double *tau, gb_status *status)
{
    size_t n = count < of ? count : of;
    uint32_t *numbers = gb_alloc(2 * n, sizeof *numbers, status);
    if (!numbers)
        return false;
    uint32_t next = (uint32_t)of; /* numbers go on behind the first list */
    for (size_t i = 0; i < n; i++)
        numbers[i] = places[i] == GB_MAP_NONE ? next++ : places[i];
    uint64_t wrong = count_inversions(numbers, numbers + n, n);
    *tau = n < 2 ? NAN : 1 - 4 * (double)wrong / ((double)n * (double)(n - 1));
    free(numbers);
    return true;
}

bool gb_rank_biased_overlap(const uint32_t *places, size_t count, size_t of, double p,
                            double *overlap, gb_status *status)
{
    size_t shorter = count < of ? count : of, longer = count < of ? of : count;
    uint32_t *joins =
        gb_alloc(longer + 1, sizeof *joins, status); /* items shared from a depth on */
    if (!joins)
        return false;
    for (size_t i = 0; i < count; i++)
        if (places[i] != GB_MAP_NONE)
            joins[(i > places[i] ? i : places[i]) + 1]++;
    double sum = 0, shared = 0, shared_shorter = 0, power = 1;
    for (size_t depth = 1; depth <= longer; depth++) {
        double d = (double)depth, s = (double)shorter;
        power *= p;
        shared += joins[depth];
        if (depth == shorter)
            shared_shorter = shared;
        sum += shared / d * power;
        if (depth > shorter && shorter)
            sum += shared_shorter * (d - s) / (s * d) * power;
    }
    free(joins);
    *overlap = NAN;
    if (shorter)
        *overlap =
            (1 - p) / p * sum +
            ((shared - shared_shorter) / (double)longer + shared_shorter / (double)shorter) * power;
    return true;
}

double gb_kendall_tau(const double *x, const double *y, size_t n)
{
    double right = 0, tied_x = 0, tied_y = 0, pairs = (double)n * (double)(n - 1) / 2;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            int a = (x[i] > x[j]) - (x[i] < x[j]), b = (y[i] > y[j]) - (y[i] < y[j]);
            right += a * b;
            tied_x += a == 0;
            tied_y += b == 0;
        }
    double range = sqrt((pairs - tied_x) * (pairs - tied_y));
    return n < 2 || range <= 0 ? NAN : right / range;
}

double gb_rmse(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return n ? sqrt(sum / (double)n) : NAN;
}

void gb_effects_compare(const gb_effect *original, const gb_effect *other, double *ratio,
                        double *relative)
{
    double effect = original->value - original->base, of_other = other->value - other->base;
    *ratio = effect == 0 ? NAN : of_other / effect;
    *relative = original->base == 0 || other->base == 0
                    ? NAN
                    : effect / original->base - of_other / other->base;
}
