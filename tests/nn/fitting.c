/* Trainings on devices of less and less memory: kept, computed again, cut, refused; and activations
 * kept as bfloat16. */
#include "../parity/trust.h"
#include "tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND 1e-5 /* float32 sums in another order, relative to a parameter's largest gradient */
#define STEP  2
/* What a tensor's gradient may differ from that of floats when activations are rounded to 8 bits:
 * of its norm, and of its largest value. */
#define NORM_BOUND  1e-2
#define VALUE_BOUND 4e-2
#define LOSS_BOUND  1e-2 /* losses of a short training, relative */
#define STEPS       9

typedef struct fitted {
    gb_train_params params;       /* as they were settled */
    float *gradients;             /* [gb_params_floats] of STEP */
    double losses[GB_MAX_LOSSES]; /* likewise */
    uint64_t arena_bytes;         /* of the largest program */
    gb_status status;             /* where it was refused; gradients NULL */
} fitted;

static gb_train_params params_of(const model *m, gb_recompute recompute)
{
    return (gb_train_params){.params = m->params,
                             .config = &m->config,
                             .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, STEPS},
                             .adamw = {.9f, .999f, 1e-8f, .01f},
                             .max_length = m->max_length,
                             .label = "test",
                             .recompute = recompute};
}

/* The gradient on a device with so many bytes; 0: all of them. */
static fitted gradient_in(const model *m, uint64_t bytes, uint64_t buffer_bytes,
                          gb_recompute recompute)
{
    fitted f = {.params = params_of(m, recompute)};
    char limits[100];
    snprintf(limits, sizeof limits, "memory=%llu,buffer=%llu", (unsigned long long)bytes,
             (unsigned long long)(buffer_bytes ? buffer_bytes : bytes));
    if (bytes)
        setenv("GABBRO_LIMITS", limits, 1);
    else
        unsetenv("GABBRO_LIMITS");
    gb_device *device = tiny_device(GB_USER_TRAIN);
    if (gb_train_fit(device, &m->task, &f.params, &f.status)) {
        gb_status status = {0};
        MUST(f.gradients = gb_alloc(gb_params_floats(m->params), sizeof *f.gradients, &status));
        MUST(gb_train_gradient(device, &m->task, &f.params, m->values, STEP, f.gradients, f.losses,
                               &f.arena_bytes, &status));
    }
    tiny_device_close(device);
    unsetenv("GABBRO_LIMITS");
    return f;
}

/* Memory in which parameters and these activations fit, with all that is left to others. */
static uint64_t room_for(const model *m, double activations)
{
    double parameters = 0;
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        parameters += 4. * (double)gb_params_arena_floats(m->params, (gb_arena_id)a);
    return (uint64_t)((parameters + activations * 17 / 16) * 8 / 7);
}

static bool same_bits(const model *m, const fitted *a, const fitted *b)
{
    return !memcmp(a->gradients, b->gradients,
                   gb_params_floats(m->params) * sizeof *a->gradients) &&
           !memcmp(a->losses, b->losses, sizeof a->losses);
}

static void check(const model *m, const char *name)
{
    char what[100];
    fitted kept = gradient_in(m, 0, 0, GB_RECOMPUTE_AUTO);
    cr_expect_eq(kept.params.recompute, GB_RECOMPUTE_NONE);
    cr_expect_eq(kept.params.micro_batch, 0);
    fitted layers = gradient_in(m, 0, 0, GB_RECOMPUTE_LAYERS);
    double most = (double)kept.arena_bytes, less = (double)layers.arena_bytes;
    cr_assert_lt(less, most * .8, "%g of %g bytes", less, most);

    fitted again = gradient_in(m, room_for(m, .5 * (most + less)), 0, GB_RECOMPUTE_AUTO);
    cr_expect_eq(again.params.recompute, GB_RECOMPUTE_LAYERS);
    cr_expect_eq(again.params.micro_batch, 0);
    snprintf(what, sizeof what, "%s that computes layers again to fit: other bits", name);
    trust(what, "the one that keeps them", !same_bits(m, &again, &kept), 0);

    fitted cut = gradient_in(m, room_for(m, .8 * less), 0, GB_RECOMPUTE_AUTO);
    cr_assert(cut.gradients, "%s", cut.status.what);
    cr_expect_gt(cut.params.micro_batch, 0);
    cr_expect_lt((double)cut.arena_bytes, .8 * less);
    double *wanted = malloc(gb_params_floats(m->params) * sizeof *wanted);
    for (uint64_t i = 0; i < gb_params_floats(m->params); i++)
        wanted[i] = kept.gradients[i];
    snprintf(what, sizeof what, "%s in micro-batches to fit: gradients", name);
    trust(what, "the whole batch", worst_gradient(m->params, cut.gradients, wanted), BOUND);
    free(wanted);

    fitted refused = gradient_in(m, room_for(m, 256), 0, GB_RECOMPUTE_AUTO);
    cr_expect_null(refused.gradients);
    cr_expect_eq(refused.status.code, GB_MEMORY);
    cr_expect(strstr(refused.status.what, "MiB") && refused.status.hint[0], "%s",
              refused.status.what);
    free(kept.gradients);
    free(layers.gradients);
    free(again.gradients);
    free(cut.gradients);
}

/* ---- activations as bfloat16 ---- */

static gb_train_params stored_params(const model *m, gb_storage storage, gb_recompute recompute,
                                     uint32_t micro_batch)
{
    gb_train_params params = params_of(m, recompute);
    params.storage = storage;
    params.micro_batch = micro_batch;
    return params;
}

static fitted gradient_by(gb_device *device, const model *m, const gb_train_params *params)
{
    gb_status status = {0};
    fitted f = {.params = *params};
    MUST(f.gradients = gb_alloc(gb_params_floats(m->params), sizeof *f.gradients, &status));
    MUST(gb_train_gradient(device, &m->task, params, m->values, STEP, f.gradients, f.losses,
                           &f.arena_bytes, &status));
    return f;
}

/* The distance of two gradients of all parameters, relative to the second one's norm. */
static double distance(const model *m, const float *got, const double *wanted)
{
    double squares = 0, all = 0;
    for (uint64_t i = 0; i < gb_params_arena_floats(m->params, GB_ARENA_GRADS); i++) {
        squares += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        all += wanted[i] * wanted[i];
    }
    return sqrt(squares / all);
}

/* Gradients against those of floats, which other tests hold to float64; whole and in parts, kept
 * and recomputed. The losses have the same bits: the forward pass is not rounded. */
static void check_stored(gb_device *device, const model *m, const char *name)
{
    char what[100];
    double *wanted = malloc(gb_params_floats(m->params) * sizeof *wanted);
    for (int i = 0; i < 4; i++) {
        gb_recompute recompute = i & 1 ? GB_RECOMPUTE_LAYERS : GB_RECOMPUTE_NONE;
        uint32_t micro = i & 2 ? 5 : 0;
        gb_train_params plain = stored_params(m, GB_STORE_FLOAT32, recompute, micro),
                        halves = stored_params(m, GB_STORE_BFLOAT16, recompute, micro);
        fitted a = gradient_by(device, m, &plain), b = gradient_by(device, m, &halves);
        for (uint64_t k = 0; k < gb_params_floats(m->params); k++)
            wanted[k] = a.gradients[k];
        const char *how = recompute ? ", recomputed" : "", *parts = micro ? ", in parts" : "";
        snprintf(what, sizeof what, "%s%s%s, bfloat16 activations: gradient", name, how, parts);
        trust(what, "float32 activations, of the norm", distance(m, b.gradients, wanted),
              NORM_BOUND);
        trust(what, "float32 activations", worst_gradient(m->params, b.gradients, wanted),
              VALUE_BOUND);
        if (!m->task.microbatch.vectors || !micro)
            cr_expect(!memcmp(a.losses, b.losses, sizeof a.losses), "the loss has other bits");
        cr_expect(memcmp(a.gradients, b.gradients, gb_params_floats(m->params) * sizeof(float)),
                  "nothing was rounded");
        cr_expect_lt((double)b.arena_bytes, (recompute ? 1.1 : .75) * (double)a.arena_bytes,
                     "%llu bytes, as floats %llu", (unsigned long long)b.arena_bytes,
                     (unsigned long long)a.arena_bytes);
        free(a.gradients);
        free(b.gradients);
    }
    free(wanted);
}

static void train(gb_device *device, const model *m, gb_storage storage,
                  double (*log)[GB_MAX_LOSSES])
{
    gb_status status = {0};
    gb_train_result result;
    gb_train_params params = stored_params(m, storage, GB_RECOMPUTE_NONE, 0);
    size_t bytes = gb_params_floats(m->params) * sizeof(float);
    float *values = malloc(bytes);
    gb_params_init(m->params, 4, values);
    MUST(gb_train(device, &m->task, &params, values, log, &result, &status));
    cr_expect_eq(result.storage, storage);
    free(values);
}

/* Losses of a short training. */
static void check_training(gb_device *device, const model *m, const char *name)
{
    char what[100];
    double plain[STEPS][GB_MAX_LOSSES], halves[STEPS][GB_MAX_LOSSES], worst = 0;
    train(device, m, GB_STORE_FLOAT32, plain);
    train(device, m, GB_STORE_BFLOAT16, halves);
    for (uint32_t s = 0; s < STEPS; s++)
        worst = fmax(worst, fabs(halves[s][0] / plain[s][0] - 1));
    snprintf(what, sizeof what, "%s, bfloat16 activations: losses of %u steps", name, STEPS);
    trust(what, "float32 activations", worst, LOSS_BOUND);
    cr_expect_lt(halves[STEPS - 1][0], halves[0][0], "it learns");
}

static void check_storage(const model *m, const char *name)
{
    gb_device *device = tiny_device(GB_USER_TRAIN);
    check_stored(device, m, name);
    check_training(device, m, name);
    tiny_device_close(device);
}

/* ---- objectives ---- */

static void check_objective(const char *objective, void (*check_it)(const model *, const char *))
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 64, .1);
    config.layers = 6;
    tiny_params settings = tiny_settings();
    settings.common.batch = 24;
    settings.common.max_length = TINY_LONGEST;
    model m;
    model_make(&m, &t, &config, objective, &settings);
    check_it(&m, objective);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(fitting, masked_language_model)
{
    check_objective("mlm", check);
}

Test(fitting, compared_texts)
{
    check_objective("cocondenser", check);
}

Test(fitting, masked_language_model_as_bfloat16)
{
    check_objective("mlm", check_storage);
}

Test(fitting, compared_texts_as_bfloat16)
{
    check_objective("cocondenser", check_storage);
}
