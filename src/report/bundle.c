/* A table with all that its numbers and verdicts follow from, in one folder, for somebody who has
 * neither the store nor a device. */
#include "site.h"
#include <gabbro/data.h>
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>

/* A bundle being written. */
typedef struct bundle {
    const gb_bundle_params *params; /* what is asked for */
    const char *out;                /* folder, a draft until all is there */
    json_t *header;                 /* first line of the results */
    json_t *files;                  /* path -> {"bytes", "sha256"} */
    gb_map *done;                   /* artifacts whose files are there */
    gb_text lines;                  /* of results.jsonl */
} bundle;

/* ---- files ---- */

/* Copies a file to a place in the bundle, and lists it. */
static bool put(bundle *b, const char *from, const char *name, gb_status *status)
{
    char *to = gb_path_join(status, b->out, name), hex[GB_HASH_SIZE];
    char *parent = to ? gb_strdup(to, status) : NULL;
    char *slash = parent ? strrchr(parent, '/') : NULL;
    if (slash)
        *slash = '\0';
    bool ok = parent && gb_make_dirs(parent, status) && (!from || gb_copy_file(from, to, status)) &&
              gb_hash_file(to, hex, status);
    if (ok)
        json_object_set_new(b->files, name, json_string(hex));
    free(to);
    free(parent);
    return ok;
}

static bool put_in(bundle *b, const char *folder, const char *file, const char *name, bool needed,
                   gb_status *status)
{
    char *from = gb_path_join(status, folder, file);
    bool ok = from && ((!needed && !gb_file_exists(from)) || put(b, from, name, status));
    free(from);
    return ok;
}

/* All files of a folder, and of those in it. */
static bool put_folder(bundle *b, const char *from, const char *name, gb_status *status)
{
    gb_entries entries;
    bool ok = gb_entries_read(from, "*", &entries, status);
    for (size_t i = 0; ok && i < entries.count; i++) {
        char *source = gb_path_join(status, from, entries.names[i]);
        char *target = source ? gb_path_join(status, name, entries.names[i]) : NULL;
        ok = target && (gb_dir_exists(source) ? put_folder(b, source, target, status)
                                              : put(b, source, target, status));
        free(source);
        free(target);
    }
    gb_entries_free(&entries);
    return ok;
}

/* ---- artifacts ---- */

/* Whether an artifact is new to the bundle. */
static bool is_new(bundle *b, const char *name, bool *fresh, gb_status *status)
{
    *fresh = gb_map_get(b->done, name, strlen(name)) == GB_MAP_NONE;
    return !*fresh || gb_map_set(b->done, name, strlen(name), 1, status);
}

/* The judgements of a collection, and what it says of itself. */
static bool put_collection(bundle *b, const char *store, const char *name, gb_status *status)
{
    char *from = gb_format(status, "%s/%s/collection", store, name);
    char *qrels = from ? gb_path_join(status, from, "qrels") : NULL;
    char *to = qrels ? gb_format(status, "collections/%s/qrels", name) : NULL;
    char *about = to ? gb_format(status, "collections/%s/collection.json", name) : NULL;
    bool fresh, ok = about && is_new(b, name, &fresh, status);
    if (ok && fresh)
        ok = put_in(b, from, "collection.json", about, true, status) &&
             (!gb_dir_exists(qrels) || put_folder(b, qrels, to, status));
    free(from);
    free(qrels);
    free(to);
    free(about);
    return ok;
}

/* The records of all that is behind an evaluation. */
static bool put_records(bundle *b, const char *store, const char *name, gb_status *status)
{
    gb_store *opened = gb_store_open(store, status);
    chain steps = {0};
    bool ok = opened && report_chain_add(&steps, opened, name, status);
    for (size_t i = 0; ok && i < steps.count; i++) {
        char *to = gb_format(status, "records/%s.json", steps.steps[i].name);
        ok = to && (!steps.steps[i].path || json_object_get(b->files, to) ||
                    put_in(b, steps.steps[i].path, "run.json", to, true, status));
        free(to);
    }
    report_chain_free(&steps);
    gb_store_close(opened);
    return ok;
}

/* An evaluation, by its folder: its files, what it was measured by, and the records behind it. */
static bool put_evaluation(bundle *b, const char *folder, char **name, gb_status *status)
{
    size_t length;
    const char *last = gb_path_name(folder, &length);
    char *store = last == folder ? gb_strdup(".", status)
                                 : gb_format(status, "%.*s", (int)(last - folder), folder);
    *name = gb_format(status, "evaluations/%.*s", (int)length, last);
    char *record = gb_path_join(status, folder, "run.json");
    bool fresh, ok = store && *name && record && is_new(b, *name, &fresh, status);
    if (ok && fresh)
        ok = put_folder(b, folder, *name, status);
    if (ok && fresh && gb_file_exists(record)) {
        json_t *run = gb_artifact_read(folder, status);
        const char *of = gb_json_text(json_object_get(run, "inputs"), "collection");
        ok = run && (!*of || !strncmp(of, "sha256:", 7) || put_collection(b, store, of, status)) &&
             put_records(b, store, last, status);
        json_decref(run);
    }
    free(store);
    free(record);
    return ok;
}

/* ---- results ---- */

/* Notes in a line whether its model converged, in the place of the model's folder. */
static void note_model(json_t *line)
{
    const char *model = gb_json_text(line, "model");
    json_t *run = *model ? gb_artifact_read(model, NULL) : NULL;
    const json_t *converged = json_object_get(json_object_get(run, "facts"), "converged");
    if (json_is_boolean(converged))
        json_object_set_new(line, "converged", json_boolean(json_is_true(converged)));
    json_object_del(line, "model");
    json_decref(run);
}

static bool take_line(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    bundle *b = ctx;
    json_t *line = json_deep_copy(object);
    bool ok = line || gb_fail_memory(status, "writing a bundle");
    (void)lines;
    if (ok && !b->header) {
        const char *path = gb_json_text(line, "collection");
        size_t length;
        char *inside = gb_format(status, "collections/%s", gb_path_name(path, &length));
        b->header = json_incref(line);
        if (inside && *path)
            json_object_set_new(line, "collection", json_string(inside));
        ok = inside;
        free(inside);
    } else if (ok && *gb_json_text(line, "evaluation")) {
        char *path =
            gb_os_is_absolute(gb_json_text(line, "evaluation"))
                ? gb_strdup(gb_json_text(line, "evaluation"), status)
                : gb_path_join(status, b->params->folder, gb_json_text(line, "evaluation"));
        char *name = NULL;
        note_model(line);
        ok = path && put_evaluation(b, path, &name, status);
        if (ok)
            json_object_set_new(line, "evaluation", json_string(name));
        free(path);
        free(name);
    }
    ok = ok && gb_json_print(line, GB_JSON_NEWLINE, &b->lines, status);
    json_decref(line);
    return ok;
}

/* What tables/ says of the table. */
static bool put_tables(bundle *b, const char *table, const char *scale, gb_status *status)
{
    static const char *const whole[] = {"tables.tsv", "claims.tsv", "deviations.tsv"};
    static const char *const folders[] = {"published", "rows", "columns"};
    char slug[100], name[200], to[240];
    snprintf(slug, sizeof slug, "%s", table);
    if (strchr(slug, '/'))
        *strchr(slug, '/') = '-';
    bool ok = true;
    for (size_t i = 0; ok && i < 7; i++) {
        if (i < 3)
            snprintf(name, sizeof name, "%s", whole[i]);
        else if (i < 6)
            snprintf(name, sizeof name, "%s/%s.tsv", folders[i - 3], slug);
        else
            snprintf(name, sizeof name, "recorded/%s.%.40s.json", slug, scale);
        snprintf(to, sizeof to, "tables/%s", name);
        ok = put_in(b, b->params->tables_dir, name, to, i < 6, status);
    }
    return ok;
}

static bool put_results(bundle *b, gb_status *status)
{
    static const char *const forms[] = {"table.json", "table.md", "table.html", "table.csv",
                                        "table.tex"};
    char *from = gb_path_join(status, b->params->folder, "results.jsonl");
    bool ok = from && gb_jsonl_each(gb_lines_open(from, status), take_line, b, status) &&
              gb_text_write_in(&b->lines, b->out, "results.jsonl", status) &&
              put(b, NULL, "results.jsonl", status);
    for (size_t i = 0; ok && i < sizeof forms / sizeof *forms; i++)
        ok = put_in(b, b->params->folder, forms[i], forms[i], i == 0, status);
    free(from);
    return ok;
}

static bool write_all(bundle *b, gb_status *status)
{
    bool ok = put_results(b, status);
    const char *table = gb_json_text(b->header, "table"), *scale = gb_json_text(b->header, "scale");
    ok = ok && put_tables(b, table, scale, status);
    json_t *about =
        ok ? json_pack("{s:i, s:s, s:s, s:s, s:O}", "bundle", 1, "table", table, "scale", scale,
                       "program", "gabbro " GABBRO_VERSION, "files", b->files)
           : NULL;
    ok =
        ok && gb_json_save_in(about, GB_JSON_FILE | GB_JSON_NEWLINE, b->out, "bundle.json", status);
    json_decref(about);
    return ok;
}

bool gb_bundle_write(const gb_bundle_params *params, const char *out, gb_status *status)
{
    if (gb_dir_exists(out) || gb_file_exists(out))
        return gb_fail(status, GB_USAGE, out, "give another folder", "there is something already");
    char *draft = gb_draft_create(out, "bundle.json", status);
    bundle b = {.params = params, .out = draft, .files = json_object()};
    bool ok = draft && (b.done = gb_map_create(status)) && write_all(&b, status);
    ok = gb_draft_end(draft, ok, out, status);
    json_decref(b.header);
    json_decref(b.files);
    gb_map_destroy(b.done);
    gb_text_free(&b.lines);
    return ok;
}
