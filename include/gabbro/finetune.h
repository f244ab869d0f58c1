/* Fine-tuning room: training queries with positives and mined negatives, the contrastive task over
 * all passages of a batch, and the task of a generator of queries. Stands on nn and retrieve. */
#ifndef GABBRO_FINETUNE_H
#define GABBRO_FINETUNE_H

#include <gabbro/eval.h>
#include <gabbro/language.h>
#include <gabbro/nn.h>

/* One training query. */
typedef struct gb_training_query {
    uint32_t query;          /* row of the collection's queries */
    uint32_t positive_first; /* first of its positives in gb_training_set.passages */
    uint32_t positive_count; /* passages judged relevant, at least one */
    uint32_t negative_first; /* first of its negatives */
    uint32_t negative_count; /* passages of the runs that are not judged relevant; may be 0 */
} gb_training_query;

typedef struct gb_training_set {
    gb_training_query *queries; /* queries to train on */
    uint32_t count;             /* how many */
    uint32_t *passages;         /* lists of rows, see above */
    size_t passage_count;       /* in use */
    size_t passage_capacity;    /* allocated */
    uint32_t without_negatives; /* queries for which the runs gave none */
} gb_training_set;
/* From the judgements of a split and the first `depth` passages of each run: a query's pool is the
 * union of its runs without its positives, in the order met. `most` > 0 keeps a seeded subset of
 * that many queries. Runs are matched by query row. */
bool gb_training_set_make(gb_training_set *set, const gb_qrels *qrels, const gb_run *runs,
                          size_t run_count, uint32_t depth, uint32_t most, uint64_t seed,
                          gb_status *status);
void gb_training_set_free(gb_training_set *set);
/* `count` negatives of a query in an epoch, a function of the seed: epoch e takes the next window
 * of the shuffled pool; behind a pool that is too small, passages drawn from the whole collection
 * (of `passages`), none of them a positive. pool: scratch [negative_count]. GB_DATA where all
 * passages are positives. */
bool gb_training_negatives(const gb_training_set *set, const gb_training_query *query,
                           uint64_t seed, uint32_t epoch, uint32_t count, uint32_t passages,
                           uint32_t *pool, uint32_t *negatives, gb_status *status);

typedef struct gb_finetune_params {
    uint32_t batch;                          /* queries of a step */
    uint32_t negatives;                      /* hard negatives of a query */
    uint32_t longest_query, longest_passage; /* tokens, specials included */
    gb_pooling pooling;                      /* of states; unstated: [CLS] */
    bool normalize;                          /* vectors are scaled to length 1 */
    float temperature;                       /* scores are divided by it; 0: 1 */
    uint64_t seed;                           /* of order and negatives */
} gb_finetune_params;

/* InfoNCE over all passages of the batch (Karpukhin et al., 2020): scores q . p of the pooled
 * vectors, projected where bert has a projector, the target of query i is passage i
 * * (1 + negatives), the others by gb_training_negatives. self is freed by gb_finetune_destroy. */
void *gb_finetune_create(const gb_finetune_params *params, const gb_training_set *set,
                         const gb_tokens *tokens, const gb_vocab *vocab, const gb_bert *bert,
                         gb_task *task, gb_status *status);
void gb_finetune_destroy(void *self);

/* ---- generators of queries
 * ---------------------------------------------------------------------------------- */

/* What a generator learns from: queries of the training split, each with the passages judged
 * relevant to it. */
typedef struct gb_writing_set {
    gb_qrels train;    /* pairs to train on */
    gb_qrels held_out; /* pairs whose passages are in no pair to train on; may be empty */
    uint32_t refused;  /* queries left out: another split has them too, or their text */
} gb_writing_set;
/* held_out: share of the passages with queries, at least one where it is not 0; most > 0 keeps a
 * seeded subset of that many queries. GB_DATA without a training split or pairs. */
bool gb_writing_set_make(gb_writing_set *set, const gb_collection *collection, double held_out,
                         uint32_t most, uint64_t seed, gb_status *status);
void gb_writing_set_free(gb_writing_set *set);

typedef struct gb_writing_params {
    uint32_t batch;                          /* pairs of a step */
    uint32_t longest_query, longest_passage; /* tokens, specials included */
    uint64_t seed;                           /* of the order */
} gb_writing_params;
/* The query is written for its passage, token by token, each given the true ones before it
 * (doc2query, Nogueira et al., 2019): mean cross entropy over the tokens of the batch, [SEP], which
 * ends a query, among them. The model reads the passage and the end token. Every epoch takes every
 * pair once, in a new order. self is freed by gb_writing_destroy. */
void *gb_writing_create(const gb_writing_params *params, const gb_qrels *pairs,
                        const gb_tokens *tokens, const gb_language *lm, gb_task *task,
                        gb_status *status);
void gb_writing_destroy(void *self);
/* Mean cross entropy a token of all pairs of a task, in nats. */
bool gb_writing_loss(gb_device *device, void *self, const gb_params *params, const float *values,
                     double *loss, gb_status *status);
/* The same of a model that knows how often each token is in the queries of `train` (once more than
 * it is), and nothing else. */
bool gb_writing_unigram_loss(const gb_qrels *train, const gb_qrels *pairs, const gb_tokens *tokens,
                             const gb_language_config *config, double *loss, gb_status *status);

#endif
