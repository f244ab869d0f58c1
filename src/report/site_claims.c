/* The site's page of all claims: what each paper says, how it is judged, and the verdict. */
#include "gabbro/page.h"
#include "private.h"
#include "site.h"

#include <math.h>
#include <string.h>

/* What the kinds say; `starts` is the beginning of claims' "kind". docs/design/verdicts.md says
 * more. */
static const struct {
    const char *starts, *says;
} kinds[] = {
    {"gt", "every left row is above every right row"},
    {"lt", "every left row is below every right row"},
    {"best", "the left row is better than every right row"},
    {"ge:", "no left row is below a right row by the margin or more"},
    {"order:", "from row to row the value never falls by the margin or more"},
    {"not-order", "from row to row the value falls somewhere"},
    {"near:", "the rows differ by less than the margin (two one-sided tests)"},
    {"each", "of several pairs of rows each left one is above its right one"},
    {"mean", "the mean of the left rows is above the mean of the right rows"},
    {"wins:",
     "the left row is above the right row on at least so many sets; a set counts where its "
     "own interval is sure"},
};

static void rules(gb_text *out)
{
    gb_text_printf(
        out,
        "<p>A claim is judged over seeds. It is <b class=\"supported\">supported</b> where the "
        "95%% interval of the difference that decides (wider where an error in any one of several "
        "differences would make the verdict wrong) lies above zero, <b class=\"contradicted\">"
        "contradicted</b> where it lies below, <b class=\"undecided\">undecided</b> otherwise and "
        "with fewer than three seeds. Differences are positive in the claimed direction; a point "
        "is a hundredth of the measure. Under <q>paper</q> stands the same difference of the "
        "paper's own cells. Rows that are only quoted, rows at chance and columns at their ceiling "
        "are not compared; the line in grey names them, and rows that did not converge.</p>\n"
        "<details><summary>Kinds of claims</summary>\n");
    gb_page_wide(out, "kinds of claims");
    gb_text_printf(out, "<table><tbody>\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        gb_text_printf(out, "<tr><td><code>%s</code></td><td class=\"left\">%s</td></tr>\n",
                       kinds[i].starts, kinds[i].says);
    gb_text_printf(out, "</tbody></table></div></details>\n");
}

/* The beginning of a cell whose exact numbers, apart by blanks, other programs may want. */
static void exact_cell(gb_text *out, double first, double second)
{
    gb_text_printf(out, "<td");
    if (!isnan(first))
        gb_text_printf(out, " data-exact=\"%.9g", first);
    if (!isnan(second))
        gb_text_printf(out, " %.9g", second);
    gb_text_printf(out, isnan(first) ? ">" : "\">");
}

void report_site_claim_numbers(const json_t *claim, const site_bar *bar, gb_text *out)
{
    exact_cell(out, bar->published, NAN);
    if (!isnan(bar->published))
        report_difference_text(out, "", bar->published, bar->digits, "");
    gb_text_printf(out, "</td>");
    exact_cell(out, bar->mean, NAN);
    if (!isnan(bar->mean))
        report_difference_text(out, "", bar->mean, bar->digits, "");
    gb_page_escaped(out, gb_json_text(claim, "shown"));
    gb_text_printf(out, "</td>");
    exact_cell(out, bar->low, isnan(bar->low) ? NAN : bar->high);
    if (!isnan(bar->low)) {
        report_difference_text(out, "", bar->low, bar->digits, " to ");
        report_difference_text(out, "", bar->high, bar->digits, "");
    }
    if (bar->margin > 0)
        gb_text_printf(out, "%smargin %.*f", isnan(bar->low) ? "" : ", ", bar->digits, bar->margin);
    gb_text_printf(out, "</td>");
}

static void claim_row(const site_table *table, const json_t *claim, size_t index, gb_text *out)
{
    gb_text_printf(out, "<tr><td><a href=\"%s.html#claim-%zu\">", table->slug, index);
    gb_page_escaped(out, gb_json_text(claim, "claim"));
    gb_text_printf(out, "</a></td>");
    gb_page_element(out, "td", "left", gb_json_text(claim, "statement"));
    gb_page_element(out, "td", "left dim", gb_json_text(claim, "where"));
    gb_text_printf(out, "<td class=\"left\"><code>");
    gb_page_escaped(out, gb_json_text(claim, "kind"));
    gb_text_printf(out, "</code> ");
    gb_page_escaped(out, gb_json_text(claim, "column"));
    gb_text_printf(out, "</td>");
    site_bar bar;
    bool points = report_site_claim_points(table, claim, &bar);
    report_site_claim_numbers(claim, &bar, out);
    gb_text_printf(out, "<td class=\"left\">%s</td>",
                   points ? "points" : report_site_claim_unit(claim));
    gb_text_printf(out, "<td>%lld</td><td class=\"left\">",
                   (long long)json_integer_value(json_object_get(claim, "seeds")));
    report_site_verdict(claim, out);
    gb_text_printf(out, "</td></tr>\n");
}

bool report_site_claims_page(const site_table *tables, size_t count, const char *out_dir,
                             gb_status *status)
{
    gb_text out = {0};
    report_site_begin(&out, "What the papers claim", "", NULL, "");
    rules(&out);
    gb_page_wide(&out, "claims");
    gb_text_printf(&out, "<table>\n<thead><tr><th>claim</th><th class=\"left\">"
                         "statement</th><th class=\"left\">in the paper</th><th class=\"left\">"
                         "kind</th><th>paper</th><th>mean</th><th>interval</th><th "
                         "class=\"left\">unit</th><th>seeds</th>"
                         "<th class=\"left\">verdict</th></tr></thead>\n<tbody>\n");
    for (size_t t = 0; t < count; t++) {
        json_t *claims = json_object_get(tables[t].root, "claims"), *claim;
        size_t i;
        if (!json_array_size(claims))
            continue;
        gb_text_printf(&out, "<tr class=\"group\"><td colspan=\"10\">");
        gb_page_escaped(&out, gb_json_text(tables[t].root, "title"));
        gb_text_printf(&out, " (scale ");
        gb_page_escaped(&out, gb_json_text(tables[t].root, "scale"));
        gb_text_printf(&out, ")</td></tr>\n");
        json_array_foreach(claims, i, claim) claim_row(&tables[t], claim, i, &out);
    }
    gb_text_printf(&out, "</tbody></table></div>\n");
    gb_page_end(&out);
    bool ok = gb_text_write_in(&out, out_dir, "claims.html", status);
    gb_text_free(&out);
    return ok;
}
