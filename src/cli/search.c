/* gabbro search: the step that ranks passages for queries by their vectors. */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

static const char usage[] =
    "usage: gabbro search --queries DIR --passages DIR [--passages DIR ...] [options]\n\n"
    "Exact inner-product search over folders of vectors.npy and ids.txt: steps of gabbro encode "
    "(all\n"
    "shards, in any order) or anyone else's (float32 or float16). Equal scores: the earlier "
    "passage\n"
    "first. Vectors are read from the disk as they are needed; a killed search goes on behind the "
    "last\n"
    "piece. Prints the step's folder; the run is its run.trec.\n";

enum { PIECE = 1 << 17 }; /* passages between two places to go on from */

typedef struct settings {
    step_list queries, passages; /* folders */
    uint32_t depth;              /* passages a query */
    uint32_t piece;              /* passages of a piece */
} settings;

static bool make(step_run *run, const settings *o, gb_status *status)
{
    gb_vector_set queries = {0}, passages = {0};
    char *found = step_rank_file(run, "found", status), *path = step_file(run, "run.trec", status);
    double start_s = gb_now_s();
    const gb_search_params params = {
        .k = o->depth, .piece = o->piece, .resume = found, .ranks = run->ranks};
    gb_device *device = found && path ? step_device(run, status) : NULL;
    bool ok = device && gb_vector_set_open(&queries, o->queries.items, o->queries.count, status) &&
              gb_vector_set_open(&passages, o->passages.items, o->passages.count, status) &&
              gb_vector_set_search(device, &queries, &passages, &params, path, status);
    if (ok && step_leads(run)) {
        json_t *facts = step_device_facts(run);
        json_object_set_new(facts, "queries", json_integer(queries.vectors.rows));
        json_object_set_new(facts, "passages", json_integer(passages.vectors.rows));
        json_object_set_new(facts, "times", step_times(gb_now_s() - start_s));
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    gb_vector_set_close(&queries);
    gb_vector_set_close(&passages);
    free(found);
    free(path);
    return ok;
}

int gb_cli_search(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.depth = 1000, .piece = PIECE};
    const step_option options[] = {
        {"queries", OPTION_LIST, &o.queries, true, true, "vectors of the queries"},
        {"passages", OPTION_LIST, &o.passages, true, true,
         "vectors of the passages; once for every shard"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query (1000)"},
        {"piece", OPTION_U32, &o.piece, false, false,
         "passages between two places to go on from (131072); changes no result", true},
        {0}};
    step_run run = {.kind = "search", .options = options, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = (o.depth && o.piece) ||
              gb_fail(&status, GB_USAGE, NULL, NULL, "--depth and --piece are at least 1");
    if (ok && step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            make(&run, &o, &status);
    }
    return step_close(&run, &status);
}
