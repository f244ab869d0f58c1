/* Training curves: losses.tsv of a training as a plot, and those of a table together. */
#include "gabbro/page.h"
#include "gabbro/plot.h"
#include "site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOSSES = 4, POINTS = 80 };

/* Losses of all steps. */
typedef struct losses {
    char *header;                   /* first line, cut at its tabs */
    const char *names[MOST_LOSSES]; /* of the columns behind the step */
    size_t columns;                 /* of them */
    double *values;                 /* [steps][MOST_LOSSES] */
    size_t steps;                   /* lines */
    size_t capacity;                /* of values */
} losses;

static bool read_header(losses *l, const char *line, gb_status *status)
{
    l->header = gb_strdup(line, status);
    char *rest = l->header;
    if (!rest)
        return false;
    gb_take_field(&rest, "\t");
    for (char *name; l->columns < MOST_LOSSES && (name = gb_take_field(&rest, "\t"));)
        l->names[l->columns++] = name;
    return true;
}

static bool read_losses(losses *l, const char *path, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    char *line;
    size_t length;
    int got = -1;
    bool ok = lines != NULL;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (gb_lines_number(lines) == 1) {
            ok = read_header(l, line, status);
            continue;
        }
        ok = gb_grow(&l->values, &l->capacity, (l->steps + 1) * MOST_LOSSES, sizeof *l->values,
                     status);
        char *at = strchr(line, '\t');
        for (size_t c = 0; ok && c < l->columns; c++) {
            l->values[l->steps * MOST_LOSSES + c] = at ? strtod(at + 1, &at) : NAN;
            at = at && *at == '\t' ? at : NULL;
        }
        l->steps++;
    }
    gb_lines_close(lines);
    return ok && got == 0;
}

/* Means over equal stretches of steps: x [points], y [columns][points]. */
static size_t smooth(const losses *l, double *x, double *y)
{
    size_t points = l->steps < POINTS ? l->steps : POINTS;
    for (size_t p = 0; p < points; p++) {
        size_t first = p * l->steps / points, end = (p + 1) * l->steps / points;
        x[p] = (double)(first + end - 1) / 2;
        for (size_t c = 0; c < l->columns; c++) {
            double sum = 0;
            for (size_t s = first; s < end; s++)
                sum += l->values[s * MOST_LOSSES + c];
            y[c * POINTS + p] = sum / (double)(end - first);
        }
    }
    return points;
}

static bool draw(const losses *l, const char *title, const char *path, gb_status *status)
{
    double x[POINTS], y[MOST_LOSSES * POINTS];
    gb_series series[MOST_LOSSES];
    size_t points = smooth(l, x, y), count = 0;
    /* A total of one part is that part. */
    for (size_t c = l->columns == 2 ? 1 : 0; c < l->columns; c++)
        series[count++] = (gb_series){.label = l->names[c],
                                      .x = x,
                                      .y = y + c * POINTS,
                                      .count = points,
                                      .line = true,
                                      .color = (int)c};
    gb_plot plot = {.title = title,
                    .x_label = "step",
                    .y_label = "loss",
                    .series = series,
                    .series_count = count};
    gb_figure figure = {.plots = &plot, .count = 1, .width = 420, .height = 260};
    return gb_figure_write_svg(&figure, path, status);
}

bool report_site_curve(const chain_step *step, const char *out, bool *drawn, gb_status *status)
{
    *drawn = false;
    char *from = step->path ? gb_path_join(status, step->path, "losses.tsv") : NULL;
    if (!from || !gb_file_exists(from)) {
        free(from);
        return true;
    }
    char *folder = gb_path_join(status, out, "curves");
    char *to = gb_format(status, "%s/curves/%s.svg", out, step->name);
    const json_t *settings = json_object_get(step->run, "settings");
    const char *objective = gb_json_text(settings, "objective"),
               *context = gb_json_text(settings, "context");
    char *title =
        gb_format(status, "%s%s%s%s%s", gb_json_text(step->run, "kind"), *objective ? " " : "",
                  objective, *context ? ", context " : "", context);
    losses l = {0};
    bool ok = folder && to && title && read_losses(&l, from, status);
    if (ok && l.steps && l.columns) {
        *drawn = true;
        ok = gb_file_exists(to) || (gb_make_dirs(folder, status) && draw(&l, title, to, status));
    }
    free(l.header);
    free(l.values);
    free(title);
    free(to);
    free(folder);
    free(from);
    return ok;
}

/* ---- small ones ---- */

/* Appends a line through values [points], points > 1, as the begin of a <figure> with a caption. */
static void draw_spark(const double *values, size_t points, gb_text *out)
{
    enum { WIDTH = 240, HEIGHT = 60, EDGE = 3 };
    double least = INFINITY, most = -INFINITY;
    for (size_t p = 0; p < points; p++) {
        least = fmin(least, values[p]);
        most = fmax(most, values[p]);
    }
    gb_text_printf(out,
                   "<figure><svg class=\"spark\" viewBox=\"0 0 %d %d\" "
                   "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"the loss goes from "
                   "%.3g to %.3g\"><polyline vector-effect=\"non-scaling-stroke\" points=\"",
                   WIDTH, HEIGHT, values[0], values[points - 1]);
    for (size_t p = 0; p < points; p++)
        gb_text_printf(out, "%.1f,%.1f ", (double)WIDTH * (double)p / (double)(points - 1),
                       EDGE + (HEIGHT - 2 * EDGE) *
                                  (most > least ? (most - values[p]) / (most - least) : .5));
    gb_text_printf(out, "\"/></svg><figcaption>");
}

bool gb_report_spark(const char *path, const char *label, gb_text *out, gb_status *status)
{
    double x[POINTS], y[MOST_LOSSES * POINTS];
    losses l = {0};
    bool ok = read_losses(&l, path, status);
    size_t points = ok && l.columns ? smooth(&l, x, y) : 0;
    if (points > 1) {
        draw_spark(y, points, out);
        gb_page_escaped(out, label);
        gb_text_printf(out, ": %.3g to %.3g in %zu steps</figcaption></figure>\n", y[0],
                       y[points - 1], l.steps);
    }
    free(l.header);
    free(l.values);
    return ok && points > 1;
}

void gb_report_spark_so_far(const double *values, size_t count, gb_text *out)
{
    if (count < 2)
        return;
    draw_spark(values, count, out);
    gb_text_printf(out, "loss: %.3g to %.3g so far</figcaption></figure>", values[0],
                   values[count - 1]);
}

/* ---- of a table ---- */

/* The curves of a chain that are not there yet. drawn: object whose keys are names of steps. */
static bool add_curves(const chain *all, const char *label, const char *seed, json_t *drawn,
                       const char *out_dir, gb_text *out, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < all->count; i++) {
        const chain_step *step = &all->steps[i];
        bool has = false;
        if (json_object_get(drawn, step->name))
            continue;
        ok = report_site_curve(step, out_dir, &has, status) &&
             (!has || json_object_set_new(drawn, step->name, json_true()) == 0);
        if (!ok || !has)
            continue;
        gb_text_printf(out,
                       "<figure><img loading=\"lazy\" src=\"curves/%s.svg\" alt=\"losses of %s, "
                       "%s\"><figcaption>",
                       step->name, gb_json_text(step->run, "kind"), step->name);
        gb_page_escaped(out, label);
        gb_text_printf(out, ", seed %s</figcaption></figure>\n", seed);
    }
    return ok;
}

bool report_site_table_curves(const site_table *table, const char *out_dir, gb_text *out,
                              gb_status *status)
{
    json_t *rows = json_object_get(table->root, "rows"), *row, *drawn = json_object(), *step;
    gb_text figures = {0};
    const char *seed;
    size_t r;
    bool ok = drawn || gb_fail_memory(status, "drawing curves");
    json_array_foreach(rows, r, row)
    {
        json_object_foreach(json_object_get(row, "steps"), seed, step)
        {
            chain all = {0};
            ok = ok && report_chain_add(&all, table->store, json_string_value(step), status) &&
                 add_curves(&all, gb_json_text(row, "label"), seed, drawn, out_dir, &figures,
                            status);
            report_chain_free(&all);
            break; /* the other seeds' look alike */
        }
    }
    if (figures.length)
        gb_text_printf(out,
                       "<details class=\"part\"><summary>Training curves<small class=\"dim\">%zu "
                       "trainings of the first seed</small></summary>\n<p>A training that several "
                       "systems share stands with the first of them.</p>\n<div "
                       "class=\"figures\">\n%s</div></details>\n",
                       json_object_size(drawn), figures.data);
    out->failed = out->failed || figures.failed;
    gb_text_free(&figures);
    json_decref(drawn);
    return ok;
}
