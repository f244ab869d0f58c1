/* The measures of a split as tables show them. */
#include <gabbro/eval.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How lists are judged and queries averaged: as the MS MARCO script does; as trec_eval does, over
 * all judged queries; by answers, with ranks as in the run. */
typedef enum form { FORM_MSMARCO, FORM_TREC, FORM_ANSWERS } form;
static const char *const form_names[] = {"msmarco", "trec", "answers"};

/* A measure and the name it has in tables. */
typedef struct column {
    const char *name;   /* in tables */
    const char *metric; /* of gb_metrics_add */
    form form;          /* that it is measured in */
} column;

static const column columns[] = {
    {"MRR@10", "MRR@10", FORM_MSMARCO},     {"MRR@100", "MRR@100", FORM_MSMARCO},
    {"Hit@1", "Hit@1", FORM_MSMARCO},       {"Hit@10", "Hit@10", FORM_MSMARCO},
    {"Hit@50", "Hit@50", FORM_MSMARCO},     {"Hit@100", "Hit@100", FORM_MSMARCO},
    {"Hit@1000", "Hit@1000", FORM_MSMARCO}, {"nDCG@10", "ndcg_cut_10", FORM_TREC},
    {"R@50", "recall_50", FORM_TREC},       {"R@100", "recall_100", FORM_TREC},
    {"R@1000", "recall_1000", FORM_TREC},   {"Judged@10", "Judged@10", FORM_TREC},
    {"Top@5", "Hit@5", FORM_ANSWERS},       {"Top@20", "Hit@20", FORM_ANSWERS},
    {"Top@100", "Hit@100", FORM_ANSWERS}};
#define COLUMNS (sizeof columns / sizeof *columns)
enum { ANSWER_DEPTH = 100 }; /* of the deepest Top@k */

/* What is measured in one form at one relevance level. */
typedef struct sheet {
    const char *split;     /* its name */
    const gb_qrels *qrels; /* judgements */
    form form;             /* lists are judged in */
    int32_t level;         /* smallest relevant grade; above 1 it is part of names */
} sheet;

/* Does the level change what the column says? nDCG and Judged take all grades. */
static bool listed(const sheet *of, const column *shown)
{
    bool of_all = !strcmp(shown->name, "nDCG@10") || !strcmp(shown->name, "Judged@10");
    return shown->form == of->form && (of->level == 1 || !of_all);
}

/* "dl19:R@1000", "dl19:R(rel=2)@1000" -> value, what a random order has in expectation, and where
 * the values of queries are. */
static bool add_measure(const sheet *of, const column *shown, const gb_evaluation *evaluation,
                        const char *file, json_t *metrics, gb_status *status)
{
    char key[128], level[24] = "", label[GB_METRIC_LABEL];
    int stem = (int)strcspn(shown->name, "@");
    gb_metrics metric = {0};
    if (!gb_metrics_add(&metric, shown->metric, status))
        return false;
    if (of->level != 1)
        snprintf(level, sizeof level, "(rel=%d)", (int)of->level);
    snprintf(key, sizeof key, "%s:%.*s%s%s", of->split, stem, shown->name, level,
             shown->name + stem);
    gb_metric_label(&metric.items[0], of->level, label);
    json_t *measure =
        json_pack("{s:f, s:s, s:s}", "value", gb_evaluation_total(evaluation, shown->metric),
                  "per_query", file, "name", label);
    double chance = gb_evaluation_chance(evaluation, shown->metric);
    if (measure && !isnan(chance))
        json_object_set_new(measure, "chance", json_real(chance));
    json_object_set_new(metrics, key, measure);
    free(metric.items);
    return true;
}

/* Measure a sheet into metrics and a file of the queries' values. */
static bool measure(const sheet *of, const gb_run *run, const gb_split_params *params,
                    json_t *metrics, gb_status *status)
{
    gb_metrics wanted = {0};
    gb_evaluation evaluation = {0};
    gb_eval_params how = of->form == FORM_TREC ? GB_EVAL_TREC : GB_EVAL_MSMARCO;
    how.metrics = &wanted;
    how.level = of->level;
    how.complete = true;
    how.drop_identical = params->drop_identical;
    how.depth = params->depth;
    if (of->form != FORM_ANSWERS &&
        params->collection) /* which passages hold an answer is known of ranked ones alone */
        how.passages = params->collection->passages;
    bool ok = true;
    for (size_t c = 0; ok && c < COLUMNS; c++)
        if (listed(of, &columns[c]))
            ok = gb_metrics_add(&wanted, columns[c].metric, status);
    char file[128];
    snprintf(file, sizeof file, "per-query/%s.%s%s.tsv", of->split, form_names[of->form],
             of->level == 1 ? "" : ".rel2");
    char *path = ok ? gb_path_join(status, params->folder, file) : NULL;
    ok = path && gb_evaluate(run, of->qrels, params->names, &how, &evaluation, status) &&
         gb_evaluation_write(&evaluation, params->names->queries, path, status);
    if (ok && !params->collection && of->form == FORM_TREC && of->level == 1 &&
        evaluation.missing_queries) /* of files: a search has them all */
        gb_log(GB_LOG_WARN, "%u judged queries of split %s have no ranking: they count as 0",
               evaluation.missing_queries, of->split);
    for (size_t c = 0; ok && c < COLUMNS; c++)
        if (listed(of, &columns[c]))
            ok = add_measure(of, &columns[c], &evaluation, file, metrics, status);
    free(path);
    gb_evaluation_free(&evaluation);
    free(wanted.items);
    return ok;
}

/* What was judged and could not be imported is in no denominator: recall is too high by it. */
static void log_left_out(const gb_collection *collection, const char *split)
{
    json_t *json = gb_json_load_in(collection->path, "collection.json", 0, NULL);
    const json_t *counts = json_object_get(json_object_get(json, "splits"), split);
    json_int_t left_out = json_integer_value(json_object_get(counts, "skipped_unknown"));
    if (left_out)
        gb_log(GB_LOG_WARN,
               "split %s: %lld judgements of passages or queries that the collection does not have "
               "count for nothing",
               split, (long long)left_out);
    json_decref(json);
}

/* Measure by judgements: grade 1 is relevant, and where grades go on (TREC's topics), also from
 * grade 2 on, which papers about those mean by recall. */
static bool measure_judged(const gb_split *split, const gb_run *run, const gb_split_params *params,
                           json_t *metrics, gb_status *status)
{
    int32_t highest = 0;
    for (size_t i = 0; i < split->qrels.count; i++)
        highest = split->qrels.rows[i].grade > highest ? split->qrels.rows[i].grade : highest;
    if (params->collection)
        log_left_out(params->collection, split->name);
    bool ok = true;
    for (int32_t level = 1; ok && level <= (highest > 1 ? 2 : 1); level++)
        for (form how = FORM_MSMARCO; ok && how <= FORM_TREC; how++)
            ok = measure(&(sheet){split->name, &split->qrels, how, level}, run, params, metrics,
                         status);
    return ok;
}

static bool measure_answers(const gb_split *split, const gb_run *run, const gb_split_params *params,
                            json_t *metrics, gb_status *status)
{
    gb_qrels held = {0};
    bool ok = gb_answers_qrels(params->answers, split, run, params->collection->texts, ANSWER_DEPTH,
                               &held, status);
    if (ok && held.count)
        ok = measure(&(sheet){split->name, &held, FORM_ANSWERS, 1}, run, params, metrics, status);
    free(held.rows);
    return ok;
}

bool gb_split_measure(const gb_split *split, const gb_run *run, const gb_split_params *params,
                      json_t *metrics, gb_status *status)
{
    char *values = gb_path_join(status, params->folder, "per-query");
    bool ok = values && gb_make_dirs(values, status) &&
              (!split->qrels.count || /* questions with answers alone */
               measure_judged(split, run, params, metrics, status)) &&
              (!params->answers || measure_answers(split, run, params, metrics, status));
    free(values);
    return ok;
}

/* ---- from files ---- */

static bool measure_files(const char *split, const char *run, const char *qrels,
                          const gb_split_params *params, json_t *metrics, gb_status *status)
{
    gb_run_names names = {0};
    gb_run read = {0};
    gb_split of = {.name = (char *)split};
    const gb_split_params how = {.names = &names,
                                 .depth = 1000,
                                 .drop_identical = params->drop_identical,
                                 .folder = params->folder};
    bool ok = gb_run_names_create(&names, status) &&
              gb_run_read(run, GB_RUN_AUTO, &names, &read, NULL, status) &&
              gb_qrels_read(qrels, &names, &of.qrels, status) &&
              gb_split_measure(&of, &read, &how, metrics, status);
    free(of.qrels.rows);
    gb_run_free(&read);
    gb_run_names_free(&names);
    return ok;
}

/* *run: the file of a split in a folder, or NULL; the caller frees it. */
static bool find_run(const char *folder, const char *split, char **run, gb_status *status)
{
    static const char *const ends[] = {"trec", "txt", "tsv"};
    bool ok = true;
    *run = NULL;
    for (size_t i = 0; ok && !*run && i < sizeof ends / sizeof *ends; i++) {
        char *name = gb_format(status, "%s.%s", split, ends[i]);
        ok = name && gb_unpack_find(folder, name, run, status);
        free(name);
    }
    return ok;
}

/* "test.v2.tsv.gz" becomes "test.v2". */
static void cut_endings(char *name)
{
    name[gb_unpack_stem(name)] = '\0';
    char *end = strrchr(name, '.');
    if (end)
        *end = '\0';
}

bool gb_splits_measure_files(const char *qrels, const char *runs, const gb_split_params *params,
                             json_t *metrics, gb_status *status)
{
    gb_entries files = {0};
    bool ok = gb_entries_read(qrels, "*", &files, status);
    for (size_t i = 0; ok && i < files.count; i++) {
        char *judged = gb_path_join(status, qrels, files.names[i]), *split = files.names[i];
        char *run = NULL;
        struct stat info;
        cut_endings(split);
        ok = judged && find_run(runs, split, &run, status) &&
             (!run || (params->skip_empty && stat(run, &info) == 0 && !info.st_size) ||
              measure_files(split, run, judged, params, metrics, status));
        free(judged);
        free(run);
    }
    gb_entries_free(&files);
    return ok;
}
