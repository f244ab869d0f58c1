#include "gradients.h"

#include "../parity/trust.h"

#include <math.h>
#include <string.h>

/* Float32 sums in another order, relative to the largest gradient of a parameter. The most is
 * MarginMSE's, whose gradient is what remains of differences of scores: 1.2e-5 with the scalar
 * kernels. */
#define BOUND 2e-5
/* Of the whole gradient, relative to its norm. */
#define SHARES_BOUND 1e-6

gb_train_params plain_params(const model *m)
{
    return (gb_train_params){.params = m->params,
                             .config = &m->config,
                             .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, 9},
                             .adamw = {.9f, .999f, 1e-8f, .01f},
                             .max_length = m->max_length,
                             .label = "test"};
}

gradient gradient_by(gb_device *device, const model *m, const gb_train_params *params)
{
    gb_status status = {0};
    gradient g = {0};
    MUST(g.values = gb_alloc(gb_params_floats(m->params), sizeof *g.values, &status));
    MUST(gb_train_gradient(device, &m->task, params, m->values, GRADIENT_STEP, g.values, g.losses,
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

void check_parts(gb_device *device, const model *m, const char *name)
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

double apart(const model *m, const gradient *a, const gradient *b)
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

void check_shards(gb_device *device, const model *m, const char *name)
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
    snprintf(what, sizeof what, "%s in 2, 4, 8 shards of %u texts: gradients", name, texts);
    trust(what, "the whole batch, with dropout", worst, BOUND);
    snprintf(what, sizeof what, "%s in 2, 4, 8 shards: norm of the gradient's difference", name);
    trust(what, "the whole batch, with dropout", norm, SHARES_BOUND);
}

void check_reference(gb_device *device, const model *m, const char *name)
{
    pass p = compare_pass_make(m, device, GRADIENT_STEP, 0);
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
