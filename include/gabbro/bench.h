/* Bench module: measures how fast a device does the work of training, encoding, searching and
 * generating, and how far that is from what the device could do. */
#ifndef GABBRO_BENCH_H
#define GABBRO_BENCH_H

#include <gabbro/base.h>

/* What to measure. Nothing is copied. */
typedef struct gb_bench_params {
    const gb_config *config;  /* what the environment asks for */
    const char *const *parts; /* [part_count] matmul, attention, bandwidth, loss, step, encode,
                                 search, generate, growth */
    size_t part_count;        /* number of parts; 0: all of them */
    const char *sizes;        /* "mini,small,base" or some of them; NULL: what suits the device */
    const char *only;         /* measure cases whose name contains it; NULL: all */
    const char *device;       /* index, name, UUID or cpu; NULL: the best */
    uint32_t texts;           /* pairs of a training step; 0: what the size has */
    uint32_t repeats;         /* most timed repetitions of a case, at least 1 */
    double seconds;           /* most seconds that the repetitions of a case take */
    bool openblas;            /* measure matmuls by OpenBLAS, too */
    bool kernels;             /* print the times of each case's kernels, too */
    bool dry_run;             /* list the cases, measure nothing */
    FILE *out;                /* gets the table */
    const char *json;         /* file for all results as JSON, or NULL */
} gb_bench_params;

/* Measures case by case and prints a row for each. A case that would take too long or does not fit
 * in memory is named and left out; if no case could run, the function fails for the last reason.
 * GB_USAGE for unknown parts and sizes, and for an `only` that no case matches. */
bool gb_bench_run(const gb_bench_params *params, gb_status *status);

/* Which kernels to look at. Nothing is copied. */
typedef struct gb_kernels_params {
    const gb_config *config; /* what the environment asks for */
    const char *sizes;       /* "mini,small,base" or some of them; NULL: all */
    const char *device;      /* index, name, UUID or cpu; NULL: the best */
    FILE *out;               /* gets the kernels, one a line */
    const char *tsv;         /* file for the kernels of each program, or NULL */
} gb_kernels_params;

/* Makes the pipelines of the self-test, of a step of each objective, of fine-tuning, encoding,
 * search and generation at some sizes on a device that runs nothing, and prints what the driver's
 * compiler says of each. *wrong: kernels and programs that could not be made, and messages of the
 * validation layer. */
bool gb_kernels_run(const gb_kernels_params *params, uint32_t *wrong, gb_status *status);

#endif
