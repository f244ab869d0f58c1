/* Retrieve module: finds passages for queries, by BM25 or by the inner products of vectors. */
#ifndef GABBRO_RETRIEVE_H
#define GABBRO_RETRIEVE_H

#include <gabbro/base.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>
#include <gabbro/nn.h>
#include <gabbro/ranks.h>
#include <gabbro/rows.h>
#include <gabbro/text.h>
#include <gabbro/vk.h>

/* ---- BM25 ---- */

typedef bool gb_term_fn(void *ctx, const char *bytes, size_t length);
/* Where terms come from. State is opened once by the index and once by each searcher, so that it
 * need not be thread-safe. */
typedef struct gb_term_source {
    const char *name;   /* for reports, e.g. "english" */
    const void *config; /* passed to open; must outlive the index */
    void *(*open)(const void *config, gb_status *status);
    void (*close)(void *state); /* NULL ok */
    bool (*terms)(void *state, const char *text, size_t length, gb_term_fn *term, void *ctx,
                  gb_status *status); /* false: failed, or term() said stop */
} gb_term_source;
gb_term_source gb_terms_english(void);                            /* gb_analyze */
gb_term_source gb_terms_wordpiece(const gb_tokenizer *tokenizer); /* a term a token id */

typedef struct gb_bm25_params {
    double k1;             /* default 0.9 */
    double b;              /* default 0.4 */
    gb_term_source source; /* default gb_terms_english() */
} gb_bm25_params;
gb_bm25_params gb_bm25_defaults(void);

/* In-memory inverted index scoring as Lucene's BM25Similarity:
 *   sum over query terms of  qtf * idf * tf / (tf + k1 (1 - b + b length / mean length)),
 *   idf = ln(1 + (N - df + 0.5) / (df + 0.5)), length rounded down to a one-byte float, N and the
 * mean over texts with at least one term. About 6 bytes a posting. */
typedef struct gb_bm25 gb_bm25;
gb_bm25 *gb_bm25_create(gb_bm25_params params, gb_status *status);
/* A finished index of "title text" of all passages of a collection, with the default parameters. */
gb_bm25 *gb_bm25_of(const gb_collection *collection, gb_status *status);
void gb_bm25_destroy(gb_bm25 *index);
/* Add the next text; rows count from 0. */
bool gb_bm25_add(gb_bm25 *index, const char *text, size_t length, gb_status *status);
/* Build the posting lists. Nothing can be added afterwards, and only then can it be searched. */
bool gb_bm25_finish(gb_bm25 *index, gb_status *status);
uint32_t gb_bm25_count(const gb_bm25 *index); /* texts */
uint32_t gb_bm25_terms(const gb_bm25 *index); /* different terms */
/* Of a finished one: bytes it took while it was built, but for the different terms. */
uint64_t gb_bm25_text_bytes(const gb_bm25 *index);

/* Scratch of one searching thread; many may share one finished index. */
typedef struct gb_bm25_searcher gb_bm25_searcher;
gb_bm25_searcher *gb_bm25_searcher_create(const gb_bm25 *index, gb_status *status);
void gb_bm25_searcher_destroy(gb_bm25_searcher *searcher);
/* The best k texts for a query, score descending, equal scores by row ascending; texts without any
 * query term are not given. hits has room for k; *count gets their number. */
bool gb_bm25_search(gb_bm25_searcher *searcher, const char *query, size_t length, uint32_t k,
                    gb_hit *hits, uint32_t *count, gb_status *status);
/* Many queries to search for. */
typedef struct gb_bm25_queries {
    const uint32_t *rows; /* [count] queries of the run */
    size_t count;         /* queries */
    gb_query_fn *text;    /* their texts */
    const void *ctx;      /* for text */
    uint32_t depth;       /* passages wanted of each */
    uint32_t threads;     /* that search; 0: as many as processors */
} gb_bm25_queries;
/* The lists are appended to run in the order given. Same result with any number of threads. Stops
 * with GB_INTERRUPTED when a signal asks for it. */
bool gb_bm25_run(const gb_bm25 *index, const gb_bm25_queries *queries, gb_run *run,
                 gb_status *status);

/* Lucene's one-byte lengths (SmallFloat.intToByte4): 0..39 are kept exactly, above that the value
 * is cut to four significant bits. */
uint8_t gb_length_to_byte(uint32_t length);
uint32_t gb_byte_to_length(uint8_t byte);

/* ---- BM25 over a folder of text ---- */

typedef struct gb_bm25_folder_params {
    const char *folder;  /* a stored collection, its artifact, or a folder with corpus.jsonl[.gz] */
    const char *queries; /* file of gb_read_queries; NULL: those of the folder */
    const char *qrels;   /* file of judgements; NULL: qrels/SPLIT.tsv of the folder */
    const char *split;   /* NULL: test, else dev */
    const char *vocab;   /* terms are WordPieces of this vocab.txt; NULL: stemmed words */
    double k1, b;        /* of BM25 */
} gb_bm25_folder_params;

/* An index of the passages ("title text") of a folder, with queries to search for. */
typedef struct gb_bm25_folder {
    gb_bm25 *index;            /* of all passages */
    gb_run_names names;        /* of passages and queries; queries is one of the two below */
    gb_query_fn *text;         /* texts of the queries */
    const void *text_ctx;      /* for text */
    uint32_t texts;            /* queries that have one: the first */
    char *split;               /* of the judgements, or NULL */
    gb_qrels qrels;            /* judgements; none: own queries without any */
    double index_s;            /* seconds that indexing took */
    gb_collection *collection; /* where the folder is a stored one, else NULL */
    gb_names *stored_queries;  /* ids of its queries, or NULL */
    gb_topics topics;          /* queries of a file */
    gb_vocab *vocab;           /* of params.vocab, or NULL */
    gb_tokenizer *tokenizer;   /* of it */
} gb_bm25_folder;
/* Read and index. Judged queries without a text and judged passages that are not there stay in the
 * judgements, as a warning says. */
bool gb_bm25_folder_open(const gb_bm25_folder_params *params, gb_bm25_folder *folder,
                         gb_status *status);
void gb_bm25_folder_close(gb_bm25_folder *folder);
/* Search for the judged queries that have a text, or for all without judgements. */
bool gb_bm25_folder_search(const gb_bm25_folder *folder, uint32_t depth, uint32_t threads,
                           gb_run *run, gb_status *status);

/* ---- exact search of vectors ---- */

typedef struct gb_search_params {
    uint32_t k;             /* results wanted of each query */
    uint32_t query_block;   /* queries scored at once, rounded up to 64 or 512; 0: chosen */
    uint32_t passage_block; /* passages scored at once; 0: chosen */
    uint32_t piece;         /* passages after which what was found is kept in `resume`; 0: all */
    const char *resume;     /* file, of this rank alone; the next call with the same vectors goes on
                               from what is kept there. NULL: nothing is kept */
    gb_ranks *ranks;        /* that read and search a part of the passages each; all of them get the
                               best of all. NULL: alone. Takes another 64 MiB */
    const char *label;      /* of the progress line; NULL: "search" */
    bool quiet;             /* no progress line */
} gb_search_params;

/* The k passages with the largest inner products of every query, in falling order; among equal
 * scores the lower row comes first, and NaN is below every number. rows, scores [queries * k] are
 * the caller's; where there are fewer than k passages, rows end with UINT32_MAX and scores with
 * -INFINITY. Products are float32 sums in an order that depends on the device's kernels alone, so
 * the result is the same for all block sizes, pieces and numbers of ranks, bit for bit.
 *
 * Memory beyond the results is bounded whatever the number of vectors: no operand and no block of
 * scores above 64 MiB and 32 MiB on the device, some 300 MiB together.
 *
 * Fails with GB_USAGE for vectors of different widths or wider than 16384, with GB_INTERRUPTED
 * after a signal, and with what `read` or the device say. */
bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, uint32_t *rows, float *scores, gb_status *status);

/* ---- folders of vectors ---- */

/* Folders with vectors.npy and ids.txt (an id a line), as gabbro encode makes them or anyone else
 * does, read as one: shards of gabbro encode in the order of their texts, whatever the order they
 * are named in; other folders as they are named. */
typedef struct gb_vector_set {
    gb_npy *npy;        /* the vectors */
    gb_vectors vectors; /* the same, to search */
    char **ids;         /* [files] the lines of each ids.txt */
    const char **rows;  /* [vectors] start of each id, ended by a line end */
    size_t files;       /* folders */
    const char *folder; /* the first, as it was named */
    char *model;        /* that made them, as gb_identity says; "" where nothing says so */
} gb_vector_set;
/* GB_DATA for shards that are missing, named twice or of different makings, and for ids that are
 * more or fewer than vectors. Paths are artifacts or folders. Close with gb_vector_set_close. */
bool gb_vector_set_open(gb_vector_set *set, const char *const *folders, size_t count,
                        gb_status *status);
void gb_vector_set_close(gb_vector_set *set);
const char *gb_vector_set_id(const gb_vector_set *set, uint32_t row, size_t *length);
/* Write the set into a folder, as one vectors.npy (float32) and ids.txt. */
bool gb_vector_set_write(const gb_vector_set *set, const char *folder, gb_status *status);
/* Search a set for the best `params->k` passages of every query of another set, into a run of TREC
 * at `path`. All ranks search; rank 0 writes. GB_DATA where the two are of different models. */
bool gb_vector_set_search(gb_device *device, const gb_vector_set *queries,
                          const gb_vector_set *passages, const gb_search_params *params,
                          const char *path, gb_status *status);

/* ---- dense retrievers ---- */

typedef enum gb_text_kind { GB_TEXT_PASSAGE, GB_TEXT_QUERY } gb_text_kind;

typedef struct gb_retriever_params {
    const char *model;   /* artifact or folder of the retriever */
    const char *tokens;  /* artifact of the collection's tokens */
    const char *pooling; /* cls or mean; NULL: as the model's folder says */
    gb_device *device;   /* that computes */
    gb_ranks *ranks;     /* that share the work, making the same calls; NULL: alone */
} gb_retriever_params;

/* A model that makes vectors of the texts of a collection, and ranks passages by them. */
typedef struct gb_retriever gb_retriever;
/* The model and the tokens alone, without vectors. GB_DATA where they do not go together. What
 * params point to must outlive it. */
gb_retriever *gb_retriever_open(const gb_retriever_params *params, gb_status *status);
void gb_retriever_close(gb_retriever *retriever);                    /* NULL ok */
uint32_t gb_retriever_width(const gb_retriever *retriever);          /* of a vector */
const gb_tokens *gb_retriever_tokens(const gb_retriever *retriever); /* of the collection */
gb_special_ids gb_retriever_specials(const gb_retriever *retriever); /* of its vocabulary */

/* Vectors [count, width] of texts, in memory; every rank makes all of them. */
bool gb_retriever_encode(const gb_retriever *retriever, gb_text_kind kind,
                         const gb_encode_rows *texts, float *vectors, gb_status *status);

/* Where vectors are written, and where it stands how many are. */
typedef struct gb_vector_file {
    const char *path;    /* .npy file, the same one for all ranks */
    const char *journal; /* of this rank alone. The next call with the same texts, model and number
                            of ranks goes on from what it says */
} gb_vector_file;
/* Write vectors of texts as .npy [count, width] (float32). Every rank encodes a part of them; the
 * file is whole when they return. padding (may be NULL) gets the rows that this rank computed. */
bool gb_retriever_write(const gb_retriever *retriever, gb_text_kind kind,
                        const gb_encode_rows *texts, const gb_vector_file *file,
                        gb_padding *padding, gb_status *status);
/* Write the vectors of all passages, and keep them open for gb_retriever_rank: memory does not grow
 * with the collection. */
bool gb_retriever_index(gb_retriever *retriever, const gb_vector_file *file, gb_status *status);
gb_vectors gb_retriever_passages(const gb_retriever *retriever); /* those of the index */
/* Append the best `depth` passages of every query to a run, by exact search. The lists' queries are
 * the rows of their table. */
bool gb_retriever_rank(gb_retriever *retriever, const gb_encode_rows *queries, uint32_t depth,
                       gb_run *run, gb_status *status);

/* A part of the texts of a collection. */
typedef struct gb_shard {
    const gb_collection *collection; /* of the retriever's tokens */
    const char *split;               /* queries of this split; NULL: the passages */
    uint32_t index, count;           /* one of `count` equal parts, from 0 */
} gb_shard;
typedef struct gb_shard_written {
    uint32_t texts;     /* of the shard */
    gb_padding padding; /* rows that this rank computed */
} gb_shard_written;
/* Write the vectors of a shard as a folder of gb_vector_set: vectors.npy, ids.txt, and vectors.json
 * by which shards are put together. journal: see gb_vector_file. */
bool gb_retriever_write_shard(const gb_retriever *retriever, const gb_shard *shard,
                              const char *folder, const char *journal, gb_shard_written *written,
                              gb_status *status);

/* Print what encoding a collection takes, as NAME=NUMBER words for scripts: passages, queries of
 * the split (NULL: of all splits of gb_splits_open), the mean arithmetic of one of each, and the
 * width of a vector. `collection` is an artifact; of params only model and tokens are read. */
bool gb_print_encoding_cost(const gb_retriever_params *params, const char *collection,
                            const char *split, FILE *out, gb_status *status);

/* The retriever of a command that makes an artifact, with that command's device, ranks and pooling,
 * and the passages indexed in files of its resume folder whose names start with `name`: a killed
 * command goes on there. */
gb_retriever *gb_retriever_of(gb_maker *maker, const char *model, const char *tokens,
                              const char *name, gb_status *status);

/* What ranks the passages of a collection for its queries, by one of the two. */
typedef struct gb_ranker {
    const gb_collection *collection; /* searched */
    gb_bm25 *bm25;                   /* its index, or NULL */
    gb_retriever *retriever;         /* with its passages indexed, or NULL */
} gb_ranker;
/* For a command that makes an artifact: the retriever `model` with the artifact `tokens`, or BM25
 * where model is NULL. What it took goes into the command's facts. */
bool gb_ranker_open(gb_ranker *ranker, gb_maker *maker, const char *model, const char *tokens,
                    gb_status *status);
void gb_ranker_close(gb_ranker *ranker);
/* Append the best `depth` passages of queries of the collection, rows [count], to a run. */
bool gb_rank(const gb_ranker *ranker, const uint32_t *queries, uint32_t count, uint32_t depth,
             gb_run *run, gb_status *status);

/* ---- are contexts related to their passages? ---- */

/* related[i]: whether the context of pair i is strongly related to its passage. A mini world knows
 * (gb_synth_related); for any other collection BM25 judges: searched with the context, the passage
 * is among the first ten. *judge gets who judged, in a few words. */
bool gb_pairs_judge(const gb_collection *collection, const gb_pair *pairs, uint32_t count,
                    bool *related, const char **judge, gb_status *status);

#endif
