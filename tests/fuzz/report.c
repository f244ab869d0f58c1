/* All that a table is made of: what the paper printed, rows, columns, claims, deviations, records
 * of other seeds and the results of a run. */
#include "fuzz.h"

#include <gabbro/report.h>

static const char *const files[] = {"results.jsonl", "recorded/x-t.mini.json", "tables.tsv",
                                    "rows/x-t.tsv",  "columns/x-t.tsv",        "published/x-t.tsv",
                                    "claims.tsv",    "deviations.tsv",         NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    char tables[FUZZ_PATH], results[FUZZ_PATH + 16];
    snprintf(tables, sizeof tables, "%s", fuzz_parts("tables", files, data, size));
    snprintf(results, sizeof results, "%s/results.jsonl", tables);
    gb_report_params params = {
        .tables_dir = tables, .table = "x/t", .scale = "mini", .results = results};
    gb_report *report = gb_report_build(&params, &status);
    fuzz_check(report != NULL, &status);
    if (report) {
        gb_text forms = {0};
        gb_report_text(report, &forms);
        gb_report_markdown(report, &forms);
        gb_report_html(report, &forms);
        gb_report_csv(report, &forms);
        gb_report_latex(report, &forms);
        fuzz_check(gb_report_json(report, &forms, &status), &status);
        gb_text_free(&forms);
    }
    gb_report_free(report);
    return 0;
}
