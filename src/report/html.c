/* table.html: the page of a table as the site has it, in one file, without links to others. */
#include "gabbro/page.h"
#include "private.h"
#include "site.h"

/* What is said of the rows besides their values. */
static void add_notes(const gb_report *report, json_t *rows)
{
    size_t at = 0;
    for (size_t r = 0; r < report->spec->row_count; r++) {
        gb_text note = {0};
        if (!report_row_shown(report, r))
            continue;
        report_row_note(report, r, &note);
        if (note.length && !note.failed)
            json_object_set_new(json_array_get(rows, at), "note", json_string(note.data));
        gb_text_free(&note);
        at++;
    }
}

/* The content; the caller frees the JSON that it was made of. */
static json_t *content(const gb_report *report, gb_text *out, bool whole)
{
    site_table table = {.folder = "", .root = report_table_json(report)};
    const char *title = gb_json_text(table.root, "title");
    if (!table.root) {
        out->failed = true;
        return NULL;
    }
    add_notes(report, json_object_get(table.root, "rows"));
    if (whole) {
        gb_page_begin(out, title, NULL, "");
        gb_page_heading(out, title);
    }
    report_site_table_content(&table, out);
    return table.root;
}

void gb_report_content(const gb_report *report, gb_text *out)
{
    json_decref(content(report, out, false));
}

void gb_report_html(const gb_report *report, gb_text *out)
{
    json_t *root = content(report, out, true);
    const char *lines[8];
    gb_text_printf(out, "<h2>How to read this</h2>\n<ul>\n");
    size_t count = report_reading_lines(report, lines);
    for (size_t i = 0; i < count; i++) {
        gb_page_element(out, "li", NULL, lines[i]);
        gb_text_append(out, "\n", 1);
    }
    gb_text_printf(out, "</ul>\n");
    gb_page_end(out);
    json_decref(root);
}
