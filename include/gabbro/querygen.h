/* Querygen module: lets a language model write queries for the passages of a collection, from the
 * prompt to the file of queries, and trains a small generator of one's own. */
#ifndef GABBRO_QUERYGEN_H
#define GABBRO_QUERYGEN_H

#include <gabbro/data.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>
#include <gabbro/language.h>

/* ---- prompts ---- */

/* A prompt to be filled, and the settings that go with it (prompts/README.md describes the file).
 */
typedef struct gb_prompt_template {
    char *name;             /* the file's */
    char *text;             /* with {passage}, {title}, {text} */
    uint32_t list;          /* an answer lists so many queries at most; 0: it is one */
    uint32_t queries;       /* wanted of a passage */
    double temperature;     /* of sampling; 0: the most probable token */
    uint32_t top_k;         /* of sampling; 0: all */
    double top_p;           /* of sampling; 0 or 1: all */
    uint32_t most_tokens;   /* of an answer */
    uint32_t prompt_tokens; /* of a filled prompt */
} gb_prompt_template;
#define GB_PROMPT_TEMPLATE_DEFAULTS                                                                \
    ((gb_prompt_template){                                                                         \
        .queries = 5, .temperature = 1, .top_p = 1, .most_tokens = 64, .prompt_tokens = 512})
/* Free with gb_prompt_template_free. GB_DATA naming the line of an unknown setting. */
bool gb_prompt_template_read(const char *path, gb_prompt_template *prompt, gb_status *status);
void gb_prompt_template_free(gb_prompt_template *prompt);
/* Nothing stands behind the passage, so that a prompt that is too long may be cut at its end. */
bool gb_prompt_template_ends_with_passage(const gb_prompt_template *prompt);
/* Append the prompt of a passage; of its text at most so many bytes, whole words. */
bool gb_prompt_template_fill(const gb_prompt_template *prompt, const gb_collection *collection,
                             uint32_t passage, size_t most_bytes, gb_text *out, gb_status *status);
/* Append the queries of an answer, each ended by '\n', and give their number. One query: blanks
 * around it removed, line ends inside turned into blanks. A list: one a line, without numbers,
 * bullets and quotation marks; of a list with numbers only what has one; none that out has. */
uint32_t gb_answer_queries(const gb_prompt_template *prompt, const char *answer, size_t length,
                           gb_text *out);

/* ---- a journal ---- */

/* Work on rows that are done in any order, a line each. What a killed process had noted is there
 * again. */
typedef struct gb_journal gb_journal;
/* Opens or makes the file. A line that was cut off while it was written is removed. */
gb_journal *gb_journal_open(const char *path, uint32_t rows, gb_status *status);
void gb_journal_close(gb_journal *journal); /* NULL ok */
uint32_t gb_journal_count(const gb_journal *journal);
bool gb_journal_has(const gb_journal *journal, uint32_t row);
/* line has no line end; it is with the system when this returns. */
bool gb_journal_add(gb_journal *journal, uint32_t row, const char *line, gb_status *status);
/* The line of a row, valid until the next call; NULL and status on failure. */
const char *gb_journal_line(gb_journal *journal, uint32_t row, gb_status *status);

/* ---- generating queries ---- */

#define GB_QUERYGEN_OPEN UINT32_MAX /* a number that the prompt decides */

/* Which queries are generated, and how. Nothing is copied. */
typedef struct gb_querygen_params {
    const char *model;         /* language model: artifact or folder */
    const char *collection;    /* artifact */
    const char *prompt;        /* file of the prompt template */
    const char *name;          /* of the generator; NULL: the model folder's */
    uint32_t queries;          /* of a passage; may be open */
    uint32_t top_k;            /* of sampling; may be open */
    uint32_t most_tokens;      /* of an answer; may be open */
    uint32_t prompt_tokens;    /* of a prompt; the passage is cut to fit; may be open */
    double temperature, top_p; /* of sampling; below 0: open */
    uint32_t batch;            /* texts at a time */
    uint32_t shard_index;      /* part of the passages, from 0 */
    uint32_t shard_count;      /* parts */
    uint64_t seed;             /* of sampling */
    gb_packing packing;        /* how the model's matrices are kept */
} gb_querygen_params;

/* A collection of which a language model writes the queries. */
typedef struct gb_querygen gb_querygen;
/* Reads the prompt and puts its values in the place of the open ones of params, and the name where
 * it is NULL; the params must outlive the generation. GB_USAGE for numbers that make no sense. */
gb_querygen *gb_querygen_create(gb_querygen_params *params, gb_status *status);
void gb_querygen_destroy(gb_querygen *generation);
const char *gb_querygen_prompt_name(const gb_querygen *generation);

/* Generates what is missing, and writes queries.jsonl into the artifact, a line a query with all
 * that made it, in the order of the passages; of the whole collection also what
 * gb_collection_use_queries reads. Answers are kept in the artifact's resume folder, from which an
 * interrupted generation goes on with the same result. *facts (json_decref) is for the artifact's
 * record. */
bool gb_querygen_run(gb_querygen *generation, step_run *run, json_t **facts, gb_status *status);

/* What a generation takes. Prompts are counted in a sample, and texts are as long as they may be.
 */
typedef struct gb_querygen_cost {
    uint32_t passages;        /* of the shard */
    double texts;             /* answers */
    double prompt_tokens;     /* of all prompts */
    double new_tokens;        /* of all answers, at most */
    double flops;             /* arithmetic, at most */
    uint64_t parameter_bytes; /* of the model on the device */
    uint64_t cache_bytes;     /* of keys and values */
} gb_querygen_cost;
bool gb_querygen_estimate(gb_querygen *generation, gb_querygen_cost *cost, gb_status *status);

/* ---- training a generator ---- */

/* What a generator learns from: queries of the training split, each with the passages judged
 * relevant to it. */
typedef struct gb_querygen_pairs {
    gb_qrels train;    /* pairs to train on */
    gb_qrels held_out; /* pairs whose passages are in no pair to train on; may be empty */
    uint32_t refused;  /* queries left out: another split has them too, or their text */
} gb_querygen_pairs;
/* held_out: share of the passages with queries, at least one where it is not 0; most > 0 keeps a
 * seeded subset of that many queries. GB_DATA without a training split or pairs. */
bool gb_querygen_pairs_make(gb_querygen_pairs *pairs, const gb_collection *collection,
                            double held_out, uint32_t most, uint64_t seed, gb_status *status);
void gb_querygen_pairs_free(gb_querygen_pairs *pairs);

typedef struct gb_querygen_task_params {
    uint32_t batch;                          /* pairs of a step */
    uint32_t longest_query, longest_passage; /* tokens, specials included */
    uint64_t seed;                           /* of the order */
} gb_querygen_task_params;
/* The query is written for its passage, token by token, each given the true ones before it
 * (doc2query, Nogueira et al., 2019): mean cross entropy over the tokens of the batch, [SEP], which
 * ends a query, among them. The model reads the passage and the end token. Every epoch takes every
 * pair once, in a new order. self is freed by gb_querygen_task_destroy. */
void *gb_querygen_task_create(const gb_querygen_task_params *params, const gb_qrels *pairs,
                              const gb_tokens *tokens, const gb_language *lm, gb_task *task,
                              gb_status *status);
void gb_querygen_task_destroy(void *self);
/* Mean cross entropy a token of all pairs of a task, in nats. */
bool gb_querygen_loss(gb_device *device, void *self, const gb_params *params, const float *values,
                      double *loss, gb_status *status);
/* The same of a model that knows how often each token is in the queries of `train` (once more than
 * it is), and nothing else. */
bool gb_querygen_unigram_loss(const gb_qrels *train, const gb_qrels *pairs, const gb_tokens *tokens,
                              const gb_language_config *config, double *loss, gb_status *status);

/* A generator to be trained: a T5 with random weights. */
typedef struct gb_querygen_training_params {
    const char *collection, *tokens, *vocabulary; /* artifacts */
    uint32_t layers, hidden, heads, ffn;          /* of encoder and decoder */
    uint32_t epochs;                              /* over the pairs */
    uint32_t train_queries;                       /* seeded subset; 0: all */
    double held_out;                              /* share of the passages with queries */
    double learning_rate, warmup;                 /* peak; share of the steps, then linear to 0 */
    double weight_decay, clip;                    /* decoupled; largest norm, 0: none */
    uint32_t batch;                               /* pairs of a step */
    uint64_t seed;                                /* of everything drawn */
} gb_querygen_training_params;
/* GB_USAGE for widths that heads cannot share. */
bool gb_querygen_training_check(const gb_querygen_training_params *params, gb_status *status);
/* Trains, measures the loss of the pairs that were held out (metrics.json), and writes the model
 * into the artifact's folder model/. *facts (json_decref) is for its record. */
bool gb_querygen_train(const gb_querygen_training_params *params, step_run *run, json_t **facts,
                       gb_status *status);
/* Prints what the training takes as NAME=NUMBER words. */
bool gb_querygen_train_cost(const gb_querygen_training_params *params, gb_status *status);

/* ---- filtering queries ---- */

/* Which generated queries are worth keeping. */
typedef struct gb_filter_params {
    const char *queries;   /* artifact of the queries */
    bool unique;           /* drop repeated queries of a passage */
    uint32_t ranked;       /* keep queries for which a retriever ranks their passage among so many;
                              0: do not rank */
    const char *retriever; /* artifact or folder of it */
    const char *tokens;    /* artifact of the tokens of these queries */
} gb_filter_params;
typedef struct gb_filter_counts {
    uint32_t before;   /* queries in all */
    uint32_t repeated; /* dropped as such */
    uint32_t lost;     /* dropped because their passage ranks too low */
} gb_filter_counts;
/* Filter queries of a collection into the artifact of a command: queries.jsonl with the lines that
 * are left, generated.gbt, queries.json. GB_DATA where the tokens are of other queries. */
bool gb_queries_filter(gb_maker *maker, gb_collection *collection, const gb_filter_params *params,
                       gb_filter_counts *counts, gb_status *status);

#endif
