/* Runs one program on the device and in the float64 reference and compares everything; checks the
 * reference itself by finite differences. */
#ifndef TESTS_OP_HARNESS_H
#define TESTS_OP_HARNESS_H

#include <gabbro/ops.h>

/* A program under test. */
typedef struct program {
    gb_params *params;      /* operands that take gradients */
    gb_tape *tape;          /* the program */
    gb_status status;       /* of the last failure */
    uint32_t seed;          /* of the random values */
    gb_precision precision; /* of products; values are drawn that it holds exactly */
} program;

program program_make(void);
/* With products of that precision. */
program program_of_precision(gb_precision precision);
void program_free(program *p);
/* A random operand with a gradient. */
uint32_t program_param(program *p, const char *name, uint32_t rows, uint32_t cols);
/* The same for a parameter that is not trained. */
uint32_t program_state(program *p, const char *name, uint32_t rows, uint32_t cols);
void program_freeze(program *p); /* after the last param: creates the tape */
gb_tensor program_operand(program *p, const char *name);

/* Values of an input tensor, set before the run: f or u, [rows * ld]. */
typedef struct input_values {
    gb_tensor tensor;  /* which input */
    const uint32_t *u; /* for u32 inputs */
    const float *f;    /* for f32 inputs; NULL: random */
} input_values;

/* Make `y` a value in mid-program (scaled, used twice, added), differentiate, run on the device and
 * in float64, and fail the test when any output or parameter gradient differs by more than
 * tolerance * (1 + largest magnitude), or when the reference's gradient fails finite differences.
 */
void check_program(program *p, gb_tensor y, const input_values *inputs, size_t input_count,
                   double tolerance);
/* The device under test, validation on. */
gb_device *test_device(void);
/* Check in each precision that the device has cooperative matrices for; a test of its own is
 * skipped where it has none. */
void test_each_precision(void (*check)(gb_precision precision));
/* Twice what rounding one operand of a product changes of it. */
double test_rounding(gb_precision precision);

#endif
