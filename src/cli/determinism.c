/* gabbro determinism: that this device and driver give the same bits again, shown on a small
 * training. */
#include "cli.h"
#include <gabbro/compare.h>
#include <gabbro/diag.h>
#include <gabbro/options.h>

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: gabbro determinism [--device DEVICE] [--replays N] [--steps N]\n\n"
    "Show on a small training (made-up tokens, 2 layers, dropout) that this device\n"
    "gives the same bits again: replays of a step (100), whole runs of N steps (20),\n"
    "as few barriers as needed against one before every kernel, layers computed again\n"
    "for their gradient against kept ones, and a run that is killed twice and resumed.\n"
    "A batch in parts (--micro-batch), their vectors compared by cached gradients, gives\n"
    "the gradients of the whole batch but for rounding, below a bound. One line each:\n"
    "what, how often, result.\n"
    "Exit code 0: all bits were equal, 1: some were not, 4: no device.\n";

/* This program again with --folder and --kill-at, until it kills itself. */
static bool run_killed(const gb_determinism_params *params, const char *folder, uint32_t kill_at,
                       gb_status *status)
{
    char steps[16], at[16];
    snprintf(steps, sizeof steps, "%u", params->steps);
    snprintf(at, sizeof at, "%u", kill_at);
    const char *argv[] = {"gabbro",
                          "determinism",
                          "--steps",
                          steps,
                          "--folder",
                          folder,
                          "--kill-at",
                          at,
                          params->select ? "--device" : NULL,
                          params->select,
                          NULL};
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", (char **)argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "no second process could be started");
    return (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL) ||
           gb_fail(status, GB_INTERNAL, NULL, NULL,
                   "the run that was to be killed ended by itself");
}

static int run(const gb_determinism_params *params)
{
    gb_status status = {0};
    bool equal = false;
    gb_device_params device = {.select = params->select};
    char *identity =
        gb_device_ready(params->select, &status) ? gb_device_identity(&device, &status) : NULL;
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

int gb_cli_determinism(int argc, char **argv)
{
    static const struct option long_options[] = {{"device", required_argument, NULL, 'd'},
                                                 {"replays", required_argument, NULL, 'r'},
                                                 {"steps", required_argument, NULL, 's'},
                                                 {"folder", required_argument, NULL, 'f'},
                                                 {"kill-at", required_argument, NULL, 'k'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    gb_determinism_params params = {
        .replays = 100, .steps = 20, .out = stdout, .run_killed = run_killed};
    const char *folder = NULL;
    uint32_t kill_at = UINT32_MAX;
    gb_status status = {0};
    bool ok = true;
    int option;
    while ((option = getopt_long(argc, argv, "d:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == 'd')
            params.select = optarg;
        else if (option == 'f')
            folder = optarg;
        else if (option == 'r')
            ok = ok && gb_parse_u32("--replays", optarg, 2, 100000, &params.replays, &status);
        else if (option == 's')
            ok = ok && gb_parse_u32("--steps", optarg, 3, 100000, &params.steps, &status);
        else
            ok = ok && option == 'k' &&
                 gb_parse_u32("--kill-at", optarg, 0, 100000, &kill_at, &status);
    }
    if (status.code) {
        gb_status_print(&status);
        return GB_USAGE;
    }
    if (!ok || optind != argc) {
        fputs(help, stderr);
        return GB_USAGE;
    }
    gb_log_set_level(GB_LOG_WARN);
    return folder ? run_to_be_killed(&params, folder, kill_at) : run(&params);
}
