/* What a finished table leaves: results.jsonl, pages, the report, the site. */
#include "process.h"
#include "run.h"
#include "train.h"

#include <gabbro/experiment.h>
#include <gabbro/report.h>

#include <stdlib.h>
#include <string.h>

/* ---- results.jsonl ---- */

/* Adds text, which may end in the folder of an artifact. */
static void add_word(json_t *object, const char *key, repro_word word)
{
    char *text = repro_word_text(word, NULL);
    json_object_set_new(object, key, json_string(text));
    free(text);
}

static void add_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_string(text));
}

/* A number as a recipe gave it, which may be whole. */
static void add_number(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_loads(text, JSON_DECODE_ANY, NULL));
}

/* Whether an evaluation, or one that it is a mean of, leaves out passages that are the query. */
static bool drops_identical(const repro_node *node)
{
    bool mean = !strcmp(node->words[0].text, "mean"), drops = false;
    for (size_t i = 1; i < node->count && !drops; i++)
        drops = !strcmp(node->words[i].text, "--drop-identical") ||
                (mean && node->words[i].node && drops_identical(node->words[i].node));
    return drops;
}

static json_t *result_line(const repro_result *result)
{
    json_t *line = json_object();
    add_text(line, result->series ? "series" : "row",
             result->series ? result->series : result->row);
    add_number(line, "seed", result->seed);
    if (result->x)
        add_number(line, "x", result->x);
    add_word(line, "evaluation", result->evaluation);
    if (result->series && result->row)
        add_text(line, "row", result->row);
    if (result->row)
        add_word(line, "model", result->model);
    if (result->set)
        add_text(line, "set", result->set);
    if (result->evaluation.node && drops_identical(result->evaluation.node))
        json_object_set_new(line, "drop_identical", json_true());
    return line;
}

/* Where the texts of a run are from. */
static const char *kind_of_collection(const repro_session *session)
{
    if (session->recipe.collection)
        return "own";
    return repro_settings_get(&session->settings, "data_main") ? "public" : "world";
}

/* Seconds that the artifacts of a table took, each once, whenever they were made. */
static double steps_s(const repro_table *table)
{
    double sum = 0;
    for (size_t i = 0; i < table->call_count; i++) {
        const repro_node *node = table->calls[i].node;
        double seconds = 0;
        if (repro_table_makes(table, i, true) && node->state == REPRO_DONE &&
            repro_record_number(node->folder, "run.json", "wall_s", &seconds))
            sum += seconds;
    }
    return sum;
}

/* times: of the making; is dropped. */
static json_t *head_line(const repro_session *session, const repro_table *table, json_t *times)
{
    json_t *line = json_object();
    add_text(line, "table", table->name);
    add_text(line, "scale", session->params->scale);
    add_text(line, "collection_kind", kind_of_collection(session));
    add_word(line, "collection", table->collection);
    if (table->title) {
        add_text(line, "figure", table->name);
        add_text(line, "title", table->title);
        add_text(line, "x", table->x);
        json_object_set_new(line, "log_x", json_true());
        add_text(line, "measure", table->measure);
        add_text(line, "y", table->y);
    }
    add_text(line, "recipe", table->sum);
    if (table->row_sums)
        json_object_set(line, "recipes_on_request", table->row_sums);
    json_object_set_new(line, "settings", repro_settings_json(&table->settings));
    json_object_set_new(line, "times", times);
    return line;
}

/* Appends a line, and drops it. */
static bool add_line(gb_text *lines, json_t *line, gb_status *status)
{
    bool ok = gb_json_print(line, GB_JSON_NEWLINE, lines, status);
    json_decref(line);
    return ok;
}

static bool selected(const repro_session *session, const repro_result *result)
{
    return repro_result_selected(result, session->rows, session->everything);
}

/* Whether results are there, and in particular rows of a table. */
static bool has_results(const repro_session *session, const repro_table *table, bool rows)
{
    for (size_t i = 0; i < table->result_count; i++)
        if (selected(session, &table->results[i]) && (!rows || table->results[i].row))
            return true;
    return false;
}

bool repro_result_done(const repro_result *result)
{
    const repro_node *node = result->evaluation.node;
    return !node || node->state == REPRO_DONE;
}

/* done: leave out what is not yet done. times: of the making; is dropped. */
static bool write_results(const repro_session *session, const repro_table *table, json_t *times,
                          bool done, const char *path, gb_status *status)
{
    gb_text lines = {0};
    bool ok = add_line(&lines, head_line(session, table, times), status);
    for (size_t i = 0; ok && i < table->result_count; i++)
        if (selected(session, &table->results[i]) &&
            (!done || repro_result_done(&table->results[i])))
            ok = add_line(&lines, result_line(&table->results[i]), status);
    ok = ok && gb_text_write(&lines, path, status);
    gb_text_free(&lines);
    return ok;
}

bool repro_results_lines(const repro_session *session, const repro_table *table, const char *path,
                         gb_status *status)
{
    return write_results(session, table, json_object(), true, path, status);
}

bool repro_results_check(const char *out, gb_status *status)
{
    char *path = gb_path_join(status, out, "results.jsonl");
    gb_status why = {0};
    gb_out *draft = path && gb_make_dirs(out, &why) ? gb_out_open(path, &why) : NULL;
    bool ok = draft != NULL;
    gb_out_abandon(draft);
    free(path);
    return ok || gb_fail(status, GB_DATA, NULL, "see --out",
                         "cannot write to the folder %.200s: %.100s", out, why.what);
}

/* The artifact of a result: its folder's last name; the store is the folder above it. */
static const char *artifact_of(const repro_result *result, char **folder, gb_status *status)
{
    *folder = repro_word_text(result->evaluation, status);
    char *slash = *folder ? strrchr(*folder, '/') : NULL;
    if (!slash)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

/* Says in the store which rows of the table its artifacts are. */
static bool note_rows(const repro_session *session, const repro_table *table, gb_status *status)
{
    json_t *rows = json_object();
    char *store = NULL;
    bool ok = rows || gb_fail_memory(status, "noting rows");
    for (size_t i = 0; ok && i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        if (!result->row || !selected(session, result))
            continue;
        char *folder, label[200];
        const char *name = artifact_of(result, &folder, status);
        snprintf(label, sizeof label, "%s%s%s", result->row, result->set ? ", " : "",
                 result->set ? result->set : "");
        json_t *seeds = json_object_get(rows, label);
        if (!seeds)
            json_object_set_new(rows, label, seeds = json_object());
        ok = name && json_object_set_new(seeds, result->seed, json_string(name)) == 0;
        if (store)
            free(folder);
        else
            store = folder;
    }
    gb_status why = {0};
    if (ok && store && !gb_catalog_note(store, table->name, session->params->scale, rows, &why)) {
        ok = why.code != GB_MEMORY; /* a store that can only be read has its table all the same */
        if (ok)
            gb_log(GB_LOG_INFO, "rows are not noted in the store: %s", why.what);
        else if (status)
            *status = why;
    }
    free(store);
    json_decref(rows);
    return ok;
}

/* ---- what is made of them ---- */

/* The files of a page, but for its record. */
static bool copy_page(const char *from, const char *to, gb_status *status)
{
    gb_entries files;
    bool ok = gb_entries_read(from, "*.*", &files, status);
    for (size_t i = 0; ok && i < files.count; i++) {
        const char *name = files.names[i];
        if (!strcmp(name, "run.json") || !strcmp(name, "metrics.json"))
            continue;
        char *source = gb_path_join(status, from, name);
        char *place = source ? gb_path_join(status, to, name) : NULL;
        ok = place && (gb_dir_exists(source) || gb_copy_file(source, place, status));
        free(source);
        free(place);
    }
    gb_entries_free(&files);
    return ok;
}

static bool report(const repro_session *session, const repro_table *table, const char *results,
                   const char *out, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    const char *words[16] = {"report",    "--table", table->name, "--scale", params->scale,
                             "--results", results,   "--out",     out};
    size_t count = 9;
    if (params->record)
        words[count++] = "--record";
    if (params->judged)
        words[count++] = "--judged";
    return repro_session_command(session, words, status);
}

/* What gabbro doctor found wrong, and its last line, in one. */
static bool doctor_said(const char *printed, gb_text *says)
{
    static const char *const wrong[] = {"WRONG ", "REFUSED ", "Did not run "};
    for (const char *line = printed, *end; *line; line = end + (*end == '\n')) {
        bool told = false;
        end = line + strcspn(line, "\n");
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            told = told || !strncmp(line, wrong[i], strlen(wrong[i]));
        if (told || !*end)
            gb_text_printf(says, "%s%.*s", says->length ? "; " : "", (int)(end - line), line);
    }
    return !says->failed;
}

/* gabbro doctor of one device; NULL: of that which commands choose. *worst stays the first that is
 * not 0. */
static bool ask_doctor(const repro_session *session, const char *device, gb_text *says, int *worst,
                       gb_status *status)
{
    const char *const words[] = {"doctor", device ? "--device" : NULL, device, NULL};
    const repro_command doctor = {.program = session->program,
                                  .words = words,
                                  .environment = session->environment,
                                  .catch_output = true};
    gb_text printed = {0};
    int code = 0;
    bool ok = repro_process_run(&doctor, &printed, &code, status) &&
              (doctor_said(printed.data ? printed.data : "", says) ||
               gb_fail_memory(status, "reading what gabbro doctor says"));
    *worst = *worst ? *worst : code;
    gb_text_free(&printed);
    return ok;
}

/* Of all devices that the table was made on: those of the ranks, and that of commands without. */
static bool ask_doctors(const repro_session *session, gb_text *says, int *worst, gb_status *status)
{
    const char *list = session->params->devices;
    size_t length;
    bool ok = ask_doctor(session, NULL, says, worst, status);
    for (const char *word; ok && list && (word = gb_next_word(&list, ',', &length));) {
        char *device = gb_format(status, "%.*s", (int)length, word);
        ok = device && ask_doctor(session, device, says, worst, status);
        free(device);
    }
    return ok;
}

/* The file that others may send: the table, and whether all kernels are right. */
static bool submit(const repro_session *session, const char *out, gb_status *status)
{
    const char *path = session->params->submit;
    gb_text says = {0};
    int code = 0;
    bool ok = ask_doctors(session, &says, &code, status);
    const gb_seen_params params = {.folder = out,
                                   .name = session->params->submit_name,
                                   .doctor = code,
                                   .doctor_says = says.data ? says.data : "",
                                   .gpu_check = "gpu-check-results/gpu-check.json"};
    ok = ok && gb_seen_write(&params, path, status);
    if (ok)
        printf("%s\n", path);
    gb_text_free(&says);
    return ok;
}

static bool finish(const repro_session *session, const repro_table *table, const char *out,
                   int64_t seconds, gb_status *status)
{
    bool ok = true;
    if (table->page) {
        ok = copy_page(table->page->folder, out, status);
        if (ok)
            printf("%s/%s\n", out, table->page_file);
        if (!ok || !has_results(session, table, false))
            return ok;
    }
    char *results = gb_path_join(status, out, "results.jsonl");
    const char *curves[] = {"curves", "--results", results, "--out", out, NULL};
    json_t *times =
        json_pack("{s:I, s:f}", "wall_s", (json_int_t)seconds, "steps_s", steps_s(table));
    ok = results && write_results(session, table, times, false, results, status) &&
         note_rows(session, table, status);
    if (session->entry == &repro_train_entry) {
        free(results);
        return ok && repro_train_finish(session, table, out, status);
    }
    ok = ok && (!table->title || repro_session_command(session, curves, status)) &&
         ((table->title && !has_results(session, table, true)) ||
          report(session, table, results, out, status));
    free(results);
    return ok && (!session->params->submit || submit(session, out, status));
}

/* The reports read what was written: another run of the table into the same folder waits. */
bool repro_results_finish(const repro_session *session, const repro_table *table, const char *out,
                          int64_t seconds, gb_status *status)
{
    gb_file_lock lock = {.fd = -1};
    char *results = gb_path_join(status, out, "results.jsonl");
    bool ok = results && gb_make_dirs(out, status) && gb_file_lock_take(&lock, results, status) &&
              finish(session, table, out, seconds, status);
    gb_file_lock_drop(&lock);
    free(results);
    return ok;
}

bool repro_results_site(const repro_session *session, const char *const *folders, size_t count,
                        gb_status *status)
{
    static const char *const pages[] = {"table.json", "figure.html", "coverage.html", "tsne.html"};
    const char *site = session->params->report;
    if (!site)
        return true;
    const char **words = gb_alloc(count + 4, sizeof *words, status);
    size_t n = 0;
    bool ok = words != NULL;
    if (ok) {
        words[n++] = "site";
        words[n++] = "--out";
        words[n++] = site;
    }
    for (size_t i = 0; ok && i < count; i++) {
        bool shown = false;
        for (size_t p = 0; ok && !shown && p < sizeof pages / sizeof *pages; p++) {
            char *page = gb_path_join(status, folders[i], pages[p]);
            ok = page != NULL;
            shown = ok && gb_file_exists(page);
            free(page);
        }
        if (shown)
            words[n++] = folders[i];
    }
    ok = ok && repro_session_command(session, words, status);
    free(words);
    return ok;
}

/* ---- claims ---- */

void repro_results_summary(const char *paper, const char *const *folders, size_t count)
{
    size_t counts[GB_VERDICTS] = {0};
    for (size_t i = 0; i < count; i++) {
        char *path = gb_path_join(NULL, folders[i], "table.json");
        json_t *table = path ? gb_json_load(path, 0, NULL) : NULL;
        gb_count_verdicts(table, counts);
        json_decref(table);
        free(path);
    }
    printf("%-6.*s ", (int)strcspn(paper, "/"), paper);
    for (size_t v = GB_VERDICTS; v-- > 0;)
        printf("%zu %s%s", counts[v], gb_verdict_name(v), v ? ", " : "\n");
}

/* ---- where a row came from ---- */

/* Prints what the store knows of an artifact, by its folder. */
static bool explain_artifact(const repro_session *session, const char *folder, gb_status *status)
{
    char *store = gb_strdup(folder, status);
    char *slash = store ? strrchr(store, '/') : NULL;
    if (slash)
        *slash = '\0';
    const char *words[] = {
        "store", "--store", slash ? store : ".", "why", slash ? slash + 1 : folder, NULL};
    bool ok = store && repro_session_command(session, words, status);
    free(store);
    return ok;
}

bool repro_explain(const repro_session *session, gb_status *status)
{
    const char *row = session->params->row, *table = session->entry->name;
    char *path = gb_path_join(status, session->out, "results.jsonl");
    gb_lines *lines = path && gb_file_exists(path) ? gb_lines_open(path, status) : NULL;
    bool ok =
        lines || (path && gb_fail(status, GB_USAGE, NULL, NULL,
                                  "no results in %.200s (run: reproduce %s)", session->out, table));
    json_t *result;
    size_t found = 0;
    int got = 0;
    while (ok && (got = gb_jsonl_next(lines, &result, status)) == 1) {
        const char *name = gb_json_text(result, "row");
        if ((row ? !strcmp(name, row) : *name) && !json_object_get(result, "series")) {
            found++;
            if (!row)
                printf("==== %s, seed %lld\n", name,
                       (long long)json_integer_value(json_object_get(result, "seed")));
            ok = explain_artifact(session, gb_json_text(result, "evaluation"), status);
        }
        json_decref(result);
    }
    gb_lines_close(lines);
    ok = ok && got == 0;
    if (ok && !found)
        ok = gb_fail(status, GB_USAGE, NULL, NULL, "no row %.60s in %.200s", row ? row : "at all",
                     path);
    free(path);
    return ok;
}
