/* Runs over the queries of a split, by BM25 or by a dense retriever: what mine, bm25-run and
 * evaluate share. */
#ifndef CLI_RANKING_H
#define CLI_RANKING_H

#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/encoding.h>
#include <gabbro/retrieve.h>

/* Index of "title text" of all passages, by Lucene's formula, k1 .9, b .4. */
gb_bm25 *ranking_index(const gb_collection *collection, gb_status *status);
/* Queries of a split, ascending (free(*queries)), and its judgements where qrels is not NULL
 * (free(qrels->rows)). */
bool ranking_queries(const gb_collection *collection, const char *split, gb_qrels *qrels,
                     uint32_t **queries, uint32_t *count, gb_status *status);
/* Whether a split can judge a model: not the training split, nor one that holds all its queries, as
 * there is where the training split was cut out of it. */
bool ranking_judges(const gb_collection *collection, const char *split, bool *fair,
                    gb_status *status);
/* What it took, into the facts of its step. */
void ranking_index_facts(const gb_bm25 *index, json_t *facts);

/* A retriever with the vectors of a collection's passages. */
typedef struct ranking_dense {
    gb_device *device;                       /* not owned */
    gb_model_input model;                    /* the retriever */
    gb_params *params;                       /* of its encoder */
    gb_bert bert;                            /* its encoder */
    float *values;                           /* its parameters */
    gb_sentence_settings how;                /* its pooling */
    gb_special_ids specials;                 /* of its vocabulary */
    gb_tokens tokens;                        /* ids of the collection */
    uint32_t longest_query, longest_passage; /* tokens */
    uint32_t passage_count;                  /* P */
    step_run *step;                          /* whose ranks share the work; not owned */
    gb_npy *passages;                        /* their vectors, or NULL: only the model is open */
} ranking_dense;
/* The model and the tokens alone, without vectors, for the device of the step. */
bool ranking_model_open(ranking_dense *dense, step_run *step, const char *model_path,
                        const char *tokens_step, gb_status *status);
/* What encodes passages or queries by it, of at most `longest` tokens; the retriever must outlive
 * it. */
gb_encoder *ranking_encoder(const ranking_dense *dense, uint32_t longest, gb_status *status);
/* Vectors [count, H] of queries, in memory. */
bool ranking_encode_queries(const ranking_dense *dense, const uint32_t *queries, uint32_t count,
                            float *vectors, gb_status *status);
/* And encode the passages, into files of the step's resume folder that start with `name`: memory
 * does not grow with the collection, and the step goes on there after a kill. */
bool ranking_dense_open(ranking_dense *dense, step_run *step, const char *name,
                        const char *model_path, const char *tokens_step, gb_status *status);
void ranking_dense_close(ranking_dense *dense);
/* Exact inner-product search; lists are appended to run. */
bool ranking_dense_run(ranking_dense *dense, const uint32_t *queries, uint32_t count,
                       uint32_t depth, gb_run *run, gb_status *status);

/* --cost: prints NAME=NUMBER words: texts of the collection, queries of the split (NULL: of all
 * that judge a model), and the arithmetic of encoding one of each; width is that of the vectors. */
bool ranking_cost(const char *collection_step, const char *model_path, const char *tokens_step,
                  const char *split, gb_status *status);

/* Write the first `depth` passages of each query as TREC file `name` of the step. */
bool ranking_write(const step_run *step, const gb_collection *collection, const gb_run *run,
                   uint32_t depth, const char *name, gb_status *status);

#endif
