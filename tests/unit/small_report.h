/* A small table with three claims, results of some seeds, and the report on them. */
#ifndef GABBRO_TESTS_SMALL_REPORT_H
#define GABBRO_TESTS_SMALL_REPORT_H

#include "gabbro/report.h"
#include "gabbro/store.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char root[64]; /* folder of the running test: tables/ and results */

static inline void put(const char *name, const char *text)
{
    gb_status status = {0};
    char *path = gb_path_join(NULL, root, name), *slash = strrchr(path, '/');
    *slash = '\0';
    cr_assert(gb_make_dirs(path, &status), "%s", status.what);
    *slash = '/';
    cr_assert(gb_write_file(path, text, strlen(text), &status), "%s", status.what);
    free(path);
}

/* A small table: a quoted row, two trained ones, one of ours; two columns; three claims. */
static inline void setup(void)
{
    gb_log_set_level(GB_LOG_ERROR);
    snprintf(root, sizeof root, "/tmp/gabbro-report-XXXXXX");
    cr_assert(mkdtemp(root));
    put("tables/tables.tsv", "table\ttitle\talias\nx/table1\tA small table\t\n");
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "-\tOld @ G\tquoted\tDense\tOld\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "none\t-\textra\tOurs\tNone\n"
                                    "bm25\t-\tbaseline\tOurs\tBM25\n");
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "set:MRR@10\tdev:MRR@10\tMRR@10\tSet, MRR@10\n"
                                       "set:R@50\tdev:Hit@50\tR@50\tSet, R@50\n");
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"
        "Old\tG\tset:MRR@10\t38.2\tpercent\t\tPaper Table 1\tok\t\n"
        "Span\tG\tset:MRR@10\t38.8\tpercent\tdagger\tPaper Table 1\tok\t\n"
        "Span\tG\tset:R@50\t87.8\tpercent\t\tPaper Table 1\tcorrected\tsmudged | <here>\n"
        "Query\tG\tset:MRR@10\t39.4\tpercent\tbold\tPaper Table 1\tok\t\n"
        "Query\tG\tset:R@50\t88.6\tpercent\t\tPaper Table 1\tok\t\n");
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tset:MRR@10\tQuery @ G\tSpan @ G\tyes\t\t-\tqueries beat spans\n"
        "x-02\tx/table1\tbest\tset:MRR@10\tQuery @ G\tOld @ G ; Span @ G\tyes\t\t-\tqueries are "
        "best\n"
        "x-03\tx/table1\tgt\tset:R@50\tSpan @ G\tQuery @ G\tno\t\t-\tspans find more\n"
        "y-01\ty/table1\tgt\tset:R@50\tA @ B\tC @ D\tyes\t\t-\tof another table\n");
    put("tables/deviations.tsv", "id\ttables\tscales\ttopic\tpaper\there\twhy\n"
                                 "D01\tx/table1\tworld\tcollection\tbig\tsmall\tcost\n"
                                 "D02\tx/table1\tpaper\thardware\tone\tother\tmoney\n"
                                 "D03\tall\town\tdata\ttheirs\tyours\tchoice\n");
}

static inline void teardown(void)
{
    gb_remove_tree(root, NULL);
}

/* Results of the seeds first..last; span and query per seed as in two arrays. */
static inline void put_results(const char *name, int first, int last, const char *settings)
{
    static const double span[] = {.30, .32, .34, .36}, query[] = {.40, .43, .43, .47};
    gb_text text = {0};
    gb_text_printf(&text,
                   "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": \"world-1\", "
                   "\"settings\": %s, \"device\": \"lavapipe\", \"driver\": \"22.3\", "
                   "\"kernels\": \"abc\", \"times\": {\"wall_s\": 3}}\n",
                   settings);
    for (int seed = first; seed <= last; seed++) {
        gb_text_printf(&text,
                       "{\"row\": \"span\", \"seed\": %d, \"column\": \"dev:MRR@10\", \"value\": "
                       "%.17g, \"converged\": %s}\n",
                       seed, span[seed - 42], seed == 43 ? "false" : "true");
        gb_text_printf(&text,
                       "{\"row\": \"query\", \"seed\": %d, \"column\": \"set:MRR@10\", \"value\": "
                       "%.17g, \"converged\": true}\n",
                       seed, query[seed - 42]);
        gb_text_printf(
            &text,
            "{\"row\": \"none\", \"seed\": %d, \"column\": \"dev:MRR@10\", \"value\": 0.25}"
            "\n{\"row\": \"none\", \"seed\": %d, \"column\": \"dev:P@7\", \"value\": 1}\n",
            seed, seed);
    }
    put(name, text.data);
    gb_text_free(&text);
}

static inline gb_report *build_scale(const char *results, const char *scale, gb_status *status)
{
    char *tables = gb_path_join(NULL, root, "tables"), *path = gb_path_join(NULL, root, results);
    gb_report_params params = {tables, "x/table1", scale, path, false};
    gb_report *report = gb_report_build(&params, status);
    free(tables);
    free(path);
    return report;
}

/* With columns Judged@10. */
static inline gb_report *build_judged(const char *results)
{
    gb_status status = {0};
    char *tables = gb_path_join(NULL, root, "tables"), *path = gb_path_join(NULL, root, results);
    gb_report *report =
        gb_report_build(&(gb_report_params){tables, "x/table1", "mini", path, true}, &status);
    cr_assert(report, "%s: %s", status.where, status.what);
    free(tables);
    free(path);
    return report;
}

static inline gb_report *build(const char *results)
{
    gb_status status = {0};
    gb_report *report = build_scale(results, "mini", &status);
    cr_assert(report, "%s: %s", status.where, status.what);
    return report;
}

static inline bool record(const char *results, gb_status *status)
{
    char *tables = gb_path_join(NULL, root, "tables");
    gb_report *report = build(results);
    bool ok = gb_report_record(report, tables, status);
    gb_report_free(report);
    free(tables);
    return ok;
}

static inline char *text_of(const gb_report *report)
{
    gb_text text = {0};
    gb_report_text(report, &text);
    cr_assert(!text.failed);
    return text.data;
}

#endif
