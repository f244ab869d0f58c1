/* Recipes: Lua scripts that declare how a table is made. */
#ifndef GABBRO_REPRODUCE_RECIPE_H
#define GABBRO_REPRODUCE_RECIPE_H

#include "graph.h"

#include <gabbro/options.h>
#include <gabbro/report.h>

/* A list of words. */
typedef struct repro_words {
    const char *const *items; /* [count] */
    size_t count;             /* of them */
} repro_words;

/* What a recipe is run for. Text is NULL where nothing was given. */
typedef struct repro_recipe_params {
    const char *table;              /* "qac/table1" */
    const repro_settings *settings; /* of the scale and the user */
    const uint64_t *seeds;          /* [seed_count] of training */
    size_t seed_count;              /* at least 1 */
    const char *collection;         /* folder or file of the user */
    const char *queries;            /* generated queries for it */
    const char *init;               /* folder of the encoder to start from */
    const char *vocabulary;         /* file or folder of its tokens; NULL: vocab.txt in it */
    const char *generator;          /* of queries: a folder, or "trained" */
    repro_words ranks;              /* options that say how many processes train, and where */
    repro_words shards;             /* options of the gradient shards */
    const char *data_dir;           /* folder of public collections and models */
    const char *paper;              /* folder of a paper, whose recipes are in its reproduce/; NULL:
                                       one that comes with the program */
    bool plan;                      /* nothing is trained: what stands for public data is small */
    /* Called when the recipe asks for a public folder below data_dir; NULL: not. */
    bool (*input)(void *context, const char *name, gb_status *status);
    void *context;                  /* of input */
    const gb_command_set *commands; /* by which commands are checked; NULL: they are not */
    const gb_config *config;        /* of the environment, for the check */
    const gb_table_spec *spec;      /* whose rows results must have; NULL: any */
} repro_recipe_params;

/* Runs a recipe without access to files (it may ask whether one is there), processes, time and
 * chance, and with bounds on its instructions and memory. What it declares goes into the graph and
 * the table, which the caller frees with repro_table_free, also on failure. */
bool repro_recipe_run(const repro_recipe_params *params, repro_graph *graph, repro_table *table,
                      gb_status *status);
/* A script in memory. */
typedef struct repro_script {
    const char *name; /* its place in messages */
    char *text;       /* of the script */
} repro_script;
/* The same of scripts that are given, one behind the other; the last one is the recipe. */
bool repro_recipe_run_scripts(const repro_recipe_params *params, const repro_script *scripts,
                              size_t count, repro_graph *graph, repro_table *table,
                              gb_status *status);

#endif
