/* A batch in parts, and layers computed twice: the gradients of the whole batch, with dropout. */
#include "../parity/trust.h"
#include "gradients.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Operands rounded to 11 bits, over the layers of a model, as each device sums them. */
#define HALF_BOUND 6e-3

/* ---- operands of 16-bit floats ---- */

/* The gradient with operands of a precision. */
static gradient gradient_in(gb_device *device, const model *m, const gb_train_params *params,
                            gb_precision precision)
{
    gb_device_use_precision(device, precision);
    gradient g = gradient_by(device, m, params);
    gb_device_use_precision(device, GB_FP32);
    return g;
}

static void trust_rounded(const model *m, const char *name, const char *operands,
                          const gradient *rounded, const gradient *whole, double bound)
{
    char what[100];
    snprintf(what, sizeof what, "%s, products of %s: norm of the gradient's difference", name,
             operands);
    trust(what, "products of floats", apart(m, rounded, whole), bound);
}

/* Gradients that would vanish in half floats do not with the scale that such products bring. */
static void check_halves(gb_device *device, const model *m, const char *name)
{
    if (!gb_device_get_caps(device)->matrix.m)
        cr_skip_test("skipped: the device has no cooperative matrices of half floats");
    gb_train_params params = plain_params(m);
    gradient whole = gradient_by(device, m, &params);
    gradient scaled = gradient_in(device, m, &params, GB_FP16);
    params.loss_scale = 0x1p-14f;
    gradient small = gradient_in(device, m, &params, GB_FP16);
    trust_rounded(m, name, "half floats", &scaled, &whole, HALF_BOUND);
    cr_expect_gt(apart(m, &small, &whole), 4 * apart(m, &scaled, &whole),
                 "without a scale nothing is lost: %g", apart(m, &small, &whole));
    free(small.values);
    free(scaled.values);
    free(whole.values);
}

/* With bfloat16 nothing vanishes, and no scale is brought. */
static void check_bfloats(gb_device *device, const model *m, const char *name)
{
    if (!gb_device_get_caps(device)->matrix_bf16.m)
        cr_skip_test("skipped: the device has no cooperative matrices of bfloat16");
    gb_train_params params = plain_params(m);
    gradient whole = gradient_by(device, m, &params);
    gradient rounded = gradient_in(device, m, &params, GB_BF16);
    trust_rounded(m, name, "bfloat16", &rounded, &whole, 8 * HALF_BOUND);
    free(rounded.values);
    free(whole.values);
}

/* ---- pre-training ---- */

typedef struct objective_case {
    const char *objective;                 /* by name */
    void (*change)(tiny_params *settings); /* what differs from tiny_settings, or NULL */
    const char *name;                      /* where the objective's does not tell */
} objective_case;

static void one_sided(tiny_params *settings)
{
    settings->contrast = TINY_ONE_SIDED;
    settings->lm_weight = 2;
}

static void masked(tiny_params *settings)
{
    settings->decoder = TINY_MASKED;
    settings->decoder_layers = 2;
}

typedef void check_one(gb_device *device, const model *m, const char *name);

static void check_cases(check_one *by, const objective_case *cases, size_t count)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    tiny_generator(&t);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    for (size_t i = 0; i < count; i++) {
        gb_status status = {0};
        gb_bert_config config = tiny_config(&t, 16, 32, .1);
        config.layers = 3;
        tiny_params settings = tiny_settings();
        if (cases[i].change)
            cases[i].change(&settings);
        model m;
        model_make(&m, &t, &config, cases[i].objective, &settings);
        if (m.objective->prepare)
            MUST(m.objective->prepare(m.self, device, m.params, m.values, &status));
        by(device, &m, cases[i].name ? cases[i].name : cases[i].objective);
        model_free(&m);
    }
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
#define CHECK(by, ...)                                                                             \
    do {                                                                                           \
        static const objective_case cases[] = {__VA_ARGS__};                                       \
        check_cases(by, cases, sizeof cases / sizeof *cases);                                      \
    } while (0)

Test(micro, masked_language_models)
{
    CHECK(check_parts, {"mlm"}, {"condenser"}, {"bow"}, {"deepct"});
}

Test(micro, decoders)
{
    CHECK(check_parts, {"cotmae"}, {"cotmae", masked, "cotmae, masked decoder"}, {"autoencoding"},
          {"autoregression"}, {"bottleneck"}, {"enhanced"}, {"seed"}, {"simlm"});
}

Test(micro, compared_texts)
{
    CHECK(check_parts, {"cocondenser"}, {"cocondenser", one_sided, "cocondenser, one-sided"},
          {"costa"}, {"ict"}, {"simcse"}, {"prop"}, {"bprop"});
}

Test(micro, half_floats)
{
    CHECK(check_halves, {"mlm"}, {"cocondenser"}, {"cotmae"});
}

Test(micro, bfloat16)
{
    CHECK(check_bfloats, {"mlm"}, {"cocondenser"}, {"cotmae"});
}

Test(micro, shares_of_ranks)
{
    CHECK(check_shards, {"mlm"}, {"cocondenser"});
}

/* Every objective is above, but for the one that cannot be cut. */
Test(micro, says_what_cannot_be_cut)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, .1);
    tiny_params settings = tiny_settings();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_status status = {0};
    uint64_t bytes;
    double losses[GB_MAX_LOSSES];
    model m;
    model_make(&m, &t, &config, "contriever", &settings);
    gb_train_params params = {
        .params = m.params, .config = &config, .max_length = m.max_length, .label = "contriever"};
    params.micro_batch = 2;
    float *gradients = calloc(gb_params_floats(m.params), sizeof *gradients);
    cr_expect_not(gb_train_gradient(device, &m.task, &params, m.values, 0, gradients, losses,
                                    &bytes, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(strstr(status.what, "cannot be cut"), "%s", status.what);
    free(gradients);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- training ---- */

#define STEPS 9

/* Train a tiny coCondenser in parts; it kills itself before step `kill_at`. */
typedef struct killed {
    gb_task inner;    /* the objective's */
    uint32_t kill_at; /* step */
} killed;

static bool killed_sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    killed *k = self;
    if (step == k->kill_at)
        raise(SIGKILL);
    return k->inner.sample(k->inner.self, step, bucket, status);
}

static void killed_build(void *self, gb_builder *builder, const gb_bucket *bucket,
                         gb_tensor losses[GB_MAX_LOSSES])
{
    killed *k = self;
    k->inner.build(k->inner.self, builder, bucket, losses);
}

static uint32_t killed_count(const void *self)
{
    const killed *k = self;
    return k->inner.microbatch.count(k->inner.self);
}

static void killed_size(const void *self, uint32_t first, uint32_t count, gb_bucket *bucket)
{
    const killed *k = self;
    k->inner.microbatch.size(k->inner.self, first, count, bucket);
}

static bool killed_select(void *self, uint32_t first, uint32_t count, gb_status *status)
{
    killed *k = self;
    return k->inner.microbatch.select(k->inner.self, first, count, status);
}

static void killed_compare(void *self, gb_builder *builder, gb_tensor vectors,
                           gb_tensor losses[GB_MAX_LOSSES])
{
    killed *k = self;
    k->inner.microbatch.compare(k->inner.self, builder, vectors, losses);
}

static gb_task killed_task(killed *k)
{
    gb_task task = k->inner;
    task.self = k;
    task.sample = killed_sample;
    task.build = killed_build;
    task.microbatch = (gb_microbatch){killed_count, killed_size, killed_select,
                                      k->inner.microbatch.vectors, killed_compare};
    return task;
}

typedef struct training {
    gb_train_result result;           /* of it */
    double log[STEPS][GB_MAX_LOSSES]; /* losses */
    float values[1 << 14];            /* parameters afterwards */
} training;

static void train(training *out, uint32_t micro, const char *resume_dir, uint32_t kill_at)
{
    gb_status status = {0};
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_bert_config config = tiny_config(&t, 16, 32, .1);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, &t, &config, "cocondenser", &settings);
    gb_params_init(m.params, 4, m.values);
    killed k = {m.task, kill_at};
    gb_task task = killed_task(&k);
    gb_train_params params = {.params = m.params,
                              .config = &config,
                              .schedule = {GB_SCHEDULE_LINEAR, .01f, 0, 2, STEPS},
                              .adamw = {.9f, .999f, 1e-8f, .01f},
                              .max_norm = 1,
                              .max_length = TINY_LONGEST,
                              .label = "test",
                              .resume_dir = resume_dir,
                              .checkpoint_s = resume_dir ? 1e-9 : 0,
                              .micro_batch = micro,
                              .recompute = micro > 0};
    MUST(gb_train(device, &task, &params, m.values, out->log, &out->result, &status));
    cr_assert(gb_params_floats(m.params) <= sizeof out->values / sizeof *out->values);
    memcpy(out->values, m.values, gb_params_floats(m.params) * sizeof *m.values);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
}

Test(micro, goes_on_after_a_kill)
{
    scratch s = scratch_enter();
    training *whole = calloc(3, sizeof *whole), *quiet = whole + 1, *resumed = whole + 2;
    train(quiet, 2, NULL, UINT32_MAX);
    fflush(NULL);
    pid_t child = fork();
    cr_assert_neq(child, -1);
    if (child == 0) {
        train(resumed, 2, "resume", 5);
        _exit(0);
    }
    int ended;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL, "ended with %x", (unsigned)ended);
    train(resumed, 2, "resume", UINT32_MAX);
    cr_expect_eq(resumed->result.resumed_at, 5);
    cr_expect_eq(resumed->result.parts, 3);
    bool same = !memcmp(resumed->values, quiet->values, sizeof quiet->values) &&
                !memcmp(resumed->log, quiet->log, sizeof quiet->log);
    trust("a training in parts, killed and resumed: other bits", "the undisturbed one", !same, 0);
    /* And it is the training of the whole batch. */
    train(whole, 0, NULL, UINT32_MAX);
    double worst = 0;
    for (uint32_t i = 0; i < STEPS; i++)
        worst = fmax(worst, fabs(quiet->log[i][0] / whole->log[i][0] - 1));
    char what[100];
    snprintf(what, sizeof what, "losses of %u steps in parts", STEPS);
    trust(what, "whole batches, with dropout", worst, 1e-4);
    cr_expect_eq(whole->result.parts, 1);
    free(whole);
    scratch_leave(&s);
}
