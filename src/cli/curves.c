/* gabbro curves: a figure of a measure against a number. */
#include "cli.h"
#include <gabbro/figures.h>

#include <stdio.h>

static int run(const gb_call *call)
{
    const char *results = NULL, *out = NULL;
    const gb_option options[] = {
        {"results", GB_OPTION_TEXT, &results, GB_OPTION_REQUIRED, "FILE", "results of a figure"},
        {"out", GB_OPTION_TEXT, &out, GB_OPTION_REQUIRED, "DIR", "folder to write"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_curves, options, call, NULL, &code))
        return code;
    if (gb_curves_write(results, out, &status))
        printf("%s/figure.svg\n%s/figure.html\n", out, out);
    return gb_command_end(&status);
}

const gb_command gb_cli_curves = {
    .name = "curves",
    .summary = "draw a measure against a number",
    .description =
        "Draw the results of a figure's recipe (gabbro reproduce llm/fig3 and others): means over "
        "seeds with 95% intervals, levels as dashed lines. Writes figure.svg, .png, .tsv, .json "
        "and "
        ".html.",
    .run = run};
