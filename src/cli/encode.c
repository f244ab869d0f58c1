/* gabbro encode: the step that writes vectors of a collection's passages or queries, all or a shard
 * of them. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

static const char usage[] =
    "usage: gabbro encode --model MODEL --collection STEP --tokens STEP [options]\n\n"
    "Vectors of the passages, or with --split of the queries of a split: vectors.npy (float32) "
    "and\n"
    "ids.txt (an id a line) in the step's folder, which is printed. --shard-index and "
    "--shard-count\n"
    "take one of several equal parts; a killed command goes on where it was. gabbro search reads "
    "the\n"
    "shards.\n";

typedef struct settings {
    const char *model, *collection, *tokens, *split; /* split NULL: passages */
    uint32_t shard, shards;                          /* which part, of how many */
} settings;

static bool make(step_run *run, const settings *o, gb_status *status)
{
    const gb_retriever_params params = {.model = o->model,
                                        .tokens = o->tokens,
                                        .pooling = run->pooling,
                                        .device = step_device(run, status),
                                        .ranks = run->ranks};
    gb_shard shard = {.split = o->split, .index = o->shard, .count = o->shards};
    gb_collection *collection = params.device ? gb_open_collection(o->collection, status) : NULL;
    gb_retriever *retriever = collection ? gb_retriever_open(&params, status) : NULL;
    char *folder = retriever ? step_file(run, "", status) : NULL;
    char *journal = folder ? step_rank_file(run, "encoded", status) : NULL;
    gb_shard_written written;
    double start_s = gb_now_s();
    shard.collection = collection;
    bool ok =
        journal && gb_retriever_write_shard(retriever, &shard, folder, journal, &written, status);
    if (ok && step_leads(run)) {
        json_t *facts = step_device_facts(run), *times = step_times(gb_now_s() - start_s);
        json_object_set_new(facts, "texts", json_integer(written.texts));
        step_say_padding(times, written.padding.used, written.padding.computed);
        json_object_set_new(facts, "times", times);
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    free(journal);
    free(folder);
    gb_retriever_close(retriever);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_encode(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.shards = 1};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, true, true, "retriever: step or model folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"split", OPTION_TEXT, &o.split, false, false, "queries of this split, not the passages"},
        {"shard-index", OPTION_U32, &o.shard, false, false, "which part, from 0 (0)"},
        {"shard-count", OPTION_U32, &o.shards, false, false, "parts in all (1)"},
        {0}};
    step_run run = {.kind = "encode", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = o.shard < o.shards || gb_fail(&status, GB_USAGE, NULL, NULL,
                                            "--shard-index is below --shard-count, from 0");
    if (ok && run.cost) {
        gb_print_encoding_cost(&(gb_retriever_params){.model = o.model, .tokens = o.tokens},
                               o.collection, o.split, stdout, &status);
    } else if (ok && step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            make(&run, &o, &status);
    }
    return step_close(&run, &status);
}
