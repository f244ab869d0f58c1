/* Diagnosis module: what a device is, whether its kernels are right (self-test), and which tiles
 * suit it. */
#ifndef GABBRO_DIAG_H
#define GABBRO_DIAG_H

#include <gabbro/ops.h>

#include <stdio.h>

/* ---- devices, described for people ---- */

/* A line for each device; the one of that UUID is marked. */
bool gb_devices_print(const gb_config *config, const char *chosen_uuid, FILE *out,
                      gb_status *status);
/* Of those that can be used, one a line: "INDEX: NAME, DRIVER". */
bool gb_devices_print_names(const gb_config *config, FILE *out, gb_status *status);
/* What a device is and can do, and what the shader compiler of the build could. */
void gb_device_print(const gb_device *device, FILE *out);

/* ---- self-test: every kernel variant against float64, what is wrong avoided from then on ---- */

/* Sets of kernels that are tried. */
typedef enum gb_selftest_column {
    GB_SELFTEST_USED,     /* what programs will use */
    GB_SELFTEST_BUFFERS,  /* operands from storage buffers */
    GB_SELFTEST_PLAIN,    /* next best of everything */
    GB_SELFTEST_MATRICES, /* products by cooperative matrices, where the device has them */
    GB_SELFTEST_NV_FORM,  /* by the next best of those */
    GB_SELFTEST_BFLOAT16, /* by those of bfloat16 */
    GB_SELFTEST_COLUMNS
} gb_selftest_column;

/* What the self-test found. Zero-initialise; free with gb_selftest_free. */
typedef struct gb_selftest_report {
    uint32_t wrong; /* GB_QUIRK_TESTED bits found wrong */
    /* Of each case and set of kernels: the largest difference from float64, relative to the
     * tensor's largest value; below 0: not tried, NAN: did not run. */
    double (*worst)[GB_SELFTEST_COLUMNS];
    uint32_t failed;   /* cases that did not run */
    char refused[400]; /* cases with no right kernel; may be empty */
    char why[200];     /* first message of a case that did not run */
    uint32_t messages; /* of the validation layer, on the devices that helped */
    double seconds;    /* taken */
} gb_selftest_report;

/* Test what programs will use, find out which variants are to blame for what is wrong, and avoid
 * them on this device. `all`: the next best variants too, and what few programs use. The result is
 * kept for the device's driver. False: there was no memory for a test, or the result was not kept.
 */
bool gb_selftest_run(gb_device *device, bool all, gb_selftest_report *report, gb_status *status);
void gb_selftest_free(gb_selftest_report *report);
/* Print a report of a device; whether the device can be used. */
bool gb_selftest_print(const gb_selftest_report *report, const gb_device *device, FILE *out);

/* ---- tiles ---- */

/* How gb_tune measures. */
typedef struct gb_tune_params {
    const gb_config *config; /* what the environment asks for */
    const char *select;      /* device by index, name or UUID; NULL: the best */
    double seconds;          /* most of each measurement */
    bool dry_run;            /* keep nothing */
    bool forget;             /* go back to the kernels' own tiles, measure nothing */
    FILE *out;               /* where it says what it finds; NULL: nowhere */
} gb_tune_params;
/* Which tiles products are fastest with on this device and driver, kept for it in the user's cache.
 */
bool gb_tune(const gb_tune_params *params, gb_status *status);
/* What a device is made ready with before its first use: the self-test and, where products use a
 * kept choice of tiles, the choice, of the device that `select` names (may be NULL); nothing where
 * its driver was seen before. False if the device could not be opened or the user stopped it. */
bool gb_device_ready(const gb_config *config, const char *select, gb_status *status);

#endif
