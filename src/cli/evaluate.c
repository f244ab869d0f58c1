/* gabbro evaluate: ranks passages for every evaluation split and measures. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>
#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *model, *collection, *tokens; /* artifacts */
    bool bm25;                               /* instead of a model */
    uint32_t depth;                          /* passages a query that are measured */
    uint32_t keep;                           /* of them written to runs/ */
    bool drop_identical;                     /* a passage with the query's id does not count */
} settings;

/* What all splits are measured with. */
typedef struct session {
    gb_collection *collection; /* measured on */
    gb_run_names names;        /* its ids */
    gb_answers *answers;       /* its answers, or NULL */
    gb_ranker ranker;          /* what is measured */
    gb_synth_truth *truth;     /* what its maker knows, or NULL */
    json_t *metrics;           /* measured */
} session;

static bool write_run(const gb_maker *maker, const settings *o, const session *s,
                      const gb_split *split, const gb_run *run, gb_status *status)
{
    char *path = gb_format(status, "%s/runs/%s.trec", gb_maker_folder(maker), split->name);
    const gb_run none = {0};
    bool ok = path && gb_run_write(o->keep ? run : &none, &s->names,
                                   &(gb_run_style){.depth = o->keep}, path, status);
    free(path);
    return ok;
}

static bool evaluate_split(gb_maker *maker, const settings *o, session *s, const gb_split *split,
                           gb_status *status)
{
    gb_run run = {0};
    uint32_t depth = o->depth + o->drop_identical; /* one may be dropped */
    const gb_split_params params = {.collection = s->collection,
                                    .names = &s->names,
                                    .answers = s->answers,
                                    .depth = o->depth,
                                    .drop_identical = o->drop_identical,
                                    .folder = gb_maker_folder(maker)};
    bool ok = gb_rank(&s->ranker, split->queries, split->count, depth, &run, status);
    if (ok && gb_maker_leads(maker)) {
        ok = write_run(maker, o, s, split, &run, status) &&
             gb_split_measure(split, &run, &params, s->metrics, status);
        if (ok && s->truth && !strcmp(split->name, "dev"))
            gb_synth_diagnose(s->truth, split, &run, maker->facts);
    }
    gb_run_free(&run);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    if (o->bm25 && !gb_maker_leads(maker)) /* it is not divided */
        return true;
    gb_splits splits = {0};
    session s = {.collection = gb_open_collection(o->collection, status), .metrics = json_object()};
    char *runs = gb_maker_file(maker, "runs", status);
    s.ranker.collection = s.collection;
    bool ok = s.collection && runs && (!gb_maker_leads(maker) || gb_make_dirs(runs, status)) &&
              gb_splits_open(s.collection, &splits, status) &&
              gb_run_names_of(s.collection, &s.names, status) &&
              gb_answers_of(s.collection, s.names.queries, &s.answers, status) &&
              gb_synth_truth_open(s.collection, &s.truth, status) &&
              gb_ranker_open(&s.ranker, maker, o->model, o->tokens, status);
    for (size_t i = 0; ok && i < splits.count; i++)
        ok = evaluate_split(maker, o, &s, &splits.items[i], status);
    if (ok && gb_maker_leads(maker))
        ok = gb_maker_write_metrics(maker, s.metrics, status);
    gb_ranker_close(&s.ranker);
    gb_synth_truth_close(s.truth);
    gb_answers_destroy(s.answers);
    gb_run_names_free(&s.names);
    gb_splits_free(&splits);
    json_decref(s.metrics);
    gb_collection_close(s.collection);
    free(runs);
    return ok;
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    if (!o->model == !o->bm25 || (o->model && !o->tokens))
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --bm25, or --model with --tokens");
    maker->kernels = o->model ? GB_USER_ENCODE | GB_USER_SEARCH : 0;
    return true;
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    if (o->bm25)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--cost counts what a retriever encodes");
    return gb_print_encoding_cost(&(gb_retriever_params){.model = o->model, .tokens = o->tokens},
                                  o->collection, NULL, stdout, status);
}

static int run(const gb_call *call)
{
    settings o = {.depth = 1000, .keep = 100};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_INPUT, "MODEL",
         "retriever: artifact or model folder"},
        {"bm25", GB_OPTION_FLAG, &o.bm25, 0, NULL, "measure BM25 instead of a retriever"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_INPUT, "ARTIFACT", "its tokens"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query that are measured"},
        {"keep", GB_OPTION_U32, &o.keep, 0, NULL, "passages a query that are written to runs/"},
        {"drop-identical", GB_OPTION_FLAG, &o.drop_identical, 0, NULL,
         "do not count a passage whose id is the query's, as BEIR"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_evaluate,
                                   .version = 4,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_DIVIDED,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_evaluate = {
    .name = "evaluate",
    .summary = "rank passages for all evaluation splits and measure",
    .usage = "(--model MODEL --tokens ARTIFACT | --bm25) --collection ARTIFACT [options]",
    .description =
        "Rank passages for the queries of every split but train, and measure; a split that holds "
        "all training queries is left out. Top@k, of a collection with answers.tsv, is the share "
        "of queries with an answer in the text of one of the first k passages. A passage is "
        "relevant from grade 1 on; where judgements have higher grades, R(rel=2)@1000 and its like "
        "count from grade 2 on. Beside each value stands what a random order of all passages has "
        "in expectation. Prints the artifact's folder: metrics.json, per-query/, runs/.",
    .run = run};
