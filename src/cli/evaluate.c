/* gabbro evaluate: the step that ranks passages for every evaluation split and measures. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>
#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro evaluate --model MODEL|--bm25 --collection STEP [--tokens STEP] [options]\n\n"
    "Rank passages for the queries of every split but train, and measure; a split that holds all\n"
    "training queries is left out. Top@k, of a collection with answers.tsv, is the share of "
    "queries\n"
    "with an answer in the text of one of the first k passages. A passage is relevant from grade "
    "1\n"
    "on; where judgements have higher grades, R(rel=2)@1000 and its like count from grade 2 on.\n"
    "Beside each value stands what a random order of all passages has in expectation. Prints the\n"
    "step's folder: metrics.json, per-query/, runs/.\n";

typedef struct settings {
    const char *model, *collection, *tokens; /* steps */
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
    json_t *metrics, *facts;   /* measured; of the step */
} session;

static bool write_run(step_run *step, const settings *o, const session *s, const gb_split *split,
                      const gb_run *run, gb_status *status)
{
    char *name = gb_format(status, "runs/%s.trec", split->name);
    char *path = name ? step_file(step, name, status) : NULL;
    const gb_run none = {0};
    bool ok = path && gb_run_write(o->keep ? run : &none, &s->names,
                                   &(gb_run_style){.depth = o->keep}, path, status);
    free(name);
    free(path);
    return ok;
}

static bool evaluate_split(step_run *step, const settings *o, session *s, const gb_split *split,
                           gb_status *status)
{
    gb_run run = {0};
    uint32_t depth = o->depth + o->drop_identical; /* one may be dropped */
    char *folder = step_file(step, "", status);
    const gb_split_params params = {.collection = s->collection,
                                    .names = &s->names,
                                    .answers = s->answers,
                                    .depth = o->depth,
                                    .drop_identical = o->drop_identical,
                                    .folder = folder};
    bool ok = folder && gb_rank(&s->ranker, split->queries, split->count, depth, &run, status);
    if (ok && step_leads(step)) {
        ok = write_run(step, o, s, split, &run, status) &&
             gb_split_measure(split, &run, &params, s->metrics, status);
        if (ok && s->truth && !strcmp(split->name, "dev"))
            gb_synth_diagnose(s->truth, split, &run, s->facts);
    }
    gb_run_free(&run);
    free(folder);
    return ok;
}

static bool evaluate(step_run *step, const settings *o, gb_status *status)
{
    gb_splits splits = {0};
    session s = {.collection = gb_open_collection(o->collection, status),
                 .metrics = json_object(),
                 .facts = json_object()};
    char *runs = step_file(step, "runs", status);
    s.ranker.collection = s.collection;
    bool ok = s.collection && runs && (!step_leads(step) || gb_make_dirs(runs, status)) &&
              gb_splits_open(s.collection, &splits, status) &&
              gb_run_names_of(s.collection, &s.names, status) &&
              gb_answers_of(s.collection, s.names.queries, &s.answers, status) &&
              gb_synth_truth_open(s.collection, &s.truth, status) &&
              gb_ranker_open(&s.ranker, step, o->model, o->tokens, s.facts, status);
    for (size_t i = 0; ok && i < splits.count; i++)
        ok = evaluate_split(step, o, &s, &splits.items[i], status);
    if (ok && step_leads(step))
        ok = step_write_metrics(step, s.metrics, status) && step_end(step, s.facts, status);
    gb_ranker_close(&s.ranker);
    gb_synth_truth_close(s.truth);
    gb_answers_destroy(s.answers);
    gb_run_names_free(&s.names);
    gb_splits_free(&splits);
    json_decref(s.metrics);
    json_decref(s.facts);
    gb_collection_close(s.collection);
    free(runs);
    return ok;
}

int gb_cli_evaluate(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.depth = 1000, .keep = 100};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, false, true, "retriever: step or model folder"},
        {"bm25", OPTION_FLAG, &o.bm25, false, false, "BM25 instead of a retriever"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, false, true, "step of its tokens"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query that are measured (1000)"},
        {"keep", OPTION_U32, &o.keep, false, false, "of them written to runs/ (100)"},
        {"drop-identical", OPTION_FLAG, &o.drop_identical, false, false,
         "do not count a passage whose id is the query's, as BEIR", true},
        {0}};
    step_run run = {.kind = "evaluate", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (!o.model == !o.bm25 || (o.model && !o.tokens))
        ok =
            gb_fail(&status, GB_USAGE, NULL, "see --help", "give --bm25, or --model with --tokens");
    bool begun =
        ok && !(run.cost && o.model) && step_begin(&run, 4, o.model != NULL, NULL, &status);
    if (begun && step_there(&run))
        step_end(&run, NULL, &status);
    else if (ok && run.cost && o.model)
        gb_print_encoding_cost(&(gb_retriever_params){.model = o.model, .tokens = o.tokens},
                               o.collection, NULL, stdout, &status);
    else if (begun && (o.model || step_leads(&run))) /* BM25 is not divided */
        evaluate(&run, &o, &status);
    return step_close(&run, &status);
}
