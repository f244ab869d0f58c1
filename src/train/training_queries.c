/* Training queries with their positives and negatives, from the artifacts that an option names. */
#include "private.h"

#include <math.h>
#include <stdlib.h>

static void log_filtered(const gb_filtered *n)
{
    if (n->left < n->before)
        gb_log(GB_LOG_INFO,
               "%llu of %llu negatives dropped: %llu by rank, %llu as copies, %llu by score, %llu "
               "without a score",
               (unsigned long long)(n->before - n->left), (unsigned long long)n->before,
               (unsigned long long)n->by_rank, (unsigned long long)n->by_text,
               (unsigned long long)n->by_score, (unsigned long long)n->unscored);
}

static bool check_filter(const gb_filter_settings *o, gb_status *status)
{
    bool least = o->min_score != GB_OPEN_REAL, most = o->max_score != GB_OPEN_REAL;
    if (!o->scores &&
        (o->margin != GB_OPEN_REAL || o->relative_margin != GB_OPEN_REAL || least || most))
        return gb_fail(status, GB_USAGE, NULL, "give --scores, too",
                       "--margin, --relative-margin, --min-score and --max-score are of the scores "
                       "of a run");
    return !least || !most || o->min_score <= o->max_score ||
           gb_fail(status, GB_USAGE, "--min-score", "give it at most --max-score",
                   "no score is at least %g and at most %g", o->min_score, o->max_score);
}

/* Drops what may be relevant from the pools. */
static bool filter_set(const train_set_params *params, const gb_run *runs,
                       const gb_run_names *names, gb_training_set *set, gb_text_hashes *texts,
                       gb_filtered *filtered, gb_status *status)
{
    const gb_filter_settings *o = params->filter;
    gb_run scores = {0};
    gb_negative_filter how = {.texts = o->unique_texts ? texts : NULL,
                              .runs = runs,
                              .run_count = params->negatives->count,
                              .skip = o->skip,
                              .scores = o->scores ? &scores : NULL,
                              .margin = o->margin,
                              .relative_margin = o->relative_margin,
                              .min_score = o->min_score,
                              .max_score = o->max_score == GB_OPEN_REAL ? INFINITY : o->max_score};
    bool ok = check_filter(o, status) &&
              (!o->unique_texts || gb_text_hashes_make(texts, params->tokens, status)) &&
              (!o->scores || gb_run_read_artifact(o->scores, names, &scores, status));
    if (ok) {
        gb_training_set_filter(set, &how, filtered);
        log_filtered(filtered);
    }
    gb_run_free(&scores);
    return ok;
}

static int by_rows(const void *a_, const void *b_)
{
    const gb_qrel *a = a_, *b = b_;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return (a->passage > b->passage) - (a->passage < b->passage);
}

/* The judgements of the training split, and those of an artifact of pseudo-labels. */
static bool read_judgements(const train_set_params *params, const gb_run_names *names,
                            gb_qrels *qrels, gb_status *status)
{
    if (!gb_collection_qrels(params->collection, "train", qrels, status))
        return false;
    if (!params->pseudo_labels)
        return true;
    gb_qrels more = {0};
    size_t capacity = qrels->count;
    char *path = gb_path_join(status, params->pseudo_labels, "qrels.tsv");
    bool ok =
        path && gb_qrels_read(path, names, &more, status) &&
        gb_grow(&qrels->rows, &capacity, qrels->count + more.count, sizeof *qrels->rows, status);
    for (size_t i = 0; ok && i < more.count; i++)
        qrels->rows[qrels->count++] = more.rows[i];
    if (ok)
        qsort(qrels->rows, qrels->count, sizeof *qrels->rows, by_rows);
    free(more.rows);
    free(path);
    return ok;
}

/* Refuses runs that rank something, but nothing for the queries that have judgements. */
static bool check_runs(const train_set_params *params, const gb_run *runs, const gb_qrels *qrels,
                       gb_status *status)
{
    size_t lists = 0;
    for (size_t r = 0; params->wanted && r < params->negatives->count; r++) {
        lists += runs[r].list_count;
        for (size_t i = 0; i < qrels->count; i++)
            if (gb_run_find(&runs[r], qrels->rows[i].query))
                return true;
    }
    return !lists || gb_fail(status, GB_DATA, params->negatives->items[0],
                             "give a run of the training queries, or --negatives-per-query 0",
                             "the runs are of none of the training queries");
}

bool train_set_make(const train_set_params *params, gb_training_set *set, gb_text_hashes *texts,
                    gb_filtered *filtered, gb_status *status)
{
    size_t count = params->negatives->count;
    gb_run *runs = gb_alloc(count, sizeof *runs, status);
    gb_qrels qrels = {0};
    gb_run_names names = {0};
    bool ok = runs && gb_run_names_of(params->collection, &names, status) &&
              read_judgements(params, &names, &qrels, status) &&
              gb_qrels_sample(&qrels, params->queries, params->seed, status);
    for (size_t i = 0; ok && i < count; i++)
        ok = gb_run_read_artifact(params->negatives->items[i], &names, &runs[i], status);
    ok = ok && check_runs(params, runs, &qrels, status) &&
         gb_training_set_make(set, &qrels, runs, count, params->depth, status);
    if (ok && set->count < params->queries)
        gb_log(GB_LOG_INFO, "there are %u training queries: %u cannot be used", set->count,
               params->queries);
    ok = ok && filter_set(params, runs, &names, set, texts, filtered, status);
    for (size_t i = 0; runs && i < count; i++)
        gb_run_free(&runs[i]);
    free(runs);
    gb_run_names_free(&names);
    free(qrels.rows);
    if (ok)
        gb_log(GB_LOG_INFO, "%u training queries, %u of them without hard negatives", set->count,
               set->without_negatives);
    if (ok && count && params->wanted && set->count && set->without_negatives == set->count)
        gb_log(GB_LOG_WARN, "no training query has a hard negative: all negatives are random");
    return ok;
}

static bool missing(const train_teacher_params *params, const gb_taught *found, gb_status *status)
{
    size_t query_length, passage_length;
    const gb_collection *c = params->collection;
    const char *query = gb_row_file_row(c->query_ids, found->first_query, &query_length);
    const char *passage = gb_row_file_row(c->passage_ids, found->first_passage, &passage_length);
    return gb_fail(status, GB_DATA, params->run, "score them too, or give --drop-unscored",
                   "the teacher did not score %llu of %llu pairs of training queries with their "
                   "positives and negatives, the first of them %.*s %.*s",
                   (unsigned long long)found->missing, (unsigned long long)found->pairs,
                   (int)query_length, query, (int)passage_length, passage);
}

bool train_teacher_read(const train_teacher_params *params, gb_training_set *set, gb_run *teacher,
                        gb_taught *found, gb_status *status)
{
    gb_run_names names = {0};
    bool ok = gb_run_names_of(params->collection, &names, status) &&
              gb_run_read_artifact(params->run, &names, teacher, status);
    gb_run_names_free(&names);
    if (!ok)
        return false;
    gb_training_set_teach(set, teacher, params->negatives, found);
    if (found->missing && !params->drop)
        return missing(params, found, status);
    if (found->missing)
        gb_log(GB_LOG_INFO,
               "%llu of %llu pairs left out that the teacher did not score, and %u "
               "queries without another positive",
               (unsigned long long)found->missing, (unsigned long long)found->pairs,
               found->dropped_queries);
    if (found->short_queries)
        gb_log(GB_LOG_WARN,
               "%u queries have fewer negatives than are drawn: the teacher has no "
               "score of what is added",
               found->short_queries);
    return set->count || gb_fail(status, GB_DATA, params->run, "score them",
                                 "the teacher scored no positive of any training query");
}

json_t *train_filtered_json(const gb_filtered *n)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "before", (json_int_t)n->before, "left",
                     (json_int_t)n->left, "by_rank", (json_int_t)n->by_rank, "by_text",
                     (json_int_t)n->by_text, "by_score", (json_int_t)n->by_score, "unscored",
                     (json_int_t)n->unscored, "unscored_queries", (json_int_t)n->unscored_queries);
}
