/* gabbro bundle: a table with all that its numbers follow from. */
#include "cli.h"

#include <gabbro/report.h>

#include <stdlib.h>

static int run(const gb_call *call)
{
    gb_bundle_params p = {0};
    const char *out = NULL, *tables = NULL;
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &out, GB_OPTION_REQUIRED, "DIR", "folder to write"},
        {"tables", GB_OPTION_TEXT, &tables, 0, "DIR",
         "published numbers, claims and records (default: $GABBRO_TABLES, else the program's own)"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_bundle, options, call, &words, &code))
        return code;
    char *found = gb_tables_find(call->config, tables, &status);
    p.folder = words.items[0];
    p.tables_dir = found;
    if (found)
        gb_bundle_write(&p, out, &status);
    free(found);
    return gb_command_end(&status);
}

const gb_command gb_cli_bundle = {
    .name = "bundle",
    .summary = "write a folder with a table and all that its numbers come from",
    .operands = "FOLDER",
    .needs = "a folder that gabbro reproduce wrote",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Write what somebody needs to check a table without a device and without the store: the "
        "table in all forms, its evaluations with runs, values of queries and records, the "
        "judgements, the records of all artifacts behind them, the published numbers and claims, "
        "and the hashes of all files. gabbro verify DIR checks it.",
    .run = run};
