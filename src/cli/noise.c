/* gabbro noise: how far the seeds of a table lie apart, without saying whose they are. */
#include "cli.h"
#include <gabbro/report.h>

#include <math.h>
#include <stdio.h>

static void print_column(const gb_noise_column *c)
{
    double share = 100.0 / (double)c->values, range = c->greatest - c->least;
    printf("  %-28s %6.1f %6.1f", c->name, 100 * c->least, 100 * c->greatest);
    if (isnan(c->sd))
        printf("      -");
    else
        printf(" %6.2f", 100 * c->sd);
    if (c->sd > 0)
        printf(" %6.1f", range / c->sd);
    else
        printf("      -");
    printf(" %7.0f%% %7.0f%%\n", share * (double)c->at_ceiling, share * (double)c->at_floor);
}

static void print(const char *folder, const gb_noise *noise)
{
    printf("%s: %zu rows, %zu of %zu runs converged", folder, noise->rows, noise->converged,
           noise->runs);
    if (noise->runs)
        printf(" (%.0f%%)", 100.0 * (double)noise->converged / (double)noise->runs);
    printf("\n  %-28s %6s %6s %6s %6s %8s %8s\n", "percent", "least", "most", "sd", "range",
           "ceiling", "chance");
    for (size_t i = 0; i < noise->column_count; i++)
        print_column(&noise->columns[i]);
}

static int run(const gb_call *call)
{
    const gb_option options[] = {{0}};
    gb_words folders = {0};
    gb_status status = {0};
    gb_noise noise;
    int code;
    if (!gb_command_begin(&gb_cli_noise, options, call, &folders, &code))
        return code;
    for (size_t i = 0; i < folders.count && gb_noise_read(folders.items[i], &noise, &status); i++)
        print(folders.items[i], &noise);
    return gb_command_end(&status);
}

const gb_command gb_cli_noise = {
    .name = "noise",
    .summary = "measure how far the seeds of a table differ, without naming its rows",
    .operands = "FOLDER...",
    .needs = "folders of tables",
    .operands_min = 1,
    .operands_max = GB_WORDS_MAX,
    .description =
        "Print how much the tables in these folders (of gabbro reproduce with several seeds) can "
        "decide: the share of trained rows that converged, and for each measure the least and the "
        "greatest mean of a row, the deviation between seeds, their range in such deviations, and "
        "the share of values at the measure's ceiling or at chance. Rows have no names here: "
        "worlds "
        "and settings are chosen by this, never by who wins.",
    .run = run};
