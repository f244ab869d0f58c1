/* gabbro finetune: makes a retriever from an encoder. */
#include "cli.h"

#include <gabbro/artifact.h>
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
    if (training->passage_vectors.count)
        maker->kernels |= GB_USER_SEARCH;
    maker->kernels |= scoring->users | gb_losses[training->loss]->users;
    gb_finetuning_note(&o->training, o->tables);
    if (!gb_model_users(training->init, true, &maker->kernels, status))
        return false;
    if (training->dev.split)
        maker->kernels |= GB_USER_ENCODE | GB_USER_SEARCH;
    return gb_dev_check(&training->dev, status) && gb_finetuning_check(training, status);
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
    .run = run,
    .makes = true};
