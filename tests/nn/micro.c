/* A batch in parts, and layers computed twice: the gradients of the whole batch, with dropout. */
#include "../parity/trust.h"
#include "tiny.h"

#include <gabbro/finetune.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Float32 sums in another order, relative to the largest gradient of a parameter. */
#define BOUND 1e-5
#define STEP  2
/* Operands rounded to 11 bits, over the layers of a model. */
#define HALF_BOUND 4e-3
/* Of the whole gradient, relative to its norm. */
#define SHARES_BOUND 1e-6

/* Gradients and losses of a step. */
typedef struct gradient {
    float *values;                /* [gb_params_floats] */
    double losses[GB_MAX_LOSSES]; /* of the task */
    uint64_t arena_bytes;         /* of activations */
} gradient;

static gb_train_params plain_params(const model *m)
{
    return (gb_train_params){.params = m->params,
                             .config = &m->config,
                             .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, 9},
                             .adamw = {.9f, .999f, 1e-8f, .01f},
                             .max_length = m->max_length,
                             .label = "test"};
}

static gradient gradient_by(gb_device *device, const model *m, const gb_train_params *params)
{
    gb_status status = {0};
    gradient g = {0};
    MUST(g.values = gb_alloc(gb_params_floats(m->params), sizeof *g.values, &status));
    MUST(gb_train_gradient(device, &m->task, params, m->values, STEP, g.values, g.losses,
                           &g.arena_bytes, &status));
    return g;
}

static gradient share_gradient(gb_device *device, const model *m, uint32_t gradient_shards,
                               uint32_t micro, bool recompute)
{
    gb_train_params params = plain_params(m);
    params.micro_batch = micro;
    params.recompute = recompute;
    params.gradient_shards = gradient_shards;
    return gradient_by(device, m, &params);
}

static gradient make_gradient(gb_device *device, const model *m, uint32_t micro, bool recompute)
{
    return share_gradient(device, m, 0, micro, recompute);
}

static double worst_of(const model *m, const gradient *got, const gradient *wanted)
{
    size_t floats = gb_params_floats(m->params);
    double *numbers = malloc(floats * sizeof *numbers);
    for (size_t i = 0; i < floats; i++)
        numbers[i] = wanted->values[i];
    double worst = worst_gradient(m->params, got->values, numbers);
    free(numbers);
    for (int l = 0; l < GB_MAX_LOSSES && m->task.loss_names[l]; l++)
        cr_expect_float_eq(got->losses[l], wanted->losses[l], 2e-6 * fabs(wanted->losses[l]),
                           "%s: %.9g, not %.9g", m->task.loss_names[l], got->losses[l],
                           wanted->losses[l]);
    return worst;
}

static void expect_same_gradient(const model *m, const char *what, const gradient *a,
                                 const gradient *b)
{
    size_t bytes = gb_params_floats(m->params) * sizeof *a->values;
    bool same =
        !memcmp(a->values, b->values, bytes) && !memcmp(a->losses, b->losses, sizeof a->losses);
    cr_expect(same, "%s changes bits", what);
}

/* The same, with less memory. */
static void check_recomputing(gb_device *device, const model *m, uint32_t micro,
                              const gradient *kept)
{
    gradient again = make_gradient(device, m, micro, true);
    expect_same_gradient(m, "computing layers again", &again, kept);
    cr_expect_lt(again.arena_bytes, kept->arena_bytes, "%llu bytes, kept %llu",
                 (unsigned long long)again.arena_bytes, (unsigned long long)kept->arena_bytes);
    free(again.values);
}

/* A power of two changes no bits. */
static void check_scaling(gb_device *device, const model *m, uint32_t micro, const gradient *plain)
{
    gb_train_params params = plain_params(m);
    params.micro_batch = micro;
    params.loss_scale = 1024;
    gradient scaled = gradient_by(device, m, &params);
    expect_same_gradient(m, "a scaled loss", &scaled, plain);
    free(scaled.values);
}

/* Parts of 1, 2 and 3 texts of the batch against all at once; some do not divide it. */
static void check(gb_device *device, const model *m, const char *name)
{
    gradient whole = make_gradient(device, m, 0, false);
    uint32_t texts = m->task.microbatch.count(m->task.self);
    double worst = 0;
    check_recomputing(device, m, 0, &whole);
    check_scaling(device, m, 0, &whole);
    for (uint32_t micro = 1; micro <= 3; micro++) {
        gradient parts = make_gradient(device, m, micro, false);
        worst = fmax(worst, worst_of(m, &parts, &whole));
        if (micro == 2) {
            check_recomputing(device, m, micro, &parts);
            check_scaling(device, m, micro, &parts);
        }
        free(parts.values);
    }
    gradient larger = make_gradient(device, m, texts + 1, false);
    expect_same_gradient(m, "a part larger than the batch", &larger, &whole);
    free(larger.values);
    free(whole.values);
    char what[100];
    snprintf(what, sizeof what, "%s in parts of 1, 2, 3 of %u texts: gradients", name, texts);
    trust(what, "the whole batch, with dropout", worst, BOUND);
}

/* Of the difference of two gradients, relative to the second. */
static double apart(const model *m, const gradient *a, const gradient *b)
{
    double squares = 0, whole = 0;
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *p = gb_params_at(m->params, i);
        for (uint32_t k = 0; k < p->rows * p->cols; k++) { /* padding holds anything */
            uint64_t at = p->offset + (uint64_t)(k / p->cols) * p->ld + k % p->cols;
            double difference = (double)a->values[at] - b->values[at];
            squares += difference * difference;
            whole += (double)b->values[at] * b->values[at];
        }
    }
    return sqrt(squares / whole);
}

/* A batch in shares, as ranks have it: one share is the batch in parts; several, more than there
 * are texts among them, give its gradients. */
static void check_shares(gb_device *device, const model *m, const char *name)
{
    gradient whole = make_gradient(device, m, 0, false), parts = make_gradient(device, m, 2, false);
    gradient one = share_gradient(device, m, 1, 2, false);
    uint32_t texts = m->task.microbatch.count(m->task.self);
    double worst = 0, norm = 0;
    expect_same_gradient(m, "one share", &one, &parts);
    for (uint32_t gradient_shards = 2; gradient_shards <= 8; gradient_shards *= 2) {
        gradient some =
            share_gradient(device, m, gradient_shards, gradient_shards == 4 ? 1 : 0, false);
        worst = fmax(worst, worst_of(m, &some, &whole));
        norm = fmax(norm, apart(m, &some, &whole));
        free(some.values);
    }
    free(one.values);
    free(parts.values);
    free(whole.values);
    char what[100];
    snprintf(what, sizeof what, "%s in 2, 4, 8 shares of %u texts: gradients", name, texts);
    trust(what, "the whole batch, with dropout", worst, BOUND);
    snprintf(what, sizeof what, "%s in 2, 4, 8 shares: norm of the gradient's difference", name);
    trust(what, "the whole batch, with dropout", norm, SHARES_BOUND);
}

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

Test(micro, masked_language_models, .timeout = 120)
{
    CHECK(check, {"mlm"}, {"condenser"}, {"bow"});
}

Test(micro, decoders, .timeout = 120)
{
    CHECK(check, {"cotmae"}, {"cotmae", masked, "cotmae, masked decoder"}, {"autoencoding"},
          {"autoregression"}, {"bottleneck"}, {"enhanced"}, {"seed"}, {"simlm"});
}

Test(micro, compared_texts, .timeout = 120)
{
    CHECK(check, {"cocondenser"}, {"cocondenser", one_sided, "cocondenser, one-sided"}, {"costa"},
          {"ict"}, {"simcse"}, {"prop"}, {"bprop"});
}

Test(micro, half_floats, .timeout = 120)
{
    CHECK(check_halves, {"mlm"}, {"cocondenser"}, {"cotmae"});
}

Test(micro, bfloat16, .timeout = 120)
{
    CHECK(check_bfloats, {"mlm"}, {"cocondenser"}, {"cotmae"});
}

Test(micro, shares_of_ranks, .timeout = 120)
{
    CHECK(check_shares, {"mlm"}, {"cocondenser"});
}

/* Every objective is above, but for the one that cannot be cut. */
Test(micro, says_what_cannot_be_cut, .timeout = 60)
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

/* ---- fine-tuning ---- */

typedef struct finetune_case {
    const char *name;            /* of the trust lines */
    gb_projector_kind projector; /* on the vectors */
    gb_pooling pooling;          /* of states */
    bool normalize;              /* vectors of length 1 */
    float temperature;           /* of scores */
} finetune_case;

/* The whole batch against the float64 reference, and that against finite differences. */
static void check_reference(gb_device *device, const model *m, const char *name)
{
    pass p = compare_pass_make(m, device, STEP, 0);
    size_t bytes = gb_params_floats(m->params) * sizeof(double);
    double *start = malloc(bytes);
    memcpy(start, gb_reference_arena(p.reference, GB_ARENA_PARAMS), bytes);
    gb_reference_run(p.reference);
    double wanted = *gb_reference_f(p.reference, p.losses[0]);
    cr_expect_float_eq(p.loss[0], wanted, 2e-6 * fabs(wanted), "%.9g, not %.9g", p.loss[0], wanted);
    char what[100];
    snprintf(what, sizeof what, "%s: gradient of every parameter", name);
    trust(what, "float64 reference",
          worst_gradient(m->params, p.gradients, gb_reference_arena(p.reference, GB_ARENA_GRADS)),
          BOUND);
    check_differences(&p, m->params, start);
    free(start);
    compare_pass_free(&p);
}

/* A training set by hand: query i belongs to passage i, the others are negatives. */
static void check_finetuning(const finetune_case *c)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    enum { QUERIES = 4, PASSAGES = 8 };
    gb_training_query queries[QUERIES];
    uint32_t passages[QUERIES * PASSAGES];
    for (uint32_t q = 0; q < QUERIES; q++) {
        queries[q] = (gb_training_query){q, q * PASSAGES, 1, q * PASSAGES + 1, PASSAGES - 1};
        for (uint32_t p = 0; p < PASSAGES; p++)
            passages[q * PASSAGES + p] = (q + p) % t.collection->passages;
    }
    gb_training_set set = {.queries = queries, .count = QUERIES, .passages = passages};
    gb_finetune_params settings = {.batch = 3,
                                   .negatives = 2,
                                   .max_query_length = 12,
                                   .max_passage_length = TINY_LONGEST,
                                   .pooling = c->pooling,
                                   .normalize = c->normalize,
                                   .temperature = c->temperature,
                                   .seed = 5};
    model m = {.config = tiny_config(&t, 16, 32, .1), .max_length = TINY_LONGEST};
    m.config.layers = 3;
    const gb_finetune_data data = {&set, &t.tokens, t.vocab, &m.bert, NULL};
    MUST(m.params = gb_params_create(&status));
    MUST(gb_bert_declare(m.params, &m.config, false, &m.bert, &status));
    MUST(gb_bert_add_projector(m.params, &m.bert, c->projector, &status));
    MUST(m.self = gb_finetune_create(&settings, &data, m.params, &m.task, &status));
    gb_params_freeze(m.params);
    MUST(m.values = gb_alloc(gb_params_floats(m.params), sizeof *m.values, &status));
    gb_params_init(m.params, 7, m.values);
    check_reference(device, &m, c->name);
    check(device, &m, c->name);
    if (c->projector == GB_PROJECTOR_NONE)
        check_shares(device, &m, c->name);
    gb_finetune_destroy(m.self);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(micro, finetuning, .timeout = 120)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning"});
}

Test(micro, finetuning_with_a_projector, .timeout = 120)
{
    check_finetuning(
        &(finetune_case){.name = "fine-tuning, projected", .projector = GB_PROJECTOR_NONLINEAR});
}

Test(micro, finetuning_of_means, .timeout = 120)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, cosines of means",
                                      .pooling = GB_POOLING_MEAN,
                                      .normalize = true,
                                      .temperature = .5f});
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

Test(micro, goes_on_after_a_kill, .timeout = 120)
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
