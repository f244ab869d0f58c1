/* Lexical module: finds passages by the terms that they share with a query, in inverted indexes: by
 * BM25, or by weights of terms that a model gave (impacts). It needs no device. */
#ifndef GABBRO_LEXICAL_H
#define GABBRO_LEXICAL_H

#include <gabbro/artifact.h>
#include <gabbro/base.h>
#include <gabbro/eval.h>
#include <gabbro/options.h>
#include <gabbro/text.h>

/* ---- BM25 ---- */

/* Is called for each term of a text; returns false to stop. */
typedef bool gb_term_fn(void *ctx, const char *bytes, size_t length);
/* How texts become terms. The index and each searcher open a state of their own, which therefore
 * need not be thread-safe. */
typedef struct gb_term_source {
    const char *name;   /* for reports, e.g. "english" */
    const void *config; /* argument of open; must outlive the index */
    void *(*open)(const void *config, gb_status *status);
    void (*close)(void *state); /* NULL ok */
    bool (*terms)(void *state, const char *text, size_t length, gb_term_fn *term, void *ctx,
                  gb_status *status); /* false: it failed, or term() returned false */
} gb_term_source;
gb_term_source gb_terms_english(void);                         /* stemmed words, by gb_analyze */
gb_term_source gb_terms_tokens(const gb_tokenizer *tokenizer); /* token ids */

/* Pseudo-relevance feedback by RM3 (Abdul-Jaleel et al., TREC 2004; relevance models of Lavrenko
 * and Croft, SIGIR 2001), with the choices of Anserini's Rm3Reranker. The first search gives the
 * feedback passages d with their scores s(d). Of each, the `terms` most frequent terms count that
 * consist of 2 to 20 ASCII letters and digits and are in at most a tenth of all texts;
 * P(w | d) is the share of w in their occurrences. The `terms` largest of
 *   R(w) = sum over d of  s(d) P(w | d),
 * scaled to a sum of one, are mixed with the query of length |q|:
 *   weight(w) = original qtf(w) / |q| + (1 - original) R(w).
 * The second search takes these weights in the place of qtf. Of equal terms the one that the
 * collection has first is chosen. */
typedef struct gb_rm3 {
    uint32_t passages; /* feedback passages; 0: no feedback. Anserini: 10 */
    uint32_t terms;    /* terms of a passage, and of the model. Anserini: 10 */
    double original;   /* weight of the original query, 0 to 1. Anserini: 0.5 */
} gb_rm3;

/* Parameters of BM25. */
typedef struct gb_bm25_params {
    double k1;             /* default 0.9 */
    double b;              /* default 0.4 */
    gb_term_source source; /* default gb_terms_english() */
    gb_rm3 rm3;            /* default: no feedback. It keeps the terms of all texts: 8 bytes each */
} gb_bm25_params;
gb_bm25_params gb_bm25_defaults(void);

/* An inverted index in memory that scores like Lucene's BM25Similarity:
 *   sum over query terms of  qtf * idf * tf / (tf + k1 (1 - b + b length / mean length)),
 *   idf = ln(1 + (N - df + 0.5) / (df + 0.5)),
 * where length is rounded down to a one-byte float, and N and the mean are over texts with at least
 * one term. It takes about 6 bytes for each posting. */
typedef struct gb_bm25 gb_bm25;
/* Makes an empty index: add texts, then finish it. */
gb_bm25 *gb_bm25_create(gb_bm25_params params, gb_status *status);
/* Makes a finished index of "title text" of all passages of a collection, with the default
 * parameters. */
gb_bm25 *gb_bm25_of(const gb_collection *collection, gb_status *status);

/* How commands rank by BM25: what gb_bm25_options set. */
typedef struct gb_bm25_settings {
    double k1, b;          /* parameters of BM25 */
    uint32_t per_passage;  /* generated queries appended to a passage, the first ones; 0: none */
    uint32_t repetitions;  /* times that each of them is appended */
    const char *generated; /* artifact that has them; NULL: the collection's own */
    const char *weights; /* artifact with the words of passages and their frequencies, in the place
                            of the passages (DeepCT); NULL: the passages */
    const char *expansions; /* file of texts that are appended to queries (GAR); NULL: none */
    bool rm3;               /* search again with terms of the first passages */
    gb_rm3 feedback;        /* how, where rm3 is set */
} gb_bm25_settings;
#define GB_BM25_SETTINGS                                                                           \
    ((gb_bm25_settings){.k1 = 0.9, .b = 0.4, .repetitions = 1, .feedback = {10, 10, .5}})
extern const gb_option gb_bm25_options[]; /* of a gb_bm25_settings; keys of older artifacts hold */
/* Says whether all settings are as at the beginning. */
bool gb_bm25_settings_plain(const gb_bm25_settings *settings);
/* Whether the settings go together. GB_USAGE: they contradict each other. */
bool gb_bm25_settings_check(const gb_bm25_settings *settings, gb_status *status);
/* Opens the generated queries that the settings name, in the place of the collection's. GB_USAGE
 * for settings that contradict each other, GB_DATA where the collection has no generated queries.
 */
bool gb_bm25_settings_use(const gb_bm25_settings *settings, gb_collection *collection,
                          gb_status *status);
/* Parameters of BM25 that the settings ask for. */
gb_bm25_params gb_bm25_settings_params(const gb_bm25_settings *settings);
/* Appends the generated queries of a passage as the settings ask for (doc2query, Nogueira et al.,
 * 2019), each behind a blank. The collection may be NULL: it has none. */
void gb_bm25_settings_expand(const gb_bm25_settings *settings, const gb_collection *collection,
                             uint32_t passage, gb_text *text);
/* Makes a finished index of a collection by the settings. gb_bm25_settings_use comes before. */
gb_bm25 *gb_bm25_of_settings(const gb_collection *collection, const gb_bm25_settings *settings,
                             gb_status *status);
void gb_bm25_destroy(gb_bm25 *index);
/* Adds the next text; rows count from 0. */
bool gb_bm25_add(gb_bm25 *index, const char *text, size_t length, gb_status *status);
/* Adds a word of the next text, `count` times; gb_bm25_end_words ends the text. */
bool gb_bm25_add_words(gb_bm25 *index, const char *word, size_t length, uint32_t count,
                       gb_status *status);
bool gb_bm25_end_words(gb_bm25 *index, gb_status *status);
/* Builds the posting lists. Only then can the index be searched, and nothing more can be added. */
bool gb_bm25_finish(gb_bm25 *index, gb_status *status);
uint32_t gb_bm25_count(const gb_bm25 *index); /* number of texts */
uint32_t gb_bm25_terms(const gb_bm25 *index); /* number of different terms */
/* Memory in bytes that a finished index took while it was built, without its different terms. */
uint64_t gb_bm25_text_bytes(const gb_bm25 *index);

/* Scratch memory of one searching thread. Several searchers may share a finished index. */
typedef struct gb_bm25_searcher gb_bm25_searcher;
gb_bm25_searcher *gb_bm25_searcher_create(const gb_bm25 *index, gb_status *status);
void gb_bm25_searcher_destroy(gb_bm25_searcher *searcher);
/* Finds the best texts for a query, score descending, equal scores by row ascending; texts without
 * any query term are not given. *count is the number of hits wanted, for which hits has room, and
 * becomes the number found. */
bool gb_bm25_search(gb_bm25_searcher *searcher, const char *query, size_t length, gb_hit *hits,
                    uint32_t *count, gb_status *status);
/* Queries with texts appended. */
typedef struct gb_expansions gb_expansions;
/* Reads lines of JSON {"_id": "q1", "text": "..."}, each a text that is appended to that query
 * behind a blank, in the order of the lines (GAR, Mao et al., 2021); or those of gabbro generate,
 * from the folder of its artifact, for passages that are questions. names: ids of `count` queries,
 * whose texts `text` gives with ctx; what is given must outlive it. GB_DATA for an unknown query.
 */
gb_expansions *gb_expansions_read(const char *path, gb_names *names, uint32_t count,
                                  gb_query_fn *text, const void *ctx, gb_status *status);
void gb_expansions_destroy(gb_expansions *expansions); /* NULL ok */
const char *gb_expansions_text(const void *expansions, uint32_t query,
                               size_t *length); /* a gb_query_fn of them */
/* Queries to search for. */
typedef struct gb_bm25_queries {
    const uint32_t *rows; /* [count] query rows */
    size_t count;         /* queries */
    gb_query_fn *text;    /* gives the text of a row */
    const void *ctx;      /* its first argument */
    uint32_t depth;       /* passages wanted of each query */
    uint32_t threads;     /* threads that search; 0: one for each processor */
} gb_bm25_queries;
/* Searches for many queries and appends their lists to run, in the order given. The result does not
 * depend on the number of threads. GB_INTERRUPTED if a signal asks to stop. */
bool gb_bm25_run(const gb_bm25 *index, const gb_bm25_queries *queries, gb_run *run,
                 gb_status *status);

/* Convert lengths to Lucene's one-byte form and back (SmallFloat.intToByte4): 0..39 are exact,
 * above that the value is cut to four significant bits. */
uint8_t gb_length_to_byte(uint32_t length);
uint32_t gb_byte_to_length(uint8_t byte);

/* ---- BM25 over a folder of text ---- */

/* Which folder to search, and for what. */
typedef struct gb_bm25_folder_params {
    const char *folder;  /* a stored collection, its artifact, or a folder with corpus.jsonl[.gz] */
    const char *queries; /* file for gb_topics_read; NULL: those of the folder that are judged */
    const char *qrels;   /* file of judgements; NULL: qrels/SPLIT.tsv of the folder */
    const char *split;   /* NULL: none for given queries, else test, otherwise dev */
    const char *vocabulary; /* folder for gb_vocabulary_read, whose tokens are terms; NULL: words */
    gb_bm25_settings bm25;  /* how it is searched */
} gb_bm25_folder_params;

/* An index of the passages ("title text") of a folder, and queries to search for. */
typedef struct gb_bm25_folder {
    gb_bm25 *index;            /* index of all passages */
    gb_run_names names;        /* ids of passages, and of queries as in one of the two below */
    gb_expansions *expansions; /* texts appended to queries, or NULL */
    gb_query_fn *text;         /* gives the text of a query */
    const void *text_ctx;      /* its first argument */
    uint32_t texts;            /* queries that have a text: the first ones */
    bool all;                  /* are searched for, be they judged or not */
    char *split;               /* split of the judgements, or NULL */
    gb_qrels qrels;            /* judgements; empty if queries were given without any */
    double index_s;            /* seconds that indexing took */
    gb_collection *collection; /* the folder as a stored collection, or NULL */
    gb_names *stored_queries;  /* ids of its queries, or NULL */
    gb_topics topics;          /* queries of a file */
    gb_vocab *vocab;           /* of params.vocabulary, or NULL */
    gb_tokenizer *tokenizer;   /* its tokenizer */
} gb_bm25_folder;
/* Reads a folder and indexes it. Judgements of queries without a text and of passages that do not
 * exist are kept, with a warning. */
bool gb_bm25_folder_open(const gb_bm25_folder_params *params, gb_bm25_folder *folder,
                         gb_status *status);
void gb_bm25_folder_close(gb_bm25_folder *folder);
/* Searches for the judged queries that have a text, or for all if they were given. */
bool gb_bm25_folder_search(const gb_bm25_folder *folder, uint32_t depth, uint32_t threads,
                           gb_run *run, gb_status *status);

/* ---- exact search of sparse vectors ---- */

/* Sparse vectors in a row: terms with their weights. */
typedef struct gb_impacts_vectors {
    uint32_t *terms;      /* [count] */
    uint32_t *rows;       /* [count] which vector, from `first` on */
    float *weights;       /* [count] */
    size_t count;         /* in use */
    size_t capacities[3]; /* allocated, of each array */
    uint32_t first, end;  /* vectors [first, end) of all; one that is being added is `end` */
} gb_impacts_vectors;

/* A search: first all queries are added, then gb_impacts_begin, then all passages, each ended
 * by gb_impacts_passage, then gb_impacts_end; gb_impacts_free in any case. Each part of the
 * passages is searched for all queries before the next is added; the best of all parts remain. All
 * of them fail for want of memory, and the last two with GB_INTERRUPTED after a signal. */
typedef struct gb_impacts {
    uint32_t depth;             /* passages wanted of a query */
    uint64_t memory_bytes;      /* of the postings of a part */
    uint32_t term_count;        /* terms are numbers below this */
    gb_impacts_vectors queries; /* all */
    gb_impacts_vectors part;    /* passages of this part */
    uint32_t *starts, *order;   /* postings of the part by term */
    uint32_t *query_starts;     /* [queries + 1] */
    gb_hit *hits;               /* [queries, depth] best so far */
    uint32_t *found;            /* [queries] how many of them */
    uint32_t parts;             /* searched */
} gb_impacts;

/* Adds a term, with a weight above 0, to the vector that is being added. */
bool gb_impacts_add(gb_impacts_vectors *vectors, uint32_t term, float weight, gb_status *status);
/* All queries are there; term_count is settled. */
bool gb_impacts_begin(gb_impacts *search, gb_status *status);
/* Ends a passage. */
bool gb_impacts_passage(gb_impacts *search, gb_status *status);
/* Ends the passages: hits and found are those of all. */
bool gb_impacts_end(gb_impacts *search, gb_status *status);
void gb_impacts_free(gb_impacts *search);

/* Which sparse vectors to search, and how. */
typedef struct gb_impacts_params {
    const char *passages;  /* file of JSON lines {"id": "p1", "vector": {"term": weight}} */
    const char *queries;   /* another */
    uint32_t depth;        /* passages wanted of each query, at least 1 */
    uint64_t memory_bytes; /* of the postings that are held at once, 16 bytes each */
} gb_impacts_params;
/* Ranks the passages for every query by sum over terms of query weight * passage weight, from an
 * inverted index that is built in parts of memory_bytes; the result does not depend on the parts.
 * Score descending, equal scores by row ascending; a passage without a term of the query is not
 * given. Rows are those of the files; `names`, empty and growing, gets their ids, `parts` the
 * number of parts. GB_DATA, with file and line, for a weight below 0 or beyond float32, or an id
 * that comes twice. */
bool gb_impacts_search(const gb_impacts_params *params, const gb_run_names *names, gb_run *run,
                       uint32_t *parts, gb_status *status);

#endif
