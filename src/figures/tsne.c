/* Exact t-SNE. */
#include "gabbro/figures.h"

#include <math.h>
#include <stdlib.h>

/* The state of the descent; n points in the plane. */
typedef struct tsne {
    uint32_t n;       /* points */
    double *p;        /* [n, n] joint probabilities of the data */
    double *q;        /* [n, n] kernel of the plane, 1 / (1 + d^2) */
    double *y;        /* [n, 2] places */
    double *velocity; /* [n, 2] */
    double *gains;    /* [n, 2] */
} tsne;

static void distances(const float *x, uint32_t n, uint32_t width, double *out)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < width; k++) {
                double d = (double)x[(size_t)i * width + k] - (double)x[(size_t)j * width + k];
                sum += d * d;
            }
            out[(size_t)i * n + j] = sum;
        }
}

/* Conditional probabilities of point i from squared distances in row[], at precision beta; returns
 * their entropy (nats). */
static double conditional(const double *squared, uint32_t n, uint32_t i, double beta, double *row)
{
    double sum = 0, weighted = 0, nearest = INFINITY;
    for (uint32_t j = 0; j < n; j++)
        if (j != i)
            nearest = fmin(nearest, squared[j]);
    for (uint32_t j = 0; j < n; j++) {
        row[j] = j == i ? 0 : exp(-beta * (squared[j] - nearest));
        sum += row[j];
        weighted += row[j] * (squared[j] - nearest);
    }
    for (uint32_t j = 0; j < n; j++)
        row[j] /= sum;
    return log(sum) + beta * weighted / sum;
}

/* Bisection of the precision until the entropy is that of `perplexity` equal neighbours. */
static void neighbours(const double *squared, uint32_t n, uint32_t i, double perplexity,
                       double *row)
{
    double low = 0, high = INFINITY, beta = 1, mean = 0;
    for (uint32_t j = 0; j < n; j++)
        mean += squared[j] / n;
    if (mean > 0)
        beta = 1 / mean;
    for (int round = 0; round < 200; round++) {
        double entropy = conditional(squared, n, i, beta, row), wrong = entropy - log(perplexity);
        if (fabs(wrong) < 1e-9)
            break;
        if (wrong > 0)
            low = beta;
        else
            high = beta;
        beta = isinf(high) ? beta * 2 : (low + high) / 2;
        if (!(beta < 1e300))
            break; /* all neighbours at one distance */
    }
}

static bool similarities(const float *x, uint32_t width, double perplexity, tsne *t,
                         gb_status *status)
{
    uint32_t n = t->n;
    double *squared = gb_alloc((size_t)n * n, sizeof *squared, status);
    double *row = gb_alloc(n, sizeof *row, status);
    bool ok = squared && row;
    if (ok)
        distances(x, n, width, squared);
    for (uint32_t i = 0; ok && i < n && (ok = gb_not_interrupted("t-SNE", status)); i++) {
        neighbours(squared + (size_t)i * n, n, i, perplexity, row);
        for (uint32_t j = 0; j < n; j++) {
            t->p[(size_t)i * n + j] += row[j] / (2.0 * n);
            t->p[(size_t)j * n + i] += row[j] / (2.0 * n);
        }
    }
    for (size_t i = 0; ok && i < (size_t)n * n; i++)
        t->p[i] = fmax(t->p[i], 1e-12);
    free(squared);
    free(row);
    return ok;
}

static double kernel(tsne *t)
{
    double sum = 0;
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t j = 0; j < t->n; j++) {
            double dx = t->y[2 * i] - t->y[2 * j], dy = t->y[2 * i + 1] - t->y[2 * j + 1];
            double value = i == j ? 0 : 1 / (1 + dx * dx + dy * dy);
            t->q[(size_t)i * t->n + j] = value;
            sum += value;
        }
    return sum;
}

static void descend(tsne *t, double exaggeration, double momentum, double rate)
{
    uint32_t n = t->n;
    double sum = kernel(t), middle[2] = {0, 0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            double gradient = 0;
            for (uint32_t j = 0; j < n; j++) {
                double q = t->q[(size_t)i * n + j];
                gradient += 4 * (exaggeration * t->p[(size_t)i * n + j] - q / sum) * q *
                            (t->y[2 * i + k] - t->y[2 * j + k]);
            }
            double *velocity = &t->velocity[2 * i + k], *gain = &t->gains[2 * i + k];
            *gain = (gradient > 0) == (*velocity > 0) ? *gain * .8 : *gain + .2;
            *gain = fmax(*gain, .01);
            *velocity = momentum * *velocity - rate * *gain * gradient;
        }
    for (uint32_t i = 0; i < 2 * n; i++) {
        t->y[i] += t->velocity[i];
        middle[i % 2] += t->y[i] / n;
    }
    for (uint32_t i = 0; i < 2 * n; i++)
        t->y[i] -= middle[i % 2];
}

static double divergence_of(tsne *t)
{
    double sum = kernel(t), total = 0;
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t j = 0; j < t->n; j++)
            if (i != j)
                total +=
                    t->p[(size_t)i * t->n + j] *
                    log(t->p[(size_t)i * t->n + j] / fmax(t->q[(size_t)i * t->n + j] / sum, 1e-12));
    return total;
}

bool gb_tsne(const float *x, uint32_t count, uint32_t width, const gb_tsne_params *params,
             double *out, double *divergence, gb_status *status)
{
    enum { EXAGGERATED = 250 };
    if (count < 4)
        return gb_fail(status, GB_USAGE, NULL, "take more candidates", "t-SNE of %u points", count);
    tsne t = {.n = count,
              .p = gb_alloc((size_t)count * count, sizeof *t.p, status),
              .q = gb_alloc((size_t)count * count, sizeof *t.q, status),
              .y = out,
              .velocity = gb_alloc(2 * (size_t)count, sizeof *t.velocity, status),
              .gains = gb_alloc(2 * (size_t)count, sizeof *t.gains, status)};
    double perplexity = fmin(params->perplexity, (count - 1) / 3.0);
    double rate = fmax(count / 48.0, 50);
    bool ok = t.p && t.q && t.velocity && t.gains && similarities(x, width, perplexity, &t, status);
    for (uint32_t i = 0; ok && i < count; i++) {
        gb_rng rng = gb_rng_make(params->seed, GB_RNG_INIT, 0, i);
        for (uint32_t k = 0; k < 2; k++) {
            t.y[2 * i + k] = 1e-4 * gb_rng_normal(&rng);
            t.gains[2 * i + k] = 1;
        }
    }
    for (uint32_t step = 0; ok && step < params->iterations; step++) {
        bool early = step < EXAGGERATED;
        descend(&t, early ? 12 : 1, early ? .5 : .8, rate);
        ok = gb_not_interrupted("t-SNE", status);
    }
    if (ok && divergence)
        *divergence = divergence_of(&t);
    free(t.p);
    free(t.q);
    free(t.velocity);
    free(t.gains);
    return ok;
}
