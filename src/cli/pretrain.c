/* gabbro pretrain: makes an encoder: fresh, or trained by an objective. */
#include "cli.h"

#include <gabbro/train.h>

#include <string.h>

typedef struct settings {
    gb_pretraining_settings training;                  /* what is trained, and how */
    const char *others;                                /* --interleave-with, or NULL */
    gb_option_table tables[GB_PRETRAINING_TABLES + 1]; /* of its options */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    gb_pretraining_settings *training = &o->training;
    training->objective = maker->operands.items[0];
    if (!gb_pretraining_check(training, status) ||
        (!o->others && !gb_pretraining_check_alone(training, status)))
        return false;
    if (o->others && (maker->ranks || maker->how.gradient_shards))
        return gb_fail(status, GB_USAGE, "--interleave-with",
                       "leave --ranks and --gradient-shards out",
                       "the times are those of one device");
    if (o->others && !gb_pretrain_interleaved_check(training, o->others, o->tables, status))
        return false;
    gb_pretraining_note(o->tables, training->objective);
    maker->kernels = gb_pretraining_objective(training) ? GB_USER_TRAIN : 0;
    return gb_maker_note(maker, "objective", training->objective, status);
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_pretrain_cost(maker, &o->training, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return o->others ? gb_pretrain_interleaved(maker, &o->training, o->others, status)
                     : gb_pretrain(maker, &o->training, status);
}

static int run(const gb_call *call)
{
    settings o = {.training = gb_pretraining_defaults()};
    const gb_option options[] = {
        {"interleave-with", GB_OPTION_TEXT, &o.others, 0, "LIST",
         "train no model: time the steps of this objective and of others (bow,enhanced or "
         "cocondenser:query) with the same options, interleaved; see gabbro efficiency"},
        {0}};
    gb_pretraining_tables(&o.training, o.tables);
    const gb_make_params params = {.command = &gb_cli_pretrain,
                                   .version = 1,
                                   .flags = GB_MAKES_TRAINING,
                                   .options = options,
                                   .tables = o.tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_pretrain = {
    .name = "pretrain",
    .summary = "train an encoder by one of the objectives",
    .operands = "OBJECTIVE",
    .needs = "an OBJECTIVE",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Train an encoder on a collection's passages. Prints the artifact's folder; the encoder is "
        "in its model/ (a Hugging Face folder).\n\n"
        "The objectives and their options are listed below. OBJECTIVE none writes a randomly "
        "initialised encoder without training it. An option that several objectives have is set "
        "for each.\n\n"
        "A second stage is a second artifact: --init FIRST --schedule constant --warmup 0.",
    .run = run,
    .makes = true};
