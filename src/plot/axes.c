/* Ranges, matrices and ticks of plots. */
#include "axes.h"

#include <cglm/cglm.h>
#include <math.h>
#include <string.h>

void gb_plot_matrix(const double box[4], gb_range x, gb_range y, float matrix[4][4])
{
    mat4 m;
    glm_mat4_identity(m);
    glm_translate(m, (vec3){(float)box[0], (float)(box[1] + box[3]), 0});
    glm_scale(m,
              (vec3){(float)(box[2] / (x.high - x.low)), (float)(-box[3] / (y.high - y.low)), 1});
    glm_translate(m, (vec3){(float)-x.low, (float)-y.low, 0});
    memcpy(matrix, m, sizeof m);
}

void gb_plot_rotation(const double (*points)[3], size_t count, double turn, double tilt, double *x,
                      double *y, double *depth)
{
    vec3 middle = {0}, eye;
    float radius = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            middle[k] += (float)points[i][k] / (float)count;
    for (size_t i = 0; i < count; i++) {
        vec3 p = {(float)points[i][0], (float)points[i][1], (float)points[i][2]};
        radius = fmaxf(radius, glm_vec3_distance(p, middle));
    }
    if (!(radius > 0))
        radius = 1;
    float around = glm_rad((float)turn), up = glm_rad((float)tilt), far = 3 * radius;
    glm_vec3_copy(
        (vec3){cosf(up) * sinf(around) * far, sinf(up) * far, cosf(up) * cosf(around) * far}, eye);
    glm_vec3_add(eye, middle, eye);
    mat4 view, lens, camera;
    glm_lookat(eye, middle, (vec3){0, 1, 0}, view);
    /* Just wide enough for the ball that holds all points. */
    glm_perspective(2 * asinf(1.0f / 3), 1, 0.5f * radius, 6 * radius, lens);
    glm_mat4_mul(lens, view, camera);
    for (size_t i = 0; i < count; i++) {
        vec4 p = {(float)points[i][0], (float)points[i][1], (float)points[i][2], 1}, seen;
        glm_mat4_mulv(camera, p, seen);
        x[i] = seen[0] / seen[3];
        y[i] = seen[1] / seen[3];
        depth[i] = seen[3];
    }
}

static void widen(gb_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static gb_range settled(gb_range range, double margin)
{
    if (!(range.low <= range.high))
        return (gb_range){0, 1};
    double size = range.high - range.low;
    if (!(size > 0))
        size = range.low != 0 ? fabs(range.low) : 1;
    return (gb_range){range.low - margin * size, range.high + margin * size};
}

void plot_axes_ranges(const gb_plot *plot, gb_range *x, gb_range *y)
{
    gb_range rx = {INFINITY, -INFINITY}, ry = rx;
    for (size_t s = 0; s < plot->series_count; s++) {
        const gb_series *series = &plot->series[s];
        for (size_t i = 0; i < series->count; i++) {
            widen(&rx, plot_axes_x(plot, series->x[i]));
            widen(&ry, series->y[i]);
            if (series->low)
                widen(&ry, series->low[i]);
            if (series->high)
                widen(&ry, series->high[i]);
        }
    }
    for (size_t i = 0; i < plot->baseline_count; i++)
        widen(&ry, plot->baselines[i].value);
    bool given_x = plot->x.low < plot->x.high, given_y = plot->y.low < plot->y.high;
    *x = given_x ? (gb_range){plot_axes_x(plot, plot->x.low), plot_axes_x(plot, plot->x.high)}
                 : settled(rx, plot->bare ? 0.06 : 0.02);
    *y = given_y ? plot->y : settled(ry, plot->bare ? 0.06 : 0.05);
}

void plot_axes_equal(const double box[4], gb_range *x, gb_range *y)
{
    double unit_x = (x->high - x->low) / box[2], unit_y = (y->high - y->low) / box[3];
    gb_range *narrow = unit_x < unit_y ? x : y;
    double wanted = unit_x < unit_y ? unit_y * box[2] : unit_x * box[3];
    double middle = (narrow->low + narrow->high) / 2;
    *narrow = (gb_range){middle - wanted / 2, middle + wanted / 2};
}

double plot_axes_x(const gb_plot *plot, double x)
{
    if (!plot->log_x)
        return x;
    return x > 0 ? log10(x) : NAN;
}

/* 1, 2 or 5 times a power of ten, so that there are about `most` steps. */
static double step_of(double size, size_t most)
{
    double raw = size / (double)most, power = pow(10, floor(log10(raw))), rest = raw / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

static size_t log_ticks(gb_range range, tick ticks[MOST_TICKS])
{
    size_t count = 0;
    bool fine = range.high - range.low < 2.2;
    static const int digits[] = {1, 2, 5};
    for (int decade = (int)floor(range.low); decade <= (int)ceil(range.high); decade++)
        for (size_t d = 0; d < (fine ? 3 : 1); d++) {
            double value = digits[d] * pow(10, decade), at = log10(value);
            if (at < range.low - 1e-9 || at > range.high + 1e-9 || count == MOST_TICKS)
                continue;
            ticks[count].at = at;
            snprintf(ticks[count++].label, sizeof ticks->label, "%g", value);
        }
    return count;
}

static size_t linear_ticks(gb_range range, size_t wanted, tick ticks[MOST_TICKS])
{
    double step = step_of(range.high - range.low, wanted);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    size_t count = 0;
    for (double n = ceil(range.low / step - 1e-9); n * step <= range.high + step * 1e-9; n++) {
        if (count == MOST_TICKS)
            break;
        ticks[count].at = n * step;
        snprintf(ticks[count++].label, sizeof ticks->label, "%.*f", decimals,
                 n == 0 ? 0.0 : n * step);
    }
    return count;
}

size_t plot_axes_ticks(gb_range range, bool logarithmic, size_t wanted, tick ticks[MOST_TICKS])
{
    size_t count = logarithmic ? log_ticks(range, ticks) : 0;
    if (count >= 2)
        return count;
    if (!logarithmic)
        return linear_ticks(range, wanted, ticks);
    /* A range so narrow that it has no round numbers of a logarithmic axis. */
    count = linear_ticks((gb_range){pow(10, range.low), pow(10, range.high)}, wanted, ticks);
    for (size_t i = 0; i < count; i++)
        ticks[i].at = log10(ticks[i].at);
    return count;
}
