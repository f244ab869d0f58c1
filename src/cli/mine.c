/* gabbro mine, gabbro bm25-run: the steps that rank passages for the queries of a split, from which
 * hard negatives are taken. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
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

typedef struct settings {
    const char *model;                       /* step of a retriever; NULL: BM25 */
    const char *collection, *tokens, *split; /* steps; queries */
    uint32_t depth;                          /* passages a query */
} settings;

static bool rank(step_run *step, const settings *o, gb_status *status)
{
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_ranker ranker = {.collection = collection};
    gb_split split = {0};
    gb_run run = {0};
    gb_run_names names = {0};
    json_t *facts = json_object();
    char *path = step_file(step, "run.trec", status);
    bool ok = path && collection && gb_split_open(collection, o->split, &split, status) &&
              gb_ranker_open(&ranker, step, o->model, o->tokens, facts, status) &&
              gb_rank(&ranker, split.queries, split.count, o->depth, &run, status);
    if (ok && step_leads(step))
        ok = gb_run_names_of(collection, &names, status) &&
             gb_run_write(&run, &names, &(gb_run_style){0}, path, status) &&
             step_end(step, facts, status);
    json_decref(facts);
    free(path);
    gb_run_names_free(&names);
    gb_run_free(&run);
    gb_split_free(&split);
    gb_ranker_close(&ranker);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_mine(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.split = "train", .depth = 200};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, true, true, "retriever: step or model folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"split", OPTION_TEXT, &o.split, false, false, "queries to rank for (train)"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query (200)"},
        {0}};
    step_run run = {.kind = "mine", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, mine_usage, NULL, &code, &status))
        return code;
    if (run.cost) {
        gb_print_encoding_cost(&(gb_retriever_params){.model = o.model, .tokens = o.tokens},
                               o.collection, o.split, stdout, &status);
    } else if (step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            rank(&run, &o, &status);
    }
    return step_close(&run, &status);
}

int gb_cli_bm25_run(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.split = "train", .depth = 200};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"split", OPTION_TEXT, &o.split, false, false, "queries to rank for (train)"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query (200)"},
        {0}};
    step_run run = {.kind = "bm25-run", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, bm25_usage, NULL, &code, &status))
        return code;
    if (step_begin(&run, 1, false, NULL, &status)) {
        if (gb_step_done(run.step))
            step_end(&run, NULL, &status);
        else
            rank(&run, &o, &status);
    }
    return step_close(&run, &status);
}
