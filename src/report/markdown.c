/* table.md */
#include "gabbro/page.h"
#include "private.h"

#include <math.h>
#include <string.h>

/* Text inside a table cell. */
static void escaped(gb_text *out, const char *text)
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
    shown_cell(report, row, column, &cell);
    int digits = report->columns[column].decimals;
    bool obtained = cell.recorded_count || cell.here_count;
    if (!report->own_collection && cell.published)
        gb_text_printf(out, "%.*f", cell.published->decimals, cell.published->value);
    else if (!report->own_collection)
        gb_text_printf(out, "–");
    if (!obtained)
        return;
    if (!report->own_collection) {
        gb_text_printf(out, " / ");
        if (cell.recorded_count)
            gb_text_printf(out, "%.*f", digits, cell.recorded_mean);
        else
            gb_text_printf(out, "–");
        if (cell.recorded_count > 1)
            gb_text_printf(out, " ± %.*f", digits, cell.recorded_sd);
        gb_text_printf(out, " / ");
    }
    if (!cell.here_count)
        gb_text_printf(out, "–");
    else
        gb_text_printf(out, "**%.*f**", digits, cell.here_mean);
    if (cell.here_count > 1)
        gb_text_printf(out, " ± %.*f", digits, cell.here_sd);
    else if (mark_char(cell.mark) != ' ')
        gb_text_printf(out, " %c", mark_char(cell.mark));
    const char *verdict = gb_cell_verdict_text(cell.verdict);
    if (verdict[0])
        gb_text_printf(out, " %s", verdict);
}

/* Claims that the row is on the left side of, with their verdicts. */
static void row_claims(const gb_report *report, size_t row, gb_text *out)
{
    bool any = false;
    for (size_t i = 0; i < report->spec->claim_count && !report->own_collection; i++) {
        if (!claim_has_left(&report->spec->claims[i], row))
            continue;
        gb_text_printf(out, "%s%s ", any ? "; " : "", report->spec->claims[i].id);
        verdict_text(&report->judgements[i], out);
        any = true;
    }
}

static void table(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "\n| system |");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_append(out, " ", 1);
        escaped(out, report->own_collection ? report->columns[c].name : report->columns[c].header);
        gb_text_printf(out, " |");
    }
    gb_text_printf(out, " verdict |\n|---|");
    for (size_t c = 0; c <= report->column_count; c++)
        gb_text_printf(out, "---|");
    gb_text_append(out, "\n", 1);
    const char *group = "";
    for (size_t r = 0; r < report->spec->row_count; r++) {
        const gb_spec_row *row = &report->spec->rows[r];
        if (!row_shown(report, r))
            continue;
        if (strcmp(group, row->group) != 0) {
            gb_text_printf(out, "| **%s** |", row->group);
            for (size_t c = 0; c <= report->column_count; c++)
                gb_text_printf(out, " |");
            gb_text_append(out, "\n", 1);
        }
        group = row->group;
        gb_text_printf(out, "| ");
        escaped(out, row->label);
        gb_text note = {0};
        row_note(report, r, &note);
        if (note.length)
            gb_text_printf(out, " (%s)", gb_text_words(&note, out));
        gb_text_free(&note);
        gb_text_printf(out, " |");
        for (size_t c = 0; c < report->column_count; c++) {
            gb_text_append(out, " ", 1);
            cell_markdown(report, r, c, out);
            gb_text_printf(out, " |");
        }
        gb_text_append(out, " ", 1);
        row_claims(report, r, out);
        gb_text_printf(out, " |\n");
    }
    if (!report->own_collection)
        gb_text_printf(out, "\nCells: published / recorded mean ± deviation between seeds / "
                            "**here**.\n");
    for (size_t c = 0; c < report->column_count && !report->own_collection; c++)
        gb_text_printf(out, "%s%s = %s%s", c ? "; " : "", report->columns[c].header,
                       report->columns[c].label, c + 1 == report->column_count ? ".\n" : "");
}

static void claims(const gb_report *report, gb_text *out)
{
    if (report->own_collection || !report->spec->claim_count)
        return;
    gb_text_printf(out,
                   "\n## Claims\n\n| claim | statement | paper | mean | 95%% interval | seeds | "
                   "verdict | p over queries |\n|---|---|---|---|---|---|---|---|\n");
    gb_text which = {0};
    for (size_t i = 0; i < report->spec->claim_count; i++) {
        const gb_claim *claim = &report->spec->claims[i];
        const gb_judgement *judgement = &report->judgements[i];
        int digits = claim_decimals(report, claim);
        gb_text_printf(out, "| %s | ", claim->id);
        escaped(out, claim->statement);
        gb_text_printf(out, " | ");
        if (!isnan(claim->printed_delta))
            difference_text(out, "", claim->printed_delta, digits, "");
        gb_text_printf(out, " | ");
        if (judgement->seeds)
            difference_text(out, "", judgement->mean, digits, "");
        which.length = 0;
        comparison_text(judgement, &which);
        escaped(out, gb_text_words(&which, out));
        gb_text_printf(out, " | ");
        if (judgement->seeds > 1) {
            difference_text(out, "", judgement->low, digits, " to ");
            difference_text(out, "", judgement->high, digits, "");
        }
        if (judgement->margin > 0)
            gb_text_printf(out, ", margin %.*f", digits, judgement->margin);
        gb_text_printf(out, " | %zu | ", judgement->seeds);
        verdict_text(judgement, out);
        which.length = 0;
        caution_text(claim, judgement, &which);
        if (which.length)
            gb_text_printf(out, "; ");
        escaped(out, gb_text_words(&which, out));
        gb_text_printf(out, " | ");
        if (!isnan(judgement->query_p))
            gb_text_printf(out, "%.2g", judgement->query_p);
        gb_text_printf(out, " |\n");
    }
    gb_text_free(&which);
}

static void deviations(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "\n## Deviations from the paper\n\n"
                        "| | | paper | here | why |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < report->spec->deviation_count; i++) {
        const gb_deviation *one = &report->spec->deviations[i];
        if (!deviation_applies(report, one))
            continue;
        const char *const cells[] = {one->id, one->topic, one->paper, one->here, one->why};
        gb_text_append(out, "|", 1);
        for (size_t j = 0; j < 5; j++) {
            gb_text_append(out, " ", 1);
            escaped(out, cells[j]);
            gb_text_printf(out, " |");
        }
        gb_text_append(out, "\n", 1);
    }
}

void gb_report_markdown(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "# ");
    title_text(report, out);
    gb_text_printf(out, "\n\n");
    origin_text(report, out);
    gb_text_printf(out, "\n");
    device_text(report, "Device: ", ".\n", out);
    if (report->notes[0])
        gb_text_printf(out, "\nCollection: %s.\n", report->notes);
    table(report, out);
    claims(report, out);
    deviations(report, out);
    gb_text_printf(out, "\n## How to read this\n\n");
    const char *lines[8];
    size_t count = reading_lines(report, lines);
    for (size_t i = 0; i < count; i++)
        gb_text_printf(out, "- %s\n", lines[i]);
}
