/* The training loop: it learns, repeats itself bit by bit, and goes on where it was stopped. */
#include "../parity/trust.h"
#include "tiny.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 12

/* ---- one training ---- */

typedef struct training {
    uint32_t steps;          /* of the schedule */
    double rate;             /* peak */
    double dropout;          /* of states and attention */
    const char *resume_dir;  /* or NULL */
    double checkpoint_s;     /* seconds between checkpoints */
    double checkpoint_share; /* of the time that they may take */
    int signal;              /* raised ... */
    uint32_t at;             /* ... at this step */
    bool poisoned;           /* a parameter starts as NaN */
    const char *objective;   /* NULL: coCondenser */
    float loss_scale;        /* at first; 0: none */
} training;

typedef struct outcome {
    gb_code code;                  /* of gb_train */
    gb_status status;              /* of its failure */
    gb_train_cost cost;            /* said before, for all steps */
    gb_train_result result;        /* when it went well */
    float values[1 << 14];         /* parameters afterwards */
    uint64_t floats;               /* of values */
    double log[64][GB_MAX_LOSSES]; /* losses */
} outcome;

/* Train a tiny model from its usual start. */
static outcome *train(const training *how)
{
    gb_status status = {0};
    tiny t = tiny_make();
    tiny_generator(&t);
    gb_bert_config config = tiny_config(&t, 16, 32, how->dropout);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, &t, &config, how->objective ? how->objective : "cocondenser", &settings);
    gb_params_init(m.params, 4, m.values);
    outcome *o = gb_alloc(1, sizeof *o, &status);
    o->floats = gb_params_floats(m.params);
    cr_assert(o->floats <= sizeof o->values / 4 && how->steps <= 64);
    if (how->poisoned)
        m.values[0] = NAN;
    watched w = {.inner = m.task, .signal = how->signal, .at = how->at};
    gb_task task = watched_task(&w);
    gb_train_params params = {.params = m.params,
                              .config = &config,
                              .schedule = {GB_SCHEDULE_LINEAR, (float)how->rate, 0, 2, how->steps},
                              .adamw = {.9f, .999f, 1e-8f, .01f},
                              .max_norm = 1,
                              .max_length = TINY_LONGEST,
                              .label = "test",
                              .resume_dir = how->resume_dir,
                              .checkpoint_s = how->checkpoint_s,
                              .checkpoint_share = how->checkpoint_share,
                              .loss_scale = how->loss_scale};
    gb_device *device = tiny_device(GB_USER_TRAIN);
    if (m.objective->prepare)
        MUST(m.objective->prepare(m.self, device, m.params, m.values, &status));
    if (!how->signal)
        MUST(gb_train_estimate(&task, &params, how->steps, &o->cost, &status));
    bool ok = gb_train(device, &task, &params, m.values, o->log, &o->result, &o->status);
    cr_expect_eq(ok, o->status.code == GB_OK);
    o->code = o->status.code;
    memcpy(o->values, m.values, o->floats * sizeof *m.values);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    return o;
}

/* Bit by bit: parameters, the losses of all steps, and their means. */
static void expect_same(const char *what, const outcome *a, const outcome *b, uint32_t steps)
{
    uint64_t differ = 0;
    cr_assert_eq(a->code, GB_OK, "%s", a->status.what);
    cr_assert_eq(b->code, GB_OK, "%s", b->status.what);
    for (uint64_t i = 0; i < a->floats; i++)
        differ += memcmp(&a->values[i], &b->values[i], sizeof *a->values) != 0;
    cr_expect_eq(differ, 0, "%llu parameters differ", (unsigned long long)differ);
    for (uint32_t i = 0; i < steps; i++)
        for (int l = 0; l < 3; l++) {
            cr_expect_eq(a->log[i][l], b->log[i][l], "loss %d of step %u: %.9g and %.9g", l, i,
                         a->log[i][l], b->log[i][l]);
            differ += a->log[i][l] != b->log[i][l];
        }
    for (int l = 0; l < 3; l++)
        cr_expect_eq(a->result.final_loss[l], b->result.final_loss[l]);
    char against[100];
    snprintf(against, sizeof against, "the undisturbed one (%llu values)",
             (unsigned long long)(a->floats + 3 * steps));
    trust_note(what, against, (double)differ, 0);
}

/* The same in a process of its own, which a signal may end or interrupt for good. Returns what
 * waitpid tells. */
static int train_in_child(const training *how)
{
    fflush(NULL);
    pid_t child = fork();
    cr_assert_neq(child, -1);
    if (child == 0) {
        gb_install_signals();
        outcome *o = train(how);
        _exit(o->code);
    }
    int result;
    cr_assert_eq(waitpid(child, &result, 0), child);
    return result;
}

/* ---- learning ---- */

Test(training, loss_goes_down)
{
    scratch s = scratch_enter();
    training how = {.steps = 60, .rate = .02};
    outcome *o = train(&how);
    cr_assert_eq(o->code, GB_OK, "%s", o->status.what);
    cr_expect_eq(o->result.steps, 60);
    cr_expect_gt(o->result.flops, 0);
    /* Two masked LMs start at the logarithm of the vocabulary each. */
    cr_expect_float_eq(o->log[0][1], 2 * log(63), .1, "masked LM starts at %g", o->log[0][1]);
    cr_expect_lt(o->result.final_loss[1], .88 * o->result.first_loss[1], "masked LM: %g to %g",
                 o->result.first_loss[1], o->result.final_loss[1]);
    for (uint32_t i = 0; i < 60; i++)
        cr_expect_float_eq(o->log[i][0], o->log[i][1] + o->log[i][2], 1e-5);
    free(o);
    scratch_leave(&s);
}

Test(training, repeats_itself)
{
    scratch s = scratch_enter();
    training how = {.steps = STEPS, .rate = .01, .dropout = .1};
    outcome *first = train(&how), *second = train(&how);
    expect_same("a training again: parameters and losses with other bits", first, second, STEPS);
    how.dropout = .2; /* and dropout is really on */
    free(second);
    second = train(&how);
    cr_expect_neq(first->log[0][0], second->log[0][0]);
    free(first);
    free(second);
    scratch_leave(&s);
}

/* The mean of the first and the last tenth of the steps. */
/* With the same batches the same arithmetic, but for kernels that only some devices use. */
Test(training, is_estimated_without_a_device)
{
    outcome *o = train(&(training){.steps = STEPS, .rate = 1e-3});
    double said = STEPS * (o->cost.flops + o->cost.update_flops);
    cr_expect(fabs(said - o->result.flops) <= .02 * o->result.flops, "%g operations, said were %g",
              o->result.flops, said);
    cr_expect_eq(o->cost.parameter_bytes, 16 * o->floats);
    cr_expect_gt(o->cost.activation_bytes, 0);
    free(o);
}

Test(training, result_is_a_mean)
{
    scratch s = scratch_enter();
    training how = {.steps = 21, .rate = .01};
    outcome *o = train(&how);
    for (int l = 0; l < 3; l++) {
        cr_expect_float_eq(o->result.first_loss[l], (o->log[0][l] + o->log[1][l]) / 2, 1e-12);
        cr_expect_float_eq(o->result.final_loss[l], (o->log[19][l] + o->log[20][l]) / 2, 1e-12);
    }
    free(o);
    scratch_leave(&s);
}

Test(training, reports_a_loss_that_is_no_number)
{
    scratch s = scratch_enter();
    gb_log_set_level(GB_LOG_ERROR);
    training how = {.steps = STEPS,
                    .rate = .01,
                    .poisoned = true,
                    .resume_dir = "resume",
                    .checkpoint_s = 1e-9};
    outcome *o = train(&how);
    cr_expect_eq(o->code, GB_MISMATCH);
    cr_expect(strstr(o->status.what, "step 0"), "%s", o->status.what);
    cr_expect(strstr(o->status.hint, "learning rate"), "%s", o->status.hint);
    cr_expect_not(gb_file_exists("resume/checkpoint"), "a broken state was kept");
    free(o);
    scratch_leave(&s);
}

/* ---- the optimiser's steps ---- */

/* Three steps of AdamW in float64, on gradients of the reference: clipped by their common norm,
 * moments corrected from the first step on, biases and layer norms not decayed. */
static void adamw_by_hand(const model *m, gb_device *device, const gb_train_params *how, double *p)
{
    uint64_t floats = gb_params_floats(m->params);
    double *first = calloc(floats, sizeof *first), *second = calloc(floats, sizeof *second);
    for (uint32_t step = 0; step < how->schedule.steps; step++) {
        for (uint64_t i = 0; i < floats; i++)
            m->values[i] = (float)p[i];
        pass now = compare_pass_make(m, device, step, 0);
        gb_reference_run(now.reference);
        const double *gradient = gb_reference_arena(now.reference, GB_ARENA_GRADS);
        double norm = 0, rate = how->schedule.peak * (1 - (double)step / how->schedule.steps);
        for (uint64_t i = 0; i < floats; i++)
            norm += gradient[i] * gradient[i];
        double clip = fmin(1, how->max_norm / sqrt(norm));
        cr_assert_lt(clip, 1, "nothing is clipped in step %u", step);
        for (uint32_t k = 0; k < gb_params_count(m->params); k++) {
            const gb_param *param = gb_params_at(m->params, k);
            bool decays = !strstr(param->name, ".bias") && !strstr(param->name, "LayerNorm");
            for (uint64_t i = param->offset; i < param->offset + param->rows * param->ld; i++) {
                double g = gradient[i] * clip;
                first[i] = .9 * first[i] + .1 * g;
                second[i] = .999 * second[i] + .001 * g * g;
                p[i] -= decays ? rate * how->adamw.decay * p[i] : 0;
                p[i] -= rate * first[i] / (1 - pow(.9, step + 1)) /
                        (sqrt(second[i] / (1 - pow(.999, step + 1))) + how->adamw.eps);
            }
        }
        compare_pass_free(&now);
    }
    free(first);
    free(second);
}

Test(training, takes_the_steps_of_adamw)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, .1);
    config.vocab_size = 63; /* its bias has padding, which is no part of the norm */
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, &t, &config, "cocondenser", &settings);
    uint64_t floats = gb_params_floats(m.params);
    double *by_hand = calloc(floats, sizeof *by_hand);
    float *start = calloc(floats, sizeof *start);
    for (uint64_t i = 0; i < floats; i++)
        by_hand[i] = start[i] = m.values[i];
    /* A large eps, so that the size of the gradients matters. */
    gb_train_params how = {.params = m.params,
                           .config = &config,
                           .schedule = {GB_SCHEDULE_LINEAR, .02f, 0, 0, 3},
                           .adamw = {.9f, .999f, .01f, .5f},
                           .max_norm = .25f,
                           .max_length = TINY_LONGEST,
                           .label = "test"};
    gb_device *device = tiny_device(GB_USER_TRAIN);
    adamw_by_hand(&m, device, &how, by_hand);
    gb_train_result result;
    MUST(gb_train(device, &m.task, &how, start, NULL, &result, &status));
    double worst = 0;
    for (uint64_t i = 0; i < floats; i++)
        worst = fmax(worst, fabs(start[i] - by_hand[i]));
    cr_expect_leq(worst, 2e-6, "values differ by %g", worst);
    tiny_device_close(device);
    free(by_hand);
    free(start);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- the scale of the loss ---- */

/* Squares of gradients times this are no numbers; some halvings later they are. */
#define TOO_LARGE 0x1p+66f

/* Powers of two change no bits. */
Test(training, scaled_is_the_same)
{
    scratch s = scratch_enter();
    training how = {.steps = STEPS, .rate = .01, .dropout = .1};
    outcome *plain = train(&how);
    how.loss_scale = 4096;
    outcome *scaled = train(&how);
    expect_same("a training with a scaled loss: values with other bits", plain, scaled, STEPS);
    cr_expect_eq(scaled->result.skipped, 0);
    cr_expect_eq(scaled->result.loss_scale, 4096);
    free(plain);
    free(scaled);
    scratch_leave(&s);
}

Test(training, scale_is_looked_for)
{
    scratch s = scratch_enter();
    training how = {
        .steps = 2, .rate = .01, .loss_scale = TOO_LARGE}; /* the first warms up: rate 0 */
    outcome *left_out = train(&how);
    how.rate = 0;
    outcome *still = train(&how);
    how.steps = STEPS;
    how.rate = .01;
    outcome *all = train(&how);
    cr_assert_eq(all->code, GB_OK, "%s", all->status.what);
    cr_expect_eq(left_out->result.skipped, 2);
    cr_expect_eq(memcmp(left_out->values, still->values, still->floats * sizeof *still->values), 0,
                 "a step that is left out moved parameters");
    cr_expect(all->result.skipped >= 3 && all->result.skipped < STEPS / 2, "%u steps left out",
              all->result.skipped);
    cr_expect_eq(all->result.loss_scale, ldexpf(TOO_LARGE, -(int)all->result.skipped));
    cr_expect_lt(all->log[STEPS - 1][0], .98 * all->log[0][0], "nothing was learned");
    free(left_out);
    free(still);
    free(all);
    scratch_leave(&s);
}

/* ---- stopping and going on ---- */

Test(training, goes_on_after_a_signal)
{
    scratch s = scratch_enter();
    training how = {.steps = STEPS, .rate = .01, .dropout = .1};
    outcome *whole = train(&how);
    how.resume_dir = "resume";
    how.signal = SIGTERM;
    for (how.at = 3; how.at < STEPS; how.at += 4) { /* stopped twice; in its last step it is done */
        int result = train_in_child(&how), wanted = how.at + 1 < STEPS ? GB_INTERRUPTED : GB_OK;
        cr_assert(WIFEXITED(result) && WEXITSTATUS(result) == wanted, "at %u ended with %x", how.at,
                  (unsigned)result);
    }
    how.signal = 0;
    outcome *resumed = train(&how);
    cr_expect_eq(resumed->result.resumed_at, 12);
    expect_same("a training stopped by a signal and resumed: values with other bits", whole,
                resumed, STEPS);
    free(whole);
    free(resumed);
    scratch_leave(&s);
}

/* Checkpoints that may take a billionth of the time: the first is the last for long. */
Test(training, checkpoints_take_their_share)
{
    scratch s = scratch_enter();
    training how = {.steps = STEPS,
                    .rate = .01,
                    .dropout = .1,
                    .resume_dir = "resume",
                    .checkpoint_s = 1e-9,
                    .checkpoint_share = 1e-9,
                    .signal = SIGKILL,
                    .at = 7};
    int result = train_in_child(&how);
    cr_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL, "ended with %x",
              (unsigned)result);
    how.signal = 0;
    outcome *resumed = train(&how);
    cr_expect_eq(resumed->result.resumed_at, 1);
    free(resumed);
    scratch_leave(&s);
}

static void kill_and_resume(const char *objective, float loss_scale)
{
    scratch s = scratch_enter();
    training how = {.steps = STEPS,
                    .rate = .01,
                    .dropout = .1,
                    .objective = objective,
                    .loss_scale = loss_scale};
    outcome *whole = train(&how);
    how.resume_dir = "resume";
    how.checkpoint_s = 1e-9; /* after every step */
    how.signal = SIGKILL;
    how.at = 7;
    int result = train_in_child(&how);
    cr_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL, "ended with %x",
              (unsigned)result);
    how.signal = 0;
    how.checkpoint_s = 0;
    outcome *resumed = train(&how);
    cr_expect_eq(resumed->result.resumed_at, 7);
    expect_same("a training killed and resumed: values with other bits", whole, resumed, STEPS);
    cr_expect_eq(resumed->result.skipped, whole->result.skipped);
    cr_expect_eq(resumed->result.loss_scale, whole->result.loss_scale);
    free(whole);
    free(resumed);
    scratch_leave(&s);
}

Test(training, goes_on_after_a_kill)
{
    kill_and_resume(NULL, 0);
}

/* In the steps that look for a scale of the loss. */
Test(training, scaled_goes_on_after_a_kill)
{
    kill_and_resume(NULL, TOO_LARGE);
}

/* The queue and the encoder of keys live on the device between steps. */
Test(training, contriever_goes_on_after_a_kill)
{
    kill_and_resume("contriever", 0);
}

/* Draws of a model that no checkpoint holds. */
Test(training, simlm_goes_on_after_a_kill)
{
    kill_and_resume("simlm", 0);
}

/* What the process says on stderr while it trains. */
static outcome *train_listening(const training *how, char **said)
{
    fflush(stderr);
    int old = dup(STDERR_FILENO);
    FILE *file = freopen("said", "w", stderr);
    cr_assert(old >= 0 && file);
    outcome *o = train(how);
    fflush(stderr);
    cr_assert(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    cr_assert_not_null(*said = gb_read_file("said", NULL, NULL));
    return o;
}

/* With a checkpoint that cannot be used, the run says so and starts again. */
static void expect_new_start(training how, const outcome *whole, const char *bytes, size_t length,
                             const char *complaint)
{
    char *said;
    cr_assert(gb_write_file("resume/checkpoint", bytes, length, NULL));
    outcome *o = train_listening(&how, &said);
    cr_expect_eq(o->result.resumed_at, 0);
    cr_expect(strstr(said, "resume/checkpoint") && strstr(said, complaint) &&
                  strstr(said, "starting again"),
              "\"%s\" does not tell \"%s\"", said, complaint);
    expect_same("a training with a damaged checkpoint: values with other bits", whole, o,
                how.steps);
    free(said);
    free(o);
}

Test(training, ignores_a_damaged_checkpoint)
{
    scratch s = scratch_enter();
    training how = {.steps = 4, .rate = .01};
    outcome *whole = train(&how);
    how.resume_dir = "resume";
    how.checkpoint_s = 1e-9;
    free(train(&how));
    how.checkpoint_s = 0;
    size_t length;
    char *bytes = gb_read_file("resume/checkpoint", &length, NULL);
    cr_assert_not_null(bytes);
    expect_new_start(how, whole, bytes, length - 1, "cut short");
    expect_new_start(how, whole, bytes, 10, "not a checkpoint");
    bytes[length / 2] ^= 1;
    expect_new_start(how, whole, bytes, length, "damaged");
    bytes[length / 2] ^= 1;
    how.steps = 3; /* the checkpoint is behind step 4 */
    outcome *shorter = train(&(training){.steps = 3, .rate = .01});
    expect_new_start(how, shorter, bytes, length, "another model");
    free(bytes);
    free(shorter);
    free(whole);
    scratch_leave(&s);
}

/* ---- schedules ---- */

Test(schedule, linear)
{
    gb_schedule s = {GB_SCHEDULE_LINEAR, .4f, .5f, 4, 20};
    cr_expect_eq(gb_schedule_at(&s, 0), 0);
    cr_expect_float_eq(gb_schedule_at(&s, 1), .1, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 4), .4, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 8), .3, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 19), .025, 1e-7);
    cr_expect_eq(gb_schedule_at(&s, 20), 0);
    cr_expect_eq(gb_schedule_at(&s, 100), 0);
}

Test(schedule, cosine_ends_at_its_floor)
{
    gb_schedule s = {GB_SCHEDULE_COSINE, .4f, .1f, 4, 20};
    cr_expect_float_eq(gb_schedule_at(&s, 2), .2, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 4), .4, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 8), .4 * (.9 * .5 * (1 + sqrt(.5)) + .1), 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 12), .4 * .55, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 20), .04, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 100), .04, 1e-7);
}

Test(schedule, constant)
{
    gb_schedule s = {GB_SCHEDULE_CONSTANT, .4f, .5f, 4, 20};
    cr_expect_float_eq(gb_schedule_at(&s, 3), .3, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 4), .4, 1e-7);
    cr_expect_float_eq(gb_schedule_at(&s, 19), .4, 1e-7);
    gb_schedule none = {GB_SCHEDULE_LINEAR, .4f, 0, 0, 0}; /* no step at all */
    cr_expect_float_eq(gb_schedule_at(&none, 0), .4, 1e-7);
}
