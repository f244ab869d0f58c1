/* Measuring: warm-up, repeated runs, wall time and, in runs of their own, the device's. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_RUNS 5 /* timestamps serialise the kernels, so few runs are made with them */

void bench_summarise(double *seconds, uint32_t count, bench_times *times)
{
    gb_sort_doubles(seconds, count);
    times->runs = count;
    times->best_s = seconds[0];
    times->low_s = seconds[count / 4];
    times->median_s = seconds[count / 2];
    times->high_s = seconds[count - 1 - count / 4];
}

bool bench_enough(const bench *b, uint32_t runs, double start_s)
{
    return runs >= b->repeats || (runs && gb_now_s() - start_s > b->seconds);
}

static bool stopped(gb_status *status)
{
    return gb_interrupted() && !gb_fail(status, GB_INTERRUPTED, "bench", NULL, "stopped");
}

/* ---- what the device says of itself ---- */

json_t *bench_variants(const gb_device *device)
{
    json_t *set = json_object(), *list = json_array();
    for (size_t i = 0; gb_timing_name(device, i); i++) {
        const char *name = gb_timing_name(device, i);
        char shader[128];
        snprintf(shader, sizeof shader, "%.*s", (int)strcspn(name, " "), name);
        json_object_set_new(set, shader, json_true());
    }
    const char *key;
    json_t *value;
    json_object_foreach(set, key, value) json_array_append_new(list, json_string(key));
    json_decref(set);
    return list;
}

#define WARM_UP_S .4

double bench_warm_up_s(const bench *b)
{
    return gb_device_get_caps(b->device)->type == GB_DEVICE_CPU ? 0 : WARM_UP_S;
}

/* Runs until the device is as fast as it gets. */
static bool warm_up(const bench *b, bench_call *run, void *context, uint32_t least,
                    gb_status *status)
{
    double end_s = gb_now_s() + bench_warm_up_s(b);
    for (uint32_t i = 0; i < least || gb_now_s() < end_s; i++)
        if (stopped(status) || !run(context, status))
            return false;
    return true;
}

/* Device time of a call, by timestamps around every kernel. `run` makes its programs itself, or
 * they were made while profiling. */
static bool device_runs(bench *b, bench_call *run, void *context, double times_in_run,
                        bench_times *times, gb_status *status)
{
    double seconds[DEVICE_RUNS];
    uint32_t count = 0;
    bool ok = warm_up(b, run, context, 0, status);
    double start_s = gb_now_s();
    while (ok && count < DEVICE_RUNS && !bench_enough(b, count, start_s)) {
        gb_timing_reset(b->device);
        ok = !stopped(status) && run(context, status);
        seconds[count++] = gb_timing_total(b->device).ms * 1e-3 / times_in_run;
    }
    gb_timing_sum sum = gb_timing_total(b->device);
    if (ok && sum.calls) {
        gb_sort_doubles(seconds, count);
        times->device_s = seconds[count / 2];
        times->flops = sum.flops / times_in_run;
        times->bytes = sum.bytes / times_in_run;
        times->kernels = (uint32_t)((double)sum.calls / times_in_run + .5);
        times->variants = bench_variants(b->device);
    }
    return ok;
}

static bool wall_runs(bench *b, bench_call *run, void *context, double times_in_run,
                      bench_times *times, gb_status *status)
{
    double *seconds = gb_alloc(b->repeats, sizeof *seconds, status), first_s = 0;
    uint32_t count = 0;
    bool ok = seconds != NULL && warm_up(b, run, context, BENCH_WARM_UP, status);
    for (first_s = gb_now_s(); ok && !bench_enough(b, count, first_s); count++) {
        double start_s = gb_now_s();
        ok = !stopped(status) && run(context, status);
        seconds[count] = (gb_now_s() - start_s) / times_in_run;
    }
    if (ok)
        bench_summarise(seconds, count, times);
    free(seconds);
    return ok;
}

bool bench_call_measure(bench *b, bench_call *run, void *context, bench_times *times,
                        gb_status *status)
{
    if (b->survey)
        return run(context, status);
    if (!wall_runs(b, run, context, 1, times, status))
        return false;
    gb_device_set_timing(b->device, true);
    bool ok = device_runs(b, run, context, 1, times, status);
    gb_device_set_timing(b->device, false);
    return ok;
}

/* ---- programs ---- */

gb_tensor bench_activation(gb_tape *tape, uint32_t param)
{
    const gb_param *p = gb_params_at(gb_tape_params(tape), param);
    gb_tensor x = gb_tape_state(tape, GB_ARENA_PARAMS, p->offset, (uint64_t)p->rows * p->ld);
    if (x == GB_NO_TENSOR)
        return x;
    gb_tensor_info *info = gb_tape_info(tape, x);
    info->rows = p->rows;
    info->cols = p->cols;
    info->ld = p->ld;
    info->needs_grad = true;
    return x;
}

typedef struct session {
    const bench_program *program; /* what */
    gb_executable *exec;          /* recorded */
    uint32_t filled;              /* slots of inputs */
} session;

static bool run_once(void *context, gb_status *status)
{
    session *s = context;
    uint64_t ticket;
    if (s->program->fill && s->filled < 2 &&
        !s->program->fill(s->program->context, s->exec, status))
        return false;
    s->filled++;
    return gb_executable_run(s->exec, &ticket, status) &&
           gb_executable_wait(s->exec, ticket, status);
}

static bool declare(void *self, gb_params *params, gb_status *status)
{
    const bench_program *program = self;
    return !program->declare || program->declare(program->context, params, status);
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    const bench_program *program = self;
    program->build(program->context, tape);
    return true;
}

/* By timestamps, in a program of its own over the same parameters. */
static bool measure_device(bench *b, bench_program *program, gb_state *state, bench_times *times,
                           gb_status *status)
{
    const gb_executable_params again = {
        .name = "bench", .state = state, .build = build, .self = program};
    gb_device_set_timing(b->device, true);
    session s = {.program = program, .exec = gb_executable_build(&again, status)};
    bool ok =
        s.exec && device_runs(b, run_once, &s, program->times ? program->times : 1, times, status);
    gb_executable_destroy(s.exec);
    gb_device_set_timing(b->device, false);
    return ok;
}

bool bench_program_measure(bench *b, bench_program *program, bench_times *times, gb_status *status)
{
    const gb_executable_params how = {.name = "bench",
                                      .device = b->device,
                                      .declare = declare,
                                      .training = program->training,
                                      .build = build,
                                      .self = program};
    session s = {.program = program, .exec = gb_executable_build(&how, status)};
    if (b->survey) {
        bool made = s.exec && run_once(&s, status);
        gb_executable_destroy(s.exec);
        return made;
    }
    bool ok =
        s.exec && wall_runs(b, run_once, &s, program->times ? program->times : 1, times, status);
    if (ok && gb_device_get_caps(b->device)->timestamp_bits)
        ok = measure_device(b, program, gb_executable_state(s.exec), times, status);
    gb_executable_destroy(s.exec);
    return ok;
}

/* ---- the ceiling ---- */

#define COPIES 4 /* in one program */

typedef struct copier {
    gb_device *device;   /* open */
    gb_program *program; /* COPIES copies */
} copier;

static bool copy_and_wait(void *context, gb_status *status)
{
    copier *c = context;
    return gb_program_submit(c->program, status) &&
           gb_device_wait(c->device, gb_device_submitted(c->device), status);
}

static bool copy_rate(bench *b, double *gbs, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    uint64_t bytes = caps->type == GB_DEVICE_CPU ? 64ull << 20 : 256ull << 20;
    while (bytes > caps->max_buffer_bytes || bytes > caps->memory_bytes / 8)
        bytes /= 2;
    gb_buffer *from = gb_buffer_create(b->device, GB_BUFFER_DEVICE, bytes, "copied", status);
    gb_buffer *to =
        from ? gb_buffer_create(b->device, GB_BUFFER_DEVICE, bytes, "copy", status) : NULL;
    copier c = {.device = b->device};
    if (to) {
        gb_item items[COPIES];
        for (int i = 0; i < COPIES; i++)
            items[i] =
                (gb_item){.kind = GB_ITEM_COPY,
                          .barrier_before = i > 0,
                          .label = "copy",
                          .bind = {{i % 2 ? to : from, 0, bytes}, {i % 2 ? from : to, 0, bytes}}};
        c.program = gb_program_create(b->device, items, COPIES, status);
    }
    bench_times times = {0};
    bool ok = c.program && wall_runs(b, copy_and_wait, &c, COPIES, &times, status);
    if (ok)
        *gbs = 2.0 * (double)bytes / times.median_s / 1e9;
    gb_program_destroy(c.program);
    gb_buffer_destroy(from);
    gb_buffer_destroy(to);
    return ok;
}

/* A square product in one of the three forms. */
typedef struct square {
    gb_matmul_form form; /* of the product */
    uint32_t n;          /* rows and columns */
} square;

static bool square_declare(void *context, gb_params *params, gb_status *status)
{
    const square *s = context;
    return gb_params_add_matrix(params, "a", s->n, s->n, 1, status) != UINT32_MAX &&
           gb_params_add_matrix(params, "b", s->n, s->n, 1, status) != UINT32_MAX;
}

static void square_build(void *context, gb_tape *tape)
{
    const square *s = context;
    gb_matmul(tape, s->form, gb_tape_param(tape, 0), gb_tape_param(tape, 1));
}

bool bench_ceiling_measure(bench *b, gb_status *status)
{
    static const uint32_t sides[] = {512, 1024, 2048, 4096};
    bool cpu = gb_device_get_caps(b->device)->type == GB_DEVICE_CPU;
    double seconds = b->seconds, best = 0;
    b->seconds = seconds < .5 ? seconds : .5; /* of each product */
    bool ok = copy_rate(b, &b->ceiling.gbs, status);
    for (size_t i = 0; ok && i < (cpu ? 1 : 4); i++)
        for (int form = GB_NN; ok && form <= GB_TN; form++) {
            square s = {(gb_matmul_form)form, sides[i]};
            bench_program program = {
                .declare = square_declare, .build = square_build, .context = &s};
            bench_times t = {0};
            ok = bench_program_measure(b, &program, &t, status);
            double rate = 2.0 * pow(s.n, 3) / (t.device_s > 0 ? t.device_s : t.median_s) / 1e9;
            if (ok && rate > best)
                best = rate;
            json_decref(t.variants);
        }
    b->ceiling.gflops = best;
    b->seconds = seconds;
    return ok;
}
