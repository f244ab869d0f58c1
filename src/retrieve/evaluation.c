/* Evaluations: rankings for all splits by which a model can be judged, and their measures. */
#include "private.h"
#include <gabbro/os.h>
#include <gabbro/retrieve.h>
#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

/* What all splits are measured with. */
typedef struct session {
    gb_maker *maker;          /* whose artifact is filled */
    const gb_evaluating *how; /* what is ranked, and how deep */
    gb_run_names names;       /* ids of the collection */
    gb_answers *answers;      /* its answers, or NULL */
    gb_synth_truth *truth;    /* what its maker knows, or NULL */
    json_t *metrics;          /* measured */
} session;

static bool write_run(const session *s, const gb_split *split, const gb_run *run, gb_status *status)
{
    char *path = gb_format(status, "%s/runs/%s.trec", gb_maker_folder(s->maker), split->name);
    const gb_run none = {0};
    bool ok = path && gb_run_write(s->how->keep ? run : &none, &s->names,
                                   &(gb_run_style){.depth = s->how->keep}, path, status);
    free(path);
    return ok;
}

/* "test: MRR@10 0.583, nDCG@10 0.640, R@100 1.000": what most papers have of a split. */
static void say_measures(const char *split, const json_t *metrics)
{
    static const char *const said[] = {"MRR@10", "nDCG@10", "R@100", "Top@20"};
    char line[160] = "";
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char key[128];
        size_t used = strlen(line);
        snprintf(key, sizeof key, "%s:%s", split, said[i]);
        const json_t *measure = json_object_get(metrics, key);
        if (measure)
            snprintf(line + used, sizeof line - used, "%s %s %.3f", used ? "," : "", said[i],
                     json_real_value(json_object_get(measure, "value")));
    }
    gb_log(GB_LOG_INFO, "%s:%s", split, line);
}

static bool evaluate_split(session *s, const gb_split *split, gb_status *status)
{
    const gb_evaluating *how = s->how;
    gb_run run = {0};
    const gb_ranked_split ranked = {split, &s->names,
                                    how->depth + how->drop_identical}; /* one may be dropped */
    const gb_split_params params = {.collection = how->collection,
                                    .names = &s->names,
                                    .answers = s->answers,
                                    .depth = how->depth,
                                    .folder = gb_maker_folder(s->maker)};
    bool ok = how->rank(how->ctx, &ranked, &run, status);
    if (ok && how->drop_identical)
        gb_run_drop_identical(&run, &s->names, how->depth);
    if (ok && gb_maker_leads(s->maker)) {
        ok = write_run(s, split, &run, status) &&
             gb_split_measure(split, &run, &params, s->metrics, status);
        if (ok && s->truth && !strcmp(split->name, "dev"))
            gb_synth_diagnose(s->truth, split, &run, s->maker->facts);
        if (ok)
            say_measures(split->name, s->metrics);
    }
    gb_run_free(&run);
    return ok;
}

/* BEIR leaves out a passage that is the query. */
static bool warn_of_identical(const gb_evaluating *how, gb_status *status)
{
    gb_finding found = {0};
    if (how->drop_identical)
        return true;
    if (!gb_collection_identical(how->collection, &found, status))
        return false;
    if (found.count)
        gb_log(GB_LOG_WARN,
               "%llu passages are queries of the collection, too, and will be found first; "
               "--drop-identical (drop_identical = yes of reproduce and train) leaves them out, as "
               "BEIR does",
               (unsigned long long)found.count);
    return true;
}

/* The splits to measure on, of which there must be one: a table without a value tells nothing. */
static bool open_splits(const gb_collection *collection, gb_splits *splits, gb_status *status)
{
    return gb_splits_open(collection, splits, status) &&
           (splits->count || gb_fail(status, GB_DATA, collection->path,
                                     "give it judgements of queries that are not for training: "
                                     "qrels/dev.tsv or qrels/test.tsv",
                                     "the collection has no split to measure on"));
}

bool gb_evaluate_splits(gb_maker *maker, const gb_evaluating *how, gb_status *status)
{
    gb_splits splits = {0};
    session s = {.maker = maker, .how = how, .metrics = json_object()};
    char *runs = gb_maker_file(maker, "runs", status);
    bool ok = runs &&
              (!gb_maker_leads(maker) ||
               (gb_make_dirs(runs, status) && warn_of_identical(how, status))) &&
              open_splits(how->collection, &splits, status) &&
              gb_run_names_of(how->collection, &s.names, status) &&
              gb_answers_of(how->collection, s.names.queries, &s.answers, status) &&
              gb_synth_truth_open(how->collection, &s.truth, status);
    for (size_t i = 0; ok && i < splits.count; i++)
        ok = evaluate_split(&s, &splits.items[i], status);
    if (ok && gb_maker_leads(maker))
        ok = gb_maker_write_metrics(maker, s.metrics, status);
    gb_synth_truth_close(s.truth);
    gb_answers_destroy(s.answers);
    gb_run_names_free(&s.names);
    gb_splits_free(&splits);
    json_decref(s.metrics);
    free(runs);
    return ok;
}

/* ---- fused evaluations ---- */

/* How many passages of a query the runs of an artifact have: what gabbro evaluate kept, or gabbro
 * rerank scored. -1: not known. */
static int64_t kept_of(const char *folder)
{
    char *path = gb_path_join(NULL, folder, "run.json");
    json_t *run = path && gb_file_exists(path) ? gb_json_load(path, 0, NULL) : NULL;
    const json_t *settings = json_object_get(run, "settings");
    const json_t *keep = json_object_get(settings, "keep");
    keep = keep ? keep : json_object_get(settings, "depth");
    int64_t kept = json_is_integer(keep) ? json_integer_value(keep) : -1;
    json_decref(run);
    free(path);
    return kept;
}

void gb_warn_of_short_runs(const char *folder, uint32_t depth)
{
    int64_t kept = kept_of(folder);
    if (kept > 0 && kept < depth)
        gb_log(GB_LOG_WARN,
               "the runs of %s have the first %lld passages of a query, not %u; what comes behind "
               "them counts as not found (gabbro evaluate --keep and gabbro rerank --depth decide)",
               folder, (long long)kept, depth);
}

static bool is_empty(const char *path)
{
    FILE *file = gb_os_fopen(path, "rb");
    bool empty = file && fgetc(file) == EOF && !ferror(file);
    if (file)
        fclose(file);
    return empty;
}

bool retrieve_read_kept(const char *evaluation, const char *split, const gb_run_names *names,
                        gb_run *run, gb_status *status)
{
    *run = (gb_run){0};
    if (!kept_of(evaluation))
        return gb_fail(status, GB_DATA, evaluation, "evaluate again with --keep 100",
                       "it kept no passages");
    char *path = gb_format(status, "%s/runs/%s.trec", evaluation, split);
    bool ok = path && (is_empty(path) || gb_run_read(path, GB_RUN_TREC, names, run, NULL, status));
    free(path);
    return ok;
}

bool gb_rank_fused(void *fused_evaluations, const gb_ranked_split *split, gb_run *run,
                   gb_status *status)
{
    const gb_fused_evaluations *of = fused_evaluations;
    gb_fusion how = of->fusion;
    if (of->count == 1)
        return retrieve_read_kept(of->evaluations[0], split->split->name, split->names, run,
                                  status);
    gb_run *runs = gb_alloc(of->count, sizeof *runs, status);
    bool ok = runs != NULL;
    how.depth = split->depth;
    for (size_t i = 0; ok && i < of->count; i++)
        ok = retrieve_read_kept(of->evaluations[i], split->split->name, split->names, &runs[i],
                                status);
    ok = ok && gb_run_fuse(runs, of->count, &how, run, status);
    for (size_t i = 0; runs && i < of->count; i++)
        gb_run_free(&runs[i]);
    free(runs);
    return ok;
}
