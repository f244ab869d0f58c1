/* Projections of vectors: principal components, exact t-SNE. */
#include "gabbro/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- principal components ---- */

/* Gram matrix of the centred rows [n, n]. */
static bool gram(const float *x, uint32_t n, uint32_t width, double *g, gb_status *status)
{
    double *mean = gb_alloc(width, sizeof *mean, status);
    if (!mean)
        return false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < width; k++)
            mean[k] += (double)x[(size_t)i * width + k] / n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < width; k++)
                sum += ((double)x[(size_t)i * width + k] - mean[k]) *
                       ((double)x[(size_t)j * width + k] - mean[k]);
            g[(size_t)i * n + j] = g[(size_t)j * n + i] = sum;
        }
    free(mean);
    return true;
}

/* One rotation of Jacobi's method that makes a[p][q] zero; v collects the rotations. */
static void rotate(double *a, double *v, uint32_t n, uint32_t p, uint32_t q)
{
    double apq = a[(size_t)p * n + q];
    double theta = (a[(size_t)q * n + q] - a[(size_t)p * n + p]) / (2 * apq);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (uint32_t k = 0; k < n; k++) {
        double kp = a[(size_t)k * n + p], kq = a[(size_t)k * n + q];
        a[(size_t)k * n + p] = c * kp - s * kq;
        a[(size_t)k * n + q] = s * kp + c * kq;
    }
    for (uint32_t k = 0; k < n; k++) {
        double pk = a[(size_t)p * n + k], qk = a[(size_t)q * n + k];
        a[(size_t)p * n + k] = c * pk - s * qk;
        a[(size_t)q * n + k] = s * pk + c * qk;
        double kp = v[(size_t)k * n + p], kq = v[(size_t)k * n + q];
        v[(size_t)k * n + p] = c * kp - s * kq;
        v[(size_t)k * n + q] = s * kp + c * kq;
    }
}

/* Eigenvalues end on the diagonal of a, eigenvectors in the columns of v. */
static void jacobi(double *a, double *v, uint32_t n)
{
    enum { MOST_SWEEPS = 60 };
    double size = 0;
    for (uint32_t i = 0; i < n; i++) {
        v[(size_t)i * n + i] = 1;
        size += fabs(a[(size_t)i * n + i]);
    }
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double rest = 0;
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t q = p + 1; q < n; q++)
                rest += fabs(a[(size_t)p * n + q]);
        if (!(rest > 1e-14 * size))
            return;
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t q = p + 1; q < n; q++)
                if (fabs(a[(size_t)p * n + q]) > 1e-300)
                    rotate(a, v, n, p, q);
    }
}

/* Score of one component: the eigenvector times the root of its value, the largest positive. */
static void component(const double *a, const double *v, uint32_t n, uint32_t index, uint32_t dims,
                      uint32_t dim, double *out)
{
    double value = a[(size_t)index * n + index], root = value > 0 ? sqrt(value) : 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double score = v[(size_t)i * n + index] * root;
        out[(size_t)i * dims + dim] = score;
        /* Clearly larger, so that rounding of equal sizes does not choose the sign. */
        if (fabs(score) > fabs(most) * (1 + 1e-9))
            most = score;
    }
    for (uint32_t i = 0; i < n && most < 0; i++)
        out[(size_t)i * dims + dim] *= -1;
}

bool gb_pca(const float *x, uint32_t count, uint32_t width, uint32_t dims, double *out,
            double *shares, gb_status *status)
{
    double *a = gb_alloc((size_t)count * count, sizeof *a, status);
    double *v = gb_alloc((size_t)count * count, sizeof *v, status), total = 0;
    bool *taken = gb_alloc(count, sizeof *taken, status);
    bool ok = a && v && taken && gram(x, count, width, a, status);
    if (ok)
        jacobi(a, v, count);
    for (uint32_t i = 0; ok && i < count; i++)
        total += a[(size_t)i * count + i];
    for (uint32_t d = 0; ok && d < dims; d++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < count; i++)
            if (!taken[i] &&
                (best == UINT32_MAX || a[(size_t)i * count + i] > a[(size_t)best * count + best]))
                best = i;
        if (best == UINT32_MAX) { /* fewer points than components */
            for (uint32_t i = 0; i < count; i++)
                out[(size_t)i * dims + d] = 0;
        } else {
            component(a, v, count, best, dims, d, out);
            taken[best] = true;
        }
        if (shares)
            shares[d] =
                best == UINT32_MAX || !(total > 0) ? 0 : a[(size_t)best * count + best] / total;
    }
    free(a);
    free(v);
    free(taken);
    return ok;
}

/* ---- t-SNE ---- */

/* Everything of a run; n points in the plane. */
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
    for (uint32_t i = 0; ok && i < n; i++) {
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
    double perplexity = fmin(fmax(params->perplexity, 1.01), (count - 1) / 3.0);
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
    }
    if (ok && divergence)
        *divergence = divergence_of(&t);
    free(t.p);
    free(t.q);
    free(t.velocity);
    free(t.gains);
    return ok;
}
