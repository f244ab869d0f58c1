/* table.html: one file, no scripts, light and dark, printable. */
#include "gabbro/page.h"
#include "private.h"

static void head(const gb_report *report, gb_text *out)
{
    gb_text title = {0}, line = {0};
    report_title_text(report, &title);
    const char *words = gb_text_words(&title, out);
    gb_page_begin(out, words, "");
    gb_page_element(out, "h1", NULL, words);
    report_origin_text(report, &line);
    report_device_text(report, " Device: ", ".", &line);
    gb_page_element(out, "p", NULL, gb_text_words(&line, out));
    if (report->notes[0])
        gb_page_element(out, "p", NULL, report->notes);
    gb_text_free(&title);
    gb_text_free(&line);
}

static void table_head(const gb_report *report, gb_text *out)
{
    bool own = report->own_collection;
    gb_text_printf(out, "\n<div class=\"wide\"><table>\n<thead><tr><th rowspan=\"2\">system</th>");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_printf(out, "<th class=\"first\" colspan=\"%d\" title=\"", own ? 1 : 3);
        gb_page_escaped(out, report->columns[c].label);
        gb_text_printf(out, "\">");
        gb_page_escaped(out, own ? report->columns[c].name : report->columns[c].header);
        gb_text_printf(out, "</th>");
    }
    gb_text_printf(out, "<th class=\"first left\" rowspan=\"2\">verdict</th></tr>\n<tr>");
    for (size_t c = 0; c < report->column_count; c++) {
        if (own)
            gb_text_printf(out, "<th class=\"first\">here</th>");
        else
            gb_text_printf(out, "<th class=\"first published\">published</th><th>recorded</th>"
                                "<th>here</th>");
    }
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
}

static void cell_html(const gb_report *report, size_t row, size_t column, gb_text *out)
{
    shown cell;
    report_shown_cell(report, row, column, &cell);
    int digits = report->columns[column].decimals;
    if (!report->own_collection) {
        gb_text_printf(out, "<td class=\"first published\"");
        if (cell.published && cell.published->note[0]) {
            gb_text_printf(out, " title=\"");
            gb_page_escaped(out, cell.published->note);
            gb_text_printf(out, "\"");
        }
        gb_text_printf(out, ">");
        if (cell.published)
            gb_text_printf(out, "%.*f%s", cell.published->decimals, cell.published->value,
                           report_word_in(cell.published->marks, "dagger") ? "†" : "");
        gb_text_printf(out, "</td><td>");
        report_moments_text(&cell.recorded, digits, " ± ", out);
        gb_text_printf(out, "</td>");
    }
    gb_text_printf(out, "<td class=\"%s\">", report->own_collection ? "first here" : "here");
    report_moments_text(&cell.here, digits, " ± ", out);
    report_here_text(&cell, out);
    gb_text_printf(out, "</td>");
}

static const char *verdict_class(const gb_judgement *judgement)
{
    static const char *const names[] = {"dim", "undecided", "supported", "contradicted"};
    return names[judgement->verdict];
}

static void verdict_html(const gb_judgement *judgement, const char *before, gb_text *out)
{
    gb_text text = {0};
    gb_text_printf(&text, "%s", before);
    report_verdict_text(judgement, &text);
    gb_page_element(out, "span", verdict_class(judgement), gb_text_words(&text, out));
    gb_text_free(&text);
}

static void row_html(const gb_report *report, size_t index, gb_text *out)
{
    gb_text note = {0};
    report_row_note(report, index, &note);
    gb_text_printf(out, "<tr><td>");
    gb_page_escaped(out, report->spec->rows[index].label);
    if (note.length)
        gb_text_printf(out, " <span class=\"undecided\">(%s)</span>", gb_text_words(&note, out));
    gb_text_free(&note);
    gb_text_printf(out, "</td>");
    for (size_t c = 0; c < report->column_count; c++)
        cell_html(report, index, c, out);
    gb_text_printf(out, "<td class=\"first left\">");
    bool any = false;
    for (size_t i = 0; i < report->spec->claim_count && !report->own_collection; i++) {
        if (!report_claim_has_left(&report->spec->claims[i], index))
            continue;
        char before[40];
        snprintf(before, sizeof before, "%.30s ", report->spec->claims[i].id);
        gb_text_printf(out, "%s", any ? "<br>" : "");
        verdict_html(&report->judgements[i], before, out);
        any = true;
    }
    gb_text_printf(out, "</td></tr>\n");
}

static void group_html(const gb_report *report, const char *name, gb_text *out)
{
    gb_text_printf(out, "<tr class=\"group\"><td colspan=\"%zu\">",
                   report->column_count * (report->own_collection ? 1 : 3) + 2);
    gb_page_escaped(out, name);
    gb_text_printf(out, "</td></tr>\n");
}

static void cell(gb_text *out, const gb_text *text)
{
    gb_text_printf(out, "<td>");
    gb_page_escaped(out, gb_text_words(text, out));
    gb_text_printf(out, "</td>");
}

static void claim_html(const gb_report *report, size_t index, gb_text *out)
{
    const gb_claim *claim = &report->spec->claims[index];
    const gb_judgement *judgement = &report->judgements[index];
    claim_line line;
    report_claim_line_of(report, index, &line);
    gb_text_printf(out, "<tr><td>%s</td>", claim->id);
    gb_page_element(out, "td", "left", claim->statement);
    cell(out, &line.paper);
    cell(out, &line.mean);
    cell(out, &line.interval);
    gb_text_printf(out, "<td>%zu</td><td class=\"left\">", judgement->seeds);
    verdict_html(judgement, "", out);
    gb_text_printf(out, "%s", line.caution.length ? "<br>" : "");
    gb_page_element(out, "span", "dim", gb_text_words(&line.caution, out));
    gb_text_printf(out, "</td><td class=\"dim\">%s</td></tr>\n", gb_text_words(&line.query_p, out));
    report_claim_line_free(&line);
}

static void claims(const gb_report *report, gb_text *out)
{
    if (report->own_collection || !report->spec->claim_count)
        return;
    gb_text_printf(out, "<h2>Claims</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>claim</th>"
                        "<th class=\"left\">statement</th><th>paper</th><th>mean</th>"
                        "<th>95%% interval</th><th>seeds</th><th class=\"left\">verdict</th>"
                        "<th>p over queries</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < report->spec->claim_count; i++)
        claim_html(report, i, out);
    gb_text_printf(out, "</tbody></table></div>\n");
}

static void deviations(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "<h2>Deviations from the paper</h2>\n<div class=\"wide\"><table>\n<thead>"
                        "<tr><th></th><th class=\"left\"></th><th class=\"left\">paper</th>"
                        "<th class=\"left\">here</th><th class=\"left\">why</th></tr></thead>\n"
                        "<tbody>\n");
    for (size_t i = 0; i < report->spec->deviation_count; i++) {
        const gb_deviation *one = &report->spec->deviations[i];
        if (!report_deviation_applies(report, one))
            continue;
        const char *const cells[] = {one->id, one->topic, one->paper, one->here, one->why};
        gb_text_printf(out, "<tr>");
        for (size_t j = 0; j < 5; j++)
            gb_page_element(out, "td", "left", cells[j]);
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

void gb_report_html(const gb_report *report, gb_text *out)
{
    static const row_writer writer = {group_html, row_html};
    head(report, out);
    table_head(report, out);
    report_write_rows(report, &writer, out);
    gb_text_printf(out, "</tbody></table></div>\n");
    claims(report, out);
    deviations(report, out);
    gb_text_printf(out, "<h2>How to read this</h2>\n<ul>\n");
    const char *lines[8];
    size_t count = report_reading_lines(report, lines);
    for (size_t i = 0; i < count; i++) {
        gb_page_element(out, "li", NULL, lines[i]);
        gb_text_append(out, "\n", 1);
    }
    gb_text_printf(out, "</ul>\n");
    gb_page_end(out);
}
