/* Writes table.md. */
#include "private.h"

void report_markdown_escaped(gb_text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\' || *text == '<' || *text == '*' || *text == '_')
            gb_text_append(out, "\\", 1);
        gb_text_append(out, text, 1);
    }
}

static void cell_markdown(const gb_report *report, size_t row, size_t column, gb_text *out)
{
    shown cell;
    report_shown_cell(report, row, column, &cell);
    int digits = report->columns[column].decimals;
    if (!report->own_collection && cell.published)
        gb_text_printf(out, "%.*f", cell.published->decimals, cell.published->value);
    else if (!report->own_collection)
        gb_text_printf(out, "–");
    if (!cell.recorded.count && !cell.here.count)
        return;
    if (!report->own_collection) {
        gb_text_printf(out, "%s", cell.recorded.count ? " / " : " / –");
        report_moments_text(&cell.recorded, digits, " ± ", out);
        gb_text_printf(out, " / ");
    }
    if (!cell.here.count)
        gb_text_printf(out, "–");
    else
        gb_text_printf(out, "**");
    report_moments_text(&cell.here, digits, "** ± ", out);
    gb_text_printf(out, "%s", cell.here.count == 1 ? "**" : "");
    report_here_text(&cell, out);
}

/* Claims that the row is on the left side of, with their verdicts. */
static void row_claims(const gb_report *report, size_t row, gb_text *out)
{
    bool any = false;
    for (size_t i = 0; i < report->spec->claim_count && !report->own_collection; i++) {
        if (!report_claim_has_left(&report->spec->claims[i], row))
            continue;
        gb_text_printf(out, "%s%s ", any ? "; " : "", report->spec->claims[i].id);
        report_verdict_text(&report->judgements[i], out);
        any = true;
    }
}

static void head(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "\n| system |");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_append(out, " ", 1);
        report_markdown_escaped(out, report_column_heading(report, c));
        gb_text_printf(out, " |");
    }
    gb_text_printf(out, " verdict |\n|---|");
    for (size_t c = 0; c <= report->column_count; c++)
        gb_text_printf(out, "---|");
    gb_text_append(out, "\n", 1);
}

static void group_markdown(const gb_report *report, const char *name, gb_text *out)
{
    gb_text_printf(out, "| **");
    report_markdown_escaped(out, name);
    gb_text_printf(out, "** |");
    for (size_t c = 0; c <= report->column_count; c++)
        gb_text_printf(out, " |");
    gb_text_append(out, "\n", 1);
}

static void row_markdown(const gb_report *report, size_t row, gb_text *out)
{
    gb_text note = {0};
    report_row_note(report, row, &note);
    gb_text_printf(out, "| ");
    report_markdown_escaped(out, report->spec->rows[row].label);
    if (note.length)
        gb_text_printf(out, " (%s)", gb_text_words(&note, out));
    gb_text_free(&note);
    gb_text_printf(out, " |");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_append(out, " ", 1);
        cell_markdown(report, row, c, out);
        gb_text_printf(out, " |");
    }
    gb_text_append(out, " ", 1);
    row_claims(report, row, out);
    gb_text_printf(out, " |\n");
}

/* What the cells and the columns mean. */
static void legend(const gb_report *report, gb_text *out)
{
    if (report->own_collection)
        return;
    gb_text_printf(out, "\nCells: published / recorded mean ± deviation between seeds / "
                        "**here**.\n");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_printf(out, "%s", c ? "; " : "");
        report_markdown_escaped(out, report_column_heading(report, c));
        gb_text_printf(out, " = ");
        report_markdown_escaped(out, report->columns[c].label);
    }
    gb_text_printf(out, ".\n");
}

static void claim_markdown(const gb_report *report, size_t index, gb_text *out)
{
    const gb_claim *claim = &report->spec->claims[index];
    const gb_judgement *judgement = &report->judgements[index];
    claim_line line;
    report_claim_line_of(report, index, &line);
    gb_text_printf(out, "| %s | ", claim->id);
    report_markdown_escaped(out, claim->statement);
    const gb_text *const numbers[] = {&line.paper, &line.mean, &line.interval};
    for (size_t i = 0; i < 3; i++) {
        gb_text_printf(out, " | ");
        report_markdown_escaped(out, gb_text_words(numbers[i], out));
    }
    gb_text_printf(out, " | %zu | ", judgement->seeds);
    report_verdict_text(judgement, out);
    gb_text_printf(out, "%s", line.caution.length ? "; " : "");
    report_markdown_escaped(out, gb_text_words(&line.caution, out));
    gb_text_printf(out, " | %s |\n", gb_text_words(&line.query_p, out));
    report_claim_line_free(&line);
}

static void claims(const gb_report *report, gb_text *out)
{
    if (report->own_collection || !report->spec->claim_count)
        return;
    gb_text_printf(out, "\n## Claims\n\n| claim | statement | paper | mean | interval | seeds | "
                        "verdict | p over queries |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->spec->claim_count; i++)
        claim_markdown(report, i, out);
}

static void deviations(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "\n## Deviations from the paper\n\n"
                        "| | | paper | here | why |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->spec->deviation_count; i++) {
        const gb_deviation *one = &report->spec->deviations[i];
        if (!report_deviation_applies(report, one))
            continue;
        const char *const cells[] = {one->id, one->topic, one->paper, one->here, one->why};
        gb_text_append(out, "|", 1);
        for (size_t j = 0; j < 5; j++) {
            gb_text_append(out, " ", 1);
            report_markdown_escaped(out, cells[j]);
            gb_text_printf(out, " |");
        }
        gb_text_append(out, "\n", 1);
    }
}

/* What is above the table: names of collections and devices may have any characters. */
static void opening(const gb_report *report, gb_text *out)
{
    gb_text text = {0};
    gb_text_printf(&text, "# ");
    report_title_text(report, &text);
    gb_text_printf(&text, "\n\n");
    report_origin_text(report, &text);
    gb_text_printf(&text, "\n");
    report_device_text(report, "Device: ", ".\n", &text);
    if (report->notes[0])
        gb_text_printf(&text, "\nCollection: %s.\n", report->notes);
    if (report->rankings[0])
        gb_text_printf(&text, "\nRankings: %s.\n", report->rankings);
    report_markdown_escaped(out, gb_text_words(&text, out));
    gb_text_free(&text);
}

void gb_report_markdown(const gb_report *report, gb_text *out)
{
    static const row_writer writer = {group_markdown, row_markdown};
    opening(report, out);
    head(report, out);
    report_write_rows(report, &writer, out);
    legend(report, out);
    claims(report, out);
    deviations(report, out);
    gb_text_printf(out, "\n## How to read this\n\n");
    const char *lines[8];
    size_t count = report_reading_lines(report, lines);
    for (size_t i = 0; i < count; i++)
        gb_text_printf(out, "- %s\n", lines[i]);
}
