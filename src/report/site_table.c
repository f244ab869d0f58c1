/* The page of a table: its cells, claims with a plot, deviations, files. */
#include "gabbro/plot.h"
#include "gabbro/page.h"
#include "site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t column_count(const site_table *table)
{
    return json_array_size(json_object_get(table->root, "columns"));
}

static const json_t *column_at(const site_table *table, size_t index)
{
    return json_array_get(json_object_get(table->root, "columns"), index);
}

static bool is_own(const site_table *table)
{
    return !strcmp(gb_json_text(table->root, "collection_kind"), "own");
}

static void intro(const site_table *table, gb_text *out)
{
    const json_t *root = table->root, *device = json_object_get(root, "device");
    gb_text line = {0};
    gb_text_printf(&line, "%s, %s. Scale %s, collection %s.", gb_json_text(root, "table"),
                   gb_json_text(root, "source"), gb_json_text(root, "scale"),
                   gb_json_text(root, "collection"));
    if (*gb_json_text(root, "generator"))
        gb_text_printf(&line, " Generated queries: %s.", gb_json_text(root, "generator"));
    if (*gb_json_text(root, "collection_notes"))
        gb_text_printf(&line, " The collection: %s.", gb_json_text(root, "collection_notes"));
    if (*gb_json_text(device, "device"))
        gb_text_printf(&line, " Device: %s, %s, kernels %.16s.", gb_json_text(device, "device"),
                       gb_json_text(device, "driver"), gb_json_text(device, "kernels"));
    if (*gb_json_text(root, "recorded_note"))
        gb_text_printf(&line, " No recorded results: %s.", gb_json_text(root, "recorded_note"));
    gb_page_element(out, "p", NULL, gb_text_words(&line, out));
    gb_text_free(&line);
    gb_text_printf(out, "\n<p>Every value leads to how it was made.");
    if (!is_own(table))
        gb_text_printf(out,
                       " Published: as the paper prints it. Recorded: mean ± deviation over the "
                       "seeds that ship with the project, below it the 95%% interval of the "
                       "mean. Here: this run.");
    gb_text_printf(out, "</p>\n");
}

static void head(const site_table *table, gb_text *out)
{
    bool own = is_own(table);
    gb_text_printf(
        out,
        "<div class=\"wide\"><table class=\"main\">\n<thead><tr><th rowspan=\"2\">system</th>");
    for (size_t c = 0; c < column_count(table); c++) {
        gb_text_printf(out, "<th class=\"first\" colspan=\"%d\" title=\"", own ? 1 : 3);
        gb_page_escaped(out, gb_json_text(column_at(table, c), "label"));
        gb_text_printf(out, "\">");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "header"));
        gb_text_printf(out, "</th>");
    }
    gb_text_printf(out, "<th class=\"first left\" rowspan=\"2\">verdict</th></tr>\n<tr>");
    for (size_t c = 0; c < column_count(table); c++)
        gb_text_printf(out, own ? "<th class=\"first\">here</th>"
                                : "<th class=\"first published\">published</th><th>recorded</th>"
                                  "<th>here</th>");
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
}

static void recorded_cell(const json_t *recorded, int digits, const char *link, gb_text *out)
{
    double sd = report_json_real_of(recorded, "sd"), low = report_json_real_of(recorded, "low");
    gb_text_printf(out, "<td>");
    if (recorded) {
        gb_text_printf(out, "%s%.*f", link, digits, report_json_real_of(recorded, "mean"));
        if (!isnan(sd))
            gb_text_printf(out, " ± %.*f", digits, sd);
        gb_text_printf(out, "%s", *link ? "</a>" : "");
        if (!isnan(low))
            gb_text_printf(out, "<br><span class=\"dim\">%.*f to %.*f</span>", digits, low, digits,
                           report_json_real_of(recorded, "high"));
    }
    gb_text_printf(out, "</td>");
}

static void cell(const site_table *table, const json_t *row, size_t index, gb_text *out)
{
    static const char *const marks[][2] = {{"equal", " ="}, {"within", " ~"}, {"beyond", " !"}};
    const json_t *column = column_at(table, index);
    const json_t *one =
        json_object_get(json_object_get(row, "cells"), gb_json_text(column, "column"));
    const json_t *here = json_object_get(one, "here");
    int digits = (int)json_integer_value(json_object_get(column, "decimals"));
    double published = report_json_real_of(one, "published"),
           scale = report_json_real_of(column, "scale");
    char link[256] = "", slug[96];
    report_site_row_slug(row, slug, sizeof slug);
    if (*slug)
        snprintf(link, sizeof link, "<a href=\"%s/%s.html#column-%zu\">", table->slug, slug, index);
    if (!is_own(table)) {
        gb_text_printf(out, "<td class=\"first published\" title=\"");
        gb_page_escaped(out, gb_json_text(one, "note"));
        gb_text_printf(out, "\">");
        if (!isnan(published))
            gb_text_printf(out, "%.*f", digits, published);
        gb_text_printf(out, "</td>");
        recorded_cell(json_object_get(one, "recorded"), digits, link, out);
    }
    gb_text_printf(out, "<td class=\"%s\">", is_own(table) ? "first here" : "here");
    double sd, mean = report_site_here(here, scale, &sd);
    if (!isnan(mean)) {
        gb_text_printf(out, "%s%.*f", link, digits, mean);
        if (!isnan(sd))
            gb_text_printf(out, " ± %.*f", digits, sd);
        gb_text_printf(out, "%s", *link ? "</a>" : "");
        for (size_t i = 0; i < 3; i++)
            if (!strcmp(gb_json_text(one, "against_recorded"), marks[i][0]))
                gb_text_printf(out, "%s", marks[i][1]);
    }
    if (*gb_json_text(one, "verdict"))
        gb_text_printf(out, " %s", gb_json_text(one, "verdict"));
    gb_text_printf(out, "</td>");
}

static const char *verdict_class(const char *verdict)
{
    return !strcmp(verdict, "not judged") ? "dim" : verdict;
}

static bool is_left(const json_t *claim, const char *published)
{
    size_t i;
    json_t *left;
    json_array_foreach(json_object_get(claim, "left"), i,
                       left) if (json_is_string(left) &&
                                 !strcmp(json_string_value(left), published)) return true;
    return false;
}

/* Claims that the row is on the left side of. */
static void row_verdicts(const site_table *table, const json_t *row, gb_text *out)
{
    size_t i;
    json_t *claim;
    bool any = false;
    json_array_foreach(json_object_get(table->root, "claims"), i, claim)
    {
        if (!is_left(claim, gb_json_text(row, "published_row")))
            continue;
        const char *verdict = gb_json_text(claim, "verdict");
        gb_text_printf(out, "%s<a class=\"%s\" href=\"#claim-%zu\">", any ? "<br>" : "",
                       verdict_class(verdict), i);
        gb_page_escaped(out, gb_json_text(claim, "claim"));
        gb_text_printf(out, " %s</a>", verdict);
        any = true;
    }
}

/* How many of this run's seeds did not converge, if any. */
static void unconverged(const json_t *row, gb_text *out)
{
    json_t *all = json_object_get(row, "converged"), *one;
    const char *seed;
    size_t count = 0;
    json_object_foreach(all, seed, one) count += json_is_false(one);
    if (count)
        gb_text_printf(out, " <span class=\"undecided\">(not converged: %zu/%zu)</span>", count,
                       json_object_size(all));
}

static void rows(const site_table *table, gb_text *out)
{
    size_t i;
    json_t *row;
    const char *group = "";
    head(table, out);
    json_array_foreach(json_object_get(table->root, "rows"), i, row)
    {
        if (strcmp(group, gb_json_text(row, "group"))) {
            gb_text_printf(out, "<tr class=\"group\"><td colspan=\"%zu\">",
                           column_count(table) * (is_own(table) ? 1 : 3) + 2);
            gb_page_escaped(out, gb_json_text(row, "group"));
            gb_text_printf(out, "</td></tr>\n");
        }
        group = gb_json_text(row, "group");
        char slug[96];
        report_site_row_slug(row, slug, sizeof slug);
        gb_text_printf(out, "<tr><td>");
        if (*slug)
            gb_text_printf(out, "<a href=\"%s/%s.html\">", table->slug, slug);
        gb_page_escaped(out, gb_json_text(row, "label"));
        gb_text_printf(out, "%s", *slug ? "</a>" : "");
        unconverged(row, out);
        gb_text_printf(out, "</td>");
        for (size_t c = 0; c < column_count(table); c++)
            cell(table, row, c, out);
        gb_text_printf(out, "<td class=\"first left\">");
        row_verdicts(table, row, out);
        gb_text_printf(out, "</td></tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

/* ---- claims ---- */

static void signed_cell(const json_t *claim, const char *name, int digits, const char *behind,
                        gb_text *out)
{
    double value = report_json_real_of(claim, name);
    gb_text_printf(out, "<td>");
    if (!isnan(value))
        gb_text_printf(out, "%+.*f", digits, value);
    gb_page_escaped(out, behind);
    gb_text_printf(out, "</td>");
}

void report_site_verdict(const json_t *claim, gb_text *out)
{
    const char *verdict = gb_json_text(claim, "verdict"), *reason = gb_json_text(claim, "reason");
    double more = report_json_real_of(claim, "more_seeds");
    gb_text_printf(out, "<span class=\"%s\">%s", verdict_class(verdict), verdict);
    if (*reason) {
        gb_text_printf(out, " (");
        gb_page_escaped(out, reason);
        gb_text_printf(out, ")");
    } else if (!strcmp(verdict, "undecided") && more > 0) {
        gb_text_printf(out, " (needs %.0f more seed%s)", more, more > 1 ? "s" : "");
    }
    gb_text_printf(out, "</span>");
    if (*gb_json_text(claim, "caution")) {
        gb_text_printf(out, "<br>");
        gb_page_element(out, "span", "dim", gb_json_text(claim, "caution"));
    }
}

static void claim_line(const json_t *claim, size_t index, gb_text *out)
{
    double p = report_json_real_of(json_object_get(claim, "over_queries"), "p");
    gb_text_printf(out, "<tr id=\"claim-%zu\"><td>", index);
    gb_page_escaped(out, gb_json_text(claim, "claim"));
    gb_text_printf(out, "</td>");
    gb_page_element(out, "td", "left", gb_json_text(claim, "statement"));
    signed_cell(claim, "printed_delta", 1, "", out);
    signed_cell(claim, "mean", 2, gb_json_text(claim, "shown"), out);
    gb_text_printf(out, "<td>");
    if (!isnan(report_json_real_of(claim, "low")))
        gb_text_printf(out, "%+.2f to %+.2f", report_json_real_of(claim, "low"),
                       report_json_real_of(claim, "high"));
    gb_text_printf(out, "</td><td>%lld</td><td class=\"left\">",
                   (long long)json_integer_value(json_object_get(claim, "seeds")));
    report_site_verdict(claim, out);
    gb_text_printf(out, "</td><td class=\"dim\">");
    if (!isnan(p))
        gb_text_printf(out, "%.2g", p);
    gb_text_printf(out, "</td></tr>\n");
}

/* Mean differences with their intervals; what lies above zero is as claimed. */
static bool claims_plot(const site_table *table, gb_text *out, gb_status *status)
{
    static const char *const verdicts[] = {"supported", "contradicted", "undecided"};
    static const int colors[] = {2, 1, 0};
    static const gb_mark marks[] = {GB_MARK_CIRCLE, GB_MARK_TRIANGLE, GB_MARK_SQUARE};
    json_t *claims = json_object_get(table->root, "claims"), *claim;
    size_t count = json_array_size(claims), i, drawn = 0;
    double *values = gb_alloc(count * 12, sizeof *values, status);
    const char **names = gb_alloc(count * 3, sizeof *names, status);
    gb_series series[3];
    bool ok = values && names;
    for (size_t v = 0; ok && v < 3; v++) {
        double *at = values + v * 4 * count;
        gb_series *one = &series[drawn];
        *one = (gb_series){.label = verdicts[v],
                           .x = at,
                           .y = at + count,
                           .low = at + 2 * count,
                           .high = at + 3 * count,
                           .names = names + v * count,
                           .mark = marks[v],
                           .color = colors[v]};
        json_array_foreach(claims, i, claim)
        {
            if (strcmp(gb_json_text(claim, "verdict"), verdicts[v]) ||
                isnan(report_json_real_of(claim, "mean")))
                continue;
            size_t n = one->count++;
            at[n] = (double)i + 1;
            at[count + n] = report_json_real_of(claim, "mean");
            at[2 * count + n] = report_json_real_of(claim, "low");
            at[3 * count + n] = report_json_real_of(claim, "high");
            names[v * count + n] = gb_json_text(claim, "statement");
        }
        drawn += one->count > 0;
    }
    gb_baseline zero = {"no difference", 0, GB_PLOT_GREY};
    gb_plot plot = {.title = "Claims: mean difference over seeds with its 95% interval",
                    .x_label = "claim, in the order below",
                    .y_label = "difference as claimed",
                    .series = series,
                    .series_count = drawn,
                    .baselines = &zero,
                    .baseline_count = 1,
                    .x = {0, (double)count + 1}};
    gb_figure figure = {.plots = &plot, .count = 1, .width = 720};
    if (ok && drawn) {
        gb_text_printf(out, "<figure style=\"background:#fff\">");
        ok = gb_figure_svg(&figure, "claims", out, status);
        gb_text_printf(out, "</figure>\n");
    }
    free(values);
    free(names);
    return ok;
}

static bool claims(const site_table *table, gb_text *out, gb_status *status)
{
    json_t *all = json_object_get(table->root, "claims"), *claim;
    size_t i;
    if (is_own(table) || !json_array_size(all))
        return true;
    gb_text_printf(out, "<h2>Claims</h2>\n");
    bool ok = claims_plot(table, out, status);
    gb_text_printf(out, "<div class=\"wide\"><table>\n<thead><tr><th>claim</th><th class=\"left\">"
                        "statement</th><th>paper</th><th>mean</th><th>95%% interval</th>"
                        "<th>seeds</th><th class=\"left\">verdict</th><th>p over queries</th></tr>"
                        "</thead>\n<tbody>\n");
    json_array_foreach(all, i, claim) claim_line(claim, i, out);
    gb_text_printf(
        out, "</tbody></table></div>\n<p class=\"dim\">Judged over seeds, of several differences "
             "by the one that decides: supported when its 95%% interval lies above zero (above "
             "minus the margin, where the claim is &ldquo;not below&rdquo;, &ldquo;never "
             "falls&rdquo; or &ldquo;the same&rdquo;), contradicted below, undecided when neither "
             "or there are fewer than three seeds. Rows at chance and columns at their ceiling are "
             "not compared. p is a paired t-test over "
             "the queries of one seed; it decides nothing.</p>\n");
    return ok;
}

static void deviations(const site_table *table, gb_text *out)
{
    json_t *all = json_object_get(table->root, "deviation_texts"), *one;
    static const char *const names[] = {"id", "topic", "paper", "here", "why"};
    size_t i;
    if (!json_array_size(all))
        return;
    gb_text_printf(out, "<h2>Deviations from the paper</h2>\n<div class=\"wide\"><table>\n<thead>"
                        "<tr><th></th><th class=\"left\"></th><th class=\"left\">paper</th>"
                        "<th class=\"left\">here</th><th class=\"left\">why</th></tr></thead>\n"
                        "<tbody>\n");
    json_array_foreach(all, i, one)
    {
        gb_text_printf(out, "<tr>");
        for (size_t j = 0; j < 5; j++)
            gb_page_element(out, "td", "left", gb_json_text(one, names[j]));
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

/* The other forms of the table, copied beside its rows. */
static bool files(const site_table *table, const char *out_dir, gb_text *out, gb_status *status)
{
    static const char *const names[] = {"table.csv", "table.tex", "table.md", "table.json",
                                        "results.jsonl"};
    bool ok = true;
    gb_text_printf(out, "<p>Files:");
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
        char *from = gb_path_join(status, table->folder, names[i]);
        char *to = gb_format(status, "%s/%s/%s", out_dir, table->slug, names[i]);
        ok = from && to;
        if (ok && gb_file_exists(from)) {
            ok = gb_copy_file(from, to, status);
            gb_text_printf(out, " <a href=\"%s/%s\">%s</a>", table->slug, names[i], names[i]);
        }
        free(from);
        free(to);
    }
    gb_text_printf(out, "</p>\n");
    return ok;
}

bool report_site_table_page(const site_table *table, const char *out_dir, gb_status *status)
{
    gb_text out = {0};
    char name[112];
    snprintf(name, sizeof name, "%s.html", table->slug);
    report_site_begin(&out, gb_json_text(table->root, "title"), "", NULL, "");
    intro(table, &out);
    rows(table, &out);
    bool ok = claims(table, &out, status);
    deviations(table, &out);
    ok = ok && files(table, out_dir, &out, status);
    gb_page_end(&out);
    ok = ok && gb_text_write_in(&out, out_dir, name, status);
    gb_text_free(&out);
    return ok;
}
