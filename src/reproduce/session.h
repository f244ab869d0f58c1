/* A call of gb_reproduce with everything looked up: which tables, which settings, where. */
#ifndef GABBRO_REPRODUCE_SESSION_H
#define GABBRO_REPRODUCE_SESSION_H

#include "catalog.h"
#include "recipe.h"

#include <gabbro/reproduce.h>

enum { REPRO_FIRST_SEED = 42, REPRO_SHARDS = 8 }; /* gradient shards where ranks train */

typedef struct repro_session {
    const gb_reproduce_params *params; /* as given */
    gb_arena *arena;                   /* owns all text below */
    const char *program;               /* whose commands are run */
    const char *tables_dir;            /* published numbers and claims */
    repro_catalog catalog;             /* what there is */
    const repro_entry *entry;          /* the table asked for; NULL: all of them */
    repro_settings settings;           /* of the scale, with the user's */
    const char *rows;                  /* patterns with | between, or NULL */
    bool everything;                   /* also rows that a plain run leaves out */
    const char *out;                   /* folder of the results */
    const char *data_dir;              /* absolute */
    const char *flags;                 /* that every command gets, each with a blank before it */
    repro_words ranks;                 /* options that say how many processes train, and where */
    repro_words shards;                /* options of gradient shards */
    repro_words recorded_shards;       /* the same for the sum of a recipe */
    uint64_t *seeds;                   /* [seed_count] */
    size_t seed_count;                 /* at least 1 */
    repro_recipe_params recipe;        /* of every table but for its name */
    const char *environment[4];        /* variables of every process, up to a NULL */
    const char *flag_words[4];         /* the flags, up to a NULL */
    uint32_t jobs;                     /* processes at once; see repro_session_choose_jobs */
    const char *threads;               /* LP_NUM_THREADS=N of one beside others; NULL: as it is */
    const char *threads_alone;         /* of one that runs alone */
} repro_session;
/* Checks what was asked for and looks everything up; GB_USAGE for what does not go together. */
bool repro_session_open(repro_session *session, const gb_reproduce_params *params,
                        gb_status *status);
void repro_session_close(repro_session *session);

/* How many processes at once: as given, else one for every core of a device that is the CPU,
 * because small kernels leave cores idle when one process has them all; else 1. */
bool repro_session_choose_jobs(repro_session *session, gb_status *status);
/* Whether the device in use is a CPU. */
bool repro_session_on_cpu(const repro_session *session);
/* Runs a command of the program, which prints itself; fails as repro_process_ok does. */
bool repro_session_command(const repro_session *session, const char *const *words,
                           gb_status *status);
/* Selects the rows that were asked for; see repro_table_select. */
bool repro_session_select(const repro_session *session, const repro_graph *graph,
                          repro_table *table, gb_status *status);
/* Runs the recipe of a table. */
bool repro_session_recipe(const repro_session *session, const char *name, repro_graph *graph,
                          repro_table *table, gb_status *status);
/* Fills sum and row_sums of a table, which results carry: what decides them, the same on every
 * device. The sum is that of a plain run; rows on request have sums of their own, of the commands
 * that --rows ROW --dry-run prints. */
bool repro_session_sum(const repro_session *session, repro_table *table, gb_status *status);
/* Text that lives as long as the session; NULL and status on failure. */
const char *repro_session_keep(repro_session *session, gb_status *status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* mpirun -n N reproduce ...: the first of the N processes goes on, and starts *ranks = N for each
 * training; for the others it is *over. */
bool repro_leave_mpirun(const gb_config *config, uint32_t *ranks, bool *over, gb_status *status);

#endif
