/* Bench module: measures how fast a device does what training, encoding, searching and generating
 * consist of, and how far that is from what the device can do. */
#ifndef GABBRO_BENCH_H
#define GABBRO_BENCH_H

#include <gabbro/base.h>

/* What is to be measured. Nothing is copied. */
typedef struct gb_bench_params {
    const gb_config *config;  /* what the environment asks for */
    const char *const *parts; /* [part_count] matmul, attention, bandwidth, loss, step, encode,
                                 search, generate, growth */
    size_t part_count;        /* 0: all parts */
    const char *sizes;        /* "mini,small,base" or some of them; NULL: as the device can bear */
    const char *only;         /* cases whose name contains it; NULL: all */
    const char *device;       /* index, name, UUID or cpu; NULL: the best */
    uint32_t texts;           /* of a training step, in pairs; 0: as the size has */
    uint32_t repeats;         /* timed runs of a case at most, at least 1 */
    double seconds;           /* most seconds of a case's timed runs */
    bool openblas;            /* products by OpenBLAS beside them */
    bool dry_run;             /* list the cases, measure nothing */
    FILE *out;                /* where the table is printed */
    const char *json;         /* file for everything as JSON, or NULL */
} gb_bench_params;

/* Measures case by case and prints a row each. A case that would take too long or finds no memory
 * is named and left out; where none could run, the last reason is the failure. Unknown parts and
 * sizes, and an `only` that no case has, fail with GB_USAGE. */
bool gb_bench_run(const gb_bench_params *params, gb_status *status);

#endif
