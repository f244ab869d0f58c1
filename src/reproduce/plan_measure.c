/* Measures how fast this device trains. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* What a training took. */
typedef struct taken {
    double seconds;  /* of its steps */
    double beside;   /* of all else */
    double resident; /* bytes of the host's memory at most */
} taken;

/* A training of so many steps; an epoch of one batch is an artifact of a fine-tuning. */
static bool short_training(const repro_argv *argv, double batch, double steps, repro_argv *made,
                           gb_status *status)
{
    bool finetune = repro_is_finetuning(argv->items[0]), ok = true;
    for (size_t i = 0; ok && i < argv->count; i++)
        ok = repro_argv_add(made, status, "%s", argv->items[i]);
    ok = ok && repro_argv_add(made, status, "--batch") &&
         repro_argv_add(made, status, "%.0f", batch);
    if (ok && finetune)
        ok = repro_argv_add(made, status, "--train-queries") &&
             repro_argv_add(made, status, "%.0f", batch) &&
             repro_argv_add(made, status, "--epochs") &&
             repro_argv_add(made, status, "%.0f", steps);
    else if (ok)
        ok = repro_argv_add(made, status, "--steps") && repro_argv_add(made, status, "%.0f", steps);
    return ok && repro_argv_add(made, status, "--quiet");
}

/* Starts the same in `jobs` processes: the others only keep the device as busy as it will be, each
 * in a store of its own. */
static bool start_jobs(const repro_plan *plan, const repro_argv *argv, repro_process *processes,
                       gb_status *status)
{
    bool ok = true;
    for (uint32_t j = 0; ok && j < plan->session->jobs; j++) {
        const char *environment[10];
        size_t count = 0;
        for (; plan->environment[count]; count++)
            environment[count] = plan->environment[count];
        char *store = j ? gb_format(status, "GABBRO_STORE=%s/store.%u", plan->root, j) : NULL;
        environment[count++] = store;
        environment[count] = NULL;
        repro_command command = {.program = plan->session->program,
                                 .words = argv->items,
                                 .environment = environment,
                                 .catch_output = true,
                                 .catch_errors = j > 0};
        ok = (!j || store) && repro_process_start(&processes[j], &command, status);
        free(store);
    }
    return ok;
}

static bool train(const repro_plan *plan, const repro_argv *argv, taken *took, gb_status *status)
{
    repro_process processes[REPRO_MAX_JOBS], *list[REPRO_MAX_JOBS];
    uint32_t jobs = plan->session->jobs;
    for (uint32_t j = 0; j < REPRO_MAX_JOBS; j++) {
        processes[j] = (repro_process){.output = -1, .errors = -1, .ended = true};
        list[j] = &processes[j];
    }
    bool ok = start_jobs(plan, argv, processes, status);
    for (uint32_t left = jobs; ok && left && !gb_interrupted();) {
        repro_process_watch(list, jobs, 1000);
        left = 0;
        for (uint32_t j = 0; j < jobs; j++)
            left += !processes[j].ended;
    }
    for (uint32_t j = 0; j < jobs; j++)
        repro_process_stop(&processes[j]);
    repro_process_wait_all(list, jobs);
    if (ok && gb_interrupted())
        ok = gb_fail(status, GB_INTERRUPTED, NULL, NULL, "%s", "");
    ok = ok && repro_process_ok(argv->items[0], processes[0].code, status);
    char *folder =
        ok ? gb_strdup(processes[0].printed.data ? processes[0].printed.data : "", status) : NULL;
    if (folder) {
        double work = 0, build = 0, wall = 0;
        folder[strcspn(folder, "\n")] = '\0';
        repro_record_number(folder, "run.json", "work_s", &work);
        repro_record_number(folder, "run.json", "build_s", &build);
        repro_record_number(folder, "run.json", "wall_s", &wall);
        repro_record_number(folder, "run.json", "peak_resident_bytes", &took->resident);
        took->seconds = work - build;
        took->beside = wall - took->seconds;
    }
    free(folder);
    for (uint32_t j = 0; j < jobs; j++)
        repro_process_free(&processes[j]);
    return ok && folder;
}

/* Its batch is made so small that a step takes seconds at most, and it is repeated for some
 * seconds. It counts when another went before it: kernels that this machine has never run are
 * compiled in their first step. */
static bool measure_training(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    static const double STEP_FLOPS = 5e10, ENOUGH_S = 5, MAX_STEPS = 2000;
    repro_argv *argv = &plan->training;
    repro_cost cost;
    taken took = {0};
    if (!repro_plan_cost(plan, argv, &cost, status))
        return false;
    double part = repro_cost_get(&cost, "part");
    double batch = (double)(uint64_t)(STEP_FLOPS / repro_cost_get(&cost, "flops") *
                                      repro_cost_get(&cost, "batch"));
    batch = batch < 1 ? 1 : batch < part ? batch : part;
    if (!repro_argv_add(argv, status, "--batch") || !repro_argv_add(argv, status, "%.0f", batch) ||
        !repro_plan_cost(plan, argv, &cost, status))
        return false;
    double flops = repro_cost_get(&cost, "flops"), steps = 1;
    for (bool warm = false, enough = false; !enough;) {
        repro_argv made = {0};
        bool ok =
            short_training(argv, batch, steps, &made, status) && train(plan, &made, &took, status);
        repro_argv_free(&made);
        if (!ok)
            return false;
        enough = warm && (took.seconds >= ENOUGH_S || steps > MAX_STEPS);
        if (enough)
            break;
        if (took.seconds >= ENOUGH_S || steps > MAX_STEPS) {
            steps++; /* as many again would be the training that is there */
            warm = true;
        } else {
            steps = 1 + (double)(uint64_t)(steps * (took.seconds > .5 ? 6 / took.seconds : 12));
            warm = false;
        }
    }
    speed->flops = flops * steps / took.seconds;
    speed->start_s = took.beside;
    speed->program = took.resident;
    if (speed->on_cpu)
        speed->program -=
            repro_cost_get(&cost, "parameter_bytes") + repro_cost_get(&cost, "activation_bytes");
    return true;
}

/* Measures and files. Of a stand-in they are not known; where the arithmetic alone takes long they
 * are little. */
static bool measure_evaluation(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    repro_argv *argv = &plan->evaluation;
    gb_text folder = {0};
    double seconds = 0;
    if (!argv->count || plan->evaluation_flops > 20 * speed->flops)
        return true;
    bool ok = repro_argv_add(argv, status, "--quiet") &&
              repro_plan_command(plan, argv->items, &folder, status);
    if (ok && folder.data && repro_record_number(folder.data, "run.json", "wall_s", &seconds))
        seconds -= plan->evaluation_flops / speed->flops;
    speed->evaluate_s = seconds > 0 ? seconds : 0;
    gb_text_free(&folder);
    return ok;
}

bool repro_plan_measure(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    const repro_session *session = plan->session;
    *speed = (repro_speed){.flops = 1};
    if (!plan->training.count) {
        repro_argv_free(&plan->training);
        plan->training = plan->finetuning;
        plan->finetuning = (repro_argv){0};
    }
    if (!plan->training.count)
        return true;
    if (!session->params->quiet && session->jobs > 1)
        gb_say_line("measuring how fast the device is, %u steps at once", session->jobs);
    else if (!session->params->quiet)
        gb_say_line("measuring how fast the device is");
    speed->on_cpu = repro_session_on_cpu(session);
    return measure_training(plan, speed, status) && measure_evaluation(plan, speed, status);
}
