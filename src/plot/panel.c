/* Drawing of a panel and of the legend. */
#include "private.h"
#include "gabbro/page.h"
#include "axes.h"

#include <math.h>
#include <string.h>

enum { SMALL = 10, NORMAL = 11, LARGE = 12 }; /* pt */

/* Okabe and Ito's colours (2008) without the yellow, which is pale on white. */
static const double colors[GB_PLOT_COLORS][3] = {
    {0, .447, .698}, {.835, .369, 0}, {0, .620, .451},    {.8, .475, .655},
    {.1, .1, .1},    {.902, .624, 0}, {.337, .706, .914},
};

/* A panel being drawn. */
typedef struct panel {
    cairo_t *cr;         /* where */
    const gb_plot *plot; /* what */
    double box[4];       /* of the data */
    gb_range x, y;       /* shown */
    float matrix[4][4];  /* data to page */
    gb_text *hover;      /* or NULL */
} panel;

static void set_color(cairo_t *cr, int color, double alpha)
{
    static const double grey[] = {.55, .55, .55};
    const double *c = color >= 0 && color < GB_PLOT_COLORS ? colors[color] : grey;
    cairo_set_source_rgba(cr, c[0], c[1], c[2], alpha);
}

static void ink(cairo_t *cr, double dark)
{
    cairo_set_source_rgb(cr, 1 - dark, 1 - dark, 1 - dark);
}

void gb_plot_font(cairo_t *cr, double size, bool bold)
{
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, size);
}

double gb_plot_width(cairo_t *cr, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cr, text, &extents);
    return extents.x_advance;
}

/* Anchored at x by `align` (0 left, .5 middle, 1 right) on the baseline y. */
static void write_text(cairo_t *cr, double x, double y, double align, const char *text)
{
    cairo_move_to(cr, x - align * gb_plot_width(cr, text), y);
    cairo_show_text(cr, text);
    cairo_new_path(cr);
}

static void draw_mark(cairo_t *cr, gb_mark mark, double x, double y, double size)
{
    static const int corners[] = {0, 0, 4, 3, 4, 10};
    if (mark == GB_MARK_NONE)
        return;
    cairo_new_path(cr);
    if (mark == GB_MARK_CIRCLE) {
        cairo_arc(cr, x, y, size, 0, 2 * M_PI);
    } else {
        double start = mark == GB_MARK_SQUARE ? M_PI / 4 : -M_PI / 2;
        for (int i = 0; i < corners[mark]; i++) {
            double angle = start + 2 * M_PI * i / corners[mark];
            double radius = size * (mark == GB_MARK_STAR ? (i % 2 ? .65 : 1.6) : 1.25);
            cairo_line_to(cr, x + radius * cos(angle), y + radius * sin(angle));
        }
        cairo_close_path(cr);
    }
    cairo_fill_preserve(cr);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_set_line_width(cr, .6);
    cairo_stroke(cr);
}

static void set_dash(cairo_t *cr, const gb_series *series)
{
    static const double dashes[] = {5, 3};
    cairo_set_dash(cr, dashes, series->dashed ? 2 : 0, 0);
}

/* Place of a point; false where there is none. */
static bool place(const panel *p, double x, double y, double *px, double *py)
{
    double at = plot_axes_x(p->plot, x);
    if (!isfinite(at) || !isfinite(y))
        return false;
    *px = (double)p->matrix[0][0] * at + (double)p->matrix[3][0];
    *py = (double)p->matrix[1][1] * y + (double)p->matrix[3][1];
    return true;
}

/* ---- axes ---- */

static void ticks_x(const panel *p)
{
    tick ticks[MOST_TICKS];
    size_t count = plot_axes_ticks(p->x, p->plot->log_x, (size_t)(p->box[2] / 55) + 1, ticks);
    double bottom = p->box[1] + p->box[3];
    for (size_t i = 0; i < count; i++) {
        double at = (double)p->matrix[0][0] * ticks[i].at + (double)p->matrix[3][0];
        ink(p->cr, .35);
        cairo_move_to(p->cr, at, bottom);
        cairo_line_to(p->cr, at, bottom + 4);
        cairo_stroke(p->cr);
        ink(p->cr, .75);
        write_text(p->cr, at, bottom + 15, .5, ticks[i].label);
    }
}

static void ticks_y(const panel *p)
{
    tick ticks[MOST_TICKS];
    size_t count = plot_axes_ticks(p->y, false, (size_t)(p->box[3] / 40) + 1, ticks);
    for (size_t i = 0; i < count; i++) {
        double at = (double)p->matrix[1][1] * ticks[i].at + (double)p->matrix[3][1];
        ink(p->cr, .12);
        cairo_move_to(p->cr, p->box[0], at);
        cairo_line_to(p->cr, p->box[0] + p->box[2], at);
        cairo_stroke(p->cr);
        ink(p->cr, .75);
        write_text(p->cr, p->box[0] - 6, at + 3.5, 1, ticks[i].label);
    }
}

static double tick_width(const panel *p)
{
    tick ticks[MOST_TICKS];
    double widest = 0;
    gb_plot_font(p->cr, SMALL, false);
    size_t count = plot_axes_ticks(p->y, false, (size_t)(p->box[3] / 40) + 1, ticks);
    for (size_t i = 0; i < count; i++)
        widest = fmax(widest, gb_plot_width(p->cr, ticks[i].label));
    return widest;
}

/* Leaves room around the data for what is written there. */
static void lay_out(panel *p, const double box[4])
{
    const gb_plot *plot = p->plot;
    double top = plot->title ? 26 : 8, bottom = plot->bare ? 6 : 22, left = 8,
           right = plot->bare ? 8 : 14;
    if (plot->x_label)
        bottom += 16;
    if (plot->y_label)
        left += 18;
    p->box[3] = box[3] - top - bottom;
    plot_axes_ranges(plot, &p->x, &p->y);
    if (!plot->bare)
        left += tick_width(p) + 6;
    p->box[0] = box[0] + left;
    p->box[1] = box[1] + top;
    p->box[2] = box[2] - left - right;
    if (plot->bare)
        plot_axes_equal(p->box, &p->x, &p->y);
    gb_plot_matrix(p->box, p->x, p->y, p->matrix);
}

static void axes(const panel *p, const double box[4])
{
    cairo_t *cr = p->cr;
    double middle = p->box[0] + p->box[2] / 2;
    ink(cr, .9);
    if (p->plot->title) {
        gb_plot_font(cr, LARGE, true);
        double start = p->plot->bare ? box[0] : p->box[0], room = box[0] + box[2] - start;
        double width = gb_plot_width(cr, p->plot->title);
        if (width > room) /* smaller, rather than cut off */
            gb_plot_font(cr, LARGE * room / width, true);
        write_text(cr, p->plot->bare ? middle : start, box[1] + 17, p->plot->bare ? .5 : 0,
                   p->plot->title);
    }
    gb_plot_font(cr, NORMAL, false);
    if (p->plot->x_label)
        write_text(cr, middle, box[1] + box[3] - 7, .5, p->plot->x_label);
    if (p->plot->y_label) {
        cairo_save(cr);
        cairo_translate(cr, box[0] + 16, p->box[1] + p->box[3] / 2);
        cairo_rotate(cr, -M_PI / 2);
        write_text(cr, 0, 0, .5, p->plot->y_label);
        cairo_restore(cr);
    }
    cairo_set_line_width(cr, .8);
    gb_plot_font(cr, SMALL, false);
    if (!p->plot->bare) {
        ticks_y(p);
        ticks_x(p);
    }
    ink(cr, .45);
    cairo_rectangle(cr, p->box[0], p->box[1], p->box[2], p->box[3]);
    cairo_stroke(cr);
}

/* ---- data ---- */

static void interval_band(const panel *p, const gb_series *series)
{
    double x, y;
    cairo_new_path(p->cr);
    for (size_t i = 0; i < series->count; i++)
        if (place(p, series->x[i], series->high[i], &x, &y))
            cairo_line_to(p->cr, x, y);
    for (size_t i = series->count; i-- > 0;)
        if (place(p, series->x[i], series->low[i], &x, &y))
            cairo_line_to(p->cr, x, y);
    cairo_close_path(p->cr);
    set_color(p->cr, series->color, .18);
    cairo_fill(p->cr);
}

static void interval_bars(const panel *p, const gb_series *series)
{
    double x, low, high;
    set_color(p->cr, series->color, 1);
    cairo_set_line_width(p->cr, 1.1);
    for (size_t i = 0; i < series->count; i++) {
        if (!place(p, series->x[i], series->low[i], &x, &low) ||
            !place(p, series->x[i], series->high[i], &x, &high))
            continue;
        cairo_move_to(p->cr, x, low);
        cairo_line_to(p->cr, x, high);
        cairo_move_to(p->cr, x - 3, low);
        cairo_line_to(p->cr, x + 3, low);
        cairo_move_to(p->cr, x - 3, high);
        cairo_line_to(p->cr, x + 3, high);
    }
    cairo_stroke(p->cr);
}

static void join(const panel *p, const gb_series *series)
{
    double x, y;
    bool down = false;
    cairo_new_path(p->cr);
    for (size_t i = 0; i < series->count; i++) {
        bool there = place(p, series->x[i], series->y[i], &x, &y);
        if (there && down)
            cairo_line_to(p->cr, x, y);
        else if (there)
            cairo_move_to(p->cr, x, y);
        down = there;
    }
    set_color(p->cr, series->color, 1);
    cairo_set_line_width(p->cr, 1.7);
    cairo_set_line_join(p->cr, CAIRO_LINE_JOIN_ROUND);
    set_dash(p->cr, series);
    cairo_stroke(p->cr);
    cairo_set_dash(p->cr, NULL, 0, 0);
}

static void hover_point(const panel *p, const gb_series *series, size_t i, double x, double y)
{
    gb_text_printf(p->hover, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", x, y);
    if (series->label)
        gb_page_escaped(p->hover, series->label);
    if (series->names) {
        gb_text_printf(p->hover, series->label ? ": " : "");
        gb_page_escaped(p->hover, series->names[i]);
    } else {
        gb_text_printf(p->hover, "%s%.6g: %.4g", series->label ? ", " : "", series->x[i],
                       series->y[i]);
    }
    gb_text_printf(p->hover, "</title></circle>\n");
}

static void draw_series(const panel *p, const gb_series *series)
{
    double x, y;
    if (series->low && series->high && series->band)
        interval_band(p, series);
    else if (series->low && series->high)
        interval_bars(p, series);
    if (series->line)
        join(p, series);
    for (size_t i = 0; i < series->count; i++) {
        if (!place(p, series->x[i], series->y[i], &x, &y))
            continue;
        set_color(p->cr, series->color, 1);
        draw_mark(p->cr, series->mark, x, y, series->size > 0 ? series->size : 3.5);
        if (p->hover)
            hover_point(p, series, i, x, y);
    }
}

static void draw_baseline(const panel *p, const gb_baseline *baseline)
{
    static const gb_series dashed = {.dashed = true};
    double y = (double)p->matrix[1][1] * baseline->value + (double)p->matrix[3][1];
    set_color(p->cr, baseline->color, 1);
    cairo_set_line_width(p->cr, 1.3);
    set_dash(p->cr, &dashed);
    cairo_move_to(p->cr, p->box[0], y);
    cairo_line_to(p->cr, p->box[0] + p->box[2], y);
    cairo_stroke(p->cr);
    cairo_set_dash(p->cr, NULL, 0, 0);
}

void plot_draw(cairo_t *cr, const gb_plot *plot, const double box[4], gb_text *hover)
{
    panel p = {.cr = cr, .plot = plot, .hover = hover};
    lay_out(&p, box);
    axes(&p, box);
    cairo_save(cr);
    cairo_rectangle(cr, p.box[0], p.box[1], p.box[2], p.box[3]);
    cairo_clip(cr);
    for (size_t i = 0; i < plot->baseline_count; i++)
        draw_baseline(&p, &plot->baselines[i]);
    for (size_t i = 0; i < plot->series_count; i++)
        draw_series(&p, &plot->series[i]);
    cairo_restore(cr);
}

/* ---- legend ---- */

/* A line of the legend at (x, y); returns its width. */
static double legend_entry(cairo_t *cr, const gb_series *series, double x, double y, bool draw)
{
    double width = 26 + gb_plot_width(cr, series->label) + 18;
    if (!draw)
        return width;
    set_color(cr, series->color, 1);
    if (series->line) {
        cairo_set_line_width(cr, 1.7);
        set_dash(cr, series);
        cairo_move_to(cr, x, y - 4);
        cairo_line_to(cr, x + 20, y - 4);
        cairo_stroke(cr);
        cairo_set_dash(cr, NULL, 0, 0);
    }
    draw_mark(cr, series->mark, x + 10, y - 4, 4);
    ink(cr, .85);
    write_text(cr, x + 26, y, 0, series->label);
    return width;
}

/* Has an earlier panel or series that is drawn this label already? */
static bool labelled_before(const gb_figure *figure, size_t panel_index, size_t series)
{
    const char *label = figure->plots[panel_index].series[series].label;
    for (size_t p = 0; p <= panel_index; p++)
        for (size_t s = 0; s < figure->plots[p].series_count; s++) {
            if (p == panel_index && s == series)
                return false;
            const gb_series *other = &figure->plots[p].series[s];
            if (other->label && other->count && !strcmp(other->label, label))
                return true;
        }
    return false;
}

double plot_legend(cairo_t *cr, const gb_figure *figure, double top, double width, bool draw)
{
    double x = 14, y = top + 14;
    bool any = false;
    gb_plot_font(cr, NORMAL, false);
    for (size_t p = 0; p < figure->count; p++) {
        const gb_plot *plot = &figure->plots[p];
        for (size_t i = 0; i < plot->series_count + (p ? 0 : plot->baseline_count); i++) {
            gb_series entry = {.line = true, .dashed = true};
            if (i < plot->series_count) {
                entry = plot->series[i];
            } else {
                entry.label = plot->baselines[i - plot->series_count].label;
                entry.color = plot->baselines[i - plot->series_count].color;
            }
            bool series = i < plot->series_count;
            if (!entry.label || (series && (!entry.count || labelled_before(figure, p, i))))
                continue;
            double needed = legend_entry(cr, &entry, x, y, false);
            if (any && x + needed > width) {
                x = 14;
                y += 17;
            }
            legend_entry(cr, &entry, x, y, draw);
            x += needed;
            any = true;
        }
    }
    return any ? y - top + 8 : 0;
}
