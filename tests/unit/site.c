/* The static site: every link resolves, every row has its page, commands and hashes are there. */
#include "gabbro/report.h"
#include "site_help.h"

TestSuite(site, .init = enter, .fini = leave);

Test(site, every_link_resolves)
{
    static const char *const folders[] = {"in", "fig", "in"}; /* the same table twice */
    write_site(folders, 3);
    /* Every page: its stylesheet, and past what is above its content. */
    enum { ALL = 2 };
    /* Front: the claims, twice two that are drawn, why others are not, two tables and a figure. */
    cr_expect_eq(check_links("index.html"), ALL + 9);
    /* Home, and three claims of each table. */
    cr_expect_eq(check_links("claims.html"), ALL + 7);
    cr_expect(gb_file_exists("site/figures/fig/curve.svg"));
    static const char *const tables[] = {"qac-table1.mini.html", "qac-table1.mini-2.html"};
    for (size_t i = 0; i < 2; i++)
        /* Home, row, two values, a claim, a curve, three files. */
        cr_expect_geq(check_links(tables[i]), ALL + 8, "%s", tables[i]);
    /* Home, table, curve. */
    cr_expect_eq(check_links("qac-table1.mini/span-r1.html"), ALL + 3);
    cr_expect_eq(check_links("qac-table1.mini-2/span-r1.html"), ALL + 3);
    char *curve = gb_path_join(NULL, "site/curves", trained), svg[200];
    snprintf(svg, sizeof svg, "%s.svg", curve);
    char *text = gb_read_file(svg, NULL, NULL);
    cr_assert(text);
    xml_check_alone(text);
    free(text);
    free(curve);
}

/* Folders of one name keep their figures. */
Test(site, figures_of_one_name)
{
    gb_status status = {0};
    cr_assert(gb_make_dirs("other/fig", &status));
    put("other/fig/coverage.html", "<html><title>Others</title></html>");
    static const char *const folders[] = {"fig", "other/fig"};
    write_site(folders, 2);
    cr_expect_eq(check_links("index.html"), 5);
    char *first = read_page("figures/fig/coverage.html");
    char *second = read_page("figures/fig-2/coverage.html");
    cr_expect(strstr(first, "Tokens") && strstr(second, "Others"));
    free(first);
    free(second);
}

Test(site, front_page_counts)
{
    static const char *const folders[] = {"in", "fig"};
    write_site(folders, 2);
    char *text = read_page("index.html");
    cr_expect(strstr(text, "scale mini: <b class=\"supported\">1 supported</b>") &&
              strstr(text, "0 contradicted</b>") && strstr(text, "1 undecided</b>, 1 not judged."));
    cr_expect(strstr(text, ">Query-as-context pre-training</td>"));
    /* A claim that was judged is drawn, one that was not is counted: 0 lies in the middle of -4 to
     * 4, 2 at three quarters, the margin of 1 left of 0, and the paper's .6 right of it. */
    cr_expect(strstr(text, "<li><span class=\"says\"><a href=\"qac-table1.mini.html#claim-0\">x-1"
                           "</a> a &gt; b</span>"));
    cr_expect(strstr(text, "<svg class=\"forest supported\" role=\"img\" aria-label=\"supported, "
                           "difference +2.00, interval +1.00 to +3.00, paper +0.60\"><line "
                           "class=\"zero\" x1=\"50.0%\" x2=\"50.0%\" y1=\"0\" y2=\"22\"/>"
                           "<line class=\"grid\" x1=\"37.5%\" x2=\"37.5%\" y1=\"0\" y2=\"22\"/>"
                           "<line class=\"paper\" x1=\"57.5%\" x2=\"57.5%\" y1=\"0\" "
                           "y2=\"22\"/><line x1=\"62.5%\" "
                           "x2=\"87.5%\" y1=\"11\" y2=\"11\"/><svg x=\"75.0%\""));
    cr_expect(strstr(text, "aria-label=\"undecided, difference +1.00\">"));
    cr_expect_not(strstr(text, "#claim-2"));
    cr_expect(strstr(text, "1 claim of this paper is not judged, and not drawn"));
    cr_expect(strstr(text, ">One &amp; only</a>"));
    cr_expect(strstr(text, "<a href=\"figures/fig/coverage.html\">Tokens &amp; co</a>"));
    free(text);
}

/* Replaces a part of in/table.json. */
static void change_table(const char *part, const char *by)
{
    char *text = gb_read_file("in/table.json", NULL, NULL), *at = strstr(text, part);
    cr_assert(at, "%s", part);
    char *whole = gb_format(NULL, "%.*s%s%s", (int)(at - text), text, by, at + strlen(part));
    put("in/table.json", whole);
    free(whole);
    free(text);
}

/* The unit of a claim about "*:MRR@10" is not that of a loss, the first column of its table. */
Test(site, patterns_have_the_unit_of_their_columns)
{
    change_table("\"columns\": [", "\"columns\": [{\"column\": \"mlm:loss\", \"header\": \"loss\", "
                                   "\"label\": \"Loss\", \"scale\": 1, \"decimals\": 2}, ");
    change_table("\"ge:1\", \"column\": \"dev:MRR@10\"", "\"ge:1\", \"column\": \"*:MRR@10\"");
    static const char *const folders[] = {"in"};
    write_site(folders, 1);
    char *text = read_page("index.html");
    cr_expect(
        strstr(text, "\"supported, difference +2.00, interval +1.00 to +3.00, paper +0.60\""));
    free(text);
}

/* Differences in a table of fractions have the decimals of its cells: .0031 is not 0.00. Where all
 * claims stand together they are points. */
Test(site, fractions_keep_their_decimals)
{
    change_table("\"scale\": 100, \"decimals\": 1", "\"scale\": 1, \"decimals\": 3");
    change_table("\"mean\": 2,", "\"mean\": 0.02,");
    change_table("\"low\": 1, \"high\": 3, \"seeds\"",
                 "\"low\": 0.0031, \"high\": 0.04, \"seeds\"");
    change_table("\"published\": 0.6", "\"published\": 0.015");
    static const char *const folders[] = {"in"};
    static const char *const wanted[][2] = {
        {"qac-table1.mini.html",
         "<td data-exact=\"0.015\">+0.015</td><td data-exact=\"0.02\">+0.020</td>"
         "<td data-exact=\"0.0031 0.04\">+0.003 to +0.040"},
        {"claims.html", "<td data-exact=\"1.5\">+1.50</td><td data-exact=\"2\">+2.00</td>"
                        "<td data-exact=\"0.31 4\">+0.31 to +4.00"}};
    write_site(folders, 1);
    for (size_t i = 0; i < 2; i++) {
        char *text = read_page(wanted[i][0]);
        cr_expect(strstr(text, wanted[i][1]), "%s", wanted[i][0]);
        free(text);
    }
}

/* A table at two scales is judged twice; what it says of one is not counted with the other. */
Test(site, scales_stand_apart)
{
    gb_status status = {0};
    cr_assert(gb_make_dirs("real", &status));
    char *text = gb_read_file("in/table.json", NULL, NULL), *at = strstr(text, "\"mini\"");
    memcpy(at, "\"city\"", 6);
    put("real/table.json", text);
    free(text);
    static const char *const folders[] = {"in", "real"};
    write_site(folders, 2);
    text = read_page("index.html");
    cr_expect(strstr(text, "scale mini: <b class=\"supported\">1 supported</b>") &&
              strstr(text, "scale city: <b class=\"supported\">1 supported</b>"));
    cr_expect(strstr(text, "<summary>Query-as-context pre-training<small>") &&
              strstr(text, "<summary>Query-as-context pre-training (scale city)<small>"));
    free(text);
}

Test(site, claims_page)
{
    static const char *const folders[] = {"in"};
    write_site(folders, 1);
    char *text = read_page("claims.html");
    static const char *const wanted[] = {
        "<tr><td><a href=\"qac-table1.mini.html#claim-0\">x-1</a></td><td class=\"left\">a &gt; "
        "b</td>"
        "<td class=\"left dim\">4.2</td><td class=\"left\"><code>ge:1</code> dev:MRR@10</td>"
        "<td data-exact=\"0.6\">+0.60</td><td data-exact=\"2\">+2.00</td><td data-exact=\"1 3\">"
        "+1.00 to +3.00, margin 1.00</td>"
        "<td class=\"left\">points</td><td>3</td><td class=\"left\">"
        "<span class=\"supported\">supported</span><br>"
        "<span class=\"dim\">not compared: only quoted: Old &lt;1&gt;</span></td></tr>",
        "undecided (needs 4 more seeds)",
        "not judged (quoted)",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect(strstr(text, wanted[i]), "%s", wanted[i]);
    free(text);
}

Test(site, table_page)
{
    static const char *const folders[] = {"in"};
    write_site(folders, 1);
    char *text = read_page("qac-table1.mini.html");
    static const char *const wanted[] = {
        /* A row that is only published has one line, the other one three. */
        "rowspan=\"1\">Old &lt;1&gt;</th><th class=\"source left dim\" scope=\"row\">published</th>"
        "<td class=\"published\" title=\"\">38.2</td></tr>",
        "rowspan=\"3\"><a href=\"qac-table1.mini/span-r1.html\">Span &amp; co</a> "
        "<span class=\"undecided\">(not converged: 1/2)</span>",
        /* Recorded with its interval; the mean of two seeds. */
        ">31.0</a> <span class=\"sd\">± 2.0</span><svg class=\"bar\" role=\"img\" "
        "aria-label=\"95% interval 29.0 to 33.0\">",
        ">30.0</a> <span class=\"sd\">± 7.1</span></td>", /* no mark: it is of one seed */
        "<li><b>MRR</b>: Dev, MRR@10</li>",
        "<figcaption>Span &amp; co, seed 42</figcaption>",
        "href=\"#claim-0\">x-1 supported</a>",
        "<td class=\"left\">a &gt; b</td><td data-exact=\"0.6\">+0.60</td>"
        "<td data-exact=\"2\">+2.00</td><td data-exact=\"1 3\">+1.00 to +3.00, margin 1.00</td>",
        "undecided (needs 4 more seeds)",
        "not judged (quoted)",
        "<td class=\"dim\">0.03</td>",
        "<td class=\"left\">cost &lt; time</td>",
        "aria-label=\"supported, difference +2.00, interval +1.00 to +3.00, paper +0.60\">",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect(strstr(text, wanted[i]), "%s", wanted[i]);
    free(text);
}

Test(site, one_seed_has_a_mark)
{
    change_table("\"42\": 0.25, \"43\": 0.35", "\"42\": 0.25");
    static const char *const folders[] = {"in"};
    write_site(folders, 1);
    char *text = read_page("qac-table1.mini.html");
    cr_expect(strstr(text, ">25.0</a><sup>~</sup></td>"));
    free(text);
}

/* As in table.md and on the terminal. */
Test(site, how_many_seeds_an_undecided_claim_needs)
{
    static const char *const wanted[][2] = {
        {"1", "undecided (needs 1 more seed)"},
        {"1000", "undecided (needs 1000 more seeds)"},
        {"46244", "undecided (needs more than 1000 seeds)"},
        {"0", "undecided (no number of seeds would decide it)"}};
    static const char *const folders[] = {"in"};
    char before[40] = "\"more_seeds\": 4,", after[40];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        snprintf(after, sizeof after, "\"more_seeds\": %s,", wanted[i][0]);
        change_table(before, after);
        write_site(folders, 1);
        for (int page = 0; page < 2; page++) {
            char *text = read_page(page ? "claims.html" : "qac-table1.mini.html");
            cr_expect(strstr(text, wanted[i][1]), "%s", wanted[i][1]);
            free(text);
        }
        strcpy(before, after);
    }
}

Test(site, lies_in_the_folder_of_its_figure)
{
    static const char *const folders[] = {"fig"};
    const gb_site_params params = {.folders = folders, .count = 1};
    gb_status status = {0};
    for (int time = 0; time < 2; time++)
        cr_assert(gb_site_write(&params, "fig/site", &status), "%s", status.what);
    cr_expect(gb_file_exists("fig/site/figures/fig/coverage.html"));
    cr_expect_not(gb_dir_exists("fig/site/figures/fig/site"));
}

Test(site, differences_that_round_to_zero_have_no_sign)
{
    change_table("\"mean\": 2,\n   \"low\": 1, \"high\": 3", "\"mean\": 0.001,\n   \"low\": "
                                                             "-0.002, \"high\": 0.003");
    static const char *const folders[] = {"in"}, *const pages[] = {"index.html", "claims.html",
                                                                   "qac-table1.mini.html"};
    write_site(folders, 1);
    for (size_t i = 0; i < 3; i++) {
        char *text = read_page(pages[i]);
        cr_expect(strstr(text, i ? ">0.00 to 0.00" : "interval 0.00 to 0.00"), "%s", pages[i]);
        cr_expect_not(strstr(text, ">-0.0") || strstr(text, " -0.0") || strstr(text, "+0.0"), "%s",
                      pages[i]);
        free(text);
    }
}

Test(site, values_as_published_have_no_sign)
{
    static const char *const folders[] = {"in"}, *const means[] = {"38.79", "38.81"};
    char before[20] = "\"mean\": 31", after[20];
    for (size_t i = 0; i < 2; i++) {
        snprintf(after, sizeof after, "\"mean\": %s", means[i]);
        change_table(before, after);
        write_site(folders, 1);
        char *text = read_page("qac-table1.mini/span-r1.html");
        cr_expect(strstr(text, "43: 35.00</td><td>0.0</td>"), "%s", means[i]);
        free(text);
        strcpy(before, after);
    }
}

/* Wherever the paper's dagger stands among its marks, and only then, the page says what it is. */
Test(site, daggers)
{
    static const struct {
        const char *marks;
        bool found;
    } cases[] = {{"dagger", true},
                 {"bold,asterisk,dagger,double-dagger", true},
                 {"bold,double-dagger", false}};
    static const char *const folders[] = {"in"};
    char before[80] = "{\"published\": 38.2}", after[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(after, sizeof after, "{\"published\": 38.2, \"marks\": \"%s\"}", cases[i].marks);
        change_table(before, after);
        write_site(folders, 1);
        char *text = read_page("qac-table1.mini.html");
        cr_expect_eq(strstr(text, ">38.2†</td>") != NULL, cases[i].found, "%s", cases[i].marks);
        cr_expect_eq(strstr(text, "<li><b>†</b>: ") != NULL, cases[i].found, "%s", cases[i].marks);
        free(text);
        strcpy(before, after);
    }
}

Test(site, row_page_tells_all)
{
    static const char *const folders[] = {"in"};
    write_site(folders, 1);
    char *text = read_page("qac-table1.mini/span-r1.html"), wanted[500], hash[GB_HASH_SIZE];
    /* What is needed comes first; a step stands once however often it is an input. */
    cr_expect(
        strstr(text, "<pre>gabbro pretrain mlm \\\n    --from FILE-sha256:0123456789ab \\\n"));
    cr_expect(strstr(text, " \\\n    --flag \\\n") && strstr(text, "--learning-rate 0.002 "));
    cr_expect(strstr(text, "--words 'it'\\''s two'\n"));
    cr_expect_not(strstr(text, "--off") || strstr(text, "--nothing"));
    cr_expect_not(strstr(text, "--prompt-name"), "what is no option is not printed");
    snprintf(
        wanted, sizeof wanted,
        "# -&gt; %s\ngabbro evaluate \\\n    --model &quot;$GABBRO_STORE&quot;/%s \\\n"
        "    --others &quot;$GABBRO_STORE&quot;/%s \\\n    --depth 1000 \\\n    --objective bow\n"
        "# -&gt; %s\n",
        trained, trained, trained, measured);
    cr_expect(strstr(text, wanted), "%s", wanted);
    gb_hash_bytes("{}", 2, hash);
    cr_expect(strstr(text, hash), "hash of the output");
    cr_expect(strstr(text, "sha256:0123456789abcdef"), "hash of the input");
    cr_expect(strstr(text, "a &lt; b"), "facts");
    cr_expect(strstr(text, "<td>38.8</td><td>31.00</td><td>2.00</td><td>29.00 to 33.00</td>"
                           "<td>3</td><td class=\"left here\">42: 25.00, 43: 35.00</td>"
                           "<td>-7.8</td>"));
    cr_expect(strstr(text, "# evaluate-gone is not in the store"));
    free(text);
}

Test(site, refuses_what_is_no_result)
{
    gb_status status = {0};
    cr_assert(gb_make_dirs("empty", &status));
    static const char *const folders[] = {"empty", "in"}, *const gone[] = {"in", "nosuch"};
    gb_site_params params = {.folders = folders, .count = 1};
    cr_expect_not(gb_site_write(&params, "site", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.what, "no folder has a table.json or a figure");
    status = (gb_status){0};
    cr_expect_not(gb_site_write(&(gb_site_params){.folders = gone, .count = 2}, "site", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "nosuch");
    cr_expect_not(gb_dir_exists("site"), "nothing half-written");
    params.count = 2;
    status = (gb_status){0};
    cr_expect(gb_site_write(&params, "beside", &status), "the empty one is left out");
    static const char no_columns[] = "{\"format\": 1, \"table\": \"x\", \"rows\": []}";
    static const char no_verdict[] =
        "{\"format\": 1, \"table\": \"x\", \"rows\": [], \"columns\": [], "
        "\"claims\": [{\"verdict\": \"<script>\"}]}";
    static const char *const bad[] = {"{\"format\": 1", "{}", "[]", no_columns, no_verdict};
    for (size_t i = 0; i < 5; i++) {
        put("empty/table.json", bad[i]);
        status = (gb_status){0};
        cr_expect_not(gb_site_write(&params, "site", &status));
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not(gb_dir_exists("site"), "nothing half-written");
    }
}
