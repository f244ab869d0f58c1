/* gabbro noise: how far the seeds of a table lie apart, without saying whose they are. */
#include "cli.h"
#include <gabbro/report.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro noise FOLDER...\n\n"
    "How much the tables in these folders (of `reproduce` with several seeds) can decide: the "
    "share\n"
    "of trained rows that converged, and for each measure the least and the greatest mean of a "
    "row,\n"
    "the deviation between seeds, their range in such deviations, and the share of values at the\n"
    "measure's ceiling or at chance. Rows have no names here: worlds and settings are chosen by\n"
    "this, never by who wins.\n";

static void print_column(const gb_noise_column *c)
{
    double share = 100.0 / (double)c->values, range = c->greatest - c->least;
    printf("  %-28s %6.1f %6.1f", c->name, 100 * c->least, 100 * c->greatest);
    if (isnan(c->sd))
        printf("      -      -");
    else
        printf(" %6.2f %6.1f", 100 * c->sd, range / c->sd);
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

int gb_cli_noise(int argc, char **argv)
{
    gb_status status = {0};
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return GB_OK;
    }
    if (argc < 2 || argv[1][0] == '-')
        gb_fail(&status, GB_USAGE, NULL, "see gabbro noise --help",
                "noise needs folders of tables");
    for (int i = 1; status.code == GB_OK && i < argc; i++) {
        static gb_noise noise;
        if (gb_noise_read(argv[i], &noise, &status))
            print(argv[i], &noise);
    }
    if (status.code != GB_OK)
        gb_status_print(&status);
    return (int)status.code;
}
