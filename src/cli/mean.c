/* gabbro mean: averages evaluations. */
#include "cli.h"

#include <gabbro/eval.h>
#include <gabbro/experiment.h>

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const gb_words *of = self;
    json_t *means = gb_measures_mean(of->items, of->count, status);
    bool ok = means && gb_maker_write_metrics(maker, means, status);
    json_decref(means);
    return ok;
}

static int run(const gb_call *call)
{
    gb_words of = {0};
    const gb_option options[] = {{"of", GB_OPTION_LIST, &of, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
                                  "ARTIFACT", "evaluation to average; may be repeated"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_mean, .version = 2, .options = options, .self = &of, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_mean = {
    .name = "mean",
    .summary = "average evaluations, each with the same weight",
    .description =
        "Average each measure that all of the evaluations have, every evaluation counting alike: "
        "what BEIR calls the result of CQADupStack, from its twelve forums. Prints the artifact's "
        "folder: metrics.json.",
    .run = run,
    .makes = true};
