/* The page of a row: where each of its values came from. */
#include "gabbro/page.h"
#include "private.h"
#include "site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static void seeds_of_cell(const json_t *here, double scale, int digits, gb_text *out)
{
    const char *seed;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)here, seed, value) if (json_is_number(value))
    {
        gb_text_printf(out, "%s", any ? ", " : "");
        gb_page_escaped(out, seed);
        gb_text_printf(out, ": %.*f", digits, json_number_value(value) * scale);
        any = true;
    }
}

static void number_cell(gb_text *out, int digits, double value)
{
    gb_text_printf(out, "<td>");
    if (!isnan(value))
        gb_text_printf(out, "%.*f", digits, value);
    gb_text_printf(out, "</td>");
}

static void difference_cell(gb_text *out, int digits, double value)
{
    gb_text_printf(out, "<td>");
    if (!isnan(value))
        report_difference_text(out, "", value, digits, "");
    gb_text_printf(out, "</td>");
}

static void value_line(const json_t *column, const json_t *row, size_t index, gb_text *out)
{
    const json_t *cell =
        json_object_get(json_object_get(row, "cells"), gb_json_text(column, "column"));
    const json_t *recorded = json_object_get(cell, "recorded"),
                 *here = json_object_get(cell, "here");
    int digits = (int)json_integer_value(json_object_get(column, "decimals"));
    double published = report_json_real_of(cell, "published"),
           mean = report_json_real_of(recorded, "mean");
    double scale = report_json_real_of(column, "scale"), sd;
    double obtained = recorded ? mean : report_site_here(here, scale, &sd);
    gb_text_printf(out, "<tr id=\"column-%zu\">", index);
    gb_page_element(out, "td", NULL, gb_json_text(column, "label"));
    number_cell(out, digits, published);
    number_cell(out, digits + 1, mean);
    number_cell(out, digits + 1, report_json_real_of(recorded, "sd"));
    gb_text_printf(out, "<td>");
    if (!isnan(report_json_real_of(recorded, "low")))
        gb_text_printf(out, "%.*f to %.*f", digits + 1, report_json_real_of(recorded, "low"),
                       digits + 1, report_json_real_of(recorded, "high"));
    gb_text_printf(out, "</td>");
    number_cell(out, 0, report_json_real_of(recorded, "seeds"));
    gb_text_printf(out, "<td class=\"left here\">");
    seeds_of_cell(here, scale, digits + 1, out);
    gb_text_printf(out, "</td>");
    difference_cell(out, digits, obtained - published);
    gb_text_printf(out, "</tr>\n");
}

static void values(const site_table *table, const json_t *row, gb_text *out)
{
    json_t *columns = json_object_get(table->root, "columns"), *column;
    size_t c;
    gb_page_wide(out, "values");
    gb_text_printf(out, "<table>\n<thead><tr><th>measure</th><th>published</th>"
                        "<th>recorded mean</th><th>deviation</th><th>95%% interval</th><th>seeds"
                        "</th><th class=\"left\">here, by seed</th><th>obtained - published</th>"
                        "</tr></thead>\n<tbody>\n");
    json_array_foreach(columns, c, column) value_line(column, row, c, out);
    gb_text_printf(out, "</tbody></table></div>\n");
}

/* ---- steps ---- */

static void pairs(const char *heading, const json_t *object, gb_text *out)
{
    const char *name;
    json_t *value;
    if (!json_object_size(object))
        return;
    gb_text_printf(out, "<h4>%s</h4>\n", heading);
    gb_page_wide(out, heading);
    gb_text_printf(out, "<table><tbody>\n");
    json_object_foreach((json_t *)object, name, value)
    {
        char *text = json_is_string(value)
                         ? NULL
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT |
                                                 JSON_REAL_PRECISION(9));
        gb_text_printf(out, "<tr>");
        gb_page_element(out, "td", NULL, name);
        gb_page_element(out, "td", "left", text ? text : json_string_value(value));
        gb_text_printf(out, "</tr>\n");
        free(text);
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

static void outputs(const json_t *run, gb_text *out)
{
    const char *name;
    json_t *one;
    gb_text_printf(out, "<h4>Outputs</h4>\n");
    gb_page_wide(out, "Outputs");
    gb_text_printf(out, "<table><thead><tr><th>file</th><th>bytes</th>"
                        "<th class=\"left\">SHA-256</th></tr></thead><tbody>\n");
    json_object_foreach(json_object_get(run, "outputs"), name, one)
    {
        gb_text_printf(out, "<tr>");
        gb_page_element(out, "td", NULL, name);
        gb_text_printf(out, "<td>%lld</td>",
                       (long long)json_integer_value(json_object_get(one, "bytes")));
        gb_page_element(out, "td", "left hash", gb_json_text(one, "sha256"));
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

static void step_details(const chain_step *step, gb_text *out)
{
    const json_t *run = step->run;
    gb_text_printf(out, "<details><summary>");
    gb_page_element(out, "code", NULL, step->name);
    if (!run) {
        gb_text_printf(out, "</summary><p>Not in the store any more.</p></details>\n");
        return;
    }
    const json_t *times = json_object_get(run, "times");
    gb_text_printf(out, " <span class=\"dim\">%.1f s, finished ",
                   report_json_real_of(times, "wall_s"));
    gb_page_escaped(out, gb_json_text(times, "finished"));
    gb_text_printf(out, "</span></summary>\n");
    const char *const names[] = {"device", "kernels", "program"};
    gb_page_wide(out, "where it was made");
    gb_text_printf(out, "<table><tbody>\n");
    for (size_t i = 0; i < 3; i++) {
        if (!*gb_json_text(run, names[i]))
            continue;
        gb_text_printf(out, "<tr><td>%s</td>", names[i]);
        gb_page_element(out, "td", i == 1 ? "left hash" : "left", gb_json_text(run, names[i]));
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
    pairs("Settings", json_object_get(run, "settings"), out);
    pairs("Inputs", json_object_get(run, "inputs"), out);
    pairs("Facts", json_object_get(run, "facts"), out);
    pairs("Times", times, out);
    outputs(run, out);
    gb_text_printf(out, "</details>\n");
}

static void commands(const chain *all, gb_text *out)
{
    gb_text text = {0};
    for (size_t i = 0; i < all->count; i++) {
        report_chain_command(&all->steps[i], &text);
        gb_text_printf(&text, "\n# -> %s\n", all->steps[i].name);
    }
    gb_page_element(out, "pre", NULL, gb_text_words(&text, out));
    gb_text_append(out, "\n", 1);
    gb_text_free(&text);
}

static bool curves(const chain *all, const char *out_dir, gb_text *out, gb_status *status)
{
    bool ok = true, any = false;
    for (size_t i = 0; ok && i < all->count; i++) {
        bool drawn;
        ok = report_site_curve(&all->steps[i], out_dir, &drawn, status);
        if (!ok || !drawn)
            continue;
        gb_text_printf(
            out, "%s<figure><img src=\"../curves/%s.svg\" alt=\"losses of %s\"></figure>\n",
            any ? "" : "<h3>Training curves</h3>\n", all->steps[i].name, all->steps[i].name);
        any = true;
    }
    return ok;
}

bool report_site_row_ran(const json_t *row)
{
    const char *column;
    json_t *cell;
    json_object_foreach(json_object_get(row, "cells"), column, cell)
    {
        if (json_object_size(json_object_get(cell, "here")))
            return true;
    }
    return false;
}

/* Everything behind the evaluation of one seed. */
static bool seed_section(const site_table *table, const char *seed, const char *step, bool first,
                         const char *out_dir, gb_text *out, gb_status *status)
{
    chain all = {0};
    bool ok = report_chain_add(&all, table->store, step, status);
    double seconds = 0;
    for (size_t i = 0; i < all.count; i++) {
        double wall = report_json_real_of(json_object_get(all.steps[i].run, "times"), "wall_s");
        seconds += isnan(wall) ? 0 : wall;
    }
    gb_text_printf(out, "<details%s><summary><b>Seed ", first ? " open" : "");
    gb_page_escaped(out, seed);
    gb_text_printf(out, "</b>: %zu artifacts, %.0f s of work, evaluated by ", all.count, seconds);
    gb_page_element(out, "code", NULL, step);
    gb_text_printf(out, "</summary>\n<h3>Commands</h3>\n");
    size_t lost = 0;
    for (size_t i = 0; i < all.count; i++)
        lost += !all.steps[i].run;
    if (lost)
        gb_text_printf(out,
                       "<p>%zu of these artifacts are not in the store, so their commands are "
                       "not known.</p>\n",
                       lost);
    else if (first)
        gb_text_printf(out, "<p>Run in this order, with the store in <code>$GABBRO_STORE</code>, "
                            "the commands give these values again; a finished artifact is not run "
                            "twice.</p>\n");
    commands(&all, out);
    if (ok && first) /* the other seeds' look alike */
        ok = curves(&all, out_dir, out, status);
    gb_text_printf(out, "<h3>Artifacts</h3>\n");
    for (size_t i = 0; i < all.count; i++)
        step_details(&all.steps[i], out);
    gb_text_printf(out, "</details>\n");
    report_chain_free(&all);
    return ok;
}

bool report_site_row_page(const site_table *table, const json_t *row, const char *out_dir,
                          gb_status *status)
{
    gb_text out = {0};
    char slug[96], name[256];
    const char *seed;
    json_t *step;
    report_site_slug(gb_json_text(row, "row"), slug, sizeof slug);
    snprintf(name, sizeof name, "%s/%s.html", table->slug, slug);
    report_site_begin(&out, gb_json_text(row, "label"), "../", table->slug,
                      gb_json_text(table->root, "title"));
    if (*gb_json_text(row, "group"))
        gb_page_element(&out, "p", "dim", gb_json_text(row, "group"));
    values(table, row, &out);
    gb_text_printf(&out, "<h2>How it was made</h2>\n");
    bool ok = true, first = true;
    json_object_foreach(json_object_get(row, "steps"), seed, step)
    {
        ok = ok && seed_section(table, seed, json_string_value(step) ? json_string_value(step) : "",
                                first, out_dir, &out, status);
        first = false;
    }
    if (first)
        gb_text_printf(&out, "<p>No step of this row was run here; its values are %s.</p>\n",
                       report_site_row_ran(row) ? "those that were given" : "recorded ones");
    gb_page_end(&out);
    ok = ok && gb_text_write_in(&out, out_dir, name, status);
    gb_text_free(&out);
    return ok;
}
