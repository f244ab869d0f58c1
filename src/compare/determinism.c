/* Shows on a small training that a device and driver give the same bits again. */
#include <gabbro/compare.h>
#include <gabbro/os.h>

#include "pass.h"
#include "trial.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTS_BOUND 1e-5 /* of parts of a batch: float32 sums in another order */

/* A training and what it is run with. */
typedef struct subject {
    const gb_determinism_params *params; /* of the caller */
    trial t;                             /* training */
    uint64_t floats;                     /* gb_params_floats of it */
    gb_config config;                    /* what devices are opened with */
    bool equal;                          /* so far */
} subject;

static bool subject_make(subject *s, const gb_determinism_params *params, gb_status *status)
{
    *s = (subject){.params = params, .config = *params->config, .equal = true};
    if (!compare_trial_make(&s->t, params->config, params->steps, status))
        return false;
    s->floats = gb_params_floats(s->t.params);
    return true;
}

static gb_device *open_device(const subject *s, gb_status *status)
{
    gb_device_params params = gb_ops_device(&s->config, s->params->select);
    params.quiet = true;
    return gb_device_open(&params, status);
}

static void say(subject *s, const char *what, const char *often, bool equal)
{
    FILE *out = s->params->out;
    fprintf(out, "%-52s %-22s %s\n", what, often, equal ? "bit-equal" : "NOT bit-equal");
    fflush(out);
    s->equal = s->equal && equal;
}

/* ---- replays ---- */

static bool hash_run(const subject *s, const pass *p, float *gradients, char hash[GB_HASH_SIZE],
                     gb_status *status)
{
    uint64_t ticket;
    const float *loss = NULL;
    if (!gb_executable_submit(p->exec, 0, &ticket, status) ||
        !(loss = gb_executable_output(p->exec, ticket, p->loss, status)) ||
        !gb_state_read(gb_executable_state(p->exec), GB_ARENA_GRADS, gradients, status))
        return false;
    gradients[s->floats] = *loss;
    gb_hash_bytes(gradients, (s->floats + 1) * sizeof *gradients, hash);
    return true;
}

/* Step 0 again and again from the same parameters: loss and every gradient. */
static bool show_replays(subject *s, gb_status *status)
{
    gb_training training = {&s->t.task, &s->t.train, s->t.values};
    pass p = {0};
    gb_state *state = NULL;
    float *gradients = NULL;
    gb_device *device = open_device(s, status);
    char first[GB_HASH_SIZE], hash[GB_HASH_SIZE], often[32];
    uint32_t different = 0;
    bool ok = device && (gradients = gb_alloc(s->floats + 1, sizeof *gradients, status)) &&
              (state = gb_state_create(device, s->t.params, true, status)) &&
              gb_state_write(state, GB_ARENA_PARAMS, s->t.values, status) &&
              compare_pass_make(&p, state, &training, 0, false, status);
    for (uint32_t i = 0; ok && i < s->params->replays; i++) {
        ok = hash_run(s, &p, gradients, i ? hash : first, status);
        different += ok && i && memcmp(hash, first, sizeof hash);
    }
    snprintf(often, sizeof often, "%u times", s->params->replays);
    if (ok)
        say(s, "a training step, loss and all gradients", often, !different);
    compare_pass_free(&p);
    gb_state_destroy(state);
    gb_device_close(device);
    free(gradients);
    return ok;
}

/* ---- whole trainings ---- */

/* What a training gave. */
typedef struct outcome {
    float *values;                /* parameters [floats] */
    double (*log)[GB_MAX_LOSSES]; /* losses [steps] */
    uint32_t resumed_at;          /* first step of this process */
} outcome;

static void outcome_free(outcome *out)
{
    free(out->values);
    free(out->log);
    *out = (outcome){0};
}

/* One training on a device opened for it. resume_dir (may be NULL): for checkpoints, after every
 * step. */
static bool run_training(const subject *s, const gb_task *task, const char *resume_dir,
                         outcome *out, gb_status *status)
{
    gb_train_params train = s->t.train;
    gb_train_result result = {0};
    gb_device *device = open_device(s, status);
    train.resume_dir = resume_dir;
    train.checkpoint_s = resume_dir ? 1e-9 : 0;
    *out = (outcome){0};
    bool ok = device && (out->log = gb_alloc(train.schedule.steps, sizeof *out->log, status)) &&
              (out->values = gb_alloc(s->floats, sizeof *out->values, status));
    if (ok) {
        memcpy(out->values, s->t.values, s->floats * sizeof *out->values);
        ok = gb_train(device, task, &train, out->values, out->log, &result, status);
        out->resumed_at = result.resumed_at;
    }
    gb_device_close(device);
    return ok;
}

static bool same(const subject *s, const outcome *a, const outcome *b)
{
    return !memcmp(a->log, b->log, s->params->steps * sizeof *a->log) &&
           !memcmp(a->values, b->values, s->floats * sizeof *a->values);
}

/* Another training, which is to end as the first one did. */
static bool show_training(subject *s, const outcome *first, const char *what, gb_status *status)
{
    char often[32];
    outcome other;
    bool ok = run_training(s, &s->t.task, NULL, &other, status);
    snprintf(often, sizeof often, "2 runs of %u steps", s->params->steps);
    if (ok)
        say(s, what, often, same(s, first, &other));
    outcome_free(&other);
    return ok;
}

static bool show_barriers(subject *s, const outcome *first, gb_status *status)
{
    s->config.barriers = "full";
    bool ok = show_training(s, first, "few barriers against one before every kernel", status);
    s->config.barriers = s->params->config->barriers;
    return ok;
}

/* ---- less memory ---- */

/* Gradients of step 0 with fewer texts at once (0: all), layers kept or not. */
typedef struct gradient {
    float *values;                /* [floats] */
    double losses[GB_MAX_LOSSES]; /* of the step */
    uint64_t arena_bytes;         /* of activations */
} gradient;

static bool make_gradient(const subject *s, uint32_t micro_batch, bool recompute, gradient *out,
                          gb_status *status)
{
    gb_train_params train = s->t.train;
    gb_device *device = open_device(s, status);
    train.micro_batch = micro_batch;
    train.recompute = recompute;
    *out = (gradient){.values = gb_alloc(s->floats, sizeof *out->values, status)};
    bool ok = device && out->values &&
              gb_train_gradient(device, &s->t.task, &train, s->t.values, 0, out->values,
                                out->losses, &out->arena_bytes, status);
    gb_device_close(device);
    return ok;
}

static bool same_gradient(const subject *s, const gradient *a, const gradient *b)
{
    return !memcmp(a->values, b->values, s->floats * sizeof *a->values) &&
           !memcmp(a->losses, b->losses, sizeof a->losses);
}

/* The worst difference of a parameter's gradient, relative to the largest value of that. */
static double worst_difference(const subject *s, const gradient *a, const gradient *b)
{
    double worst = 0;
    for (uint32_t i = 0; i < gb_params_count(s->t.params); i++) {
        const gb_param *p = gb_params_at(s->t.params, i);
        double largest = 0, difference = 0;
        for (uint64_t k = p->offset; k < p->offset + (uint64_t)p->rows * p->ld; k++) {
            double d = fabs((double)a->values[k] - b->values[k]);
            largest = fmax(largest, fabs(b->values[k]));
            difference = d <= difference ? difference : isnan(d) ? INFINITY : d;
        }
        worst = fmax(worst, difference > 0 ? difference / largest : 0);
    }
    return worst;
}

static void say_memory(char often[64], const gradient *less, const gradient *more)
{
    snprintf(often, 64, "%.0f of %.0f KiB", less->arena_bytes / 1024., more->arena_bytes / 1024.);
}

/* Fewer texts at once, and layers computed again for these. */
static bool show_parts(subject *s, const gradient *whole, uint32_t micro_batch, gb_status *status)
{
    gradient parts, again = {0};
    char what[64], often[64];
    bool ok = make_gradient(s, micro_batch, false, &parts, status) &&
              make_gradient(s, micro_batch, true, &again, status);
    if (ok) {
        double worst = worst_difference(s, &parts, whole);
        snprintf(what, sizeof what, "parts of %u of %d pairs, cached gradients", micro_batch,
                 TRIAL_PAIRS);
        say_memory(often, &parts, whole);
        fprintf(s->params->out, "%-52s %-22s differ by %.1e, bound %.0e\n", what, often, worst,
                PARTS_BOUND);
        s->equal = s->equal && worst <= PARTS_BOUND;
        say_memory(often, &again, &parts);
        say(s, "the same, layers computed again against kept", often,
            same_gradient(s, &again, &parts));
    }
    free(parts.values);
    free(again.values);
    return ok;
}

static bool show_memory(subject *s, gb_status *status)
{
    static const uint32_t parts[] = {1, 2, 5};
    gradient whole, again = {0}, cut = {0};
    char often[64];
    bool ok = make_gradient(s, 0, false, &whole, status) &&
              make_gradient(s, 0, true, &again, status) &&
              make_gradient(s, TRIAL_PAIRS, false, &cut, status);
    if (ok) {
        say_memory(often, &again, &whole);
        say(s, "layers computed again for a gradient against kept", often,
            same_gradient(s, &again, &whole));
        say(s, "parts as large as the batch against the batch", "1 step",
            same_gradient(s, &cut, &whole));
    }
    for (size_t i = 0; ok && i < sizeof parts / sizeof *parts; i++)
        ok = show_parts(s, &whole, parts[i], status);
    free(whole.values);
    free(again.values);
    free(cut.values);
    return ok;
}

/* ---- kills ---- */

/* A task that ends its process. */
typedef struct killing {
    const gb_task *task; /* whose steps it makes until then */
    uint32_t kill_at;    /* step */
} killing;

static bool killing_sample(void *self, uint32_t step, gb_bucket *shape, gb_status *status)
{
    const killing *k = self;
    if (step == k->kill_at)
        gb_os_kill_this();
    return k->task->sample(k->task->self, step, shape, status);
}

static void killing_build(void *self, gb_builder *net, const gb_bucket *shape,
                          gb_tensor losses[GB_MAX_LOSSES])
{
    const killing *k = self;
    k->task->build(k->task->self, net, shape, losses);
}

bool gb_determinism_killed(const gb_determinism_params *params, const char *folder,
                           uint32_t kill_at, gb_status *status)
{
    subject s;
    outcome out = {0};
    bool ok = subject_make(&s, params, status);
    killing k = {&s.t.task, kill_at};
    gb_task task = {.self = &k, .sample = killing_sample, .build = killing_build};
    memcpy(task.loss_names, s.t.task.loss_names, sizeof task.loss_names);
    if (ok && run_training(&s, &task, folder, &out, status))
        gb_fail(status, GB_INTERNAL, NULL, NULL, "the run that was to be killed ended by itself");
    outcome_free(&out);
    compare_trial_free(&s.t);
    return false;
}

static bool show_kills(subject *s, const outcome *first, gb_status *status)
{
    const gb_determinism_params *params = s->params;
    uint32_t kills[] = {params->steps / 3, 2 * params->steps / 3};
    char often[32], *folder = gb_temporary_folder(params->config, "determinism", status);
    outcome out = {0};
    bool ok = folder && params->run_killed(params, folder, kills[0], status) &&
              params->run_killed(params, folder, kills[1], status) &&
              run_training(s, &s->t.task, folder, &out, status);
    if (ok && out.resumed_at != kills[1])
        ok = gb_fail(status, GB_INTERNAL, folder, NULL, "resumed at step %u, not at %u",
                     out.resumed_at, kills[1]);
    gb_temporary_remove(folder);
    snprintf(often, sizeof often, "2 kills in %u steps", params->steps);
    if (ok)
        say(s, "killed and resumed against undisturbed", often, same(s, first, &out));
    outcome_free(&out);
    return ok;
}

/* ---- all of it ---- */

bool gb_determinism(const gb_determinism_params *params, bool *equal, gb_status *status)
{
    subject s;
    outcome first = {0};
    bool ok = subject_make(&s, params, status) && show_replays(&s, status) &&
              run_training(&s, &s.t.task, NULL, &first, status) &&
              show_training(&s, &first, "a training, losses and parameters", status) &&
              show_barriers(&s, &first, status) && show_memory(&s, status) &&
              show_kills(&s, &first, status);
    *equal = s.equal;
    outcome_free(&first);
    compare_trial_free(&s.t);
    return ok;
}
