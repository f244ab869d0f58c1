/* Principal components of vectors. */
#include "gabbro/figures.h"

#include <math.h>
#include <stdlib.h>

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
static bool jacobi(double *a, double *v, uint32_t n, gb_status *status)
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
            return true;
        for (uint32_t p = 0; p < n; p++) {
            if (!gb_not_interrupted("principal components", status))
                return false;
            for (uint32_t q = p + 1; q < n; q++)
                if (fabs(a[(size_t)p * n + q]) > 1e-300)
                    rotate(a, v, n, p, q);
        }
    }
    return true;
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
    bool ok = a && v && taken && gram(x, count, width, a, status) && jacobi(a, v, count, status);
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
