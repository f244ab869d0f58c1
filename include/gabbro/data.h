/* Data module: collections of passages and queries, their readers, and their tokens. Stands on
 * base, rows and text. */
#ifndef GABBRO_DATA_H
#define GABBRO_DATA_H

#include <gabbro/base.h>
#include <gabbro/rows.h>
#include <gabbro/text.h>

#include <stdio.h>

/* ---- collections -------------------------------------------------------------------------- */

/* One judgement; query and passage are row numbers of the collection's tables. */
typedef struct gb_qrel {
    uint32_t query, passage;
    int32_t grade;
} gb_qrel;

/* Judgements of one split, sorted by (query, passage). Owned: free(rows). */
typedef struct gb_qrels {
    gb_qrel *rows;
    size_t count;
} gb_qrels;

/* A collection as stored by gb_collection_import or the mini world: a folder with
 *   passages.id.gbt passages.title.gbt passages.text.gbt   (row = passage)
 *   passages.document.gbt                                  (one row: u32 document of each passage,
 *                                                           passages of a document are contiguous)
 *   queries.id.gbt queries.text.gbt                        (all splits together)
 *   generated.gbt                                          (optional; row = passage; its generated
 *                                                           queries, each ended by '\n')
 *   qrels/<split>.tsv                                      (query-id, corpus-id, score; header)
 *   answers.tsv                                            (optional; query-id, answers; tabs)
 *   collection.json                                        (name, source, counts, title join,
 *                                                           splits, generator of the queries,
 * notes) */
typedef struct gb_collection {
    char *path;               /* the folder */
    char *name;               /* short name for reports */
    gb_table *passage_ids;    /* external ids */
    gb_table *titles;         /* may be empty strings */
    gb_table *texts;          /* passage texts */
    const uint32_t *document; /* document number of each passage, [passages] */
    uint32_t passages;        /* number of passages */
    uint32_t documents;       /* number of documents */
    gb_table *query_ids;      /* external ids */
    gb_table *queries;        /* query texts */
    gb_table *generated;      /* generated queries, or NULL */
    char *generator;          /* who generated them: "mini-world t5-like", "extractive", ... */
    char *splits;             /* space separated names of qrels files */
    gb_table *document_rows;  /* backing of `document` */
} gb_collection;
gb_collection *gb_collection_open(const char *path, gb_status *status);
void gb_collection_close(gb_collection *collection);
bool gb_collection_has_split(const gb_collection *collection, const char *split);
/* The text of a query of a gb_collection: what gb_bm25_run asks for. Not NUL-terminated. */
const char *gb_collection_query(const void *collection, uint32_t query, size_t *length);
/* Judgements of a split. An id that the collection does not have is an error naming file:line. */
bool gb_collection_qrels(const gb_collection *collection, const char *split, gb_qrels *qrels,
                         gb_status *status);
/* Title and text as the encoder sees them: "title text", or the text alone without a title.
 * Appended to out. */
void gb_collection_passage(const gb_collection *collection, uint32_t passage, gb_text *out);

/* Passages that something is odd with. */
typedef struct gb_finding {
    uint64_t count; /* how many */
    uint32_t first; /* row of one of them */
} gb_finding;
/* What may be wrong with the passages of a collection although it could be read. */
typedef struct gb_check {
    uint64_t titles;          /* passages that have one */
    gb_finding empty;         /* without text */
    gb_finding equal;         /* with the text of an earlier one */
    gb_finding encoded_twice; /* UTF-8 taken for Latin-1 and encoded again, as in "Ã©" */
    gb_finding replaced;      /* with U+FFFD: bytes were lost before */
    gb_finding control;       /* with control characters other than tab and line ends */
} gb_check;
bool gb_collection_check(const gb_collection *collection, gb_check *check, gb_status *status);

/* Write a part as a BEIR folder (with documents.jsonl where a document has several passages):
 * judged queries, judged passages, and `others` more, chosen by the seed; all splits stay whole.
 * Appears at once; an existing BEIR folder there is replaced, any other non-empty folder refused.
 */
bool gb_collection_slice(const gb_collection *collection, uint32_t others, uint64_t seed,
                         const char *out_dir, gb_status *status);

/* What gb_collection_show prints of a collection, in numbers. */
typedef struct gb_collection_sample {
    uint32_t documents; /* evenly spread over the collection */
    uint32_t queries;   /* generated ones of a passage, the first */
    uint32_t topics;    /* questions of a split with several grades */
} gb_collection_sample;
#define GB_COLLECTION_SAMPLE ((gb_collection_sample){.documents = 10, .queries = 5, .topics = 2})
/* Print documents as Markdown: passages, the questions that each answers (of a split with several
 * grades those of grade 2 and above) and its generated queries; then questions of the splits with
 * several grades and what was judged for them. */
bool gb_collection_show(const gb_collection *collection, const gb_collection_sample *how, FILE *out,
                        gb_status *status);

/* What to import. Kinds are told apart by what lies at `path`: a BEIR folder (corpus.jsonl[.gz]),
 * a folder or file of MS MARCO TSV (collection.tsv[.gz]), or a JSONL of documents
 * ({"id","title","passages":[{"id","text"}]} or {"id","title","text"}; texts without passages are
 * cut into spans of whole sentences). A BEIR folder with a documents.jsonl beside its corpus takes
 * the document structure from it. */
typedef struct gb_import_params {
    const char *path;             /* what to read */
    const char *queries;          /* generated queries JSONL, or NULL: the extractive generator */
    uint32_t queries_per_passage; /* wanted from the extractive generator; default 5 */
    uint32_t span_words;          /* of a span cut from a long text, where sentences end behind so
                                     many (0: 100), or from a paragraph of SQuAD, at most (0: 45) */
    uint64_t seed;                /* for splits made here; default 42 */
    bool skip_unknown_qrels;      /* count and skip judgements of unknown ids instead of failing */
    bool keep_splits;             /* make no queries and no training split where there are none */
} gb_import_params;
#define GB_IMPORT_DEFAULTS ((gb_import_params){.queries_per_passage = 5, .seed = 42})
/* Where the source has no training split and keep_splits is false, a seeded half of the queries of
 * dev (else of test, else of its first split) becomes `train` and the other half `dev`; where test
 * was halved it stays whole beside them. Questions of SQuAD's dev are divided by a hash of their
 * ids: half `train`, a quarter generated queries, a quarter `dev`. Where the source has no queries
 * at all, one generated query of each passage that has two or more leaves the generated ones and
 * becomes a query whose relevant passage it is: `dev` for the passages of a seeded fifth of the
 * documents, else `train`. collection.json notes what was done. Writes out_dir at once when all
 * went well; an existing collection there is replaced, any other non-empty folder refused. */
bool gb_collection_import(const gb_import_params *params, const char *out_dir, gb_status *status);
/* An empty folder beside `target`, to be filled and then given to gb_place_folder. Refuses a
 * `target` that exists, is not empty and has no file `mark` (so nobody's work is deleted). NULL and
 * status on failure; the caller frees the path. */
char *gb_draft_create(const char *target, const char *mark, gb_status *status);

/* ---- generated queries beside a collection ------------------------------------------------- */

/* One who knows what the passages of a collection state (gabbro/synth.h has one). */
typedef struct gb_query_oracle {
    void *ctx; /* passed on */
    /* Whether a query is about its passage. */
    bool (*is_about)(const void *ctx, uint32_t passage, const char *query, size_t length);
    /* Writes generated.gbt into dir by a generator of its own; per_passage 0: its default. *known
     * is false, and nothing is written, where it has none of that name. */
    bool (*write)(void *ctx, const char *generator, uint32_t per_passage, const char *dir,
                  bool *known, gb_status *status);
} gb_query_oracle;
/* Who writes queries for the passages of a collection. */
typedef struct gb_queries_params {
    const char *generator; /* extractive, or one of the oracle's: world-t5, world-3b, world-7b,
                              world-13b (src/synth/generated.c); or NULL */
    const char *from;      /* JSONL of {"id", "queries": [...]} or {"id", "query"}; or NULL */
    const char *writer;    /* who wrote the file, for queries.json; NULL: its name */
    uint32_t per_passage;  /* kept of each passage; 0: what the source gives */
    uint32_t passages;     /* give queries to so many passages, chosen by seed; 0: all */
    uint64_t seed;         /* of that choice and of the extractive generator; default 42 */
    const gb_query_oracle *oracle; /* or NULL */
} gb_queries_params;
#define GB_QUERIES_DEFAULTS ((gb_queries_params){.seed = 42})
/* Writes out_dir/generated.gbt (one row a passage, as in a collection; empty for passages that were
 * not chosen) and queries.json (generator, counts; with an oracle the share of queries that are
 * about their passage). With a growing number of passages the chosen ones
 * stay chosen. out_dir must exist; on failure what was written there is of no use. */
bool gb_queries_make(const gb_collection *collection, const gb_queries_params *params,
                     const char *out_dir, gb_status *status);
/* Rows of generated.gbt are queries, each ended by '\n'. How many there are, the one of a number
 * with its length, and whether a query is one of them. */
uint32_t gb_generated_row_count(const char *row, size_t length);
const char *gb_generated_row_query(const char *row, size_t length, uint32_t which, size_t *size);
bool gb_generated_row_has(const char *row, size_t length, const char *query, size_t size);
/* Put the queries of such a folder in the place of the collection's own until it is closed.
 * Refuses those of another collection. */
bool gb_collection_use_queries(gb_collection *collection, const char *dir, gb_status *status);

/* ---- pairs of a passage and its context ---------------------------------------------------- */

typedef enum gb_pair_kind { GB_PAIR_SPAN, GB_PAIR_QUERY } gb_pair_kind;
/* A passage and a context of it. */
typedef struct gb_pair {
    uint32_t passage; /* row */
    uint32_t other;   /* row of the context, or GB_MAP_NONE: a generated query */
    const char *text; /* of the context; the collection's */
    size_t length;    /* bytes of text */
} gb_pair;
/* Draw pairs as contextual pre-training meets them: a random passage, and another one of its
 * document or one of its generated queries. */
bool gb_pairs_draw(const gb_collection *collection, gb_pair_kind kind, uint64_t seed,
                   uint32_t count, gb_pair *pairs, gb_status *status);
/* ---- tokenised collections ----------------------------------------------------------------- */

/* How texts become rows of ids. */
typedef struct gb_tokenize_params {
    uint32_t max_passage, max_query; /* tokens, [CLS] and [SEP] included */
    const char *query_prompt,
        *passage_prompt; /* put before every query (generated ones too) and
                            before title and text of a passage; NULL: nothing */
} gb_tokenize_params;
/* passages.ids.gbt, queries.ids.gbt, generated.ids.gbt (row = passage; queries separated by the
 * [SEP] id) in out_dir; ids without specials, passages cut at max_passage - 2 and queries at
 * max_query - 2 ids. Prints share of truncated texts and of [UNK]. Uses threads; same result with
 * any number. */
bool gb_collection_tokenize(const gb_collection *collection, const gb_tokenizer *tokenizer,
                            const gb_vocab *vocab, const gb_tokenize_params *params,
                            const char *out_dir, gb_status *status);

typedef struct gb_tokens {
    gb_table *passages;  /* u32 ids */
    gb_table *queries;   /* u32 ids */
    gb_table *generated; /* u32 ids, [SEP] between queries; NULL if the collection has none */
} gb_tokens;
bool gb_tokens_open(const char *dir, gb_tokens *tokens, gb_status *status);
void gb_tokens_close(gb_tokens *tokens);
/* Queries of row `passage` of tokens->generated: calls for query number `which` (0-based);
 * false when there are fewer. */
bool gb_tokens_generated(const gb_tokens *tokens, uint32_t sep, uint32_t passage, uint32_t which,
                         const uint32_t **ids, size_t *length);
uint32_t gb_tokens_generated_count(const gb_tokens *tokens, uint32_t sep, uint32_t passage);

/* ---- layouts of other kits (docs/reference/formats.md lists them) ---- */

/* A variant of a collection, noted in collection.json. */
typedef struct gb_import_variant {
    bool drop_titles;     /* passages without their titles */
    bool repair_encoding; /* text that was encoded twice turned back */
    bool cut;             /* spans of the stored collection at params->path, nothing else of it */
} gb_import_variant;
/* gb_collection_import of a variant. params->path may be any layout of docs/reference/formats.md,
 * params->queries also docTTTTTquery's lines. */
bool gb_collection_import_as(const gb_import_params *params, const gb_import_variant *variant,
                             const char *out_dir, gb_status *status);

/* Queries of a split: those that `qrels` (of the split) judges, and those of questions/<split>.txt
 * of the collection (one id a line), which have answers alone. Rows, ascending and without repeats;
 * free(*queries). */
bool gb_collection_split_queries(const gb_collection *collection, const char *split,
                                 const gb_qrels *qrels, uint32_t **queries, uint32_t *count,
                                 gb_status *status);

typedef struct gb_negatives_params {
    const char *path;   /* training file, triples or mined negatives (src/data/training.h) */
    uint32_t per_query; /* a seeded sample of so many where there are more; 0: all */
    uint64_t seed;      /* of that sample */
    bool skip_unknown;  /* leave out queries and passages that the collection does not have */
} gb_negatives_params;
/* Passages that a file names as negatives of a collection's queries. */
typedef struct gb_negatives gb_negatives;
/* Queries and passages are found by their ids, or by their texts where the file gives none. */
gb_negatives *gb_negatives_read(const gb_collection *collection, const gb_negatives_params *params,
                                gb_status *status);
void gb_negatives_destroy(gb_negatives *negatives); /* NULL ok */
/* Rows of the negatives of a query, in the file's order; *count may be 0. */
const uint32_t *gb_negatives_of(const gb_negatives *negatives, uint32_t query, uint32_t *count);
uint64_t gb_negatives_skipped(const gb_negatives *negatives); /* unknown queries and passages */

#endif
