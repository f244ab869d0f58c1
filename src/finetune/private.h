/* Shared by the files of the finetune module. */
#ifndef FINETUNE_PRIVATE_H
#define FINETUNE_PRIVATE_H

#include <gabbro/finetune.h>

/* An order of the queries in which batches are of one topic, topics.c. */
typedef struct finetune_topics {
    const uint32_t *topics;           /* [count] of each query */
    uint32_t count;                   /* queries */
    uint32_t batch;                   /* queries of a step */
    uint64_t seed;                    /* of the orders */
    uint64_t epoch;                   /* that the order belongs to */
    uint32_t *order;                  /* [count] of the epoch */
    uint32_t *sorted, *rest, *starts; /* [count] scratch: by topic; of no whole batch; batches */
} finetune_topics;
bool finetune_topics_make(finetune_topics *topics, const uint32_t *of, uint32_t count,
                          uint32_t batch, uint64_t seed, gb_status *status);
void finetune_topics_free(finetune_topics *topics); /* also of zeros */
/* Query of the index-th visit, each once in an epoch. */
uint32_t finetune_topics_at(finetune_topics *topics, uint64_t index);

/* Batches of an epoch in which no text is there twice, distinct.c. */
typedef struct finetune_distinct {
    uint32_t count;          /* queries */
    uint32_t width;          /* texts of a query: itself and its passages */
    uint32_t batch;          /* queries of a step */
    uint32_t epoch;          /* whose batches these are; UINT32_MAX: none */
    uint32_t first, batches; /* its first step, and its steps */
    uint32_t put_off;        /* queries of it that had to wait for a batch */
    uint32_t *order;         /* [count] batch by batch, then those that are in none */
    uint64_t *texts;         /* [count][width] hashes of the epoch, none of them 0 */
    /* While batches are filled: */
    uint32_t next;          /* in the order */
    uint32_t *waiting;      /* [count] those that wait, the first one before others */
    uint32_t waiting_count; /* how many */
    uint64_t *seen;         /* [slots] texts of the batch, a table of hashes; 0: free */
    size_t slots;           /* a power of two */
} finetune_distinct;
bool finetune_distinct_make(finetune_distinct *distinct, uint32_t count, uint32_t width,
                            uint32_t batch, gb_status *status);
void finetune_distinct_free(finetune_distinct *distinct); /* also of zeros */
/* Fills batches of the queries in `order`, by their texts. The first batch that cannot be filled
 * ends it: with what it has and what waits, it is left behind the others. */
void finetune_distinct_fill(finetune_distinct *distinct);

/* Draws batches. */
typedef struct finetune_drawer {
    const gb_finetune_params *params; /* settings */
    gb_finetune_data data;            /* what is drawn from */
    const gb_scoring *scoring;        /* how texts become a batch */
    void *scoring_self;               /* its own data */
    gb_special_ids specials;          /* ids around texts */
    gb_epochs order;                  /* of the queries */
    finetune_topics topics;           /* likewise, where batches are of one topic */
    finetune_distinct distinct;       /* likewise, where no text is twice in a batch */
    uint32_t *pool;                   /* scratch: a shuffled pool, then what is drawn of it */
    size_t pool_capacity;             /* allocated */
    uint32_t *alike;                  /* [Q] of each query the next one of the batch with its text,
                                         round in a ring; where copies are looked for */
    gb_training_batch batch;          /* what was drawn last */
    const gb_training_query **drawn;  /* [Q] its queries */
} finetune_drawer;

/* Whether a passage is a positive of the query, by its number. */
bool finetune_is_positive(const gb_training_set *set, const gb_training_query *query,
                          uint32_t passage);
/* The teacher's score of a passage in its list for a query, which may be NULL; NAN: none. */
double finetune_score_of(const gb_run *teacher, const gb_run_list *list, uint32_t passage);

/* Makes the batches of the epoch of a step: a function of seed and epoch, but that the first step
 * of an epoch follows from those before. What was drawn is lost. GB_DATA if there is no batch. */
bool finetune_distinct_go(finetune_drawer *drawer, uint32_t step, gb_status *status);

/* The passages of a query in an epoch: its positive, then its negatives. */
bool finetune_draw_passages(finetune_drawer *drawer, const gb_training_query *query, uint32_t epoch,
                            uint32_t *rows, gb_status *status);

#define FINETUNE_RANDOM_SEED 0x9e3779b97f4a7c15u /* of negatives that come from no pool */
#define FINETUNE_MARGIN_SEED 0xbf58476d1ce4e5b9u /* of balanced ones */
/* Draws negatives of a query from the whole collection: by id none of its positives. stream: what
 * the seed is combined with; draws of one stream begin with the same negatives. */
bool finetune_draw_random(finetune_drawer *drawer, const gb_training_query *query, uint64_t stream,
                          uint32_t epoch, uint32_t count, uint32_t *rows, gb_status *status);
/* Draws `count` negatives behind rows[0], the positive: by params->margin_bins bins of the
 * teacher's margins; drawer->pool has room for the pool. Too small a pool is filled up from the
 * collection. */
bool finetune_draw_balanced(finetune_drawer *drawer, const gb_training_query *query, uint32_t epoch,
                            uint32_t count, uint32_t *rows, gb_status *status);

/* Whether a passage has the text of a positive of the query-th query drawn, or of one of the same
 * text, by the hashes of data.copies. */
bool finetune_is_copy(const finetune_drawer *drawer, uint32_t query, uint32_t passage);

/* ---- fixed passages, fixed.c ---- */

/* Searches for the drawn queries: what they are compared with. vectors [Q, width], rows ld apart.
 */
bool finetune_meet(finetune_drawer *drawer, const float *vectors, uint32_t width, uint32_t ld,
                   gb_status *status);
/* Input of the vectors of the batch's passages [Q P, width]. */
gb_tensor finetune_fixed_vectors(gb_builder *builder, const finetune_drawer *drawer);

/* ---- shorter vectors, matryoshka.c ---- */

/* Input that selects the first `dims` of `width` columns. */
gb_tensor finetune_select_columns(gb_builder *builder, uint32_t dims, uint32_t width);
/* These columns of vectors [rows, width]; unit: scaled to length 1. */
gb_tensor finetune_cut_vectors(gb_builder *builder, gb_tensor vectors, gb_tensor columns,
                               bool unit);

/* ---- drawing ---- */

/* Makes one whose params, data and scoring are set. */
bool finetune_drawer_make(finetune_drawer *drawer, gb_status *status);
void finetune_drawer_free(finetune_drawer *drawer);
/* Draws the batch of a step, a function of seed and step. */
bool finetune_draw(finetune_drawer *drawer, uint32_t step, gb_status *status);
/* Counts what all batches of so many steps leave out as copies. */
bool finetune_count_copies(finetune_drawer *drawer, uint32_t steps, uint64_t *copies,
                           gb_status *status);
/* See gb_finetune_collisions. */
bool finetune_find_collisions(finetune_drawer *drawer, uint32_t steps, gb_collisions *found,
                              gb_status *status);
/* The largest number of tokens of a text. */
uint32_t finetune_max_length(const gb_finetune_params *params);

/* ---- what losses share ---- */

/* InfoNCE over all columns; makes its gradient in place of the scores. */
gb_tensor finetune_infonce(gb_builder *builder, const gb_batch_scores *scores);
/* The loss of `build` and, added with a weight, InfoNCE. */
gb_tensor finetune_with_contrast(gb_builder *builder, const gb_batch_scores *scores, double weight,
                                 gb_tensor (*build)(gb_builder *builder,
                                                    const gb_batch_scores *scores, const void *own),
                                 const void *own);
/* Bits of the columns that the batch leaves out, u32 [Q, words], or GB_NO_TENSOR. */
gb_tensor finetune_exclude(gb_builder *builder, const gb_batch_scores *scores);
/* Whether it leaves this one out. */
bool finetune_excluded(const gb_training_batch *batch, uint32_t query, uint32_t column);

/* Which columns a positive is compared with. */
typedef struct finetune_pair_weights {
    float own, others; /* of the query's own negatives, and of passages of other queries */
    bool together;     /* the mean is over both, else over each for itself */
    bool taught;       /* only those that the teacher scored, with its scores */
} finetune_pair_weights;
/* Inputs of pairs of each positive with the columns that are not left out; weights make means over
 * pairs and queries. */
gb_pairs finetune_pairs(gb_builder *builder, const gb_batch_scores *scores,
                        const finetune_pair_weights *how);

#endif
