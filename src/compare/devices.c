/* The same training on two devices, tensor by tensor. */
#include <gabbro/compare.h>

#include "pass.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETTINGS 8

/* One of the two devices. */
typedef struct side {
    char *select;                  /* device; settings behind it */
    gb_config config;              /* what it is opened with */
    char *names[MAX_SETTINGS];     /* variables that libraries read */
    char *settings[MAX_SETTINGS];  /* their values on this side */
    char *before[MAX_SETTINGS];    /* what the environment has else, or NULL */
    size_t setting_count;          /* how many */
    gb_device *device;             /* open */
    gb_state *state;               /* parameters, gradients, moments */
    const gb_adamw_params *update; /* its settings */
    gb_tensor adamw_step;          /* its input */
    gb_executable *adamw;          /* the update */
    pass pass;                     /* step being compared */
    uint64_t ticket;               /* its run */
    bool *written;                 /* tensors that a kernel of this device writes */
    float *values;                 /* one arena */
} side;

/* The largest difference seen in a step, or the first one. */
typedef struct difference {
    double size;     /* of the tensor's largest value */
    uint32_t values; /* that differ */
    uint64_t of;     /* values compared */
    char where[160]; /* tensor */
} difference;

/* ---- settings of a side ---- */

/* NAME=VALUE, which is cut apart. */
static bool side_set(side *s, char *setting, gb_status *status)
{
    char *value = strchr(setting, '=');
    if (!value || s->setting_count == MAX_SETTINGS)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro compare-devices --help",
                       "%s: settings are NAME=VALUE, at most %d", setting, MAX_SETTINGS);
    *value++ = '\0';
    if (!gb_config_set(&s->config, setting, value)) {
        s->names[s->setting_count] = setting;
        s->settings[s->setting_count++] = value;
    }
    return true;
}

static bool side_parse(side *s, const gb_config *config, const char *text, gb_status *status)
{
    s->config = *config;
    s->select = gb_strdup(text, status);
    bool ok = s->select != NULL;
    for (char *at = ok ? strchr(s->select, ',') : NULL; ok && at;) {
        *at++ = '\0';
        char *next = strchr(at, ',');
        if (next)
            *next = '\0';
        ok = side_set(s, at, status);
        if (next)
            *next = ',';
        at = next;
    }
    return ok;
}

/* The environment of libraries with the side's settings, and as it was. */
static bool side_enter(side *s, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; i < s->setting_count; i++)
        ok = gb_environment_exchange(s->names[i], s->settings[i], &s->before[i], status) && ok;
    return ok;
}

static void side_leave(side *s)
{
    for (size_t i = s->setting_count; i-- > 0;) {
        char *ours = NULL;
        gb_environment_exchange(s->names[i], s->before[i], &ours, NULL);
        free(ours);
        free(s->before[i]);
        s->before[i] = NULL;
    }
}

/* ---- a side's training ---- */

static bool build_update(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    side *s = self;
    s->adamw_step = gb_adamw_input(tape, false);
    gb_adamw(tape, s->update, s->adamw_step);
    return true;
}

static bool side_open(side *s, const gb_training *t, gb_status *status)
{
    const gb_params *model = t->params->params;
    gb_device_params params = gb_ops_device(&s->config, s->select);
    params.quiet = true;
    s->update = &t->params->adamw;
    bool ok = side_enter(s, status) &&
              (s->values = gb_alloc(gb_params_floats(model), sizeof *s->values, status)) &&
              (s->device = gb_device_open(&params, status)) &&
              (s->state = gb_state_create(s->device, model, true, status)) &&
              gb_state_write(s->state, GB_ARENA_PARAMS, t->values, status);
    const gb_executable_params update = {
        .name = "adamw", .state = s->state, .build = build_update, .self = s};
    ok = ok && (s->adamw = gb_executable_build(&update, status));
    side_leave(s);
    return ok;
}

static void side_end_step(side *s)
{
    compare_pass_free(&s->pass);
    free(s->written);
    s->written = NULL;
}

static void side_release(side *s)
{
    side_end_step(s);
    gb_executable_destroy(s->adamw);
    gb_state_destroy(s->state);
    gb_device_close(s->device);
    free(s->values);
    free(s->select);
}

/* Scratch that this device's kernels have no use for holds anything. */
static bool find_written(side *s, gb_status *status)
{
    const gb_tape *tape = gb_executable_tape(s->pass.exec);
    gb_emitter emitter = {.target = gb_target_of(s->device)};
    s->written = gb_alloc(gb_tape_tensor_count(tape), sizeof *s->written, status);
    bool ok = s->written && gb_emit_tape(&emitter, tape, false, status);
    for (size_t k = 0; ok && k < emitter.count; k++)
        for (int b = 0; b < GB_KERNEL_BINDINGS; b++)
            if (emitter.kernels[k].access[b] & GB_WRITE) {
                uint32_t row0;
                s->written[gb_tape_root(tape, emitter.kernels[k].bind[b], &row0)] = true;
            }
    free(emitter.kernels);
    return ok;
}

static bool side_step(side *s, const gb_training *t, uint32_t step, gb_status *status)
{
    bool ok =
        side_enter(s, status) && compare_pass_make(&s->pass, s->state, t, step, true, status) &&
        find_written(s, status) && gb_executable_submit(s->pass.exec, step, &s->ticket, status);
    float *values = ok ? gb_executable_input(s->adamw, s->adamw_step, status) : NULL;
    if (values)
        gb_adamw_fill(&t->params->adamw, step + 1, gb_schedule_at(&t->params->schedule, step),
                      t->params->max_norm, values);
    uint64_t ticket;
    ok = values && gb_executable_run(s->adamw, &ticket, status) &&
         gb_executable_wait(s->adamw, ticket, status);
    side_leave(s);
    return ok;
}

/* ---- comparing ---- */

static difference differ(const float *a, const float *b, uint32_t rows, uint32_t cols, uint32_t ld)
{
    difference d = {.of = (uint64_t)rows * cols};
    double scale = 1e-4, worst = 0;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++) {
            size_t at = (size_t)r * ld + c;
            double gap = fabs((double)a[at] - b[at]);
            if (!memcmp(&a[at], &b[at], sizeof *a))
                continue;
            d.values++;
            worst = gap <= worst ? worst : isnan(gap) ? INFINITY : gap;
        }
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++)
            if (isfinite(a[(size_t)r * ld + c]))
                scale = fmax(scale, fabsf(a[(size_t)r * ld + c]));
    d.size = worst / scale;
    return d;
}

static void note(difference *first, difference *worst, const difference *now)
{
    if (now->values && !first->values)
        *first = *now;
    if (now->size > worst->size)
        *worst = *now;
}

static bool compare_tensors(side *a, side *b, difference *first, difference *worst,
                            gb_status *status)
{
    const gb_tape *tape = gb_executable_tape(a->pass.exec);
    for (uint32_t node = 0; node < gb_tape_node_count(tape); node++)
        for (gb_tensor t = 0; t < (gb_tensor)gb_tape_tensor_count(tape); t++) {
            const gb_tensor_info *info = gb_tape_tensor(tape, t);
            if (info->producer != (int32_t)node || info->role != GB_ROLE_OUTPUT ||
                info->type != GB_F32 || !a->written[t] || !b->written[t])
                continue;
            const float *va = gb_executable_output(a->pass.exec, a->ticket, t, status);
            const float *vb = va ? gb_executable_output(b->pass.exec, b->ticket, t, status) : NULL;
            if (!vb)
                return false;
            difference d = differ(va, vb, info->rows, info->cols, info->ld);
            snprintf(d.where, sizeof d.where, "node %u, %s: %s [%u, %u]", node,
                     gb_tape_node_at(tape, node)->op->name, info->name, info->rows, info->cols);
            note(first, worst, &d);
        }
    return true;
}

static bool compare_arena(side *a, side *b, const gb_params *params, gb_arena_id arena,
                          difference *first, difference *worst, gb_status *status)
{
    static const char *const names[] = {"parameter", "gradient", "first moment", "second moment"};
    if (!gb_state_read(a->state, arena, a->values, status) ||
        !gb_state_read(b->state, arena, b->values, status))
        return false;
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        if (arena != GB_ARENA_PARAMS && !p->trained)
            continue;
        difference d =
            differ(a->values + p->offset, b->values + p->offset, p->rows, p->cols, p->ld);
        snprintf(d.where, sizeof d.where, "%s %s [%u, %u]", names[arena], p->name, p->rows,
                 p->cols);
        note(first, worst, &d);
    }
    return true;
}

static bool compare_step(side *a, side *b, const gb_params *params, difference *first,
                         difference *worst, difference *parameters, gb_status *status)
{
    difference own = {0};
    *worst = *parameters = own;
    return compare_tensors(a, b, first, worst, status) &&
           compare_arena(a, b, params, GB_ARENA_GRADS, first, worst, status) &&
           compare_arena(a, b, params, GB_ARENA_MOMENT1, first, worst, status) &&
           compare_arena(a, b, params, GB_ARENA_MOMENT2, first, worst, status) &&
           compare_arena(a, b, params, GB_ARENA_PARAMS, first, parameters, status);
}

static void print_side(FILE *out, const char *letter, const side *s)
{
    const gb_device_caps *caps = gb_device_get_caps(s->device);
    char quirks[256];
    gb_quirks_text(&gb_ops_rules, caps->quirks, quirks, sizeof quirks);
    fprintf(out, "%s  %s, %s, %s kernels, quirks %s\n", letter, caps->name, caps->driver,
            gb_kernel_profile_name(caps->profile), quirks);
}

static void print_first(FILE *out, const difference *first, uint32_t step)
{
    if (!first->values)
        fprintf(out, "No bit differs.\n");
    else
        fprintf(out, "They part at step %u, %s: %u of %llu values, by %.1e of the largest\n", step,
                first->where, first->values, (unsigned long long)first->of, first->size);
}

/* What is compared. */
typedef struct comparison {
    side a, b;                   /* devices */
    const gb_training *training; /* on both */
    FILE *out;                   /* where it is told */
    difference first;            /* in the order of the computation */
    uint32_t first_step;         /* its step, from 1 */
} comparison;

/* worst: of the step's tensors but parameters. */
static bool compare_one(comparison *c, uint32_t step, difference *worst, gb_status *status)
{
    side *a = &c->a, *b = &c->b;
    difference parameters;
    const float *la = NULL, *lb = NULL;
    bool parted = c->first.values;
    if (!side_step(a, c->training, step, status) || !side_step(b, c->training, step, status) ||
        !compare_step(a, b, c->training->params->params, &c->first, worst, &parameters, status) ||
        !(la = gb_executable_output(a->pass.exec, a->ticket, a->pass.loss, status)) ||
        !(lb = gb_executable_output(b->pass.exec, b->ticket, b->pass.loss, status)))
        return false;
    fprintf(c->out, "%4u  %-12.8g  %-12.8g  %-10.1e  %-10.1e  %s\n", step + 1, (double)*la,
            (double)*lb, parameters.size, worst->size, worst->size > 0 ? worst->where : "");
    if (!parted && c->first.values)
        c->first_step = step + 1;
    side_end_step(a);
    side_end_step(b);
    return true;
}

/* *worst_first: largest difference of a tensor of the first step, before any parameter differed. */
static bool compare(comparison *c, uint32_t steps, double *worst_first, gb_status *status)
{
    print_side(c->out, "A", &c->a);
    print_side(c->out, "B", &c->b);
    fprintf(c->out, "%4s  %-12s  %-12s  %-10s  %-10s  %s\n", "step", "loss A", "loss B",
            "parameters", "tensors", "the worst of them");
    for (uint32_t step = 0; step < steps; step++) {
        difference worst;
        if (!compare_one(c, step, &worst, status))
            return false;
        if (step == 0)
            *worst_first = worst.size;
    }
    print_first(c->out, &c->first, c->first_step);
    return true;
}

/* ---- what is asked for ---- */

static bool parse_both(comparison *c, const gb_compare_devices_params *params, gb_status *status)
{
    *c = (comparison){.out = params->out};
    return side_parse(&c->a, params->config, params->devices[0], status) &&
           side_parse(&c->b, params->config, params->devices[1], status);
}

bool gb_compare_devices(const gb_compare_devices_params *params, const gb_training *training,
                        double *worst, gb_status *status)
{
    comparison c;
    trial small = {0};
    bool ok = parse_both(&c, params, status) &&
              (training || compare_trial_make(&small, params->config, params->steps, status));
    gb_training own = {&small.task, &small.train, small.values};
    c.training = training ? training : &own;
    *worst = INFINITY;
    if (ok) {
        uint32_t all = c.training->params->schedule.steps;
        ok = side_open(&c.a, c.training, status) && side_open(&c.b, c.training, status) &&
             compare(&c, params->steps < all ? params->steps : all, worst, status);
    }
    side_release(&c.a);
    side_release(&c.b);
    compare_trial_free(&small);
    return ok;
}

/* As steps are keyed. */
static bool print_name(FILE *out, side *s, gb_status *status)
{
    gb_device_params params = gb_ops_device(&s->config, s->select);
    char *identity = side_enter(s, status) ? gb_device_identity(&params, status) : NULL;
    side_leave(s);
    if (identity)
        fprintf(out, "%s\n", identity);
    free(identity);
    return identity != NULL;
}

bool gb_compare_device_names(const gb_compare_devices_params *params, gb_status *status)
{
    comparison c;
    bool ok = parse_both(&c, params, status) && print_name(c.out, &c.a, status) &&
              print_name(c.out, &c.b, status);
    side_release(&c.a);
    side_release(&c.b);
    return ok;
}
