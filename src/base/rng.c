/* Philox4x32-10 and the streams drawn from it.
 * J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 */
#include "gabbro/base.h"

#include <math.h>
#include <stdlib.h>

void gb_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

gb_rng gb_rng_make(uint64_t seed, gb_purpose purpose, uint32_t step, uint32_t row)
{
    return (gb_rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, step, row, (uint32_t)purpose},
        .used = 4,
    };
}

uint32_t gb_rng_u32(gb_rng *rng)
{
    if (rng->used >= 4) {
        gb_philox(rng->counter, rng->key, rng->block);
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

/* D. Lemire, "Fast random integer generation in an interval", TOMACS 2019: the high half of
 * u * bound, rejecting the few u that would favour some values. */
uint32_t gb_rng_below(gb_rng *rng, uint32_t bound)
{
    if (bound <= 1)
        return 0;
    uint32_t reject = (0u - bound) % bound; /* 2^32 mod bound */
    for (;;) {
        uint64_t product = (uint64_t)gb_rng_u32(rng) * bound;
        if ((uint32_t)product >= reject)
            return (uint32_t)(product >> 32);
    }
}

double gb_rng_uniform(gb_rng *rng)
{
    uint64_t high = gb_rng_u32(rng) >> 5;
    uint64_t low = gb_rng_u32(rng) >> 6;
    return (double)((high << 26) | low) * 0x1p-53;
}

/* The C library's log and cos differ in the last bit from one machine to the next, and initial
 * parameters must not. These use only operations that IEEE 754 rounds exactly. Error: some 1e-16.
 */

/* Natural logarithm of x > 0: x = m 2^e with m near 1, log m = 2 artanh((m - 1) / (m + 1)). */
static double exact_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2.0;
        exponent--;
    }
    double s = (m - 1.0) / (m + 1.0), square = s * s, sum = 0.0;
    for (int k = 25; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2.0 * s * sum + exponent * 0.69314718055994530942;
}

/* cos(2 pi u) for u in [0, 1): folded into an eighth of the circle, then the Taylor series. */
static double exact_cos_turn(double u)
{
    double sign = 1.0;
    if (u > 0.5)
        u = 1.0 - u;
    if (u > 0.25) {
        u = 0.5 - u;
        sign = -1.0;
    }
    bool sine = u > 0.125;
    double x = (sine ? 0.25 - u : u) * 6.28318530717958647693, square = x * x, sum = 1.0;
    for (int k = sine ? 19 : 18; k >= 2; k -= 2)
        sum = 1.0 - square / (k * (k - 1)) * sum;
    return sign * (sine ? x * sum : sum);
}

double gb_rng_normal(gb_rng *rng)
{
    double radius = sqrt(-2.0 * exact_log(1.0 - gb_rng_uniform(rng))); /* 1 - u is never 0 */
    return radius * exact_cos_turn(gb_rng_uniform(rng));
}

void gb_rng_shuffle(gb_rng *rng, uint32_t *items, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = gb_rng_below(rng, i);
        uint32_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

void gb_rng_order(gb_rng *rng, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    gb_rng_shuffle(rng, order, count);
}

bool *gb_rng_choose(gb_rng *rng, uint32_t count, uint32_t max_count, gb_status *status)
{
    uint32_t *order = gb_alloc(count, sizeof *order, status);
    bool *chosen = order ? gb_alloc(count, sizeof *chosen, status) : NULL;
    if (chosen) {
        gb_rng_order(rng, order, count);
        for (uint32_t i = 0; i < count && i < max_count; i++)
            chosen[order[i]] = true;
    }
    free(order);
    return chosen;
}

bool gb_epochs_make(gb_epochs *epochs, uint32_t count, uint64_t seed, uint32_t stream,
                    gb_status *status)
{
    *epochs = (gb_epochs){.count = count, .epoch = UINT32_MAX, .stream = stream, .seed = seed};
    return (epochs->order = gb_alloc(count, sizeof *epochs->order, status)) != NULL;
}

void gb_epochs_free(gb_epochs *epochs)
{
    free(epochs->order);
    epochs->order = NULL;
}

uint32_t gb_epochs_at(gb_epochs *epochs, uint64_t index)
{
    uint32_t epoch = (uint32_t)(index / epochs->count);
    if (epoch != epochs->epoch) {
        gb_rng rng = gb_rng_make(epochs->seed, GB_RNG_ORDER, epoch, epochs->stream);
        gb_rng_order(&rng, epochs->order, epochs->count);
        epochs->epoch = epoch;
    }
    return epochs->order[index % epochs->count];
}
