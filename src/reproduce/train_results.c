/* What a training on the user's own collection leaves: a table, a model, curves. */
#include "run.h"
#include "train.h"

#include <gabbro/plot.h>

#include <stdlib.h>
#include <string.h>

/* Measures that are printed, of each split that has them. */
static const char *const shown[] = {"MRR@10", "nDCG@10", "R@100", "Hit@10"};
enum { SHOWN = sizeof shown / sizeof *shown, MAX_COLUMNS = 16 };

/* Columns of the table: "test:MRR@10" and so on. */
typedef struct columns {
    char names[MAX_COLUMNS][64]; /* [count] */
    size_t count;                /* columns */
} columns;

/* ---- the table ---- */

static json_t *metrics_of(const repro_result *result, gb_status *status)
{
    return gb_json_load_in(result->evaluation.node->folder, "metrics.json", 0, status);
}

static void find_columns(const json_t *metrics, columns *of)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metrics, name, value)
    {
        const char *measure = strchr(name, ':');
        for (int i = 0; measure && i < SHOWN; i++)
            if (!strcmp(measure + 1, shown[i]) && of->count < MAX_COLUMNS)
                snprintf(of->names[of->count++], sizeof of->names[0], "%s", name);
    }
}

/* The columns of a split in the order of `shown`. */
static int by_place(const void *a_, const void *b_)
{
    const char *a = a_, *b = b_;
    size_t stem = strcspn(a, ":");
    int split = strcspn(b, ":") == stem ? strncmp(a, b, stem) : strcmp(a, b), places[2] = {0, 0};
    if (split)
        return split;
    for (int i = 0; i < SHOWN; i++) {
        places[0] = strcmp(strchr(a, ':') + 1, shown[i]) ? places[0] : i;
        places[1] = strcmp(strchr(b, ':') + 1, shown[i]) ? places[1] : i;
    }
    return places[0] - places[1];
}

static void print_row(const char *row, const json_t *metrics, const columns *of, FILE *tsv)
{
    printf("%-10s", row);
    fprintf(tsv, "%s", row);
    for (size_t c = 0; c < of->count; c++) {
        const json_t *value = json_object_get(json_object_get(metrics, of->names[c]), "value");
        printf(" %*.4f", (int)strlen(of->names[c]), json_number_value(value));
        fprintf(tsv, "\t%.17g", json_number_value(value));
    }
    printf("\n");
    fputc('\n', tsv);
}

static bool print_table(const repro_table *table, FILE *tsv, gb_status *status)
{
    columns of = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        json_t *metrics = metrics_of(result, status);
        ok = metrics != NULL;
        if (ok && !of.count) {
            find_columns(metrics, &of);
            qsort(of.names, of.count, sizeof of.names[0], by_place);
            printf("%-10s", "");
            fprintf(tsv, "row");
            for (size_t c = 0; c < of.count; c++) {
                printf(" %s", of.names[c]);
                fprintf(tsv, "\t%s", of.names[c]);
            }
            printf("\n");
            fputc('\n', tsv);
        }
        if (ok)
            print_row(result->row, metrics, &of, tsv);
        json_decref(metrics);
    }
    return ok;
}

static bool write_table(const repro_table *table, const char *out, gb_status *status)
{
    char *path = gb_path_join(status, out, "results.tsv");
    gb_out *file = path ? gb_out_open(path, status) : NULL;
    bool ok = file && print_table(table, gb_out_stream(file), status);
    free(path);
    if (ok)
        return gb_out_commit(file, status);
    gb_out_abandon(file);
    return false;
}

/* ---- curves ---- */

typedef struct curve {
    double *x, *y; /* [count] */
    size_t count;  /* points */
    size_t xs, ys; /* allocated */
} curve;

/* The first two columns of a file of the artifact, after a header. */
static bool read_curve(const char *folder, const char *name, curve *to, gb_status *status)
{
    char *path = gb_path_join(status, folder, name), *line;
    gb_lines *lines = path && gb_file_exists(path) ? gb_lines_open(path, status) : NULL;
    bool ok = path && (lines || !gb_file_exists(path));
    size_t length;
    int got = 0;
    while (ok && lines && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        double x, y;
        if (sscanf(line, "%lf\t%lf", &x, &y) != 2)
            continue;
        ok = gb_grow(&to->x, &to->xs, to->count + 1, sizeof *to->x, status) &&
             gb_grow(&to->y, &to->ys, to->count + 1, sizeof *to->y, status);
        if (ok) {
            to->x[to->count] = x;
            to->y[to->count++] = y;
        }
    }
    gb_lines_close(lines);
    free(path);
    return ok && got == 0;
}

static bool draw(const curve *loss, const curve *dev, const char *measure, const char *title,
                 const char *path, gb_status *status)
{
    gb_series series[] = {
        {.x = loss->x, .y = loss->y, .count = loss->count, .line = true, .size = .5},
        {.x = dev->x, .y = dev->y, .count = dev->count, .line = true, .color = 1}};
    gb_plot plots[] = {{.title = title,
                        .x_label = "step",
                        .y_label = "loss",
                        .series = &series[0],
                        .series_count = 1},
                       {.title = "development",
                        .x_label = "step",
                        .y_label = measure,
                        .series = &series[1],
                        .series_count = 1}};
    gb_figure figure = {.plots = plots, .count = dev->count ? 2 : 1, .no_legend = true};
    return gb_figure_write_svg(&figure, path, status);
}

static bool copy_file(const char *folder, const char *name, const char *out, const char *to,
                      gb_status *status)
{
    char *from = gb_path_join(status, folder, name), *place = gb_path_join(status, out, to);
    bool ok = from && place && (!gb_file_exists(from) || gb_copy_file(from, place, status));
    free(from);
    free(place);
    return ok;
}

/* losses.N.tsv, development.N.tsv and curves.N.svg of a round. */
static bool write_curves(const repro_session *session, const char *folder, unsigned round,
                         const char *out, gb_status *status)
{
    curve loss = {0}, dev = {0};
    char losses[40], development[40], title[40];
    snprintf(losses, sizeof losses, "losses.%u.tsv", round);
    snprintf(development, sizeof development, "development.%u.tsv", round);
    snprintf(title, sizeof title, "round %u", round);
    char *path = gb_format(status, "%s/curves.%u.svg", out, round);
    bool ok =
        path && copy_file(folder, "losses.tsv", out, losses, status) &&
        copy_file(folder, "development.tsv", out, development, status) &&
        read_curve(folder, "losses.tsv", &loss, status) &&
        read_curve(folder, "development.tsv", &dev, status) &&
        (!loss.count || draw(&loss, &dev, repro_settings_get(&session->settings, "dev_measure"),
                             title, path, status));
    free(path);
    free(loss.x);
    free(loss.y);
    free(dev.x);
    free(dev.y);
    return ok;
}

/* ---- the model ---- */

/* The whole model takes the place of an earlier one at once. */
static bool copy_model(const char *artifact, const char *out, gb_status *status)
{
    char *from = gb_path_join(status, artifact, "model"), *to = gb_path_join(status, out, "model");
    char *draft = from && to ? gb_draft_folder(to, status) : NULL;
    bool ok = draft && gb_copy_tree(from, draft, status);
    ok = gb_draft_end(draft, ok, to, status);
    free(from);
    free(to);
    return ok;
}

bool repro_train_finish(const repro_session *session, const repro_table *table, const char *out,
                        gb_status *status)
{
    const char *last = NULL;
    unsigned round = 0;
    bool ok = write_table(table, out, status);
    for (size_t i = 0; ok && i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        if (strncmp(result->row, "round ", 6) != 0 || !result->model.node)
            continue;
        last = result->model.node->folder;
        ok = write_curves(session, last, ++round, out, status);
    }
    ok = ok && (!last || copy_model(last, out, status));
    if (ok && last)
        printf("%s/model\n", out);
    return ok;
}
