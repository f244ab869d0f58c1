/* Reproduce module: makes the tables of the papers from their recipes. It runs the commands that a
 * table needs as processes of this program, several at once, collects what they measured, and has
 * it reported. */
#ifndef GABBRO_REPRODUCE_H
#define GABBRO_REPRODUCE_H

#include <gabbro/options.h>

typedef enum gb_reproduce_action {
    GB_REPRODUCE_TABLE,   /* make a table, or all of them */
    GB_REPRODUCE_LIST,    /* print which tables there are */
    GB_REPRODUCE_PLAN,    /* print what tables will cost on this machine */
    GB_REPRODUCE_EXPLAIN, /* print where the numbers of a row came from */
} gb_reproduce_action;

/* What is asked for. Text is NULL, and a number 0, where nothing was given. Nothing is owned. */
typedef struct gb_reproduce_params {
    gb_reproduce_action action;  /* see above */
    const char *table;           /* name or alias, or "all" */
    const char *row;             /* to be explained */
    const char *scale;           /* "mini", "small", "paper" */
    gb_words settings_files;     /* of the user, over the scale; later ones over earlier ones */
    gb_words changes;            /* NAME=VALUE, over the files */
    uint64_t seed;               /* of training, where seeds is 0 */
    uint32_t seeds;              /* seeds 42, 43 ... 41 + seeds */
    bool record;                 /* add the results to the recorded ones */
    const char *collection;      /* folder or file of the user's own collection */
    const char *queries;         /* generated queries for it */
    const char *init;            /* folder of the encoder to start from */
    const char *rows;            /* patterns with commas between, or "all" */
    const char *generator;       /* folder of a generator of queries, or "trained" */
    const char *data;            /* folder of public collections and models */
    const char *store;           /* root of the store */
    const char *device;          /* Vulkan device */
    const char *compare_devices; /* "A,B": make the table on both */
    uint32_t ranks;              /* processes that train together */
    const char *devices;         /* theirs in turn */
    uint32_t shares;             /* gradient shards of a batch */
    uint32_t simulate_ranks;     /* ranks that one process stands for */
    const char *out;             /* folder of the results */
    const char *report;          /* folder of a static site */
    uint32_t jobs;               /* processes at once; 0: as many as the device likes */
    bool dry_run;                /* print the commands, run nothing */
    bool quiet;                  /* no progress */
    bool profile;                /* tables of kernel times */
    const gb_config *config;     /* what the environment asks for; its program and tables, too */
} gb_reproduce_params;

/* Does what is asked for. Progress goes to stderr, results to stdout. GB_INTERRUPTED after a
 * signal: the same again goes on where it was stopped. */
bool gb_reproduce(const gb_reproduce_params *params, gb_status *status);

#endif
