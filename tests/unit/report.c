/* The report on synthetic results: text word for word, claims, what stands beside them. */
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
        "        mean +10.0 over 1 seed\n"
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

/* Judges one claim about Query, Span and Late, which has no result, over three seeds in which Query
 * is above Span by `one` in the column b-one:n and by `two` in b-two:n; b-three:n has no values. */
static void expect_verdict(const char *kind, const char *column, const char *sides, double one,
                           double two, gb_verdict verdict)
{
    char *claims = gb_format(
        NULL,
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\t%s\t%s\t%s\t\tyes\t\t-\ta claim\n",
        kind, column, sides);
    put("tables/claims.tsv", claims);
    free(claims);
    gb_text text = {0};
    gb_text_printf(&text, "{\"table\": \"x/table1\", \"collection\": \"w\"}\n");
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < 2; c++)
            gb_text_printf(&text,
                           "{\"row\": \"%s\", \"seed\": %d, \"column\": \"b-%s:n\", \"value\": "
                           "%g}\n",
                           i % 2 ? "query" : "span", i / 2, c ? "two" : "one",
                           .5 + (i % 2) * (c ? two : one) + .001 * i);
    put("part.jsonl", text.data);
    gb_text_free(&text);
    gb_report *report = build("part.jsonl");
    const gb_judgement *j = &report->judgements[0];
    cr_expect_eq(j->verdict, verdict, "%s %s: %d (%s)", kind, sides, j->verdict, j->reason);
    gb_report_free(report);
}

/* A verdict that a row without a result, or a set that was left out, could change is none. */
Test(report, what_is_left_out_can_matter)
{
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "late\tLate @ G\ttrained\tDense\tLate\n");
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "b-one:n\tb-one:n\tone\tOne\n"
                                       "b-two:n\tb-two:n\ttwo\tTwo\n"
                                       "b-three:n\tb-three:n\tthree\tThree\n");
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n");
    const char *two = "Query @ G\tSpan @ G", *three = "Query @ G\tSpan @ G ; Late @ G";
    expect_verdict("gt", "b-one:n", two, .1, .1, GB_SUPPORTED);
    expect_verdict("gt", "b-one:n", three, .1, .1, GB_UNDECIDED);
    expect_verdict("gt", "b-one:n", three, -.1, .1, GB_CONTRADICTED);
    expect_verdict("not-order", "b-one:n", three, .1, .1, GB_SUPPORTED);
    expect_verdict("not-order", "b-one:n", three, -.1, .1, GB_UNDECIDED);
    expect_verdict("mean", "b-one:n", three, .1, .1, GB_NOT_JUDGED);
    expect_verdict("wins:2", "b-*", two, .1, .1, GB_SUPPORTED);
    expect_verdict("wins:2", "b-*", two, .1, -.1, GB_UNDECIDED);
    expect_verdict("wins:2", "b-*", two, -.1, -.1, GB_CONTRADICTED);
}

/* In one column Span is at chance and Late is not; in the other both are compared. */
Test(report, rows_of_any_column_that_did_not_converge)
{
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "late\tLate @ G\ttrained\tDense\tLate\n");
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "b-one:n\tb-one:n\tone\tOne\n"
                                       "b-two:n\tb-two:n\ttwo\tTwo\n");
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n");
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tb-*\tQuery @ G\tSpan @ G ; Late @ G\t\tyes\t\t-\ta claim\n");
    static const char *const rows[] = {"span", "query", "late"};
    gb_text text = {0};
    gb_text_printf(&text, "{\"table\": \"x/table1\", \"collection\": \"w\"}\n");
    for (int i = 0; i < 18; i++)
        gb_text_printf(&text,
                       "{\"row\": \"%s\", \"seed\": %d, \"column\": \"b-%s:n\", \"value\": %g, "
                       "\"chance\": 0.001, \"converged\": %s}\n",
                       rows[i % 3], i / 6, i / 3 % 2 ? "two" : "one",
                       i % 6 == 0 ? .01 : .3 + .1 * (i % 3 == 1), i % 3 ? "true" : "false");
    put("part.jsonl", text.data);
    gb_text_free(&text);
    gb_report *report = build("part.jsonl");
    const gb_judgement *j = &report->judgements[0];
    cr_expect_eq(j->comparisons, 3);
    cr_expect_str_eq(j->left_out, "at chance: Span");
    cr_expect_str_eq(j->weak, "Span in 3 of 3 seeds");
    cr_expect_eq(j->unconverged, 3);
    gb_report_free(report);
}

/* Where both sides vary, one of them does not say which difference it is. */
Test(report, both_sides_of_the_difference_are_named)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tset:MRR@10\tSpan @ G ; Query @ G\tOld @ G ; None @ G\t\tyes\t\t-\t"
        "all are above\n");
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "old\tOld @ G\tbaseline\tDense\tOld\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "none\tNone @ G\tbaseline\tDense\tNone\n");
    static const struct {
        const char *row;
        double value;
    } rows[] = {{"old", .1}, {"span", .5}, {"query", .4}, {"none", .2}};
    gb_text text = {0};
    gb_text_printf(&text, "{\"table\": \"x/table1\", \"collection\": \"w\"}\n");
    for (int i = 0; i < 12; i++)
        gb_text_printf(
            &text, "{\"row\": \"%s\", \"seed\": %d, \"column\": \"set:MRR@10\", \"value\": %g}\n",
            rows[i % 4].row, i / 4, rows[i % 4].value);
    put("sides.jsonl", text.data);
    gb_text_free(&text);
    gb_report *report = build("sides.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_SUPPORTED);
    cr_expect_str_eq(report->judgements[0].shown_as, "Query against None");
    gb_report_free(report);
}

/* A table over several sets: one evaluation a set, their mean, and a claim that counts wins. */
Test(report, sets_means_and_wins)
{
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "set:MRR@10\tdev:MRR@10\tMRR@10\tSet, MRR@10\n"
                                       "set:R@50\tdev:Hit@50\tR@50\tSet, R@50\n"
                                       "b-one:n\tb-one/test:n\tone\tOne\n"
                                       "b-two:n\tb-two/test:n\ttwo\tTwo\n"
                                       "b-three:n\tb-three/test:n\tthree\tThree\n"
                                       "b-average:n\tmean:b-*:n\tmean\tMean\n"
                                       "b-average:n:gain\tgain:b-average:n\tgain\tGain\n");
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\twins:2\tb-*:n\tQuery @ G\tSpan @ G\t\tyes\t\t-\twins two\n"
        "x-02\tx/table1\twins:3\tb-*:n\tQuery @ G\tSpan @ G\t\tyes\t\t-\twins three\n"
        "x-03\tx/table1\tgt\tb-average:n\tQuery @ G\tSpan @ G\t\tyes\t\t-\tis better\n"
        "x-04\tx/table1\twins:4\tb-*:n\tQuery @ G\tSpan @ G\t\tyes\t\t-\twins four\n");
    static const char *const sets[] = {"b-one", "b-two", "b-three"};
    static const double span[] = {.2, .3, .4}, query[] = {.3, .4, .1};
    gb_text text = {0};
    gb_text_printf(&text,
                   "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": \"w\"}\n");
    for (int set = 0; set < 3; set++) {
        for (int row = 0; row < 2; row++) {
            char folder[40], metrics[80];
            snprintf(folder, sizeof folder, "e%d%d/metrics.json", set, row);
            snprintf(metrics, sizeof metrics, "{\"test:n\": {\"value\": %g}}",
                     row ? query[set] : span[set]);
            put(folder, metrics);
            gb_text_printf(&text,
                           "{\"row\": \"%s\", \"seed\": 42, \"set\": \"%s\", \"evaluation\": "
                           "\"e%d%d\"}\n",
                           row ? "query" : "span", sets[set], set, row);
        }
    }
    put("sets.jsonl", text.data);
    gb_text_free(&text);
    gb_report *report = build("sets.jsonl");
    const double *values = report->here.items[0].values;
    cr_expect_float_eq(values[1 * 7 + 5], .3, 1e-12, "mean of the span row");
    cr_expect_float_eq(values[2 * 7 + 5], .8 / 3, 1e-12, "mean of the query row");
    cr_expect(isnan(values[3 * 7 + 5]), "no mean where sets are missing");
    cr_expect(isnan(values[1 * 7 + 6]), "the first row that is obtained gains nothing");
    cr_expect_float_eq(values[2 * 7 + 6], .8 / 3 - .3, 1e-12, "the query row above it");
    cr_expect(isnan(values[3 * 7 + 6]), "no gain where the mean is missing");
    cr_expect_float_eq(report->judgements[0].mean, 10, 1e-9, "the second of three");
    cr_expect_str_eq(report->judgements[0].shown_as, "two", "which rounding puts behind \"one\"");
    cr_expect_float_eq(report->judgements[1].mean, -30, 1e-9, "all three: the least");
    cr_expect_str_eq(report->judgements[1].shown_as, "three");
    cr_expect_lt(report->judgements[2].mean, 0);
    const gb_judgement *more = &report->judgements[3]; /* wins than sets */
    cr_expect_eq(more->verdict, GB_NOT_JUDGED);
    cr_expect_str_eq(more->reason, "columns are missing");
    cr_expect_float_eq(more->mean, -30, 1e-9, "all three: the least");
    gb_report_free(report);
}

/* Three seeds of two rows in one column of two; JSON of what a random order scores, or "". */
static void put_pair(const char *column, const double *span, const double *query,
                     const char *chance)
{
    gb_text text = {0};
    gb_text_printf(&text, "{\"table\": \"x/table1\", \"collection\": \"w\"}\n");
    for (int i = 0; i < 6; i++)
        gb_text_printf(
            &text, "{\"row\": \"%s\", \"seed\": %d, \"column\": \"%s\", \"value\": %g%s}\n",
            i % 2 ? "query" : "span", i / 2, column, (i % 2 ? query : span)[i / 2], chance);
    put("pair.jsonl", text.data);
    gb_text_free(&text);
}

/* What x-01 becomes: of a row that scores what a random order would, nothing can be said. */
Test(report, rows_at_chance_are_not_opponents)
{
    const double span[] = {.021, .019, .02}, query[] = {.3, .31, .32};
    put_pair("set:MRR@10", span, query, ", \"chance\": 0.0015");
    gb_report *report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_NOT_JUDGED);
    cr_expect_str_eq(report->judgements[0].reason, "at chance: Span");
    gb_report_free(report);
    put_pair("set:MRR@10", (double[]){.03, .02, .025}, query, ", \"chance\": 0.0015");
    report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_SUPPORTED, "more than two points above it");
    gb_report_free(report);
    put_pair("set:MRR@10", span, query, "");
    report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_SUPPORTED, "not known here");
    gb_report_free(report);
}

/* What a random order scores comes back with the records. */
Test(report, chance_is_recorded)
{
    const double span[] = {.021, .019, .02}, query[] = {.3, .31, .32};
    gb_status status = {0};
    put_pair("set:MRR@10", span, query, ", \"chance\": 0.0015");
    cr_assert(record("pair.jsonl", &status), "%s", status.what);
    put_pair("set:MRR@10", span, query, "");
    gb_report *report = build("pair.jsonl");
    cr_expect_str_eq(report->judgements[0].reason, "at chance: Span");
    gb_report_free(report);
}

Test(report, columns_at_their_ceiling_decide_nothing)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tge:1\tset:R@50\tQuery @ G\tSpan @ G\t\tyes\t\t-\tno fewer\n");
    const double span[] = {1, .99, .98}, query[] = {.9996, 1, .99}, lower[] = {.9, 1, .9};
    put_pair("set:R@50", span, query, "");
    gb_report *report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_NOT_JUDGED);
    cr_expect_str_eq(report->judgements[0].reason, "at its ceiling: R@50");
    gb_report_free(report);
    put_pair("set:R@50", lower, query, "");
    report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_NOT_JUDGED, "half of six");
    gb_report_free(report);
    put_pair("set:R@50", (double[]){.9, .91, .9}, (double[]){.98, 1, .99}, "");
    report = build("pair.jsonl");
    cr_expect_eq(report->judgements[0].verdict, GB_SUPPORTED);
    gb_report_free(report);
}

Test(report, margins_are_shown_beside_the_difference)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tprinted_delta\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tge:1\tset:MRR@10\tQuery @ G\tSpan @ G\t\tyes\tassumption: D23\t-"
        "\tno lower\n"
        "x-02\tx/table1\tnear:10%\tset:MRR@10\tQuery @ G\tSpan @ G\t\tyes\t\t-\tthe same\n"
        "x-03\tx/table1\tgt\tset:MRR@10\tQuery @ G\tSpan @ G\t\tyes\tconstruction: calibrated"
        "\t-\tabove\n");
    const double span[] = {.302, .302, .301}, query[] = {.3, .301, .299};
    put_pair("set:MRR@10", span, query, "");
    gb_report *report = build("pair.jsonl");
    char *text = text_of(report);
    cr_expect(strstr(text, "x-01    supported: no lower\n        mean -0.2 over 3 seeds, 95% "
                           "interval -0.3 to 0.0, margin 1.0\n        assumption: D23\n"),
              "%s", text);
    cr_expect(strstr(text, "x-02    supported: the same"), "%s", text);
    cr_expect(strstr(text, "x-03    not judged (construction: calibrated): above"), "%s", text);
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
    cr_expect(strstr(text, "3 values equal the recorded run"), "%s", text);
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
