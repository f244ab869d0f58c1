#include "harness.h"

#include "../parity/trust.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", p->status.where, p->status.what)

gb_device *test_device(void)
{
    gb_status status = {0};
    static gb_config config;
    config = gb_config_read();
    config.poison = "1"; /* activations are NaN before every run */
    gb_device_params params = gb_ops_device(&config, NULL);
    params.validation = params.quiet = true;
    gb_device *device = gb_device_open(&params, &status);
    cr_assert(device, "%s", status.what);
    return device;
}

program program_make(void)
{
    program p = {.seed = 1};
    p.params = gb_params_create(&p.status);
    cr_assert(p.params);
    return p;
}

program program_of_precision(gb_precision precision)
{
    program p = program_make();
    p.precision = precision;
    return p;
}

void program_free(program *p)
{
    gb_tape_destroy(p->tape);
    gb_params_destroy(p->params);
}

uint32_t program_param(program *p, const char *name, uint32_t rows, uint32_t cols)
{
    uint32_t index = gb_params_add_matrix(p->params, name, rows, cols, 0.7f, &p->status);
    MUST(index != UINT32_MAX);
    return index;
}

uint32_t program_state(program *p, const char *name, uint32_t rows, uint32_t cols)
{
    uint32_t index = gb_params_add_state(p->params, name, rows, cols, 0.7f, &p->status);
    MUST(index != UINT32_MAX);
    return index;
}

void program_freeze(program *p)
{
    gb_params_freeze(p->params);
    p->tape = gb_tape_create(p->params, "test", &p->status);
    MUST(p->tape);
}

gb_tensor program_operand(program *p, const char *name)
{
    return gb_tape_param(p->tape, gb_params_find(p->params, name));
}

static bool padding(const gb_tensor_info *info, size_t i)
{
    return i % info->ld >= info->cols;
}

/* To multiples that a precision holds exactly, and 5/4 of them. */
static void coarsen(float *values, size_t count, gb_precision precision)
{
    float steps = precision == GB_BF16 ? 8 : 32;
    for (size_t i = 0; i < count && precision != GB_FP32; i++)
        values[i] = rintf(values[i] * steps) / steps;
}

/* Random values in the padding too: they must not reach a result. */
static void fill_random(float *values, size_t count, uint32_t seed, gb_precision precision)
{
    gb_rng rng = gb_rng_make(seed, GB_RNG_TEST, 0, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(gb_rng_normal(&rng) * 0.7);
    coarsen(values, count, precision);
}

typedef struct sides {
    gb_executable *exec;
    gb_reference *ref;
} sides;

static void set_input(program *p, sides *s, gb_tensor t, const input_values *values)
{
    const gb_tensor_info *info = gb_tape_tensor(p->tape, t);
    size_t count = (size_t)info->rows * info->ld;
    void *device = gb_executable_input(s->exec, t, &p->status);
    MUST(device || !count);
    if (info->type == GB_U32) {
        cr_assert(values && values->u, "no values for %s", info->name);
        memcpy(device, values->u, count * 4);
        memcpy(gb_reference_u(s->ref, t), values->u, count * 4);
        return;
    }
    float *f = malloc((count ? count : 1) * 4);
    fill_random(f, count, 100 + (uint32_t)t, p->precision);
    if (values && values->f)
        memcpy(f, values->f, count * 4);
    for (size_t i = 0; i < count; i++) {
        gb_reference_f(s->ref, t)[i] = f[i];
        ((float *)device)[i] = padding(info, i) ? NAN : f[i];
    }
    free(f);
}

/* The worst difference, as a share of the largest value. */
static double compare(const char *what, const gb_tensor_info *info, const float *got,
                      const double *wanted, double tolerance)
{
    double largest = 1, worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++) {
        if (padding(info, i))
            continue;
        largest = fmax(largest, fabs(wanted[i]));
        double difference = fabs(got[i] - wanted[i]);
        if (!(difference <= worst)) {
            worst = isnan(difference) ? INFINITY : difference;
            at = i;
        }
    }
    cr_expect(worst <= tolerance * largest,
              "%s %s [%u,%u]: differs by %g at row %zu column %zu (%g, not %g), allowed %g", what,
              info->name, info->rows, info->cols, worst, at / info->ld, at % info->ld, got[at],
              wanted[at], tolerance * largest);
    return worst / largest;
}

/* <dy, y> of the reference with one parameter value moved. */
static double moved(program *p, gb_reference *ref, gb_tensor y, gb_tensor dy,
                    uint32_t forward_nodes, double *value, double by)
{
    double old = *value, sum = 0;
    *value = old + by;
    gb_reference_run_nodes(ref, 0, forward_nodes);
    *value = old;
    const gb_tensor_info *info = gb_tape_tensor(p->tape, y);
    for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
        if (!padding(info, i))
            sum += gb_reference_f(ref, y)[i] * gb_reference_f(ref, dy)[i];
    return sum;
}

/* Four-point central differences of some values of every parameter. */
static void check_differences(program *p, gb_reference *ref, gb_tensor y, gb_tensor dy,
                              uint32_t forward_nodes)
{
    gb_rng rng = gb_rng_make(7, GB_RNG_TEST, 1, 1);
    double *params = gb_reference_arena(ref, GB_ARENA_PARAMS);
    for (uint32_t i = 0; i < gb_params_count(p->params); i++) {
        const gb_param *param = gb_params_at(p->params, i);
        for (int sample = 0; param->trained && sample < 4 && param->rows && param->cols; sample++) {
            uint64_t at = param->offset + (uint64_t)gb_rng_below(&rng, param->rows) * param->ld +
                          gb_rng_below(&rng, param->cols);
            double gradient = gb_reference_arena(ref, GB_ARENA_GRADS)[at], h = 1e-4, d[4];
            double steps[4] = {h, -h, h / 2, -h / 2};
            for (int k = 0; k < 4; k++)
                d[k] = moved(p, ref, y, dy, forward_nodes, &params[at], steps[k]);
            double numeric = (8 * (d[2] - d[3]) - (d[0] - d[1])) / (6 * h);
            cr_expect(fabs(numeric - gradient) <= 1e-7 * (1 + fabs(gradient)),
                      "reference gradient of %s: %.12g, by differences %.12g", param->name,
                      gradient, numeric);
        }
    }
}

static double check_values(program *p, sides *s, gb_tensor y, uint64_t ticket, gb_state *state,
                           double tolerance)
{
    double worst = 0;
    const gb_tensor_info *info = gb_tape_tensor(p->tape, y);
    if (info->rows && info->cols) {
        const float *got = gb_executable_output(s->exec, ticket, y, &p->status);
        MUST(got);
        worst = compare("value of", info, got, gb_reference_f(s->ref, y), tolerance);
    }
    float *grads = malloc((gb_params_arena_floats(p->params, GB_ARENA_GRADS) + 1) * 4);
    MUST(gb_state_read(state, GB_ARENA_GRADS, grads, &p->status));
    for (uint32_t i = 0; i < gb_params_count(p->params); i++) {
        const gb_param *param = gb_params_at(p->params, i);
        if (!param->trained)
            continue;
        gb_tensor_info shape = {.rows = param->rows, .cols = param->cols, .ld = param->ld};
        snprintf(shape.name, sizeof shape.name, "%.47s", param->name);
        worst = fmax(worst, compare("gradient of", &shape, grads + param->offset,
                                    gb_reference_arena(s->ref, GB_ARENA_GRADS) + param->offset,
                                    tolerance));
    }
    free(grads);
    return worst;
}

static void note(const gb_device *device, double worst, double tolerance)
{
    char what[100];
    snprintf(what, sizeof what, "operations, forward and gradients: %s kernels%s%s",
             gb_kernel_profile_name(gb_device_get_caps(device)->profile),
             gb_device_get_caps(device)->precision == GB_FP16 ? ", cooperative matrices" : "",
             getenv("GABBRO_LIMITS") ? ", smallest limits" : "");
    trust_note(what, "float64 reference", worst, tolerance);
}

void check_program(program *p, gb_tensor y, const input_values *inputs, size_t input_count,
                   double tolerance)
{
    MUST(gb_tape_ok(p->tape, &p->status));
    /* Mid-program: y is scaled, used twice and added to itself. */
    gb_tensor out = gb_add(p->tape, gb_scale(p->tape, y, 1.5f), gb_scale(p->tape, y, -0.25f));
    gb_tape_output(p->tape, out);
    gb_tensor_info oi = *gb_tape_tensor(p->tape, out);
    gb_tensor dy = gb_tape_input(p->tape, "dy", GB_F32, oi.rows, oi.cols);
    uint32_t forward_nodes = gb_tape_node_count(p->tape);
    MUST(gb_backward_from(p->tape, out, dy, &p->status));

    gb_device *device = test_device();
    gb_device_use_precision(device, p->precision);
    gb_state *state = gb_state_create(device, p->params, true, &p->status);
    MUST(state);
    sides s = {.exec = gb_executable_create(state, p->tape, &p->status)};
    MUST(s.exec);
    MUST(gb_plan_check(p->tape, &p->status));
    s.ref = gb_reference_create(p->tape, &p->status);
    MUST(s.ref);
    uint64_t floats = gb_params_floats(p->params);
    float *values = malloc((floats + 1) * 4);
    gb_params_init(p->params, p->seed, values);
    coarsen(values, floats, p->precision);
    for (uint64_t i = 0; i < floats; i++)
        gb_reference_arena(s.ref, GB_ARENA_PARAMS)[i] = values[i];
    MUST(gb_state_write(state, GB_ARENA_PARAMS, values, &p->status));
    free(values);
    for (uint32_t t = 0; t < gb_tape_tensor_count(p->tape); t++) {
        if (gb_tape_tensor(p->tape, (gb_tensor)t)->role != GB_ROLE_INPUT)
            continue;
        const input_values *found = NULL;
        for (size_t i = 0; i < input_count; i++)
            if (inputs[i].tensor == (gb_tensor)t)
                found = &inputs[i];
        set_input(p, &s, (gb_tensor)t, found);
    }
    uint64_t ticket;
    MUST(gb_executable_run(s.exec, &ticket, &p->status));
    MUST(gb_executable_wait(s.exec, ticket, &p->status));
    gb_reference_run(s.ref);
    note(device, check_values(p, &s, out, ticket, state, tolerance), tolerance);
    check_differences(p, s.ref, out, dy, forward_nodes);
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    gb_executable_destroy(s.exec);
    gb_reference_destroy(s.ref);
    gb_state_destroy(state);
    gb_device_close(device);
}

double test_rounding(gb_precision precision)
{
    return precision == GB_BF16 ? 1.0 / 128 : 1.0 / 1024;
}

void test_each_precision(void (*check)(gb_precision precision))
{
    gb_device *device = test_device();
    gb_device_caps caps = *gb_device_get_caps(device);
    bool found = false;
    gb_device_close(device);
    for (int p = GB_FP16; p <= GB_BF16; p++)
        if (gb_matrix_of(&caps, (gb_precision)p).m) {
            check((gb_precision)p);
            found = true;
        }
    if (!found)
        cr_skip_test("skipped: the device has no cooperative matrices of 16-bit floats");
}
