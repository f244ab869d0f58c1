/* gabbro report: a table of a paper beside what was obtained. */
#include "cli.h"
#include <gabbro/report.h>

#include <stdlib.h>

/* The command line. */
typedef struct settings {
    gb_report_params params; /* table, results, scale */
    const char *tables;      /* --tables, or NULL */
    const char *out;         /* --out, or NULL */
    bool record;             /* --record */
    bool quiet;              /* --quiet */
} settings;

static bool print_text(const gb_report *report, gb_status *status)
{
    gb_text text = {0};
    gb_report_text(report, &text);
    bool ok = !text.failed || gb_fail_memory(status, "printing the table");
    if (ok)
        fwrite(text.data, 1, text.length, stdout);
    gb_text_free(&text);
    return ok;
}

static bool run_report(settings *given, gb_status *status)
{
    gb_report *report = gb_report_build(&given->params, status);
    if (report && given->record) {
        bool ok = gb_report_record(report, given->params.tables_dir, status);
        gb_report_free(report);
        /* Again, so that the table shows what the records now say. */
        report = ok ? gb_report_build(&given->params, status) : NULL;
    }
    bool ok = report && (given->quiet || print_text(report, status)) &&
              (!given->out || gb_report_write(report, given->out, status));
    if (ok && given->out)
        printf("%s%s/table.md\n%s/table.json\n%s/table.html\n", given->quiet ? "" : "\n",
               given->out, given->out, given->out);
    if (ok && given->params.judged && !report->judged_count)
        gb_log(GB_LOG_WARN, "the results have no Judged@10 of a split that %s is measured on",
               given->params.table);
    gb_report_free(report);
    return ok;
}

static int run(const gb_call *call)
{
    static const char *const scales[] = {"mini", "squad", "small", "paper", NULL};
    settings o = {0};
    uint32_t scale = 0;
    const gb_option options[] = {
        {"table", GB_OPTION_TEXT, &o.params.table, GB_OPTION_REQUIRED, "TABLE",
         "paper and table, e.g. qac/table1"},
        {"results", GB_OPTION_TEXT, &o.params.results, GB_OPTION_REQUIRED, "FILE",
         "JSON lines: what was run, then one line a row (or one a value)"},
        {"scale", GB_OPTION_CHOICE, &scale, 0, NULL, "scale of the results", scales},
        {"out", GB_OPTION_TEXT, &o.out, 0, "DIR",
         "folder for table.md, .json, .html, .csv and .tex (default: not written)"},
        {"record", GB_OPTION_FLAG, &o.record, 0, NULL,
         "add these seeds to the recorded results of the table and scale"},
        {"tables", GB_OPTION_TEXT, &o.tables, 0, "DIR",
         "published numbers, claims and records (default: $GABBRO_TABLES, else the program's own)"},
        {"judged", GB_OPTION_FLAG, &o.params.judged, 0, NULL,
         "add columns Judged@10: of the first ten passages, the share that is judged at all"},
        {"quiet", GB_OPTION_FLAG, &o.quiet, 0, NULL, "print only the names of the written files"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_report, options, call, NULL, &code))
        return code;
    o.params.scale = scales[scale];
    char *tables = gb_tables_find(call->config, o.tables, &status);
    o.params.tables_dir = tables;
    if (tables)
        run_report(&o, &status);
    free(tables);
    return gb_command_end(&status);
}

const gb_command gb_cli_report = {
    .name = "report",
    .summary = "print a published table next to the reproduced one",
    .usage = "--table TABLE --results FILE [options]",
    .description =
        "Print a table of a paper next to the recorded results and these, with verdicts, and write "
        "table.md, .json, .html, .csv and .tex. gabbro reproduce makes the file of results and "
        "calls this.",
    .run = run};
