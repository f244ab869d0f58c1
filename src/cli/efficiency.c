/* gabbro efficiency: reads the cost of training from interleaved steps. */
#include "cli.h"

#include <gabbro/train.h>

typedef struct settings {
    const char *of;        /* artifact of pretrain --interleave-with */
    const char *objective; /* one of its objectives */
} settings;

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_write_efficiency(maker, o->of, o->objective, status);
}

static int run(const gb_call *call)
{
    settings o = {0};
    const gb_option options[] = {{"of", GB_OPTION_TEXT, &o.of, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
                                  "ARTIFACT", "times of gabbro pretrain --interleave-with"},
                                 {"objective", GB_OPTION_TEXT, &o.objective, GB_OPTION_REQUIRED,
                                  "NAME", "one of its objectives"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_efficiency, .version = 2, .options = options, .self = &o, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_efficiency = {
    .name = "efficiency",
    .summary = "compare the cost of a pre-training with that of another",
    .description =
        "Measure what a pre-training costs, from the times of gabbro pretrain --interleave-with: "
        "the seconds to draw and mask a batch and, compared with the first objective of that "
        "artifact, the share of its speed that is lost and the extra seconds of a step, without "
        "drawing the batch. Each step is compared with the first objective's step beside it, and "
        "medians are printed. Samples per second are the first objective's, less that share. The "
        "machine must have been quiet. "
        "Prints the artifact's folder: metrics.json.",
    .run = run,
    .makes = true};
