/* gabbro evaluate: the step that ranks passages for every evaluation split and measures. */
#include "ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro evaluate --model MODEL|--bm25 --collection STEP [--tokens STEP] [options]\n\n"
    "Rank passages for the queries of every split but train, and measure; a split that holds all\n"
    "training queries is left out. Top@k, of a collection with answers.tsv, is the share of "
    "queries\n"
    "with an answer in the text of one of the first k passages. A passage is relevant from grade "
    "1\n"
    "on; where judgements have higher grades, R(rel=2)@1000 and its like count from grade 2 on.\n"
    "Beside each value stands what a random order of all passages has in expectation. Prints the\n"
    "step's folder: metrics.json, per-query/, runs/.\n";

typedef struct settings {
    const char *model, *collection, *tokens; /* steps */
    bool bm25;                               /* instead of a model */
    uint32_t depth;                          /* passages a query that are measured */
    uint32_t keep;                           /* of them written to runs/ */
    bool drop_identical;                     /* a passage with the query's id does not count */
} settings;

/* How lists are judged and queries averaged. */
typedef enum form { FORM_MSMARCO, FORM_TREC, FORM_ANSWERS } form;
static const char *const form_names[] = {"msmarco", "trec", "answers"};

/* A measure and the name it has in tables. */
typedef struct column {
    const char *name;   /* in tables */
    const char *metric; /* of gb_metrics_add */
    form form;          /* the MS MARCO script's, trec_eval's over all judged queries, or by answers
                           (ranks as in the run) */
} column;

static const column columns[] = {
    {"MRR@10", "MRR@10", FORM_MSMARCO},     {"MRR@100", "MRR@100", FORM_MSMARCO},
    {"Hit@1", "Hit@1", FORM_MSMARCO},       {"Hit@10", "Hit@10", FORM_MSMARCO},
    {"Hit@50", "Hit@50", FORM_MSMARCO},     {"Hit@100", "Hit@100", FORM_MSMARCO},
    {"Hit@1000", "Hit@1000", FORM_MSMARCO}, {"nDCG@10", "ndcg_cut_10", FORM_TREC},
    {"R@50", "recall_50", FORM_TREC},       {"R@100", "recall_100", FORM_TREC},
    {"R@1000", "recall_1000", FORM_TREC},   {"Top@5", "Hit@5", FORM_ANSWERS},
    {"Top@20", "Hit@20", FORM_ANSWERS},     {"Top@100", "Hit@100", FORM_ANSWERS}};
#define COLUMNS (sizeof columns / sizeof *columns)
enum { ANSWER_DEPTH = 100 }; /* of the deepest Top@k */

/* Of a split: what is measured in one form at one relevance level. */
typedef struct sheet {
    const char *split;     /* its name */
    const gb_qrels *qrels; /* its judgements */
    form how;              /* lists are judged */
    int32_t level;         /* smallest relevant grade; above 1 it is part of names */
} sheet;

/* Does the level change what the column says? nDCG takes all grades. */
static bool listed(const sheet *of, const column *shown)
{
    return shown->form == of->how && (of->level == 1 || strcmp(shown->name, "nDCG@10"));
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

/* Measure a sheet into metrics and a per-query file. */
static bool measure(const step_run *step, const settings *o, const gb_collection *collection,
                    const sheet *of, const gb_run *run, json_t *metrics, gb_status *status)
{
    gb_names *queries = gb_names_from_table(collection->query_ids, status);
    gb_names *passages = gb_names_from_table(collection->passage_ids, status);
    gb_metrics wanted = {0};
    gb_evaluation evaluation = {0};
    gb_eval_params params = of->how == FORM_TREC ? GB_EVAL_TREC : GB_EVAL_MSMARCO;
    params.level = of->level;
    params.complete = true;
    params.drop_identical = o->drop_identical;
    params.depth = o->depth;
    if (of->how != FORM_ANSWERS) /* which passages hold an answer is known of ranked ones alone */
        params.passages = collection->passages;
    bool ok = queries && passages;
    for (size_t c = 0; ok && c < COLUMNS; c++)
        if (listed(of, &columns[c]))
            ok = gb_metrics_add(&wanted, columns[c].metric, status);
    char file[128];
    snprintf(file, sizeof file, "per-query/%s.%s%s.tsv", of->split, form_names[of->how],
             of->level == 1 ? "" : ".rel2");
    char *path = ok ? step_file(step, file, status) : NULL;
    ok = path &&
         gb_evaluate(run, of->qrels, queries, passages, &params, &wanted, &evaluation, status) &&
         gb_evaluation_write(&evaluation, queries, path, status);
    for (size_t c = 0; ok && c < COLUMNS; c++)
        if (listed(of, &columns[c]))
            ok = add_measure(of, &columns[c], &evaluation, file, metrics, status);
    free(path);
    gb_evaluation_free(&evaluation);
    free(wanted.items);
    gb_names_destroy(passages);
    gb_names_destroy(queries);
    return ok;
}

/* What was judged and could not be imported is in no denominator: recall is too high by it. */
static void say_left_out(const gb_collection *collection, const char *split)
{
    char *path = gb_path_join(NULL, collection->path, "collection.json");
    json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
    const json_t *counts = json_object_get(json_object_get(json, "splits"), split);
    json_int_t left_out = json_integer_value(json_object_get(counts, "skipped_unknown"));
    if (left_out)
        gb_log(GB_LOG_WARN,
               "split %s: %lld judgements of passages or queries that the collection does not have "
               "count for nothing",
               split, (long long)left_out);
    json_decref(json);
    free(path);
}

/* Measure by judgements: grade 1 is relevant, and where grades go on (TREC's topics), also from
 * grade 2 on, which papers about those mean by recall. */
static bool measure_judged(const step_run *step, const settings *o, const gb_collection *collection,
                           const char *split, const gb_qrels *qrels, const gb_run *run,
                           json_t *metrics, gb_status *status)
{
    int32_t highest = 0;
    for (size_t i = 0; i < qrels->count; i++)
        highest = qrels->rows[i].grade > highest ? qrels->rows[i].grade : highest;
    say_left_out(collection, split);
    bool ok = true;
    for (int32_t level = 1; ok && level <= (highest > 1 ? 2 : 1); level++)
        for (form how = FORM_MSMARCO; ok && how <= FORM_TREC; how++)
            ok = measure(step, o, collection, &(sheet){split, qrels, how, level}, run, metrics,
                         status);
    return ok;
}

/* Measure by answers where the collection has them for queries of the split. */
static bool measure_answers(const step_run *step, const settings *o,
                            const gb_collection *collection, const char *split, const gb_run *run,
                            json_t *metrics, gb_status *status)
{
    char *path = gb_path_join(status, collection->path, "answers.tsv");
    if (!path || !gb_file_exists(path)) {
        bool none = path != NULL;
        free(path);
        return none;
    }
    gb_qrels held = {0};
    gb_names *queries = gb_names_from_table(collection->query_ids, status);
    gb_answers *answers = queries ? gb_answers_read(path, queries, status) : NULL;
    bool ok =
        answers && gb_answers_qrels(answers, run, collection->texts, ANSWER_DEPTH, &held, status);
    if (ok && held.count)
        ok = measure(step, o, collection, &(sheet){split, &held, FORM_ANSWERS, 1}, run, metrics,
                     status);
    free(held.rows);
    gb_answers_destroy(answers);
    gb_names_destroy(queries);
    free(path);
    return ok;
}

/* Where a model stands: does the best passage speak of the right entity, and where among the
 * passages of that entity is the positive (0 first, 1 last, .5 chance)? Known in the mini world. */
static void diagnose(const gb_collection *collection, const gb_run *run, const gb_qrels *qrels,
                     json_t *facts)
{
    double right = 0, place = 0;
    uint32_t count = 0, placed = 0;
    for (size_t i = 0; i < qrels->count; i++) {
        const gb_qrel *judged = &qrels->rows[i];
        const gb_run_list *list = gb_run_find(run, judged->query);
        uint32_t entity = gb_collection_truth(collection, GB_TRUTH_PASSAGE_ENTITY, judged->passage);
        if (entity == GB_MAP_NONE || judged->grade < 1 || !list || !list->count)
            continue;
        count++;
        uint32_t same = 0, before = UINT32_MAX;
        for (uint32_t h = 0; h < list->count; h++) {
            uint32_t passage = run->hits[list->first + h].passage;
            bool own = gb_collection_truth(collection, GB_TRUTH_PASSAGE_ENTITY, passage) == entity;
            right += own && h == 0;
            if (passage == judged->passage)
                before = same;
            same += own;
        }
        if (before != UINT32_MAX && same > 1) {
            place += (double)before / (same - 1);
            placed++;
        }
    }
    if (count)
        json_object_set_new(facts, "right_entity_at_rank_1", json_real(right / count));
    if (placed)
        json_object_set_new(facts, "place_inside_entity", json_real(place / placed));
}

static bool evaluate_split(step_run *step, const settings *o, const gb_collection *collection,
                           const gb_bm25 *index, ranking_dense *dense, const char *split,
                           json_t *metrics, json_t *facts, gb_status *status)
{
    gb_qrels qrels = {0};
    gb_run run = {0};
    uint32_t *queries = NULL, count = 0,
             depth = o->depth + o->drop_identical; /* one may be dropped */
    char file[128];
    snprintf(file, sizeof file, "runs/%s.trec", split);
    bool ok = ranking_queries(collection, split, &qrels, &queries, &count, status) &&
              (o->bm25 ? gb_bm25_run(index, queries, count, gb_collection_query, collection, depth,
                                     0, &run, status)
                       : ranking_dense_run(dense, queries, count, depth, &run, status));
    if (ok && step_leads(step)) {
        ok = ranking_write(step, collection, &run, o->keep, file, status) &&
             (!qrels.count || /* questions with answers alone */
              measure_judged(step, o, collection, split, &qrels, &run, metrics, status)) &&
             measure_answers(step, o, collection, split, &run, metrics, status);
        if (ok && !strcmp(split, "dev"))
            diagnose(collection, &run, &qrels, facts);
    }
    gb_run_free(&run);
    free(queries);
    free(qrels.rows);
    return ok;
}

static bool make_folders(const step_run *step, gb_status *status)
{
    char *runs = step_file(step, "runs", status), *values = step_file(step, "per-query", status);
    bool ok = runs && values && gb_make_dirs(runs, status) && gb_make_dirs(values, status);
    free(runs);
    free(values);
    return ok;
}

static bool evaluate(step_run *step, const settings *o, gb_status *status)
{
    gb_collection *collection = gb_open_collection(o->collection, status);
    json_t *metrics = json_object(), *facts = json_object();
    ranking_dense dense = {0};
    gb_bm25 *index = NULL;
    bool fair, ok = collection && (!step_leads(step) || make_folders(step, status));
    if (ok && !o->bm25) {
        ok = step_device(step, status) &&
             ranking_dense_open(&dense, step, "passages", o->model, o->tokens, status);
        if (ok)
            json_object_update_new(facts, step_device_facts(step));
    } else if (ok && (ok = (index = ranking_index(collection, status)) != NULL)) {
        ranking_index_facts(index, facts);
    }
    char *splits = ok ? gb_strdup(collection->splits, status) : NULL, *rest = splits;
    for (char *split; ok && splits && (split = strsep(&rest, " "));)
        if (*split && (ok = ranking_judges(collection, split, &fair, status)) && fair)
            ok = evaluate_split(step, o, collection, index, &dense, split, metrics, facts, status);
    ok = ok && splits &&
         (!step_leads(step) ||
          (step_write_metrics(step, metrics, status) && step_end(step, facts, status)));
    free(splits);
    ranking_dense_close(&dense);
    gb_bm25_destroy(index);
    json_decref(metrics);
    json_decref(facts);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_evaluate(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.depth = 1000, .keep = 100};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, false, true, "retriever: step or model folder"},
        {"bm25", OPTION_FLAG, &o.bm25, false, false, "BM25 instead of a retriever"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, false, true, "step of its tokens"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query that are measured (1000)"},
        {"keep", OPTION_U32, &o.keep, false, false, "of them written to runs/ (100)"},
        {"drop-identical", OPTION_FLAG, &o.drop_identical, false, false,
         "do not count a passage whose id is the query's, as BEIR", true},
        {0}};
    step_run run = {.kind = "evaluate", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (!o.model == !o.bm25 || (o.model && !o.tokens))
        ok =
            gb_fail(&status, GB_USAGE, NULL, "see --help", "give --bm25, or --model with --tokens");
    bool begun =
        ok && !(run.cost && o.model) && step_begin(&run, 4, o.model != NULL, NULL, &status);
    if (begun && step_there(&run))
        step_end(&run, NULL, &status);
    else if (ok && run.cost && o.model)
        ranking_cost(o.collection, o.model, o.tokens, NULL, &status);
    else if (begun && (o.model || step_leads(&run))) /* BM25 is not divided */
        evaluate(&run, &o, &status);
    return step_close(&run, &status);
}
