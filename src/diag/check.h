/* A small program of the self-test: built, run on the device and in float64, compared. */
#ifndef DIAG_CHECK_H
#define DIAG_CHECK_H

#include <gabbro/ops.h>

#define CHECK_ROWS   37   /* awkward on purpose: no multiple of a tile */
#define CHECK_LONG   1100 /* rows of an operand whose products are split */
#define CHECK_WIDTH  32
#define CHECK_HEADS  2
#define CHECK_HEAD   (CHECK_WIDTH / CHECK_HEADS)
#define CHECK_WORDS  23
#define CHECK_INPUTS 8

/* An input and its words. */
typedef struct filled {
    gb_tensor tensor;                        /* which */
    uint32_t words[CHECK_ROWS * CHECK_HEAD]; /* u32, or floats by bits */
} filled;

/* A small program being checked. */
typedef struct check {
    size_t which;                /* number of the case */
    gb_executable *exec;         /* the program */
    const gb_params *params;     /* its operands */
    gb_tape *tape;               /* its operations */
    gb_reference *ref;           /* float64 */
    gb_tensor outputs[2];        /* compared, beside the gradients */
    bool indices;                /* outputs[1] holds column numbers in any order */
    filled inputs[CHECK_INPUTS]; /* values */
    uint32_t input_count;        /* of them */
} check;

/* How a case is tried. */
enum {
    IN_BUFFERS = 1,   /* also tried with operands from storage buffers */
    IN_PLAIN = 2,     /* with the next best of everything */
    IN_MATRICES = 4,  /* by cooperative matrices */
    SELDOM = 8,       /* few programs use it */
    NO_GRADIENT = 16, /* forward only */
    OF_ONE = 32,      /* the gradient starts from 1, else from the output */
    ON_GPUS = 64,     /* a CPU has no kernels of its own for it */
};

typedef struct check_case {
    const char *name;            /* for people */
    gb_tensor (*build)(check *); /* builds the program, returns its output */
    uint32_t how;                /* of the bits above */
} check_case;
/* All of them [check_case_count]. */
extern const check_case check_cases[];
extern const size_t check_case_count;

#endif
