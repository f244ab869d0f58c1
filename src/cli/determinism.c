/* gabbro determinism: that this device and driver give the same bits again, shown on a small
 * training. */
#include "cli.h"
#include <gabbro/options.h>
#include <gabbro/diag.h>
#include "trial.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

typedef struct settings {
    const char *device; /* --device */
    uint32_t replays;   /* --replays */
    uint32_t steps;     /* --steps */
    const char *folder; /* --folder: run until killed, keeping checkpoints here (for itself) */
    uint32_t kill_at;   /* --kill-at */
} settings;

/* What a run gave. */
typedef struct outcome {
    float *values;                /* parameters */
    double (*log)[GB_MAX_LOSSES]; /* losses */
    uint32_t resumed_at;          /* first step of this process */
} outcome;

static gb_device *open_device(const settings *o, gb_status *status)
{
    gb_device_params params = {.select = o->device, .quiet = true};
    return gb_device_open(&params, status);
}

static void outcome_free(outcome *out)
{
    free(out->values);
    free(out->log);
    *out = (outcome){0};
}

/* One whole training on a device opened for it. */
static bool run_training(const settings *o, const char *resume_dir, outcome *out, gb_status *status)
{
    trial t;
    gb_train_result result = {0};
    gb_device *device = NULL;
    *out = (outcome){0};
    bool ok = trial_make(&t, o->steps, status) && (device = open_device(o, status)) &&
              (out->log = gb_alloc(o->steps, sizeof *out->log, status));
    if (ok) {
        t.kill_at = o->kill_at;
        t.train.resume_dir = resume_dir;
        t.train.checkpoint_s = resume_dir ? 1e-9 : 0; /* after every step */
        ok = gb_train(device, &t.task, &t.train, t.values, out->log, &result, status);
        out->values = t.values;
        out->resumed_at = result.resumed_at;
        t.values = NULL;
    }
    gb_device_close(device);
    trial_free(&t);
    return ok;
}

static bool same(const settings *o, const outcome *a, const outcome *b)
{
    trial t;
    gb_status status = {0};
    bool equal = trial_make(&t, o->steps, &status) &&
                 !memcmp(a->log, b->log, o->steps * sizeof *a->log) &&
                 !memcmp(a->values, b->values, gb_params_floats(t.params) * sizeof *a->values);
    trial_free(&t);
    return equal;
}

static bool print_line(const char *what, const char *often, bool equal)
{
    printf("%-52s %-22s %s\n", what, often, equal ? "bit-equal" : "NOT bit-equal");
    fflush(stdout);
    return equal;
}

/* ---- replays ---- */

static bool hash_run(gb_exec *exec, const trial *t, const trial_pass *pass, gb_state *state,
                     float *gradients, char hash[GB_HASH_SIZE], gb_status *status)
{
    uint64_t ticket, floats = gb_params_floats(t->params);
    const float *loss = NULL;
    if (!t->task.fill(t->task.self, exec, pass->graph, 0, status) ||
        !gb_exec_run(exec, &ticket, status) ||
        !(loss = gb_exec_output(exec, ticket, pass->loss, status)) ||
        !gb_state_read(state, GB_ARENA_GRADS, gradients, status))
        return false;
    gradients[floats] = *loss;
    gb_hash_bytes(gradients, (floats + 1) * sizeof *gradients, hash);
    return true;
}

/* Step 0 again and again from the same parameters: loss and every gradient. */
static bool replay(const settings *o, uint32_t *different, gb_status *status)
{
    trial t;
    trial_pass pass = {0};
    gb_state *state = NULL;
    gb_exec *exec = NULL;
    float *gradients = NULL;
    gb_device *device = NULL;
    char first[GB_HASH_SIZE], hash[GB_HASH_SIZE];
    bool ok = trial_make(&t, o->steps, status) && (device = open_device(o, status)) &&
              trial_pass_make(&pass, &t, 0, false, status) &&
              (gradients = gb_alloc(gb_params_floats(t.params) + 1, sizeof *gradients, status)) &&
              (state = gb_state_create(device, t.params, true, status)) &&
              gb_state_write(state, GB_ARENA_PARAMS, t.values, status) &&
              (exec = gb_exec_create(state, pass.tape, status));
    *different = 0;
    for (uint32_t i = 0; ok && i < o->replays; i++) {
        ok = hash_run(exec, &t, &pass, state, gradients, i ? hash : first, status);
        *different += ok && i && memcmp(hash, first, sizeof hash);
    }
    gb_exec_destroy(exec);
    gb_state_destroy(state);
    trial_pass_free(&pass);
    gb_device_close(device);
    trial_free(&t);
    free(gradients);
    return ok;
}

/* ---- less memory ---- */

/* Gradients of step 0 with fewer texts at once (0: all), layers kept or not. */
typedef struct gradient {
    float *values;                /* [floats] */
    uint64_t floats;              /* gb_params_floats */
    double losses[GB_MAX_LOSSES]; /* of the step */
    uint64_t arena_bytes;         /* of activations */
} gradient;

static bool make_gradient(const settings *o, uint32_t micro_batch, bool recompute, gradient *out,
                          gb_status *status)
{
    trial t;
    gb_device *device = NULL;
    *out = (gradient){0};
    bool ok = trial_make(&t, o->steps, status) && (device = open_device(o, status));
    if (ok) {
        t.train.micro_batch = micro_batch;
        t.train.recompute = recompute;
        out->floats = gb_params_floats(t.params);
        out->values = gb_alloc(out->floats, sizeof *out->values, status);
        ok = out->values && gb_train_gradient(device, &t.task, &t.train, t.values, 0, out->values,
                                              out->losses, &out->arena_bytes, status);
    }
    gb_device_close(device);
    trial_free(&t);
    return ok;
}

static bool same_gradient(const gradient *a, const gradient *b)
{
    return !memcmp(a->values, b->values, a->floats * sizeof *a->values) &&
           !memcmp(a->losses, b->losses, sizeof a->losses);
}

/* The worst difference of a parameter's gradient, relative to the largest value of that. */
static bool worst_difference(const settings *o, const gradient *a, const gradient *b, double *worst,
                             gb_status *status)
{
    trial t;
    bool ok = trial_make(&t, o->steps, status);
    *worst = 0;
    for (uint32_t i = 0; ok && i < gb_params_count(t.params); i++) {
        const gb_param *p = gb_params_at(t.params, i);
        double largest = 0, difference = 0;
        for (uint64_t k = p->offset; k < p->offset + (uint64_t)p->rows * p->ld; k++) {
            double d = fabs((double)a->values[k] - b->values[k]);
            largest = fmax(largest, fabs(b->values[k]));
            difference = d <= difference ? difference : isnan(d) ? INFINITY : d;
        }
        *worst = fmax(*worst, difference > 0 ? difference / largest : 0);
    }
    trial_free(&t);
    return ok;
}

#define PARTS_BOUND 1e-5 /* float32 sums in another order */

/* Fewer texts at once, and layers computed again for these. */
static bool show_parts(const settings *o, const gradient *whole, uint32_t micro_batch, bool *equal,
                       gb_status *status)
{
    gradient parts, again = {0};
    char what[64], often[64];
    double worst;
    bool ok = make_gradient(o, micro_batch, false, &parts, status) &&
              make_gradient(o, micro_batch, true, &again, status) &&
              worst_difference(o, &parts, whole, &worst, status);
    if (ok) {
        snprintf(what, sizeof what, "parts of %u of %d texts, cached gradients", micro_batch,
                 TRIAL_TEXTS);
        snprintf(often, sizeof often, "%.0f of %.0f KiB", parts.arena_bytes / 1024.,
                 whole->arena_bytes / 1024.);
        printf("%-52s %-22s differ by %.1e, bound %.0e\n", what, often, worst, PARTS_BOUND);
        snprintf(what, sizeof what, "the same, layers computed again against kept");
        snprintf(often, sizeof often, "%.0f of %.0f KiB", again.arena_bytes / 1024.,
                 parts.arena_bytes / 1024.);
        *equal &= print_line(what, often, same_gradient(&again, &parts));
        *equal &= worst <= PARTS_BOUND;
    }
    free(parts.values);
    free(again.values);
    return ok;
}

static bool show_memory(const settings *o, bool *equal, gb_status *status)
{
    gradient whole, other = {0};
    char often[64];
    bool ok =
        make_gradient(o, 0, false, &whole, status) && make_gradient(o, 0, true, &other, status);
    if (ok) {
        snprintf(often, sizeof often, "%.0f of %.0f KiB", other.arena_bytes / 1024.,
                 whole.arena_bytes / 1024.);
        *equal &= print_line("layers computed again for a gradient against kept", often,
                             same_gradient(&other, &whole));
        free(other.values);
        other.values = NULL;
        ok = make_gradient(o, TRIAL_TEXTS, false, &other, status);
    }
    if (ok)
        *equal &= print_line("parts as large as the batch against the batch", "1 step",
                             same_gradient(&other, &whole));
    ok = ok && show_parts(o, &whole, 1, equal, status) && show_parts(o, &whole, 2, equal, status) &&
         show_parts(o, &whole, 5, equal, status);
    free(whole.values);
    free(other.values);
    return ok;
}

/* ---- kills ---- */

/* This program again, until it kills itself; false if it ends in another way. */
static bool run_killed(const settings *o, const char *folder, uint32_t kill_at, gb_status *status)
{
    char steps[16], at[16];
    snprintf(steps, sizeof steps, "%u", o->steps);
    snprintf(at, sizeof at, "%u", kill_at);
    const char *argv[] = {"gabbro",
                          "determinism",
                          "--steps",
                          steps,
                          "--folder",
                          folder,
                          "--kill-at",
                          at,
                          o->device ? "--device" : NULL,
                          o->device,
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

static bool killed_and_resumed(const settings *o, outcome *out, gb_status *status)
{
    char *folder = gb_temporary_folder("determinism", status);
    bool ok = folder && run_killed(o, folder, o->steps / 3, status) &&
              run_killed(o, folder, 2 * o->steps / 3, status) &&
              run_training(o, folder, out, status);
    if (ok && out->resumed_at != 2 * o->steps / 3)
        ok = gb_fail(status, GB_INTERNAL, folder, NULL, "resumed at step %u, not at %u",
                     out->resumed_at, 2 * o->steps / 3);
    gb_temporary_remove(folder);
    return ok;
}

/* ---- all of it ---- */

static bool show(const settings *o, bool *equal, gb_status *status)
{
    char often[64];
    uint32_t different;
    outcome quiet = {0}, other = {0};
    *equal = true;
    if (!replay(o, &different, status))
        return false;
    snprintf(often, sizeof often, "%u times", o->replays);
    *equal &= print_line("a training step, loss and all gradients", often, !different);
    snprintf(often, sizeof often, "2 runs of %u steps", o->steps);
    bool ok = run_training(o, NULL, &quiet, status) && run_training(o, NULL, &other, status);
    if (ok)
        *equal &= print_line("a training, losses and parameters", often, same(o, &quiet, &other));
    outcome_free(&other);
    if (ok) {
        setenv("GABBRO_BARRIERS", "full", 1);
        ok = run_training(o, NULL, &other, status);
        unsetenv("GABBRO_BARRIERS");
    }
    if (ok)
        *equal &= print_line("few barriers against one before every kernel", often,
                             same(o, &quiet, &other));
    outcome_free(&other);
    ok = ok && show_memory(o, equal, status);
    if (ok && killed_and_resumed(o, &other, status)) {
        snprintf(often, sizeof often, "2 kills in %u steps", o->steps);
        *equal &=
            print_line("killed and resumed against undisturbed", often, same(o, &quiet, &other));
    }
    outcome_free(&other);
    outcome_free(&quiet);
    return status->code == GB_OK;
}

static int run(settings *o)
{
    gb_status status = {0};
    bool equal = false;
    if (o->folder) { /* the process that is to be killed */
        outcome out;
        run_training(o, o->folder, &out, &status);
        outcome_free(&out);
    } else {
        gb_device_params params = {.select = o->device};
        char *identity =
            gb_device_ready(o->device, &status) ? gb_device_identity(&params, &status) : NULL;
        if (identity)
            printf("%s\n", identity);
        if (identity && show(o, &equal, &status) && !equal)
            printf("This device or driver does not repeat itself: results on it are not "
                   "reproducible.\n");
        free(identity);
    }
    if (status.code)
        gb_status_print(&status);
    return status.code ? (int)status.code : !equal;
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
    settings o = {.replays = 100, .steps = 20, .kill_at = UINT32_MAX};
    gb_status status = {0};
    bool ok = true;
    int option;
    while ((option = getopt_long(argc, argv, "d:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == 'd')
            o.device = optarg;
        else if (option == 'f')
            o.folder = optarg;
        else if (option == 'r')
            ok = ok && gb_parse_u32("--replays", optarg, 2, 100000, &o.replays, &status);
        else if (option == 's')
            ok = ok && gb_parse_u32("--steps", optarg, 3, 100000, &o.steps, &status);
        else
            ok = ok && option == 'k' &&
                 gb_parse_u32("--kill-at", optarg, 0, 100000, &o.kill_at, &status);
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
    return run(&o);
}
