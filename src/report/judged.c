/* Columns that tables have when asked: how many of the passages that a system ranks first are
 * judged at all. Values of systems whose share is low are lower bounds. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define MEASURE "Judged@10"

/* The names in results that fill a column, with blanks between. */
static const char *names_of(const gb_spec_column *column)
{
    return column->obtained[0] ? column->obtained : column->name;
}

static size_t count_names(const gb_report *report)
{
    size_t count = 0;
    for (size_t c = 0; c < report->column_count; c++)
        for (const char *at = names_of(&report->columns[c]); at; at = strchr(at + 1, ' '))
            count++;
    return count;
}

static bool has_cell(const results *read, const char *column)
{
    for (size_t i = 0; i < read->cell_count; i++)
        if (strcmp(read->cells[i].column, column) == 0)
            return true;
    return false;
}

/* Adds the column of a split, "dev" or "SET/test", if the results have it and the table has not. */
static bool add_split(gb_report *report, const results *read, const char *split, int length,
                      gb_status *status)
{
    char *name = gb_format(status, "%.*s:" MEASURE, length, split);
    char *label =
        gb_format(status, "%.*s: share of the first ten passages that are judged", length, split);
    bool ok = name && label;
    if (ok && has_cell(read, name) && report_column_of(report, name) == SIZE_MAX) {
        gb_spec_column *column = &report->columns[report->column_count++];
        *column = (gb_spec_column){.name = report_copy(report->arena, name, status),
                                   .obtained = "",
                                   .header = MEASURE,
                                   .label = report_copy(report->arena, label, status),
                                   .scale = 100,
                                   .decimals = 1};
        report->judged_count++;
        ok = column->name && column->label;
    }
    free(name);
    free(label);
    return ok;
}

bool report_judged_add(gb_report *report, const results *read, gb_status *status)
{
    size_t before = report->column_count, most = before + count_names(report);
    gb_spec_column *columns = gb_arena_alloc(report->arena, most * sizeof *columns + 1, status);
    bool ok = columns != NULL;
    if (ok && before)
        memcpy(columns, report->columns, before * sizeof *columns);
    if (ok)
        report->columns = columns;
    for (size_t c = 0; ok && c < before; c++)
        for (const char *at = names_of(&columns[c]); ok && *at;) {
            size_t name = strcspn(at, " "), split = strcspn(at, ": ");
            ok = split == name || add_split(report, read, at, (int)split, status);
            at += name;
            at += strspn(at, " ");
        }
    return ok;
}
