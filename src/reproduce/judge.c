/* Judges run files and finished models as rows of a table. */
#include "judge.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>
#include <gabbro/report.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is being judged. */
typedef struct judged {
    const repro_session *session; /* what was asked for */
    const char *runs;             /* folder of rows */
    char *collection;             /* artifact of the collection, once it is there, or NULL */
    json_t *lines;                /* of results.jsonl, the first with what was run */
    size_t rows;                  /* found */
} judged;

/* ---- child processes ---- */

/* What a command of the program prints: the folder of an artifact. */
static char *made(const judged *j, const char *const *words, gb_status *status)
{
    const repro_command command = {.program = j->session->program,
                                   .words = words,
                                   .environment = j->session->environment,
                                   .catch_output = true};
    gb_text printed = {0};
    int code = 0;
    char *folder = NULL;
    if (repro_process_run(&command, &printed, &code, status) &&
        repro_process_ok(words[0], code, status))
        folder = gb_strdup(printed.data ? printed.data : "", status);
    gb_text_free(&printed);
    return folder;
}

/* The collection as an artifact: imported if it is none. */
static bool need_collection(judged *j, gb_status *status)
{
    const char *path = j->session->params->collection;
    if (j->collection)
        return true;
    if (!path)
        return gb_fail(status, GB_USAGE, NULL, "give --collection PATH",
                       "models are judged on a collection");
    char *inside = gb_path_join(status, path, "collection/collection.json");
    bool artifact = inside && gb_file_exists(inside);
    const char *words[] = {"collection", "--from", path, "--keep-splits", NULL};
    free(inside);
    j->collection = artifact ? gb_strdup(path, status) : made(j, words, status);
    return j->collection != NULL;
}

/* ---- a row ---- */

static bool add_line(judged *j, const char *row, const char *seed, const char *evaluation,
                     const char *model)
{
    json_t *line =
        json_pack("{s:s, s:I, s:s, s:s}", "row", row, "seed", (json_int_t)strtoull(seed, NULL, 10),
                  "evaluation", evaluation, "model", model);
    j->rows++;
    return json_array_append_new(j->lines, line) == 0;
}

/* A folder that transformers or sentence-transformers would open. */
static bool is_model(const char *folder)
{
    static const char *const marks[] = {"modules.json", "config.json"};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = gb_path_join(NULL, folder, marks[i]);
        found = path && gb_file_exists(path);
        free(path);
    }
    return found;
}

/* Tokens that a model reads at most, and not more than `most`, as text. */
static void length_of(const char *model, uint32_t most, char text[16])
{
    static const char *const places[][2] = {{"config.json", "max_position_embeddings"},
                                            {"sentence_bert_config.json", "max_seq_length"}};
    for (int i = 0; i < 2; i++) {
        json_t *json = gb_json_load_in(model, places[i][0], 0, NULL);
        uint32_t own = most;
        if (gb_json_get_u32(json, places[i][1], model, &own, NULL) && own < most)
            most = own;
        json_decref(json);
    }
    snprintf(text, 16, "%u", most);
}

/* Adds an option of gabbro tokenize where the model has that prompt; the words' new end. */
static const char **add_prompt(const char **end, const char *option, const char *prompt)
{
    if (prompt && *prompt) {
        *end++ = option;
        *end++ = prompt;
    }
    return end;
}

static bool judge_model(judged *j, const char *row, const char *seed, const char *model,
                        gb_status *status)
{
    if (!need_collection(j, status))
        return false;
    char *list = gb_find_vocabulary(model, status), *tokens = NULL, *evaluation = NULL;
    char passage[16], query[16];
    length_of(model, 144, passage);
    length_of(model, 32, query);
    gb_folder *folder = list ? gb_folder_open(model, status) : NULL;
    gb_text_prompts prompts = {0};
    const char *take[] = {"vocabulary", "--from", list, NULL};
    char *vocabulary =
        folder && gb_folder_prompts(folder, &prompts, status) ? made(j, take, status) : NULL;
    if (vocabulary) {
        const char *words[14] = {"tokenize",     "--collection",   j->collection,
                                 "--vocabulary", vocabulary,       "--passage-tokens",
                                 passage,        "--query-tokens", query};
        const char **end = add_prompt(words + 9, "--query-prompt", prompts.query);
        add_prompt(end, "--passage-prompt", prompts.passage);
        tokens = made(j, words, status);
    }
    if (tokens) {
        const char *words[] = {"evaluate",    "--model",  model,  "--collection",
                               j->collection, "--tokens", tokens, NULL};
        evaluation = made(j, words, status);
    }
    bool ok = evaluation && (add_line(j, row, seed, evaluation, model) ||
                             gb_fail_memory(status, "judging a model"));
    gb_text_prompts_free(&prompts);
    gb_folder_close(folder);
    free(list);
    free(vocabulary);
    free(tokens);
    free(evaluation);
    return ok;
}

/* Where judgements are: beside the rows, or in the collection. Caller frees. */
static char *qrels_folder(judged *j, gb_status *status)
{
    char *own = gb_path_join(status, j->runs, "qrels");
    if (!own || gb_dir_exists(own))
        return own;
    free(own);
    if (!j->session->params->collection) {
        gb_fail(status, GB_USAGE, j->runs, "add qrels/SPLIT.tsv to it, or give --collection",
                "there are no judgements");
        return NULL;
    }
    return need_collection(j, status) ? gb_path_join(status, j->collection, "collection/qrels")
                                      : NULL;
}

static bool judge_runs(judged *j, const char *row, const char *seed, const char *folder,
                       gb_status *status)
{
    char *name = gb_format(status, "judged/%s.%s", row, seed);
    char *out = name ? gb_path_join(status, j->session->out, name) : NULL;
    char *qrels = out ? qrels_folder(j, status) : NULL;
    const gb_split_params how = {.folder = out};
    json_t *metrics = json_object();
    bool ok = qrels && gb_make_dirs(out, status) &&
              gb_splits_measure_files(qrels, folder, &how, metrics, status);
    if (ok && !json_object_size(metrics))
        ok = gb_fail(status, GB_DATA, folder, "as dev.trec, beside qrels/dev.tsv",
                     "neither a model nor a run of a split with judgements");
    ok = ok &&
         gb_json_save_in(metrics, GB_JSON_FILE | GB_JSON_NEWLINE, out, "metrics.json", status) &&
         (add_line(j, row, seed, name, "") || gb_fail_memory(status, "judging a run"));
    json_decref(metrics);
    free(qrels);
    free(name);
    free(out);
    return ok;
}

static bool judge_one(judged *j, const char *row, const char *seed, const char *folder,
                      gb_status *status)
{
    return is_model(folder) ? judge_model(j, row, seed, folder, status)
                            : judge_runs(j, row, seed, folder, status);
}

/* "42", not "042": two folders would be one seed. */
static bool good_seed(const char *name)
{
    char *end;
    errno = 0;
    long long seed = strtoll(name, &end, 10);
    char plain[32];
    snprintf(plain, sizeof plain, "%lld", seed);
    return errno == 0 && seed >= 0 && !strcmp(plain, name);
}

/* A row: its folder, or one of each seed in it. */
static bool judge_row(judged *j, const char *row, gb_status *status)
{
    char *folder = gb_path_join(status, j->runs, row);
    gb_entries found = {0};
    bool there = folder && gb_dir_exists(folder), seeds = false;
    bool ok = folder && (!there || gb_entries_read(folder, "*", &found, status));
    for (size_t i = 0; ok && i < found.count; i++) {
        const char *name = found.names[i];
        if (name[strspn(name, "0123456789")])
            continue;
        if (!good_seed(name)) {
            ok = gb_fail(status, GB_USAGE, folder, "as 42", "\"%.40s\" is no seed", name);
            break;
        }
        char *of = gb_path_join(status, folder, name);
        seeds = true;
        ok = of && judge_one(j, row, name, of, status);
        free(of);
    }
    if (ok && there && !seeds)
        ok = judge_one(j, row, "42", folder, status);
    gb_entries_free(&found);
    free(folder);
    return ok;
}

/* ---- the table ---- */

/* A folder whose name is misspelt would be left out without a word. */
static bool warn_of_others(const judged *j, const gb_table_spec *spec, gb_status *status)
{
    gb_entries found = {0};
    bool ok = gb_entries_read(j->runs, "*", &found, status);
    for (size_t i = 0; ok && i < found.count; i++) {
        bool known = !strcmp(found.names[i], "qrels");
        for (size_t r = 0; r < spec->row_count && !known; r++)
            known = !strcmp(found.names[i], spec->rows[r].key);
        char *path = gb_path_join(status, j->runs, found.names[i]);
        ok = path != NULL;
        if (ok && !known && gb_dir_exists(path))
            gb_log(GB_LOG_WARN, "%s: %s has no row of that name; it is left out", path, spec->name);
        free(path);
    }
    gb_entries_free(&found);
    return ok;
}

static bool write_results(const judged *j, const char *path, gb_status *status)
{
    gb_text text = {0};
    json_t *line;
    size_t i;
    bool ok = true;
    json_array_foreach(j->lines, i, line) ok =
        ok && gb_json_print(line, GB_JSON_NEWLINE, &text, status);
    ok = ok && gb_text_write(&text, path, status);
    gb_text_free(&text);
    return ok;
}

static bool report(const judged *j, gb_status *status)
{
    const repro_session *session = j->session;
    char *results = gb_path_join(status, session->out, "results.jsonl");
    const char *words[16] = {
        "report", "--table", session->entry->name, "--scale", session->params->scale, "--results",
        results,  "--out",   session->out};
    if (session->params->judged)
        words[9] = "--judged";
    bool ok = results && write_results(j, results, status) &&
              repro_session_command(session, words, status);
    free(results);
    return ok;
}

bool repro_judge(const repro_session *session, gb_status *status)
{
    judged j = {.session = session, .runs = session->params->runs};
    const char *collection = session->params->collection;
    if (!session->entry)
        return gb_fail(status, GB_USAGE, NULL, "reproduce judge TABLE --runs DIR",
                       "judge needs one table");
    if (!j.runs)
        return gb_fail(status, GB_USAGE, NULL, "see reproduce --help", "judge needs --runs DIR");
    if (!gb_dir_exists(j.runs))
        return gb_fail(status, GB_USAGE, j.runs, "check the path of --runs", "there is no folder");
    j.lines = json_array();
    gb_table_spec *spec = gb_table_spec_load(session->tables_dir, session->entry->name, status);
    json_array_append_new(j.lines, json_pack("{s:s, s:s, s:s, s:s, s:s, s:{}, s:{}}", "table",
                                             session->entry->name, "scale", session->params->scale,
                                             "collection", collection ? collection : "of the runs",
                                             "collection_kind", "runs", "recipe", "judged",
                                             "settings", "times"));
    bool ok = spec && gb_make_dirs(session->out, status) && warn_of_others(&j, spec, status);
    for (size_t i = 0; ok && i < spec->row_count; i++)
        ok = !*spec->rows[i].key || judge_row(&j, spec->rows[i].key, status);
    if (ok && !j.rows)
        ok = gb_fail(status, GB_USAGE, j.runs, "its folders have the keys of tables/rows as names",
                     "no row of %s is there", session->entry->name);
    ok = ok && report(&j, status);
    gb_table_spec_free(spec);
    json_decref(j.lines);
    free(j.collection);
    return ok;
}
