/* Figures of measures against a number: reading points, means over seeds, the files. */
#include "gabbro/figures.h"
#include <gabbro/eval.h>
#include <gabbro/page.h>
#include <gabbro/plot.h>
#include <gabbro/store.h>
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SERIES = 12, MOST_POINTS = 64, MOST_SEEDS = 64 };

/* All seeds of one place of a curve. */
typedef struct place {
    double x;                  /* NAN: a level */
    double values[MOST_SEEDS]; /* of the measure */
    size_t count;              /* seeds */
} place;

typedef struct curve {
    const char *name;          /* of the series */
    place places[MOST_POINTS]; /* by x */
    size_t count;              /* places */
} curve;

typedef struct curves {
    gb_arena *arena; /* strings */
    json_t *header;  /* first line */
    const char *title, *x_label, *y_label, *measure;
    curve *all;      /* [MOST_SERIES] */
    size_t count;    /* curves */
    gb_lines *lines; /* results being read */
} curves;

/* ---- reading ---- */

static curve *curve_of(curves *c, const char *name, gb_status *status)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->all[i].name, name) == 0)
            return &c->all[i];
    if (c->count == MOST_SERIES) {
        gb_lines_fail(c->lines, status, NULL, "more than %d series", MOST_SERIES);
        return NULL;
    }
    curve *fresh = &c->all[c->count];
    fresh->name = gb_arena_strdup(c->arena, name, strlen(name), status);
    c->count += fresh->name != NULL;
    return fresh->name ? fresh : NULL;
}

static place *tape_place_of(curves *c, curve *on, double x, gb_status *status)
{
    size_t at = 0;
    while (at < on->count && on->places[at].x < x)
        at++;
    if (at < on->count && (on->places[at].x == x || (isnan(x) && isnan(on->places[at].x))))
        return &on->places[at];
    if (on->count == MOST_POINTS) {
        gb_lines_fail(c->lines, status, NULL, "more than %d points", MOST_POINTS);
        return NULL;
    }
    memmove(&on->places[at + 1], &on->places[at], (on->count - at) * sizeof *on->places);
    on->places[at] = (place){.x = x};
    on->count++;
    return &on->places[at];
}

static bool measure_of(const curves *c, const char *folder, double *value, gb_status *status)
{
    json_t *measures = gb_measures_read(folder, status);
    bool ok = measures && gb_measure_value(json_object_get(measures, c->measure), folder,
                                           c->measure, value, status);
    json_decref(measures);
    return ok;
}

static bool read_point(curves *c, const json_t *line, gb_status *status)
{
    const char *series = json_string_value(json_object_get(line, "series"));
    const char *folder = json_string_value(json_object_get(line, "evaluation"));
    const json_t *x = json_object_get(line, "x");
    double value;
    if (!series || !folder || (x && !json_is_number(x)))
        return gb_lines_fail(c->lines, status, "make the results anew with `reproduce`",
                             "a point needs \"series\", \"evaluation\" and a number \"x\"");
    curve *on = curve_of(c, series, status);
    place *at = on ? tape_place_of(c, on, x ? json_number_value(x) : NAN, status) : NULL;
    if (!at || !measure_of(c, folder, &value, status))
        return false;
    if (at->count == MOST_SEEDS)
        return gb_lines_fail(c->lines, status, NULL, "more than %d seeds", MOST_SEEDS);
    at->values[at->count++] = value;
    return true;
}

static const char *word(curves *c, const char *name, gb_status *status)
{
    const char *text = json_string_value(json_object_get(c->header, name));
    return gb_arena_strdup(c->arena, text ? text : "", text ? strlen(text) : 0, status);
}

static bool read_header(curves *c, json_t *line, gb_status *status)
{
    if (!json_is_string(json_object_get(line, "figure")))
        return gb_lines_fail(c->lines, status, "give the results of a figure",
                             "the first line names no figure");
    c->header = json_incref(line);
    return (c->title = word(c, "title", status)) && (c->x_label = word(c, "x", status)) &&
           (c->y_label = word(c, "y", status)) && (c->measure = word(c, "measure", status));
}

static bool read_all(curves *c, const char *path, gb_status *status)
{
    json_t *line;
    int got = 0;
    bool ok = (c->lines = gb_lines_open(path, status)) != NULL;
    while (ok && (got = gb_jsonl_next(c->lines, &line, status)) == 1) {
        ok = c->header ? read_point(c, line, status) : read_header(c, line, status);
        json_decref(line);
    }
    if (ok && got == 0 && c->count == 0)
        ok = gb_fail(status, GB_DATA, path, NULL, "no points in this file");
    return ok && got == 0;
}

/* ---- means ---- */

/* Mean and 95% t-interval over the seeds; the interval is NAN for one seed. */
static bool summary_of(const place *at, gb_summary *out, gb_status *status)
{
    if (at->count > 1)
        return gb_summarise(at->values, at->count, out, status);
    *out = (gb_summary){.mean = at->values[0], .sd = NAN, .low = NAN, .high = NAN};
    return true;
}

/* Numbers of all places of the curves, one after another. */
typedef struct numbers {
    double x[MOST_SERIES][MOST_POINTS], mean[MOST_SERIES][MOST_POINTS];
    double low[MOST_SERIES][MOST_POINTS], high[MOST_SERIES][MOST_POINTS];
} numbers;

static bool count_up(const curves *c, numbers *n, gb_status *status)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t p = 0; p < c->all[i].count; p++) {
            gb_summary s;
            if (!summary_of(&c->all[i].places[p], &s, status))
                return false;
            n->x[i][p] = c->all[i].places[p].x;
            n->mean[i][p] = s.mean;
            n->low[i][p] = isnan(s.low) ? s.mean : s.low;
            n->high[i][p] = isnan(s.high) ? s.mean : s.high;
        }
    return true;
}

/* ---- files ---- */

static bool draw(const curves *c, const numbers *n, const char *dir, gb_text *page,
                 gb_status *status)
{
    gb_series series[MOST_SERIES];
    gb_baseline levels[MOST_SERIES];
    size_t lines = 0, dashed = 0;
    static const gb_mark marks[] = {GB_MARK_CIRCLE, GB_MARK_SQUARE, GB_MARK_TRIANGLE,
                                    GB_MARK_DIAMOND};
    for (size_t i = 0; i < c->count; i++) {
        int color = (int)(i % GB_PLOT_COLORS);
        if (isnan(n->x[i][0])) {
            levels[dashed++] = (gb_baseline){c->all[i].name, n->mean[i][0], color};
            continue;
        }
        series[lines] = (gb_series){.label = c->all[i].name,
                                    .x = n->x[i],
                                    .y = n->mean[i],
                                    .low = n->low[i],
                                    .high = n->high[i],
                                    .count = c->all[i].count,
                                    .mark = marks[lines % 4],
                                    .line = true,
                                    .color = color};
        lines++;
    }
    gb_plot plot = {.title = c->title,
                    .x_label = c->x_label,
                    .y_label = c->y_label,
                    .series = series,
                    .series_count = lines,
                    .baselines = levels,
                    .baseline_count = dashed,
                    .log_x = json_is_true(json_object_get(c->header, "log_x"))};
    gb_figure figure = {.plots = &plot, .count = 1, .alt = c->title};
    return gb_figure_files(&figure, dir, "figure", page, status);
}

static void table(const curves *c, const numbers *n, gb_text *out)
{
    gb_text_printf(out, "series\tx\tseeds\tmean\tlow\thigh\n");
    for (size_t i = 0; i < c->count; i++)
        for (size_t p = 0; p < c->all[i].count; p++) {
            gb_text_printf(out, "%s\t", c->all[i].name);
            if (isnan(n->x[i][p]))
                gb_text_printf(out, "-");
            else
                gb_text_printf(out, "%.10g", n->x[i][p]);
            gb_text_printf(out, "\t%zu\t%.6f\t%.6f\t%.6f\n", c->all[i].places[p].count,
                           n->mean[i][p], n->low[i][p], n->high[i][p]);
        }
}

static void page_of(const curves *c, const char *svg, const char *listing, gb_text *out)
{
    gb_page_begin(out, c->title, NULL, "");
    gb_page_heading(out, c->title);
    gb_text_printf(out, "<figure>%s</figure>\n", svg);
    gb_page_element(
        out, "p", NULL,
        "Means over seeds with 95% t-intervals; dashed: levels to compare with. The paper "
        "prints no values for this figure.");
    gb_page_element(out, "pre", NULL, listing);
    gb_page_end(out);
}

static bool write_files(const curves *c, const char *dir, gb_status *status)
{
    numbers *n = gb_alloc(1, sizeof *n, status);
    gb_text svg = {0}, listing = {0}, page = {0};
    bool ok =
        n && gb_make_dirs(dir, status) && count_up(c, n, status) && draw(c, n, dir, &svg, status);
    if (ok) {
        table(c, n, &listing);
        page_of(c, svg.data, gb_text_words(&listing, &page), &page);
        ok = gb_text_write_in(&listing, dir, "figure.tsv", status) &&
             gb_text_write_in(&page, dir, "figure.html", status) &&
             gb_json_save_in(c->header, GB_JSON_FILE | GB_JSON_NEWLINE, dir, "figure.json", status);
    }
    gb_text_free(&svg);
    gb_text_free(&listing);
    gb_text_free(&page);
    free(n);
    return ok;
}

bool gb_curves_write(const char *path, const char *out_dir, gb_status *status)
{
    gb_status own = {0};
    curves c = {.arena = gb_arena_create(1 << 14, &own)};
    c.all = gb_alloc(MOST_SERIES, sizeof *c.all, &own);
    bool ok = c.arena && c.all && read_all(&c, path, &own) && write_files(&c, out_dir, &own);
    gb_lines_close(c.lines);
    json_decref(c.header);
    gb_arena_destroy(c.arena);
    free(c.all);
    if (!ok && status)
        *status = own;
    return ok;
}
