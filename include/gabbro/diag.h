/* Diagnosis module: describes devices, tests whether their kernels are right (self-test), and finds
 * the tiles that suit them. */
#ifndef GABBRO_DIAG_H
#define GABBRO_DIAG_H

#include <gabbro/ops.h>

#include <stdio.h>

/* ---- devices, described for people ---- */

/* Prints a line for each device and marks the chosen one (NULL: none). */
bool gb_devices_print(const gb_config *config, const gb_device_caps *chosen, FILE *out,
                      gb_status *status);
/* Prints the devices that can be used, one a line: "INDEX: NAME, DRIVER". */
bool gb_devices_print_names(const gb_config *config, FILE *out, gb_status *status);
/* Prints what a device is and can do, and what the shader compiler of the build knew. */
void gb_device_print(const gb_device *device, FILE *out);

/* ---- self-test ---- */

/* Sets of kernels that the self-test compares with float64. */
typedef enum gb_selftest_column {
    GB_SELFTEST_USED,     /* the kernels that programs will use */
    GB_SELFTEST_BUFFERS,  /* the same with operands from storage buffers */
    GB_SELFTEST_PLAIN,    /* the next best variant of everything */
    GB_SELFTEST_MATRICES, /* matmuls by cooperative matrices, if the device has them */
    GB_SELFTEST_NV_FORM,  /* matmuls by the next best form of those */
    GB_SELFTEST_BFLOAT16, /* matmuls by cooperative matrices of bfloat16 */
    GB_SELFTEST_COLUMNS
} gb_selftest_column;

/* What the self-test found. Zero-initialise; free with gb_selftest_free. */
typedef struct gb_selftest_report {
    uint32_t wrong; /* GB_QUIRK_TESTED bits of what was found wrong */
    /* Largest difference from float64 of each case with each set of kernels, relative to the
     * tensor's largest value; below 0: not tested, NAN: did not run. */
    double (*worst)[GB_SELFTEST_COLUMNS];
    uint32_t failed;   /* cases that did not run */
    char refused[400]; /* cases for which no kernel is right; may be empty */
    char why[200];     /* first message of a case that did not run */
    uint32_t messages; /* messages of the validation layer on devices opened for the test */
    double seconds;    /* time that the test took */
} gb_selftest_report;

/* Tests the kernels that programs will use, finds the variants that are to blame for what is wrong,
 * and avoids them on this device from then on. `all` also tests the next best variants, and what
 * few programs use. The result is kept for the device's driver. False if memory for a test was
 * missing, or if the result could not be kept. */
bool gb_selftest_run(gb_device *device, bool all, gb_selftest_report *report, gb_status *status);
void gb_selftest_free(gb_selftest_report *report);
/* Prints the report of a device. Returns whether the device can be used. */
bool gb_selftest_print(const gb_selftest_report *report, const gb_device *device, FILE *out);

/* Makes the programs of the self-test with every set of kernels that the device has, on a device
 * that was opened for a survey (gabbro/vk.h). */
bool gb_selftest_survey(gb_device *device, gb_status *status);

/* ---- tiles ---- */

/* How gb_tune measures. */
typedef struct gb_tune_params {
    const gb_config *config; /* what the environment asks for */
    const char *select;      /* device by index, name or UUID; NULL: the best */
    double seconds;          /* most seconds of each measurement */
    bool dry_run;            /* do not keep the result */
    bool forget;             /* go back to the kernels' own tiles, measure nothing */
    FILE *out;               /* gets what it finds; NULL: nothing is printed */
} gb_tune_params;
/* Finds the tiles with which matmuls are fastest on a device and driver, and keeps them in the
 * user's cache, from which every later command takes them. */
bool gb_tune(const gb_tune_params *params, gb_status *status);
/* Makes a device ready for its first use: runs the self-test and, if matmuls use a kept choice of
 * tiles, the tuning. Does nothing if this driver was seen before. `select` names the device (may be
 * NULL). False if the device could not be opened or the user stopped it. */
bool gb_device_ready(const gb_config *config, const char *select, gb_status *status);

#endif
