/* Trainings on devices of less and less memory: kept, computed again, cut, refused. */
#include "../parity/trust.h"
#include "tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND 1e-5 /* float32 sums in another order, relative to a parameter's largest gradient */
#define STEP  2

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
                             .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, 9},
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

static void check_objective(const char *objective)
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
    check(&m, objective);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(fitting, masked_language_model, .timeout = 120)
{
    check_objective("mlm");
}

Test(fitting, compared_texts, .timeout = 120)
{
    check_objective("cocondenser");
}
