/* The static site: every link resolves, every row has its page, commands and hashes are there. */
#include "gabbro/report.h"
#include "gabbro/store.h"
#include "scratch.h"
#include "xml_check.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

static scratch here;
static char trained[GB_ARTIFACT_NAME], measured[GB_ARTIFACT_NAME]; /* steps in the store "store" */

static void put(const char *name, const char *text)
{
    gb_status status = {0};
    cr_assert(gb_write_file(name, text, strlen(text), &status), "%s", status.what);
}

/* A step with one file; returns its name. */
static void make_step(gb_store *store, const char *kind, json_t *settings, json_t *inputs,
                      const char *file, const char *text, char name[GB_ARTIFACT_NAME])
{
    gb_status status = {0};
    gb_artifact_desc desc = {.kind = kind, .version = 1, .settings = settings, .inputs = inputs};
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert(step, "%s", status.what);
    char *path = gb_path_join(NULL, gb_artifact_path(step), file);
    put(path, text);
    free(path);
    json_t *facts = json_pack("{s:s}", "converged", "a < b");
    cr_assert(gb_artifact_finish(step, facts, &status), "%s", status.what);
    snprintf(name, GB_ARTIFACT_NAME, "%s", gb_artifact_name(step));
    gb_artifact_close(step);
    json_decref(settings);
    json_decref(inputs);
    json_decref(facts);
}

static const char table_json[] =
    "{\"format\": 1, \"table\": \"qac/table1\", \"title\": \"One & only\", \"source\": \"arXiv\",\n"
    " \"scale\": \"mini\", \"collection\": \"world\", \"collection_kind\": \"world\",\n"
    " \"device\": {\"device\": \"lavapipe\", \"driver\": \"22\", \"kernels\": \"abc\"},\n"
    " \"columns\": [{\"column\": \"dev:MRR@10\", \"header\": \"MRR\", \"label\": \"Dev, MRR@10\",\n"
    "   \"scale\": 100, \"decimals\": 1}],\n"
    " \"rows\": [\n"
    "  {\"row\": \"\", \"label\": \"Old <1>\", \"group\": \"G\", \"cells\":\n"
    "   {\"dev:MRR@10\": {\"published\": 38.2}}, \"steps\": {}},\n"
    "  {\"row\": \"span/r1\", \"published_row\": \"Span @ G\", \"label\": \"Span & co\", "
    "\"group\": \"G\", \"cells\": "
    "{\"dev:MRR@10\":\n"
    "   {\"published\": 38.8, \"recorded\": {\"mean\": 31, \"sd\": 2, \"low\": 29, \"high\": 33,\n"
    "    \"seeds\": 3}, \"here\": {\"42\": 0.25, \"43\": 0.35}, \"against_recorded\": "
    "\"within\"}},\n"
    "   \"steps\": {\"42\": \"%s\", \"43\": \"evaluate-gone\"},\n"
    "   \"converged\": {\"42\": false, \"43\": true}}],\n"
    " \"claims\": [\n"
    "  {\"claim\": \"x-1\", \"verdict\": \"supported\", \"statement\": \"a > b\", \"mean\": 2,\n"
    "   \"low\": 1, \"high\": 3, \"seeds\": 3, \"published\": 0.6, \"reason\": \"\",\n"
    "   \"left\": [\"Span @ G\"], \"kind\": \"ge:1\", \"column\": \"dev:MRR@10\",\n"
    "   \"where\": \"4.2\", \"margin\": 1, \"caution\": \"not compared: only quoted: Old <1>\",\n"
    "   \"over_queries\": {\"p\": 0.03, \"queries\": 9}},\n"
    "  {\"claim\": \"x-2\", \"verdict\": \"undecided\", \"statement\": \"c\", \"mean\": 1, "
    "\"low\": null,\n"
    "   \"high\": null, \"seeds\": 1, \"more_seeds\": 4, \"reason\": \"\"},\n"
    "  {\"claim\": \"x-3\", \"verdict\": \"not judged\", \"statement\": \"d\", \"mean\": null,\n"
    "   \"seeds\": 0, \"reason\": \"quoted\"}],\n"
    " \"deviation_texts\": [{\"id\": \"D1\", \"topic\": \"t\", \"paper\": \"p\", \"here\": \"h\",\n"
    "   \"why\": \"cost < time\"}]}\n";

static void enter(void)
{
    here = scratch_enter();
    gb_log_set_level(GB_LOG_ERROR);
    gb_status status = {0};
    gb_store *store = gb_store_open("store", &status);
    cr_assert(store, "%s", status.what);
    gb_text losses = {0};
    gb_text_printf(&losses, "step\ttotal\tmlm\n");
    for (int i = 0; i < 300; i++)
        gb_text_printf(&losses, "%d\t%g\t%g\n", i, 5. / (i + 1), 4. / (i + 1));
    make_step(store, "pretrain",
              json_pack("{s:s, s:f, s:b, s:b, s:n, s:s, s:s}", "objective", "mlm", "learning-rate",
                        .002, "flag", 1, "off", 0, "nothing", "words", "it's two", "prompt-name",
                        "x"),
              json_pack("{s:s}", "from",
                        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
              "losses.tsv", losses.data, trained);
    gb_text_free(&losses);
    make_step(store, "evaluate", json_pack("{s:i, s:s}", "depth", 1000, "objective", "bow"),
              json_pack("{s:s, s:[s]}", "model", trained, "others", trained), "metrics.json", "{}",
              measured);
    gb_store_close(store);
    cr_assert(gb_make_dirs("in", &status) && gb_make_dirs("fig", &status));
    gb_text text = {0};
    gb_text_printf(&text, table_json, measured);
    put("in/table.json", text.data);
    text.length = 0;
    gb_text_printf(&text,
                   "{\"table\": \"qac/table1\"}\n{\"row\": \"span/r1\", \"evaluation\": "
                   "\"../store/%s\"}\n",
                   measured);
    put("in/results.jsonl", text.data);
    gb_text_free(&text);
    put("in/table.csv", "a,b\r\n");
    put("fig/coverage.html", "<html><title>Tokens &amp; co</title></html>");
    put("fig/curve.svg", "<svg/>");
}

static void leave(void)
{
    scratch_leave(&here);
}

TestSuite(site, .init = enter, .fini = leave);

static void write_site(const char *const *folders, size_t count)
{
    gb_status status = {0};
    gb_site_params params = {.folders = folders, .count = count};
    cr_assert(gb_site_write(&params, "site", &status), "%s: %s", status.where, status.what);
}

static char *read_page(const char *name)
{
    gb_status status = {0};
    char *path = gb_path_join(NULL, "site", name), *text = gb_read_file(path, NULL, &status);
    cr_assert(text, "%s", path);
    free(path);
    return text;
}

/* Links of a page lead to files that are there, and to ids that their pages have. */
static size_t check_links(const char *page)
{
    char *text = read_page(page);
    size_t links = 0;
    xml_check_alone(text);
    for (const char *at = text; (at = strpbrk(at, "hs"));) {
        const char *value = !strncmp(at, "href=\"", 6)  ? at + 6
                            : !strncmp(at, "src=\"", 5) ? at + 5
                                                        : NULL;
        if (!value || at[-1] == ':') {
            at++;
            continue;
        }
        size_t length = strcspn(value, "\"#"), slash = 0;
        for (size_t i = 0; page[i]; i++)
            slash = page[i] == '/' ? i + 1 : slash;
        char path[300], id[100];
        snprintf(path, sizeof path, "site/%.*s%.*s", (int)slash, page, (int)length, value);
        if (!length)
            snprintf(path, sizeof path, "site/%s", page);
        cr_expect(gb_file_exists(path), "%s: %s", page, path);
        if (value[length] == '#' && gb_file_exists(path)) {
            char *target = gb_read_file(path, NULL, NULL);
            snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(value + length + 1, "\""),
                     value + length + 1);
            cr_expect(strstr(target, id), "%s: no %s in %s", page, id, path);
            free(target);
        }
        cr_expect(*value != '/' && !strstr(path, "://"), "relative links only");
        links++;
        at = value;
    }
    free(text);
    return links;
}

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

/* What others sent, as it is written: members by their names, one a line. */
static const char card[] =
    "{\n \"against_recorded\": {\n  \"beyond\": 5,\n  \"equal\": 3,\n  \"within\": 4\n },\n"
    " \"built\": {\n  \"source\": \"abc\"\n },\n \"date\": \"2026-01-02T03:04:05Z\",\n"
    " \"device\": \"Card <1>\",\n \"doctor\": {\n  \"status\": 1\n },\n \"driver\": \"D 2\",\n"
    " \"gflops_per_s\": 812.5,\n \"gpu_check\": {\n  \"checks\": [\n   {\n    \"status\": 0\n   "
    "},\n"
    "   {\n    \"status\": 77\n   },\n   {\n    \"status\": 1\n   }\n  ]\n },\n"
    " \"name\": \"Zo\u00eb \\u001B& co\",\n \"profile\": \"scalar\",\n \"scale\": \"mini\",\n"
    " \"seconds\": 90.0,\n \"table\": \"qac/table1\"\n}\n";

/* Writes text with the sum of `summed` as one more line. */
static void put_sent(const char *name, const char *text, const char *summed)
{
    char hex[GB_HASH_SIZE];
    gb_hash_bytes(summed, strlen(summed), hex);
    char *whole = gb_format(NULL, "{\n \"sha256\": \"%s\",\n%s", hex, text + 2);
    put(name, whole);
    free(whole);
}

/* What others sent is a page of its own, and a link on the front page. */
Test(site, devices_page)
{
    static const char *const folders[] = {"in"};
    gb_status status = {0};
    gb_site_params params = {.folders = folders, .count = 1, .seen = "seen"};
    cr_assert(gb_make_dirs("seen", &status));
    put_sent("seen/a.json", card, card);
    cr_assert(gb_site_write(&params, "site", &status), "%s: %s", status.where, status.what);
    cr_expect_eq(check_links("devices.html"), 3);
    char *text = read_page("devices.html"), *front = read_page("index.html");
    cr_expect(strstr(text, "<th>date</th><th class=\"left\">sent by</th></tr></thead>"));
    cr_expect(strstr(text,
                     "<tr><td class=\"left\">Card &lt;1&gt;</td><td class=\"left\">D 2</td>"
                     "<td class=\"left\">scalar</td><td class=\"left contradicted\">wrong"
                     "</td><td>1 of 2</td><td>812</td><td class=\"left\">qac/table1, mini"
                     "</td><td>1.5</td><td>3</td><td>4</td><td>5</td><td class=\"left\">abc"
                     "</td><td>2026-01-02</td><td class=\"left\">Zo\u00eb \xef\xbf\xbd&amp; co</td>"
                     "</tr>"));
    cr_expect(strstr(front, "<a href=\"devices.html\">"));
    free(text);
    free(front);
    put("seen/b.json", "{");
    cr_expect_not(gb_site_write(&params, "site", &status));
    cr_expect_eq(status.code, GB_DATA);
}

/* The same as lines of text, whose columns stand below each other. */
Test(site, devices_lines)
{
    gb_status status = {0};
    gb_text text = {0};
    cr_assert(gb_make_dirs("seen", &status));
    cr_assert(gb_seen_print("seen", &text, &status), "%s", status.what);
    cr_expect_eq(text.length, 0);
    put_sent("seen/a.json", card, card);
    cr_assert(gb_seen_print("seen", &text, &status), "%s", status.what);
    cr_expect_str_eq(text.data,
                     "device    driver  kernels  are    checks  GFLOP/s  table             minutes"
                     "  equal  within  beyond  source        date  sent by\n"
                     "Card <1>  D 2     scalar   wrong  1 of 2      812  qac/table1, mini      1.5"
                     "      3       4       5  abc     2026-01-02  Zo\u00eb ?& co\n");
    gb_text_free(&text);
}

/* Nothing is shown of a file that is not as it was written. */
Test(site, devices_sums)
{
    static const char *const folders[] = {"in"};
    gb_status status = {0};
    gb_text text = {0};
    gb_site_params params = {.folders = folders, .count = 1, .seen = "seen"};
    cr_assert(gb_make_dirs("seen", &status));
    char *faster = gb_format(NULL, "%s", card);
    memcpy(strstr(faster, "812.5"), "912.5", 5);
    put_sent("seen/a.json", faster, card);
    free(faster);
    cr_expect_not(gb_site_write(&params, "site", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "seen/a.json");
    cr_expect(strstr(status.what, "was changed"), "%s", status.what);
    status = (gb_status){0};
    put("seen/a.json", card);
    cr_expect_not(gb_seen_print("seen", &text, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, "no sha256"), "%s", status.what);
    gb_text_free(&text);
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
    static const char *const bad[] = {
        "{\"format\": 1", "{}", "[]", "{\"format\": 1, \"table\": \"x\", \"rows\": []}",
        "{\"format\": 1, \"table\": \"x\", \"rows\": [], \"columns\": [], "
        "\"claims\": [{\"verdict\": \"<script>\"}]}"};
    for (size_t i = 0; i < 5; i++) {
        put("empty/table.json", bad[i]);
        status = (gb_status){0};
        cr_expect_not(gb_site_write(&params, "site", &status));
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not(gb_dir_exists("site"), "nothing half-written");
    }
}
