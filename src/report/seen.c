/* Results of others: one file of a reproduced table that somebody sends (tables/seen). */
#include "site.h"

#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>

/* ---- its sum ---- */

/* SHA-256 of what gb_seen_write writes, without the line that says it. */
static bool sum_of(json_t *seen, char hex[GB_HASH_SIZE], gb_status *status)
{
    json_t *rest = json_copy(seen);
    gb_text text = {0};
    json_object_del(rest, "sha256");
    bool ok = gb_json_print(rest, GB_JSON_FILE | GB_JSON_NEWLINE, &text, status);
    if (ok)
        gb_hash_bytes(text.data, text.length, hex);
    gb_text_free(&text);
    json_decref(rest);
    return ok;
}

static json_t *read_one(const char *folder, const char *name, gb_status *status)
{
    json_t *seen = gb_json_load_in(folder, name, 0, status);
    const char *said = gb_json_text(seen, "sha256");
    char hex[GB_HASH_SIZE], *path = gb_path_join(status, folder, name);
    bool ok = seen && path && sum_of(seen, hex, status);
    if (ok && strcmp(said, hex) != 0)
        ok =
            gb_fail(status, GB_DATA, path,
                    "put the file of reproduce TABLE --submit back as it was written, or remove it",
                    *said ? "it was changed: its sha256 is not that of its other lines"
                          : "it has no sha256, so nobody can see whether it was changed");
    if (!ok) {
        json_decref(seen);
        seen = NULL;
    }
    free(path);
    return seen;
}

json_t *report_seen_read(const char *folder, gb_status *status)
{
    gb_entries found = {0};
    json_t *all = json_array();
    bool ok = (all || gb_fail_memory(status, "reading what others sent")) &&
              gb_entries_read(folder, "*.json", &found, status);
    for (size_t i = 0; ok && i < found.count; i++) {
        json_t *one = read_one(folder, found.names[i], status);
        ok = one && (json_array_append_new(all, one) == 0 ||
                     gb_fail_memory(status, "reading what others sent"));
    }
    gb_entries_free(&found);
    if (!ok) {
        json_decref(all);
        all = NULL;
    }
    return all;
}

/* ---- writing one ---- */

/* What the records behind a table say of device and speed. */
typedef struct gathered {
    json_t *facts;    /* of an artifact that was made on the device, or NULL */
    json_t *identity; /* of that device in keys: its driver's version, quirks, limits, tiles */
    double gflops;    /* fastest training, in 1e9 operations a second; 0: none */
    double seconds;   /* that its artifacts took, as its results say; 0: they do not */
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
        g->seconds = json_number_value(json_object_get(times, "steps_s"));
    for (int i = 0; i < 2; i++) {
        const char *path = gb_json_text(line, roles[i]);
        json_t *run = gb_os_is_absolute(path) ? gb_artifact_read(path, NULL) : NULL;
        json_t *facts = json_object_get(run, "facts");
        double speed =
            json_number_value(json_object_get(json_object_get(run, "times"), "gflops_per_s"));
        g->gflops = speed > g->gflops ? speed : g->gflops;
        if (!g->facts && *gb_json_text(facts, "device")) {
            g->facts = json_incref(facts);
            g->identity = json_incref(json_object_get(run, "device"));
        }
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
    json_t *machine = json_object_get(all, "machine");
    json_object_del(machine, "release"); /* which may tell whose it is, as may the card's number: */
    json_object_del(json_object_get(machine, "device"), "uuid");
    add(all, "identity", g->identity);
    add(all, "kernels", json_object_get(json_object_get(table, "device"), "kernels"));
    add(all, "recipe", g->recipe);
    add(all, "gpu_check", check);
    if (params->name)
        json_object_set_new(all, "name", json_string(params->name));
    return all;
}

/* A check of another device or driver says nothing of this one. NULL with GB_OK: there is none. */
static json_t *read_check(const char *path, const json_t *facts, gb_status *status)
{
    json_t *check = path && gb_file_exists(path) ? gb_json_load(path, 0, status) : NULL;
    const char *of = gb_json_text(json_object_get(check, "kernels"), "device");
    char ours[800] = "no device";
    if (facts)
        snprintf(ours, sizeof ours, "%s, %s", gb_json_text(facts, "device"),
                 gb_json_text(facts, "driver"));
    json_object_del(check, "machine"); /* its release may tell whose it is */
    if (!check || !strcmp(of, ours))
        return check;
    gb_log(GB_LOG_WARN, "%s is left out: it is of %s, and the table of %s", path,
           *of ? of : "no device", ours);
    json_decref(check);
    return NULL;
}

bool gb_seen_write(const gb_seen_params *params, const char *path, gb_status *status)
{
    gathered g = {0};
    char *results = gb_path_join(status, params->folder, "results.jsonl");
    json_t *table = results ? gb_json_load_in(params->folder, "table.json", 0, status) : NULL;
    bool ok = table && gb_jsonl_each(gb_lines_open(results, status), gather_line, &g, status);
    json_t *check = ok ? read_check(params->gpu_check, g.facts, status) : NULL;
    ok = ok && status->code == GB_OK;
    json_t *all = ok ? seen_json(params, &g, table, check) : NULL;
    char hex[GB_HASH_SIZE];
    ok = ok && sum_of(all, hex, status);
    if (ok)
        json_object_set_new(all, "sha256", json_string(hex));
    ok = ok && gb_json_save(all, GB_JSON_FILE | GB_JSON_NEWLINE, path, status);
    json_decref(all);
    json_decref(check);
    json_decref(table);
    json_decref(g.facts);
    json_decref(g.identity);
    json_decref(g.recipe);
    free(results);
    return ok;
}
