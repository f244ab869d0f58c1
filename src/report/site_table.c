/* The page of a table: its cells, claims with a plot, deviations, files. */
#include "gabbro/page.h"
#include "private.h"
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

/* Whether the steps of any row are known, as they are not of recorded results. */
static bool has_steps(const site_table *table)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(table->root, "rows"), i,
                       row) if (json_object_size(json_object_get(row, "steps"))) return true;
    return false;
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
    if (*gb_json_text(root, "ranking_notes"))
        gb_text_printf(&line, " Rankings: %s.", gb_json_text(root, "ranking_notes"));
    if (*gb_json_text(device, "device"))
        gb_text_printf(&line, " Device: %s, %s, kernels %.16s.", gb_json_text(device, "device"),
                       gb_json_text(device, "driver"), gb_json_text(device, "kernels"));
    if (*gb_json_text(root, "recorded_note"))
        gb_text_printf(&line, " No recorded results: %s.", gb_json_text(root, "recorded_note"));
    if (*gb_json_text(root, "recorded_outdated"))
        gb_text_printf(&line, " Without recorded rows that had other settings: %s.",
                       gb_json_text(root, "recorded_outdated"));
    gb_page_element(out, "p", NULL, gb_text_words(&line, out));
    gb_text_free(&line);
    gb_text_printf(out, "\n<p>%s",
                   *table->slug && has_steps(table) ? "Every value leads to how it was made. "
                                                    : "");
    if (!is_own(table))
        gb_text_printf(out,
                       "Published: as the paper prints it. Recorded: mean ± deviation over the "
                       "seeds that ship with the project; the bar is the 95%% interval of the "
                       "mean, on one scale for each column. Here: this run.");
    gb_text_printf(out, "</p>\n");
}

/* ---- cells ---- */

/* Where a value comes from: each is a line of its row. */
typedef enum source { PUBLISHED, RECORDED, HERE, SOURCES } source;
static const char *const source_names[SOURCES] = {"published", "recorded", "here"};

static const json_t *cell_of(const site_table *table, const json_t *row, size_t column)
{
    return json_object_get(json_object_get(row, "cells"),
                           gb_json_text(column_at(table, column), "column"));
}

/* Whether a row has a value of a source in any column. */
static bool has_source(const site_table *table, const json_t *row, source from)
{
    if (is_own(table) && from != HERE)
        return false;
    for (size_t c = 0; c < column_count(table); c++)
        if (json_object_get(cell_of(table, row, c), source_names[from]))
            return true;
    return false;
}

/* What the bars of a column show: all its recorded means, and a bit on either side. */
static void column_range(const site_table *table, size_t column, double range[2])
{
    json_t *row;
    size_t i;
    range[0] = INFINITY;
    range[1] = -INFINITY;
    json_array_foreach(json_object_get(table->root, "rows"), i, row)
    {
        double mean =
            report_json_real_of(json_object_get(cell_of(table, row, column), "recorded"), "mean");
        range[0] = fmin(range[0], mean);
        range[1] = fmax(range[1], mean);
    }
    double beside = .15 * (range[1] - range[0]);
    beside = beside > 0 ? beside : .1 * fabs(range[1]) + 1e-9;
    range[0] -= beside;
    range[1] += beside;
}

static void head(const site_table *table, gb_text *out)
{
    gb_page_wide(out, "results by system and measure");
    gb_text_printf(out, "<table class=\"results\">\n<thead><tr><th>system</th>");
    if (!is_own(table))
        gb_text_printf(out, "<th class=\"left\"><span class=\"unseen\">source</span></th>");
    for (size_t c = 0; c < column_count(table); c++) {
        gb_text_printf(out, "<th scope=\"col\" title=\"");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "label"));
        gb_text_printf(out, "\">");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "header"));
        gb_text_printf(out, "</th>");
    }
    gb_text_printf(out, "</tr></thead>\n");
}

/* Whether the paper marks a value so; marks have commas between them. */
static bool has_dagger(const json_t *one)
{
    return report_listed(gb_json_text(one, "marks"), ",", "dagger");
}

static void published_cell(const json_t *one, int digits, gb_text *out)
{
    double published = report_json_real_of(one, "published");
    gb_text_printf(out, "<td class=\"published\" title=\"");
    gb_page_escaped(out, gb_json_text(one, "note"));
    gb_text_printf(out, "\">");
    if (!isnan(published))
        gb_text_printf(out, "%.*f%s", digits, published, has_dagger(one) ? "†" : "");
    gb_text_printf(out, "</td>");
}

/* mark: what stands behind the mean. */
static void mean_and_sd(double mean, double sd, int digits, const char *link, const char *mark,
                        gb_text *out)
{
    gb_text_printf(out, "%s%.*f%s%s", link, digits, mean, *link ? "</a>" : "", mark);
    if (!isnan(sd))
        gb_text_printf(out, " <span class=\"sd\">± %.*f</span>", digits, sd);
}

static void recorded_cell(const json_t *one, const double range[2], int digits, const char *link,
                          gb_text *out)
{
    const json_t *recorded = json_object_get(one, "recorded");
    gb_text_printf(out, "<td>");
    if (recorded) {
        site_bar bar = {.mean = report_json_real_of(recorded, "mean"),
                        .low = report_json_real_of(recorded, "low"),
                        .high = report_json_real_of(recorded, "high"),
                        .published = report_json_real_of(one, "published"),
                        .range = {range[0], range[1]},
                        .digits = digits};
        mean_and_sd(bar.mean, report_json_real_of(recorded, "sd"), digits, link, "", out);
        report_site_cell_bar(&bar, out);
    }
    gb_text_printf(out, "</td>");
}

static void here_cell(const json_t *one, double scale, int digits, const char *link, gb_text *out)
{
    static const char *const marks[][2] = {
        {"equal", "<sup>=</sup>"}, {"within", "<sup>~</sup>"}, {"beyond", "<sup>!</sup>"}};
    double sd, mean = report_site_here(json_object_get(one, "here"), scale, &sd);
    gb_text_printf(out, "<td class=\"here\">");
    if (!isnan(mean)) {
        const char *mark = ""; /* one seed is compared with the records, no mean of several */
        for (size_t i = 0; i < 3 && isnan(sd); i++)
            if (!strcmp(gb_json_text(one, "against_recorded"), marks[i][0]))
                mark = marks[i][1];
        mean_and_sd(mean, sd, digits, link, mark, out);
    }
    if (*gb_json_text(one, "verdict")) {
        gb_text_printf(out, " ");
        gb_page_escaped(out, gb_json_text(one, "verdict"));
    }
    gb_text_printf(out, "</td>");
}

static void cell(const site_table *table, const json_t *row, size_t index, source from,
                 gb_text *out)
{
    const json_t *column = column_at(table, index), *one = cell_of(table, row, index);
    int digits = (int)json_integer_value(json_object_get(column, "decimals"));
    char link[256] = "", slug[96] = "";
    double range[2];
    if (*table->slug)
        report_site_row_slug(row, slug, sizeof slug);
    if (*slug)
        snprintf(link, sizeof link, "<a href=\"%s/%s.html#column-%zu\">", table->slug, slug, index);
    if (from == PUBLISHED) {
        published_cell(one, digits, out);
    } else if (from == RECORDED) {
        column_range(table, index, range);
        recorded_cell(one, range, digits, link, out);
    } else {
        here_cell(one, report_json_real_of(column, "scale"), digits, link, out);
    }
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
        if (is_own(table) || !is_left(claim, gb_json_text(row, "published_row")))
            continue;
        const char *verdict = gb_json_text(claim, "verdict");
        gb_text_printf(out, "%s<a class=\"%s\" href=\"#claim-%zu\">",
                       any ? "" : "<div class=\"claims\">", verdict_class(verdict), i);
        gb_page_escaped(out, gb_json_text(claim, "claim"));
        gb_text_printf(out, " %s</a>", verdict);
        any = true;
    }
    gb_text_printf(out, "%s", any ? "</div>" : "");
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

/* The system of a row, over all its lines. */
static void system_cell(const site_table *table, const json_t *row, size_t lines, gb_text *out)
{
    char slug[96] = "";
    if (*table->slug)
        report_site_row_slug(row, slug, sizeof slug);
    gb_text_printf(out, "<th class=\"system\" scope=\"rowgroup\" rowspan=\"%zu\">", lines);
    if (*slug)
        gb_text_printf(out, "<a href=\"%s/%s.html\">", table->slug, slug);
    gb_page_escaped(out, gb_json_text(row, "label"));
    gb_text_printf(out, "%s", *slug ? "</a>" : "");
    if (*gb_json_text(row, "note")) {
        gb_text_printf(out, " <span class=\"undecided\">(");
        gb_page_escaped(out, gb_json_text(row, "note"));
        gb_text_printf(out, ")</span>");
    } else {
        unconverged(row, out);
    }
    row_verdicts(table, row, out);
    gb_text_printf(out, "</th>");
}

/* A line for each source that the row has a value of. */
static void row_lines(const site_table *table, const json_t *row, gb_text *out)
{
    source sources[SOURCES];
    size_t lines = 0;
    for (int from = 0; from < SOURCES; from++)
        if (has_source(table, row, (source)from))
            sources[lines++] = (source)from;
    if (!lines)
        sources[lines++] = is_own(table) ? HERE : PUBLISHED;
    gb_text_printf(out, "<tbody>\n");
    for (size_t i = 0; i < lines; i++) {
        gb_text_printf(out, "<tr%s>", i + 1 == lines ? " class=\"last\"" : "");
        if (i == 0)
            system_cell(table, row, lines, out);
        if (!is_own(table))
            gb_text_printf(out, "<th class=\"source left dim\" scope=\"row\">%s</th>",
                           source_names[sources[i]]);
        for (size_t c = 0; c < column_count(table); c++)
            cell(table, row, c, sources[i], out);
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody>\n");
}

static bool has_daggers(const site_table *table)
{
    const json_t *rows = json_object_get(table->root, "rows");
    bool any = false;
    for (size_t r = 0; r < json_array_size(rows); r++)
        for (size_t c = 0; c < column_count(table); c++)
            any = any || has_dagger(cell_of(table, json_array_get(rows, r), c));
    return any;
}

/* In words what the head of the table and its published values say to a pointer that rests. */
static void legend(const site_table *table, gb_text *out)
{
    json_t *rows = json_object_get(table->root, "rows"), *row;
    size_t r;
    gb_text_printf(out, "<details><summary>Columns%s</summary>\n<ul>\n",
                   is_own(table) ? "" : ", and notes on published values");
    for (size_t c = 0; c < column_count(table); c++) {
        gb_text_printf(out, "<li><b>");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "header"));
        gb_text_printf(out, "</b>: ");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "label"));
        gb_text_printf(out, "</li>\n");
    }
    if (has_daggers(table))
        gb_text_printf(out,
                       "<li><b>†</b>: a mark of the paper, which says there what it stands for: "
                       "a system that its authors ran again, or a significant gain</li>\n");
    json_array_foreach(rows, r, row) for (size_t c = 0; c < column_count(table); c++)
    {
        const char *note = gb_json_text(cell_of(table, row, c), "note");
        if (!*note)
            continue;
        gb_text_printf(out, "<li>");
        gb_page_escaped(out, gb_json_text(row, "label"));
        gb_text_printf(out, ", ");
        gb_page_escaped(out, gb_json_text(column_at(table, c), "header"));
        gb_text_printf(out, ": ");
        gb_page_escaped(out, note);
        gb_text_printf(out, "</li>\n");
    }
    gb_text_printf(out, "</ul></details>\n");
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
            gb_text_printf(out, "<tbody><tr class=\"group\"><td colspan=\"%zu\">",
                           column_count(table) + (is_own(table) ? 1 : 2));
            gb_page_escaped(out, gb_json_text(row, "group"));
            gb_text_printf(out, "</td></tr></tbody>\n");
        }
        group = gb_json_text(row, "group");
        row_lines(table, row, out);
    }
    gb_text_printf(out, "</table></div>\n");
    legend(table, out);
}

/* ---- claims ---- */

void report_site_verdict(const json_t *claim, gb_text *out)
{
    const char *verdict = gb_json_text(claim, "verdict"), *reason = gb_json_text(claim, "reason");
    const json_t *more = json_object_get(claim, "more_seeds");
    gb_text_printf(out, "<span class=\"%s\">%s", verdict_class(verdict), verdict);
    if (*reason) {
        gb_text_printf(out, " (");
        gb_page_escaped(out, reason);
        gb_text_printf(out, ")");
    } else if (!strcmp(verdict, "undecided") && json_is_integer(more)) {
        report_more_seeds_text((long long)json_integer_value(more), out);
    }
    gb_text_printf(out, "</span>");
    if (*gb_json_text(claim, "caution")) {
        gb_text_printf(out, "<br>");
        gb_page_element(out, "span", "dim", gb_json_text(claim, "caution"));
    }
}

/* The interval of a claim beside the others of its table. */
static void claim_bar(const site_table *table, const json_t *claim, const double range[2],
                      gb_text *out)
{
    site_bar bar;
    bool points = report_site_claim_points(table, claim, &bar);
    if (isnan(bar.mean) || !strcmp(gb_json_text(claim, "verdict"), "not judged"))
        return;
    if (points)
        memcpy(bar.range, range, sizeof bar.range);
    else
        report_site_range(fmax(fabs(bar.mean), fmax(-bar.low, bar.high)), bar.range);
    report_site_claim_bar(&bar, gb_json_text(claim, "verdict"), out);
    if (!points)
        gb_text_printf(out, "<br><span class=\"dim\">its own scale</span>");
}

static void claim_row(const site_table *table, const json_t *claim, size_t index,
                      const double range[2], gb_text *out)
{
    double p = report_json_real_of(json_object_get(claim, "over_queries"), "p");
    gb_text_printf(out, "<tr id=\"claim-%zu\"><td>", index);
    gb_page_escaped(out, gb_json_text(claim, "claim"));
    gb_text_printf(out, "</td>");
    gb_page_element(out, "td", "left", gb_json_text(claim, "statement"));
    site_bar numbers = report_site_claim_difference(table, claim, 1);
    report_site_claim_numbers(claim, &numbers, out);
    gb_text_printf(out, "<td class=\"bars\">");
    claim_bar(table, claim, range, out);
    gb_text_printf(out, "</td><td>%lld</td><td class=\"left\">",
                   (long long)json_integer_value(json_object_get(claim, "seeds")));
    report_site_verdict(claim, out);
    gb_text_printf(out, "</td><td class=\"dim\">");
    if (!isnan(p))
        gb_text_printf(out, "%.2g", p);
    gb_text_printf(out, "</td></tr>\n");
}

static void claims(const site_table *table, gb_text *out)
{
    json_t *all = json_object_get(table->root, "claims"), *claim;
    double range[2], most = 2;
    size_t i;
    if (is_own(table) || !json_array_size(all))
        return;
    json_array_foreach(all, i, claim)
    {
        site_bar bar;
        if (report_site_claim_points(table, claim, &bar))
            most = fmax(most, 1.1 * fabs(bar.mean));
    }
    report_site_range(most, range);
    gb_text_printf(out, "<h2>Claims</h2>\n");
    gb_page_wide(out, "claims");
    gb_text_printf(out, "<table>\n<thead><tr><th>claim</th><th class=\"left\">statement</th>"
                        "<th>paper</th><th>mean</th><th>interval</th><th class=\"bars\">"
                        "<span class=\"unseen\">in points</span>");
    report_site_axis(range, out);
    gb_text_printf(out, "</th><th>seeds</th><th class=\"left\">verdict</th>"
                        "<th>p over queries</th></tr></thead>\n<tbody>\n");
    json_array_foreach(all, i, claim) claim_row(table, claim, i, range, out);
    gb_text_printf(
        out,
        "</tbody></table></div>\n<p class=\"dim\">Judged over seeds, of several differences by the "
        "one that decides: supported when its 95%% interval (wider where an error in any one of "
        "several would make the verdict wrong) lies above zero (above minus the margin, where the "
        "claim is &ldquo;not below&rdquo;, &ldquo;never falls&rdquo; or &ldquo;the same&rdquo;), "
        "contradicted below, undecided when neither or there are fewer than three seeds. Under "
        "<q>paper</q> stands the same difference of the paper's own cells. Rows at chance and "
        "columns at their ceiling are not compared. p is a paired t-test over the queries of one "
        "seed; it decides nothing. Bars are in points unless they have a scale of their own, with "
        "an arrow where they go on beyond it.</p>\n");
}

static void deviations(const site_table *table, gb_text *out)
{
    json_t *all = json_object_get(table->root, "deviation_texts"), *one;
    static const char *const names[] = {"id", "topic", "paper", "here", "why"};
    size_t i;
    if (!json_array_size(all))
        return;
    gb_text_printf(out, "<h2>Deviations from the paper</h2>\n");
    gb_page_wide(out, "deviations");
    gb_text_printf(out, "<table>\n<thead>"
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

void report_site_table_content(const site_table *table, gb_text *out)
{
    intro(table, out);
    rows(table, out);
    claims(table, out);
    deviations(table, out);
}

bool report_site_table_page(const site_table *table, const char *out_dir, gb_status *status)
{
    gb_text out = {0};
    char name[112];
    snprintf(name, sizeof name, "%s.html", table->slug);
    report_site_begin(&out, gb_json_text(table->root, "title"), "", NULL, "");
    report_site_table_content(table, &out);
    bool ok = report_site_table_curves(table, out_dir, &out, status) &&
              files(table, out_dir, &out, status);
    gb_page_end(&out);
    ok = ok && gb_text_write_in(&out, out_dir, name, status);
    gb_text_free(&out);
    return ok;
}
