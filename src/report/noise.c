/* How noisy a table is, blind to which row wins: the measure by which worlds and settings are
 * chosen. It knows no names of rows and no claims, so that a choice by it cannot favour a system.
 */
#include "gabbro/report.h"
#include "private.h"
#include "site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seeds of one row in one column. */
typedef struct spread {
    double sum, squares; /* of the values, fractions */
    size_t count;        /* values */
} spread;

/* Not BM25, what is made of it, or what is only quoted. An extra row says nothing of training but
 * whether it converged. */
static bool is_trained(const json_t *row)
{
    return json_object_size(json_object_get(row, "converged")) > 0 ||
           !strcmp(gb_json_text(row, "role"), gb_row_role_name(GB_ROW_TRAINED));
}

static void count_runs(const json_t *rows, gb_noise *noise)
{
    size_t i;
    json_t *row, *converged;
    const char *seed;
    json_array_foreach((json_t *)rows, i, row)
    {
        noise->rows += is_trained(row) && report_site_row_ran(row);
        json_object_foreach(json_object_get(row, "converged"), seed, converged)
        {
            noise->runs++;
            noise->converged += json_is_true(converged);
        }
    }
}

static spread spread_of(const json_t *row, const char *column, double floor, gb_noise_column *out)
{
    spread s = {0};
    const char *seed;
    json_t *value;
    json_t *here = json_object_get(json_object_get(json_object_get(row, "cells"), column), "here");
    json_object_foreach(here, seed, value)
    {
        if (!json_is_number(value))
            continue;
        double v = json_number_value(value);
        s.sum += v;
        s.squares += v * v;
        s.count++;
        out->values++;
        out->at_ceiling += v >= REPORT_CEILING;
        out->at_floor += v <= floor;
    }
    return s;
}

static void measure_column(const json_t *rows, const json_t *column, gb_noise_column *out)
{
    double chance = report_json_real_of(column, "chance");
    double squares = 0, freedom = 0;
    size_t i;
    json_t *row;
    *out = (gb_noise_column){.least = NAN, .greatest = NAN, .sd = NAN};
    snprintf(out->name, sizeof out->name, "%s", gb_json_text(column, "column"));
    json_array_foreach((json_t *)rows, i, row)
    {
        if (!is_trained(row))
            continue;
        spread s = spread_of(row, out->name, (isnan(chance) ? 0 : chance) + REPORT_CHANCE, out);
        if (!s.count)
            continue;
        double mean = s.sum / (double)s.count;
        out->least = fmin(out->least, mean);
        out->greatest = fmax(out->greatest, mean);
        squares += s.squares - mean * s.sum;
        freedom += (double)s.count - 1;
    }
    if (freedom > 0)
        out->sd = sqrt(fmax(0, squares) / freedom);
}

bool gb_noise_read(const char *folder, gb_noise *noise, gb_status *status)
{
    *noise = (gb_noise){0};
    char *path = gb_path_join(status, folder, "table.json");
    json_t *root = path ? gb_json_load(path, 0, status) : NULL;
    json_t *rows = json_object_get(root, "rows"), *column;
    size_t i;
    bool ok = root && (json_is_array(rows) ||
                       gb_fail(status, GB_DATA, path, "give a folder of gabbro reproduce --out",
                               "no table: no \"rows\""));
    count_runs(rows, noise);
    json_array_foreach(json_object_get(root, "columns"), i, column)
    {
        if (noise->column_count == GB_NOISE_COLUMNS)
            break;
        gb_noise_column *out = &noise->columns[noise->column_count];
        measure_column(rows, column, out);
        noise->column_count += out->values > 0 && gb_has_ceiling(out->name);
    }
    json_decref(root);
    free(path);
    return ok;
}
