/* What tables will cost. The graph of the tables is walked: commands that train or encode only
 * count their arithmetic (--cost), on stand-ins where a scale has public collections; the others
 * are quick and really run. A short training then tells how fast this device is. */
#ifndef GABBRO_REPRODUCE_PLAN_H
#define GABBRO_REPRODUCE_PLAN_H

#include "run.h"

/* ---- stand-ins of public collections ---- */

enum { REPRO_STAND_IN_PASSAGES = 256 }; /* of a collection that need not be here */

/* How big a public collection is; a row of datasets/sizes.tsv. */
typedef struct repro_sizes {
    double passages;      /* of the collection */
    double words;         /* of a passage */
    double query_words;   /* of a query */
    double train_queries; /* of its training split */
    double eval_queries;  /* of all splits that measure */
} repro_sizes;
/* GB_DATA where the file does not have it. */
bool repro_sizes_read(const char *name, repro_sizes *sizes, gb_status *status);
/* Writes a small collection of words that mean nothing to a folder, in texts as long as those of
 * the real one, with NAME.queries.jsonl beside it. tokens: of the vocabulary. */
bool repro_stand_in_collection(const char *folder, const repro_sizes *sizes, uint32_t tokens,
                               gb_status *status);
/* Writes vocab.txt of so many tokens to a folder. */
bool repro_stand_in_vocabulary(const char *folder, uint32_t tokens, gb_status *status);

/* ---- commands of a plan ---- */

/* The words of a command as a process gets them. Free with repro_argv_free. */
typedef struct repro_argv {
    const char *items[560]; /* [count], then a NULL */
    size_t count;           /* of them */
    gb_arena *arena;        /* owns them */
} repro_argv;
bool repro_argv_of(const repro_node *node, repro_argv *argv, gb_status *status);
void repro_argv_free(repro_argv *argv);
bool repro_argv_add(repro_argv *argv, gb_status *status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds the words from `first` on, but for an option and its value. */
bool repro_argv_add_without(repro_argv *argv, const repro_argv *from, size_t first,
                            const char *option, gb_status *status);
/* Whether a command trains epochs over training queries. */
bool repro_is_finetuning(const char *command);
/* The value behind an option, the last one; NULL where it has none. */
const char *repro_argv_option(const repro_argv *argv, const char *option);
double repro_argv_number(const repro_argv *argv, const char *option); /* 0 where it has none */

/* NAME=NUMBER words that a command prints with --cost. */
typedef struct repro_cost {
    struct {
        char name[32]; /* "flops" */
        double value;  /* its number */
    } items[24];       /* [count] */
    size_t count;      /* of them */
} repro_cost;
double repro_cost_get(const repro_cost *cost, const char *name); /* 0 where there is none */

/* ---- what tables take ---- */

/* Bytes that one command needs while it runs. */
typedef struct repro_bytes {
    double device; /* on the device */
    double memory; /* of the host, beside the program's */
    double disk;   /* until it ends */
} repro_bytes;

/* Of one table, or of all. Each command is counted where it is first needed. */
typedef struct repro_table_cost {
    const char *name;                         /* of the table */
    double train_flops, encode_flops, host_s; /* of all its commands */
    size_t trainings, encodings;              /* how many */
    double disk;                              /* bytes that stay */
    repro_bytes *needs;                       /* [need_count] of its commands */
    size_t need_count, need_capacity;
    const char **data; /* [data_count] public collections that it reads */
    size_t data_count, data_capacity;
} repro_table_cost;

typedef struct repro_plan {
    const repro_session *session; /* of the call */
    char *root;                   /* temporary folder */
    const char *stand_ins;        /* folder in it */
    const char *environment[8];   /* of its processes: a store of its own */
    repro_graph *graph;           /* of all tables */
    repro_table *tables;          /* [count] */
    repro_table_cost *costs;      /* [count + 1], the last one of all */
    size_t count;                 /* tables */
    const char **public; /* [nodes] name of the public collection that it stands for, or NULL */
    repro_bytes *needs;  /* [nodes] */
    double *hits;        /* [nodes] passages of queries in the run that it writes */
    const char **runs;   /* [nodes] of a collection: BM25's run over its training queries */
    gb_map *counted;     /* a command without what costs nothing -> index of its cost */
    repro_cost *kinds;   /* [kind_count] what was counted */
    size_t kind_count, kind_capacity;
    repro_argv training;   /* the first one that was counted, else a fine-tuning; count 0: none */
    repro_argv finetuning; /* the first one that was counted */
    repro_argv evaluation; /* the first one of a whole collection */
    double evaluation_flops;
} repro_plan;
/* Runs a command of the program in the plan's store; where `printed` is NULL its output is dropped.
 */
bool repro_plan_command(const repro_plan *plan, const char *const *words, gb_text *printed,
                        gb_status *status);
/* What a command costs; those that differ by models and seeds alone cost the same. */
bool repro_plan_cost(repro_plan *plan, const repro_argv *argv, repro_cost *cost, gb_status *status);

/* Bytes of a passage that was found for a query: in a run in memory, and in a search's results. */
enum { REPRO_RUN_BYTES = 16, REPRO_FOUND_BYTES = 8 };
/* A command writes a run of so many passages of queries, which later commands read. */
void repro_plan_run(repro_plan *plan, const repro_node *node, double hits, repro_table_cost *table);
/* Memory of all runs that a command reads; it holds them at once. */
double repro_plan_run_memory(const repro_plan *plan, const repro_node *node,
                             const repro_sizes *sizes);

/* What one passage takes in a search by the vectors of texts, or by those of tokens where the model
 * is a ColBERT or COIL, which the encoder that stands for it does not say. */
typedef struct repro_passage_cost {
    double flops; /* of its score for a query */
    double bytes; /* of its vectors in a file */
} repro_passage_cost;
bool repro_plan_passage(const repro_node *node, const repro_cost *cost, repro_passage_cost *each,
                        gb_status *status);

/* Walks the graph. */
bool repro_plan_count(repro_plan *plan, gb_status *status);

/* How fast this device is. */
typedef struct repro_speed {
    double flops;      /* a second, in training */
    double start_s;    /* seconds of a training beside its steps */
    double evaluate_s; /* seconds of an evaluation beside its arithmetic */
    double program;    /* bytes of the host's memory that the program takes */
    bool on_cpu;       /* the device has the memory of the host */
} repro_speed;
/* Measures it by a short training, as many at once as there will be. */
bool repro_plan_measure(repro_plan *plan, repro_speed *speed, gb_status *status);
bool repro_plan_print(const repro_plan *plan, const repro_speed *speed, gb_status *status);

/* All of it. */
bool repro_plan_tables(repro_session *session, gb_status *status);

#endif
