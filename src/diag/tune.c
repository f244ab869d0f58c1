/* Finds the tiles with which matmuls are fastest on a device and driver, and makes a device ready
 * for its first use. */
#include "selftest.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT .03  /* seconds of a measurement at a device's first use */
#define GAIN  .95  /* share of the own tile's time that another must stay below */
#define RUNS  20   /* of a measurement at most */
#define WARM  .1   /* seconds until a GPU that was idle has its clock */
#define WRONG 1e-4 /* largest difference from the own tile, of the largest value */

typedef struct shape {
    gb_matmul_form form; /* NN, NT, TN */
    uint32_t m, n, k;    /* sizes */
} shape;

/* Two of each class, as the layers of small and of larger encoders have them. */
static const shape shapes[] = {
    {GB_NN, 2048, 64, 256},  {GB_NN, 2048, 256, 64}, {GB_NN, 512, 256, 1024},
    {GB_NN, 256, 768, 768},  {GB_NT, 2048, 256, 64}, {GB_NT, 2048, 64, 256},
    {GB_NT, 512, 256, 1024}, {GB_NT, 256, 768, 768}, {GB_TN, 256, 256, 256},
    {GB_TN, 768, 256, 256},  {GB_TN, 256, 64, 2048}, {GB_TN, 256, 256, 1024},
};
#define SHAPES   (sizeof shapes / sizeof *shapes)
#define GPU_ROWS 8 /* times as many tokens on a GPU of its own: fewer leave it idle */

typedef struct tuner {
    gb_device *device; /* open */
    double seconds;    /* of a measurement */
    FILE *out;         /* where it says what it finds; NULL: nowhere */
} tuner;

__attribute__((format(printf, 2, 3))) static void say(const tuner *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (t->out)
        vfprintf(t->out, format, arguments);
    va_end(arguments);
}

/* Tokens are rows of NN and NT, and the depth of deep TN. */
static shape shape_of(const tuner *t, size_t i)
{
    shape s = shapes[i];
    if (gb_device_get_caps(t->device)->type != GB_DEVICE_DISCRETE)
        return s;
    if (s.form != GB_TN)
        s.m *= GPU_ROWS;
    else if (s.k >= GB_TILE_DEPTH)
        s.k *= GPU_ROWS;
    return s;
}

/* One product, recorded with the tiles that the device has now. */
typedef struct product {
    const shape *s;      /* of which sizes */
    bool output;         /* its result is read */
    gb_executable *exec; /* the program */
    gb_tensor c;         /* result */
} product;

static bool declare(void *self, gb_params *params, gb_status *status)
{
    const shape *s = ((product *)self)->s;
    bool tn = s->form == GB_TN, nt = s->form == GB_NT;
    return gb_params_add_matrix(params, "a", tn ? s->k : s->m, tn ? s->m : s->k, 1, status) !=
               UINT32_MAX &&
           gb_params_add_matrix(params, "b", nt ? s->n : s->k, nt ? s->k : s->n, 1, status) !=
               UINT32_MAX;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    product *p = self;
    p->c = gb_matmul(tape, p->s->form, gb_tape_param(tape, 0), gb_tape_param(tape, 1));
    if (p->output)
        gb_tape_output(tape, p->c);
    return true;
}

/* Destroy p->exec afterwards, also after a failure. */
static bool product_open(product *p, const tuner *t, const shape *s, bool output, gb_status *status)
{
    const gb_executable_params program = {
        .name = "tune", .device = t->device, .declare = declare, .build = build, .self = p};
    *p = (product){.s = s, .output = output};
    return (p->exec = gb_executable_build(&program, status)) != NULL;
}

/* Shortest of the runs after the first one, which compiles. */
static bool best_time(const tuner *t, const shape *s, double *best_s, gb_status *status)
{
    product p;
    bool ok = product_open(&p, t, s, false, status);
    bool gpu = gb_device_get_caps(t->device)->type != GB_DEVICE_CPU;
    double first_s = gb_now_s(), warm_s = first_s + (gpu ? WARM : 0);
    *best_s = INFINITY;
    for (int r = 0; ok && r <= RUNS && (r < 3 || gb_now_s() - first_s < t->seconds);
         r += r > 0 || gb_now_s() >= warm_s) {
        uint64_t ticket;
        double start_s = gb_now_s();
        ok = gb_executable_run(p.exec, &ticket, status) &&
             gb_executable_wait(p.exec, ticket, status);
        if (r == 0)
            first_s = gb_now_s();
        else if (ok)
            *best_s = fmin(*best_s, gb_now_s() - start_s);
        if (ok && gb_interrupted())
            ok = gb_fail(status, GB_INTERRUPTED, "tune", NULL, "stopped, nothing was kept");
    }
    gb_executable_destroy(p.exec);
    return ok;
}

/* The product as the device computes it now, [m, ld]; caller frees. */
static float *result_of(const tuner *t, const shape *s, size_t *count, gb_status *status)
{
    product p;
    uint64_t ticket;
    float *copy = NULL;
    if (product_open(&p, t, s, true, status) && gb_executable_run(p.exec, &ticket, status)) {
        const float *c = gb_executable_output(p.exec, ticket, p.c, status);
        *count = (size_t)s->m *
                 gb_tape_tensor(gb_executable_tape(p.exec), p.c)->ld; /* n is a multiple of 4 */
        copy = c ? gb_alloc(*count, sizeof *copy, status) : NULL;
        if (copy)
            memcpy(copy, c, *count * sizeof *copy);
    }
    gb_executable_destroy(p.exec);
    return copy;
}

bool diag_same_numbers(const float *a, const float *b, size_t count)
{
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        double apart = fabs((double)a[i] - b[i]);
        worst = apart <= worst ? worst : isnan(apart) ? INFINITY : apart;
        largest = fmax(largest, fabs((double)a[i]));
    }
    return worst <= WRONG * largest;
}

/* Whether a tile gives the numbers of the own one; *right is unset on failure. */
static bool check_tile(const tuner *t, const shape *s, uint32_t tiles, bool *right,
                       gb_status *status)
{
    size_t count = 0;
    gb_device_use_tiles(t->device, 0);
    float *own = result_of(t, s, &count, status);
    gb_device_use_tiles(t->device, tiles);
    float *other = own ? result_of(t, s, &count, status) : NULL;
    if (other)
        *right = diag_same_numbers(own, other, count);
    free(own);
    free(other);
    return other != NULL;
}

/* Seconds of the products of a class with one tile; INFINITY where it is wrong. */
static bool try_tile(const tuner *t, uint32_t class, uint32_t tile, double *seconds,
                     gb_status *status)
{
    uint32_t tiles = tile << (GB_TILE_BITS * class);
    *seconds = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        shape s = shape_of(t, i);
        double best_s;
        bool right = true;
        if (gb_tile_class(s.form, s.k) != class)
            continue;
        gb_device_use_tiles(t->device, tiles);
        if ((tile && !check_tile(t, &s, tiles, &right, status)) ||
            !best_time(t, &s, &best_s, status))
            return false;
        *seconds += right ? best_s : INFINITY;
    }
    return true;
}

static bool tune_class(const tuner *t, uint32_t class, uint32_t *tiles, gb_status *status)
{
    static const char *const forms[] = {"NN", "NT", "TN"};
    const gb_device_caps *caps = gb_device_get_caps(t->device);
    double own_s = 0, best_s = INFINITY;
    uint32_t best = 0;
    for (uint32_t tile = 0; tile <= GB_OTHER_TILES; tile++) {
        char text[60];
        double seconds;
        gb_tile_text(caps, tile, text, sizeof text);
        if (!gb_tile_fits(caps, tile))
            continue;
        if (!try_tile(t, class, tile, &seconds, status)) {
            if (!tile || (status->code != GB_DEVICE && status->code != GB_MEMORY))
                return false;
            *status = (gb_status){0}; /* a variant that cannot be built here */
            seconds = INFINITY;
        }
        say(t, "%s, k %s %d   %u  %-24s %10.3f ms\n", forms[class / 2], class % 2 ? ">=" : "< ",
            GB_TILE_DEPTH, tile, text, 1e3 * seconds);
        if (tile == 0)
            own_s = seconds;
        if (seconds < best_s) {
            best_s = seconds;
            best = tile;
        }
    }
    if (best && best_s < GAIN * own_s)
        *tiles |= best << (GB_TILE_BITS * class);
    if (t->out)
        fflush(t->out);
    return true;
}

/* The self-test with the choice: all operations that products are part of. */
static bool choice_is_right(const tuner *t, uint32_t tiles)
{
    static const gb_selftest_column columns[] = {GB_SELFTEST_USED, GB_SELFTEST_MATRICES,
                                                 GB_SELFTEST_BFLOAT16};
    gb_selftest_column column = columns[gb_device_get_caps(t->device)->precision];
    gb_device_use_tiles(t->device, tiles);
    for (size_t i = 0; i < diag_selftest_case_count(); i++) {
        gb_status status = {0};
        double worst = 0;
        if (diag_selftest_case_in(i, column) &&
            (!diag_selftest_case_run(t->device, i, &worst, &status) ||
             !(worst <= diag_selftest_tolerance(column)))) {
            say(t, "wrong with them: %s\n", diag_selftest_case_name(i));
            return false;
        }
    }
    return true;
}

static bool tune(const tuner *t, uint32_t *tiles, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(t->device);
    *tiles = 0;
    say(t, "device: %s, %s, %s kernels\n", caps->name, caps->driver,
        gb_kernel_profile_name(caps->profile));
    for (uint32_t class = 0; class < GB_TILE_CLASSES; class ++)
        if (!tune_class(t, class, tiles, status))
            return false;
    if (*tiles && !choice_is_right(t, *tiles))
        *tiles = 0;
    say(t, "tiles 0x%05x%s\n", *tiles, *tiles ? "" : ": the kernels' own");
    return true;
}

static bool keep_choice(const tuner *t, uint32_t tiles, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(t->device);
    if (!gb_tiles_store(gb_device_config(t->device), caps, tiles, status))
        return false;
    if (tiles)
        say(t, "kept for this driver; %s\n",
            caps->type == GB_DEVICE_CPU ? "used with GABBRO_TUNE=on"
                                        : "used from now on (GABBRO_TUNE=off: not)");
    return true;
}

bool gb_device_ready(const gb_config *config, const char *select, gb_status *status)
{
    gb_device_params params = gb_ops_device(config, select);
    gb_device_caps caps;
    tuner t = {.seconds = SHORT};
    gb_status unkept = {0};
    uint32_t tiles;
    if (!diag_selftest_ensure(config, select, &caps, status))
        return false;
    if (!gb_tiles_wanted(config, &caps) || config->fail_at) /* its failures are not for us */
        return true;
    params.quiet = true;
    if (!(t.device = gb_device_open(&params, status)))
        return false;
    gb_log(GB_LOG_INFO, "first use of %s: its products are measured, once for a driver", caps.name);
    /* Somebody else may have been faster: one choice for all. */
    if (tune(&t, &tiles, &unkept) && gb_tiles_wanted(config, &caps))
        keep_choice(&t, tiles, &unkept);
    gb_device_close(t.device);
    if (unkept.code == GB_INTERRUPTED) {
        *status = unkept;
        return false;
    }
    if (unkept.code)
        gb_log(GB_LOG_DEBUG, "the kernels' own tiles are used: %s", unkept.what);
    return true;
}

bool gb_tune(const gb_tune_params *params, gb_status *status)
{
    gb_device_params open = gb_ops_device(params->config, params->select);
    gb_device_caps caps;
    tuner t = {.seconds = params->seconds, .out = params->out};
    uint32_t tiles;
    open.quiet = true;
    bool ok = diag_selftest_ensure(params->config, params->select, &caps, status) &&
              (t.device = gb_device_open(&open, status));
    if (ok && params->forget)
        ok = gb_tiles_store(params->config, gb_device_get_caps(t.device), 0, status);
    else
        ok = ok && tune(&t, &tiles, status) && (params->dry_run || keep_choice(&t, tiles, status));
    gb_device_close(t.device);
    return ok;
}
