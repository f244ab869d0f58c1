/* gabbro compare-devices: the same training on two devices, tensor by tensor. */
#include "cli.h"
#include <gabbro/compare.h>
#include <gabbro/report.h>
#include <gabbro/train.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDING 2e-5 /* of a tensor's largest value */

/* Opens what a command `gabbro pretrain ...` trains. NULL with status, or where only its help was
 * asked for. */
static gb_pretraining *open_pretraining(gb_pretraining_settings *settings, gb_words *command,
                                        gb_status *status)
{
    gb_option_table tables[GB_PRETRAINING_TABLES + 1];
    gb_words objective = {0};
    *settings = gb_pretraining_defaults();
    gb_pretraining_tables(settings, tables);
    if (gb_command_parse(&gb_cli_pretrain, tables, (int)command->count, (char **)command->items,
                         &objective, status) != GB_PARSED_RUN)
        return NULL;
    settings->objective = objective.items[0];
    const gb_objective *found = gb_pretraining_objective(settings);
    if (!gb_pretraining_check(settings, status) || !gb_pretraining_check_alone(settings, status))
        return NULL;
    if (!found || !settings->steps) {
        gb_fail(status, GB_USAGE, NULL, NULL, "pretrain %s trains nothing", settings->objective);
        return NULL;
    }
    if (found->prepare) {
        gb_fail(status, GB_USAGE, NULL, "take another objective",
                "%s keeps a part of itself on one device", settings->objective);
        return NULL;
    }
    return gb_pretraining_open(settings, status);
}

/* pretrain: a command, or no words. */
static int compare(const gb_compare_devices_params *params, gb_words *pretrain)
{
    gb_pretraining_settings settings;
    gb_pretraining *pretraining = NULL;
    gb_status status = {0};
    double worst = INFINITY;
    if (pretrain->count && !(pretraining = open_pretraining(&settings, pretrain, &status)))
        return gb_command_end(&status);
    gb_compare_devices(params, pretraining ? gb_pretraining_training(pretraining) : NULL, &worst,
                       &status);
    gb_pretraining_close(pretraining);
    if (status.code == GB_OK && !(worst <= ROUNDING)) {
        printf("The first step differs by more than rounding (%.0e).\n", ROUNDING);
        return GB_MISMATCH;
    }
    return gb_command_end(&status);
}

/* The words behind A and B. */
static gb_words command_of(const gb_words *words)
{
    gb_words command = {.count = words->count - 2};
    for (size_t i = 0; i < command.count; i++)
        command.items[i] = words->items[i + 2];
    return command;
}

static int run(const gb_call *call)
{
    gb_compare_devices_params params = {.config = call->config, .steps = 10, .out = stdout};
    bool names = false, tables = false;
    const gb_option options[] = {
        {"steps", GB_OPTION_U32, &params.steps, 0, NULL, "steps that are compared", .min = 1,
         .max = 10000},
        {"names", GB_OPTION_FLAG, &names, 0, NULL,
         "only print what A and B are, a line each, as keys of artifacts have it"},
        {"tables", GB_OPTION_FLAG, &tables, 0, NULL,
         "compare two folders of tables that were made before"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_compare_devices, options, call, &words, &code))
        return code;
    gb_words pretrain = command_of(&words);
    bool wants_training = !names && !tables;
    if ((names && tables) ||
        (pretrain.count && (!wants_training || strcmp(pretrain.items[0], "pretrain"))))
        gb_fail(&status, GB_USAGE, NULL, "see --help",
                "compare-devices needs two devices, or two folders, and nothing else but a command "
                "pretrain");
    gb_log_set_level(GB_LOG_WARN);
    params.devices[0] = words.items[0];
    params.devices[1] = words.items[1];
    if (status.code == GB_OK && wants_training)
        return compare(&params, &pretrain);
    if (status.code == GB_OK && tables)
        gb_compare_tables(words.items[0], words.items[1], stdout, &status);
    else if (status.code == GB_OK)
        gb_compare_device_names(&params, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_compare_devices = {
    .name = "compare-devices",
    .summary = "show where the same training differs on two devices",
    .usage =
        "A B [--steps N] [-- pretrain OBJECTIVE ...] | A B --names | --tables FOLDER_A FOLDER_B",
    .operands = "A B [-- pretrain OBJECTIVE ...]",
    .needs = "two devices, A and B",
    .operands_min = 2,
    .operands_max = GB_WORDS_MAX,
    .description =
        "Train a small model (made-up tokens, 2 layers, dropout), or what that pretrain command "
        "would train, on two devices and compare every tensor of every step: activations, "
        "gradients, parameters, moments. Prints where they first differ and by how much.\n\n"
        "A device is an index, part of a name, a UUID or \"cpu\", and settings of its own behind "
        "commas, e.g. 0,GABBRO_PROFILE=scalar or "
        "cpu,VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json\n\n"
        "Parameters differ more than gradients: AdamW makes a whole step of a gradient that is "
        "zero "
        "but for rounding.\n\n"
        "Exit code 0: the first step differs by rounding alone (2e-5 of a tensor's largest value); "
        "1: by more; 4: no such device.",
    .run = run};
