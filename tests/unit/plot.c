/* Plots: transforms, well-formed SVG with every point hoverable, the same bytes again, PNG. */
#include "gabbro/plot.h"
#include "scratch.h"
#include "xml_check.h"

#include <cglm/cglm.h>
#include <math.h>

static scratch here;
static void enter(void)
{
    here = scratch_enter();
}
static void leave(void)
{
    scratch_leave(&here);
}
TestSuite(plot, .init = enter, .fini = leave);

static const double xs[] = {1, 10, 100, 1000}, ys[] = {.1, .4, NAN, .3};
static const double low[] = {.05, .3, .2, .2}, high[] = {.2, .5, .3, .4};
static const char *const names[] = {"a & b", "\"c\"", "gone", "<d>"};

static gb_figure figure_of(gb_series series[2], gb_plot plots[2], gb_baseline *baseline)
{
    series[0] = (gb_series){.label = "bars",
                            .x = xs,
                            .y = ys,
                            .low = low,
                            .high = high,
                            .count = 4,
                            .line = true,
                            .mark = GB_MARK_CIRCLE};
    series[1] = (gb_series){.label = "named",
                            .x = xs,
                            .y = ys,
                            .names = names,
                            .count = 4,
                            .band = true,
                            .low = low,
                            .high = high,
                            .mark = GB_MARK_STAR,
                            .color = 1};
    *baseline = (gb_baseline){"a <base>line", .25, GB_PLOT_GREY};
    plots[0] = (gb_plot){.title = "One & only",
                         .x_label = "k",
                         .y_label = "share",
                         .series = series,
                         .series_count = 2,
                         .baselines = baseline,
                         .baseline_count = 1,
                         .log_x = true};
    plots[1] = plots[0];
    plots[1].bare = true;
    plots[1].log_x = false;
    return (gb_figure){.plots = plots, .count = 2};
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

Test(plot, svg_is_well_formed_and_the_same_again)
{
    gb_series series[2];
    gb_plot plots[2];
    gb_baseline baseline;
    gb_figure figure = figure_of(series, plots, &baseline);
    gb_text once = {0}, again = {0}, other = {0};
    gb_status status = {0};
    cr_assert(gb_figure_svg(&figure, "f1", &once, &status), "%s", status.what);
    cr_assert(gb_figure_svg(&figure, "f1", &again, &status), "%s", status.what);
    cr_assert(gb_figure_svg(&figure, "f2", &other, &status), "%s", status.what);
    cr_expect_str_eq(once.data, again.data);
    /* Two of them in one page: no id twice. */
    gb_map *ids = gb_map_create(NULL);
    xml_check(once.data, ids);
    xml_check(other.data, ids);
    gb_map_destroy(ids);
    /* Three points with a value, in two series and two panels. */
    cr_expect_eq(count_of(once.data, "<circle "), 12);
    cr_expect(strstr(once.data, "<title>named: a &amp; b</title>"));
    cr_expect(strstr(once.data, "<title>bars, 10: 0.4</title>"));
    cr_expect(strstr(once.data, ">One &amp; only</title>"));
    /* Every reference goes to an id that is there. */
    for (const char *at = once.data; (at = strstr(at, "href=\"#"));) {
        char id[64];
        at += strlen("href=\"#");
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at, "\""), at);
        cr_expect(strstr(once.data, id), "%s", id);
    }
    gb_text_free(&once);
    gb_text_free(&again);
    gb_text_free(&other);
}

Test(plot, files)
{
    gb_series series[2];
    gb_plot plots[2];
    gb_baseline baseline;
    gb_figure figure = figure_of(series, plots, &baseline);
    gb_status status = {0};
    cr_assert(gb_figure_write_svg(&figure, "a.svg", &status), "%s", status.what);
    cr_assert(gb_figure_files(&figure, ".", "b", NULL, &status), "%s", status.what);
    size_t length;
    char *svg = gb_read_file("a.svg", NULL, &status),
         *png = gb_read_file("b.png", &length, &status);
    xml_check_alone(svg);
    cr_expect_eq(memcmp(svg, "<?xml", 5), 0);
    cr_expect_eq(memcmp(png, "\x89PNG\r\n\x1a\n", 8), 0);
    /* Width in pixels: two panels of 460 pt at 2 pixels a pt. */
    cr_expect_eq((unsigned char)png[18] * 256 + (unsigned char)png[19], 2 * 460 * 2);
    free(svg);
    free(png);
    cr_expect_not(gb_figure_write_svg(&figure, "none/a.svg", &status));
    cr_expect_eq(status.code, GB_DATA);
}

/* Nothing to draw, one point, one value for all: a plot all the same. */
Test(plot, poor_data)
{
    static const double nothing[] = {NAN, NAN}, same[] = {3, 3};
    for (int i = 0; i < 4; i++) {
        gb_series series = {.x = i == 1 ? nothing : same,
                            .y = i == 2 ? nothing : same,
                            .count = i ? 2 : 0,
                            .mark = GB_MARK_SQUARE,
                            .line = true};
        gb_plot plot = {.series = &series, .series_count = 1, .log_x = i == 3};
        gb_figure figure = {.plots = &plot, .count = 1};
        gb_text out = {0};
        gb_status status = {0};
        cr_assert(gb_figure_svg(&figure, "x", &out, &status), "%s", status.what);
        xml_check_alone(out.data);
        cr_expect_not(strstr(out.data, "nan") || strstr(out.data, "inf"));
        gb_text_free(&out);
    }
}

static size_t glyphs(const gb_plot *plot)
{
    gb_figure figure = {.plots = plot, .count = 1};
    gb_text out = {0};
    size_t count = 0;
    cr_assert(gb_figure_svg(&figure, "x", &out, NULL));
    for (const char *at = out.data; (at = strstr(at, "<use ")); at++)
        count++;
    gb_text_free(&out);
    return count;
}

Test(plot, a_narrow_logarithmic_axis_has_numbers_too)
{
    static const double x[] = {300, 303}, y[] = {1, 2};
    gb_series series = {.x = x, .y = y, .count = 2, .line = true};
    gb_plot linear = {.series = &series, .series_count = 1}, logarithmic = linear;
    logarithmic.log_x = true;
    cr_expect_eq(glyphs(&logarithmic), glyphs(&linear));
}

Test(plot, the_legend_names_what_is_drawn)
{
    gb_series series[2], more[3];
    gb_plot plots[2];
    gb_baseline baseline;
    gb_figure figure = figure_of(series, plots, &baseline);
    gb_text without = {0}, with = {0};
    gb_status status = {0};
    cr_assert(gb_figure_svg(&figure, "x", &without, &status), "%s", status.what);
    memcpy(more, series, sizeof series);
    more[2] = (gb_series){.label = "no point", .x = xs, .y = ys};
    plots[0].series = more;
    plots[0].series_count = 3;
    cr_assert(gb_figure_svg(&figure, "x", &with, &status), "%s", status.what);
    cr_expect_str_eq(with.data, without.data);
    gb_text_free(&without);
    gb_text_free(&with);
}

static void page_of(float m[4][4], double x, double y, double *px, double *py)
{
    vec4 out;
    mat4 matrix;
    memcpy(matrix, m, sizeof matrix);
    glm_mat4_mulv(matrix, (vec4){(float)x, (float)y, 0, 1}, out);
    *px = (double)out[0];
    *py = (double)out[1];
}

Test(plot, data_to_page)
{
    const double box[4] = {30, 20, 400, 200};
    float m[4][4];
    double x, y;
    gb_plot_matrix(box, (gb_range){-1, 3}, (gb_range){10, 20}, m);
    page_of(m, -1, 10, &x, &y); /* left, below */
    cr_expect_float_eq(x, 30, 1e-3);
    cr_expect_float_eq(y, 220, 1e-3);
    page_of(m, 3, 20, &x, &y); /* right, above */
    cr_expect_float_eq(x, 430, 1e-3);
    cr_expect_float_eq(y, 20, 1e-3);
    page_of(m, 0, 12.5, &x, &y);
    cr_expect_float_eq(x, 130, 1e-3);
    cr_expect_float_eq(y, 170, 1e-3);
}

Test(plot, turning)
{
    /* Six corners of an octahedron around (1, 2, 3). */
    double points[6][3], x[6], y[6], depth[6];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++)
            points[i][k] = k + 1 + (i / 2 == k ? (i % 2 ? -2 : 2) : 0);
    gb_plot_rotation(points, 6, 0, 0, x, y, depth);
    cr_expect(x[0] > 0 && x[1] < 0 && fabs(y[0]) < 1e-6, "x goes right");
    cr_expect(y[2] > 0 && y[3] < 0 && fabs(x[2]) < 1e-6, "y goes up");
    cr_expect(depth[4] < depth[5], "z comes nearer");
    cr_expect_float_eq(x[0], -x[1], 1e-5);
    cr_expect_float_eq(depth[0], 6, 1e-5); /* three radii */
    double before = x[0];
    gb_plot_rotation(points, 6, 90, 0, x, y, depth);
    cr_expect_float_eq(fabs(x[4]), before, 1e-5); /* z is now where x was */
    cr_expect_lt(depth[0], depth[1]);
    for (double turn = 0; turn < 360; turn += 15) {
        gb_plot_rotation(points, 6, turn, 25, x, y, depth);
        for (int i = 0; i < 6; i++)
            cr_expect(fabs(x[i]) <= 1 && fabs(y[i]) <= 1 && depth[i] > 0, "in sight");
    }
    double one[1][3] = {{5, 5, 5}};
    gb_plot_rotation(one, 1, 10, 10, x, y, depth);
    cr_expect(fabs(x[0]) < 1e-6 && fabs(y[0]) < 1e-6);
}
