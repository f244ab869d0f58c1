/* How the claims of a report are judged, on synthetic results. */
#include "small_report.h"

TestSuite(report_claims, .init = setup, .fini = teardown);

/* The rows Span, Query and Late, and the columns b-one:n, b-two:n and more. */
static void put_sets(const char *more)
{
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "late\tLate @ G\ttrained\tDense\tLate\n");
    char *columns = gb_format(NULL,
                              "column\tobtained\theader\tlabel\n"
                              "b-one:n\tb-one:n\tone\tOne\n"
                              "b-two:n\tb-two:n\ttwo\tTwo\n%s",
                              more);
    put("tables/columns/x-table1.tsv", columns);
    free(columns);
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n");
}

/* Judges one claim about Query, Span and Late, which has no result, over three seeds in which Query
 * is above Span by `one` in the column b-one:n and by `two` in b-two:n; b-three:n has no values. */
static void expect_verdict(const char *kind, const char *column, const char *sides, double one,
                           double two, gb_verdict verdict)
{
    char *claims =
        gb_format(NULL,
                  "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
                  "x-01\tx/table1\t%s\t%s\t%s\tyes\t\t-\ta claim\n",
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
Test(report_claims, what_is_left_out_can_matter)
{
    put_sets("b-three:n\tb-three:n\tthree\tThree\n");
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
Test(report_claims, rows_of_any_column_that_did_not_converge)
{
    put_sets("");
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tb-*\tQuery @ G\tSpan @ G ; Late @ G\tyes\t\t-\ta claim\n");
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
Test(report_claims, both_sides_of_the_difference_are_named)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tset:MRR@10\tSpan @ G ; Query @ G\tOld @ G ; None @ G\tyes\t\t-\t"
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

/* Beside a difference stands the paper's own, of the rows and the column that decide. */
Test(report_claims, the_papers_own_difference)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tset:*\tQuery @ G\tSpan @ G\tyes\t\t-\tis above\n"
        "x-02\tx/table1\tlt\tset:MRR@10\tSpan @ G\tQuery @ G\tyes\t\t-\tis below\n"
        "x-03\tx/table1\tgt\tset:MRR@10\tQuery @ G\tNew @ G\ttext\t\t-\tis above a new one\n");
    put("tables/rows/x-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                    "span\tSpan @ G\ttrained\tDense\tSpan\n"
                                    "query\tQuery @ G\ttrained\tDense\tQuery\n"
                                    "new\tNew @ G\ttrained\tDense\tNew\n");
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"
        "Span\tG\tset:MRR@10\t38.8\tpercent\t\tPaper Table 1\tok\t\n"
        "Query\tG\tset:MRR@10\t39.4\tpercent\t\tPaper Table 1\tok\t\n"
        "Span\tG\tset:R@50\t87.8\tpercent\t\tPaper Table 1\tok\t\n"
        "Query\tG\tset:R@50\t88.9\tpercent\t\tPaper Table 1\tok\t\n");
    gb_text text = {0};
    gb_text_printf(&text, "{\"table\": \"x/table1\", \"collection\": \"w\"}\n");
    static const char *const rows[] = {"span", "query", "new"};
    for (int i = 0; i < 18; i++)
        gb_text_printf(&text,
                       "{\"row\": \"%s\", \"seed\": %d, \"column\": \"set:%s\", \"value\": %g}\n",
                       rows[i % 3], i / 6, i / 3 % 2 ? "R@50" : "MRR@10",
                       .3 + (i % 3 == 1) * (i / 3 % 2 ? .01 : .02));
    put("own.jsonl", text.data);
    gb_text_free(&text);
    gb_report *report = build("own.jsonl");
    cr_expect_str_eq(report->judgements[0].shown_as, "R@50");
    cr_expect_float_eq(report->judgements[0].published, 1.1, 1e-9, "of the column that decides");
    cr_expect_float_eq(report->judgements[1].published, .6, 1e-9, "in the claimed direction");
    cr_expect(isnan(report->judgements[2].published), "a cell is missing");
    gb_report_free(report);
}

/* A table over several sets: one evaluation a set, their mean, and a claim that counts wins. */
Test(report_claims, sets_means_and_wins)
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
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\twins:2\tb-*:n\tQuery @ G\tSpan @ G\tyes\t\t-\twins two\n"
        "x-02\tx/table1\twins:3\tb-*:n\tQuery @ G\tSpan @ G\tyes\t\t-\twins three\n"
        "x-03\tx/table1\tgt\tb-average:n\tQuery @ G\tSpan @ G\tyes\t\t-\tis better\n"
        "x-04\tx/table1\twins:4\tb-*:n\tQuery @ G\tSpan @ G\tyes\t\t-\twins four\n");
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
Test(report_claims, rows_at_chance_are_not_opponents)
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
Test(report_claims, chance_is_recorded)
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

Test(report_claims, columns_at_their_ceiling_decide_nothing)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tge:1\tset:R@50\tQuery @ G\tSpan @ G\tyes\t\t-\tno fewer\n");
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

Test(report_claims, margins_are_shown_beside_the_difference)
{
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tge:1\tset:MRR@10\tQuery @ G\tSpan @ G\tyes\tassumption: D23\t-"
        "\tno lower\n"
        "x-02\tx/table1\tnear:10%\tset:MRR@10\tQuery @ G\tSpan @ G\tyes\t\t-\tthe same\n"
        "x-03\tx/table1\tgt\tset:MRR@10\tQuery @ G\tSpan @ G\tyes\tconstruction: calibrated"
        "\t-\tabove\n");
    const double span[] = {.302, .302, .301}, query[] = {.3, .301, .299};
    put_pair("set:MRR@10", span, query, "");
    gb_report *report = build("pair.jsonl");
    char *text = text_of(report);
    cr_expect(strstr(text, "x-01    supported: no lower\n        paper +0.6; mean -0.2 over 3 "
                           "seeds, interval -0.3 to 0.0, margin 1.0\n        assumption: D23\n"),
              "%s", text);
    cr_expect(strstr(text, "x-02    supported: the same\n        paper +0.6; mean -0.2 (the "
                           "deciding one of 2: Query against Span)"),
              "%s", text);
    cr_expect(strstr(text, "x-03    not judged (construction: calibrated): above"), "%s", text);
    free(text);
    gb_report_free(report);
}
