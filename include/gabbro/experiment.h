/* Experiment module: what the commands that make an artifact share: the options of all of them, the
 * key, the store, the device, and ranks that make one together. */
#ifndef GABBRO_EXPERIMENT_H
#define GABBRO_EXPERIMENT_H

#include <gabbro/options.h>
#include <gabbro/ranks.h>
#include <gabbro/store.h>
#include <gabbro/trainer.h>
#include <gabbro/vk.h>

/* Options of several ranks: --ranks and --devices, and of a training --gradient-shards and
 * --simulate-ranks. */
typedef struct gb_rank_options {
    uint32_t count;     /* processes to start; 0: as launched, else one */
    uint32_t simulated; /* ranks that this process alone stands for */
    uint32_t
        gradient_shards; /* gradient shards of a batch; 0: none, or GB_SHARDS_DEFAULT with ranks */
    const char *devices; /* "0,1": of the ranks of a machine, in turn; NULL: all alike, or by
                            --device */
} gb_rank_options;
#define GB_SHARDS_DEFAULT 8

#define GB_MAKES_ENCODING 1u /* it encodes texts: takes --pooling */
#define GB_MAKES_DIVIDED  2u /* several ranks can divide its texts */
#define GB_MAKES_TRAINING 4u /* several ranks can divide its batches */
#define GB_MAKES_UNSEEN   8u /* the artifact serves what it prints: its folder is not printed */

typedef struct gb_maker gb_maker;
/* A part of the work of a command. `self` is the params'. */
typedef bool gb_maker_work(gb_maker *maker, void *self, gb_status *status);

/* How a command makes an artifact. */
typedef struct gb_make_params {
    const gb_command *command;     /* the command */
    const char *kind;              /* kind of artifact; NULL: the command's name */
    uint32_t version;              /* of the code; raise it when the results change */
    uint32_t flags;                /* GB_MAKES_* */
    uint32_t kernels;              /* what runs on the device, GB_USER_ bits: the device and these
                                      kernels are part of the key; 0: it needs none */
    const gb_option *options;      /* of the command: inputs and settings of the artifact, but for
                                      those with GB_OPTION_NO_KEY */
    const gb_option_table *tables; /* more of these, or NULL */
    void *self;                    /* given to the functions below; the variables of the options */
    gb_maker_work *check; /* are the options good together? May add to what the maker says is
                             its own to change; NULL: always */
    gb_maker_work *cost;  /* for --cost: print what it takes; NULL: there is no --cost */
    gb_maker_work *make;  /* fill the folder. All ranks come here; not where the artifact is
                             there already */
    gb_maker_work *after; /* with the finished artifact, in rank 0; NULL: nothing */
} gb_make_params;

/* An artifact being made by a command. */
struct gb_maker {
    const gb_make_params *params; /* how */
    /* For check to change. */
    uint32_t version; /* of the code */
    uint32_t flags;   /* GB_MAKES_* */
    uint32_t kernels; /* GB_USER_ bits */
    json_t *settings; /* beyond the options, by name; one with an option's name replaces it */
    bool over;        /* nothing is to be made: the command has done what it was asked for */
    /* For all to read. */
    gb_words operands;       /* words that are no options */
    const char *pooling;     /* --pooling: cls or mean; NULL: as the model's folder says */
    const char *device_name; /* --device, or the rank's own */
    gb_rank_options how;     /* of ranks, settled */
    gb_ranks *ranks;         /* joined, or NULL */
    gb_device *device;       /* open once asked for, or NULL */
    /* For make to fill. */
    json_t *facts; /* worth knowing of the artifact. Device and times are added where missing */
    /* Of the module. */
    const gb_config *config;   /* what the environment asks for */
    json_t *initial;           /* values of options before the command line, by variable */
    json_t *defaults;          /* names of the settings that have these values */
    const char *store_root;    /* --store */
    uint32_t pooling_choice;   /* --pooling as it is read */
    bool quiet, profile, cost; /* options */
    bool no_wait;              /* --no-wait */
    gb_store *store;           /* open in rank 0 */
    gb_artifact *step;         /* the artifact in rank 0 */
    char *own_device;          /* of this rank, or NULL */
    bool there;                /* of ranks: the artifact was there already */
    char *folder;              /* of ranks but the first: the artifact's */
    size_t model_count;        /* of models */
    char *models[8];           /* [model_count] folders of those that were named otherwise */
    bool ends_with_first;      /* of ranks: rank 0 said why it cannot begin */
};

/* Run a command: read its options, find the artifact or make it, print its folder. Returns the exit
 * code; failures are printed. */
int gb_make(const gb_make_params *params, const gb_call *call);

/* What is asked for where there is no command line. */
typedef struct gb_making {
    const gb_config *config; /* of the environment */
    const char *store;       /* folder; NULL: the user's */
    const char *device;      /* by index, name, UUID; NULL: the best */
    const char *pooling;     /* cls or mean; NULL: as the model's folder says */
} gb_making;
/* The same for programs: the options of params, which are inputs alone, have their values in
 * `self`; nothing is printed. *folder is the artifact's, which the caller frees. */
bool gb_make_artifact(const gb_make_params *params, const gb_making *how, char **folder,
                      gb_status *status);

/* The device of an artifact that is made on one, opened at the first call. The maker closes it. */
gb_device *gb_maker_device(gb_maker *maker, gb_status *status);
/* Whether this process keeps the artifact's files: rank 0, or the only one. */
bool gb_maker_leads(const gb_maker *maker);
/* "<kind>-<key>" of the artifact; for rank 0. */
const char *gb_maker_name(const gb_maker *maker);
/* The folder that is being filled, for any rank. */
const char *gb_maker_folder(const gb_maker *maker);
/* Notes what decides the artifact and is no option of its own, as a setting of its key. */
bool gb_maker_note(gb_maker *maker, const char *name, const char *text, gb_status *status);
/* Waits until all ranks have come here; alone at once. */
bool gb_maker_wait(gb_maker *maker, gb_status *status);
/* A path inside the folder; one inside its sub-folder "resume", which is made; and one there of
 * a rank alone. Caller frees. */
char *gb_maker_file(const gb_maker *maker, const char *name, gb_status *status);
char *gb_maker_resume_file(const gb_maker *maker, const char *name, gb_status *status);
char *gb_maker_rank_file(const gb_maker *maker, const char *name, uint32_t rank, gb_status *status);
/* Write metrics.json: an object of measure -> number or {"value", ...}. */
bool gb_maker_write_metrics(const gb_maker *maker, const json_t *metrics, gb_status *status);
/* Log how many of the computed rows were padding, and add both counts to times. */
void gb_note_padding(json_t *times, uint64_t used, uint64_t computed);

/* ---- what a store holds, in words ---- */

/* All finished artifacts of a store, what was made of each, and the rows of tables that they are.
 */
typedef struct gb_catalog gb_catalog;
/* Reads the records of a store, which must stay open. The caller frees it with gb_catalog_free. */
gb_catalog *gb_catalog_read(gb_store *store, gb_status *status);
void gb_catalog_free(gb_catalog *catalog); /* NULL ok */
/* Prints a line for each artifact, the oldest first: size, date, seed, how many were made of it,
 * name, what it is, and the tables that need it; then the damaged ones. */
void gb_catalog_print(const gb_catalog *catalog, FILE *out);
/* Prints all that is known of the artifact whose name or key starts with `text`: rows, settings,
 * facts, what it was made from, and what was made of it. */
bool gb_catalog_show(const gb_catalog *catalog, const char *text, FILE *out, gb_status *status);
/* Notes in the store at root which evaluations are rows of a table. rows is an object: name of the
 * row -> seed -> name of the artifact. Rows and seeds that were noted before stay. */
bool gb_catalog_note(const char *root, const char *table, const char *scale, const json_t *rows,
                     gb_status *status);
/* Appends a line for each row that the artifact of a name is: "qac/table1, scale mini: row bm25,
 * seed 42". */
bool gb_catalog_rows(gb_store *store, const char *artifact, gb_text *rows, gb_status *status);
/* Prints a size in bytes as "  12.3 M". */
void gb_print_bytes(FILE *out, uint64_t bytes);

/* ---- artifacts that are trained ---- */

/* Options of a training in less memory: --micro-batch, --recompute, --activations. */
typedef struct gb_memory_settings {
    uint32_t micro_batch; /* texts on the device at once at most; 0: the whole batch */
    uint32_t recompute;   /* place in gb_recomputations; 0: as the device's memory asks for it */
    uint32_t storage;     /* place in the list of --activations; 0: as the device is */
} gb_memory_settings;
extern const gb_option gb_memory_options[];
/* What a training is given of them. */
void gb_memory_apply(const gb_memory_settings *settings, gb_train_params *params);

/* gb_train in all ranks of the maker, with checkpoints in the artifact's resume folder. Adds times
 * and memory to the facts. values: as training->values at first, trained at the end. log: losses of
 * each step or NULL. */
bool gb_maker_train(gb_maker *maker, const gb_training *training, float *values,
                    double (*log)[GB_MAX_LOSSES], gb_train_result *result, gb_status *status);
/* For --cost: print as NAME=NUMBER words what a training takes whose task draws `part` of the
 * `batch` texts, pairs or queries of a step. All of a larger batch would only be more of the same.
 */
#define GB_COST_PART 64
bool gb_maker_print_cost(const gb_maker *maker, const gb_training *training, uint32_t batch,
                         uint32_t part, gb_status *status);

#endif
