/* The claims of all tables on the front page: each a line with its difference and its interval, by
 * paper. */
#include "gabbro/page.h"
#include "private.h"
#include "site.h"

#include <math.h>
#include <string.h>

const char *report_site_count_class(gb_verdict verdict, size_t count)
{
    return verdict != GB_NOT_JUDGED && count ? gb_verdict_name(verdict) : "dim";
}

static const char *paper_title(const char *paper)
{
    static const char *const titles[][2] = {{"qac", "Query-as-context pre-training"},
                                            {"llm", "Document expansion by a large language model"},
                                            {"bow", "Bag-of-Word prediction"},
                                            {"costa", "Contrastive span prediction (COSTA)"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (!strcmp(titles[i][0], paper))
            return titles[i][1];
    return paper;
}

static void paper_of(const site_table *table, char paper[32])
{
    const char *name = gb_json_text(table->root, "table");
    snprintf(paper, 32, "%.*s", (int)strcspn(name, "/"), name);
}

bool report_site_same_scale(const site_table *a, const site_table *b)
{
    return !strcmp(gb_json_text(a->root, "scale"), gb_json_text(b->root, "scale"));
}

bool report_site_paper(const site_table *tables, size_t count, size_t first, size_t *of,
                       size_t *of_count, char title[SITE_TITLE])
{
    char paper[32], other[32];
    paper_of(&tables[first], paper);
    *of_count = 0;
    for (size_t i = 0; i < count; i++) {
        paper_of(&tables[i], other);
        if (strcmp(paper, other) != 0 || !report_site_same_scale(&tables[i], &tables[first]))
            continue;
        if (i < first)
            return false; /* done with the earlier one */
        of[(*of_count)++] = i;
    }
    int used = snprintf(title, SITE_TITLE, "%s", paper_title(paper));
    if (!report_site_same_scale(&tables[0], &tables[first]))
        snprintf(title + used, SITE_TITLE - (size_t)used, " (scale %.40s)",
                 gb_json_text(tables[first].root, "scale"));
    return true;
}

/* ---- units ---- */

/* A claim's column, or the first of those that its pattern "*:R@*" names. */
static const json_t *column_of(const site_table *table, const json_t *claim)
{
    const char *name = gb_json_text(claim, "column");
    size_t i;
    json_t *column;
    json_array_foreach(json_object_get(table->root, "columns"), i, column)
    {
        const char *own = gb_json_text(column, "column");
        if (!strcmp(own, name) || gb_matches(name, own))
            return column;
    }
    return NULL;
}

/* Decimals: those of the table's cells, at least two. */
site_bar report_site_claim_difference(const site_table *table, const json_t *claim, double factor)
{
    int decimals = (int)json_integer_value(json_object_get(column_of(table, claim), "decimals"));
    double margin = report_json_real_of(claim, "margin");
    return (site_bar){.mean = factor * report_json_real_of(claim, "mean"),
                      .low = factor * report_json_real_of(claim, "low"),
                      .high = factor * report_json_real_of(claim, "high"),
                      .published = factor * report_json_real_of(claim, "published"),
                      .margin = isnan(margin) ? 0 : factor * margin,
                      .digits = decimals > 2 ? decimals : 2};
}

bool report_site_claim_points(const site_table *table, const json_t *claim, site_bar *bar)
{
    const json_t *column = column_of(table, claim);
    double scale = column ? report_json_real_of(column, "scale") : NAN;
    bool points = scale > 0 && gb_has_ceiling(gb_json_text(claim, "column"));
    *bar = report_site_claim_difference(table, claim, points ? 100 / scale : 1);
    if (points)
        bar->digits = 2;
    return points;
}

/* ---- lines ---- */

const char *report_site_claim_unit(const json_t *claim)
{
    const char *name = gb_json_text(claim, "column"), *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void drawn_claim(const site_table *table, const json_t *claim, size_t index,
                        const double range[2], gb_text *out)
{
    site_bar bar;
    const char *verdict = gb_json_text(claim, "verdict");
    bool points = report_site_claim_points(table, claim, &bar);
    if (points)
        memcpy(bar.range, range, sizeof bar.range);
    else /* an axis of its own */
        report_site_range(fmax(fabs(bar.mean), fmax(-bar.low, bar.high)), bar.range);
    gb_text_printf(out, "<li><span class=\"says\"><a href=\"%s.html#claim-%zu\">", table->slug,
                   index);
    gb_page_escaped(out, gb_json_text(claim, "claim"));
    gb_text_printf(out, "</a> ");
    gb_page_escaped(out, gb_json_text(claim, "statement"));
    gb_text_printf(out, "</span>\n");
    report_site_claim_bar(&bar, verdict, out);
    report_difference_text(out, "<span class=\"number\">", bar.mean, bar.digits, "");
    if (!isnan(bar.low)) {
        report_difference_text(out, " <span class=\"sd\">", bar.low, bar.digits, " to ");
        report_difference_text(out, "", bar.high, bar.digits, "</span>");
    }
    if (bar.margin > 0)
        gb_text_printf(out, "<br><span class=\"sd\">margin %.*f</span>", bar.digits, bar.margin);
    if (!isnan(bar.published))
        report_difference_text(out, "<br><span class=\"sd\">paper ", bar.published, bar.digits,
                               "</span>");
    if (!points) {
        gb_text_printf(out, "<br>");
        gb_page_element(out, "span", "dim", report_site_claim_unit(claim));
        gb_text_printf(out, "<span class=\"dim\">, its own scale</span>");
    }
    gb_text_printf(out, "</span><span class=\"verdict %s\">%s</span></li>\n", verdict, verdict);
}

static bool is_drawn(const json_t *claim)
{
    return strcmp(gb_json_text(claim, "verdict"), "not judged") != 0 &&
           !isnan(report_json_real_of(claim, "mean"));
}

/* An axis on which all differences of a paper have their place; intervals may go beyond it. */
static size_t paper_range(const site_table *tables, const size_t *of, size_t count, double range[2])
{
    double most = 2;
    size_t drawn = 0, i;
    json_t *claim;
    for (size_t t = 0; t < count; t++)
        json_array_foreach(json_object_get(tables[of[t]].root, "claims"), i, claim)
        {
            site_bar bar;
            drawn += is_drawn(claim);
            if (is_drawn(claim) && report_site_claim_points(&tables[of[t]], claim, &bar))
                most = fmax(most, 1.1 * fabs(bar.mean));
        }
    report_site_range(most, range);
    return drawn;
}

static void paper_claims(const site_table *tables, const size_t *of, size_t count,
                         const char *title, gb_text *out)
{
    size_t counts[GB_VERDICTS] = {0}, i;
    json_t *claim;
    double range[2];
    size_t drawn = paper_range(tables, of, count, range);
    for (size_t t = 0; t < count; t++)
        gb_count_verdicts(tables[of[t]].root, counts);
    gb_text_printf(out, "<details class=\"part\" open><summary>");
    gb_page_escaped(out, title);
    gb_text_printf(out, "<small>");
    for (size_t v = GB_VERDICTS; v-- > 0;)
        gb_text_printf(out, "<span class=\"%s\">%zu %s</span>%s",
                       report_site_count_class(v, counts[v]), counts[v], gb_verdict_name(v),
                       v ? ", " : "");
    gb_text_printf(out, "</small></summary>\n");
    if (drawn) {
        gb_text_printf(out, "<ol class=\"forest\">\n<li class=\"axis\"><span class=\"says\">claim"
                            "</span>\n");
        report_site_axis(range, out);
        gb_text_printf(out, "<span class=\"number\">mean, interval, paper</span>"
                            "<span class=\"verdict\">verdict</span></li>\n");
        for (size_t t = 0; t < count; t++)
            json_array_foreach(json_object_get(tables[of[t]].root, "claims"), i,
                               claim) if (is_drawn(claim))
                drawn_claim(&tables[of[t]], claim, i, range, out);
        gb_text_printf(out, "</ol>\n");
    }
    if (counts[GB_NOT_JUDGED])
        gb_text_printf(out,
                       "<p class=\"dim\">%zu claim%s of this paper %s not judged, and not drawn "
                       "(<a href=\"claims.html\">why</a>).</p>\n",
                       counts[GB_NOT_JUDGED], counts[GB_NOT_JUDGED] > 1 ? "s" : "",
                       counts[GB_NOT_JUDGED] > 1 ? "are" : "is");
    gb_text_printf(out, "</details>\n");
}

bool report_site_forest(const site_table *tables, size_t count, gb_text *out, gb_status *status)
{
    size_t *of = gb_alloc(count + 1, sizeof *of, status), of_count;
    char title[SITE_TITLE];
    if (!of)
        return false;
    gb_text_printf(
        out,
        "<h2>Claims</h2>\n<p>Each line is a claim of a paper: the difference between the systems "
        "that it compares, in the claimed direction and in points (hundredths of the measure), as "
        "a mean over seeds with its 95%% interval, which is wider where the claim compares several "
        "pairs and one error would make its verdict wrong. Right of the dashed line, or of the "
        "light "
        "line of a margin that the claim allows, it is as claimed; the grey stroke is the same "
        "difference of the paper's own cells. "
        "<span class=\"supported\">A disc: supported</span>, <span class=\"contradicted\">a "
        "triangle: contradicted</span>, <span class=\"undecided\">a square: undecided</span>; an "
        "arrow: the interval goes on beyond the scale, which each paper has for itself.</p>\n");
    for (size_t first = 0; first < count; first++)
        if (report_site_paper(tables, count, first, of, &of_count, title))
            paper_claims(tables, of, of_count, title, out);
    free(of);
    return true;
}
