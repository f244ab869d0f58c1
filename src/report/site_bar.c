/* Intervals as drawings: in the cells of a table, and of claims one under the other, the forest
 * plot. Places are percents of the width, so that marks keep their shape at any width. */
#include "gabbro/page.h"
#include "private.h"
#include "site.h"

#include <math.h>
#include <string.h>

/* A value as a percent of a range, at most a bit outside. */
static double percent(double value, const double range[2])
{
    double at = 100 * (value - range[0]) / (range[1] - range[0]);
    return at < 0 ? 0 : at > 100 ? 100 : at;
}

static void line(gb_text *out, const char *class, double x1, double x2, double y1, double y2)
{
    gb_text_printf(out, "<line%s x1=\"%.1f%%\" x2=\"%.1f%%\" y1=\"%g\" y2=\"%g\"/>", class, x1, x2,
                   y1, y2);
}

/* What is at one place of the width. */
static void mark(gb_text *out, double at, const char *shape)
{
    gb_text_printf(out, "<svg x=\"%.1f%%\" overflow=\"visible\">%s</svg>", at, shape);
}

/* A stroke at the published value, where the range has it. */
static void published(gb_text *out, const site_bar *bar, double height)
{
    double at = percent(bar->published, bar->range);
    if (bar->published >= bar->range[0] && bar->published <= bar->range[1])
        line(out, " class=\"paper\"", at, at, 0, height);
}

/* The interval, with an arrow where it goes on beyond the range. */
static void interval(gb_text *out, const site_bar *bar, double y)
{
    char shape[96];
    if (isnan(bar->low) || isnan(bar->high))
        return;
    line(out, "", percent(bar->low, bar->range), percent(bar->high, bar->range), y, y);
    snprintf(shape, sizeof shape, "<path class=\"dot\" d=\"M-1 %gl7-4v8z\"/>", y);
    if (bar->low < bar->range[0])
        mark(out, 0, shape);
    snprintf(shape, sizeof shape, "<path class=\"dot\" d=\"M1 %gl-7-4v8z\"/>", y);
    if (bar->high > bar->range[1])
        mark(out, 100, shape);
}

void report_site_cell_bar(const site_bar *bar, gb_text *out)
{
    if (isnan(bar->mean) || isnan(bar->low) || !(bar->range[1] > bar->range[0]))
        return;
    double low = report_no_minus_zero(bar->low, bar->digits);
    double high = report_no_minus_zero(bar->high, bar->digits);
    gb_text_printf(out,
                   "<svg class=\"bar\" role=\"img\" aria-label=\"95%% interval %.*f to %.*f\">"
                   "<title>95%% interval %.*f to %.*f</title>",
                   bar->digits, low, bar->digits, high, bar->digits, low, bar->digits, high);
    line(out, " class=\"grid\"", 0, 100, 5, 5);
    interval(out, bar, 5);
    published(out, bar, 10);
    mark(out, percent(bar->mean, bar->range), "<circle class=\"dot\" r=\"3\" cy=\"5\"/>");
    gb_text_printf(out, "</svg>");
}

void report_site_claim_bar(const site_bar *bar, const char *verdict, gb_text *out)
{
    static const char *const shapes[][2] = {
        {"supported", "<circle class=\"dot\" r=\"5\" cy=\"11\"/>"},
        {"contradicted", "<path class=\"dot\" d=\"M-6 6h12l-6 11z\"/>"},
        {"undecided", "<rect class=\"hollow\" x=\"-4.5\" y=\"6.5\" width=\"9\" height=\"9\"/>"}};
    double zero = percent(0, bar->range);
    gb_text_printf(out, "<svg class=\"forest %s\" role=\"img\" aria-label=\"%s, ", verdict,
                   verdict);
    report_difference_text(out, "difference ", bar->mean, bar->digits, "");
    if (!isnan(bar->low)) {
        report_difference_text(out, ", interval ", bar->low, bar->digits, " to ");
        report_difference_text(out, "", bar->high, bar->digits, "");
    }
    if (!isnan(bar->published))
        report_difference_text(out, ", paper ", bar->published, bar->digits, "");
    gb_text_printf(out, "\">");
    line(out, " class=\"zero\"", zero, zero, 0, 22);
    if (bar->margin > 0 && -bar->margin > bar->range[0])
        line(out, " class=\"grid\"", percent(-bar->margin, bar->range),
             percent(-bar->margin, bar->range), 0, 22);
    published(out, bar, 22);
    interval(out, bar, 11);
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(shapes[i][0], verdict))
            mark(out, percent(bar->mean, bar->range), shapes[i][1]);
    gb_text_printf(out, "</svg>");
}

void report_site_axis(const double range[2], gb_text *out)
{
    static const char *const anchors[] = {"start", "middle", "middle", "middle", "end"};
    gb_text_printf(out, "<svg class=\"forest\" aria-hidden=\"true\">");
    for (int i = 0; i <= 4; i++) {
        double at = range[0] + (range[1] - range[0]) * i / 4;
        line(out, i == 2 ? " class=\"zero\"" : " class=\"grid\"", 25. * i, 25. * i, 17, 22);
        gb_text_printf(out, "<text x=\"%d%%\" y=\"13\" text-anchor=\"%s\">%s%g</text>", 25 * i,
                       anchors[i], at > 0 ? "+" : "", at);
    }
    gb_text_printf(out, "</svg>");
}

void report_site_range(double most, double range[2])
{
    double unit = pow(10, floor(log10(most > 0 ? most : 1)));
    double steps = (most > 0 ? most : 1) / unit;
    range[1] = unit * (steps <= 2 ? 2 : steps <= 4 ? 4 : steps <= 6 ? 6 : steps <= 8 ? 8 : 10);
    range[0] = -range[1];
}
