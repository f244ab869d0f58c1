/* A table beside the one that it reproduces: order of the rows, values, effects of rows over a
 * baseline. */
#include "site.h"
#include <gabbro/json.h>
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One column of both tables. */
typedef struct compared {
    const char *name;       /* e.g. "msmarco-dev:MRR@10" */
    double scale;           /* from results to the printed unit */
    double *original, *run; /* [rows] values; NAN where there is none */
} compared;

/* Both tables. */
typedef struct tables {
    json_t *original, *run; /* table.json; original NULL: the published values of `run` */
    bool original_recorded, run_recorded; /* whose recorded values are compared */
    const char **rows;                    /* [row_count] names of rows of `run` */
    size_t row_count;                     /* rows */
    compared column;                      /* being compared */
} tables;

/* Whether a table has values of its own run in any cell. If not, the recorded ones stand for it;
 * the two are never mixed. */
static bool was_run(const json_t *table)
{
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        if (report_site_row_ran(row))
            return true;
    }
    return false;
}

/* The mean of what was obtained in a cell, or of what is recorded, in the printed unit; NAN for
 * none. */
static double obtained(const json_t *cell, double scale, bool recorded)
{
    if (recorded) {
        const json_t *mean = json_object_get(json_object_get(cell, "recorded"), "mean");
        return json_is_number(mean) ? json_number_value(mean) : NAN;
    }
    const json_t *here = json_object_get(cell, "here"), *value;
    const char *seed;
    double sum = 0;
    size_t count = 0;
    json_object_foreach((json_t *)here, seed, value) if (json_is_number(value))
    {
        sum += json_number_value(value) * scale;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

/* The row's name: its key, or the published one of a row that is only quoted. */
static const char *row_name(const json_t *row)
{
    const char *key = json_string_value(json_object_get(row, "row"));
    return key && *key && strcmp(key, "-")
               ? key
               : json_string_value(json_object_get(row, "published_row"));
}

static const json_t *find_cell(const json_t *table, const char *name, const char *column)
{
    const json_t *row;
    size_t i;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        const char *other = row_name(row);
        if (other && !strcmp(other, name))
            return json_object_get(json_object_get(row, "cells"), column);
    }
    return NULL;
}

static double scale_of(const json_t *table, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(table, "columns"), i, one)
    {
        const char *other = json_string_value(json_object_get(one, "column"));
        if (other && !strcmp(other, name))
            return json_number_value(json_object_get(one, "scale"));
    }
    return 1;
}

/* Values of the rows that both have. */
static size_t fill(tables *t)
{
    compared *c = &t->column;
    size_t both = 0;
    for (size_t r = 0; r < t->row_count; r++) {
        const json_t *cell = find_cell(t->run, t->rows[r], c->name);
        double value = obtained(cell, c->scale, t->run_recorded), first;
        if (t->original) {
            first = obtained(find_cell(t->original, t->rows[r], c->name),
                             scale_of(t->original, c->name), t->original_recorded);
        } else {
            const json_t *published = json_object_get(cell, "published");
            first = json_is_number(published) ? json_number_value(published) : NAN;
        }
        bool there = !isnan(value) && !isnan(first);
        c->run[r] = there ? value : NAN;
        c->original[r] = there ? first : NAN;
        both += there;
    }
    return both;
}

/* Print a number, or "-" where there is none. */
static void print_number(FILE *out, const char *format, double value)
{
    fputc('\t', out);
    if (isnan(value))
        fputc('-', out);
    else
        fprintf(out, format, value);
}

static void print_row(const tables *t, size_t row, size_t base, FILE *out)
{
    const compared *c = &t->column;
    double ratio = NAN, relative = NAN;
    if (row != base)
        gb_effects_compare(&(gb_effect){c->original[row], c->original[base]},
                           &(gb_effect){c->run[row], c->run[base]}, &ratio, &relative);
    fprintf(out, "%s", t->rows[row]);
    print_number(out, "%.4f", c->original[row]);
    print_number(out, "%.4f", c->run[row]);
    print_number(out, "%+.4f", c->run[row] - c->original[row]);
    print_number(out, "%.4f", ratio);
    print_number(out, "%+.4f", relative);
    fputc('\n', out);
}

/* One column: agreement over its rows, then its rows. `base`: a name, or NULL for the first row. */
static bool print_column(tables *t, const char *base_name, FILE *out, gb_status *status)
{
    compared *c = &t->column;
    size_t n = 0, base = SIZE_MAX, both = fill(t);
    double *x = gb_alloc(2 * t->row_count, sizeof *x, status), *y = x ? x + t->row_count : NULL;
    gb_ttest test = {.p = NAN};
    if (!x)
        return false;
    for (size_t r = 0; r < t->row_count; r++) {
        if (isnan(c->run[r]))
            continue;
        if (base == SIZE_MAX && (!base_name || !strcmp(base_name, t->rows[r])))
            base = r;
        x[n] = c->original[r];
        y[n++] = c->run[r];
    }
    bool ok = n < 2 || gb_ttest_paired(x, y, n, &test, status);
    if (ok && both) {
        fprintf(out, "# %s: %zu rows", c->name, both);
        print_number(out, "Kendall tau %.4f", gb_kendall_tau(x, y, n));
        print_number(out, "RMSE %.4f", gb_rmse(x, y, n));
        print_number(out, "p t-test %.4g", test.p);
        fprintf(out, "\n# row\t%s\t%s\tdifference\teffect ratio\tdelta RI\n",
                t->original_recorded ? "original (recorded)" : "original",
                t->run_recorded ? "recorded" : "here");
        for (size_t r = 0; r < t->row_count; r++)
            if (!isnan(c->run[r]))
                print_row(t, r, base == SIZE_MAX ? r : base, out);
    }
    free(x);
    return ok;
}

static bool list_rows(tables *t, const char *path, gb_status *status)
{
    const json_t *rows = json_object_get(t->run, "rows"), *row;
    size_t i;
    t->rows = gb_alloc(json_array_size(rows), sizeof *t->rows, status);
    t->column.original = gb_alloc(json_array_size(rows), sizeof(double), status);
    t->column.run = gb_alloc(json_array_size(rows), sizeof(double), status);
    if (!t->rows || !t->column.original || !t->column.run)
        return false;
    json_array_foreach(rows, i, row)
    {
        const char *name = row_name(row);
        if (name)
            t->rows[t->row_count++] = name;
    }
    return t->row_count ||
           gb_fail(status, GB_DATA, path, "give the table.json that reproduce writes",
                   "there are no rows");
}

static bool know_base(const tables *t, const char *base, gb_status *status)
{
    for (size_t i = 0; base && i < t->row_count; i++)
        if (!strcmp(t->rows[i], base))
            return true;
    return !base || gb_fail(status, GB_USAGE, NULL, "see \"row\" in table.json",
                            "no row is called \"%.80s\"", base);
}

bool gb_tables_agree(const char *original, const char *run, const char *base, FILE *out,
                     gb_status *status)
{
    tables t = {0};
    const json_t *one;
    size_t i, printed = 0;
    bool ok = (!original || (t.original = gb_json_load(original, 0, status))) &&
              (t.run = gb_json_load(run, 0, status)) && list_rows(&t, run, status) &&
              know_base(&t, base, status);
    t.original_recorded = t.original && !was_run(t.original);
    t.run_recorded = !was_run(t.run);
    if (ok)
        fprintf(out, "# %s beside %s\n", run, original ? original : "the published values");
    json_array_foreach(json_object_get(t.run, "columns"), i, one)
    {
        t.column.name = json_string_value(json_object_get(one, "column"));
        if (!ok || !t.column.name)
            break;
        t.column.scale = scale_of(t.run, t.column.name);
        printed += fill(&t) > 0;
        ok = print_column(&t, base, out, status);
    }
    if (ok && !printed)
        ok = gb_fail(status, GB_DATA, run, NULL, "no cell has both values");
    json_decref(t.original);
    json_decref(t.run);
    free(t.rows);
    free(t.column.original);
    free(t.column.run);
    return ok;
}
