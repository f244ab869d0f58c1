/* Results of others: one file of a reproduced table that somebody sends, and the page of all that
 * came (tables/seen). */
#include "site.h"

#include <gabbro/page.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing one ---- */

/* What the records behind a table say of device and speed. */
typedef struct gathered {
    const char *folder; /* of the table */
    json_t *facts;      /* of an artifact that was made on the device, or NULL */
    double gflops;      /* fastest training, in 1e9 operations a second; 0: none */
    double seconds;     /* of the table, as its results say */
    json_t *recipe; /* sum of its commands, which says whether settings are the scale's; or NULL */
} gathered;

static bool gather_line(void *ctx, const gb_lines *lines, const json_t *line, gb_status *status)
{
    gathered *g = ctx;
    static const char *const roles[] = {"model", "evaluation"};
    const json_t *times = json_object_get(line, "times");
    (void)lines;
    (void)status;
    if (!g->recipe)
        g->recipe = json_incref(json_object_get(line, "recipe"));
    if (times)
        g->seconds = json_number_value(json_object_get(times, "wall_s"));
    for (int i = 0; i < 2; i++) {
        const char *path = gb_json_text(line, roles[i]);
        json_t *run = gb_os_is_absolute(path) ? gb_artifact_read(path, NULL) : NULL;
        json_t *facts = json_object_get(run, "facts");
        double speed =
            json_number_value(json_object_get(json_object_get(run, "times"), "gflops_per_s"));
        g->gflops = speed > g->gflops ? speed : g->gflops;
        if (!g->facts && *gb_json_text(facts, "device"))
            g->facts = json_incref(facts);
        json_decref(run);
    }
    return true;
}

/* Row -> column -> seed -> value, and how many cells stand where beside the recorded ones. */
static json_t *values_of(const json_t *table, json_t *counts)
{
    json_t *all = json_object(), *row, *cell;
    const char *column;
    size_t i;
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        json_t *cells = json_object();
        json_object_foreach(json_object_get(row, "cells"), column, cell)
        {
            const char *mark = gb_json_text(cell, "against_recorded");
            if (!json_object_get(cell, "here"))
                continue;
            json_object_set(cells, column, json_object_get(cell, "here"));
            json_object_set_new(
                counts, mark, json_integer(json_integer_value(json_object_get(counts, mark)) + 1));
        }
        if (json_object_size(cells))
            json_object_set(all, gb_json_text(row, "row"), cells);
        json_decref(cells);
    }
    return all;
}

static json_t *verdicts_of(const json_t *table)
{
    json_t *all = json_object(), *claim;
    size_t i;
    json_array_foreach(json_object_get(table, "claims"), i, claim)
        json_object_set(all, gb_json_text(claim, "claim"), json_object_get(claim, "verdict"));
    return all;
}

static json_t *today(void)
{
    char date[GB_DATE];
    gb_date_now(date);
    return json_string(date);
}

/* Adds what is there. */
static void add(json_t *all, const char *key, json_t *value)
{
    if (value)
        json_object_set(all, key, value);
}

static json_t *seen_json(const gb_seen_params *params, const gathered *g, const json_t *table,
                         json_t *check)
{
    json_t *counts = json_object(), *values = values_of(table, counts);
    json_t *all =
        json_pack("{s:i, s:o, s:s, s:s, s:f, s:f, s:{s:i, s:s}, s:o, s:o, s:o}", "submission", 1,
                  "date", today(), "table", gb_json_text(table, "table"), "scale",
                  gb_json_text(table, "scale"), "seconds", g->seconds, "gflops_per_s", g->gflops,
                  "doctor", "status", params->doctor, "says", params->doctor_says, "values", values,
                  "against_recorded", counts, "claims", verdicts_of(table));
    static const char *const of_table[] = {"program", "collection_step"};
    static const char *const of_facts[] = {"device", "driver", "profile", "built", "machine"};
    for (size_t i = 0; i < sizeof of_table / sizeof *of_table; i++)
        add(all, of_table[i], json_object_get(table, of_table[i]));
    for (size_t i = 0; i < sizeof of_facts / sizeof *of_facts; i++)
        add(all, of_facts[i], json_object_get(g->facts, of_facts[i]));
    json_object_del(json_object_get(all, "machine"), "release"); /* which may tell whose it is */
    add(all, "kernels", json_object_get(json_object_get(table, "device"), "kernels"));
    add(all, "recipe", g->recipe);
    add(all, "gpu_check", check);
    return all;
}

bool gb_seen_write(const gb_seen_params *params, const char *path, gb_status *status)
{
    gathered g = {.folder = params->folder};
    char *results = gb_path_join(status, params->folder, "results.jsonl");
    json_t *table = results ? gb_json_load_in(params->folder, "table.json", 0, status) : NULL;
    bool checked = params->gpu_check && gb_file_exists(params->gpu_check);
    json_t *check = table && checked ? gb_json_load(params->gpu_check, 0, status) : NULL;
    bool ok = table && (!checked || check) &&
              gb_jsonl_each(gb_lines_open(results, status), gather_line, &g, status);
    json_t *all = ok ? seen_json(params, &g, table, check) : NULL;
    ok = ok && gb_json_save(all, GB_JSON_FILE | GB_JSON_NEWLINE, path, status);
    json_decref(all);
    json_decref(check);
    json_decref(table);
    json_decref(g.facts);
    json_decref(g.recipe);
    free(results);
    return ok;
}

/* ---- the page of all ---- */

static void number(gb_text *out, const char *format, double value)
{
    gb_text_printf(out, "<td>");
    if (value > 0)
        gb_text_printf(out, format, value);
    gb_text_printf(out, "</td>");
}

/* What of a gpu-check was well, "7 of 7". */
static void checks(const json_t *seen, gb_text *out)
{
    const json_t *all = json_object_get(json_object_get(seen, "gpu_check"), "checks"), *one;
    size_t i, well = 0, made = 0;
    json_array_foreach(all, i, one)
    {
        json_int_t code = json_integer_value(json_object_get(one, "status"));
        well += code == 0;
        made += code != 77; /* left out */
    }
    gb_text_printf(out, "<td>");
    if (made)
        gb_text_printf(out, "%zu of %zu", well, made);
    gb_text_printf(out, "</td>");
}

static void seen_row(const json_t *seen, gb_text *out)
{
    const json_t *doctor = json_object_get(seen, "doctor");
    const json_t *cells = json_object_get(seen, "against_recorded");
    bool right = json_integer_value(json_object_get(doctor, "status")) == 0;
    gb_text_printf(out, "<tr>");
    gb_page_element(out, "td", "left", gb_json_text(seen, "device"));
    gb_page_element(out, "td", "left", gb_json_text(seen, "driver"));
    gb_page_element(out, "td", "left", gb_json_text(seen, "profile"));
    gb_text_printf(out, "<td class=\"left %s\">%s</td>", right ? "supported" : "contradicted",
                   right ? "all right" : "wrong");
    checks(seen, out);
    number(out, "%.0f", json_number_value(json_object_get(seen, "gflops_per_s")));
    gb_text_printf(out, "<td class=\"left\">");
    gb_page_escaped(out, gb_json_text(seen, "table"));
    gb_text_printf(out, ", ");
    gb_page_escaped(out, gb_json_text(seen, "scale"));
    gb_text_printf(out, "</td>");
    number(out, "%.1f", json_number_value(json_object_get(seen, "seconds")) / 60);
    static const char *const marks[] = {"equal", "within", "beyond"};
    for (size_t i = 0; i < 3; i++)
        gb_text_printf(out, "<td>%lld</td>",
                       (long long)json_integer_value(json_object_get(cells, marks[i])));
    gb_page_element(out, "td", "left", gb_json_text(json_object_get(seen, "built"), "source"));
    gb_text_printf(out, "<td>%.10s</td></tr>\n", gb_json_text(seen, "date"));
}

bool report_site_seen_page(const char *folder, const char *out_dir, bool *written,
                           gb_status *status)
{
    gb_text out = {0};
    gb_entries found = {0};
    bool ok =
        !folder || !gb_dir_exists(folder) || gb_entries_read(folder, "*.json", &found, status);
    *written = ok && found.count;
    report_site_begin(&out, "Devices that were seen", "", NULL, "");
    gb_text_printf(
        &out,
        "<p>What people sent from their machines (<code>reproduce TABLE --submit FILE</code>):"
        " whether every kind of kernel agrees with float64 on the device, the checks of "
        "<code>bench/gpu-check</code>, the speed of the fastest training, and how the "
        "table's cells compare with the recorded results: the same bits, within the spread "
        "of the recorded seeds, or beyond it.</p>\n");
    gb_page_wide(&out, "devices");
    gb_text_printf(
        &out, "<table>\n<thead><tr>"
              "<th class=\"left\">device</th><th class=\"left\">driver</th><th class=\"left\">"
              "kernels</th><th class=\"left\">are</th><th>checks</th><th>GFLOP/s</th>"
              "<th class=\"left\">table</th><th>minutes</th><th>equal</th><th>within</th>"
              "<th>beyond</th><th class=\"left\">source</th><th>date</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; ok && i < found.count; i++) {
        json_t *seen = gb_json_load_in(folder, found.names[i], 0, status);
        ok = seen != NULL;
        if (ok)
            seen_row(seen, &out);
        json_decref(seen);
    }
    gb_text_printf(&out, "</tbody></table></div>\n");
    gb_page_end(&out);
    ok = ok && (!*written || gb_text_write_in(&out, out_dir, "devices.html", status));
    gb_text_free(&out);
    gb_entries_free(&found);
    return ok;
}
