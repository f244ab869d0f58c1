/* gabbro teacher: makes a run of the scores that a file has of a teacher. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>

#include <stdlib.h>

typedef struct settings {
    const char *collection, *path; /* artifact; file */
    bool skip_unknown;             /* what the collection does not have */
} settings;

/* The pairs of each query are one list. */
static bool add_lists(const gb_scored_pairs *pairs, gb_run *run, gb_status *status)
{
    gb_hit *hits = gb_alloc(pairs->count, sizeof *hits, status);
    bool ok = hits;
    for (size_t first = 0, end; ok && first < pairs->count; first = end) {
        uint32_t query = pairs->pairs[first].query;
        for (end = first; end < pairs->count && pairs->pairs[end].query == query; end++)
            hits[end - first] = (gb_hit){pairs->pairs[end].passage, pairs->pairs[end].score};
        ok = gb_run_add(run, query, hits, (uint32_t)(end - first), status);
    }
    free(hits);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_run run = {0};
    gb_run_names names = {0};
    gb_scored_pairs pairs = {0};
    char *path = gb_maker_file(maker, "run.trec", status);
    gb_collection *collection = path ? gb_open_collection(o->collection, status) : NULL;
    bool ok = collection &&
              gb_scored_pairs_read(collection, o->path, o->skip_unknown, &pairs, status) &&
              add_lists(&pairs, &run, status) && gb_run_names_of(collection, &names, status) &&
              gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    if (ok) {
        json_object_update_new(maker->facts, json_pack("{s:I, s:I, s:I, s:I}", "queries",
                                                       (json_int_t)run.list_count, "pairs",
                                                       (json_int_t)run.hit_count, "unscored",
                                                       (json_int_t)pairs.unscored, "skipped",
                                                       (json_int_t)pairs.skipped));
        gb_log(GB_LOG_INFO, "%zu scores of %zu queries, %llu passages without one", run.hit_count,
               run.list_count, (unsigned long long)pairs.unscored);
    }
    free(path);
    free(pairs.pairs);
    gb_run_names_free(&names);
    gb_run_free(&run);
    gb_collection_close(collection);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {0};
    const gb_option options[] = {{"collection", GB_OPTION_TEXT, &o.collection,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
                                  "collection of the queries and passages"},
                                 {"from", GB_OPTION_TEXT, &o.path,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "FILE", "file of scores"},
                                 {"skip-unknown", GB_OPTION_FLAG, &o.skip_unknown, 0, NULL,
                                  "skip queries and passages that the collection does not have"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_teacher, .version = 1, .options = options, .self = &o, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_teacher = {
    .name = "teacher",
    .summary = "take a teacher's scores of queries and passages from a file",
    .description =
        "Make a run for gabbro finetune --teacher and --scores of the scores that a file has: "
        "training files with pos_scores and neg_scores, with a score of each passage, or with "
        "teacher_scores; lines of query, positive and negative id with the scores of both "
        "(docs/reference/formats.md). Of several scores of a pair the last one holds. Prints the "
        "artifact's folder; the run is its run.trec.",
    .run = run,
    .makes = true};
