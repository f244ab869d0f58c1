/* Reproduce module: makes the tables of the papers from their recipes. It executes the commands
 * that a table needs as processes of this program, several at a time, collects what they measured,
 * and writes the report. */
#ifndef GABBRO_REPRODUCE_H
#define GABBRO_REPRODUCE_H

#include <gabbro/options.h>
#include <gabbro/page.h>

/* What to do with a table. */
typedef enum gb_reproduce_action {
    GB_REPRODUCE_TABLE,   /* make a table, or all of them */
    GB_REPRODUCE_LIST,    /* print which tables there are */
    GB_REPRODUCE_PLAN,    /* print what tables will cost on this machine */
    GB_REPRODUCE_EXPLAIN, /* print where the numbers of a row, or of all, came from */
    GB_REPRODUCE_NEW,     /* write the skeleton of another paper, named `table` */
    GB_REPRODUCE_JUDGE,   /* judge runs and models that are there as a table */
    GB_REPRODUCE_LOG,     /* list what others sent of their tables */
    GB_REPRODUCE_TRAIN,   /* train a retriever on the collection that the settings name */
} gb_reproduce_action;

/* What the user asks for. What was not given is NULL, 0 or GB_OPEN. Nothing is copied. */
typedef struct gb_reproduce_params {
    gb_reproduce_action action;  /* what to do */
    const char *table;           /* name or alias of a table, or "all" */
    const char *row;             /* row to be explained; NULL: all of them */
    const char *scale;           /* "mini", "small", "paper" */
    gb_words settings_files;     /* files of settings over the scale's; later ones over earlier */
    gb_words changes;            /* NAME=VALUE, settings over those of the files */
    uint64_t seed;               /* seed of training, if seeds is 0 */
    uint32_t seeds;              /* number of seeds: 42, 43 ... 41 + seeds */
    bool record;                 /* add the results to the recorded ones */
    const char *collection;      /* folder or file of the user's own collection */
    const char *queries;         /* file of generated queries for it */
    const char *init;            /* folder of the encoder to start from */
    const char *rows;            /* patterns of rows, separated by commas, or "all" */
    const char *generator;       /* folder of a generator of queries, or "trained" */
    const char *data;            /* folder of public collections and models */
    const char *store;           /* root of the store */
    const char *device;          /* Vulkan device */
    const char *compare_devices; /* "A,B": make the table on both devices */
    uint32_t ranks;              /* processes that train together */
    const char *devices;         /* their devices in turn */
    uint32_t gradient_shards;    /* of a batch */
    uint32_t simulate_ranks;     /* ranks that one process stands for */
    const char *paper;           /* folder of another paper, see GB_REPRODUCE_NEW */
    const char *runs;            /* folder of what is judged */
    bool judged;                 /* add columns Judged@10 to tables */
    const char *out;             /* folder of the results */
    const char *submit;          /* file for others: device, values, checks; see gb_seen_write */
    const char *submit_name;     /* who made it, in that file */
    const char *seen;            /* folder of such files, for GB_REPRODUCE_LOG */
    const char *report;          /* folder of a static site */
    uint32_t jobs;               /* most processes at a time; 0: as many as suit the device */
    bool dry_run;                /* print the commands, execute nothing */
    bool quiet;                  /* print no progress */
    bool profile;                /* print tables of kernel times */
    const gb_config *config;     /* what the environment asks for; also program and tables */
    const gb_command_set *commands; /* of the program: those of recipes are checked by them before
                                       the first one runs; NULL: they are not */
} gb_reproduce_params;

/* Does what the user asks for. Progress is printed on stderr, results on stdout. GB_INTERRUPTED
 * after a signal; the same call then continues where it was stopped. */
bool gb_reproduce(const gb_reproduce_params *params, gb_status *status);

/* Where a page that a run wrote (GB_PAGE_PROGRESS in the folder of its results) says that it runs
 * and has not been written for GB_PAGE_STALE_S seconds, makes it say that it was stopped: by the
 * clock of this machine, and without scripts. */
void gb_reproduce_page_mark(gb_text *html);
/* A page in its place that says that there is no run yet, and looks again. */
void gb_reproduce_page_missing(gb_text *html);

/* Prints all settings of a GB_REPRODUCE_TRAIN with their defaults, as a file of settings. */
bool gb_reproduce_example(FILE *out, gb_status *status);

#endif
