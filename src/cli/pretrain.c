/* gabbro pretrain: makes an encoder: fresh, or trained by an objective. */
#include "cli.h"

#include <gabbro/train.h>

#include <string.h>

typedef struct settings {
    gb_pretraining_settings training; /* what is trained, and how */
    const char *others;               /* --in-turns-with, or NULL */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    gb_pretraining_settings *training = &o->training;
    training->objective = maker->operands.items[0];
    if (!gb_pretraining_check(training, status))
        return false;
    if (o->others && (maker->ranks || maker->how.shares))
        return gb_fail(status, GB_USAGE, "--in-turns-with", "leave --ranks and --shares out",
                       "the times are those of one device");
    if (o->others && !gb_pretrain_in_turns_check(training, o->others, status))
        return false;
    /* In turns each objective settles for itself what is open. */
    if (!o->others)
        gb_pretraining_settle(training);
    const gb_objective *objective = gb_pretraining_objective(training);
    maker->flags |= objective ? GB_MAKES_ON_DEVICE : 0;
    gb_maker_use_shaders(maker, objective ? objective->shader_set : NULL);
    gb_maker_use_part_shaders(maker, &training->memory, training->optimiser.dropout);
    return json_object_set_new(maker->settings, "objective", json_string(training->objective)) ==
               0 ||
           gb_fail_memory(status, "noting settings");
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_pretrain_cost(maker, &o->training, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return o->others ? gb_pretrain_in_turns(maker, &o->training, o->others, status)
                     : gb_pretrain(maker, &o->training, status);
}

static int run(const gb_call *call)
{
    settings o = {.training = gb_pretraining_defaults};
    const gb_option options[] = {
        {"in-turns-with", GB_OPTION_TEXT, &o.others, 0, "LIST",
         "train no model: time the steps of this objective and of others (bow,enhanced or "
         "cocondenser:query) with the same options, in turns; see gabbro efficiency"},
        {0}};
    gb_option_table tables[GB_PRETRAINING_TABLES + 1];
    gb_pretraining_tables(&o.training, tables);
    const gb_make_params params = {.command = &gb_cli_pretrain,
                                   .version = 1,
                                   .flags = GB_MAKES_TRAINING,
                                   .options = options,
                                   .tables = tables,
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
        "Objectives:\n"
        "  none            a randomly initialised encoder, not trained\n"
        "  mlm             masked LM\n"
        "  condenser       and of a head that reads the late [CLS] and a middle layer\n"
        "  cocondenser     and a contrastive loss between text and context\n"
        "  cotmae          masked LM, and the context decoded from [CLS] (--decoder)\n"
        "  autoencoding    the passage itself decoded from [CLS] and few of its tokens\n"
        "  autoregression  the passage itself written from [CLS], token by token\n"
        "  bottleneck      the context, e.g. a query, written from [CLS], token by token\n"
        "  enhanced        every token decoded from [CLS] and a sample of its own (RetroMAE)\n"
        "  seed            the passage written from [CLS] by a decoder with a small window\n"
        "                  (SEED)\n"
        "  simlm           the passage recovered from what --generator, a frozen masked LM,\n"
        "                  made of it, and decoded from [CLS] and a worse such text\n"
        "  bow             masked LM, and the set of the passage's tokens predicted from [CLS]\n"
        "  costa           masked LM, and a contrastive loss between [CLS] and spans of the\n"
        "                  passage\n"
        "  ict             masked LM, and a sentence finds the rest of its passage\n"
        "  simcse          a sentence finds itself under another dropout\n"
        "  prop            masked LM, and likelier words of a passage are nearer to it\n"
        "  bprop           the same by the attention of the [CLS] of --init\n"
        "  contriever      a crop finds another of its passage, against a queue of keys\n\n"
        "A second stage is a second artifact: --init FIRST --schedule constant --warmup 0.",
    .run = run};
