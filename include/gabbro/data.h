/* Data module: reads collections of passages and queries, and turns their texts into tokens. It
 * stands on base, rows, text and, for tokenizers of language models, folder. */
#ifndef GABBRO_DATA_H
#define GABBRO_DATA_H

#include <gabbro/base.h>
#include <gabbro/folder.h>
#include <gabbro/json.h>
#include <gabbro/rows.h>
#include <gabbro/text.h>

#include <stdio.h>

/* ---- collections ---- */

/* One judgement: the grade of a passage for a query. Both are row numbers of the collection. */
typedef struct gb_qrel {
    uint32_t query, passage;
    int32_t grade;
} gb_qrel;

/* Judgements of one split, sorted by (query, passage). The caller frees rows. */
typedef struct gb_qrels {
    gb_qrel *rows;
    size_t count;
} gb_qrels;

enum { GB_MOST_GRADE = INT16_MAX }; /* and its negative is the least */

/* One judgement as text. Zero-initialise it before the first line of a file. */
typedef struct gb_qrel_line {
    const char *query;   /* external id, in the line that it was parsed from, as the next one */
    const char *passage; /* external id */
    int32_t grade;       /* relevance */
    int fields;          /* that the lines of the file have, 3 or 4; 0: none was there */
} gb_qrel_line;
/* Takes apart the line that `lines` gave last: BEIR's (query-id, corpus-id, score), TREC's or MS
 * MARCO's (query, 0, passage, grade), parted by blanks or tabs. 1; 0 for an empty line, a comment
 * (#) and BEIR's header; -1 and GB_DATA for another line, or other fields than before. */
int gb_qrel_parse(const gb_lines *lines, char *line, gb_qrel_line *judgement, gb_status *status);

/* A collection as gb_collection_import or the mini world stores it. It is a folder with
 *   passages.id.gbt passages.title.gbt passages.text.gbt  row = passage
 *   passages.document.gbt  one row: the u32 document of each passage; the passages of a document
 *                          are contiguous
 *   queries.id.gbt queries.text.gbt  queries of all splits
 *   generated.gbt          optional; row = passage: its generated queries, each ended by '\n'
 *   qrels/<split>.tsv      query-id, corpus-id, score, with a header line
 *   answers.tsv            optional; query-id and its answers, separated by tabs
 *   collection.json        name, source, counts, title join, splits, generator of the queries,
 *                          notes */
typedef struct gb_collection {
    char *path;                 /* the folder */
    char *name;                 /* short name for reports */
    gb_row_file *passage_ids;   /* external ids */
    gb_row_file *titles;        /* may be empty strings */
    gb_row_file *texts;         /* passage texts */
    const uint32_t *document;   /* document number of each passage, [passages] */
    uint32_t passages;          /* number of passages */
    uint32_t documents;         /* number of documents */
    gb_row_file *query_ids;     /* external ids */
    gb_row_file *queries;       /* query texts */
    gb_row_file *generated;     /* generated queries, row = passage; or NULL */
    char *generator;            /* what generated them: "mini-world t5-like", "extractive", ... */
    char *splits;               /* names of qrels files, separated by spaces */
    bool regex_answers;         /* its answers are regular expressions */
    gb_row_file *document_rows; /* file that `document` points into */
} gb_collection;
/* Opens a collection. NULL and status on failure, GB_DATA for a damaged one. */
gb_collection *gb_collection_open(const char *path, gb_status *status);
void gb_collection_close(gb_collection *collection);
bool gb_collection_has_split(const gb_collection *collection, const char *split);
/* Gives the text of a query, not NUL-terminated; `collection` is a gb_collection. It is a
 * gb_query_fn, as gb_bm25_run needs it. */
const char *gb_collection_query(const void *collection, uint32_t query, size_t *length);
/* An id or text of a collection as a string of JSON; NULL on lack of memory. */
json_t *gb_text_json(const gb_row_file *texts, uint32_t row);
/* Reads the judgements of a split. An id that the collection does not have is an error that names
 * file and line. */
bool gb_collection_qrels(const gb_collection *collection, const char *split, gb_qrels *qrels,
                         gb_status *status);
/* Keeps, in place, what says that a passage is relevant, and of that the judgements of `most`
 * queries, drawn by seed (0: of all). Whoever trains on as many queries by the same seed has the
 * same ones. */
bool gb_qrels_sample(gb_qrels *qrels, uint32_t most, uint64_t seed, gb_status *status);
/* Appends a passage to out as the encoder sees it: "title text", or the text alone if there is no
 * title. */
void gb_collection_passage(const gb_collection *collection, uint32_t passage, gb_text *out);

/* How many passages have a certain flaw. */
typedef struct gb_finding {
    uint64_t count; /* passages that have it */
    uint32_t first; /* row of one of them */
} gb_finding;
/* What may be wrong with a collection although it could be read. */
typedef struct gb_check {
    uint64_t titles;          /* passages with a title */
    gb_finding empty;         /* passages without text */
    gb_finding equal;         /* passages with the text of an earlier one */
    gb_finding encoded_twice; /* passages with UTF-8 that was taken for Latin-1 and encoded again,
                                 as in "Ã©" */
    gb_finding replaced;      /* passages with U+FFFD: bytes were lost before */
    gb_finding control;       /* passages with control characters other than tab and line ends */
    gb_finding identical;     /* see gb_collection_identical */
    gb_finding trained;       /* queries of train that another split has, too (first: of queries) */
} gb_check;
/* Looks for passages that are queries of the collection too: of the same id, where one of both
 * texts begins with the other one. A ranking has such a passage at its top (ArguAna, Quora). */
bool gb_collection_identical(const gb_collection *collection, gb_finding *identical,
                             gb_status *status);
/* Looks for such passages. */
bool gb_collection_check(const gb_collection *collection, gb_check *check, gb_status *status);

/* Where texts of a collection are looked for. */
typedef struct gb_duplicates_params {
    const gb_collection *a; /* whose texts */
    const gb_collection *b; /* where; the same as a: splits of a are compared with one another */
    double similarity;      /* least share of the runs of words that both texts have, of those that
                               either has, of texts that are near; 0 to 1 */
    FILE *out;              /* gets the table */
} gb_duplicates_params;
/* Prints for the queries of each split and for the passages of A how many are in B: equal byte by
 * byte; plain, equal but for case, accents and punctuation; near, with enough common runs of three
 * words (of two in queries); a text is counted where it is most alike. Said: queries of five words
 * or more whose words follow each other in a passage of B. *texts is the sum. Takes about 300 bytes
 * of memory for each text of a set of B. */
bool gb_duplicates_find(const gb_duplicates_params *params, uint64_t *texts, gb_status *status);

/* Writes a small part of a collection as a BEIR folder (with documents.jsonl where a document has
 * several passages): all judged queries with their answers, all judged passages, and `others` more
 * passages that the seed chooses. All splits stay whole. The folder appears at once; an earlier
 * slice there is replaced, and any other folder that is not empty is refused. */
bool gb_collection_slice(const gb_collection *collection, uint32_t others, uint64_t seed,
                         const char *out_dir, gb_status *status);

/* How much of a collection gb_collection_show prints. */
typedef struct gb_collection_sample {
    uint32_t documents; /* documents, evenly spread over the collection, or over those with
                           questions where they suffice */
    uint32_t queries;   /* generated queries of a passage, from the first */
    uint32_t topics;    /* queries of every split with several grades */
} gb_collection_sample;
#define GB_COLLECTION_SAMPLE ((gb_collection_sample){.documents = 10, .queries = 5, .topics = 2})
/* Prints a sample of a collection as Markdown, for people. First come documents: their passages,
 * the queries that each passage answers (in a split with several grades, those that judge it 2 or
 * higher), and its generated queries. Then come queries of the splits with several grades, and the
 * passages that were judged for them. */
bool gb_collection_show(const gb_collection *collection, const gb_collection_sample *how, FILE *out,
                        gb_status *status);

/* What to import. The layout is recognised by what lies at `path`: a BEIR folder
 * (corpus.jsonl[.gz]), a folder or file of MS MARCO's TSV (collection.tsv[.gz]), or a JSONL file of
 * documents ({"id","title","passages":[{"id","text"}]} or {"id","title","text"}; texts without
 * passages are cut into spans of whole sentences). If a BEIR folder has a documents.jsonl beside
 * its corpus, it says which document each passage belongs to. */
typedef struct gb_import_params {
    const char *path;             /* what to read */
    const char *queries;          /* JSONL of generated queries; NULL: the extractive generator */
    uint32_t queries_per_passage; /* queries wanted from the extractive generator; default 5 */
    uint32_t span_words;          /* length of a span that is cut from a long text: it ends with the
                                     first sentence behind so many words (0: 100). For a paragraph
                                     of SQuAD: most words of a span (0: 45) */
    uint64_t seed;                /* seed of the splits that are made here; default 42 */
    const gb_vocab *vocab;        /* of files that have ids of tokens; NULL: they are refused */
    bool skip_unknown_qrels;      /* count and skip judgements of unknown ids instead of failing */
    bool keep_splits;             /* make no queries and no training split where there are none */
} gb_import_params;
#define GB_IMPORT_DEFAULTS ((gb_import_params){.queries_per_passage = 5, .seed = 42})
/* Imports a collection and writes it to out_dir, at once and only if all went well. An existing
 * collection there is replaced, and any other folder that is not empty is refused.
 *
 * Unless keep_splits is set, a missing training split is made. If there are queries, a seeded half
 * of those of dev (otherwise of test, otherwise of the first split) becomes `train` and the other
 * half `dev`; a halved test also stays whole beside them. The questions of SQuAD's dev are divided
 * by a hash of their ids: half become `train`, a quarter generated queries, a quarter `dev`. If
 * there are no queries at all, each passage with two or more generated queries gives one of them
 * away, which becomes a query with that passage as its only relevant one: in `dev` for the passages
 * of a seeded fifth of the documents, otherwise in `train`. collection.json notes what was done. */
bool gb_collection_import(const gb_import_params *params, const char *out_dir, gb_status *status);
/* Makes an empty folder beside `target`, which the caller fills and then gives to
 * gb_draft_end. It refuses a `target` that is not empty and has no file `mark`, so that
 * nobody's work is deleted. NULL and status on failure. */
char *gb_draft_create(const char *target, const char *mark, gb_status *status);

/* ---- generated queries beside a collection ---- */

/* Something that knows what the passages of a collection state (gabbro/synth.h has one). */
typedef struct gb_query_oracle {
    void *ctx; /* first argument of both functions */
    /* Says whether a query is about its passage. */
    bool (*is_about)(const void *ctx, uint32_t passage, const char *query, size_t length);
    /* Writes generated.gbt into dir by a generator of its own; per_passage 0: its default. *known
     * is false, and nothing is written, where it has none of that name. */
    bool (*write)(void *ctx, const char *generator, uint32_t per_passage, const char *dir,
                  bool *known, gb_status *status);
} gb_query_oracle;
/* Where the generated queries of a collection come from: either `generator` or `from` is given. */
typedef struct gb_queries_params {
    const char *generator; /* extractive, or one of the oracle's: world-t5, world-3b, world-7b,
                              world-13b (src/synth/generated.c); or NULL */
    const char *from;      /* JSONL of {"id", "queries": [...]} or {"id", "query"}; or NULL */
    const char *writer;    /* generator that wrote the file, for queries.json; NULL: file name */
    uint32_t per_passage;  /* queries kept of each passage; 0: as many as the source gives */
    uint32_t passages;     /* passages that get queries, chosen by seed; 0: all */
    uint64_t seed;         /* seed of that choice and of the extractive generator; default 42 */
    const gb_query_oracle *oracle; /* what knows the passages, or NULL */
} gb_queries_params;
#define GB_QUERIES_DEFAULTS ((gb_queries_params){.seed = 42})
/* Makes the generated queries of a collection. It writes out_dir/generated.gbt (one row a passage,
 * as in a collection; empty for passages that were not chosen) and queries.json (generator, counts,
 * and with an oracle the share of queries that are about their passage). If the number of passages
 * grows, the chosen ones stay chosen. out_dir must exist; a failure leaves useless files in it. */
bool gb_queries_make(const gb_collection *collection, const gb_queries_params *params,
                     const char *out_dir, gb_status *status);
/* A row of generated.gbt holds the queries of a passage, each ended by '\n'. These functions count
 * them, give query `which` (below the count) and its size, and say whether it has a query. */
uint32_t gb_generated_row_count(const char *row, size_t length);
const char *gb_generated_row_query(const char *row, size_t length, uint32_t which, size_t *size);
bool gb_generated_row_has(const char *row, size_t length, const char *query, size_t size);
/* Replaces the generated queries of an open collection by those of such a folder, until the
 * collection is closed. Queries that were made for another collection are refused. */
bool gb_collection_use_queries(gb_collection *collection, const char *dir, gb_status *status);

/* ---- pairs of a passage and its context ---- */

/* What the context of a pair is: another passage of its document, or a generated query. */
typedef enum gb_pair_kind { GB_PAIR_SPAN, GB_PAIR_QUERY } gb_pair_kind;
/* A passage and its context. */
typedef struct gb_pair {
    uint32_t passage; /* row */
    uint32_t other;   /* row of the context; GB_MAP_NONE if it is a generated query */
    const char *text; /* text of the context; it belongs to the collection */
    size_t length;    /* bytes of text */
} gb_pair;
/* Draws pairs [count] as contextual pre-training draws them: a random passage, and another passage
 * of its document or one of its generated queries. GB_DATA if hardly any passage has a context. */
bool gb_pairs_draw(const gb_collection *collection, gb_pair_kind kind, uint64_t seed,
                   uint32_t count, gb_pair *pairs, gb_status *status);

/* ---- tokenised collections ---- */

/* What stands between title and text of a passage that has a title. */
typedef enum gb_title_join {
    GB_TITLE_SPACE, /* a blank */
    GB_TITLE_SEP,   /* the separator token, as in a pair of texts (DPR, RocketQA) */
    GB_TITLE_NONE,  /* there is no title before the text */
} gb_title_join;
extern const char *const gb_title_join_names[]; /* words of them, ended by NULL */

/* How texts become rows of ids. */
typedef struct gb_tokenize_params {
    uint32_t max_passage, max_query; /* tokens, [CLS] and [SEP] included */
    const char *query_prompt,
        *passage_prompt; /* text before every query (also a generated one), and before title and
                            text of a passage; NULL: nothing */
    gb_title_join title_join; /* of passages */
} gb_tokenize_params;
/* Tokenises a collection, so that training and encoding need not do it again. It writes
 * passages.ids.gbt, queries.ids.gbt and generated.ids.gbt (row = passage; queries separated by the
 * id of [SEP]) into out_dir. Rows hold ids without special tokens, at most max_passage - 2 for a
 * passage and max_query - 2 for a query. The shares of truncated texts and of [UNK] are printed.
 * The result does not depend on the number of threads. */
bool gb_collection_tokenize(const gb_collection *collection, const gb_tokenizer *tokenizer,
                            const gb_vocab *vocab, const gb_tokenize_params *params,
                            const char *out_dir, gb_status *status);

/* The same by the tokenizer of a LLaMA: lengths count what it puts around a text (gb_coder_around),
 * and its end token takes the place of [SEP]. Titles cannot be joined by it. */
bool gb_collection_tokenize_language(const gb_collection *collection, const gb_coder *coder,
                                     const gb_tokenize_params *params, const char *out_dir,
                                     gb_status *status);

/* The files of a tokenised collection, and how it was made (tokens.json). Close with
 * gb_tokens_close. */
typedef struct gb_tokens {
    gb_row_file *passages;           /* u32 ids */
    gb_row_file *queries;            /* u32 ids */
    gb_row_file *generated;          /* u32 ids, [SEP] between queries; NULL if the collection has
                                     none */
    uint32_t max_passage, max_query; /* tokens of a text at most, [CLS] and [SEP] included */
    char vocabulary[GB_HASH_SIZE];   /* gb_vocab_hash of the vocabulary */
    char *query_prompt;              /* put before every query, perhaps "", or NULL: not said */
    char *passage_prompt;            /* the same of passages */
} gb_tokens;
/* Opens a tokenised collection. Fails with GB_DATA where its tokens.json does not say how it was
 * made. */
bool gb_tokens_open(const char *dir, gb_tokens *tokens, gb_status *status);
void gb_tokens_close(gb_tokens *tokens); /* also of zeros */
/* Refuses, with GB_DATA, texts of up to `length` tokens for the model in `path` with fewer
 * positions. model: "model", "generator"; text: "passage", "query". */
bool gb_tokens_fit(const char *path, const char *model, uint32_t positions, const char *text,
                   uint32_t length, gb_status *status);
/* Gives generated query `which` (from 0) of a passage: *ids [*length], in the mapped file. `sep` is
 * the id of [SEP]. False if the passage has fewer queries. */
bool gb_tokens_generated(const gb_tokens *tokens, uint32_t sep, uint32_t passage, uint32_t which,
                         const uint32_t **ids, size_t *length);
/* Counts the generated queries of a passage. */
uint32_t gb_tokens_generated_count(const gb_tokens *tokens, uint32_t sep, uint32_t passage);

/* ---- layouts of other kits (docs/reference/formats.md lists them) ---- */

/* What to change in a collection while it is imported; collection.json notes it. */
typedef struct gb_import_variant {
    bool drop_titles;     /* import passages without their titles */
    bool repair_encoding; /* decode text that was encoded twice */
    bool cut;             /* cut the stored collection at params->path into spans, no queries */
    bool regex_answers;   /* answers are regular expressions (gb_regex), of which none is wrong */
} gb_import_variant;
/* Imports a variant, otherwise like gb_collection_import. params->path may be any layout of
 * docs/reference/formats.md, and params->queries may also have the lines of docTTTTTquery. */
bool gb_collection_import_as(const gb_import_params *params, const gb_import_variant *variant,
                             const char *out_dir, gb_status *status);

/* Lists the queries of a split: those that `qrels` (of the split) judges, and those of the
 * collection's file questions/<split>.txt (one id a line), which have only answers. *queries gets
 * their rows [*count], ascending and without repeats; the caller frees it. */
bool gb_collection_split_queries(const gb_collection *collection, const char *split,
                                 const gb_qrels *qrels, uint32_t **queries, uint32_t *count,
                                 gb_status *status);

/* Which negatives to read from a file. */
typedef struct gb_negatives_params {
    const char *path;   /* training file, triples or mined negatives (src/data/training.h) */
    uint32_t per_query; /* most negatives of a query, a seeded sample of its own; 0: all */
    uint64_t seed;      /* seed of that sample */
    bool skip_unknown;  /* leave out queries and passages that the collection does not have */
} gb_negatives_params;
/* The passages that a file names as negatives of the collection's queries. */
typedef struct gb_negatives gb_negatives;
/* Reads them. Queries and passages are found by their ids, or by their texts if the file has no
 * ids. NULL and GB_DATA for unknown ones unless skip_unknown is set. */
gb_negatives *gb_negatives_read(const gb_collection *collection, const gb_negatives_params *params,
                                gb_status *status);
void gb_negatives_destroy(gb_negatives *negatives); /* NULL ok */
/* Rows of the negatives of a query [*count], in the order of the file; *count may be 0. */
const uint32_t *gb_negatives_of(const gb_negatives *negatives, uint32_t query, uint32_t *count);
uint64_t gb_negatives_skipped(const gb_negatives *negatives); /* unknown queries, passages */

/* A teacher's score of a passage for a query. */
typedef struct gb_scored_pair {
    uint32_t query, passage; /* rows of the collection */
    double score;            /* the larger the better */
} gb_scored_pair;
/* Scores that a file has. Zero-initialise it; free(pairs). */
typedef struct gb_scored_pairs {
    gb_scored_pair *pairs; /* [count] by query, of a query by falling score, no pair twice */
    size_t count;          /* in use */
    size_t capacity;       /* allocated */
    uint64_t skipped;      /* unknown queries and passages */
    uint64_t unscored;     /* passages that the file names without a score */
} gb_scored_pairs;
/* Reads the scores of a training file (src/data/training.h) or of lines of ids and scores; found as
 * by gb_negatives_read. Of several scores of a pair the last one holds. GB_DATA for unknown queries
 * and passages unless skip_unknown is set, and for a file without a score. */
bool gb_scored_pairs_read(const gb_collection *collection, const char *path, bool skip_unknown,
                          gb_scored_pairs *pairs, gb_status *status);

#endif
