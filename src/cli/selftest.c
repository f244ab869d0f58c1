/* Which kernel variants are to blame, and that a new driver is tested once. */
#include "selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    /* only where they are asked for: */
    {GB_QUIRK_NO_MATRIX_KHR, "products by KHR's matrices", "NV's form of them"},
    {GB_QUIRK_NO_MATRIX, "products by cooperative matrices", "products of floats"},
};
#define VARIANTS     (sizeof variants / sizeof *variants)
#define CPU_VARIANTS (VARIANTS - 2)

void selftest_variant(uint32_t bit, const char **what, const char **instead)
{
    *what = *instead = "";
    for (size_t i = 0; i < VARIANTS; i++)
        if (variants[i].bit == bit) {
            *what = variants[i].what;
            *instead = variants[i].instead;
        }
}

/* One case with some variants avoided; NAN if it did not run. */
static double try_case(gb_device *device, size_t i, uint32_t avoid, selftest_report *report)
{
    gb_status status = {0};
    double worst = 0;
    gb_device_avoid(device, avoid);
    if (selftest_case_run(device, i, &worst, &status))
        return worst;
    if (!report->why[0])
        snprintf(report->why, sizeof report->why, "%.80s: %.110s", selftest_case_name(i),
                 status.what);
    return NAN;
}

/* The variants without which a wrong case is right; 0 if there are none. */
static uint32_t blame(gb_device *device, size_t i, uint32_t avoid, selftest_report *report)
{
    for (size_t v = 0; v < CPU_VARIANTS; v++)
        if (!(avoid & variants[v].bit) &&
            try_case(device, i, avoid | variants[v].bit, report) <= SELFTEST_TOLERANCE)
            return variants[v].bit;
    return try_case(device, i, GB_QUIRK_VARIANTS, report) <= SELFTEST_TOLERANCE
               ? GB_QUIRK_VARIANTS & ~avoid
               : 0;
}

static void refuse(selftest_report *report, size_t i)
{
    if (isnan(report->worst[i][SELFTEST_USED])) {
        report->failed++;
        return;
    }
    size_t used = strlen(report->refused);
    snprintf(report->refused + used, sizeof report->refused - used, "%s%s", used ? "; " : "",
             selftest_case_name(i));
}

/* All products by the form of matrices that `avoid` leaves. */
static bool matrices_right(gb_device *device, uint32_t avoid, selftest_column column,
                           selftest_report *report)
{
    bool right = true;
    gb_device_use_precision(device, GB_FP16);
    for (size_t i = 0; i < SELFTEST_CASES; i++) {
        if (!selftest_case_in(i, column))
            continue;
        report->worst[i][column] = try_case(device, i, avoid, report);
        right = right && report->worst[i][column] <= SELFTEST_HALVES;
    }
    gb_device_use_precision(device, GB_FP32);
    return right;
}

/* Cooperative matrices are used only where they are asked for, so a device on which they are wrong
 * is not refused: what is left then are products of floats. */
static uint32_t test_matrices(gb_device *device, uint32_t avoid, bool all, selftest_report *report)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    bool khr = caps->matrix.khr_source && !(caps->quirks & GB_QUIRK_NO_MATRIX_KHR);
    bool right = matrices_right(device, avoid, SELFTEST_MATRICES, report);
    bool other = khr && (all || !right) && gb_shader_find("matmul_matrix") &&
                 matrices_right(device, avoid | GB_QUIRK_NO_MATRIX_KHR, SELFTEST_NV_FORM, report);
    return right ? 0 : other ? GB_QUIRK_NO_MATRIX_KHR : GB_QUIRK_NO_MATRIX;
}

bool selftest_run(gb_device *device, bool all, selftest_report *report, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    uint32_t given = caps->quirks & GB_QUIRK_TESTED, avoid = given;
    gb_precision precision = caps->precision;
    bool cpu = caps->profile == GB_PROFILE_CPU; /* only it has variants */
    double start_s = gb_now_s();
    *report = (selftest_report){0};
    gb_device_use_precision(device, GB_FP32);
    for (size_t i = 0; i < SELFTEST_CASES; i++) {
        for (int column = 0; column < SELFTEST_COLUMNS; column++)
            report->worst[i][column] = -1;
        report->worst[i][SELFTEST_USED] = try_case(device, i, avoid, report);
        if (cpu && !(report->worst[i][SELFTEST_USED] <= SELFTEST_TOLERANCE))
            avoid |= blame(device, i, avoid, report);
    }
    for (size_t i = 0; i < SELFTEST_CASES; i++) {
        if (avoid != given) /* with all that is avoided together */
            report->worst[i][SELFTEST_USED] = try_case(device, i, avoid, report);
        if (!(report->worst[i][SELFTEST_USED] <= SELFTEST_TOLERANCE))
            refuse(report, i);
        if (all && cpu && (avoid | GB_QUIRK_NO_TEXELS) != avoid &&
            selftest_case_in(i, SELFTEST_BUFFERS))
            report->worst[i][SELFTEST_BUFFERS] =
                try_case(device, i, avoid | GB_QUIRK_NO_TEXELS, report);
        if (all && cpu && (avoid & GB_QUIRK_VARIANTS) != GB_QUIRK_VARIANTS &&
            selftest_case_in(i, SELFTEST_PLAIN))
            report->worst[i][SELFTEST_PLAIN] = try_case(device, i, GB_QUIRK_VARIANTS, report);
    }
    bool matrices = caps->matrix.m && (all || precision != GB_FP32);
    if (matrices)
        avoid |= test_matrices(device, avoid, all, report);
    gb_device_avoid(device, avoid);
    gb_device_use_precision(device, precision);
    report->wrong = avoid & ~given;
    report->seconds = gb_now_s() - start_s;
    if (report->failed) /* nothing is known of what did not run */
        return true;
    return gb_selftest_store(caps, report->wrong, report->refused[0] ? report->refused : NULL,
                             status) &&
           (!matrices || gb_selftest_store_matrices(caps, report->wrong, status));
}

static void warn(const gb_device_caps *caps, const selftest_report *report)
{
    for (size_t v = 0; v < VARIANTS; v++)
        if (report->wrong & variants[v].bit)
            gb_log(GB_LOG_WARN, "%s: %s compute wrong numbers here, %s instead (gabbro doctor)",
                   caps->name, variants[v].what, variants[v].instead);
}

bool selftest_ensure(const char *select, gb_device_caps *caps, gb_status *status)
{
    gb_device_params params = {.select = select, .quiet = true};
    selftest_report report;
    gb_status unkept = {0};
    if (!gb_device_find(&params, caps, status))
        return false;
    if (gb_selftest_known(caps) || getenv("GABBRO_FAIL_AT")) /* its failures are not for us */
        return true;
    gb_device *device = gb_device_open(&params, status);
    if (!device)
        return false;
    gb_log(GB_LOG_DEBUG, "first use of this driver: its kernels are tested");
    if (!selftest_run(device, false, &report, &unkept))
        gb_log(GB_LOG_DEBUG, "what the self-test found was not kept: %s", unkept.what);
    warn(caps, &report);
    gb_device_close(device);
    return true;
}
