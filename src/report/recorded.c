/* Recorded results: tables/recorded/<table>.<scale>.json. */
#include "private.h"

#include <gabbro/store.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *recorded_path(const gb_report *report, const char *tables_dir, gb_status *status)
{
    char *end = gb_format(status, ".%s.json", report->scale);
    char *path =
        end ? report_table_path(tables_dir, "recorded", report->spec->name, end, status) : NULL;
    free(end);
    return path;
}

/* A recorded seed has rows of numbers: what is none of these would count as not recorded. */
static bool check_seed(const char *path, const char *name, const json_t *seed, gb_status *status)
{
    const char *key, *column;
    json_t *row, *value, *rows = json_object_get(seed, "rows");
    if (!*name || name[strspn(name, "0123456789")] || !json_is_object(rows))
        return gb_fail(status, GB_DATA, path, "restore the file, or remove it",
                       "the seed \"%.40s\" is no number, or has no \"rows\"", name);
    json_object_foreach(rows, key, row)
    {
        json_t *values = json_object_get(row, "values");
        if (!json_is_object(values))
            return gb_fail(status, GB_DATA, path, "restore the file, or remove it",
                           "seed %s, row %.100s: no \"values\"", name, key);
        json_object_foreach(values, column, value)
        {
            if (!json_is_number(value))
                return gb_fail(status, GB_DATA, path, "restore the file, or remove it",
                               "seed %s, row %.100s: %.100s is no number", name, key, column);
        }
    }
    return true;
}

/* NULL with GB_OK when there is no file. */
static json_t *load(const char *path, gb_status *status)
{
    if (!gb_file_exists(path))
        return NULL;
    json_t *root = gb_json_load(path, 0, status), *seeds = json_object_get(root, "seeds"), *seed;
    bool ok = root && (json_is_object(seeds) ||
                       gb_fail(status, GB_DATA, path, "restore the file, or remove it",
                               "no recorded results: no \"seeds\""));
    const char *name;
    json_object_foreach(seeds, name, seed) ok = ok && check_seed(path, name, seed, status);
    if (ok)
        return root;
    json_decref(root);
    return NULL;
}

/* Whether every setting of the records has its value now. Settings that came later belong to other
 * tables. */
static bool same_settings(json_t *recorded, const json_t *now)
{
    const char *name;
    json_t *value;
    json_object_foreach(recorded, name, value)
    {
        if (!json_equal(value, json_object_get(now, name)))
            return false;
    }
    return true;
}

/* Why recorded results cannot stand beside this run, or NULL. */
static const char *misfit(const gb_report *report, const json_t *root)
{
    const char *collection = json_string_value(json_object_get(root, "collection"));
    const char *recipe = json_string_value(json_object_get(root, "recipe"));
    if (!collection || strcmp(collection, report->collection_id) != 0)
        return "the recorded results belong to another version of the collection";
    if (recipe && report->recipe[0])
        return strcmp(recipe, report->recipe) == 0
                   ? NULL
                   : "the recorded results were made with other settings";
    json_t *settings = json_object_get(root, "settings");
    if (settings && report->settings && same_settings(settings, report->settings))
        return NULL;
    return settings || report->settings ? "the recorded results were made with other settings"
                                        : NULL;
}

/* Whether a row is made on request and was recorded with other settings than it would have now. */
static bool is_outdated(const gb_report *report, const char *key, const json_t *row)
{
    const char *now = gb_json_text(report->row_recipes, key);
    return *now && strcmp(now, gb_json_text(row, "recipe")) != 0;
}

/* Names a row of the records that is left out, once. */
static void note_outdated(gb_report *report, const char *key)
{
    size_t length = strlen(report->outdated);
    if (!report_word_in(report->outdated, key))
        snprintf(report->outdated + length, sizeof report->outdated - length, "%s%s",
                 length ? " " : "", key);
}

static bool add_seed(gb_report *report, const char *name, const json_t *seed, gb_status *status)
{
    gb_seed_run *run =
        report_seed_run_get(report, &report->recorded, (uint64_t)strtoull(name, NULL, 10), status);
    if (!run)
        return false;
    run->device =
        report_copy(report->arena, json_string_value(json_object_get(seed, "device")), status);
    run->driver =
        report_copy(report->arena, json_string_value(json_object_get(seed, "driver")), status);
    run->kernels =
        report_copy(report->arena, json_string_value(json_object_get(seed, "kernels")), status);
    const char *key, *column;
    json_t *row, *value;
    json_object_foreach(json_object_get(seed, "rows"), key, row)
    {
        size_t r = report_spec_row(report->spec, key);
        if (r == SIZE_MAX)
            continue; /* a row that the table no longer has */
        if (is_outdated(report, key, row)) {
            note_outdated(report, key);
            continue;
        }
        json_t *converged = json_object_get(row, "converged");
        run->converged[r] = json_is_boolean(converged) ? (int8_t)json_is_true(converged) : -1;
        json_object_foreach(json_object_get(row, "values"), column, value)
        {
            size_t c = report_spec_column(report->spec, column);
            if (c != SIZE_MAX && json_is_number(value))
                run->values[r * report->column_count + c] = json_number_value(value);
        }
    }
    return run->device && run->driver && run->kernels;
}

bool report_recorded_read(gb_report *report, const char *tables_dir, gb_status *status)
{
    if (report->own_collection) {
        snprintf(report->recorded_note, sizeof report->recorded_note,
                 "no results are recorded for a collection of your own");
        return true;
    }
    gb_status own = {0};
    char *path = recorded_path(report, tables_dir, &own);
    json_t *root = path ? load(path, &own) : NULL;
    bool ok = own.code == GB_OK;
    const char *why = root ? misfit(report, root) : "no recorded results at this scale";
    if (ok && why)
        snprintf(report->recorded_note, sizeof report->recorded_note, "%s", why);
    const char *name;
    json_t *seed;
    if (ok && !why) {
        json_object_foreach(json_object_get(root, "seeds"), name, seed) ok =
            ok && add_seed(report, name, seed, &own);
    }
    report_fill_gains(report, &report->recorded); /* older records are without */
    for (size_t c = 0; ok && !why && c < report->column_count; c++) {
        json_t *chance = json_object_get(json_object_get(root, "chance"), report->columns[c].name);
        if (json_is_number(chance) && isnan(report->chance[c]))
            report->chance[c] = json_number_value(chance);
    }
    json_decref(root);
    free(path);
    if (!ok && status)
        *status = own;
    return ok;
}

static json_t *row_to_json(const gb_report *report, const gb_seed_run *run, size_t row)
{
    json_t *values = json_object();
    for (size_t c = 0; c < report_table_columns(report); c++) {
        double value = report_run_value(report, run, row, c);
        if (!isnan(value))
            json_object_set_new(values, report->columns[c].name, json_real(value));
    }
    if (json_object_size(values) == 0) {
        json_decref(values);
        return NULL;
    }
    json_t *converged = run->converged[row] < 0 ? json_null() : json_boolean(run->converged[row]);
    json_t *recipe = json_object_get(report->row_recipes, report->spec->rows[row].key);
    return json_pack("{s:o, s:o, s:O*}", "converged", converged, "values", values, "recipe",
                     recipe);
}

static json_t *seed_to_json(const gb_report *report, const gb_seed_run *run)
{
    json_t *rows = json_object();
    for (size_t r = 0; r < report->spec->row_count; r++) {
        json_t *row = row_to_json(report, run, r);
        if (row)
            json_object_set_new(rows, report->spec->rows[r].key, row);
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "device", run->device, "driver", run->driver,
                     "kernels", run->kernels, "rows", rows);
}

/* What a random order scores, by column; what is not known now stays as it was recorded. */
static void set_chance(const gb_report *report, json_t *root)
{
    for (size_t c = 0; c < report_table_columns(report); c++) {
        if (isnan(report->chance[c]))
            continue;
        if (!json_object_get(root, "chance"))
            json_object_set_new(root, "chance", json_object());
        json_object_set_new(json_object_get(root, "chance"), report->columns[c].name,
                            json_real(report->chance[c]));
    }
}

static json_t *fresh_root(const gb_report *report)
{
    json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:{}}", "format", 1, "table", report->spec->name,
                             "scale", report->scale, "collection", report->collection_id, "seeds");
    if (report->recipe[0])
        json_object_set_new(root, "recipe", json_string(report->recipe));
    return root;
}

static bool lacks_values(const json_t *fresh, const json_t *recorded)
{
    const char *column;
    json_t *value;
    json_object_foreach(json_object_get(recorded, "values"), column, value)
    {
        if (!json_object_get(json_object_get(fresh, "values"), column))
            return true;
    }
    return false;
}

/* The rows of which a recorded seed has values that a new one lacks. */
static void list_missing(const json_t *recorded, const json_t *fresh, gb_text *out)
{
    const char *key;
    json_t *row;
    json_object_foreach(json_object_get(recorded, "rows"), key, row)
    {
        if (lacks_values(json_object_get(json_object_get(fresh, "rows"), key), row))
            gb_text_printf(out, "%s%s", out->length ? ", " : "", key);
    }
}

/* Puts what a recorded seed has and a new one lacks into the new one. */
static bool keep_missing(json_t *fresh, json_t *recorded, gb_status *status)
{
    json_t *rows = json_object_get(fresh, "rows"), *row;
    const char *key;
    bool ok = true;
    json_object_foreach(json_object_get(recorded, "rows"), key, row)
    {
        json_t *own = json_object_get(rows, key);
        if (!own) {
            ok = ok && json_object_set(rows, key, row) == 0;
            continue;
        }
        ok = ok && json_object_update_missing(json_object_get(own, "values"),
                                              json_object_get(row, "values")) == 0;
        if (json_is_null(json_object_get(own, "converged")))
            ok = ok && json_object_set(own, "converged", json_object_get(row, "converged")) == 0;
    }
    return ok || gb_fail_memory(status, "recording results");
}

/* Adds a seed to the recorded ones. Of a seed that is there already, rows and values that were not
 * made this time stay, if device and kernels are the same. */
static bool set_seed(json_t *seeds, const char *name, json_t *fresh, gb_status *status)
{
    json_t *old = json_object_get(seeds, name);
    gb_text missing = {0};
    bool ok = fresh != NULL;
    if (ok && old)
        list_missing(old, fresh, &missing);
    if (ok && missing.length) {
        static const char *const same[] = {"device", "driver", "kernels"};
        for (size_t i = 0; ok && i < sizeof same / sizeof *same; i++)
            ok = !strcmp(gb_json_text(old, same[i]), gb_json_text(fresh, same[i])) ||
                 gb_fail(status, GB_DATA, NULL, "make these rows, too (--rows all)",
                         "not recorded: seed %s has rows of another %s that this run lacks: %.200s",
                         name, i < 2 ? "device or driver" : "version of the kernels", missing.data);
        ok = ok && keep_missing(fresh, old, status);
    }
    gb_text_free(&missing);
    if (!ok)
        json_decref(fresh);
    return ok && (json_object_set_new(seeds, name, fresh) == 0 ||
                  gb_fail_memory(status, "recording results"));
}

bool gb_report_record(const gb_report *report, const char *tables_dir, gb_status *status)
{
    if (report->own_collection)
        return gb_fail(status, GB_USAGE, NULL, "leave out --record",
                       "results of one's own collection are not recorded");
    gb_status own = {0};
    gb_file_lock lock = {.fd = -1};
    char *path = recorded_path(report, tables_dir, &own);
    char *folder = gb_path_join(&own, tables_dir, "recorded");
    /* Another seed may be recorded at the same time. */
    bool ok = path && folder && gb_make_dirs(folder, &own) && gb_file_lock_take(&lock, path, &own);
    json_t *root = ok ? load(path, &own) : NULL;
    ok = own.code == GB_OK;
    const char *why = root ? misfit(report, root) : NULL;
    if (ok && why)
        ok = gb_fail(&own, GB_DATA, path, "remove the file to start anew", "not recorded: %s", why);
    if (ok && !root)
        root = fresh_root(report);
    if (ok && report->settings)
        json_object_set(root, "settings", report->settings);
    if (ok)
        set_chance(report, root);
    json_t *seeds = json_object_get(root, "seeds");
    for (size_t i = 0; ok && i < report->here.count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%llu", (unsigned long long)report->here.items[i].seed);
        ok = set_seed(seeds, name, seed_to_json(report, &report->here.items[i]), &own);
    }
    ok = ok && gb_json_save(root, GB_JSON_FILE | GB_JSON_NEWLINE, path, &own);
    gb_file_lock_drop(&lock);
    json_decref(root);
    free(folder);
    free(path);
    if (!ok && status)
        *status = own;
    return ok;
}
