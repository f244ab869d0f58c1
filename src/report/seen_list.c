/* What others sent of their tables (tables/seen), as a page of the site and as lines of text. */
#include "site.h"

#include <gabbro/page.h>

#include <ctype.h>
#include <string.h>

/* ---- columns ---- */

/* A column of both forms. */
typedef struct column {
    const char *header; /* its name */
    bool left;          /* its cells are words */
    /* Appends the cell of what was sent, as plain text. */
    void (*show)(const json_t *seen, const char *key, gb_text *cell);
    const char *key; /* for show */
} column;

static void words(const json_t *seen, const char *key, gb_text *cell)
{
    gb_text_printf(cell, "%s", gb_json_text(seen, key));
}

static bool is_right(const json_t *seen)
{
    const json_t *code = json_object_get(json_object_get(seen, "doctor"), "status");
    return json_is_integer(code) && json_integer_value(code) == 0;
}

static void kernels(const json_t *seen, const char *key, gb_text *cell)
{
    (void)key;
    gb_text_printf(cell, "%s", is_right(seen) ? "all right" : "wrong");
}

/* What of a gpu-check was well, "7 of 7". */
static void checks(const json_t *seen, const char *key, gb_text *cell)
{
    const json_t *all = json_object_get(json_object_get(seen, key), "checks"), *one;
    size_t i, well = 0, made = 0;
    json_array_foreach(all, i, one)
    {
        json_int_t code = json_integer_value(json_object_get(one, "status"));
        well += code == 0;
        made += code != 77; /* left out */
    }
    if (made)
        gb_text_printf(cell, "%zu of %zu", well, made);
}

static void speed(const json_t *seen, const char *key, gb_text *cell)
{
    double value = json_number_value(json_object_get(seen, key));
    if (value > 0)
        gb_text_printf(cell, "%.0f", value);
}

static void minutes(const json_t *seen, const char *key, gb_text *cell)
{
    double value = json_number_value(json_object_get(seen, key)) / 60;
    if (value > 0)
        gb_text_printf(cell, "%.1f", value);
}

static void table(const json_t *seen, const char *key, gb_text *cell)
{
    gb_text_printf(cell, "%s, %s", gb_json_text(seen, key), gb_json_text(seen, "scale"));
}

static void cells(const json_t *seen, const char *key, gb_text *cell)
{
    const json_t *counts = json_object_get(seen, "against_recorded");
    gb_text_printf(cell, "%lld", (long long)json_integer_value(json_object_get(counts, key)));
}

static void source(const json_t *seen, const char *key, gb_text *cell)
{
    words(json_object_get(seen, key), "source", cell);
}

static void day(const json_t *seen, const char *key, gb_text *cell)
{
    gb_text_printf(cell, "%.10s", gb_json_text(seen, key));
}

static const column columns[] = {
    {"device", true, words, "device"},      {"driver", true, words, "driver"},
    {"kernels", true, words, "profile"},    {"are", true, kernels, NULL},
    {"checks", false, checks, "gpu_check"}, {"GFLOP/s", false, speed, "gflops_per_s"},
    {"table", true, table, "table"},        {"minutes", false, minutes, "seconds"},
    {"equal", false, cells, "equal"},       {"within", false, cells, "within"},
    {"beyond", false, cells, "beyond"},     {"source", true, source, "built"},
    {"date", false, day, "date"},           {"sent by", true, words, "name"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- the page ---- */

static void page_row(const json_t *seen, gb_text *out)
{
    gb_text_printf(out, "<tr>");
    for (size_t i = 0; i < COLUMNS; i++) {
        const column *c = &columns[i];
        const char *class = c->left ? "left" : NULL;
        gb_text cell = {0};
        if (c->show == kernels)
            class = is_right(seen) ? "left supported" : "left contradicted";
        c->show(seen, c->key, &cell);
        gb_page_element(out, "td", class, gb_text_words(&cell, out));
        gb_text_free(&cell);
    }
    gb_text_printf(out, "</tr>\n");
}

static void page_table(const json_t *all, gb_text *out)
{
    json_t *seen;
    size_t i;
    gb_page_wide(out, "devices");
    gb_text_printf(out, "<table>\n<thead><tr>");
    for (i = 0; i < COLUMNS; i++)
        gb_page_element(out, "th", columns[i].left ? "left" : NULL, columns[i].header);
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
    json_array_foreach(all, i, seen) page_row(seen, out);
    gb_text_printf(out, "</tbody></table></div>\n");
}

bool report_site_seen_page(const char *folder, const char *out_dir, bool *written,
                           gb_status *status)
{
    bool there = folder && gb_dir_exists(folder);
    json_t *all = there ? report_seen_read(folder, status) : NULL;
    gb_text out = {0};
    *written = json_array_size(all) > 0;
    report_site_begin(&out, "Devices that were seen", "", NULL, "");
    gb_text_printf(
        &out,
        "<p>What people sent from their machines (<code>reproduce TABLE --submit FILE</code>):"
        " whether every kind of kernel agrees with float64 on the device, the checks of "
        "<code>bench/gpu-check</code>, the speed of the fastest training, and how the "
        "table's cells compare with the recorded results: the same bits, in the 95%% "
        "prediction interval of the recorded seeds, or outside it.</p>\n");
    page_table(all, &out);
    gb_page_end(&out);
    bool ok =
        (all || !there) && (!*written || gb_text_write_in(&out, out_dir, "devices.html", status));
    gb_text_free(&out);
    json_decref(all);
    return ok;
}

/* ---- lines of text ---- */

/* The cell for a terminal, which must not take for commands what others wrote. seen NULL: the
 * header. */
static void line_cell(const column *c, const json_t *seen, gb_text *cell)
{
    if (!seen)
        gb_text_printf(cell, "%s", c->header);
    else
        c->show(seen, c->key, cell);
    for (size_t i = 0; i < cell->length; i++)
        if (iscntrl((unsigned char)cell->data[i]))
            cell->data[i] = '?';
}

/* Letters of UTF-8. */
static size_t letters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static void widen(const json_t *seen, size_t widths[COLUMNS], gb_text *out)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        gb_text cell = {0};
        line_cell(&columns[i], seen, &cell);
        size_t used = letters(gb_text_words(&cell, out));
        widths[i] = used > widths[i] ? used : widths[i];
        gb_text_free(&cell);
    }
}

static void print_line(const json_t *seen, const size_t widths[COLUMNS], gb_text *out)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        gb_text cell = {0};
        line_cell(&columns[i], seen, &cell);
        const char *shown = gb_text_words(&cell, out);
        int space = (int)(widths[i] - letters(shown));
        gb_text_printf(out, "%*s%s%*s", columns[i].left ? 0 : space, "", shown,
                       columns[i].left ? space + 2 : 2, "");
        gb_text_free(&cell);
    }
    while (out->length && out->data[out->length - 1] == ' ')
        out->length--;
    gb_text_append(out, "\n", 1);
}

bool gb_seen_print(const char *folder, gb_text *out, gb_status *status)
{
    json_t *all = report_seen_read(folder, status), *seen;
    size_t widths[COLUMNS] = {0}, i;
    widen(NULL, widths, out);
    json_array_foreach(all, i, seen) widen(seen, widths, out);
    if (json_array_size(all))
        print_line(NULL, widths, out);
    json_array_foreach(all, i, seen) print_line(seen, widths, out);
    bool ok = all && (!out->failed || gb_fail_memory(status, "listing what others sent"));
    json_decref(all);
    return ok;
}
