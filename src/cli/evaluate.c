/* gabbro evaluate: ranks passages for every evaluation split and measures. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

typedef struct settings {
    const char *model, *collection, *tokens; /* artifacts */
    bool bm25;                               /* instead of a model */
    uint32_t depth;                          /* passages a query that are measured */
    uint32_t keep;                           /* of them written to runs/ */
    bool drop_identical;                     /* a passage with the query's id does not count */
    gb_bm25_settings settings;               /* of BM25 */
    gb_sparse_settings sparse;               /* what is kept of sparse vectors */
    gb_words fused;                          /* evaluations in the place of a ranker */
    const char *runs;                        /* one whose runs are measured, or NULL */
    gb_fused_evaluations fusion;             /* the same, and how */
} settings;

static bool rank_split(void *ctx, const gb_ranked_split *split, gb_run *run, gb_status *status)
{
    const gb_split *of = split->split;
    return gb_rank(ctx, of->queries, of->count, split->depth, run, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    if (!o->model && !gb_maker_leads(maker)) /* it is not divided */
        return true;
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_ranker ranker = {.collection = collection};
    gb_evaluating how = {.collection = collection,
                         .depth = o->depth,
                         .keep = o->keep,
                         .drop_identical = o->drop_identical,
                         .rank = o->fusion.count ? gb_rank_fused : rank_split,
                         .ctx = o->fusion.count ? (void *)&o->fusion : &ranker};
    bool ok = collection &&
              (o->fusion.count || gb_ranker_open(&ranker, maker, o->model, o->tokens, &o->sparse,
                                                 &o->settings, status)) &&
              gb_evaluate_splits(maker, &how, status);
    for (size_t i = 0; ok && i < o->fusion.count; i++)
        gb_warn_of_short_runs(o->fusion.evaluations[i], o->depth);
    gb_ranker_close(&ranker);
    gb_collection_close(collection);
    return ok;
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    if (!!o->model + o->bm25 + !!o->fused.count + !!o->runs != 1 || (o->model && !o->tokens))
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --bm25, or --model with --tokens, or --fuse, or --runs");
    if (!o->bm25 && !gb_bm25_settings_plain(&o->settings))
        return gb_fail(status, GB_USAGE, NULL, "leave them out", "options of BM25 without --bm25");
    o->fusion.evaluations = o->runs ? &o->runs : o->fused.items;
    o->fusion.count = o->runs ? 1 : o->fused.count;
    maker->kernels = o->model ? GB_USER_SEARCH : 0;
    if (!o->model)
        maker->flags &= ~GB_MAKES_ENCODING;
    return !o->model || gb_retriever_users(o->model, &maker->kernels, status);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    if (!o->model)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--cost counts what a retriever encodes");
    return gb_print_encoding_cost(&(gb_retriever_params){.model = o->model, .tokens = o->tokens},
                                  o->collection, NULL, stdout, status);
}

static int run(const gb_call *call)
{
    settings o = {.depth = 1000, .keep = 100, .settings = GB_BM25_SETTINGS, .fusion.fusion.k = 60};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
         "retriever: artifact or model folder"},
        {"bm25", GB_OPTION_FLAG, &o.bm25, 0, NULL, "measure BM25 instead of a retriever"},
        {"fuse", GB_OPTION_LIST, &o.fused, GB_OPTION_INPUT, "ARTIFACT",
         "evaluation whose runs are fused with others' and measured; may be repeated"},
        {"fusion", GB_OPTION_CHOICE, &o.fusion.fusion.method, 0, NULL,
         "how they are fused: reciprocal ranks (k = 60), scores scaled to [0, 1], or in turn",
         gb_fusion_names, .with = "fuse"},
        {"runs", GB_OPTION_TEXT, &o.runs, GB_OPTION_INPUT, "ARTIFACT",
         "measure runs that are there: those of gabbro rerank, or of another evaluation"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_INPUT, "ARTIFACT", "its tokens",
         .with = "model"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query that are measured", .min = 1,
         .max = INT32_MAX},
        {"keep", GB_OPTION_U32, &o.keep, 0, NULL, "passages a query that are written to runs/"},
        {"drop-identical", GB_OPTION_FLAG, &o.drop_identical, 0, NULL,
         "do not count a passage whose id is the query's, as BEIR"},
        {0}};
    const gb_option_table tables[] = {{"Sparse vectors", gb_sparse_options, &o.sparse},
                                      {"BM25", gb_bm25_options, &o.settings},
                                      {0}};
    const gb_make_params params = {.command = &gb_cli_evaluate,
                                   .version = 4,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_DIVIDED,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_evaluate = {
    .name = "evaluate",
    .summary = "rank passages for all evaluation splits and measure",
    .usage = "(--model MODEL --tokens ARTIFACT | --bm25 | --fuse ARTIFACT... | --runs ARTIFACT) "
             "--collection "
             "ARTIFACT [options]",
    .description =
        "Rank passages for the queries of every split but train, and measure; a split that holds "
        "all training queries is left out. Top@k, of a collection with answers.tsv, is the share "
        "of queries with an answer in the text of one of the first k passages (by words, or as "
        "gabbro collection --answers says). A passage is "
        "relevant from grade 1 on; where judgements have higher grades, R(rel=2)@1000 and its like "
        "count from grade 2 on. Of equal scores "
        "MRR and Hit have the earlier passage of the collection first, nDCG and R, as trec_eval "
        "sorts, the one with the larger id. Beside each value stands what a random order of all "
        "passages has "
        "in expectation. Prints the artifact's folder: metrics.json, per-query/, runs/.",
    .run = run,
    .makes = true};
