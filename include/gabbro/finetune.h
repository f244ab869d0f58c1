/* Fine-tuning module: makes training queries with positives and mined negatives, and the
 * contrastive objective over all passages of a batch. */
#ifndef GABBRO_FINETUNE_H
#define GABBRO_FINETUNE_H

#include <gabbro/eval.h>
#include <gabbro/late.h>
#include <gabbro/options.h>
#include <gabbro/trainer.h>

/* A query to train on, with the passages that it is trained against. */
typedef struct gb_training_query {
    uint32_t query;          /* row of the collection's queries */
    uint32_t positive_first; /* index of its first positive in gb_training_set.passages */
    uint32_t positive_count; /* passages judged relevant, at least one */
    uint32_t negative_first; /* index of its first negative */
    uint32_t negative_count; /* passages of the runs that are not judged relevant; may be 0 */
} gb_training_query;

/* All queries to train on. Free with gb_training_set_free. */
typedef struct gb_training_set {
    gb_training_query *queries; /* [count] queries */
    uint32_t count;             /* number of queries */
    uint32_t *passages;         /* [passage_count] rows of the positives and negatives of all */
    size_t passage_count;       /* rows in use */
    size_t passage_capacity;    /* rows allocated */
    uint32_t without_negatives; /* queries for which the runs gave no negative */
} gb_training_set;
/* Makes a training set from the judgements of a split and the first `depth` passages of each run.
 * The negatives of a query, its pool, are all passages of its runs that are not its positives, in
 * the order in which they were met. Runs are matched by query row. */
bool gb_training_set_make(gb_training_set *set, const gb_qrels *qrels, const gb_run *runs,
                          size_t run_count, uint32_t depth, gb_status *status);
void gb_training_set_free(gb_training_set *set);
/* Hashes of the texts as a model reads them, of their tokens: texts are equal if their hashes are
 * (64 bits: of ten million texts two different ones share a hash with a chance of 3 in a million).
 */
typedef struct gb_text_hashes {
    uint64_t *passages; /* [passages] */
    uint64_t *queries;  /* [queries] */
} gb_text_hashes;
/* Hashes all texts. Zero-initialise it; free with gb_text_hashes_free, also after a failure. */
bool gb_text_hashes_make(gb_text_hashes *hashes, const gb_tokens *tokens, gb_status *status);
void gb_text_hashes_free(gb_text_hashes *hashes);
/* Says whether a passage has the text of a positive of the query. */
bool gb_text_is_positive(const gb_text_hashes *hashes, const gb_training_set *set,
                         const gb_training_query *query, uint32_t passage);

/* Which passages of a pool are dropped because they may be relevant although nobody judged them. */
typedef struct gb_negative_filter {
    const gb_text_hashes *texts; /* drop those with the text of a positive or of an earlier
                                    negative; NULL: texts are not compared */
    const gb_run *runs;          /* [run_count] of the pool */
    size_t run_count;            /* runs */
    uint32_t skip;               /* drop those among the first so many of a run; 0: none */
    const gb_run *scores;        /* scores by which those below drop, e.g. of a cross-encoder;
                                    passages without a score are dropped. NULL: none */
    double margin;               /* drop those that score less than this below p, the query's lowest
                                    positive that has a score: above p - margin; -INFINITY: none */
    double relative_margin; /* likewise by a share of p: above p - relative_margin |p|. Where p is
                               not negative that is (1 - relative_margin) p (NV-Retriever, de Souza
                               P. Moreira et al., 2024: 95% of p); where it is, it is below p, too.
                               -INFINITY: none */
    double min_score;       /* drop those with a smaller score; -INFINITY: none */
    double max_score;       /* drop those with a larger score; INFINITY: none */
} gb_negative_filter;
/* What a filter found. */
typedef struct gb_filtered {
    uint64_t before, left;               /* negatives of all pools */
    uint64_t by_rank, by_text, by_score; /* dropped, by the first of these reasons */
    uint64_t unscored;                   /* dropped: without a score */
    uint64_t unscored_queries;           /* queries none of whose positives has a score */
} gb_filtered;
/* Drops false negatives from all pools, in place. */
void gb_training_set_filter(gb_training_set *set, const gb_negative_filter *filter,
                            gb_filtered *counts);
/* Chooses `count` negatives of a query for an epoch, as a function of the seed. Epoch e takes the
 * next window of the shuffled pool. If the pool is too small, passages are added that are drawn
 * from the whole collection (of `passages`) and are not positives. pool is scratch memory
 * [negative_count]. GB_DATA if all passages are positives. */
bool gb_training_negatives(const gb_training_set *set, const gb_training_query *query,
                           uint64_t seed, uint32_t epoch, uint32_t count, uint32_t passages,
                           uint32_t *pool, uint32_t *negatives, gb_status *status);

/* What a teacher scored of a training set. */
typedef struct gb_taught {
    uint64_t pairs;           /* queries with their positives and pools */
    uint64_t missing;         /* pairs without a score */
    uint32_t first_query;     /* rows of the first of them */
    uint32_t first_passage;   /* likewise */
    uint32_t dropped_queries; /* without a positive that has a score */
    uint32_t short_queries;   /* with fewer scored negatives than are drawn: others, drawn from the
                                 whole collection, have no score */
} gb_taught;
/* Drops all pairs that the teacher did not score, and queries that have no positive then; the set
 * may be empty. negatives: those drawn of a query. */
void gb_training_set_teach(gb_training_set *set, const gb_run *teacher, uint32_t negatives,
                           gb_taught *found);

/* Clusters vectors, which lie in memory, by k-means: at most 20 rounds of Lloyd's algorithm from
 * vectors drawn by the seed. labels [rows] get the number of each vector's cluster. */
bool gb_cluster_vectors(const gb_vectors *vectors, uint32_t clusters, uint64_t seed,
                        uint32_t *labels, gb_status *status);

/* ---- what is trained ---- */

typedef struct gb_scoring gb_scoring;
typedef struct gb_loss gb_loss;

/* Lengths after which vectors are cut, each with a loss of its own (Matryoshka). */
#define GB_MATRYOSHKA_MAX 16
typedef struct gb_matryoshka {
    uint32_t count;                   /* lengths; 0: the loss is of whole vectors alone */
    uint32_t dims[GB_MATRYOSHKA_MAX]; /* first numbers of a vector that are kept, all different */
    float weights[GB_MATRYOSHKA_MAX]; /* of their losses in the sum */
} gb_matryoshka;
/* Reads lengths, "256,64", and their weights in the same order; weights NULL: 1 each, dims NULL:
 * none. GB_USAGE for what is no list of different whole numbers, or has other weights than lengths.
 */
bool gb_matryoshka_read(const char *dims, const char *weights, gb_matryoshka *parts,
                        gb_status *status);

/* How a retriever is fine-tuned. */
typedef struct gb_finetune_params {
    uint32_t batch;       /* queries of a step */
    uint32_t negatives;   /* hard negatives of a query */
    uint32_t random;      /* of them, those that are drawn from the whole collection; at most all */
    uint32_t margin_bins; /* negatives are drawn from so many bins of the teacher's margins, each
                             equally often (TAS-B); 0: from the pool in turn */
    uint32_t max_query_length, max_passage_length; /* most tokens of a text, specials included */
    gb_pooling pooling;                            /* how states become a vector; unstated: [CLS] */
    bool normalize;                                /* scale vectors to length 1 */
    float temperature;                             /* divisor of the scores; 0: 1 */
    gb_matryoshka matryoshka;                      /* lengths of vectors that the loss is of */
    uint64_t seed;                                 /* seed of the order and of the negatives */
    uint32_t steps;                                /* of the whole training, for what changes */
    const gb_scoring *scoring;                     /* how texts are compared; NULL: dense */
    const gb_loss *loss;                           /* of the scores; NULL: infonce */
    const void *scoring_own, *loss_own; /* what their own options set; NULL: their defaults */
} gb_finetune_params;

/* Passages that are not trained, among which each step searches for what its queries are compared
 * with (ADORE, Zhan et al., SIGIR 2021). Borrowed. */
typedef struct gb_fixed_passages {
    gb_vectors vectors; /* of all passages of the collection, read row by row in any order */
    /* The best k passages of vectors by inner product: rows [queries, k], falling, UINT32_MAX where
     * there are fewer. */
    bool (*search)(void *context, const gb_vectors *queries, uint32_t k, uint32_t *rows,
                   gb_status *status);
    void *context; /* its first argument */
} gb_fixed_passages;

/* A teacher that scores pairs when they are drawn. Borrowed. */
typedef struct gb_pair_teacher {
    /* Scores [count] of passages for a query, rows of the collection. */
    bool (*score)(void *context, uint32_t query, const uint32_t *passages, uint32_t count,
                  float *scores, gb_status *status);
    void *context; /* its first argument */
} gb_pair_teacher;

/* What is trained, and on what. Borrowed. */
typedef struct gb_finetune_data {
    const gb_training_set *set; /* queries, positives, negatives */
    const gb_tokens *tokens;    /* texts */
    const gb_vocab *vocab;      /* of their ids */
    const gb_bert *bert;        /* encoder, of two towers that of passages */
    const gb_bert *query_bert;  /* that of queries, for a scoring with `towers`; NULL: the same */
    const gb_run *teacher;      /* scores of passages for queries, for losses that need them; NULL:
                                   none */
    const gb_pair_teacher *pair_teacher; /* in the place of such scores; NULL: none */
    const uint32_t *topics;       /* [set->count] cluster of each query: batches are of one topic as
                                     far as there are enough queries of it; NULL: drawn from all */
    const gb_text_hashes *copies; /* by which passages with the text of a positive of a query, or of
                                     a query of the same text, are no negatives of it within a
                                     batch; NULL: not looked for */
    const gb_text_hashes *distinct; /* by which no text is twice in a batch, see
                                       gb_finetune_distinct; not with topics or fixed passages.
                                       NULL: queries are drawn freely */
    const gb_folder *init; /* what training starts from; NULL: nothing that a scoring reads */
    const gb_fixed_passages *fixed; /* then `bert` encodes queries alone, and the negatives of a
                                       query are what of its best params->negatives passages is no
                                       positive; pools are not read. NULL: none */
} gb_finetune_data;

/* ---- the batch ---- */

/* The texts of a step: first the queries, then the passages of each, its positive before its
 * negatives. Where passages are fixed, texts are queries alone. */
typedef struct gb_training_batch {
    uint32_t queries;   /* Q */
    uint32_t per_query; /* P: passages of a query */
    uint32_t texts;     /* Q + Q P, or Q */
    gb_batch tokens;    /* theirs */
    uint32_t *rows;     /* [Q + Q P] rows of the collection: queries, then passages */
    float *teacher;     /* [Q][columns], the scores of the teacher, NAN where it has none; NULL
                           without one */
    uint32_t *exclude;  /* [Q][ceil(columns / 32)] bits of the columns that are no negatives of a
                           query, because they are copies, or where passages are fixed not its
                           own; NULL: none are looked for */
} gb_training_batch;
/* Columns of a batch's scores: passages that a query is compared with. */
static inline uint32_t gb_training_batch_columns(const gb_training_batch *batch)
{
    return batch->queries * batch->per_query;
}

/* ---- scorings ---- */

/* The last states of a batch, and the texts of it that are to be represented. */
typedef struct gb_text_states {
    gb_tensor h;               /* [rows, H]; rows that are not read are zero, see reads_all */
    const gb_batch_inputs *in; /* of the batch on the tape */
    const gb_batch *batch;     /* what they are filled from: a micro-batch or all */
    uint32_t first, texts;     /* texts [first, first + texts) of it. It may have fewer */
    gb_text_kind kind;         /* what they are; mixed: queries first */
} gb_text_states;

/* Representations of some texts. */
typedef struct gb_side {
    gb_tensor vectors;     /* what represent returned of them */
    const gb_batch *batch; /* the whole batch, from which inputs may be filled */
    uint32_t first, texts; /* which texts of it */
    gb_text_kind kind;     /* queries or passages */
} gb_side;

/* What a scoring is made of. Borrowed; stays until destroy. */
typedef struct gb_scoring_context {
    const gb_finetune_params *params; /* settings */
    const gb_training_batch *batch;   /* the drawn batch */
    const gb_vocab *vocab;            /* of the ids */
    const gb_bert *bert;              /* encoder; with masked-LM head where it is needed */
    const void *own;                  /* what the scoring's own options set */
    const gb_folder *init;            /* see gb_finetune_data */
} gb_scoring_context;

/* How a trained model is written. */
typedef struct gb_retriever_folder {
    const char *path;                /* of the folder to write */
    const gb_bert_config *config;    /* sizes */
    const gb_params *params;         /* all parameters */
    const float *values;             /* of them */
    const gb_vocab *vocab;           /* of the encoder that training started from */
    gb_tokenizer_params tokenizer;   /* likewise */
    const gb_sentence_settings *how; /* pooling, lengths and prompts */
    const gb_model_card *card;       /* what the model is */
} gb_retriever_folder;

#define GB_SCORING_HEAD 1u /* a scoring reads the masked-LM head, which is trained, too */
#define GB_SCORING_TOKENS                                                                          \
    2u /* its vectors are of tokens: kernels and folders of late interaction */

/* A scoring: how texts become representations, and how those are compared. One file has all of it.
 * A function that is NULL does nothing, or what is said here. */
typedef struct gb_scoring {
    const char *name;         /* as on the command line */
    const char *help;         /* what it compares, in one line without a full stop */
    uint32_t needs;           /* GB_SCORING_ bits */
    uint32_t users;           /* GB_USER_ bits of kernels that it runs beside those of training */
    bool together;            /* all texts are represented at once, in rows of `vectors`, also where
                                 the batch is not cut; otherwise passages first, then queries */
    bool towers;              /* queries may have an encoder of their own: it reads no parameter of
                                 the encoder itself */
    bool single;              /* a text is one vector, scores are inner products: what losses that
                                 compare passages with passages need */
    const gb_option *options; /* of its own: fields of a structure that only it knows; or NULL */
    const void *defaults;     /* such a structure */
    size_t own_bytes;         /* its size, at most GB_OWN_BYTES */
    const char *extra_names[GB_MAX_LOSSES - 1]; /* of its losses beside that of the scores */
    /* Before the encoder is declared: what the scoring changes of its sizes and of the lengths of
     * texts, given the settings that it would be made with. */
    bool (*prepare)(const gb_finetune_data *data, const void *own, gb_finetune_params *params,
                    gb_bert_config *config, gb_status *status);
    /* Makes it, and declares its parameters beside the encoder's. Returns what the other functions
     * get as self. */
    void *(*create)(const gb_scoring_context *context, gb_params *model, gb_status *status);
    void (*destroy)(void *self);
    /* Before training: values of its parameters, which so far are zero, or what the folder that
     * training starts from has by their names. */
    bool (*start)(void *self, const gb_folder *init, const gb_params *params, uint64_t seed,
                  float *values, gb_status *status);
    /* Appends a text to a batch. NULL: [CLS] ids [SEP], cut at the longest of its kind. */
    bool (*add_text)(void *self, gb_text_kind kind, const uint32_t *ids, size_t length,
                     gb_batch *batch, gb_status *status);
    /* Declares a batch of the texts. NULL: gb_batch_declare. */
    gb_batch_inputs (*inputs)(void *self, gb_builder *builder, uint32_t rows, uint32_t texts,
                              const gb_batch *batch);
    /* Whether the states of all tokens are read. NULL: those of [CLS] alone. */
    bool (*reads_all)(const void *self);
    /* Rows of a text's representation where it has a fixed number. NULL: 1. */
    uint32_t (*vectors)(const void *self);
    /* Appends what makes representations of states. */
    gb_tensor (*represent)(void *self, gb_builder *builder, const gb_text_states *states);
    /* Appends what makes scores [queries, passages] of them; the temperature comes later. Inputs
     * are filled from the whole batch. */
    gb_tensor (*compare)(void *self, gb_builder *builder, const gb_side *queries,
                         const gb_side *passages);
    /* Appends losses that are added to that of the scores, such as a regulariser. A factor that
     * changes with the step is an input: gb_tape_fill_by's function is given the step. */
    void (*extra)(void *self, gb_builder *builder, const gb_side *queries, const gb_side *passages,
                  gb_tensor losses[GB_MAX_LOSSES - 1]);
    /* Writes the model folder. NULL: gb_model_save as it stands. */
    bool (*save)(void *self, const gb_retriever_folder *folder, gb_status *status);
    /* What the retriever is, for its card, in a sentence. NULL: a dense one. */
    void (*describe)(const void *self, char *text, size_t size);
} gb_scoring;

/* The table of scorings, and their names, both ended by NULL. */
#define GB_SCORINGS_MAX 8
extern const gb_scoring *const gb_scorings[];
extern const char *const gb_scoring_names[];

/* ---- losses ---- */

/* The scores of a batch. */
typedef struct gb_batch_scores {
    gb_tensor scores;               /* [Q, columns], divided by the temperature. Query i's positive
                                       is column gb_positive_column(i), its negatives follow it */
    uint32_t columns;               /* of the scores */
    const gb_training_batch *batch; /* from which inputs may be filled: sizes and teacher */
    gb_tensor queries, passages;    /* vectors [Q, H] and [Q P, H] where texts are single vectors,
                                       otherwise GB_NO_TENSOR */
    float temperature;              /* scores were divided by it */
} gb_batch_scores;
/* The column of the scores that has the positive of a query. */
static inline uint32_t gb_positive_column(const gb_training_batch *batch, uint32_t query)
{
    return query * batch->per_query;
}

#define GB_LOSS_TEACHER 1u /* a loss needs a teacher's scores */
#define GB_LOSS_SINGLE                                                                             \
    2u /* it compares passages with passages: needs a scoring of single vectors */

/* A loss on scores. One file has all of it. */
typedef struct gb_loss {
    const char *name;         /* as on the command line */
    const char *label;        /* of its value in logs */
    const char *help;         /* what it asks for, in one line without a full stop */
    uint32_t needs;           /* GB_LOSS_ bits */
    uint32_t users;           /* GB_USER_ bits of kernels that it runs beside those of training */
    const gb_option *options; /* of its own, as a scoring's; or NULL */
    const void *defaults;     /* structure of them */
    size_t own_bytes;         /* its size, at most GB_OWN_BYTES */
    double converged; /* a mean over the last tenth of the steps that is not below this marks a
                         training that was cut off while it still learned; 0: cannot be said */
    /* Appends the loss, a mean over the queries, as [1,1]. own: what its own options set. */
    gb_tensor (*build)(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores);
} gb_loss;

/* The table of losses, and their names, both ended by NULL. */
#define GB_LOSSES_MAX 12
extern const gb_loss *const gb_losses[];
extern const char *const gb_loss_names[];

/* ---- the task ---- */

/* Before the encoder is declared: makes sizes and lengths as params->scoring wants them; data->bert
 * is not read. */
bool gb_finetune_prepare(const gb_finetune_data *data, gb_finetune_params *params,
                         gb_bert_config *config, gb_status *status);
/* Makes the task of fine-tuning: declares the scoring's parameters in `model`, which has the
 * encoder's, draws batches, compares the texts as the scoring says and asks of the scores what the
 * loss says. The passages behind a positive are its negatives by gb_training_negatives. Returns the
 * task's self, to be freed by gb_finetune_destroy; NULL on failure. What the arguments point to
 * must outlive it. GB_USAGE if scoring and loss do not go together. */
void *gb_finetune_create(const gb_finetune_params *params, const gb_finetune_data *data,
                         gb_params *model, gb_task *task, gb_status *status);
void gb_finetune_destroy(void *self);
/* Before training: values of the scoring's parameters. */
bool gb_finetune_start(void *self, const gb_folder *init, const gb_params *params, uint64_t seed,
                       float *values, gb_status *status);
/* What batches without duplicates make of some epochs. */
typedef struct gb_distinct {
    uint32_t steps;    /* batches of all epochs */
    uint64_t put_off;  /* visits of queries that had to wait for a later batch of their epoch */
    uint64_t left_out; /* visits that are in no batch of their epoch */
} gb_distinct;
/* Before the task is made, with data->distinct: how many steps there are. Every epoch is in a new
 * order, as without. A query with a text, itself or a passage, that is in the batch by another
 * query waits for the next batch, before those that were not looked at yet. The first batch that
 * cannot be filled ends the epoch; what is in it and what waits is left out of this epoch. It takes
 * 8 (2 + negatives) bytes a query. GB_DATA if an epoch has no batch. */
bool gb_finetune_distinct(const gb_finetune_params *params, const gb_finetune_data *data,
                          uint32_t epochs, gb_distinct *found, gb_status *status);
/* After training: how many pairs of a query and a passage its batches left out as copies. The drawn
 * batch is lost. */
bool gb_finetune_copies(void *self, uint32_t steps, uint64_t *copies, gb_status *status);
/* What batches compare a query with beside its drawn positive. */
typedef struct gb_collisions {
    uint64_t pairs;     /* such pairs that were looked at */
    uint64_t positives; /* of them, with a passage that is judged relevant to the query */
} gb_collisions;
/* After training: looks through a thousand batches, or all, where nothing else leaves such pairs
 * out. The drawn batch is lost. */
bool gb_finetune_collisions(void *self, uint32_t steps, gb_collisions *found, gb_status *status);
/* Writes the trained model as its scoring does. */
bool gb_finetune_save(void *self, const gb_retriever_folder *folder, gb_status *status);
/* What it is, for its card; false where it is a dense retriever. */
bool gb_finetune_describe(const void *self, char *text, size_t size);

/* ---- cross-encoders ---- */

typedef enum gb_cross_loss {
    GB_CROSS_SOFTMAX, /* cross entropy over a query's positive and its negatives */
    GB_CROSS_BINARY,  /* cross entropy of each pair's sigmoid */
} gb_cross_loss;
extern const char *const gb_cross_losses[]; /* their words, ended by NULL */

/* How a cross-encoder is trained. */
typedef struct gb_cross_params {
    uint32_t batch;                                /* queries of a step */
    uint32_t negatives;                            /* of a query, each in a pair with it */
    uint32_t loss;                                 /* gb_cross_loss */
    uint32_t max_query_length, max_passage_length; /* tokens of a text with two specials */
    uint32_t max_length;                           /* of a pair, see gb_batch_add_pair */
    uint64_t seed;                                 /* of the order and of the negatives */
} gb_cross_params;

/* Makes the task of a cross-encoder: scores s of the pairs of a query with its positive and with
 * its negatives by gb_training_negatives,
 *   softmax (Nogueira et al., 2019; Gao et al., ECIR 2021): mean over queries of
 *     -log(exp(s+) / (exp(s+) + sum exp(s-))),
 *   binary: mean over pairs of -log(sigmoid(s)) of positives and -log(1 - sigmoid(s)) of negatives.
 * A micro-batch has whole queries. Returns the task's self, to be freed by gb_cross_destroy; NULL
 * on failure. What the arguments point to must outlive it. */
void *gb_cross_create(const gb_cross_params *params, const gb_training_set *set,
                      const gb_tokens *tokens, const gb_vocab *vocab, const gb_bert *bert,
                      const gb_pair_head *head, gb_task *task, gb_status *status);
void gb_cross_destroy(void *self);

/* ---- pseudo-labels ---- */

/* By which scores passages of unlabelled queries count as judged (RocketQA, Qu et al., NAACL 2021).
 */
typedef struct gb_pseudo_bounds {
    double positive; /* a positive scores at least this */
    double negative; /* a negative scores at most this; what lies between is neither */
} gb_pseudo_bounds;
/* What they gave. */
typedef struct gb_pseudo_counts {
    uint64_t queries;              /* with a positive */
    uint64_t without;              /* without one, which are left out */
    uint64_t positives, negatives; /* of these queries */
    uint64_t between;              /* passages that are neither */
} gb_pseudo_counts;
/* Makes judgements of grade 1, sorted by query and passage, and a run of negatives by falling
 * score, of the queries of a scored run that are among `unlabelled` [count], ascending. The caller
 * frees qrels->rows and the run. GB_DATA if a score lies outside of [0, 1], or there is no
 * positive. */
bool gb_pseudo_labels(const gb_run *scored, const uint32_t *unlabelled, uint32_t count,
                      const gb_pseudo_bounds *bounds, gb_qrels *qrels, gb_run *negatives,
                      gb_pseudo_counts *counts, gb_status *status);

#endif
