/* What random numbers are drawn for in kernels: those of gb_rng_purpose, held to it by src/ops/common.c. */
#define PURPOSE_DROPOUT 7u
#define PURPOSE_DRAW    11u
