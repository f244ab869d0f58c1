/* Retrieve module: finds passages for queries, by BM25 or by the inner products of vectors. */
#ifndef GABBRO_RETRIEVE_H
#define GABBRO_RETRIEVE_H

#include <gabbro/base.h>
#include <gabbro/eval.h>
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
/* Search many queries with `threads` threads (0: as many as processors); the lists are appended to
 * run in the order given. Same result with any number of threads. Stops with GB_INTERRUPTED when a
 * signal asks for it. */
bool gb_bm25_run(const gb_bm25 *index, const uint32_t *queries, size_t count, gb_query_fn *text,
                 const void *ctx, uint32_t k, uint32_t threads, gb_run *run, gb_status *status);

/* Lucene's one-byte lengths (SmallFloat.intToByte4): 0..39 are kept exactly, above that the value
 * is cut to four significant bits. */
uint8_t gb_length_to_byte(uint32_t length);
uint32_t gb_byte_to_length(uint8_t byte);

/* ---- exact search of vectors ---- */

typedef struct gb_search_params {
    uint32_t k;             /* results wanted of each query */
    uint32_t query_block;   /* queries scored at once, rounded up to 64 or 512; 0: chosen */
    uint32_t passage_block; /* passages scored at once; 0: chosen */
    const char *label;      /* of the progress line; NULL: "search" */
    bool quiet;             /* no progress line */
} gb_search_params;

/* The k passages with the largest inner products of every query, in falling order; among equal
 * scores the lower row comes first, and NaN is below every number. rows, scores [queries * k] are
 * the caller's; where there are fewer than k passages, rows end with UINT32_MAX and scores with
 * -INFINITY. Products are float32 sums in an order that depends on the device's kernels alone, so
 * the result is the same for all block sizes, bit for bit.
 *
 * Memory beyond the results is bounded whatever the number of vectors: no operand and no block of
 * scores above 64 MiB and 32 MiB on the device, some 300 MiB together.
 *
 * Fails with GB_USAGE for vectors of different widths or wider than 16384, with GB_INTERRUPTED
 * after a signal, and with what `read` or the device say. */
bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, uint32_t *rows, float *scores, gb_status *status);
/* The same in pieces of `piece` passages; after each of them what was found is kept in the file
 * `resume` (NULL: nowhere), from which the next call with the same vectors goes on. The result does
 * not depend on the pieces. */
bool gb_search_pieces(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                      const gb_search_params *params, uint32_t piece, const char *resume,
                      uint32_t *rows, float *scores, gb_status *status);
/* How many queries share one reading of the passages. */
uint32_t gb_search_group(const gb_vectors *queries, const gb_vectors *passages,
                         const gb_search_params *params);
/* As gb_search_pieces of one process, to the bit: every rank reads and searches its part of the
 * passages, then all of them get the best of all. piece 0: each part in one piece. resume: of this
 * rank alone, or NULL. ranks NULL: alone. Beyond the results a rank needs 64 MiB for the exchange.
 */
bool gb_search_ranks(gb_ranks *ranks, gb_device *device, const gb_vectors *queries,
                     const gb_vectors *passages, const gb_search_params *params, uint32_t piece,
                     const char *resume, uint32_t *rows, float *scores, gb_status *status);

#endif
