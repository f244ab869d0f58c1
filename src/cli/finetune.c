/* gabbro finetune: makes a retriever from an encoder. */
#include "cli.h"

#include <gabbro/train.h>

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    return gb_finetune_cost(maker, self, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_finetune(maker, self, status);
}

static int run(const gb_call *call)
{
    gb_finetuning_settings o = gb_finetuning_defaults;
    gb_option_table tables[GB_FINETUNING_TABLES + 1];
    gb_finetuning_tables(&o, tables);
    const gb_make_params params = {.command = &gb_cli_finetune,
                                   .version = 1,
                                   .kernels = GB_USER_TRAIN,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_TRAINING,
                                   .tables = tables,
                                   .self = &o,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_finetune = {
    .name = "finetune",
    .summary = "train a retriever with hard negatives",
    .description =
        "Contrastive fine-tuning over all passages of the batch, with hard negatives from one or "
        "more runs (of bm25-run, mine, negatives or search). Prints the artifact's folder; the "
        "retriever is in its model/.",
    .run = run};
