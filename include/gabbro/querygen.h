/* Querygen module: generates queries for the passages of a collection by a language model, from the
 * prompt to the file of queries. It also trains small generators and filters queries. */
#ifndef GABBRO_QUERYGEN_H
#define GABBRO_QUERYGEN_H

#include <gabbro/data.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>
#include <gabbro/lm.h>

/* ---- prompts ---- */

/* A prompt with gaps to fill, and the settings that go with it (prompts/README.md describes the
 * file). */
typedef struct gb_prompt_template {
    char *name;             /* name of the file */
    char *text;             /* text with {passage}, {title}, {text} */
    uint32_t list;          /* most queries that an answer lists; 0: an answer is one query */
    uint32_t queries;       /* queries wanted of a passage */
    double temperature;     /* of sampling; 0: take the most probable token */
    uint32_t top_k;         /* of sampling; 0: all tokens */
    double top_p;           /* of sampling; 0 or 1: all tokens */
    uint32_t max_tokens;    /* most tokens of an answer */
    uint32_t prompt_tokens; /* most tokens of a filled prompt */
} gb_prompt_template;
#define GB_PROMPT_TEMPLATE_DEFAULTS                                                                \
    ((gb_prompt_template){                                                                         \
        .queries = 5, .temperature = 1, .top_p = 1, .max_tokens = 64, .prompt_tokens = 512})
/* Reads a template; free with gb_prompt_template_free. GB_DATA, naming the line, for an unknown
 * setting. */
bool gb_prompt_template_read(const char *path, gb_prompt_template *prompt, gb_status *status);
void gb_prompt_template_free(gb_prompt_template *prompt);
/* Says whether nothing follows the passage, so that a prompt that is too long may be cut at its
 * end. */
bool gb_prompt_template_ends_with_passage(const gb_prompt_template *prompt);
/* Appends the prompt for a passage, with at most `max_bytes` of its text, in whole words. */
bool gb_prompt_template_fill(const gb_prompt_template *prompt, const gb_collection *collection,
                             uint32_t passage, size_t max_bytes, gb_text *out, gb_status *status);
/* Appends the queries of an answer, each ended by '\n', and returns their number. If an answer is
 * one query, spaces around it are removed and line ends inside become spaces. If it is a list, each
 * line is a query, without numbers, bullets and quotation marks; in a list with numbers, only the
 * lines with numbers count, and queries that out already has are left out. */
uint32_t gb_answer_queries(const gb_prompt_template *prompt, const char *answer, size_t length,
                           gb_text *out);

/* ---- a journal ---- */

/* A file that notes which rows of a task are done, with a line for each, in any order. After a
 * process was killed, what it had noted is read again. */
typedef struct gb_journal gb_journal;
/* Opens the file, or makes it. A last line that was not completely written is removed. */
gb_journal *gb_journal_open(const char *path, uint32_t rows, gb_status *status);
void gb_journal_close(gb_journal *journal);           /* NULL ok */
uint32_t gb_journal_count(const gb_journal *journal); /* rows that are done */
bool gb_journal_has(const gb_journal *journal, uint32_t row);
/* Notes that a row is done. line must not contain a line end; when the function returns, the line
 * survives the end of the process. */
bool gb_journal_add(gb_journal *journal, uint32_t row, const char *line, gb_status *status);
/* The line of a row, valid until the next call; NULL and status on failure. */
const char *gb_journal_line(gb_journal *journal, uint32_t row, gb_status *status);

/* ---- generating queries ---- */

/* Which queries to generate, and how. Nothing is copied. */
typedef struct gb_querygen_params {
    const char *model;         /* language model: artifact or folder */
    const char *collection;    /* artifact of the collection */
    const char *prompt;        /* file of the prompt template */
    const char *name;          /* name of the generator; NULL: that of the model's folder */
    uint32_t queries;          /* queries of a passage; may be open */
    uint32_t top_k;            /* of sampling; may be open */
    uint32_t max_tokens;       /* most tokens of an answer; may be open */
    uint32_t prompt_tokens;    /* most tokens of a prompt, passages are cut to fit; may be open */
    double temperature, top_p; /* of sampling; below 0: open */
    uint32_t batch;            /* texts at a time */
    uint32_t shard_index;      /* shard of the passages, from 0 */
    uint32_t shard_count;      /* number of shards */
    uint64_t seed;             /* seed of sampling */
    gb_quant quant;            /* bits of the model's weights on the device */
} gb_querygen_params;

/* The generation of queries for a collection by a language model. */
typedef struct gb_querygen gb_querygen;
/* Reads the prompt, and sets the open values of params from it, and the name if it is NULL. The
 * params must outlive the generation. GB_USAGE for numbers that make no sense. */
gb_querygen *gb_querygen_create(gb_querygen_params *params, gb_status *status);
void gb_querygen_destroy(gb_querygen *generation);
const char *gb_querygen_prompt_name(const gb_querygen *generation);

/* Generates what is missing. Writes queries.jsonl into the artifact, with one line for each query
 * and what made it, in the order of the passages; for a whole collection, also the files that
 * gb_collection_use_queries reads. Answers are kept in the artifact's resume folder, from which an
 * interrupted generation continues with the same result. */
bool gb_querygen_run(gb_querygen *generation, gb_maker *maker, gb_status *status);

/* Prints the cost of a generation as NAME=NUMBER words, without a device. The lengths of prompts
 * are estimated from a sample, and answers are taken to be as long as they may be. */
bool gb_querygen_print_cost(gb_querygen *generation, gb_status *status);

/* ---- training a generator ---- */

/* What a generator learns from: queries of the training split, each with the passages judged
 * relevant to it. Free with gb_querygen_pairs_free. */
typedef struct gb_querygen_pairs {
    gb_qrels train;    /* pairs to train on */
    gb_qrels held_out; /* pairs whose passages are in no pair to train on; may be empty */
    uint32_t refused;  /* queries left out because another split has them, or their text */
} gb_querygen_pairs;
/* Makes the pairs of a collection. held_out is the share of the passages with queries to hold out,
 * at least one if it is not 0; most > 0 keeps a seeded subset of that many queries. GB_DATA without
 * a training split, or without pairs. */
bool gb_querygen_pairs_make(gb_querygen_pairs *pairs, const gb_collection *collection,
                            double held_out, uint32_t most, uint64_t seed, gb_status *status);
void gb_querygen_pairs_free(gb_querygen_pairs *pairs);

/* How batches of pairs are made. */
typedef struct gb_querygen_task_params {
    uint32_t batch;                                /* pairs of a step */
    uint32_t max_query_length, max_passage_length; /* most tokens of a text, specials included */
    uint64_t seed;                                 /* seed of the order */
} gb_querygen_task_params;
/* Makes the task of writing the query for a passage (doc2query, Nogueira et al., 2019). The model
 * reads the passage and the end token, and predicts the query token by token, each given the true
 * ones before it. The loss is the mean cross entropy over the tokens of the batch, including the
 * [SEP] that ends a query. Every epoch takes every pair once, in a new order. Returns the task's
 * self, to be freed by gb_querygen_task_destroy; NULL on failure. */
void *gb_querygen_task_create(const gb_querygen_task_params *params, const gb_qrels *pairs,
                              const gb_tokens *tokens, const gb_lm *lm, gb_task *task,
                              gb_status *status);
void gb_querygen_task_destroy(void *self);
/* Computes the mean cross entropy per token over all pairs of a task, in nats. */
bool gb_querygen_loss(gb_device *device, void *self, const gb_params *params, const float *values,
                      double *loss, gb_status *status);
/* Computes the same for a unigram model, which knows nothing but how often each token occurs in the
 * queries of `train` (plus one). A trained generator should be better. */
bool gb_querygen_unigram_loss(const gb_qrels *train, const gb_qrels *pairs, const gb_tokens *tokens,
                              const gb_lm_config *config, double *loss, gb_status *status);

/* Which generator to train, and how: a T5 that starts from random weights. */
typedef struct gb_querygen_training_params {
    const char *collection, *tokens, *vocabulary; /* artifacts */
    uint32_t layers, hidden, heads, ffn;          /* sizes of encoder and decoder */
    uint32_t epochs;                              /* passes over the pairs */
    uint32_t train_queries;                       /* queries of a seeded subset; 0: all */
    double held_out;                              /* share of the passages with queries */
    double learning_rate, warmup;                 /* peak; share of the steps, then linear to 0 */
    double weight_decay, clip;                    /* decoupled; largest norm, 0: no clipping */
    uint32_t batch;                               /* pairs of a step */
    uint64_t seed;                                /* seed of everything drawn */
} gb_querygen_training_params;
/* Checks sizes: GB_USAGE if one is 0, or if ffn or the width of a head is not a multiple of 4. */
bool gb_querygen_training_check(const gb_querygen_training_params *params, gb_status *status);
/* Trains a generator, measures its loss on the held-out pairs (metrics.json), and writes the model
 * into the artifact's folder model/. */
bool gb_querygen_train(const gb_querygen_training_params *params, gb_maker *maker,
                       gb_status *status);
/* Prints the cost of the training as NAME=NUMBER words, for programs that plan. */
bool gb_querygen_train_cost(const gb_querygen_training_params *params, const gb_maker *maker,
                            gb_status *status);

/* ---- filtering queries ---- */

/* Which generated queries to keep. */
typedef struct gb_filter_params {
    const char *queries;   /* artifact of the queries */
    bool unique;           /* drop repeated queries of a passage */
    uint32_t ranked;       /* keep queries for which a retriever ranks their passage among the first
                              so many; 0: keep all */
    const char *retriever; /* artifact or folder of the retriever */
    const char *tokens;    /* artifact of the tokens of these queries */
    const char *cross;     /* artifact or folder of a cross-encoder that scores queries with their
                              passages, for the two below; NULL: none */
    double keep_share; /* keep this share of all queries, those with the largest scores; 1: all */
    double
        min_score; /* drop queries with a smaller probability, the logit's sigmoid; below 0: none */
} gb_filter_params;
/* What a filter kept and dropped. */
typedef struct gb_filter_counts {
    uint32_t before;   /* queries before the filter */
    uint32_t repeated; /* queries dropped because they were repeated */
    uint32_t lost;     /* queries dropped because their passage ranks too low */
    uint32_t low;      /* queries dropped because of their score */
} gb_filter_counts;
/* Filters the queries of a collection and writes the rest into the artifact of a command:
 * queries.jsonl with the remaining lines, generated.gbt, and queries.json. GB_DATA if the tokens
 * are those of other queries. */
bool gb_queries_filter(gb_maker *maker, gb_collection *collection, const gb_filter_params *params,
                       gb_filter_counts *counts, gb_status *status);

#endif
