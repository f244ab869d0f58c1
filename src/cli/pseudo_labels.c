/* gabbro pseudo-labels: judgements of unlabelled queries by a cross-encoder's scores. */
#include "cli.h"

#include <gabbro/train.h>

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const gb_pseudo_settings *o = self;
    (void)maker;
    return o->bounds.negative < o->bounds.positive ||
           gb_fail(status, GB_USAGE, NULL, NULL, "--negative is below --positive");
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_pseudo_label(maker, self, status);
}

static int run(const gb_call *call)
{
    gb_pseudo_settings o = {.bounds = {.positive = .9, .negative = .1}};
    const gb_option options[] = {
        {"run", GB_OPTION_TEXT, &o.run, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "RUN",
         "artifact of a run with probabilities: gabbro rerank --scores probability"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of its queries"},
        {"positive", GB_OPTION_RATIO, &o.bounds.positive, 0, NULL,
         "what scores at least this is a positive"},
        {"negative", GB_OPTION_RATIO, &o.bounds.negative, 0, NULL,
         "what scores at most this is a negative; what lies between is neither"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_pseudo_labels,
                                   .version = 1,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_pseudo_labels = {
    .name = "pseudo-labels",
    .summary = "judge the passages of unlabelled queries by a cross-encoder's scores",
    .description =
        "Take the queries of a run that are in no split of the collection, and judge their "
        "passages by a cross-encoder's probabilities, as RocketQA does. Prints the artifact's "
        "folder: qrels.tsv has the positives, run.trec the negatives. gabbro finetune "
        "--pseudo-labels trains on them. Queries of any split, test queries among them, are never "
        "labelled.",
    .run = run,
    .makes = true};
