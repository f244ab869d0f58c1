/* gabbro finetune-cross: makes a cross-encoder from an encoder. */
#include "cli.h"

#include <gabbro/train.h>

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const gb_cross_settings *o = self;
    if (o->dev.split)
        maker->kernels |= GB_USER_ENCODE;
    return gb_optimiser_check(&o->optimiser, status) && gb_dev_check(&o->dev, status);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    return gb_train_cross_cost(maker, self, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_train_cross(maker, self, status);
}

static int run(const gb_call *call)
{
    gb_cross_settings o = gb_cross_defaults;
    gb_option_table tables[GB_CROSS_TABLES + 1];
    gb_cross_tables(&o, tables);
    const gb_make_params params = {.command = &gb_cli_finetune_cross,
                                   .version = 1,
                                   .kernels = GB_USER_TRAIN,
                                   .flags = GB_MAKES_TRAINING,
                                   .tables = tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_finetune_cross = {
    .name = "finetune-cross",
    .summary = "train a cross-encoder, which scores a query with a passage",
    .description =
        "Train a BERT that reads a query and a passage as one input and gives one score, with "
        "negatives from one or more runs (of bm25-run, mine, negatives or search). Prints the "
        "artifact's folder; the cross-encoder is in its model/, as sentence-transformers' "
        "CrossEncoder reads it. gabbro rerank ranks with it.",
    .run = run,
    .makes = true};
