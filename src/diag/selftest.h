/* What the files of the self-test share. */
#ifndef DIAG_SELFTEST_H
#define DIAG_SELFTEST_H

#include <gabbro/diag.h>

/* Largest difference that is right. */
double diag_selftest_tolerance(gb_selftest_column column);
/* What a variant is, and what stands in for it. */
void diag_selftest_variant(uint32_t bit, const char **what, const char **instead);
/* The self-test of the device that `select` names (may be NULL), unless its driver was tested
 * before; says what it finds wrong. *caps: what the device is. False if it could not be opened. */
bool diag_selftest_ensure(const gb_config *config, const char *select, gb_device_caps *caps,
                          gb_status *status);

/* Cases: a program of kernels each, forward and gradient. */
size_t diag_selftest_case_count(void);
const char *diag_selftest_case_name(size_t i);
/* Few programs use it, or no kernels of its own. */
bool diag_selftest_case_seldom(size_t i, bool cpu);
/* Whether a column tries it: another case may have the same code. */
bool diag_selftest_case_in(size_t i, gb_selftest_column column);
/* Run it with the kernels that the device has now. *worst: largest difference from float64,
 * relative to the tensor's largest value. */
bool diag_selftest_case_run(gb_device *device, size_t i, double *worst, gb_status *status);

/* Whether two products of a device are the same but for rounding; what is no number is none. */
bool diag_same_numbers(const float *a, const float *b, size_t count);

#endif
