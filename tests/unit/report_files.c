/* The report as files, equal bytes; damaged results and tables. */
#include "small_report.h"

TestSuite(report_files, .init = setup, .fini = teardown);

Test(report_files, json_differs_in_times_only)
{
    put_results("one.jsonl", 42, 43, "{\"steps\": 600}");
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        gb_report *report = build("one.jsonl");
        gb_text text = {0};
        gb_status status = {0};
        cr_assert(gb_report_json(report, &text, &status), "%s", status.what);
        json_t *json = json_loads(text.data, 0, NULL);
        cr_assert_not_null(json);
        json_t *times = json_object_get(json, "times");
        cr_expect_eq(json_integer_value(json_object_get(times, "wall_s")), 3);
        cr_expect(json_is_string(json_object_get(times, "reported")));
        json_t *row = json_array_get(json_object_get(json, "rows"), 1);
        json_t *cell = json_object_get(json_object_get(row, "cells"), "set:MRR@10");
        cr_expect_float_eq(json_real_value(json_object_get(cell, "published")), 38.8, 0);
        cr_expect_float_eq(json_real_value(json_object_get(json_object_get(cell, "here"), "42")),
                           .30, 0);
        json_object_del(json, "times");
        texts[i] = json_dumps(json, 0);
        json_decref(json);
        gb_text_free(&text);
        gb_report_free(report);
    }
    cr_expect_str_eq(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

Test(report_files, files_are_written)
{
    put_results("one.jsonl", 42, 42, "{}");
    gb_report *report = build("one.jsonl");
    gb_status status = {0};
    char *folder = gb_path_join(NULL, root, "out/deep");
    cr_assert(gb_report_write(report, folder, &status), "%s", status.what);
    char *md_path = gb_path_join(NULL, folder, "table.md");
    char *html_path = gb_path_join(NULL, folder, "table.html");
    char *markdown = gb_read_file(md_path, NULL, &status);
    char *html = gb_read_file(html_path, NULL, &status);
    cr_assert(markdown && html, "%s", status.what);
    cr_expect(strstr(markdown, "| Span | 38.8 / – / **30.0** | 87.8 |"), "%s", markdown);
    cr_expect(strstr(markdown, "x-01 undecided (needs 2 more seeds)"), "%s", markdown);
    cr_expect(strstr(html, "38.8†"), "%s", html);
    cr_expect(strstr(html, "title=\"smudged | &lt;here&gt;\""), "%s", html);
    cr_expect_null(strstr(html, "<script"));
    cr_expect_null(strstr(html, "http"), "nothing is fetched");
    free(markdown);
    free(html);
    free(md_path);
    free(html_path);
    free(folder);
    gb_report_free(report);
}

Test(report_files, damaged_results_name_their_line)
{
#define HEADER "{\"table\": \"x/table1\"}\n"
#define ROW    "{\"row\": \"span\", \"seed\": 1, \"column\": \"set:R@50\", \"value\": "
    static const struct {
        const char *text;  /* of the file */
        const char *where; /* in the message */
    } cases[] = {
        {"", "bad.jsonl"},
        {"{\"table\": \"y/table1\"}\n", "bad.jsonl:1"},
        {HEADER "{\"row\": \"span\", \"se\n", "bad.jsonl:2"},
        {HEADER "[1]\n", "bad.jsonl:2"},
        {HEADER "{\"row\": \"nobody\", \"seed\": 1, \"column\": \"c\", \"value\": 1}\n",
         "bad.jsonl:2"},
        {HEADER "{\"row\": \"span\", \"column\": \"c\", \"value\": 1}\n", "bad.jsonl:2"},
        {HEADER "{\"row\": \"span\", \"seed\": 1}\n", "bad.jsonl:2"},
        {HEADER ROW "0.5}\n" ROW "0.6}\n", "bad.jsonl:3"},
        {HEADER "{\"row\": \"span\", \"seed\": 1, \"evaluation\": \"/nowhere\"}\n",
         "/nowhere/metrics.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put("bad.jsonl", cases[i].text);
        gb_status status = {0};
        gb_report *report = build_scale("bad.jsonl", "mini", &status);
        cr_expect_null(report, "case %zu", i);
        cr_expect_eq(status.code, GB_DATA, "case %zu: %s", i, status.what);
        cr_expect(strstr(status.where, cases[i].where), "case %zu: %s: %s", i, status.where,
                  status.what);
    }
    put("bad.jsonl", "{\"table\": \"x/table1\", \"scale\": \"paper\"}\n");
    gb_status status = {0};
    cr_expect_null(build_scale("bad.jsonl", "mini", &status));
    cr_expect_eq(status.code, GB_USAGE);
}

Test(report_files, damaged_tables_name_their_line)
{
    put_results("one.jsonl", 42, 42, "{}");
    static const char *const files[][3] = {
        {"tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\na\tb\tking\tc\td\n",
         ":2"},
        {"tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\na\tb\n", ":2"},
        {"tables/rows/x-table1.tsv", "key\tpublished\tgroup\tlabel\n", ":1"},
        {"tables/published/x-table1.tsv",
         "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"
         "Old\tG\tset:R@50\tmany\tpercent\t\tP\tok\t\n",
         ":2"},
        {"tables/published/x-table1.tsv",
         "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"
         "Odd\tG\tset:R@50\t1\tpercent\t\tP\tok\t\n",
         ":2"},
        {"tables/claims.tsv",
         "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
         "x\tx/table1\tgt\tset:R@50\tOld @ G\tOdd @ G\tyes\t\t-\ts\n",
         ":2"},
        {"tables/claims.tsv",
         "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
         "x\tx/table1\teach\tset:R@50\tOld @ G ; Span @ G\tQuery @ G\tyes\t\t-\ts\n",
         ":2"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = gb_path_join(NULL, root, files[i][0]);
        char *kept = gb_read_file(path, NULL, NULL);
        put(files[i][0], files[i][1]);
        gb_status status = {0};
        cr_expect_null(build_scale("one.jsonl", "mini", &status), "case %zu", i);
        cr_expect_eq(status.code, GB_DATA, "case %zu: %s", i, status.what);
        cr_expect(strstr(status.where, files[i][0]) && strstr(status.where, files[i][2]),
                  "case %zu: %s", i, status.where);
        put(files[i][0], kept);
        free(kept);
        free(path);
    }
}

Test(report_files, main_table_fits_a_terminal)
{
    put("main.jsonl",
        "{\"table\": \"qac/table1\", \"scale\": \"mini\", \"collection\": \"world\"}\n"
        "{\"row\": \"cotmae-query-r2\", \"seed\": 42, \"column\": \"dev:MRR@10\", \"value\": 0.5}\n"
        "{\"row\": \"cotmae-query-r2\", \"seed\": 43, \"column\": \"dev:MRR@10\", \"value\": "
        "0.6}\n");
    char *path = gb_path_join(NULL, root, "main.jsonl");
    gb_report_params params = {GABBRO_TEST_TABLES, "qac/table1", "mini", path};
    gb_status status = {0};
    gb_report *report = gb_report_build(&params, &status);
    cr_assert(report, "%s: %s", status.where, status.what);
    char *text = text_of(report);
    size_t lines = 0;
    for (char *at = text; *at; at += strcspn(at, "\n") + 1, lines++)
        cr_expect_leq(strcspn(at, "\n"), 124, "%.130s", at);
    for (const char *at = text; *at; at++)
        cr_assert(*at == '\n' || (*at >= ' ' && *at <= '~'), "ASCII: %.40s", at);
    cr_expect(strstr(text, "55.0 (7.1)"), "%s", text);
    cr_expect(strstr(text, "RocketQA"), "quoted rows are there");
    cr_expect_gt(lines, 50);
    free(text);
    free(path);
    gb_report_free(report);
}

Test(report_files, csv_and_latex)
{
    gb_status status = {0};
    put_results("three.jsonl", 42, 44, "{}");
    cr_assert(record("three.jsonl", &status), "%s", status.what);
    put_results("one.jsonl", 42, 42, "{}");
    gb_report *report = build("one.jsonl");
    gb_text csv = {0}, latex = {0};
    report->spec->rows[1].label = "50% of \"A_1\", B & C";
    gb_report_csv(report, &csv);
    gb_report_latex(report, &latex);
    static const char *const lines[] = {
        "table,scale,row,group,label,role,column,published,published_status,recorded_mean,"
        "recorded_sd,recorded_seeds,here_mean,here_sd,here_seeds,verdict\r\n",
        "x/table1,mini,,Dense,Old,quoted,set:MRR@10,38.2,ok,,,0,,,0,\r\n",
        "x/table1,mini,span,Dense,\"50% of \"\"A_1\"\", B & "
        "C\",trained,set:MRR@10,38.8,ok,32,2,3,30,,"
        "1,\r\n",
        "x/table1,mini,none,Ours,None,extra,set:MRR@10,,,25,0,3,25,,1,\r\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_expect(strstr(csv.data, lines[i]), "%s in %s", lines[i], csv.data);
    cr_expect(strstr(latex.data, "\\begin{tabular}{l|rrr|rrr}\n"), "%s", latex.data);
    cr_expect(strstr(latex.data, "50\\% of \"A\\_1\", B \\& C & 38.8 & 32.0 $\\pm$ 2.0 & 30.0 & "
                                 "87.8 &  &  \\\\\n"),
              "%s", latex.data);
    cr_expect(strstr(latex.data, "\\multicolumn{7}{l}{\\textit{Dense}} \\\\\n"));
    gb_text_free(&csv);
    gb_text_free(&latex);
    gb_report_free(report);
}

/* Where a name would end a row early, or be a command or another letter, in LaTeX. */
Test(report_files, latex_of_odd_names)
{
    put_results("one.jsonl", 42, 42, "{}");
    gb_report *report = build("one.jsonl");
    gb_text latex = {0};
    report->spec->rows[1].label = "[CLS] <a|b>";
    report->spec->rows[2].label = "* starred";
    gb_report_latex(report, &latex);
    static const char *const lines[] = {
        "\n{[}CLS] \\textless{}a\\textbar{}b\\textgreater{} & ",
        "\n{*} starred & ",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_expect(strstr(latex.data, lines[i]), "%s in %s", lines[i], latex.data);
    gb_text_free(&latex);
    gb_report_free(report);
}

/* Names of groups, columns, collections and devices stand in table.md as they are. */
Test(report_files, markdown_of_odd_names)
{
    put("coll/collection.json", "{\"name\": \"my\\n<b> *x*\", \"passages\": 3, "
                                "\"notes\": [\"a_b_ | <i>\"]}");
    char *coll = gb_path_join(NULL, root, "coll");
    char *results = gb_format(NULL,
                              "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": "
                              "\"%s\", \"settings\": {}, \"device\": \"dev <0>\"}\n"
                              "{\"row\": \"span\", \"seed\": 1, \"column\": \"set:MRR@10\", "
                              "\"value\": 0.3}\n",
                              coll);
    put("odd.jsonl", results);
    gb_report *report = build("odd.jsonl");
    for (size_t r = 0; r < report->spec->row_count; r++)
        report->spec->rows[r].group = "A|B <c>";
    report->columns[0].label = "Set <s>";
    gb_text markdown = {0};
    gb_report_markdown(report, &markdown);
    static const char *const wanted[] = {
        "collection my \\<b> \\*x\\*, 3 passages.",
        "Collection: a\\_b\\_ \\| \\<i>.",
        "| **A\\|B \\<c>** | | | |\n",
        "MRR@10 = Set \\<s>; ",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect(strstr(markdown.data, wanted[i]), "%s in %s", wanted[i], markdown.data);
    gb_text_free(&markdown);
    gb_report_free(report);
    free(results);
    free(coll);
}
