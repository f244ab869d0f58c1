/* Fine-tuning module: makes training queries with positives and mined negatives, and the
 * contrastive objective over all passages of a batch. */
#ifndef GABBRO_FINETUNE_H
#define GABBRO_FINETUNE_H

#include <gabbro/eval.h>
#include <gabbro/nn.h>

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
 * the order in which they were met. `most` > 0 keeps a seeded subset of that many queries. Runs are
 * matched by query row. */
bool gb_training_set_make(gb_training_set *set, const gb_qrels *qrels, const gb_run *runs,
                          size_t run_count, uint32_t depth, uint32_t max_queries, uint64_t seed,
                          gb_status *status);
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
    const gb_run *scores;        /* scores by which the two below drop, e.g. of a cross-encoder;
                                    passages without a score are dropped. NULL: none */
    double margin;    /* drop those that score less than this below the query's lowest positive
                         that has a score; -INFINITY: none */
    double max_score; /* drop those with a larger score; INFINITY: none */
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

/* How a retriever is fine-tuned. */
typedef struct gb_finetune_params {
    uint32_t batch;                                /* queries of a step */
    uint32_t negatives;                            /* hard negatives of a query */
    uint32_t max_query_length, max_passage_length; /* most tokens of a text, specials included */
    gb_pooling pooling;                            /* how states become a vector; unstated: [CLS] */
    bool normalize;                                /* scale vectors to length 1 */
    float temperature;                             /* divisor of the scores; 0: 1 */
    uint64_t seed;                                 /* seed of the order and of the negatives */
} gb_finetune_params;

/* Makes the task of fine-tuning: InfoNCE over all passages of the batch (Karpukhin et al., 2020).
 * Scores are q . p of the pooled vectors, which are projected if bert has a projector. The target
 * of query i is passage i * (1 + negatives); the passages behind it are its negatives by
 * gb_training_negatives. Returns the task's self, to be freed by gb_finetune_destroy; NULL on
 * failure. What the arguments point to must outlive it. */
void *gb_finetune_create(const gb_finetune_params *params, const gb_training_set *set,
                         const gb_tokens *tokens, const gb_vocab *vocab, const gb_bert *bert,
                         gb_task *task, gb_status *status);
void gb_finetune_destroy(void *self);

#endif
