/* Projections: principal components of known shapes, t-SNE that keeps clusters apart and is the
 * same every time. */
#include "gabbro/figures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Three clouds in 8 dimensions, 20 points each. */
enum { CLOUDS = 3, EACH = 20, N = CLOUDS * EACH, WIDTH = 8 };

static void clouds(float x[N * WIDTH])
{
    for (uint32_t i = 0; i < N; i++) {
        gb_rng rng = gb_rng_make(11, GB_RNG_TEST, i, 0);
        for (uint32_t k = 0; k < WIDTH; k++)
            x[i * WIDTH + k] = (float)gb_rng_normal(&rng) + (k == i / EACH ? 10 : 0);
    }
}

Test(tsne, components_of_a_line_and_a_plane)
{
    /* Points (3 a, 4 a, b) + shift: variance mostly along (3, 4, 0). */
    static const float a[] = {-2, -1, 0, 1, 2}, b[] = {.1f, -.2f, .2f, -.2f, .1f};
    float x[5 * 3];
    double out[5 * 3], shares[3];
    for (int i = 0; i < 5; i++) {
        x[3 * i] = 3 * a[i] + 7;
        x[3 * i + 1] = 4 * a[i] - 5;
        x[3 * i + 2] = b[i];
    }
    cr_assert(gb_pca(x, 5, 3, 3, out, shares, NULL));
    double sign = out[0] < 0 ? 1 : -1, along = 0, across = 0;
    for (int i = 0; i < 5; i++) {
        cr_expect_float_eq(out[3 * i], sign * 5 * (double)a[i], 1e-6);
        cr_expect_float_eq(fabs(out[3 * i + 1]), fabs((double)b[i]), 1e-6);
        cr_expect_float_eq(out[3 * i + 2], 0, 1e-6);
        along += 25 * (double)(a[i] * a[i]);
        across += (double)(b[i] * b[i]);
    }
    cr_expect_float_eq(shares[0], along / (along + across), 1e-9);
    cr_expect_float_eq(shares[0] + shares[1], 1, 1e-9);
}

Test(tsne, components_keep_distances_and_do_not_correlate)
{
    float x[N * WIDTH];
    static double out[N * WIDTH];
    double shares[WIDTH], sum = 0;
    clouds(x);
    cr_assert(gb_pca(x, N, WIDTH, WIDTH, out, shares, NULL));
    for (uint32_t k = 0; k < WIDTH; k++) {
        sum += shares[k];
        cr_expect(k == 0 || shares[k] <= shares[k - 1]);
        for (uint32_t l = 0; l < k; l++) {
            double product = 0;
            for (uint32_t i = 0; i < N; i++)
                product += out[i * WIDTH + k] * out[i * WIDTH + l];
            cr_expect_float_eq(product, 0, 1e-6);
        }
    }
    cr_expect_float_eq(sum, 1, 1e-9);
    for (uint32_t i = 1; i < N; i += 7) {
        double before = 0, after = 0;
        for (uint32_t k = 0; k < WIDTH; k++) {
            before += pow((double)x[k] - (double)x[i * WIDTH + k], 2);
            after += pow(out[k] - out[i * WIDTH + k], 2);
        }
        cr_expect_float_eq(after, before, 1e-5);
    }
}

Test(tsne, components_of_little)
{
    const float same[6] = {1, 2, 1, 2, 1, 2};
    double out[9], shares[3];
    cr_assert(gb_pca(same, 3, 2, 3, out, shares, NULL));
    for (int i = 0; i < 9; i++)
        cr_expect_float_eq(out[i], 0, 1e-12);
    cr_assert(gb_pca(same, 1, 2, 2, out, shares, NULL));
    cr_expect(out[0] == 0 && shares[0] == 0 && shares[1] == 0);
}

Test(tsne, keeps_clouds_apart)
{
    float x[N * WIDTH];
    double y[N * 2], again[N * 2], divergence, start;
    gb_tsne_params params = GB_TSNE_DEFAULTS;
    params.perplexity = 10;
    clouds(x);
    cr_assert(gb_tsne(x, N, WIDTH, &params, y, &divergence, NULL));
    cr_assert(gb_tsne(x, N, WIDTH, &params, again, NULL, NULL));
    cr_expect_eq(memcmp(y, again, sizeof y), 0, "the same bits");
    params.seed++;
    cr_assert(gb_tsne(x, N, WIDTH, &params, again, NULL, NULL));
    cr_expect_neq(memcmp(y, again, sizeof y), 0, "another start");
    params.iterations = 0;
    cr_assert(gb_tsne(x, N, WIDTH, &params, again, &start, NULL));
    cr_expect(divergence > 0 && divergence < start / 2, "%g of %g", divergence, start);
    /* The nearest neighbour in the plane is of one's own cloud. */
    double middle[2] = {0, 0};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t nearest = 0;
        double best = INFINITY;
        for (uint32_t j = 0; j < N; j++) {
            double d = pow(y[2 * i] - y[2 * j], 2) + pow(y[2 * i + 1] - y[2 * j + 1], 2);
            if (j != i && d < best) {
                best = d;
                nearest = j;
            }
        }
        cr_expect_eq(nearest / EACH, i / EACH);
        middle[0] += y[2 * i];
        middle[1] += y[2 * i + 1];
    }
    cr_expect(fabs(middle[0]) < 1e-6 && fabs(middle[1]) < 1e-6, "centred");
}

Test(tsne, of_little)
{
    float x[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    double y[8], divergence;
    gb_tsne_params params = GB_TSNE_DEFAULTS;
    gb_status status = {0};
    cr_expect_not(gb_tsne(x, 3, 2, &params, y, NULL, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_assert(gb_tsne(x, 4, 2, &params, y, &divergence, NULL)); /* all at one place */
    for (int i = 0; i < 8; i++)
        cr_expect(isfinite(y[i]));
}
