/* gabbro negatives: makes a run for gabbro finetune out of a file of negatives. */
#include "training_jsonl.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>

#include <stdlib.h>

typedef struct settings {
    const char *collection;     /* artifact */
    gb_negatives_params params; /* file, and how many are taken */
    const char *jsonl;          /* training file to write, or NULL */
    uint32_t skip;              /* its negatives begin behind so many */
} settings;

/* Lists by falling rank: the score says the place alone. */
static bool add_lists(const gb_negatives *negatives, const gb_collection *collection, gb_run *run,
                      gb_status *status)
{
    gb_hit *hits = NULL;
    size_t capacity = 0;
    bool ok = true;
    for (uint32_t q = 0; ok && q < gb_row_file_count(collection->queries); q++) {
        uint32_t count;
        const uint32_t *rows = gb_negatives_of(negatives, q, &count);
        if (!count)
            continue;
        ok = gb_grow(&hits, &capacity, count, sizeof *hits, status);
        for (uint32_t i = 0; ok && i < count; i++)
            hits[i] = (gb_hit){rows[i], count - i};
        ok = ok && gb_run_add(run, q, hits, count, status);
    }
    free(hits);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_run run = {0};
    gb_run_names names = {0};
    char *path = gb_maker_file(maker, "run.trec", status);
    gb_collection *collection = path ? gb_open_collection(o->collection, status) : NULL;
    gb_negatives *negatives = collection ? gb_negatives_read(collection, &o->params, status) : NULL;
    bool ok = negatives && add_lists(negatives, collection, &run, status) &&
              gb_run_names_of(collection, &names, status) &&
              gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    if (ok) {
        json_int_t skipped = (json_int_t)gb_negatives_skipped(negatives);
        json_object_update_new(
            maker->facts, json_pack("{s:I, s:I, s:I}", "queries", (json_int_t)run.list_count,
                                    "negatives", (json_int_t)run.hit_count, "skipped", skipped));
        gb_log(GB_LOG_INFO, "%zu negatives of %zu queries, %lld unknown ids skipped", run.hit_count,
               run.list_count, (long long)skipped);
    }
    free(path);
    gb_run_names_free(&names);
    gb_negatives_destroy(negatives);
    gb_run_free(&run);
    gb_collection_close(collection);
    return ok;
}

static bool after(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_write_training(&(cli_training){o->jsonl, o->collection, "train", o->skip, 0},
                              gb_maker_folder(maker), status);
}

static int run(const gb_call *call)
{
    settings o = {.params = {.per_query = 200, .seed = 42}};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of the queries and passages"},
        {"from", GB_OPTION_TEXT, &o.params.path, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "FILE",
         "file of negatives"},
        {"per-query", GB_OPTION_U32, &o.params.per_query, 0, NULL,
         "negatives of a query at most, a seeded sample where there are more; 0: all"},
        {"seed", GB_OPTION_U64, &o.params.seed, 0, NULL, "seed of that sample"},
        {"skip-unknown", GB_OPTION_FLAG, &o.params.skip_unknown, 0, NULL,
         "skip queries and passages that the collection does not have"},
        CLI_TRAINING_OPTIONS(&o.jsonl, &o.skip),
        {0}};
    const gb_make_params params = {.command = &gb_cli_negatives,
                                   .version = 2,
                                   .options = options,
                                   .self = &o,
                                   .make = make,
                                   .after = after};
    return gb_make(&params, call);
}

const gb_command gb_cli_negatives = {
    .name = "negatives",
    .summary = "take negatives from a file: triples, mined lists, training files",
    .description =
        "Make a run for gabbro finetune --negatives of the negatives that a file names: MS MARCO's "
        "triples of ids, mined lists (sentence-transformers, coCondenser), training files of "
        "Tevatron, DPR or FlagEmbedding (docs/reference/formats.md). Passages are found by id, or "
        "by text "
        "where the file has no ids. Prints the artifact's folder; the run is its run.trec.",
    .run = run,
    .makes = true};
