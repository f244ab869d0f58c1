/* gabbro rerank: ranks the passages of runs by a cross-encoder. */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    (void)maker;
    return gb_rerank_print_cost(self, stdout, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_rerank(maker, self, status);
}

static int run(const gb_call *call)
{
    static const char *const forms[] = {"logit", "probability", NULL};
    gb_rerank_params o = {.depth = 100};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "cross-encoder: artifact or folder"},
        {"run", GB_OPTION_LIST, &o.runs, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "RUN",
         "what is ranked anew: an artifact of a run, a file, or an evaluation with its runs; runs "
         "and "
         "files may be repeated: passages of all of them are ranked together"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of the runs"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
         "its tokens"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL,
         "first passages of each query and run that are scored", .min = 1, .max = UINT32_MAX},
        {"judged", GB_OPTION_TEXT, &o.judged, 0, "SPLIT",
         "also score the passages judged relevant in this split: what gabbro finetune --scores "
         "needs of train"},
        {"scores", GB_OPTION_CHOICE, &o.form, 0, NULL, "what is written: the logit, or its sigmoid",
         forms},
        {0}};
    const gb_make_params params = {.command = &gb_cli_rerank,
                                   .version = 1,
                                   .kernels = GB_USER_ENCODE,
                                   .flags = GB_MAKES_DIVIDED,
                                   .options = options,
                                   .self = &o,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_rerank = {
    .name = "rerank",
    .summary = "rank the passages of runs by a cross-encoder",
    .description =
        "Score the first passages of runs with a cross-encoder (of gabbro finetune-cross, or a "
        "folder of sentence-transformers' CrossEncoder with one label), and rank by these scores. "
        "Prints the artifact's folder; the run is its run.trec. If RUN is an evaluation, the runs "
        "of all its splits are ranked again and written to runs/, which gabbro evaluate --runs "
        "measures. A killed command goes on where it was. --cost says how many pairs there are.",
    .run = run,
    .makes = true};
