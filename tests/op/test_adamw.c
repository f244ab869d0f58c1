/* Gradient norm, clipping and AdamW over whole arenas: ten steps against a float64 version written
 * parameter by parameter, the reference executor, and what can be worked out on paper. */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)
#define STEPS   10
#define SCALE   1024.f

static const gb_adamw_params settings = {
    .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.1f};

/* Parameters of odd sizes, with and without decay, in mixed order. */
static const struct {
    const char *name;
    uint32_t rows, cols;
    bool decay;
} list[] = {{"bias", 1, 3, false},
            {"w", 7, 5, true},
            {"one", 1, 1, true},
            {"norm", 1, 65, false},
            {"table", 301, 17, true}};
#define PARAMS (sizeof list / sizeof *list)

/* An optimiser on the device and its float64 twin. */
typedef struct optimiser {
    gb_device *device;   /* under test */
    gb_params *params;   /* as listed */
    gb_tape *tape;       /* AdamW alone */
    gb_tensor step;      /* its input */
    gb_tensor norm;      /* its output */
    gb_state *state;     /* arenas */
    bool scaled;         /* gradients are SCALE times what they are taken for */
    gb_executable *exec; /* recorded */
    float *values;       /* one arena of the device, read back */
    double *p, *m, *v;   /* the twin, laid out like the arenas */
    gb_reference *ref;   /* the same tape in float64 */
} optimiser;

static void add(gb_params *params, size_t i, gb_status *status)
{
    const gb_param_spec spec = {.name = list[i].name,
                                .kind = list[i].decay ? GB_PARAM_MATRIX : GB_PARAM_VECTOR,
                                .rows = list[i].rows,
                                .cols = list[i].cols,
                                .init = GB_INIT_NORMAL,
                                .init_std = 1};
    gb_params_add(params, &spec, status);
}

static optimiser optimiser_make(bool scaled)
{
    gb_status status = {0};
    optimiser o = {.device = test_device(), .params = gb_params_create(&status), .scaled = scaled};
    MUST(o.params);
    for (size_t i = 0; i < PARAMS; i++)
        add(o.params, i, &status);
    gb_params_add_state(o.params, "state", 5, 6, 1, &status);
    gb_params_freeze(o.params);
    MUST(o.tape = gb_tape_create(o.params, "adamw", &status));
    o.step = gb_adamw_input(o.tape, scaled);
    o.norm = gb_adamw(o.tape, &settings, o.step);
    gb_tape_output(o.tape, o.norm);
    MUST(o.state = gb_state_create(o.device, o.params, true, &status));
    MUST(o.exec = gb_executable_create(o.state, o.tape, &status));
    MUST(o.ref = gb_reference_create(o.tape, &status));
    uint64_t floats = gb_params_floats(o.params);
    o.values = malloc(floats * sizeof *o.values);
    o.p = calloc(floats, sizeof *o.p);
    o.m = calloc(floats, sizeof *o.m);
    o.v = calloc(floats, sizeof *o.v);
    gb_params_init(o.params, 5, o.values);
    for (uint64_t i = 0; i < floats; i++)
        gb_reference_arena(o.ref, GB_ARENA_PARAMS)[i] = o.p[i] = o.values[i];
    MUST(gb_state_write(o.state, GB_ARENA_PARAMS, o.values, &status));
    return o;
}

static void optimiser_free(optimiser *o)
{
    cr_expect_eq(gb_device_validation_count(o->device), 0, "the validation layer spoke");
    gb_reference_destroy(o->ref);
    gb_executable_destroy(o->exec);
    gb_state_destroy(o->state);
    gb_tape_destroy(o->tape);
    gb_params_destroy(o->params);
    gb_device_close(o->device);
    free(o->values);
    free(o->p);
    free(o->m);
    free(o->v);
}

/* torch.optim.AdamW after torch.nn.utils.clip_grad_norm_, one parameter after the other. */
static double twin_step(optimiser *o, const float *gradient, uint32_t t, double lr, double largest)
{
    double squares = 0, b1 = settings.beta1, b2 = settings.beta2;
    for (size_t i = 0; i < PARAMS; i++)
        for (uint32_t k = 0; k < list[i].rows * list[i].cols; k++) {
            const gb_param *param = gb_params_at(o->params, (uint32_t)i);
            double g = gradient[param->offset + k / list[i].cols * param->ld + k % list[i].cols];
            squares += g * g;
        }
    double norm = sqrt(squares), clip = largest / (norm + 1e-6);
    clip = largest > 0 && clip < 1 ? clip : 1;
    for (size_t i = 0; i < PARAMS; i++)
        for (uint32_t k = 0; k < list[i].rows * list[i].cols; k++) {
            const gb_param *param = gb_params_at(o->params, (uint32_t)i);
            uint64_t at = param->offset + k / list[i].cols * param->ld + k % list[i].cols;
            double g = gradient[at] * clip;
            o->p[at] -= lr * (list[i].decay ? (double)settings.decay : 0) * o->p[at];
            o->m[at] += (1 - b1) * (g - o->m[at]);
            o->v[at] = b2 * o->v[at] + (1 - b2) * g * g;
            double m = o->m[at] / (1 - pow(b1, t)), v = o->v[at] / (1 - pow(b2, t));
            o->p[at] -= lr * m / (sqrt(v) + (double)settings.eps);
        }
    return norm;
}

/* One step everywhere; the device's norm is returned, the others must agree. */
static double take_step(optimiser *o, const float *gradient, uint32_t t, float lr, float largest)
{
    gb_status status = {0};
    uint64_t floats = gb_params_arena_floats(o->params, GB_ARENA_GRADS), ticket;
    float *raised = malloc(floats * sizeof *raised), scale = o->scaled ? SCALE : 1;
    for (uint64_t i = 0; i < floats; i++)
        raised[i] = gradient[i] * scale;
    MUST(gb_state_write(o->state, GB_ARENA_GRADS, raised, &status));
    float *input = gb_executable_input(o->exec, o->step, &status);
    MUST(input);
    gb_adamw_fill(&settings, t, lr, largest, input);
    if (o->scaled)
        input[GB_ADAMW_UNSCALE] = 1 / scale;
    for (int i = 0; i < (o->scaled ? 5 : 4); i++)
        gb_reference_f(o->ref, o->step)[i] = input[i];
    MUST(gb_executable_run(o->exec, &ticket, &status));
    const float *norm = gb_executable_output(o->exec, ticket, o->norm, &status);
    MUST(norm);
    for (uint64_t i = 0; i < floats; i++)
        gb_reference_arena(o->ref, GB_ARENA_GRADS)[i] = raised[i];
    free(raised);
    gb_reference_run(o->ref);
    double wanted = scale * twin_step(o, gradient, t, lr, largest);
    cr_expect_float_eq(*norm, wanted, 1e-6 * wanted, "norm %g, not %g", *norm, wanted);
    cr_expect_float_eq(*gb_reference_f(o->ref, o->norm), wanted, 1e-12 * wanted);
    return *norm / scale;
}

/* Agreement to 3e-6 of the value plus `typical`, the size of what was added up to it. */
static void compare(optimiser *o, gb_arena_id arena, const double *wanted, double typical)
{
    gb_status status = {0};
    MUST(gb_state_read(o->state, arena, o->values, &status));
    const double *reference = gb_reference_arena(o->ref, arena);
    for (size_t i = 0; i < PARAMS; i++)
        for (uint32_t k = 0; k < list[i].rows * list[i].cols; k++) {
            const gb_param *param = gb_params_at(o->params, (uint32_t)i);
            uint64_t at = param->offset + k / list[i].cols * param->ld + k % list[i].cols;
            cr_assert_float_eq(o->values[at], wanted[at], 3e-6 * (typical + fabs(wanted[at])),
                               "arena %d, %s[%u]: %g, not %g", (int)arena, list[i].name, k,
                               o->values[at], wanted[at]);
            /* The step input is float32 also for the reference. */
            cr_assert_float_eq(reference[at], wanted[at], 1e-6 * (typical + fabs(wanted[at])));
        }
}

/* Behind compare: a parameter that is not trained is as it was. */
static void expect_state_unchanged(const optimiser *o)
{
    const gb_param *state = gb_params_at(o->params, PARAMS);
    for (uint64_t i = state->offset; i < gb_params_floats(o->params); i++)
        cr_expect_eq((double)o->values[i], o->p[i]);
}

/* Ten steps with gradients of changing size. */
static void run_steps(bool scaled, float max_norm, bool should_clip)
{
    optimiser o = optimiser_make(scaled);
    uint64_t floats = gb_params_floats(o.params);
    float *gradient = calloc(floats, sizeof *gradient);
    for (uint32_t t = 1; t <= STEPS; t++) {
        gb_rng rng = gb_rng_make(51, GB_RNG_TEST, t, 0);
        for (size_t i = 0; i < PARAMS; i++) {
            const gb_param *param = gb_params_at(o.params, (uint32_t)i);
            for (uint32_t k = 0; k < list[i].rows * list[i].cols; k++)
                gradient[param->offset + k / list[i].cols * param->ld + k % list[i].cols] =
                    (float)gb_rng_normal(&rng) * (t % 3 ? 0.01f : 1.0f);
        }
        double norm = take_step(&o, gradient, t, 0.01f * (float)t, max_norm);
        if (t % 3 == 0)
            cr_expect_eq(norm > (double)max_norm && max_norm > 0, should_clip);
    }
    compare(&o, GB_ARENA_PARAMS, o.p, 0.1);
    expect_state_unchanged(&o);
    compare(&o, GB_ARENA_MOMENT1, o.m, 0.01);
    compare(&o, GB_ARENA_MOMENT2, o.v, 0);
    free(gradient);
    optimiser_free(&o);
}

Test(adamw, without_clipping)
{
    run_steps(false, 0, false);
}

Test(adamw, scaled)
{
    run_steps(true, 0, false);
    run_steps(true, 0.5f, true);
}

/* Neither parameters nor moments move by a gradient that is no number anywhere. */
Test(adamw, scaled_leaves_out_what_is_no_number)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN, 3e38f};
    gb_status status = {0};
    optimiser o = optimiser_make(true);
    uint64_t floats = gb_params_floats(o.params), ticket;
    float *gradient = calloc(floats, sizeof *gradient), *before = calloc(floats, sizeof *before);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        for (uint64_t i = 0; i < floats; i++)
            gradient[i] = o.p[i] == 0 ? 0 : .01f; /* padding starts at zero */
        take_step(&o, gradient, (uint32_t)b + 1, .01f, 1);
        gradient[gb_params_at(o.params, (uint32_t)b)->offset] = bad[b];
        for (int a = GB_ARENA_PARAMS; a < GB_ARENA_COUNT; a++) {
            if (a == GB_ARENA_GRADS)
                continue;
            MUST(gb_state_read(o.state, (gb_arena_id)a, before, &status));
            MUST(gb_state_write(o.state, GB_ARENA_GRADS, gradient, &status));
            MUST(gb_executable_input(o.exec, o.step, &status));
            MUST(gb_executable_run(o.exec, &ticket, &status));
            const float *norm = gb_executable_output(o.exec, ticket, o.norm, &status);
            cr_assert(norm && !isfinite(*norm));
            MUST(gb_state_read(o.state, (gb_arena_id)a, o.values, &status));
            size_t bytes = gb_params_arena_floats(o.params, (gb_arena_id)a) * sizeof *before;
            cr_expect_eq(memcmp(before, o.values, bytes), 0, "arena %d, %g", a, (double)bad[b]);
        }
    }
    free(gradient);
    free(before);
    optimiser_free(&o);
}

Test(adamw, clipping_active)
{
    run_steps(false, 0.5f, true);
}

Test(adamw, clipping_inactive)
{
    run_steps(false, 1e6f, false);
}

/* With the same gradient every time, both moments are the gradient after correction, whatever the
 * betas: each step moves by lr * g / (|g| + eps), after decay by 1 - lr * decay. */
Test(adamw, constant_gradient_on_paper)
{
    gb_status status = {0};
    optimiser o = optimiser_make(false);
    uint64_t floats = gb_params_floats(o.params);
    float *gradient = calloc(floats, sizeof *gradient), *start = calloc(floats, sizeof *start);
    const double lr = 0.01f;
    for (uint64_t i = 0; i < floats; i++) {
        gradient[i] = o.p[i] == 0 ? 0 : i % 2 ? 0.3f : -0.02f; /* padding starts at zero */
        start[i] = (float)o.p[i];
    }
    for (uint32_t t = 1; t <= STEPS; t++)
        take_step(&o, gradient, t, 0.01f, 0);
    MUST(gb_state_read(o.state, GB_ARENA_PARAMS, o.values, &status));
    for (size_t i = 0; i < PARAMS; i++) {
        const gb_param *param = gb_params_at(o.params, (uint32_t)i);
        for (uint32_t k = 0; k < list[i].cols; k++) {
            uint64_t at = param->offset + k;
            double wanted = start[at], g = gradient[at];
            for (int t = 0; t < STEPS; t++)
                wanted = wanted * (1 - lr * (list[i].decay ? 0.1f : 0)) - lr * g / (fabs(g) + 1e-8);
            cr_expect_float_eq(o.values[at], wanted, 1e-5, "%s[%u]: %g, not %g", list[i].name, k,
                               o.values[at], wanted);
        }
    }
    free(gradient);
    free(start);
    optimiser_free(&o);
}

/* Gradient zero: parameters only shrink, and nothing is divided by zero. */
Test(adamw, zero_gradient_only_decays)
{
    gb_status status = {0};
    optimiser o = optimiser_make(false);
    float *gradient = calloc(gb_params_floats(o.params), sizeof *gradient);
    double before_w = o.p[gb_params_at(o.params, 1)->offset];
    double before_norm = o.p[gb_params_at(o.params, 3)->offset];
    for (uint32_t t = 1; t <= STEPS; t++)
        cr_expect_eq(take_step(&o, gradient, t, 0.01f, 1.0f), 0);
    compare(&o, GB_ARENA_PARAMS, o.p, 0);
    MUST(gb_state_read(o.state, GB_ARENA_PARAMS, o.values, &status));
    float w = o.values[gb_params_at(o.params, 1)->offset];
    cr_expect_float_eq(w, before_w * pow(1 - 0.001, STEPS), 1e-6);
    cr_expect_eq((double)o.values[gb_params_at(o.params, 3)->offset], before_norm);
    free(gradient);
    optimiser_free(&o);
}
