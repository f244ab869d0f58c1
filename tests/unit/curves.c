/* Figures of a measure against a number: means and intervals, levels, damaged input. */
#include "gabbro/figures.h"
#include "scratch.h"

static void put_point(gb_text *lines, const char *series, const char *x, int number, double value)
{
    char path[60], metrics[80];
    snprintf(path, sizeof path, "e%d/metrics.json", number);
    snprintf(metrics, sizeof metrics, number % 2 ? "{\"m\": %g}" : "{\"m\": {\"value\": %g}}",
             value);
    scratch_write(path, metrics);
    gb_text_printf(lines, "{\"series\": \"%s\", \"evaluation\": \"e%d\"%s%s}\n", series, number,
                   *x ? ", \"x\": " : "", x);
}

static const char header[] = "{\"figure\": \"x/fig1\", \"title\": \"T & t\", \"x\": \"n\", \"y\": "
                             "\"m\", \"measure\": \"m\"}\n";

Test(curves, means_over_seeds_by_x)
{
    scratch s = scratch_enter();
    gb_text lines = {0};
    gb_text_printf(&lines, "%s", header);
    put_point(&lines, "a", "20", 1, .5);
    put_point(&lines, "a", "10", 2, .1);
    put_point(&lines, "a", "10", 3, .2);
    put_point(&lines, "a", "10", 4, .3);
    put_point(&lines, "level", "", 5, .4);
    scratch_write("r.jsonl", lines.data);
    gb_text_free(&lines);
    gb_status status = {0};
    cr_assert(gb_curves_write("r.jsonl", "out", &status), "%s: %s", status.where, status.what);
    char *tsv = gb_read_file("out/figure.tsv", NULL, NULL);
    /* mean .2, sd .1, t(.975, 2) = 4.302653: .2 -+ .248414 */
    cr_expect_str_eq(tsv, "series\tx\tseeds\tmean\tlow\thigh\n"
                          "a\t10\t3\t0.200000\t-0.048414\t0.448414\n"
                          "a\t20\t1\t0.500000\t0.500000\t0.500000\n"
                          "level\t-\t1\t0.400000\t0.400000\t0.400000\n");
    free(tsv);
    char *html = gb_read_file("out/figure.html", NULL, NULL);
    cr_expect(strstr(html, "T &amp; t") && strstr(html, "<svg"));
    free(html);
    cr_expect(gb_file_exists("out/figure.svg") && gb_file_exists("out/figure.png"));
    scratch_leave(&s);
}

Test(curves, damaged_results_name_the_line)
{
    static const struct {
        const char *second, *what;
    } bad[] = {{"{\"series\": \"a\"}", "\"evaluation\""},
               {"{\"series\": \"a\", \"evaluation\": \"e1\", \"x\": \"1\"}", "number \"x\""},
               {"[1]", "object"}};
    scratch s = scratch_enter();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gb_text lines = {0};
        gb_text_printf(&lines, "%s%s\n", header, bad[i].second);
        scratch_write("r.jsonl", lines.data);
        gb_text_free(&lines);
        gb_status status = {0};
        cr_expect_not(gb_curves_write("r.jsonl", "out", &status));
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_str_eq(status.where, "r.jsonl:2");
        cr_expect(strstr(status.what, bad[i].what), "%s", status.what);
    }
    scratch_write("e1/metrics.json", "{\"other\": 1}");
    gb_text lines = {0};
    gb_text_printf(&lines, "%s{\"series\": \"a\", \"evaluation\": \"e1\"}\n", header);
    scratch_write("r.jsonl", lines.data);
    gb_text_free(&lines);
    gb_status status = {0};
    cr_expect_not(gb_curves_write("r.jsonl", "out", &status));
    cr_expect_str_eq(status.where, "e1/metrics.json");
    cr_expect_not(gb_file_exists("out/figure.svg"));
    scratch_leave(&s);
}
