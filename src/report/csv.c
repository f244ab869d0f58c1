/* table.csv and table.tex: the cells for other programs. */
#include "private.h"

#include <math.h>
#include <string.h>

/* ---- CSV ---- */

static void field(gb_text *out, const char *text, const char *behind)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    gb_text_printf(out, "%s", quoted ? "\"" : "");
    for (; *text; text++)
        gb_text_printf(out, *text == '"' ? "\"\"" : "%c", *text);
    gb_text_printf(out, "%s%s", quoted ? "\"" : "", behind);
}

static void real(gb_text *out, double value)
{
    gb_text_append(out, ",", 1);
    if (isfinite(value))
        gb_text_printf(out, "%.6g", value);
}

static void moments_csv(gb_text *out, const moments *m)
{
    real(out, m->mean);
    real(out, m->sd);
    gb_text_printf(out, ",%zu", m->count);
}

static void cell_csv(const gb_report *report, size_t row, size_t column, gb_text *out)
{
    shown cell;
    report_shown_cell(report, row, column, &cell);
    if (!cell.published && !cell.recorded.count && !cell.here.count)
        return;
    const gb_spec_row *one = &report->spec->rows[row];
    field(out, report->spec->name, ",");
    field(out, report->scale, ",");
    field(out, one->key, ",");
    field(out, one->group, ",");
    field(out, one->label, ",");
    field(out, gb_row_role_name(one->role), ",");
    field(out, report->columns[column].name, ",");
    if (cell.published)
        gb_text_printf(out, "%.*f", cell.published->decimals, cell.published->value);
    gb_text_append(out, ",", 1);
    field(out, cell.published ? cell.published->status : "", "");
    moments_csv(out, &cell.recorded);
    moments_csv(out, &cell.here);
    gb_text_append(out, ",", 1);
    field(out, gb_cell_verdict_text(cell.verdict), "\r\n");
}

void gb_report_csv(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "table,scale,row,group,label,role,column,published,published_status,"
                        "recorded_mean,recorded_sd,recorded_seeds,here_mean,here_sd,here_seeds,"
                        "verdict\r\n");
    for (size_t r = 0; r < report->spec->row_count; r++)
        for (size_t c = 0; c < report->column_count; c++)
            cell_csv(report, r, c, out);
}

/* ---- LaTeX ---- */

static void tex(gb_text *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
        case '%':
        case '$':
        case '#':
        case '_':
        case '{':
        case '}':
            gb_text_printf(out, "\\%c", *text);
            break;
        case '\\':
            gb_text_printf(out, "\\textbackslash{}");
            break;
        case '~':
            gb_text_printf(out, "\\textasciitilde{}");
            break;
        case '^':
            gb_text_printf(out, "\\textasciicircum{}");
            break;
        case '<':
            gb_text_printf(out, "\\textless{}");
            break;
        case '>':
            gb_text_printf(out, "\\textgreater{}");
            break;
        case '|':
            gb_text_printf(out, "\\textbar{}");
            break;
        case '[': /* behind the end of a row these two would belong to it */
        case '*':
            gb_text_printf(out, "{%c}", *text);
            break;
        default:
            gb_text_append(out, text, 1);
        }
}

static void row_tex(const gb_report *report, size_t row, gb_text *out)
{
    tex(out, report->spec->rows[row].label);
    for (size_t c = 0; c < report->column_count; c++) {
        shown cell;
        report_shown_cell(report, row, c, &cell);
        int digits = report->columns[c].decimals;
        if (!report->own_collection) {
            gb_text_printf(out, " & ");
            if (cell.published)
                gb_text_printf(out, "%.*f", cell.published->decimals, cell.published->value);
            gb_text_printf(out, " & ");
            report_moments_text(&cell.recorded, digits, " $\\pm$ ", out);
        }
        gb_text_printf(out, " & ");
        report_moments_text(&cell.here, digits, " $\\pm$ ", out);
    }
    gb_text_printf(out, " \\\\\n");
}

static void group_tex(const gb_report *report, const char *name, gb_text *out)
{
    gb_text_printf(out, "\\multicolumn{%zu}{l}{\\textit{",
                   report->column_count * (report->own_collection ? 1 : 3) + 1);
    tex(out, name);
    gb_text_printf(out, "}} \\\\\n");
}

static void head_tex(const gb_report *report, gb_text *out)
{
    int wide = report->own_collection ? 1 : 3;
    gb_text_printf(out, "\\begin{tabular}{l");
    for (size_t c = 0; c < report->column_count; c++)
        gb_text_printf(out, "|%s", wide == 1 ? "r" : "rrr");
    gb_text_printf(out, "}\n\\hline\n");
    for (size_t c = 0; c < report->column_count; c++) {
        gb_text_printf(out, " & \\multicolumn{%d}{%sc}{", wide, "|");
        tex(out, report_column_heading(report, c));
        gb_text_printf(out, "}");
    }
    gb_text_printf(out, " \\\\\n");
    for (size_t c = 0; wide == 3 && c < report->column_count; c++)
        gb_text_printf(out, " & published & recorded & here");
    gb_text_printf(out, "%s\\hline\n", wide == 3 ? " \\\\\n" : "");
}

void gb_report_latex(const gb_report *report, gb_text *out)
{
    static const row_writer writer = {group_tex, row_tex};
    gb_text title = {0};
    report_title_text(report, &title);
    gb_text_printf(out, "%% %s (%s, scale %s)\n", gb_text_words(&title, out), report->spec->name,
                   report->scale);
    gb_text_free(&title);
    head_tex(report, out);
    report_write_rows(report, &writer, out);
    gb_text_printf(out, "\\hline\n\\end{tabular}\n");
}
