/* What the commands that run a step share: options, the store, the device, ranks. */
#ifndef GABBRO_EXPERIMENT_H
#define GABBRO_EXPERIMENT_H

#include <gabbro/nn.h>
#include <gabbro/store.h>

typedef enum step_option_kind {
    OPTION_TEXT,  /* const char ** */
    OPTION_U32,   /* uint32_t * */
    OPTION_U64,   /* uint64_t * */
    OPTION_REAL,  /* double *, at least 0 */
    OPTION_RATIO, /* double *, 0 to 1 */
    OPTION_FLAG,  /* bool * */
    OPTION_LIST,  /* step_list *: may be given several times */
} step_option_kind;

#define STEP_LIST_MOST 64
typedef struct step_list {
    const char *items[STEP_LIST_MOST]; /* values in order */
    size_t count;                      /* how many */
} step_list;

/* One option of a sub-command; a table of them ends with a NULL name. */
typedef struct step_option {
    const char *name;      /* without the dashes */
    step_option_kind kind; /* type of *value */
    void *value;           /* where it goes; holds the default */
    bool required;         /* must be given */
    bool step;             /* a folder or file whose identity is an input of the step */
    const char *help;      /* one line */
    bool later;            /* came after results were recorded: no part of the step's key while it
                              has its default, so that older steps keep their keys */
} step_option;

/* Options of several ranks: --ranks, --devices, and of a training --simulate-ranks and --shares. */
typedef struct step_ranks {
    uint32_t count;      /* of processes to start; 0: as launched, else one */
    uint32_t simulated;  /* ranks that this process alone is */
    uint32_t shares;     /* of a batch; 0: none, or STEP_SHARES with ranks */
    const char *devices; /* "0,1": of the ranks of a machine, in turn; NULL: all alike, or by
                            --device */
} step_ranks;
#define STEP_SHARES 8

/* A sub-command being run. */
typedef struct step_run {
    const char *kind;           /* kind of step, e.g. "finetune" */
    const step_option *options; /* its options */
    json_t *defaults;           /* values of the `later` ones before any was read */
    const char *shader_set;     /* sets of shaders beyond the first that it uses, or NULL */
    const char *store_root;     /* --store */
    const char *device_name;    /* --device */
    bool quiet, profile, help;  /* --quiet, --profile, --help */
    bool no_wait;               /* --no-wait */
    bool cost;                  /* --cost: say what the step takes, do nothing */
    bool said_alone;            /* options with their defaults are no part of the step's key */
    bool trains;                /* it can run as several ranks that divide a batch */
    bool encodes;               /* texts by a sentence encoder: it takes --pooling */
    const char *pooling;        /* --pooling: cls or mean, NULL: as the folder says */
    bool divides;               /* as several ranks that divide its texts; see step_ranks.c */
    step_ranks how;             /* how many, and where */
    gb_ranks *ranks;            /* joined, or NULL */
    char *own_device;           /* of this rank, or NULL */
    bool there;                 /* of ranks: the step was there already */
    char *folder;               /* of ranks but the first: the step's */
    bool with_rank_0;           /* of ranks: ends because rank 0 said why it cannot begin */
    gb_store *store;            /* open store */
    gb_step *step;              /* the step */
    gb_device *device;          /* open once asked for */
} step_run;

/* Read the options (argv[0] is the command). Prints help or a message and sets *exit_code when the
 * command is over. `operand` (may be NULL) takes the one word that is no option. */
bool step_parse(step_run *run, int argc, char **argv, const char *usage, const char **operand,
                int *exit_code, gb_status *status);
/* Open the store and begin the step: settings are all options that are no steps, inputs the others.
 * `extra` (may be NULL; taken over) is merged into the settings. Device steps carry kernels and
 * device in their key. */
bool step_begin(step_run *run, uint32_t version, bool on_device, json_t *extra, gb_status *status);
/* --cost of a training whose task draws `part` of the `batch` texts, pairs or queries of a step:
 * prints NAME=NUMBER words, for scripts. */
#define STEP_COST_PART 64 /* of a larger batch: all of it would only be more of the same */
bool step_train_cost(const gb_task *task, const gb_train_params *params, uint32_t batch,
                     uint32_t part, gb_status *status);
/* The device of a step that runs on one; its name is logged. */
gb_device *step_device(step_run *run, gb_status *status);
/* Whether this process keeps the step's files: rank 0, or the only one. */
bool step_leads(const step_run *run);
/* Whether the step was there already, as rank 0 found. */
bool step_there(const step_run *run);
/* Before the step begins: start the ranks, or join them where they were started, and settle the
 * number of shares and the own device. */
bool step_ranks_join(step_run *run, char *const argv[], gb_status *status);
/* Waits until all ranks have come here; alone at once. */
bool step_ranks_wait(step_run *run, gb_status *status);
/* Rank 0 began the step, or failed to: to all. */
bool step_ranks_begun(step_run *run, const char *device, gb_status *status);
/* The end of a rank, and where it failed of all of them. */
void step_ranks_close(step_run *run, const gb_status *status);
/* Finish with facts (may be NULL), or nothing when the step was there already; print its folder. */
bool step_end(step_run *run, const json_t *facts, gb_status *status);
/* Close everything; exit code of status, which is printed. */
int step_close(step_run *run, const gb_status *status);
/* A path inside the step's folder, also for other ranks than the first; caller frees. */
char *step_file(const step_run *run, const char *name, gb_status *status);
/* A path inside its resume folder, which is made; and one of this rank alone. Caller frees. */
char *step_resume_file(const step_run *run, const char *name, gb_status *status);
char *step_rank_file(const step_run *run, const char *name, gb_status *status);
/* metrics.json of the step: an object of measure -> number or {"value", ...}. */
bool step_write_metrics(const step_run *run, const json_t *metrics, gb_status *status);
json_t *step_times(double seconds);
/* Says how many of the computed rows filled batches up, and adds both counts to times. */
void step_say_padding(json_t *times, uint64_t used, uint64_t computed);
/* Options of a training in less memory: --micro-batch and --recompute. */
typedef struct step_memory {
    uint32_t micro_batch;  /* texts at once; 0: the whole batch */
    const char *recompute; /* none or layers */
} step_memory;
#define STEP_MEMORY_DEFAULTS ((step_memory){.recompute = "none"})
/* Into the settings of a training, and its shader sets [STEP_SETS] (set: its own, or NULL). */
#define STEP_SETS 32
bool step_memory_check(const step_memory *memory, const step_run *run, bool dropout,
                       const char *set, char *sets, gb_status *status);
void step_memory_apply(const step_memory *memory, const step_run *run, gb_train_params *params);
/* What it came to, into facts, where it was asked for. */
void step_memory_facts(const step_memory *memory, const gb_train_result *result, json_t *facts);
/* Of a training: steps of this process, time for batches and for programs, GFLOP/s. */
json_t *step_train_times(const gb_train_result *result);
json_t *step_device_facts(step_run *run); /* object with driver, profile */

#endif
