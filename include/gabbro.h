/* libgabbro: open a model, make vectors of texts, score pairs, search an index, read and measure
 * runs. This is the only header that is installed; pkg-config knows the library as `gabbro`.
 *
 * Errors. A function that can fail takes a gabbro_status last, which may be NULL, and returns false
 * or NULL where it fails. The codes are stable; the texts are for people and may change. On success
 * the status is left as it is.
 *
 * Ownership. Whatever is opened or created is closed by its own close function, which accepts NULL.
 * Arguments are the caller's and are not kept, unless it says so. Texts are UTF-8, NUL-terminated.
 *
 * Threads. The library has no state of its own. Several threads may use one object: calls wait for
 * each other, except that nobody may use what another thread closes. Different objects can be used
 * at the same time. An object must not be used in a process that was forked after it was opened.
 *
 * Locale. The caller's has no part in what is read, written or computed, and is as it was after a
 * call: files have decimal points.
 *
 * The library prints nothing, handles no signals and does not end the process. The environment
 * (GABBRO_DEVICE, GABBRO_STORE, HF_HOME and the rest) is read when an object is opened.
 *
 * Versions. Symbols have the version GABBRO_0; what is there stays until that name changes.
 * Structures with a member `size` may grow at their end: set it to sizeof the structure, and the
 * library takes the rest as zero. */
#ifndef GABBRO_H
#define GABBRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GABBRO_API __attribute__((visibility("default")))
#else
#define GABBRO_API
#endif

/* ---- errors ---- */

/* Kinds of failure. */
typedef enum gabbro_code {
    GABBRO_OK = 0,
    GABBRO_USAGE = 2,     /* an argument that makes no sense */
    GABBRO_DATA = 3,      /* files: missing, damaged, of a kind that is not read */
    GABBRO_DEVICE = 4,    /* no Vulkan device, or it failed */
    GABBRO_MEMORY = 5,    /* memory of the host or the device */
    GABBRO_INTERNAL = 70, /* a bug of the library */
    GABBRO_INTERRUPTED =
        75, /* stopped by a signal; programs that use this header alone never see it */
} gabbro_code;

/* What went wrong. */
typedef struct gabbro_status {
    int32_t code;    /* a gabbro_code */
    char what[400];  /* what went wrong, one sentence */
    char where[300]; /* file and line, device ... or empty */
    char hint[300];  /* what to do about it, or empty */
} gabbro_status;

/* The version of the library, such as "0.1.0". */
GABBRO_API const char *gabbro_version(void);

/* ---- models ---- */

/* An encoder with its tokenizer, prompts and pooling, on a device; or a cross-encoder, which only
 * scores pairs. */
typedef struct gabbro_model gabbro_model;

/* How to open a model. */
typedef struct gabbro_model_params {
    size_t size;         /* of this structure */
    const char *device;  /* index, part of a name, UUID, or "cpu"; NULL: the best */
    const char *pooling; /* "cls", "mean" or "last"; NULL: as the model's folder says */
    uint32_t dims; /* first dimensions of a vector that are kept, as Matryoshka models allow, of
                      length 1 again where all were; 0: all */
    bool compare;  /* vectors are for an index: of length 1 if the folder says that they are
                      compared by the cosine, GABBRO_DATA if by a distance; false: as
                      sentence-transformers' encode() gives them */
} gabbro_model_params;

/* What a text is. Models may have a prompt for queries and one for passages. */
typedef enum gabbro_kind {
    GABBRO_PASSAGE = 0,
    GABBRO_QUERY = 1,
    GABBRO_PLAIN = 2, /* neither: no prompt is put before it */
} gabbro_kind;

/* Opens a model: a folder as Hugging Face's tools write it, an artifact of the store, or the name
 * of a model in Hugging Face's cache. params may be NULL. GABBRO_DATA if there is none of that
 * name, or it is damaged or of an architecture that is not computed. */
GABBRO_API gabbro_model *gabbro_model_open(const char *name, const gabbro_model_params *params,
                                           gabbro_status *status);
GABBRO_API void gabbro_model_close(gabbro_model *model);
GABBRO_API const char *gabbro_model_path(const gabbro_model *model); /* folder that was found */
GABBRO_API uint32_t gabbro_model_width(const gabbro_model *model);   /* floats of a vector; of a
                                                                           cross-encoder 0 */
/* Tokens of a text, or of a cross-encoder's pair, at most, special ones included; longer ones are
 * cut. */
GABBRO_API uint32_t gabbro_model_max_tokens(const gabbro_model *model);
/* How a vector is made of the states of a text's tokens: "cls", "mean" or "last"; NULL: it is a
 * cross-encoder. */
GABBRO_API const char *gabbro_model_pooling(const gabbro_model *model);

/* Makes vectors [count, width] of `count` texts. The bits of a vector do not depend on the other
 * texts. GABBRO_USAGE for a text that is no UTF-8. */
GABBRO_API bool gabbro_encode(gabbro_model *model, gabbro_kind kind, const char *const *texts,
                              size_t count, float *vectors, gabbro_status *status);
/* Counts the tokens of texts into tokens [count], with prompt and special tokens, as they are
 * before a text is cut: what is above gabbro_model_max_tokens is not read. */
GABBRO_API bool gabbro_count_tokens(gabbro_model *model, gabbro_kind kind, const char *const *texts,
                                    size_t count, uint32_t *tokens, gabbro_status *status);
/* Scores pairs: scores[i] of queries[i] and passages[i], the inner product of their vectors, or a
 * cross-encoder's logit. Where a model's folder says that vectors are compared by the cosine, it is
 * that; GABBRO_DATA if by a distance. A text that comes several times in a row is read once. */
GABBRO_API bool gabbro_score(gabbro_model *model, const char *const *queries,
                             const char *const *passages, size_t count, float *scores,
                             gabbro_status *status);

/* Counts the tokens of a cross-encoder's pairs before they are cut. */
GABBRO_API bool gabbro_count_pair_tokens(gabbro_model *model, const char *const *queries,
                                         const char *const *passages, size_t count,
                                         uint32_t *tokens, gabbro_status *status);

/* ---- indexes ---- */

/* Vectors that can be searched, with ids, and with texts where they are known. */
typedef struct gabbro_index gabbro_index;

/* How to open or make an index. */
typedef struct gabbro_index_params {
    size_t size;         /* of this structure */
    const char *device;  /* that searches, as of a model */
    gabbro_model *model; /* search on the device of this model, which must be closed later than the
                            index; calls on the two then wait for each other. NULL: see `device` */
    const char *store;   /* store that gabbro_index_make keeps the index in; NULL: the user's */
} gabbro_index_params;

#define GABBRO_NO_ROW UINT32_MAX
/* A vector that was found. */
typedef struct gabbro_hit {
    uint32_t row; /* of the index; GABBRO_NO_ROW where there are no more */
    float score;  /* inner product */
} gabbro_hit;

/* Opens a folder: an index, or any folder with vectors.npy and ids.txt. params may be NULL. */
GABBRO_API gabbro_index *gabbro_index_open(const char *folder, const gabbro_index_params *params,
                                           gabbro_status *status);
/* Finds the index of a model and a collection in the store, or makes it, which takes the time of
 * encoding all passages; where that was interrupted, it goes on. `collection`: a folder or file in
 * any layout that `gabbro collection` imports, or an artifact. Its vectors are those of a model
 * that was opened with `compare`: open `model` so as well, or scores are not cosines. */
GABBRO_API gabbro_index *gabbro_index_make(const gabbro_model *model, const char *collection,
                                           const gabbro_index_params *params,
                                           gabbro_status *status);
/* Makes an index of vectors [rows, width], which are copied, with ids [rows]; ids NULL: the rows'
 * numbers. GABBRO_USAGE for an id that is NULL, and for vectors of no numbers. */
GABBRO_API gabbro_index *gabbro_index_of(const float *vectors, uint32_t rows, uint32_t width,
                                         const char *const *ids, const gabbro_index_params *params,
                                         gabbro_status *status);
GABBRO_API void gabbro_index_close(gabbro_index *index);
GABBRO_API uint32_t gabbro_index_rows(const gabbro_index *index);
GABBRO_API uint32_t gabbro_index_width(const gabbro_index *index);
GABBRO_API const char *gabbro_index_path(const gabbro_index *index); /* folder, or "" */
/* Id of a row below gabbro_index_rows, not NUL-terminated, valid while the index is open. */
GABBRO_API const char *gabbro_index_id(const gabbro_index *index, uint32_t row, size_t *length);
/* Title and text of a row, like its id. False if the index has no texts. */
GABBRO_API bool gabbro_index_passage(const gabbro_index *index, uint32_t row, const char **title,
                                     size_t *title_length, const char **text, size_t *text_length);
/* Finds the k rows with the largest inner products for each of `count` queries [count, width]: hits
 * [count, k], falling; of equal scores the lower row is first. The search is exact. GABBRO_USAGE
 * for another width than the index has. */
GABBRO_API bool gabbro_search(gabbro_index *index, const float *queries, size_t count,
                              uint32_t width, uint32_t k, gabbro_hit *hits, gabbro_status *status);

/* ---- runs ---- */

/* The rankings of many queries. */
typedef struct gabbro_run gabbro_run;

GABBRO_API gabbro_run *gabbro_run_create(gabbro_status *status); /* an empty one */
/* Reads a run of TREC, of MS MARCO, or with lines of query, passage, score; plain, gzip or zstd. */
GABBRO_API gabbro_run *gabbro_run_read(const char *path, gabbro_status *status);
GABBRO_API void gabbro_run_close(gabbro_run *run);
/* Adds the ranking of a query that the run does not have yet: passages [count], best first, and
 * their scores [count]. GABBRO_USAGE for a query that it has, a passage that comes twice, an id
 * that is not one word of UTF-8, and a score that is no number. */
GABBRO_API bool gabbro_run_add(gabbro_run *run, const char *query, const char *const *passages,
                               const double *scores, size_t count, gabbro_status *status);
/* Writes it as TREC's, at once and only if all went well; tag NULL: "gabbro". */
GABBRO_API bool gabbro_run_write(gabbro_run *run, const char *path, const char *tag,
                                 gabbro_status *status);
GABBRO_API size_t gabbro_run_queries(const gabbro_run *run);
/* Id of a query below gabbro_run_queries, not NUL-terminated, valid while the run is open, and the
 * hits in its ranking. */
GABBRO_API const char *gabbro_run_query(const gabbro_run *run, size_t query, size_t *length,
                                        size_t *hits);
/* Id, like that of a query, and score of hit `rank`, from 0, of a query. */
GABBRO_API const char *gabbro_run_hit(const gabbro_run *run, size_t query, size_t rank,
                                      size_t *length, double *score);

/* How to measure. */
typedef struct gabbro_measure_params {
    size_t size;   /* of this structure */
    int32_t level; /* smallest relevant grade; 0: 1 */
    bool complete; /* count judged queries that the run lacks as 0 (trec_eval -c) */
} gabbro_measure_params;
/* Is called with the value of each query; its id is not NUL-terminated. It must call nothing with
 * the run, which waits for it. */
typedef void gabbro_value_fn(void *context, const char *query, size_t length, double value);
/* Measures a run by a file of judgements, as trec_eval does: *value is the mean over the queries of
 * a measure such as "ndcg_cut_10", "MRR@10" or "recall_1000". params and each may be NULL.
 * GABBRO_USAGE for a word that is no measure or stands for several. */
GABBRO_API bool gabbro_measure(gabbro_run *run, const char *qrels, const char *measure,
                               const gabbro_measure_params *params, gabbro_value_fn *each,
                               void *context, double *value, gabbro_status *status);

#ifdef __cplusplus
}
#endif

#endif
