/* Diagnosis module: is the device right (self-test, determinism, comparison with another), and
 * which tiles suit it. */
#ifndef GABBRO_DIAG_H
#define GABBRO_DIAG_H

#include <gabbro/vk.h>

#include <stdio.h>

/* ---- self-test: every kernel variant against float64, what is wrong avoided from then on ---- */

#define SELFTEST_CASES     31
#define SELFTEST_TOLERANCE 2e-5  /* of a tensor's largest value; sums this short are near 1e-6 */
#define SELFTEST_HALVES    2e-3  /* the same with operands rounded to half floats, 5e-4 each */
#define SELFTEST_BFLOATS   16e-3 /* to bfloat16, 4e-3 each */

/* Sets of kernels that are tried. */
typedef enum selftest_column {
    SELFTEST_USED,     /* what programs will use */
    SELFTEST_BUFFERS,  /* operands from storage buffers */
    SELFTEST_PLAIN,    /* next best of everything */
    SELFTEST_MATRICES, /* products by cooperative matrices, where the device has them */
    SELFTEST_NV_FORM,  /* by the next best of those */
    SELFTEST_BFLOAT16, /* by those of bfloat16 */
    SELFTEST_COLUMNS
} selftest_column;

/* Largest difference that is right; static. */
double selftest_tolerance(selftest_column column);

/* One program of kernels, forward and gradient, with the kernels that the device has now: largest
 * difference from float64, of the tensor's largest value. */
const char *selftest_case_name(size_t i);
bool selftest_case_seldom(size_t i); /* few programs use it */
/* Whether a column tries it: another case may have the same code. */
bool selftest_case_in(size_t i, selftest_column column);
bool selftest_case_run(gb_device *device, size_t i, double *worst, gb_status *status);

typedef struct selftest_report {
    uint32_t wrong;                                 /* GB_QUIRK_TESTED bits found wrong */
    double worst[SELFTEST_CASES][SELFTEST_COLUMNS]; /* < 0: not tried; NAN: did not run */
    uint32_t failed;                                /* cases that did not run */
    char refused[400];                              /* cases with no right kernel; may be empty */
    char why[200];                                  /* first message of a case that did not run */
    uint32_t spoken; /* messages of the validation layer of helping devices */
    double seconds;  /* taken */
} selftest_report;

/* Test what programs will use, find out which variants are to blame for what is wrong, and avoid
 * them on this device. `all`: the next best variants too, and what few programs use. The result is
 * kept. */
bool selftest_run(gb_device *device, bool all, selftest_report *report, gb_status *status);
/* What a variant is, and what stands in for it; static. */
void selftest_variant(uint32_t bit, const char **what, const char **instead);
/* The self-test of the device that `select` names (may be NULL), unless its driver was tested
 * before; says what it finds wrong. *caps: what the device is. False if it could not be opened. */
bool selftest_ensure(const char *select, gb_device_caps *caps, gb_status *status);

/* ---- tiles ---- */

/* How gb_tune measures. */
typedef struct gb_tune_params {
    const char *select; /* device by index, name or UUID; NULL: the best */
    double seconds;     /* most of each measurement */
    bool dry_run;       /* keep nothing */
    bool forget;        /* go back to the kernels' own tiles, measure nothing */
    FILE *out;          /* where it says what it finds; NULL: nowhere */
} gb_tune_params;
/* Which tiles products are fastest with on this device and driver, kept for it in the user's cache.
 */
bool gb_tune(const gb_tune_params *params, gb_status *status);
/* What a device is made ready with before its first use: the self-test and, where products use a
 * kept choice of tiles, the choice, of the device that `select` names (may be NULL); nothing where
 * its driver was seen before. False if the device could not be opened or the user stopped it. */
bool gb_device_ready(const char *select, gb_status *status);

#endif
