/* gabbro determinism: that this device and driver give the same bits again, shown on a small
 * training. */
#include "cli.h"
#include <gabbro/compare.h>
#include <gabbro/diag.h>
#include <gabbro/os.h>

#include <stdlib.h>

/* This program again with --folder and --kill-at, until it kills itself. */
static bool run_killed(const gb_determinism_params *params, const char *folder, uint32_t kill_at,
                       gb_status *status)
{
    char steps[16], at[16];
    snprintf(steps, sizeof steps, "%u", params->steps);
    snprintf(at, sizeof at, "%u", kill_at);
    const char *argv[] = {"gabbro",   "determinism", "--steps",   steps,
                          "--folder", folder,        "--kill-at", at,
                          NULL,       NULL,          NULL};
    if (params->select) {
        argv[8] = "--device";
        argv[9] = params->select;
    }
    int code = 0;
    gb_os_process process;
    const gb_os_command command = {.words = argv, .output = -1, .errors = -1};
    if (gb_os_start(&command, &process) != 0 || !gb_os_ended(&process, true, &code))
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "no second process could be started");
    return code == GB_OS_KILLED || gb_fail(status, GB_INTERNAL, NULL, NULL,
                                           "the run that was to be killed ended by itself");
}

static int show(const gb_determinism_params *params)
{
    gb_status status = {0};
    bool equal = false;
    gb_device_params device = gb_ops_device(params->config, params->select);
    char *identity = gb_device_ready(params->config, params->select, &status)
                         ? gb_device_identity(&device, &status)
                         : NULL;
    if (identity)
        printf("%s\n", identity);
    if (identity && gb_determinism(params, &equal, &status) && !equal)
        printf("This device or driver does not repeat itself: results on it are not "
               "reproducible.\n");
    free(identity);
    if (status.code)
        gb_status_print(&status);
    return status.code ? (int)status.code : !equal;
}

static int run_to_be_killed(const gb_determinism_params *params, const char *folder,
                            uint32_t kill_at)
{
    gb_status status = {0};
    gb_determinism_killed(params, folder, kill_at, &status);
    gb_status_print(&status);
    return (int)status.code;
}

static int run(const gb_call *call)
{
    gb_determinism_params params = {.config = call->config,
                                    .replays = 100,
                                    .steps = 20,
                                    .out = stdout,
                                    .run_killed = run_killed};
    const char *folder = NULL;
    uint32_t kill_at = UINT32_MAX;
    const gb_option options[] = {
        {"device", GB_OPTION_TEXT, &params.select, 0, "NAME",
         "device to check: index, name, UUID or cpu", .letter = 'd'},
        {"replays", GB_OPTION_U32, &params.replays, 0, NULL, "times that one step is repeated",
         .min = 2, .max = 100000},
        {"steps", GB_OPTION_U32, &params.steps, 0, NULL, "steps of a training", .min = 3,
         .max = 100000},
        {"folder", GB_OPTION_TEXT, &folder, GB_OPTION_HIDDEN, "DIR", "of a training to be killed"},
        {"kill-at", GB_OPTION_U32, &kill_at, GB_OPTION_HIDDEN, NULL, "its last step",
         .max = 100000},
        {0}};
    int code;
    if (!gb_command_begin(&gb_cli_determinism, options, call, NULL, &code))
        return code;
    gb_log_set_level(GB_LOG_WARN);
    return folder ? run_to_be_killed(&params, folder, kill_at) : show(&params);
}

const gb_command gb_cli_determinism = {
    .name = "determinism",
    .summary = "show that a training repeats itself bit for bit",
    .description =
        "Show on a small training (made-up tokens, 2 layers, dropout) that this device gives the "
        "same bits again: replays of a step, whole trainings, as few barriers as needed against "
        "one "
        "before every kernel, layers computed again for their gradient against kept ones, and a "
        "training that is killed twice and resumed. A batch in micro-batches (--micro-batch), "
        "their "
        "vectors "
        "compared by cached gradients, gives the gradients of the whole batch but for rounding, "
        "below a bound. Prints one line each: what, how often, result.\n\n"
        "Exit code 0: all bits were equal; 1: some were not; 4: no device.",
    .run = run};
