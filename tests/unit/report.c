/* The report on synthetic results: text word for word, what stands beside it, where it is read. */
#include "small_report.h"

TestSuite(report, .init = setup, .fini = teardown);

Test(report, text_of_one_seed)
{
    put_results("one.jsonl", 42, 42, "{}");
    gb_report *report = build("one.jsonl");
    char *text = text_of(report);
    static const char expected[] =
        "A small table (x/table1, Paper Table 1)\n"
        "Scale: mini, collection world-1, this run: seed 42, recorded: none (no recorded results "
        "at "
        "this scale)\n"
        "\n"
        "                                                         MRR@10        R@50\n"
        "Dense\n"
        "  Old                                    published        38.2           -\n"
        "  Span                                   published        38.8        87.8\n"
        "                                         here             30.0           -\n"
        "  Query                                  published        39.4        88.6\n"
        "                                         here             40.0           -\n"
        "Ours\n"
        "  None                                   here             25.0           -\n"
        "\n"
        "Claims of the paper (differences in the table's unit, positive in the claimed direction)\n"
        "x-01    undecided (needs 2 more seeds): queries beat spans\n"
        "        paper +0.6; mean +10.0 over 1 seed\n"
        "x-02    undecided (needs 2 more seeds): queries are best\n"
        "        paper +0.6; mean +10.0 over 1 seed\n"
        "        not compared: only quoted: Old\n"
        "x-03    not judged (the paper's own numbers do not satisfy it): spans find more\n"
        "\n"
        "Device: lavapipe, 22.3, kernels abc\n"
        "Deviations from the paper (table.md says more): D01 collection\n"
        "\n";
    cr_expect_eq(strncmp(text, expected, strlen(expected)), 0, "\n%s", text);
    free(text);
    gb_report_free(report);
}

Test(report, rows_below_the_baseline_say_so)
{
    put("low.jsonl",
        "{\"table\": \"x/table1\"}\n"
        "{\"row\": \"bm25\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.35}\n"
        "{\"row\": \"none\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.36}\n"
        "{\"row\": \"query\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.34}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.33, "
        "\"converged\": false}\n");
    gb_report *report = build("low.jsonl");
    char *text = text_of(report);
    cr_expect(strstr(text, "    below the baseline                   here             34.0"), "%s",
              text);
    cr_expect(strstr(text, "    did not converge here                here             33.0"), "%s",
              text);
    char *first = strstr(text, "below the baseline");
    cr_expect(first && !strstr(first + 1, "below the baseline"), "%s", text);
    free(text);
    gb_report_free(report);
}

Test(report, own_collection_stands_alone)
{
    put("own.jsonl",
        "{\"table\": \"x/table1\", \"collection_kind\": \"own\", \"collection\": \"c\"}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"test:nDCG@10\", \"value\": 0.5}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"test:P@5\", \"value\": 0.2}\n");
    gb_report *report = build("own.jsonl");
    cr_assert_eq(report->column_count, 1, "of the usual measures");
    cr_expect_str_eq(report->columns[0].name, "test:nDCG@10");
    cr_expect_eq(report->judgements[0].verdict, GB_NOT_JUDGED);
    char *text = text_of(report);
    cr_expect(strstr(text, "50.0"), "%s", text);
    cr_expect_null(strstr(text, "38.8"), "%s", text);
    cr_expect(strstr(text, "D03 data"), "%s", text);
    cr_expect_null(strstr(text, "D01"), "%s", text);
    free(text);
    gb_status status = {0};
    char *tables = gb_path_join(NULL, root, "tables");
    cr_expect(!gb_report_record(report, tables, &status));
    cr_expect_eq(status.code, GB_USAGE);
    free(tables);
    gb_report_free(report);
}

Test(report, paper_scale_judges_cells_and_quoted_rows)
{
    put("paper.jsonl",
        "{\"table\": \"x/table1\", \"scale\": \"paper\", \"collection_kind\": \"paper\"}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.3871}\n"
        "{\"row\": \"span\", \"seed\": 2, \"column\": \"set:MRR@10\", \"value\": 0.3880}\n"
        "{\"row\": \"span\", \"seed\": 3, \"column\": \"set:MRR@10\", \"value\": 0.3889}\n"
        "{\"row\": \"query\", \"seed\": 1, \"column\": \"set:MRR@10\", \"value\": 0.4071}\n"
        "{\"row\": \"query\", \"seed\": 2, \"column\": \"set:MRR@10\", \"value\": 0.4080}\n"
        "{\"row\": \"query\", \"seed\": 3, \"column\": \"set:MRR@10\", \"value\": 0.4089}\n");
    gb_status status = {0};
    gb_report *report = build_scale("paper.jsonl", "paper", &status);
    cr_assert(report, "%s", status.what);
    char *shown = text_of(report);
    cr_expect(strstr(shown, "[OK]"), "%s", shown);
    cr_expect(strstr(shown, "[HIGH]"), "%s", shown);
    cr_expect(strstr(shown, "D02 hardware"), "%s", shown);
    cr_expect_eq(report->judgements[1].verdict, GB_SUPPORTED, "against the quoted 38.2 too");
    cr_expect_float_eq(report->judgements[1].mean, 2.0, 1e-9);
    free(shown);
    gb_report_free(report);
}

/* Results of which there is Judged@10: of dev, of another set, and of one that no column is of. */
static void put_judged(const char *name)
{
    put("d/metrics.json", "{\"dev:MRR@10\": 0.3, \"dev:Judged@10\": 0.7, \"dev:R@5\": 0.1}");
    put("s/metrics.json", "{\"test:n\": 0.4, \"test:Judged@10\": {\"value\": 0.6}}");
    put("o/metrics.json", "{\"test:other\": 0.5, \"test:Judged@10\": 0.5}");
    put(name, "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": \"w\"}\n"
              "{\"row\": \"span\", \"seed\": 42, \"evaluation\": \"d\"}\n"
              "{\"row\": \"span\", \"seed\": 42, \"set\": \"b-one\", \"evaluation\": \"s\"}\n"
              "{\"row\": \"span\", \"seed\": 42, \"set\": \"c\", \"evaluation\": \"o\"}\n");
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "set:MRR@10\tset:MRR@10 dev:MRR@10\tMRR@10\tSet, MRR@10\n"
                                       "set:R@50\tdev:Hit@50\tR@50\tSet, R@50\n"
                                       "b-one:n\tb-one/test:n\tone\tOne\n"
                                       "b-average:n\tmean:b-*\tmean\tMean\n");
}

/* Only where they are asked for: a column for each split that another column is of. */
Test(report, how_many_passages_are_judged)
{
    put_judged("judged.jsonl");
    gb_report *plain = build("judged.jsonl"), *report = build_judged("judged.jsonl");
    cr_assert_eq(plain->column_count, 4);
    cr_assert_eq(report->column_count, 6, "%zu", report->column_count);
    cr_expect_eq(report->judged_count, 2);
    cr_expect_str_eq(report->columns[4].name, "dev:Judged@10");
    cr_expect_str_eq(report->columns[5].name, "b-one/test:Judged@10");
    const double *values = report->here.items[0].values + 6; /* of the second row */
    cr_expect_eq(values[4], .7);
    cr_expect_eq(values[5], .6);
    cr_expect_eq(values[3], .4, "no part of a mean of columns");
    gb_text markdown = {0}, csv = {0};
    gb_report_markdown(report, &markdown);
    gb_report_csv(report, &csv);
    char *text = text_of(report), *before = text_of(plain);
    cr_expect(strstr(text, "dev  b-one/test\n"), "%s", text);
    cr_expect(strstr(text, "   Judged@10   Judged@10\n"), "%s", text);
    cr_expect(strstr(markdown.data, "| mean | dev:Judged@10 | b-one/test:Judged@10 | verdict |"),
              "%s", markdown.data);
    cr_expect(strstr(markdown.data, "b-one/test:Judged@10 = b-one/test: share of the first ten"));
    cr_expect(strstr(csv.data, ",b-one/test:Judged@10,,,,,0,60,,1,"), "%s", csv.data);
    cr_expect(strstr(text, "Judged@10: of the first ten passages"), "%s", text);
    cr_expect_null(strstr(before, "Judged"), "%s", before);
    free(before);
    free(text);
    gb_text_free(&markdown);
    gb_text_free(&csv);
    gb_report_free(plain);
    gb_report_free(report);
}

/* Records, and what is compared with them, are the same with and without. */
Test(report, what_is_judged_is_not_recorded)
{
    gb_status status = {0};
    put_judged("judged.jsonl");
    char *tables = gb_path_join(NULL, root, "tables");
    char *path = gb_path_join(NULL, tables, "recorded/x-table1.mini.json");
    cr_assert(record("judged.jsonl", &status), "%s", status.what);
    char *plain = gb_read_file(path, NULL, NULL);
    gb_report *report = build_judged("judged.jsonl");
    cr_assert(gb_report_record(report, tables, &status), "%s", status.what);
    char *again = gb_read_file(path, NULL, NULL);
    cr_expect_str_eq(plain, again);
    cr_expect_null(strstr(again, "Judged"), "%s", again);
    char *text = text_of(report);
    cr_expect(strstr(text, "3 values of seed 42 equal those of its recorded run (="), "%s", text);
    free(text);
    free(plain);
    free(again);
    free(path);
    free(tables);
    gb_report_free(report);
}

Test(report, own_collection_shows_how_many_are_judged)
{
    put("own.jsonl",
        "{\"table\": \"x/table1\", \"collection_kind\": \"own\", \"collection\": \"c\"}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"test:nDCG@10\", \"value\": 0.5}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"dev:Judged@10\", \"value\": 0.1}\n"
        "{\"row\": \"span\", \"seed\": 1, \"column\": \"test:Judged@10\", \"value\": 0.2}\n");
    gb_report *report = build_judged("own.jsonl");
    cr_assert_eq(report->column_count, 2, "dev has no column of its own");
    cr_expect_str_eq(report->columns[1].name, "test:Judged@10");
    char *text = text_of(report);
    cr_expect(strstr(text, "50.0        20.0"), "%s", text);
    free(text);
    gb_report_free(report);
}

/* What was left out of rankings stands in every form, with its sets where there are several. */
Test(report, passages_that_were_left_out_are_told)
{
    static const char row[] = "{\"row\": \"span\", \"seed\": 1, \"evaluation\": \"e\"";
    static const char drop[] = ", \"drop_identical\": true";
    static const struct {
        const char *sets[4]; /* of the lines of results, "" without one */
        const char *told;    /* NULL: nothing */
    } cases[] = {{{""}, "left out"},
                 {{"", ", \"set\": \"before\""}, "left out"},
                 {{", \"set\": \"b-two\"", ", \"set\": \"before/b-two\"", ", \"set\": \"b-one\""},
                  "left out (b-two, b-one)"},
                 {{NULL}, NULL}};
    put("e/metrics.json", "{\"dev:MRR@10\": 0.3}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gb_text lines = {0}, markdown = {0}, html = {0};
        gb_text_printf(&lines, "{\"table\": \"x/table1\"}\n%s, \"set\": \"whole\"}\n", row);
        for (size_t s = 0; cases[i].sets[s]; s++)
            gb_text_printf(&lines, "%s%s%s}\n", row, cases[i].sets[s], drop);
        put("dropped.jsonl", lines.data);
        gb_report *report = build("dropped.jsonl");
        gb_report_markdown(report, &markdown);
        gb_report_html(report, &html);
        char *text = text_of(report);
        const char *const forms[] = {markdown.data, html.data, text};
        for (size_t f = 0; f < 3; f++) {
            const char *found =
                strstr(forms[f], "Rankings: passages with the id of the query were ");
            cr_expect_eq(found != NULL, cases[i].told != NULL, "%zu, %zu: %s", i, f, forms[f]);
            cr_expect(!found || strstr(found, cases[i].told), "%zu, %zu: %s", i, f, forms[f]);
        }
        free(text);
        gb_text_free(&lines);
        gb_text_free(&markdown);
        gb_text_free(&html);
        gb_report_free(report);
    }
}

/* A step in a store: folder with metrics.json (and more), path to be freed. */
static char *make_of(gb_store *store, const gb_artifact_desc *of, const char *metrics,
                     const char *queries, const json_t *facts)
{
    gb_status status = {0};
    json_t *settings = json_pack("{s:i, s:s}", "seed", 42, "for", metrics ? metrics : "");
    gb_artifact_desc desc = *of;
    desc.version = 1;
    desc.settings = settings;
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert(step, "%s", status.what);
    const char *below = gb_artifact_path(step) + strlen(root) + 1;
    char *a = gb_path_join(NULL, below, "metrics.json");
    char *b = gb_path_join(NULL, below, "per-query/dev.tsv");
    if (metrics)
        put(a, metrics);
    if (queries)
        put(b, queries);
    cr_assert(gb_artifact_finish(step, facts, &status), "%s: %s", status.where, status.what);
    char *path = strdup(gb_artifact_path(step));
    gb_artifact_close(step);
    json_decref(settings);
    free(a);
    free(b);
    return path;
}

static char *make_step(gb_store *store, const char *kind, const char *metrics, const char *queries,
                       const json_t *facts)
{
    const gb_artifact_desc desc = {.kind = kind, .device = "gpu one", .kernels = "k42"};
    return make_of(store, &desc, metrics, queries, facts);
}

Test(report, rows_from_the_folders_of_steps)
{
    char *store_path = gb_path_join(NULL, root, "store");
    gb_store *store = gb_store_open(store_path, NULL);
    json_t *bad = json_pack("{s:b}", "converged", 0);
    json_t *driver = json_pack("{s:s}", "driver", "Mesa 25");
    char *model = make_step(store, "finetune", NULL, NULL, bad);
    char *one = make_step(store, "evaluate", "{\"dev:MRR@10\": 0.3, \"dev:Hit@50\": 0.9}",
                          "query\tMRR@10\tHit@50\nq1\t0.1\t1\nq2\t0.2\t1\nq3\t0.6\t0\n", driver);
    char *two = make_step(store, "evaluate",
                          "{\"dev:MRR@10\": {\"value\": 0.4, \"queries\": 3, "
                          "\"per_query\": \"per-query/dev.tsv\", \"name\": \"rr\"}}",
                          "query\trr\nq3\t0.9\nq1\t0.2\nq2\t0.1\nq4\t0.1\n", driver);
    char *lines = gb_format(NULL,
                            "{\"table\": \"x/table1\", \"collection\": \"w\"}\n"
                            "{\"row\": \"span\", \"seed\": 42, \"evaluation\": \"%s\", "
                            "\"model\": \"%s\"}\n"
                            "{\"row\": \"query\", \"seed\": 42, \"evaluation\": \"%s\", "
                            "\"model\": \"\"}\n",
                            one, model, two);
    put("steps.jsonl", lines);
    gb_report *report = build("steps.jsonl");
    const gb_seed_run *run = &report->here.items[0];
    cr_expect_str_eq(run->device, "gpu one");
    cr_expect_str_eq(run->driver, "Mesa 25");
    cr_expect_str_eq(run->kernels, "k42");
    cr_expect_eq(run->converged[1], 0);
    cr_expect_eq(run->converged[2], -1);
    cr_expect_str_eq(run->steps[1], strrchr(one, '/') + 1);
    cr_expect_float_eq(run->values[1 * 2 + 1], 0.9, 0);
    /* Differences .1, -.1, .3 over q1..q3: mean .1, sd .2, t .8660254, p .4777 (df 2). */
    cr_expect_eq(report->judgements[0].queries, 3);
    cr_expect_float_eq(report->judgements[0].query_p, 0.477670, 1e-4);
    gb_report_free(report);
    json_decref(bad);
    json_decref(driver);
    gb_store_close(store);
    free(lines);
    free(model);
    free(one);
    free(two);
    free(store_path);
}

Test(report, a_mean_has_the_device_of_what_it_is_of)
{
    char *store_path = gb_path_join(NULL, root, "store");
    gb_store *store = gb_store_open(store_path, NULL);
    json_t *facts = json_pack("{s:s}", "driver", "Mesa 25");
    char *one = make_step(store, "evaluate", "{\"dev:MRR@10\": 0.3}", NULL, facts);
    json_t *inputs = json_pack("{s:[s]}", "of", strrchr(one, '/') + 1);
    const gb_artifact_desc desc = {.kind = "mean", .inputs = inputs};
    char *mean = make_of(store, &desc, "{\"dev:MRR@10\": 0.3}", NULL, NULL);
    char *lines = gb_format(NULL,
                            "{\"table\": \"x/table1\", \"collection\": \"w\"}\n"
                            "{\"row\": \"span\", \"seed\": 42, \"evaluation\": \"%s\", "
                            "\"model\": \"\"}\n",
                            mean);
    put("mean.jsonl", lines);
    gb_report *report = build("mean.jsonl");
    cr_expect_str_eq(report->here.items[0].device, "gpu one");
    cr_expect_str_eq(report->here.items[0].driver, "Mesa 25");
    cr_expect_str_eq(report->here.items[0].kernels, "k42");
    gb_report_free(report);
    json_decref(facts);
    json_decref(inputs);
    gb_store_close(store);
    free(lines);
    free(one);
    free(mean);
    free(store_path);
}
