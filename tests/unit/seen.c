/* What others sent of their devices: a page of the site, and lines of text. */
#include "site_help.h"

TestSuite(seen, .init = enter, .fini = leave);

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
Test(seen, devices_page)
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
Test(seen, devices_lines)
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
Test(seen, devices_sums)
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
