/* gabbro finetune: makes a retriever from an encoder. */
#include "cli.h"

#include <gabbro/train.h>

typedef struct settings {
    gb_finetuning_settings training;                  /* what is trained, and how */
    gb_option_table tables[GB_FINETUNING_TABLES + 1]; /* of its options */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    const gb_finetuning_settings *training = &o->training;
    const gb_scoring *scoring = gb_scorings[training->scoring];
    maker->kernels |= scoring->users | gb_losses[training->loss]->users;
    gb_finetuning_note(&o->training, o->tables);
    if (training->dev.split)
        maker->kernels |= GB_USER_ENCODE | GB_USER_SEARCH;
    if (!gb_dev_check(&training->dev, status))
        return false;
    if (!(scoring->needs & GB_SCORING_TOKENS))
        return true;
    return training->projector == GB_PROJECTOR_NONE ||
           gb_fail(status, GB_USAGE, NULL, "leave --projector out",
                   "the scoring %s has a projection of its own", scoring->name);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_finetune_cost(maker, &o->training, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_finetune(maker, &o->training, status);
}

static int run(const gb_call *call)
{
    settings o = {.training = gb_finetuning_defaults()};
    gb_finetuning_tables(&o.training, o.tables);
    const gb_make_params params = {.command = &gb_cli_finetune,
                                   .version = 1,
                                   .kernels = GB_USER_TRAIN,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_TRAINING,
                                   .tables = o.tables,
                                   .self = &o,
                                   .check = check,
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
