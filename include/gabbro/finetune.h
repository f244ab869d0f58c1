/* Fine-tuning module: training queries with positives and mined negatives, and the contrastive task
 * over all passages of a batch. */
#ifndef GABBRO_FINETUNE_H
#define GABBRO_FINETUNE_H

#include <gabbro/eval.h>
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

#endif
