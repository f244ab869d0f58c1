/* Retrieve module: finds passages for queries, by what encoders make of both or by their terms. */
#ifndef GABBRO_RETRIEVE_H
#define GABBRO_RETRIEVE_H

#include <gabbro/base.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>
#include <gabbro/lexical.h>
#include <gabbro/nn.h>
#include <gabbro/ranks.h>
#include <gabbro/rows.h>
#include <gabbro/text.h>
#include <gabbro/vk.h>

/* ---- exact search of vectors ---- */

/* How to search. */
typedef struct gb_search_params {
    uint32_t k;             /* results wanted of each query */
    uint32_t query_block;   /* queries scored at once, rounded up to 64 or 512; 0: chosen */
    uint32_t passage_block; /* passages scored at once; 0: chosen */
    uint32_t piece;         /* passages after which results are saved in `resume`; 0: all */
    const char *resume;     /* file, of this rank alone, from which the next call with the same
                               vectors continues. NULL: nothing is saved */
    gb_ranks *ranks;        /* ranks that read and search a part of the passages each, and all get
                               the best of all; takes another 64 MiB. NULL: this process alone */
    const char *label;      /* of the progress line; NULL: "search" */
    bool quiet;             /* no progress line */
} gb_search_params;

/* What a search finds. The arrays are the caller's. */
typedef struct gb_found {
    uint32_t *rows; /* [queries, k] of passages; UINT32_MAX where there are fewer than k passages */
    float *scores;  /* [queries, k] falling; -INFINITY where there is no passage */
} gb_found;
/* The k passages with the largest inner products of every query, in falling order; among equal
 * scores the lower row comes first, and NaN is below every number. Products are float32 sums in an
 * order that depends on the device's kernels alone, so the result is the same for all block sizes,
 * pieces and numbers of ranks, bit for bit.
 *
 * Memory beyond the results is bounded whatever the number of vectors: no operand and no block of
 * scores above 64 MiB and 32 MiB on the device, some 300 MiB together.
 *
 * Fails with GB_DATA for vectors of different widths or wider than 16384, with GB_INTERRUPTED
 * after a signal, and with what `read` or the device say. */
bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, const gb_found *found, gb_status *status);

/* ---- exact search of token vectors ---- */

/* Vectors of the tokens of texts, text after text. */
typedef struct gb_token_vectors {
    gb_vectors tokens;      /* [tokens, width] */
    const uint32_t *starts; /* [texts + 1] first token of each text, and the end */
    const uint32_t *tags;   /* [tokens] only tokens of one tag are compared, such as those of one id
                               (COIL); GB_NO_ROW: a token takes no part; NULL: all are compared */
    gb_vectors whole;       /* [texts, its width]: the inner product of these is added to a score,
                               such as [CLS]'s (COIL); width 0: none */
    uint32_t texts;         /* how many */
} gb_token_vectors;

/* Makes scores of late interaction (gb_max_sim); those of tags count from 0. */
typedef struct gb_token_scorer gb_token_scorer;
/* Records a program that scores `queries_at_once` queries at most in blocks of passages. What it is
 * given must outlive it. GB_DATA if widths differ, or only one side has tags or whole vectors. */
gb_token_scorer *gb_token_scorer_create(gb_device *device, const gb_token_vectors *queries,
                                        const gb_token_vectors *passages, uint32_t queries_at_once,
                                        gb_status *status);
void gb_token_scorer_destroy(gb_token_scorer *scorer); /* NULL ok */
/* Is called with the scores of a query and passages rows[0 .. count), in the order asked for. */
typedef void gb_token_score_fn(void *context, uint32_t query, const uint32_t *rows,
                               const float *scores, uint32_t count);
/* Scores queries [first, first + count) against passages rows [row_count], or the first row_count
 * passages if rows is NULL. GB_INTERRUPTED after a signal. */
bool gb_token_score(gb_token_scorer *scorer, uint32_t first, uint32_t count, const uint32_t *rows,
                    uint32_t row_count, gb_token_score_fn *each, void *context, gb_status *status);
/* The `k` passages with the best scores of every query, in falling order, among equal ones the
 * lower row first, by scoring all passages: found as in gb_search. */
bool gb_token_search(gb_device *device, const gb_token_vectors *queries,
                     const gb_token_vectors *passages, uint32_t k, const gb_found *found,
                     gb_status *status);

/* A folder of token vectors: vectors.npy [tokens, width]; starts.npy, a list of integers with the
 * first row of each text, and the number of rows as the last; ids.txt, an id of a text a line; and
 * where there are any tags.npy, a list of integers with a tag of each row, and whole.npy [texts,
 * width], see gb_token_vectors. */
typedef struct gb_token_set {
    gb_token_vectors vectors; /* to search */
    gb_npy *npy, *whole;      /* vectors.npy, and whole.npy or NULL, of all folders */
    uint32_t *starts, *tags;  /* what is in these files, or NULL */
    char **ids;               /* [files] what is in ids.txt */
    const char **names;       /* [texts] start of each id, ended by a line end */
    size_t files;             /* folders */
    const char *folder;       /* the first one, as it was named */
    char *model;              /* as in gb_vector_set */
} gb_token_set;
bool gb_is_token_set(const char *folder); /* there is a starts.npy */
/* Opens folders as one: shards of gabbro encode in the order of their texts, others as they are
 * named. GB_DATA if their files do not go together. Close with gb_token_set_close. */
bool gb_token_set_open(gb_token_set *set, const char *const *folders, size_t count,
                       gb_status *status);
void gb_token_set_close(gb_token_set *set);
/* Writes a TREC run with the best `depth` passages of every query by gb_token_search; with
 * `candidates`, a file or an artifact of a run, of the passages that it has for a query. GB_DATA if
 * it names a query or a passage without vectors, and if the sets are of different models. */
bool gb_token_set_search(gb_device *device, const gb_token_set *queries,
                         const gb_token_set *passages, uint32_t depth, const char *candidates,
                         const char *path, gb_status *status);

/* ---- folders of vectors ---- */

/* Folders with vectors.npy and ids.txt (an id a line), by gabbro encode or any other program, read
 * as one. Shards of gabbro encode are read in the order of their texts, in whatever order they are
 * named; other folders in the order in which they are named. */
typedef struct gb_vector_set {
    gb_npy *npy;        /* the vectors */
    gb_vectors vectors; /* the same, to search */
    char **ids;         /* [files] the lines of each ids.txt */
    const char **rows;  /* [vectors] start of each id, ended by a line end */
    size_t files;       /* folders */
    const char *folder; /* the first folder, as it was named */
    char *model;        /* model that made them, as gb_identity says; "" if it is not known */
    struct gb_vector_cutting *cutting; /* of gb_vector_set_cut, or NULL */
} gb_vector_set;
/* Opens folders, which are given by path or as artifacts. GB_DATA for shards that are missing,
 * named twice or made in different ways, and if the numbers of ids and vectors differ. Close with
 * gb_vector_set_close. */
bool gb_vector_set_open(gb_vector_set *set, const char *const *folders, size_t count,
                        gb_status *status);
void gb_vector_set_close(gb_vector_set *set);
/* Keeps the first `dims` numbers of every vector (gb_vector_cut), once, before anything is read; 0:
 * all. What is kept is scaled to length 1 if the first 256 vectors, but for those of zeros, are of
 * that length (their squares within .01). GB_USAGE if there are fewer numbers. */
bool gb_vector_set_cut(gb_vector_set *set, uint32_t dims, gb_status *status);
/* Whether the ids can stand in a run, each once. GB_DATA: one has a blank, or is there twice. */
bool gb_vector_set_check_ids(const gb_vector_set *set, gb_status *status);
/* Id of a vector, not NUL-terminated. */
const char *gb_vector_set_id(const gb_vector_set *set, uint32_t row, size_t *length);
/* Forms of vectors in files. */
typedef enum gb_vector_form {
    GB_VECTORS_FLOAT32, /* vectors.npy and ids.txt */
    GB_VECTORS_FLOAT16, /* the same, rounded */
    GB_VECTORS_INT8,  /* the same, with scales.npy: a row times 127 / its largest value, rounded */
    GB_VECTORS_FAISS, /* index, a faiss IndexFlatIP, and docid, a line for each id */
    GB_VECTORS_ANSERINI, /* vectors.jsonl: {"docid", "vector": [...]} */
} gb_vector_form;
extern const char *const gb_vector_form_names[]; /* words of them, ended by NULL */
/* Writes the set into a folder, as one. rounding: gets what the form changes, or NULL. GB_DATA for
 * a value beyond the largest float16. */
bool gb_vector_set_write(const gb_vector_set *set, gb_vector_form form, const char *folder,
                         gb_rounding *rounding, gb_status *status);
/* Reads a file of JSON lines {"docid" (or "id", "_id"), "vector": [...]}, plain or packed, into
 * vectors.npy and ids.txt of a folder. GB_DATA for vectors of different widths. */
bool gb_vectors_read_json(const char *path, const char *folder, gb_status *status);
/* Searches a set for the best `params->k` passages of every query of another set, and writes a TREC
 * run to `path`. All ranks search; rank 0 writes. GB_DATA if the sets are of different models. */
bool gb_vector_set_search(gb_device *device, const gb_vector_set *queries,
                          const gb_vector_set *passages, const gb_search_params *params,
                          const char *path, gb_status *status);

/* ---- retrievers: dense, or of sparse vectors ---- */

/* Which model makes vectors of texts of one's own, and where. */
typedef struct gb_text_encoder_params {
    const gb_config *config; /* of the program */
    const char *model;       /* as gb_find_model takes it */
    const char *device;      /* index, name, UUID or cpu; NULL: the best */
    gb_device *open;         /* open device, which must outlive the encoder; NULL: see `device` */
    gb_pooling pooling;      /* unstated: as the model's folder says */
    uint32_t dims;           /* numbers of a vector that are kept (gb_vector_cut); 0: all */
    bool compare; /* by their dot product, see gb_settle_similarity; false: vectors as the model's
                     own encode() gives them */
} gb_text_encoder_params;

/* An encoder with its tokenizer and prompts: texts go in, vectors come out. */
typedef struct gb_text_encoder gb_text_encoder;
/* Opens model and device. GB_USAGE if there is no such model or its vectors have fewer than `dims`
 * numbers, GB_DATA if its folder is damaged or of a kind that is not computed here. */
gb_text_encoder *gb_text_encoder_open(const gb_text_encoder_params *params, gb_status *status);
void gb_text_encoder_close(gb_text_encoder *encoder);              /* NULL ok */
uint32_t gb_text_encoder_width(const gb_text_encoder *encoder);    /* floats of a vector */
gb_device *gb_text_encoder_device(const gb_text_encoder *encoder); /* borrowed, to search on */
/* Makes the vectors of `count` UTF-8 texts into vectors [count, width], with the model's prompt for
 * that kind of text. Texts are cut at the model's length. label: of a progress line, NULL: none.
 * The bits of a vector do not depend on the other texts. */
bool gb_text_encoder_run(gb_text_encoder *encoder, gb_text_kind kind, const char *const *texts,
                         uint32_t count, const char *label, float *vectors, gb_status *status);

const char *gb_text_encoder_device_name(const gb_text_encoder *encoder); /* as asked for */
/* How vectors are made: as asked for, else as stated. */
const gb_sentence_settings *gb_text_encoder_sentence(const gb_text_encoder *encoder);
/* Counts the tokens that such texts become before they are cut: tokens [count]. */
bool gb_text_encoder_count(gb_text_encoder *encoder, gb_text_kind kind, const char *const *texts,
                           uint32_t count, uint32_t *tokens, gb_status *status);

/* A cross-encoder with its tokenizer: pairs of texts go in, scores come out. Its params are those
 * of an encoder, but for `pooling`. */
typedef struct gb_text_scorer gb_text_scorer;
gb_text_scorer *gb_text_scorer_open(const gb_text_encoder_params *params, gb_status *status);
void gb_text_scorer_close(gb_text_scorer *scorer);                /* NULL ok */
uint32_t gb_text_scorer_max_tokens(const gb_text_scorer *scorer); /* of a pair, all included */
/* Logits of pairs of UTF-8 texts into scores [count]. Longer pairs are cut at their longer text. */
bool gb_text_scorer_run(gb_text_scorer *scorer, const char *const *queries,
                        const char *const *passages, uint32_t count, float *scores,
                        gb_status *status);
/* Counts the tokens of pairs before they are cut: tokens [count]. */
bool gb_text_scorer_count(gb_text_scorer *scorer, const char *const *queries,
                          const char *const *passages, uint32_t count, uint32_t *tokens,
                          gb_status *status);

/* Vectors of passages, and their texts where these are known. */
typedef struct gb_index {
    gb_vector_set vectors;     /* vectors and ids */
    gb_collection *collection; /* what the passages are of, row by row; NULL: vectors are all */
} gb_index;
/* Which index to make. */
typedef struct gb_index_params {
    const char *model;      /* path as gb_find_model gives it */
    const char *collection; /* artifact with a collection, stored collection, or anything that can
                               be imported: then the index keeps the import */
    uint32_t dims;          /* numbers of a vector that are kept; 0: all */
} gb_index_params;
extern const gb_option
    gb_index_options[]; /* of a gb_index_params: inputs of the artifact, --dims */
/* What makes an index; its `self` is a gb_index_params, its tables have gb_index_options. A command
 * whose `self` is another calls gb_index_make itself. */
gb_make_params gb_index_making(void);
/* Makes vectors of all passages into the artifact of a command, which goes on where it was killed:
 * vectors.npy, ids.txt and vectors.json as of gb_retriever_write_shard; index.json, which says
 * where the collection is. */
bool gb_index_make(gb_maker *maker, const gb_index_params *params, gb_status *status);
/* Opens an index, or any folders for gb_vector_set_open, which have no texts. GB_DATA where the
 * collection is gone or has other ids than the index. Close with gb_index_close. */
bool gb_index_open(gb_index *index, const char *const *folders, size_t count, gb_status *status);
void gb_index_close(gb_index *index); /* also of zeros */

/* What is kept of sparse vectors: what gb_sparse_options set. */
typedef struct gb_sparse_settings {
    uint32_t passage_terms, query_terms; /* largest weights of a text; 0: all */
    double least_weight;                 /* smaller ones are dropped */
    double quantize; /* gabbro encode: weights are multiplied by it and rounded; 0: as they are */
} gb_sparse_settings;
extern const gb_option gb_sparse_options[]; /* of a gb_sparse_settings */

/* Which retriever to open, and where it computes. */
typedef struct gb_retriever_params {
    const char *model;               /* artifact or folder of the retriever */
    const char *tokens;              /* artifact of the collection's tokens */
    const gb_collection *collection; /* that collection, which they must fit; NULL: any */
    const char *pooling;             /* cls, mean or last; NULL: as the model's folder says */
    uint32_t dims;                   /* numbers of a dense vector that are kept; 0: all */
    gb_sparse_settings sparse;       /* of sparse vectors */
    gb_device *device;               /* device that computes */
    gb_ranks *ranks; /* ranks that share the work and make the same calls; NULL: alone */
} gb_retriever_params;

/* A model that makes vectors of the texts of a collection, and ranks passages by them. */
typedef struct gb_retriever gb_retriever;
/* Opens the model and the tokens, without making vectors. What params point to must outlive the
 * retriever. GB_DATA if model, tokens and collection do not fit; GB_USAGE for settings of sparse
 * vectors, or fewer dims, of a model that has none. */
gb_retriever *gb_retriever_open(const gb_retriever_params *params, gb_status *status);
void gb_retriever_close(gb_retriever *retriever);                    /* NULL ok */
bool gb_retriever_is_sparse(const gb_retriever *retriever);          /* of term weights */
uint32_t gb_retriever_width(const gb_retriever *retriever);          /* floats of a vector */
const gb_tokens *gb_retriever_tokens(const gb_retriever *retriever); /* tokens of the collection */
gb_special_ids gb_retriever_specials(const gb_retriever *retriever); /* of its vocabulary */

/* Encodes texts to vectors [count, width] in memory. Every rank gets all of them. */
bool gb_retriever_encode(const gb_retriever *retriever, gb_text_kind kind,
                         const gb_encode_rows *texts, float *vectors, gb_status *status);

/* A file of vectors, and a note of how many are written. */
typedef struct gb_vector_file {
    const char *path;    /* .npy file, the same for all ranks */
    const char *journal; /* note of this rank alone, from which the next call with the same texts,
                            model and number of ranks continues */
    gb_number numbers; /* what vectors are rounded to; int8 has its factors in scales.npy beside */
} gb_vector_file;
/* Encodes texts to a .npy file [count, width] (float32). Every rank encodes a part of them; when
 * they return, the file is whole. padding (may be NULL) gets the rows that this rank computed. */
bool gb_retriever_write(const gb_retriever *retriever, gb_text_kind kind,
                        const gb_encode_rows *texts, const gb_vector_file *file,
                        gb_padding *padding, gb_status *status);
/* Adds to *users, GB_USER_ bits, who runs kernels to make vectors with a model, an artifact or
 * folder. */
bool gb_retriever_users(const char *model, uint32_t *users, gb_status *status);
/* Encodes all passages to a file and keeps it open for gb_retriever_rank. Memory does not grow with
 * the collection. */
bool gb_retriever_index(gb_retriever *retriever, const gb_vector_file *file, gb_status *status);
gb_vectors gb_retriever_passages(const gb_retriever *retriever); /* of the index; not sparse */
/* Appends the best `depth` passages of every query to a run, by exact search. The queries of the
 * lists are the rows of their row file. */
bool gb_retriever_rank(gb_retriever *retriever, const gb_encode_rows *queries, uint32_t depth,
                       gb_run *run, gb_status *status);

/* A part of the texts of a collection. */
typedef struct gb_shard {
    const char *split;     /* queries of this split; NULL: the passages */
    uint32_t index, count; /* one of `count` equal parts, from 0 */
    gb_number numbers;     /* what vectors are rounded to; those of tokens not to int8 */
} gb_shard;
/* What was written of a shard. */
typedef struct gb_shard_written {
    uint32_t texts;     /* texts of the shard */
    gb_padding padding; /* rows that this rank computed */
} gb_shard_written;
/* Encodes a shard of the retriever's collection to a folder for gb_vector_set: vectors.npy,
 * ids.txt, and vectors.json, by which shards are put together. Sparse vectors become vectors.jsonl
 * for gb_impacts_search, from files beginning with `resume`, those of tokens the folder of a
 * gb_token_set. journal: see gb_vector_file. */
bool gb_retriever_write_shard(const gb_retriever *retriever, const gb_shard *shard,
                              const char *folder, const char *resume, const char *journal,
                              gb_shard_written *written, gb_status *status);

/* Prints the cost of encoding a collection as NAME=NUMBER words, for programs that plan: the
 * numbers of passages and of queries of the split (NULL: of all splits of gb_splits_open), the mean
 * arithmetic for one of each, and the width of a vector. `collection` is an artifact; of params
 * only model and tokens are read. */
bool gb_print_encoding_cost(const gb_retriever_params *params, const char *collection,
                            const char *split, FILE *out, gb_status *status);

/* Opens the retriever of a command that makes an artifact, with that command's device, ranks and
 * pooling, and indexes the passages. sparse: NULL keeps all of sparse vectors. The files of the
 * index lie in the resume folder and begin with `name`, so that a killed command continues from
 * them. GB_DATA for tokens of another collection, GB_USAGE for a model of late interaction if the
 * command has no kernels for it (gb_retriever_users). */
gb_retriever *gb_retriever_of(gb_maker *maker, const char *model, const char *tokens,
                              const gb_collection *collection, const gb_sparse_settings *sparse,
                              const char *name, gb_status *status);

/* Something that ranks the passages of a collection: BM25 or a retriever. */
typedef struct gb_ranker {
    gb_collection *collection; /* collection that is searched */
    gb_bm25 *bm25;             /* its BM25 index, or NULL */
    gb_names *queries;         /* ids of the queries, with the following */
    gb_expansions *expansions; /* texts appended to queries, or NULL */
    gb_retriever *retriever;   /* retriever with its passages indexed, or NULL */
} gb_ranker;
/* Opens the ranker of a command that makes an artifact: the retriever `model` with the artifact
 * `tokens`, or BM25 by its settings if model is NULL. The command's facts get what it took. */
bool gb_ranker_open(gb_ranker *ranker, gb_maker *maker, const char *model, const char *tokens,
                    const gb_sparse_settings *sparse, const gb_bm25_settings *bm25,
                    gb_status *status);
void gb_ranker_close(gb_ranker *ranker);
/* Appends the best `depth` passages for queries of the collection, rows [count], to a run. */
bool gb_rank(const gb_ranker *ranker, const uint32_t *queries, uint32_t count, uint32_t depth,
             gb_run *run, gb_status *status);
/* What gb_ranker_write ranks. */
typedef struct gb_ranking {
    const gb_split *split; /* queries */
    uint32_t depth;        /* passages of a query that are written */
    bool drop_identical;   /* a passage with the query's id is left out */
} gb_ranking;
/* Ranks the ranker's collection for all queries of a split, and writes run.trec into the artifact
 * of a command. */
bool gb_ranker_write(const gb_ranker *ranker, gb_maker *maker, const gb_ranking *ranking,
                     gb_status *status);

/* ---- evaluation of rankings ---- */

/* What is ranked: the queries of a split. */
typedef struct gb_ranked_split {
    const gb_split *split;     /* its queries */
    const gb_run_names *names; /* ids of the collection */
    uint32_t depth;            /* passages wanted of a query */
} gb_ranked_split;
/* Appends the rankings for all queries of a split to a run. */
typedef bool gb_rank_split(void *ctx, const gb_ranked_split *split, gb_run *run, gb_status *status);

/* How rankings are evaluated for all evaluation splits of a collection. */
typedef struct gb_evaluating {
    gb_collection *collection; /* collection */
    uint32_t depth;            /* passages of a query that are measured */
    uint32_t keep;             /* of them written to runs/<split>.trec */
    bool drop_identical;       /* a passage with the query's id does not count */
    gb_rank_split *rank;       /* gives the rankings; all ranks of the command call it */
    void *ctx;                 /* its first argument */
} gb_evaluating;
/* Ranks and measures all splits of gb_splits_open, and writes metrics.json, per-query/ and runs/
 * into the artifact of a command. */
bool gb_evaluate_splits(gb_maker *maker, const gb_evaluating *how, gb_status *status);

/* Says so if the runs of an evaluation, or of gabbro rerank, have fewer passages of a query than
 * `depth`: measures of more ranks would be too low without a word. */
void gb_warn_of_short_runs(const char *folder, uint32_t depth);
/* Reads the rankings that several evaluations kept (their runs/) and fuses them; those of a single
 * one stay as they are. It is a gb_rank_split. */
typedef struct gb_fused_evaluations {
    const char *const *evaluations; /* [count] artifacts or folders of gabbro evaluate */
    size_t count;                   /* evaluations */
    gb_fusion fusion;               /* how */
} gb_fused_evaluations;
bool gb_rank_fused(void *fused_evaluations, const gb_ranked_split *split, gb_run *run,
                   gb_status *status);

/* ---- rankings scored by a cross-encoder ---- */

/* What is ranked anew, and by what. */
typedef struct gb_rerank_params {
    const char *model;      /* artifact or folder of a cross-encoder */
    const char *collection; /* artifact */
    const char *tokens;     /* artifact of its tokens */
    gb_words runs;          /* files, artifacts with a run.trec, or a single evaluation */
    uint32_t depth;         /* first passages of each run's list that are scored */
    const char *judged;     /* those judged relevant in this split are scored, too; NULL: none */
    uint32_t form;          /* of the scores: 0 logits, 1 their sigmoids */
} gb_rerank_params;
/* Scores the passages of the runs for their queries, those of several runs together, and writes
 * run.trec, or of an evaluation runs/SPLIT.trec for each split, into the artifact of a command:
 * score descending, equal scores by row ascending. All ranks score; a killed command continues.
 * GB_DATA for a model of another kind, or a run of another collection. */
bool gb_rerank(gb_maker *maker, const gb_rerank_params *params, gb_status *status);
/* Prints what that takes as NAME=NUMBER words: pairs, and the mean arithmetic of one. The model may
 * be an encoder of that size. */
bool gb_rerank_print_cost(const gb_rerank_params *params, FILE *out, gb_status *status);

/* ---- are contexts related to their passages? ---- */

/* Judges whether the context of each pair is strongly related to its passage: related [count]. A
 * mini world knows it (gb_synth_related). For any other collection BM25 searches with the context,
 * and related means that the passage is among the first ten. *judge gets the name of the judge. */
bool gb_pairs_judge(const gb_collection *collection, const gb_pair *pairs, uint32_t count,
                    bool *related, const char **judge, gb_status *status);

#endif
