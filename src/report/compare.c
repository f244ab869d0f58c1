/* A table that was made on two devices, cell beside cell. */
#include <gabbro/report.h>

#include <gabbro/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What became of the cells. */
typedef struct counts {
    FILE *out;       /* where they are told */
    size_t cells;    /* of both */
    size_t equal;    /* to the last bit */
    size_t beyond;   /* B lies outside the recorded spread */
    double worst;    /* largest difference, in the unit shown */
    char where[120]; /* its cell */
    size_t only_one; /* cells that one side lacks */
    size_t settled;  /* compared with records */
} counts;

static json_t *read_table(const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, "table.json");
    if (!path)
        return NULL;
    json_t *root = gb_json_load(path, 0, status);
    if (root && (!json_is_array(json_object_get(root, "rows")) ||
                 !json_is_array(json_object_get(root, "columns")))) {
        gb_fail(status, GB_DATA, path, "make it: gabbro report --out FOLDER",
                "no table: rows or columns are missing");
        json_decref(root);
        root = NULL;
    }
    free(path);
    return root;
}

/* The row of the other table. */
static const json_t *row_of(const json_t *table, const char *key)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        if (!strcmp(gb_json_text(row, "row"), key))
            return row;
    }
    return NULL;
}

static const json_t *cell_of(const json_t *row, const char *column)
{
    return json_object_get(json_object_get(row, "cells"), column);
}

/* Whether B's value lies where the recorded seeds lie; for the first seed of a run. */
static const char *against_records(const json_t *b, counts *c)
{
    const char *mark = gb_json_text(b, "against_recorded");
    c->beyond += !strcmp(mark, "beyond");
    c->settled += *mark && strcmp(mark, "none");
    return !strcmp(mark, "equal")    ? "the recorded bits"
           : !strcmp(mark, "within") ? "within"
           : !strcmp(mark, "beyond") ? "OUTSIDE"
                                     : "-";
}

static void print_cell(const json_t *row, const json_t *column, const char *seed, double a,
                       double b, const char *mark, counts *c)
{
    double scale = json_number_value(json_object_get(column, "scale")), gap = (b - a) * scale;
    int decimals = (int)json_integer_value(json_object_get(column, "decimals"));
    char where[120];
    snprintf(where, sizeof where, "%s, %s, seed %s", gb_json_text(row, "row"),
             gb_json_text(column, "header"), seed);
    c->cells++;
    c->equal += a == b;
    if (fabs(gap) > fabs(c->worst)) {
        c->worst = gap;
        memcpy(c->where, where, sizeof where);
    }
    fprintf(c->out, "%-56s %8.*f %8.*f  ", where, decimals, a * scale, decimals, b * scale);
    if (a == b)
        fprintf(c->out, "%10s", "same bits");
    else
        fprintf(c->out, "%+10.*f", decimals + 2, gap);
    fprintf(c->out, "  %s\n", mark);
}

static void compare_cell(const json_t *row, const json_t *column, const json_t *a, const json_t *b,
                         counts *c)
{
    const char *seed;
    json_t *value, *here = json_object_get(a, "here"), *there = json_object_get(b, "here");
    /* The records are compared with the first seed of a run. */
    const char *first = json_object_iter_key(json_object_iter(there));
    json_object_foreach(here, seed, value)
    {
        json_t *other = json_object_get(there, seed);
        if (json_is_number(value) && json_is_number(other))
            print_cell(row, column, seed, json_number_value(value), json_number_value(other),
                       !strcmp(seed, first) ? against_records(b, c) : "-", c);
    }
}

/* Numbers that were obtained, of all rows, columns and seeds. */
static size_t numbers_of(const json_t *table)
{
    size_t i, count = 0;
    const char *name;
    json_t *row, *cell, *value;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        json_object_foreach(json_object_get(row, "cells"), name, cell)
        {
            const char *seed;
            json_object_foreach(json_object_get(cell, "here"), seed, value)
            {
                count += json_is_number(value);
            }
        }
    }
    return count;
}

static void print_counts(const counts *c)
{
    fprintf(c->out, "%zu cells: %zu with the same bits", c->cells, c->equal);
    if (c->equal < c->cells)
        fprintf(c->out, ", the others differ by up to %.3g (%s)", fabs(c->worst), c->where);
    if (c->settled)
        fprintf(c->out, "; %zu of B outside the recorded spread", c->beyond);
    else
        fprintf(c->out, "; nothing is recorded for these settings");
    if (c->only_one)
        fprintf(c->out, "; %zu more on one device only", c->only_one);
    fprintf(c->out, ".\n");
}

bool gb_compare_tables(const char *a, const char *b, FILE *out, gb_status *status)
{
    json_t *ta = read_table(a, status), *tb = ta ? read_table(b, status) : NULL;
    bool ok = tb != NULL;
    if (ok && strcmp(gb_json_text(ta, "table"), gb_json_text(tb, "table")))
        ok = gb_fail(status, GB_USAGE, b, NULL, "this is table %s, the other is %s",
                     gb_json_text(tb, "table"), gb_json_text(ta, "table"));
    counts c = {.out = out};
    size_t i, k;
    const json_t *row, *column;
    if (ok)
        fprintf(out, "%-56s %8s %8s  %10s  %s\n", gb_json_text(ta, "table"), "A", "B", "B - A",
                "B and the recorded spread");
    json_array_foreach(ok ? json_object_get(ta, "rows") : NULL, i, row)
    {
        const json_t *other = row_of(tb, gb_json_text(row, "row"));
        json_array_foreach(json_object_get(ta, "columns"), k, column)
        {
            const char *name = gb_json_text(column, "column");
            compare_cell(row, column, cell_of(row, name), cell_of(other, name), &c);
        }
    }
    if (ok) {
        c.only_one = numbers_of(ta) + numbers_of(tb) - 2 * c.cells;
        print_counts(&c);
    }
    json_decref(ta);
    json_decref(tb);
    return ok;
}
