/* gabbro curves: a figure of a measure against a number. */
#include "cli.h"
#include <gabbro/figures.h>

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro curves --results FILE --out DIR\n\n"
    "Draw the results of a figure's script (reproduce llm/fig3 ...): means over seeds with 95%\n"
    "intervals, levels as dashed lines. Writes figure.svg, .png, .tsv, .json and .html.\n";

int gb_cli_curves(int argc, char **argv)
{
    const char *results = NULL, *out = NULL;
    gb_status status = {0};
    for (int i = 1; i < argc && status.code == GB_OK; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(usage, stdout);
            return GB_OK;
        }
        const char **value = !strcmp(argv[i], "--results") ? &results
                             : !strcmp(argv[i], "--out")   ? &out
                                                           : NULL;
        if (!value || i + 1 == argc)
            gb_fail(&status, GB_USAGE, NULL, "see gabbro curves --help",
                    "curves: unknown or incomplete option %s", argv[i]);
        else
            *value = argv[++i];
    }
    if (status.code == GB_OK && (!results || !out))
        gb_fail(&status, GB_USAGE, NULL, "see gabbro curves --help",
                "curves needs --results and --out");
    if (status.code == GB_OK && gb_curves_write(results, out, &status))
        printf("%s/figure.svg\n%s/figure.html\n", out, out);
    else
        gb_status_print(&status);
    return (int)status.code;
}
