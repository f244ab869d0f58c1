/* Finds out which kernel variants are wrong, and tests every new driver once. */
#include "selftest.h"
#include <gabbro/os.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are suspected: what costs least to avoid first. */
static const struct {
    uint32_t bit;        /* quirk that avoids it */
    const char *what;    /* the variant */
    const char *instead; /* its next best */
} variants[] = {
    {GB_QUIRK_NO_SHUFFLE_NORM, "layer norm by shuffles", "rows one by one"},
    {GB_QUIRK_NO_SHUFFLE_ATTENTION, "attention by shuffles", "loads of every lane"},
    {GB_QUIRK_NO_SHUFFLE_MATMUL, "products by shuffles", "shared memory"},
    {GB_QUIRK_NO_TEXELS, "operands as texels", "storage buffers"},
    {GB_QUIRK_NO_LANE_ROWS, "a row for each lane", "a row for each workgroup"},
    {GB_QUIRK_NO_MATRIX_KHR, "products by KHR's matrices", "NV's form of them"},
    {GB_QUIRK_NO_MATRIX_ATTENTION, "attention by cooperative matrices", "attention of floats"},
    {GB_QUIRK_NO_MATRIX, "products by cooperative matrices", "products of floats"},
    {GB_QUIRK_NO_BFLOAT16, "products by matrices of bfloat16", "products of floats"},
};
#define VARIANTS (sizeof variants / sizeof *variants)

#define TOLERANCE         2e-5  /* sums this short are near 1e-6 */
#define TOLERANCE_HALVES  2e-3  /* operands rounded to half floats, 5e-4 each */
#define TOLERANCE_BFLOATS 16e-3 /* to bfloat16, 4e-3 each */

double diag_selftest_tolerance(gb_selftest_column column)
{
    return column == GB_SELFTEST_BFLOAT16   ? TOLERANCE_BFLOATS
           : column >= GB_SELFTEST_MATRICES ? TOLERANCE_HALVES
                                            : TOLERANCE;
}

void diag_selftest_variant(uint32_t bit, const char **what, const char **instead)
{
    *what = *instead = "";
    for (size_t i = 0; i < VARIANTS; i++)
        if (variants[i].bit == bit) {
            *what = variants[i].what;
            *instead = variants[i].instead;
        }
}

/* One case with some variants avoided. */
typedef struct trial {
    size_t i;                  /* case */
    gb_selftest_column column; /* of the report */
    uint32_t avoid;            /* variants */
    double worst;              /* result; NAN if it did not run */
    char why[200];             /* its message then */
} trial;

static void make_trial(gb_device *device, trial *t)
{
    gb_status status = {0};
    double start_s = gb_now_s();
    gb_device_avoid(device, t->avoid);
    bool ran = diag_selftest_case_run(device, t->i, &t->worst, &status);
    gb_log(GB_LOG_DEBUG, "%s, without %x: %.2f s", diag_selftest_case_name(t->i), t->avoid,
           gb_now_s() - start_s);
    if (!ran) {
        t->worst = NAN;
        snprintf(t->why, sizeof t->why, "%.80s: %.110s", diag_selftest_case_name(t->i),
                 status.what);
    }
}

static double take_trial(const trial *t, gb_selftest_report *report)
{
    if (isnan(t->worst) && !report->why[0])
        memcpy(report->why, t->why, sizeof report->why);
    return t->worst;
}

static double try_case(gb_device *device, size_t i, uint32_t avoid, gb_selftest_report *report)
{
    trial t = {.i = i, .avoid = avoid};
    make_trial(device, &t);
    return take_trial(&t, report);
}

/* ---- many trials ---- */

/* Most of their time is the driver's compiler, so each thread has a device. */
#define MAX_THREADS 8

typedef struct pool {
    gb_device *devices[MAX_THREADS]; /* the first is not its own */
    uint32_t count;                  /* devices */
    trial *trials;                   /* to be made, up to one for a case and column */
    size_t trial_count;              /* how many */
    atomic_size_t taken;             /* of them, all together */
    atomic_size_t from_end[2];       /* from the front, from the back */
    atomic_size_t made;              /* and ended */
    gb_progress progress;            /* shown by the first device's thread */
} pool;

typedef struct worker {
    pool *pool;        /* whose */
    gb_device *device; /* one of its own */
    bool back;         /* takes trials from the back */
} worker;

static bool pool_open(pool *c, gb_device *device, gb_status *status)
{
    /* Not by its UUID: two drivers of one device have that in common. */
    char index[12];
    snprintf(index, sizeof index, "%u", gb_device_get_caps(device)->index);
    gb_device_params params = gb_ops_device(gb_device_config(device), index);
    params.validation = gb_device_validating(device);
    params.quiet = true;
    *c = (pool){.devices = {device}, .count = 1};
    c->trials =
        gb_alloc(diag_selftest_case_count() * GB_SELFTEST_COLUMNS, sizeof *c->trials, status);
    if (!c->trials)
        return false;
    while (c->count < MAX_THREADS && c->count < gb_os_processors()) {
        gb_status ignored = {0}; /* fewer do it too */
        gb_device *another = gb_device_open(&params, &ignored);
        if (!another)
            break;
        gb_device_use_precision(another, GB_FP32);
        c->devices[c->count++] = another;
    }
    return true;
}

static void pool_close(pool *c, gb_selftest_report *report)
{
    for (uint32_t d = 1; d < c->count; d++) {
        report->messages += gb_device_validation_count(c->devices[d]);
        gb_device_close(c->devices[d]);
    }
    free(c->trials);
}

static void crew_add(pool *c, trial t)
{
    c->trials[c->trial_count++] = t;
}

/* Trials beside each other use the same kernels, which each device compiles for itself: so half of
 * the hands begin at the other end. */
static void *work(void *argument)
{
    worker *h = argument;
    pool *c = h->pool;
    while (atomic_fetch_add(&c->taken, 1) < c->trial_count) {
        size_t t = atomic_fetch_add(&c->from_end[h->back], 1);
        make_trial(h->device, &c->trials[h->back ? c->trial_count - 1 - t : t]);
        size_t made = atomic_fetch_add(&c->made, 1) + 1;
        if (h->device == c->devices[0])
            gb_progress_update(&c->progress, made, NULL);
    }
    return NULL;
}

/* All that were added; results do not depend on who makes which. */
static void make_trials(pool *c, gb_selftest_report *report)
{
    worker workers[MAX_THREADS];
    size_t count = c->trial_count;
    atomic_store(&c->made, 0);
    atomic_store(&c->taken, 0);
    atomic_store(&c->from_end[0], 0);
    atomic_store(&c->from_end[1], 0);
    for (uint32_t i = 0; i < c->count; i++)
        workers[i] = (worker){.pool = c, .device = c->devices[i], .back = i % 2};
    gb_progress_begin(&c->progress, "self-test", "programs", count, 0);
    gb_run_parts(work, workers, sizeof *workers, c->count);
    gb_progress_clear(&c->progress);
    for (size_t t = 0; t < count; t++)
        report->worst[c->trials[t].i][c->trials[t].column] = take_trial(&c->trials[t], report);
    c->trial_count = 0;
}

/* ---- what is to blame ---- */

/* The variants without which a wrong case is right; 0 if there are none. */
static uint32_t blame(gb_device *device, size_t i, uint32_t avoid, gb_selftest_report *report)
{
    for (size_t v = 0; v < VARIANTS; v++)
        if ((variants[v].bit & GB_QUIRK_VARIANTS & ~avoid) &&
            try_case(device, i, avoid | variants[v].bit, report) <= TOLERANCE)
            return variants[v].bit;
    return try_case(device, i, GB_QUIRK_VARIANTS, report) <= TOLERANCE ? GB_QUIRK_VARIANTS & ~avoid
                                                                       : 0;
}

static void refuse(gb_selftest_report *report, size_t i)
{
    if (isnan(report->worst[i][GB_SELFTEST_USED])) {
        report->failed++;
        return;
    }
    size_t used = strlen(report->refused);
    snprintf(report->refused + used, sizeof report->refused - used, "%s%s", used ? "; " : "",
             diag_selftest_case_name(i));
}

/* All that is made by the form of matrices that `avoid` leaves. */
static bool matrices_right(gb_device *device, uint32_t avoid, gb_selftest_column column,
                           gb_selftest_report *report)
{
    bool right = true;
    gb_device_use_precision(device, column == GB_SELFTEST_BFLOAT16 ? GB_BF16 : GB_FP16);
    for (size_t i = 0; i < diag_selftest_case_count(); i++) {
        if (!diag_selftest_case_in(i, column))
            continue;
        report->worst[i][column] = try_case(device, i, avoid, report);
        right = right && report->worst[i][column] <= diag_selftest_tolerance(column);
    }
    gb_device_use_precision(device, GB_FP32);
    return right;
}

/* Cooperative matrices are used only where they are asked for, so a device on which they are wrong
 * is not refused: attention, or products too, are of floats then. Returns what to avoid; wrong: the
 * products of this form. */
static uint32_t test_form(gb_device *device, uint32_t avoid, gb_selftest_column column,
                          uint32_t wrong, gb_selftest_report *report)
{
    if (matrices_right(device, avoid, column, report))
        return 0;
    return matrices_right(device, avoid | GB_QUIRK_NO_MATRIX_ATTENTION, column, report)
               ? GB_QUIRK_NO_MATRIX_ATTENTION
               : wrong;
}

static uint32_t test_matrices(gb_device *device, uint32_t avoid, bool all,
                              gb_selftest_report *report)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    bool khr = caps->matrix.khr_source && !(caps->quirks & GB_QUIRK_NO_MATRIX_KHR);
    uint32_t found = test_form(device, avoid, GB_SELFTEST_MATRICES, GB_QUIRK_NO_MATRIX, report);
    if (!khr || !(all || found) || !gb_shader_find("matmul_matrix"))
        return found;
    uint32_t other = test_form(device, avoid | GB_QUIRK_NO_MATRIX_KHR, GB_SELFTEST_NV_FORM,
                               GB_QUIRK_NO_MATRIX, report);
    if (!found || other == GB_QUIRK_NO_MATRIX)
        return found;
    return found == GB_QUIRK_NO_MATRIX || !other ? GB_QUIRK_NO_MATRIX_KHR | other : found;
}

/* What programs use, and which variants are to blame for what is wrong of it: those to avoid. */
static uint32_t test_used(pool *c, bool cpu, bool all, uint32_t given, gb_selftest_report *report)
{
    gb_device *device = c->devices[0];
    uint32_t avoid = given;
    for (size_t i = 0; i < diag_selftest_case_count(); i++)
        if (all || !diag_selftest_case_seldom(i, cpu))
            crew_add(c, (trial){.i = i, .avoid = avoid});
    make_trials(c, report);
    for (size_t i = 0; cpu && i < diag_selftest_case_count(); i++) /* others have no variants */
        if (!(report->worst[i][GB_SELFTEST_USED] <= TOLERANCE) &&
            (avoid == given || !(try_case(device, i, avoid, report) <= TOLERANCE)))
            avoid |= blame(device, i, avoid, report);
    return avoid;
}

/* The same with all that is avoided together, if that is `more` than at first, and, if wanted, what
 * stands in for the variants. */
static void test_instead(pool *c, bool more, bool instead, uint32_t avoid,
                         gb_selftest_report *report)
{
    uint32_t buffers = avoid | GB_QUIRK_NO_TEXELS, plain = GB_QUIRK_VARIANTS;
    for (size_t i = 0; i < diag_selftest_case_count(); i++) {
        if (more && !(report->worst[i][GB_SELFTEST_USED] < 0))
            crew_add(c, (trial){i, GB_SELFTEST_USED, avoid});
        if (instead && buffers != avoid && diag_selftest_case_in(i, GB_SELFTEST_BUFFERS))
            crew_add(c, (trial){i, GB_SELFTEST_BUFFERS, buffers});
        if (instead && (avoid & plain) != plain && diag_selftest_case_in(i, GB_SELFTEST_PLAIN))
            crew_add(c, (trial){i, GB_SELFTEST_PLAIN, plain});
    }
    make_trials(c, report);
}

/* All kernels of 32-bit floats; what must be avoided. */
static uint32_t test_kernels(pool *c, bool all, uint32_t given, gb_selftest_report *report)
{
    /* Only these kernels have variants. */
    bool cpu = gb_device_get_caps(c->devices[0])->profile == GB_PROFILE_CPU;
    uint32_t avoid = test_used(c, cpu, all, given, report);
    test_instead(c, avoid != given, all && cpu, avoid, report);
    for (size_t i = 0; i < diag_selftest_case_count(); i++)
        if (!(report->worst[i][GB_SELFTEST_USED] <= TOLERANCE))
            refuse(report, i);
    return avoid;
}

static bool report_begin(gb_selftest_report *report, gb_status *status)
{
    size_t count = diag_selftest_case_count();
    *report = (gb_selftest_report){.worst = gb_alloc(count, sizeof *report->worst, status)};
    for (size_t i = 0; report->worst && i < count; i++)
        for (int column = 0; column < GB_SELFTEST_COLUMNS; column++)
            report->worst[i][column] = -1;
    return report->worst != NULL;
}

void gb_selftest_free(gb_selftest_report *report)
{
    free(report->worst);
    report->worst = NULL;
}

bool gb_selftest_run(gb_device *device, bool all, gb_selftest_report *report, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    uint32_t given = caps->quirks & GB_QUIRK_TESTED;
    gb_precision precision = caps->precision;
    double start_s = gb_now_s();
    pool c = {0};
    if (!report_begin(report, status) || !pool_open(&c, device, status))
        return false;
    gb_device_use_precision(device, GB_FP32);
    uint32_t avoid = test_kernels(&c, all, given, report);
    pool_close(&c, report);
    bool halves = caps->matrix.m && (all || precision == GB_FP16);
    bool bfloats = caps->matrix_bf16.m && (all || precision == GB_BF16);
    if (halves)
        avoid |= test_matrices(device, avoid, all, report);
    if (bfloats)
        avoid |= test_form(device, avoid, GB_SELFTEST_BFLOAT16, GB_QUIRK_NO_BFLOAT16, report);
    gb_device_avoid(device, avoid);
    gb_device_use_precision(device, precision);
    report->wrong = avoid & ~given;
    report->seconds = gb_now_s() - start_s;
    if (report->failed) /* nothing is known of what did not run */
        return true;
    const gb_config *config = gb_device_config(device);
    return gb_selftest_store(config, caps, report->wrong,
                             report->refused[0] ? report->refused : NULL, status) &&
           (!halves || gb_selftest_store_matrices(config, caps, GB_FP16, report->wrong, status)) &&
           (!bfloats || gb_selftest_store_matrices(config, caps, GB_BF16, report->wrong, status));
}

static void warn(const gb_device_caps *caps, const gb_selftest_report *report)
{
    for (size_t v = 0; v < VARIANTS; v++)
        if (report->wrong & variants[v].bit)
            gb_log(GB_LOG_OWN, "%s: %s compute wrong numbers here, %s instead (gabbro doctor)",
                   caps->name, variants[v].what, variants[v].instead);
}

bool diag_selftest_ensure(const gb_config *config, const char *select, gb_device_caps *caps,
                          gb_status *status)
{
    gb_device_params params = gb_ops_device(config, select);
    params.quiet = true;
    gb_selftest_report report;
    gb_status unkept = {0};
    if (!gb_device_find(&params, caps, status))
        return false;
    if (gb_selftest_known(config, caps) || config->fail_at) /* its failures are not for us */
        return true;
    gb_device *device = gb_device_open(&params, status);
    if (!device)
        return false;
    gb_log(GB_LOG_DEBUG, "first use of this driver: its kernels are tested");
    if (!gb_selftest_run(device, false, &report, &unkept))
        gb_log(GB_LOG_DEBUG, "what the self-test found was not kept: %s", unkept.what);
    warn(caps, &report);
    gb_selftest_free(&report);
    gb_device_close(device);
    return true;
}
