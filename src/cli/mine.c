/* gabbro mine, gabbro bm25-run: rank passages for the queries of a split, from which hard negatives
 * are taken. */
#include "training_jsonl.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

typedef struct settings {
    const char *model;                       /* retriever's artifact; NULL: BM25 */
    const char *collection, *tokens, *split; /* artifacts; queries */
    uint32_t depth;                          /* passages a query */
    gb_bm25_settings bm25;                   /* how BM25 ranks */
    gb_sparse_settings sparse;               /* what is kept of sparse vectors */
    const char *jsonl;                       /* file for other kits, or NULL */
    uint32_t skip;                           /* its negatives begin behind so many */
    bool drop_identical;                     /* no passage with the query's id */
} settings;

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return gb_print_encoding_cost(&(gb_retriever_params){.model = o->model, .tokens = o->tokens},
                                  o->collection, o->split, stdout, status);
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    maker->kernels = GB_USER_SEARCH;
    return gb_retriever_users(o->model, &maker->kernels, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_ranker ranker = {.collection = collection};
    gb_split split = {0};
    gb_run run = {0};
    gb_run_names names = {0};
    char *path = gb_maker_file(maker, "run.trec", status);
    bool ok =
        path && collection && gb_split_open(collection, o->split, &split, status) &&
        gb_ranker_open(&ranker, maker, o->model, o->tokens, &o->sparse, &o->bm25, status) &&
        gb_rank(&ranker, split.queries, split.count, o->depth + o->drop_identical, &run, status);
    if (ok && gb_maker_leads(maker)) {
        ok = gb_run_names_of(collection, &names, status);
        if (ok && o->drop_identical)
            gb_run_drop_identical(&run, &names, o->depth);
        ok = ok && gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    }
    free(path);
    gb_run_names_free(&names);
    gb_run_free(&run);
    gb_split_free(&split);
    gb_ranker_close(&ranker);
    gb_collection_close(collection);
    return ok;
}

/* What other kits train on. */
static bool after(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_write_training(&(cli_training){o->jsonl, o->collection, o->split, o->skip, o->depth},
                              gb_maker_folder(maker), status);
}

#define OF_COLLECTION(o)                                                                           \
    {                                                                                              \
        "collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,         \
            "ARTIFACT", "collection"                                                               \
    }
#define OF_SPLIT(o)                                                                                \
    {                                                                                              \
        "split", GB_OPTION_TEXT, &o.split, 0, "NAME",                                              \
            "split of the queries; " GB_UNLABELLED ": those in none"                               \
    }
#define OF_DEPTH(o)                                                                                \
    {                                                                                              \
        "depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query", .max = INT32_MAX            \
    }

#define DROPS_IDENTICAL(o)                                                                         \
    {                                                                                              \
        "drop-identical", GB_OPTION_FLAG, &o.drop_identical, 0, NULL,                              \
            "drop a passage whose id is the query's (ArguAna, Quora): it is no negative"           \
    }

static int mine(const gb_call *call)
{
    settings o = {.split = "train", .depth = 200};
    const gb_option options[] = {{"model", GB_OPTION_TEXT, &o.model,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
                                  "retriever: artifact or model folder"},
                                 OF_COLLECTION(o),
                                 {"tokens", GB_OPTION_TEXT, &o.tokens,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT", "its tokens"},
                                 OF_SPLIT(o),
                                 OF_DEPTH(o),
                                 DROPS_IDENTICAL(o),
                                 CLI_TRAINING_OPTIONS(o.jsonl, o.skip),
                                 {0}};
    const gb_option_table tables[] = {{"Sparse vectors", gb_sparse_options, &o.sparse}, {0}};
    const gb_make_params params = {.command = &gb_cli_mine,
                                   .version = 1,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_DIVIDED,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make,
                                   .after = after};
    return gb_make(&params, call);
}

static int bm25_run(const gb_call *call)
{
    settings o = {.split = "train", .depth = 200, .bm25 = GB_BM25_SETTINGS};
    const gb_option options[] = {OF_COLLECTION(o),
                                 OF_SPLIT(o),
                                 OF_DEPTH(o),
                                 DROPS_IDENTICAL(o),
                                 CLI_TRAINING_OPTIONS(o.jsonl, o.skip),
                                 {0}};
    const gb_option_table tables[] = {{NULL, gb_bm25_options, &o.bm25}, {0}};
    const gb_make_params params = {.command = &gb_cli_bm25_run,
                                   .version = 1,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .make = make,
                                   .after = after};
    return gb_make(&params, call);
}

const gb_command gb_cli_mine = {
    .name = "mine",
    .summary = "rank passages for the queries of a split with a retriever",
    .description = "Rank passages for the queries of a split with a retriever, for gabbro finetune "
                   "--negatives. Prints the artifact's folder; the run is its run.trec.",
    .run = mine,
    .makes = true};

const gb_command gb_cli_bm25_run = {
    .name = "bm25-run",
    .summary = "rank passages for the queries of a split with BM25",
    .description = "Rank passages for the queries of a split with BM25, for gabbro finetune "
                   "--negatives. Prints the artifact's folder; the run is its run.trec.",
    .run = bm25_run,
    .makes = true};
