/* The table on a terminal. */
#include "gabbro/page.h"
#include "private.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 110, LABEL = 41, KIND = 10, CELL = 11 }; /* CELL: at least */

/* Words into lines of at most WIDTH columns; the first line continues what stands on it. */
static void wrap(gb_text *out, size_t used, size_t indent, const char *words)
{
    for (const char *at = words; *at;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");
        if (!length)
            break;
        if (used > indent && used + 1 + length > WIDTH) {
            gb_text_printf(out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            gb_text_append(out, " ", 1);
            used++;
        }
        gb_text_append(out, at, length);
        used += length;
        at += length;
    }
    gb_text_append(out, "\n", 1);
}

/* "key: words" as a paragraph. */
static void paragraph(gb_text *out, const char *key, const char *words)
{
    gb_text_printf(out, "%s:", key);
    wrap(out, strlen(key) + 1, 2, words);
}

static void header(const gb_report *report, gb_text *out)
{
    gb_text line = {0};
    report_title_text(report, out);
    gb_text_printf(out, " (%s, %s)\n", report->spec->name, report->spec->source);
    gb_text_printf(&line, "%s, collection %s%s%s, this run: ", report->scale, report->collection,
                   report->generator[0] ? ", generated queries: " : "", report->generator);
    report_seeds_text(&report->here, &line);
    gb_text_printf(&line, ", recorded: ");
    report_recorded_text(report, &line);
    paragraph(out, "Scale", gb_text_words(&line, out));
    if (report->notes[0])
        paragraph(out, "Collection", report->notes);
    if (report->rankings[0])
        paragraph(out, "Rankings", report->rankings);
    gb_text_free(&line);
}

typedef enum line_kind { PUBLISHED, RECORDED, HERE, VERDICT } line_kind;

static void cell_text(const gb_report *report, size_t row, size_t column, line_kind kind,
                      char text[32])
{
    shown cell;
    report_shown_cell(report, row, column, &cell);
    int digits = report->columns[column].decimals;
    text[0] = '\0';
    if (kind == PUBLISHED && cell.published)
        snprintf(text, 32, "%.*f ", cell.published->decimals, cell.published->value);
    else if (kind == RECORDED && cell.recorded.count > 1)
        snprintf(text, 32, "%.*f (%.*f)", digits, cell.recorded.mean, digits, cell.recorded.sd);
    else if (kind == RECORDED && cell.recorded.count)
        snprintf(text, 32, "%.*f ", digits, cell.recorded.mean);
    else if (kind == HERE && cell.here.count > 1)
        snprintf(text, 32, "%.*f (%.*f)", digits, cell.here.mean, digits, cell.here.sd);
    else if (kind == HERE && cell.here.count)
        snprintf(text, 32, "%.*f%c", digits, cell.here.mean, report_mark_char(cell.mark));
    else if (kind == VERDICT)
        snprintf(text, 32, "%s", gb_cell_verdict_text(cell.verdict));
}

/* Letters of the widest cell. */
static int cell_width(const gb_report *report)
{
    int width = CELL;
    for (size_t row = 0; row < report->spec->row_count; row++)
        for (size_t c = 0; c < report->column_count; c++)
            for (line_kind kind = PUBLISHED; kind <= VERDICT; kind++) {
                char text[32];
                cell_text(report, row, c, kind, text);
                width = (int)strlen(text) > width ? (int)strlen(text) : width;
            }
    return width;
}

static void heading(const gb_report *report, int width, gb_text *out)
{
    gb_text_printf(out, "\n%*s", LABEL + KIND, "");
    for (size_t c = 0; c < report->column_count; c++)
        gb_text_printf(out, " %*.*s", width, width, report->columns[c].header);
    gb_text_append(out, "\n", 1);
}

/* Columns that are made from the results carry their set in a line above the measures. */
static void sets(const gb_report *report, int width, gb_text *out)
{
    size_t first = report->own_collection ? 0 : report_table_columns(report);
    if (first == report->column_count)
        return;
    gb_text_printf(out, "\n%*s", LABEL + KIND, "");
    for (size_t c = 0; c < report->column_count; c++) {
        size_t length = strcspn(report->columns[c].name, ":");
        if (length > (size_t)width)
            length = (size_t)width;
        if (c < first)
            length = 0;
        gb_text_printf(out, " %*.*s", width, (int)length, report->columns[c].name);
    }
}

/* One line of a row; false when there is nothing in it. */
static bool row_line(const gb_report *report, size_t row, line_kind kind, const char *label,
                     int width, gb_text *out)
{
    static const char *const names[] = {"published", "recorded", "here", "verdict"};
    gb_text line = {0};
    bool any = false;
    gb_text_printf(&line, "%-*.*s%-*s", LABEL, LABEL - 1, label, KIND, names[kind]);
    for (size_t c = 0; c < report->column_count; c++) {
        char text[32];
        cell_text(report, row, c, kind, text);
        any = any || text[0];
        gb_text_printf(&line, " %*s", width, text[0] || kind == VERDICT ? text : "- ");
    }
    while (line.length && line.data[line.length - 1] == ' ')
        line.length--;
    if (any)
        gb_text_printf(out, "%.*s\n", (int)line.length, gb_text_words(&line, out));
    gb_text_free(&line);
    return any;
}

static void row_text(const gb_report *report, size_t row, gb_text *out)
{
    gb_text label = {0}, note = {0};
    int width = cell_width(report);
    gb_text_printf(&label, "  %s", report->spec->rows[row].label);
    report_row_note(report, row, &note);
    bool labelled = false;
    for (line_kind kind = PUBLISHED; kind <= VERDICT; kind++) {
        /* The label stands on the first line, a note on the last with obtained values. */
        bool last = kind == HERE;
        const char *text = gb_text_words(!labelled ? &label : last ? &note : &(gb_text){0}, out);
        gb_text shifted = {0};
        gb_text_printf(&shifted, "%s%s", labelled && text[0] ? "    " : "", text);
        bool first = !labelled;
        if (row_line(report, row, kind, gb_text_words(&shifted, out), width, out))
            labelled = true;
        if (first && labelled && last && note.length) /* no line but this one */
            gb_text_printf(out, "    %s\n", gb_text_words(&note, out));
        gb_text_free(&shifted);
    }
    gb_text_free(&label);
    gb_text_free(&note);
}

static void group_text(const gb_report *report, const char *name, gb_text *out)
{
    (void)report;
    gb_text_printf(out, "%s\n", name);
}

static void claim_text(const gb_report *report, size_t index, gb_text *out)
{
    const gb_claim *claim = &report->spec->claims[index];
    const gb_judgement *judgement = &report->judgements[index];
    int digits = report_claim_decimals(report, claim);
    gb_text line = {0};
    report_verdict_text(judgement, &line);
    gb_text_printf(&line, ": %s", claim->statement);
    gb_text_printf(out, "%-7s ", claim->id);
    wrap(out, 8, 8, gb_text_words(&line, out));
    line.length = 0;
    if (judgement->verdict != GB_NOT_JUDGED) {
        if (!isnan(judgement->published))
            report_difference_text(&line, "paper ", judgement->published, digits, "; ");
        report_difference_text(&line, "mean ", judgement->mean, digits, "");
        report_comparison_text(judgement, &line);
        gb_text_printf(&line, " over %zu seed%s", judgement->seeds,
                       judgement->seeds == 1 ? "" : "s");
        if (judgement->seeds > 1) {
            report_difference_text(&line, ", interval ", judgement->low, digits, " to ");
            report_difference_text(&line, "", judgement->high, digits, "");
        }
        if (judgement->margin > 0)
            gb_text_printf(&line, ", margin %.*f", digits, judgement->margin);
        if (!isnan(judgement->query_p))
            gb_text_printf(&line, "; over queries of seed %llu: p = %.2g",
                           (unsigned long long)report->here.items[0].seed, judgement->query_p);
        gb_text_printf(out, "        ");
        wrap(out, 8, 8, gb_text_words(&line, out));
    }
    line.length = 0;
    report_caution_text(claim, judgement, &line);
    if (line.length) {
        gb_text_printf(out, "        ");
        wrap(out, 8, 8, gb_text_words(&line, out));
    }
    gb_text_free(&line);
}

static void claims(const gb_report *report, gb_text *out)
{
    if (report->own_collection || !report->spec->claim_count)
        return;
    gb_text_printf(out, "\nClaims of the paper (differences in the table's unit, positive in the "
                        "claimed direction)\n");
    for (size_t i = 0; i < report->spec->claim_count; i++)
        claim_text(report, i, out);
}

static void footer(const gb_report *report, gb_text *out)
{
    gb_text line = {0};
    gb_text_append(out, "\n", 1);
    report_device_text(report, "", "", &line);
    if (line.length)
        paragraph(out, "Device", gb_text_words(&line, out));
    compared all = report_compare_all(report);
    if (all.equal + all.within + all.beyond) {
        line.length = 0;
        gb_text_printf(
            &line,
            "%zu values of seed %llu equal those of its recorded run (=), %zu lie in the "
            "95%% prediction interval of the recorded seeds (~), %zu outside it (!)",
            all.equal, (unsigned long long)report->here.items[0].seed, all.within, all.beyond);
        paragraph(out, "Against the records", gb_text_words(&line, out));
    }
    line.length = 0;
    for (size_t i = 0; i < report->spec->deviation_count; i++)
        if (report_deviation_applies(report, &report->spec->deviations[i]))
            gb_text_printf(&line, "%s%s %s", line.length ? ", " : "",
                           report->spec->deviations[i].id, report->spec->deviations[i].topic);
    if (line.length)
        paragraph(out, "Deviations from the paper (table.md says more)", gb_text_words(&line, out));
    gb_text_append(out, "\n", 1);
    const char *lines[8];
    size_t count = report_reading_lines(report, lines);
    for (size_t i = 0; i < count; i++)
        wrap(out, 0, 0, lines[i]);
    gb_text_free(&line);
}

void gb_report_text(const gb_report *report, gb_text *out)
{
    static const row_writer writer = {group_text, row_text};
    header(report, out);
    int width = cell_width(report);
    sets(report, width, out);
    heading(report, width, out);
    report_write_rows(report, &writer, out);
    claims(report, out);
    footer(report, out);
}
