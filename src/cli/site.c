/* gabbro site: result folders as a static site. */
#include "cli.h"
#include <gabbro/report.h>

#include <stdio.h>
#include <stdlib.h>

static int run(const gb_call *call)
{
    gb_site_params params = {0};
    const char *out = NULL;
    const gb_option options[] = {
        {"out", GB_OPTION_TEXT, &out, GB_OPTION_REQUIRED, "DIR", "folder to write"},
        {"store", GB_OPTION_TEXT, &params.store, 0, "DIR",
         "store with the artifacts (default: where the results say they are)"},
        {0}};
    gb_words folders = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_site, options, call, &folders, &code))
        return code;
    params.folders = folders.items;
    params.count = folders.count;
    char *tables = gb_tables_find(call->config, NULL, NULL);
    char *seen = tables ? gb_path_join(&status, tables, "seen") : NULL;
    params.seen = seen;
    if ((seen || !tables) && gb_site_write(&params, out, &status))
        printf("%s/index.html\n", out);
    free(tables);
    free(seen);
    return gb_command_end(&status);
}

const gb_command gb_cli_site = {
    .name = "site",
    .summary = "write results as a static site",
    .operands = "FOLDER...",
    .needs = "at least one folder of results",
    .operands_min = 1,
    .operands_max = GB_WORDS_MAX,
    .description =
        "Write a static site of results: a front page with the verdicts by paper, a page for each "
        "table, and for every row a page with the commands, settings, hashes and times behind its "
        "values. FOLDERs are what gabbro report --out and gabbro reproduce write, and artifacts of "
        "figures (gabbro coverage). A page shows devices that others have sent results from, "
        "tables/seen. Open DIR/index.html; it needs no server and no network.",
    .run = run};
