/* gabbro report: a table of a paper beside what was obtained. */
#include "cli.h"
#include <gabbro/report.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro report --table TABLE --results FILE [options]\n"
    "\n"
    "Print a table of a paper beside the recorded results and this run's, with verdicts, and "
    "write\n"
    "table.md, .json, .html, .csv and .tex. `reproduce` makes the results file and calls this.\n"
    "\n"
    "  --table TABLE    paper and table, e.g. qac/table1\n"
    "  --results FILE   JSON lines: what was run, then one line a row (or one a value)\n"
    "  --scale SCALE    mini (default), small or paper\n"
    "  --out DIR        where table.md, .json, .html, .csv, .tex go (default: not written)\n"
    "  --record         add this run's seeds to the recorded results of the table and scale\n"
    "  --tables DIR     published numbers, claims, records (default: $GABBRO_TABLES, else those "
    "that\n"
    "                   came with the program)\n"
    "  --quiet          print nothing but the names of the written files\n"
    "  --list           list the tables and whether they can be reproduced\n"
    "  -h, --help       this text\n";

/* The command line. */
typedef struct options {
    gb_report_params params; /* tables_dir is set later */
    const char *tables;      /* --tables, or NULL */
    const char *out;         /* --out, or NULL */
    bool record;             /* --record */
    bool quiet;              /* --quiet */
    bool list;               /* --list */
} options;

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

static bool run_report(options *given, gb_status *status)
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
    gb_report_free(report);
    return ok;
}

/* One line a table: name, yes or no, title. */
static bool run_list(const char *tables, gb_status *status)
{
    char *path = gb_path_join(status, tables, "tables.tsv");
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    free(path);
    if (!lines)
        return false;
    char *line;
    size_t length;
    int got;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (gb_lines_number(lines) == 1)
            continue;
        const char *name = strtok(line, "\t"), *title = strtok(NULL, "\t");
        gb_table_spec *spec = name ? gb_table_spec_load(tables, name, NULL) : NULL;
        printf("%-14s %-4s %s\n", name ? name : "", spec ? "yes" : "-", title ? title : "");
        gb_table_spec_free(spec);
    }
    gb_lines_close(lines);
    return got == 0;
}

/* 0 to go on, else an exit code + 1. */
static int parse(int argc, char **argv, options *given, gb_status *status)
{
    static const struct option long_options[] = {
        {"table", required_argument, NULL, 't'},  {"results", required_argument, NULL, 'r'},
        {"scale", required_argument, NULL, 's'},  {"out", required_argument, NULL, 'o'},
        {"tables", required_argument, NULL, 'd'}, {"record", no_argument, NULL, 'R'},
        {"quiet", no_argument, NULL, 'q'},        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},         {0}};
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        switch (option) {
        case 't':
            given->params.table = optarg;
            break;
        case 'r':
            given->params.results = optarg;
            break;
        case 's':
            given->params.scale = optarg;
            break;
        case 'o':
            given->out = optarg;
            break;
        case 'd':
            given->tables = optarg;
            break;
        case 'R':
            given->record = true;
            break;
        case 'q':
            given->quiet = true;
            break;
        case 'l':
            given->list = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return GB_OK + 1;
        default:
            gb_fail(status, GB_USAGE, NULL, "see gabbro report --help",
                    "report: unknown or incomplete option %s", argv[optind - 1]);
            return 0;
        }
    }
    const char *scale = given->params.scale;
    if (optind < argc || (!given->list && (!given->params.table || !given->params.results)))
        gb_fail(status, GB_USAGE, NULL, "see gabbro report --help",
                "report needs --table and --results, and nothing else");
    else if (strcmp(scale, "mini") != 0 && strcmp(scale, "small") != 0 &&
             strcmp(scale, "paper") != 0)
        gb_fail(status, GB_USAGE, scale, "mini, small or paper", "unknown scale");
    return 0;
}

int gb_cli_report(int argc, char **argv)
{
    options given = {.params.scale = "mini"};
    gb_status status = {0};
    int stop = parse(argc, argv, &given, &status);
    if (stop)
        return stop - 1;
    char *tables = status.code == GB_OK ? gb_tables_find(given.tables, &status) : NULL;
    given.params.tables_dir = tables;
    bool ok = tables && (given.list ? run_list(tables, &status) : run_report(&given, &status));
    free(tables);
    if (!ok)
        gb_status_print(&status);
    return ok ? GB_OK : (int)status.code;
}
