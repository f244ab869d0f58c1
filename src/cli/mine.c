/* gabbro mine, gabbro bm25-run: the steps that rank passages for the queries of a split, from which
 * hard negatives are taken. */
#include "ranking.h"

#include <gabbro/retrieve.h>

#include <stdlib.h>

static const char mine_usage[] =
    "usage: gabbro mine --model MODEL --collection STEP --tokens STEP [options]\n\n"
    "Rank passages for the queries of a split with a retriever. Prints the step's folder; the run\n"
    "is its run.trec.\n";
static const char bm25_usage[] =
    "usage: gabbro bm25-run --collection STEP [options]\n\n"
    "Rank passages for the queries of a split with BM25. Prints the step's folder; the run is its\n"
    "run.trec.\n";

static bool rank(step_run *step, const char *collection_step, const char *model, const char *tokens,
                 const char *split, uint32_t depth, gb_status *status)
{
    gb_collection *collection = gb_open_collection(collection_step, status);
    gb_run run = {0};
    ranking_dense dense = {0};
    gb_bm25 *index = NULL;
    uint32_t *queries = NULL, count = 0;
    json_t *facts = json_object();
    bool ok = collection && ranking_queries(collection, split, NULL, &queries, &count, status);
    if (ok && model)
        ok = step_device(step, status) &&
             ranking_dense_open(&dense, step, "passages", model, tokens, status) &&
             ranking_dense_run(&dense, queries, count, depth, &run, status);
    else if (ok)
        ok = (index = ranking_index(collection, status)) &&
             gb_bm25_run(index, queries, count, gb_collection_query, collection, depth, 0, &run,
                         status);
    if (ok && model)
        json_object_update_new(facts, step_device_facts(step));
    else if (ok)
        ranking_index_facts(index, facts);
    if (ok && step_leads(step))
        ok = ranking_write(step, collection, &run, depth, "run.trec", status) &&
             step_end(step, facts, status);
    json_decref(facts);
    ranking_dense_close(&dense);
    gb_bm25_destroy(index);
    gb_run_free(&run);
    free(queries);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_mine(int argc, char **argv)
{
    gb_status status = {0};
    const char *model = NULL, *collection = NULL, *tokens = NULL, *split = "train";
    uint32_t depth = 200;
    const step_option options[] = {
        {"model", OPTION_TEXT, &model, true, true, "retriever: step or model folder"},
        {"collection", OPTION_TEXT, &collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &tokens, true, true, "step of its tokens"},
        {"split", OPTION_TEXT, &split, false, false, "queries to rank for (train)"},
        {"depth", OPTION_U32, &depth, false, false, "passages a query (200)"},
        {0}};
    step_run run = {.kind = "mine", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, mine_usage, NULL, &code, &status))
        return code;
    if (run.cost) {
        ranking_cost(collection, model, tokens, split, &status);
    } else if (step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            rank(&run, collection, model, tokens, split, depth, &status);
    }
    return step_close(&run, &status);
}

int gb_cli_bm25_run(int argc, char **argv)
{
    gb_status status = {0};
    const char *collection = NULL, *split = "train";
    uint32_t depth = 200;
    const step_option options[] = {
        {"collection", OPTION_TEXT, &collection, true, true, "step of a collection"},
        {"split", OPTION_TEXT, &split, false, false, "queries to rank for (train)"},
        {"depth", OPTION_U32, &depth, false, false, "passages a query (200)"},
        {0}};
    step_run run = {.kind = "bm25-run", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, bm25_usage, NULL, &code, &status))
        return code;
    if (step_begin(&run, 1, false, NULL, &status)) {
        if (gb_step_done(run.step))
            step_end(&run, NULL, &status);
        else
            rank(&run, collection, NULL, NULL, split, depth, &status);
    }
    return step_close(&run, &status);
}
