/* The records of a table: what of them is compared with a run, and what recording changes. */
#include "small_report.h"

#include <sys/wait.h>
#include <unistd.h>

TestSuite(records, .init = setup, .fini = teardown);

Test(records, recorded_seeds_decide)
{
    gb_status status = {0};
    put_results("three.jsonl", 42, 44, "{}");
    cr_assert(record("three.jsonl", &status), "%s", status.what);
    put_results("one.jsonl", 42, 42, "{}");
    gb_report *report = build("one.jsonl");
    const gb_judgement *j = &report->judgements[0];
    cr_expect_eq(report->recorded.count, 3);
    cr_expect_eq(j->seeds, 3, "seed 42 counts once");
    cr_expect_eq(j->verdict, GB_SUPPORTED);
    cr_expect_eq(j->unconverged, 1);
    cr_expect_float_eq(j->mean, 10, 1e-9);
    char *text = text_of(report);
    cr_expect(strstr(text, "recorded: 3 seeds (42 43 44)"), "%s", text);
    cr_expect(strstr(text, "32.0 (2.0)"), "%s", text);
    cr_expect(strstr(text, "30.0="), "%s", text);
    cr_expect(strstr(text, "not converged: 1/3 recorded"), "%s", text);
    cr_expect(strstr(text, "interval +7.5 to +12.5"), "%s", text);
    cr_expect(strstr(text, "3 values of seed 42 equal those of its recorded run (="), "%s", text);
    cr_expect(strstr(text, "did not converge: Span in 1 of 3 seeds"), "%s", text);
    free(text);
    gb_report_free(report);

    /* A seed of one's own joins the recorded ones. */
    put_results("new.jsonl", 45, 45, "{}");
    report = build("new.jsonl");
    cr_expect_eq(report->judgements[0].seeds, 4);
    text = text_of(report);
    cr_expect(strstr(text, "36.0~"), "%s", text);
    free(text);
    gb_report_free(report);
}

/* A recorded seed may lack rows on request; this run's has them. */
Test(records, a_seed_with_more_rows_takes_the_place_of_the_recorded_one)
{
    static const char head[] = "{\"table\": \"x/table1\", \"collection\": \"w\"}\n",
                      row[] = "{\"row\": \"%s\", \"seed\": %d, \"column\": \"set:MRR@10\", "
                              "\"value\": %g}\n";
    gb_status status = {0};
    gb_text some = {0}, all = {0};
    gb_text_printf(&some, "%s", head);
    gb_text_printf(&all, "%s", head);
    for (int seed = 1; seed <= 3; seed++) {
        gb_text_printf(&some, row, "span", seed, .3 + .01 * seed);
        if (seed < 3)
            gb_text_printf(&some, row, "query", seed, .4);
        gb_text_printf(&all, row, "span", seed, .3);
        gb_text_printf(&all, row, "query", seed, .4 + .001 * seed);
    }
    put("some.jsonl", some.data);
    put("all.jsonl", all.data);
    cr_assert(record("some.jsonl", &status), "%s", status.what);
    gb_report *report = build("all.jsonl");
    const gb_judgement *j = &report->judgements[0];
    cr_expect_eq(j->seeds, 3);
    cr_expect_float_eq(j->mean, (9 + 8 + 10.3) / 3, 1e-9, "seeds 1 and 2 as recorded: %g", j->mean);
    gb_report_free(report);
    gb_text_free(&some);
    gb_text_free(&all);
}

/* Times of two machines are judged apart: the larger set of seeds, this run's if they are equal. */
Test(records, times_do_not_mix)
{
    put("tables/columns/x-table1.tsv", "column\tobtained\theader\tlabel\n"
                                       "efficiency:s\tdev:MRR@10 set:MRR@10\ts\tSeconds\n");
    put("tables/published/x-table1.tsv",
        "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"
        "Span\tG\tefficiency:s\t1\tseconds\t\tPaper Table 1\tok\t\n"
        "Query\tG\tefficiency:s\t2\tseconds\t\tPaper Table 1\tok\t\n");
    put("tables/claims.tsv",
        "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere\tstatement\n"
        "x-01\tx/table1\tgt\tefficiency:s\tQuery @ G\tSpan @ G\tyes\t\t-\tqueries take longer\n");
    gb_status status = {0};
    put_results("three.jsonl", 42, 44, "{}");
    cr_assert(record("three.jsonl", &status), "%s", status.what);
    static const struct {
        int first, last;
        double mean;
    } runs[] = {{45, 45, .30 / 3}, {43, 45, .31 / 3}};
    for (int i = 0; i < 2; i++) {
        put_results("here.jsonl", runs[i].first, runs[i].last, "{}");
        gb_report *report = build("here.jsonl");
        cr_expect_eq(report->judgements[0].seeds, 3);
        cr_expect_float_eq(report->judgements[0].mean, runs[i].mean, 1e-9);
        gb_report_free(report);
    }
}

Test(records, other_settings_do_not_mix)
{
    gb_status status = {0};
    put_results("three.jsonl", 42, 44, "{\"steps\": 600}");
    cr_assert(record("three.jsonl", &status), "%s", status.what);
    put_results("one.jsonl", 42, 42, "{\"steps\": 1200}");
    gb_report *report = build("one.jsonl");
    cr_expect_eq(report->recorded.count, 0);
    cr_expect(strstr(report->recorded_note, "other settings"), "%s", report->recorded_note);
    cr_expect_eq(report->judgements[0].seeds, 1);
    gb_report_free(report);
    cr_expect(!record("one.jsonl", &status));
    cr_expect_eq(status.code, GB_DATA);
}

/* The sum of the table's commands decides, where it is told: settings that it does not use may
 * change. */
Test(records, the_recipe_decides)
{
    gb_status status = {0};
    put_results("three.jsonl", 42, 44, "{\"steps\": 600}, \"recipe\": \"1-2\"");
    cr_assert(record("three.jsonl", &status), "%s", status.what);
    put_results("same.jsonl", 42, 42, "{\"steps\": 600, \"other\": 7}, \"recipe\": \"1-2\"");
    gb_report *report = build("same.jsonl");
    cr_expect_eq(report->recorded.count, 3);
    gb_report_free(report);
    put_results("changed.jsonl", 42, 42, "{\"steps\": 600}, \"recipe\": \"3-4\"");
    report = build("changed.jsonl");
    cr_expect_eq(report->recorded.count, 0);
    gb_report_free(report);
    put("world.jsonl",
        "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": \"world-2\", "
        "\"recipe\": \"1-2\"}\n"
        "{\"row\": \"span\", \"seed\": 42, \"column\": \"dev:MRR@10\", \"value\": 0.3}\n");
    report = build("world.jsonl");
    cr_expect_eq(report->recorded.count, 0, "the same commands on another collection");
    gb_report_free(report);
}

Test(records, recording_adds_and_replaces_seeds)
{
    gb_status status = {0};
    put_results("a.jsonl", 42, 43, "{}");
    put_results("b.jsonl", 43, 44, "{}");
    cr_assert(record("a.jsonl", &status) && record("b.jsonl", &status), "%s", status.what);
    char *path = gb_path_join(NULL, root, "tables/recorded/x-table1.mini.json");
    json_t *json = json_load_file(path, 0, NULL);
    cr_assert_not_null(json);
    json_t *seeds = json_object_get(json, "seeds");
    cr_expect_eq(json_object_size(seeds), 3);
    json_t *rows = json_object_get(json_object_get(seeds, "43"), "rows");
    cr_expect(json_is_false(json_object_get(json_object_get(rows, "span"), "converged")));
    json_t *values = json_object_get(json_object_get(rows, "query"), "values");
    cr_expect_float_eq(json_real_value(json_object_get(values, "set:MRR@10")), .43, 0,
                       "values come back to the bit");
    json_decref(json);
    char *before = gb_read_file(path, NULL, NULL);
    cr_assert(record("b.jsonl", &status));
    char *after = gb_read_file(path, NULL, NULL);
    cr_expect_str_eq(before, after, "recording again changes nothing");
    free(before);
    free(after);
    put("tables/recorded/x-table1.mini.json", "{\"seeds\": 3}");
    cr_expect_null(build_scale("a.jsonl", "mini", &status), "a damaged record is named");
    cr_expect_eq(status.code, GB_DATA);
    static const char *const damaged[][2] = {
        {"\"4x2\": {\"rows\": {}}", "the seed \"4x2\""},
        {"\"42\": null", "the seed \"42\""},
        {"\"42\": {\"rows\": {\"span\": 1}}", "seed 42, row span: no \"values\""},
        {"\"42\": {\"rows\": {\"span\": {\"values\": {\"set:MRR@10\": \"0.4\"}}}}",
         "set:MRR@10 is no number"},
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"seeds\": {%s}}", damaged[i][0]);
        put("tables/recorded/x-table1.mini.json", text);
        status = (gb_status){0};
        cr_expect_null(build_scale("a.jsonl", "mini", &status), "%s", damaged[i][0]);
        cr_expect(status.code == GB_DATA && strstr(status.what, damaged[i][1]), "%s", status.what);
    }
    free(path);
}

/* One row of seed 42, made with these kernels and, if the table makes it on request, this recipe.
 */
static void put_row(const char *name, const char *kernels, const char *recipe)
{
    char text[500];
    snprintf(text, sizeof text,
             "{\"table\": \"x/table1\", \"scale\": \"mini\", \"collection\": \"world-1\", "
             "\"settings\": {\"later\": 1}, \"device\": \"lavapipe\", \"driver\": \"22.3\", "
             "\"kernels\": \"%s\", \"recipe\": \"1-2\"%s%s%s}\n"
             "{\"row\": \"span\", \"seed\": 42, \"column\": \"dev:MRR@10\", \"value\": 0.5}\n",
             kernels, recipe ? ", \"recipes_on_request\": {\"span\": \"" : "", recipe ? recipe : "",
             recipe ? "\"}" : "");
    put(name, text);
}

/* Two processes that read the same records and write them anew would lose one's seed. */
Test(records, seeds_that_are_recorded_at_once_all_stay)
{
    enum { AT_ONCE = 4 };
    gb_report *reports[AT_ONCE];
    gb_status status = {0};
    pid_t children[AT_ONCE];
    char *tables = gb_path_join(NULL, root, "tables");
    for (int i = 0; i < AT_ONCE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.jsonl", i);
        put_results(name, 42 + i, 42 + i, "{}");
        reports[i] = build(name);
    }
    for (int i = 0; i < AT_ONCE; i++)
        if ((children[i] = fork()) == 0)
            _exit(gb_report_record(reports[i], tables, NULL) ? 0 : 1);
    for (int i = 0; i < AT_ONCE; i++) {
        int result;
        cr_assert_eq(waitpid(children[i], &result, 0), children[i]);
        cr_expect_eq(result, 0);
        gb_report_free(reports[i]);
    }
    char *path = gb_path_join(NULL, tables, "recorded/x-table1.mini.json");
    json_t *all = gb_json_load(path, 0, &status);
    cr_expect_eq(json_object_size(json_object_get(all, "seeds")), AT_ONCE);
    json_decref(all);
    free(path);
    free(tables);
}

Test(records, rows_that_were_not_made_again_stay_recorded)
{
    gb_status status = {0};
    put_results("a.jsonl", 42, 42, "{}, \"recipe\": \"1-2\"");
    cr_assert(record("a.jsonl", &status), "%s", status.what);
    put_row("one.jsonl", "abc", NULL);
    cr_assert(record("one.jsonl", &status), "%s", status.what);
    gb_report *report = build("a.jsonl");
    const double *values = report->recorded.items[0].values;
    cr_expect_eq(values[1 * report->column_count], .5, "the new one");
    cr_expect_eq(values[2 * report->column_count], .4, "the one that stayed");
    gb_report_free(report);
    char *path = gb_path_join(NULL, root, "tables/recorded/x-table1.mini.json");
    char *before = gb_read_file(path, NULL, NULL);
    cr_expect(strstr(before, "\"later\": 1"), "settings are those of the last recording");
    put_row("other.jsonl", "def", NULL);
    cr_expect_not(record("other.jsonl", &status), "kernels do not mix");
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, "lacks: none, query"), "%s", status.what);
    char *after = gb_read_file(path, NULL, NULL);
    cr_expect_str_eq(before, after);
    free(before);
    free(after);
    free(path);
}

/* Some columns of a row do not take the place of all. */
Test(records, values_that_were_not_made_again_stay_recorded)
{
    gb_status status = {0};
    put_results("a.jsonl", 42, 42, "{}, \"recipe\": \"1-2\"");
    cr_assert(record("a.jsonl", &status), "%s", status.what);
    put_row("one.jsonl", "abc", NULL);
    char *path = gb_path_join(NULL, root, "tables/recorded/x-table1.mini.json");
    json_t *kept = gb_json_load(path, 0, NULL);
    json_t *span = json_object_get(
        json_object_get(json_object_get(json_object_get(kept, "seeds"), "42"), "rows"), "span");
    json_object_set_new(json_object_get(span, "values"), "set:R@50", json_real(.75));
    json_object_set_new(span, "converged", json_true());
    cr_assert(gb_json_save(kept, GB_JSON_FILE, path, NULL));
    cr_assert(record("one.jsonl", &status), "%s", status.what);
    gb_report *report = build("a.jsonl");
    const double *values = &report->recorded.items[0].values[1 * report->column_count];
    cr_expect_eq(values[0], .5, "the new one");
    cr_expect_eq(values[1], .75, "the one that stayed");
    cr_expect_eq(report->recorded.items[0].converged[1], 1);
    gb_report_free(report);
    json_decref(kept);
    free(path);
}

/* The table's recipe is that of a plain run, which does not have the commands of such a row. */
Test(records, a_row_on_request_has_a_recipe_of_its_own)
{
    gb_status status = {0};
    put_row("made.jsonl", "abc", "5-6");
    cr_assert(record("made.jsonl", &status), "%s", status.what);
    gb_report *report = build("made.jsonl");
    cr_expect_eq(report->recorded.items[0].values[report->column_count], .5);
    cr_expect_str_eq(report->outdated, "");
    gb_report_free(report);
    put_row("changed.jsonl", "abc", "7-8");
    report = build("changed.jsonl");
    cr_expect(isnan(report->recorded.items[0].values[report->column_count]));
    char *text = text_of(report);
    cr_expect(strstr(text, "recorded: seed 42, without span (made with other"), "%s", text);
    free(text);
    gb_report_free(report);
}
