/* The parts of an import: one sink that all readers fill, and the readers of each layout. */
#ifndef GABBRO_DATA_IMPORT_H
#define GABBRO_DATA_IMPORT_H

#include "data/json.h"
#include "data/qrels.h"
#include <gabbro/data.h>

/* A collection being made in a draft folder. */
typedef struct gb_import {
    const gb_import_params *params;         /* as asked for, defaults filled in */
    gb_import_variant variant;              /* as asked for */
    char *dir;                              /* the draft folder */
    gb_row_writer *ids, *titles, *texts;    /* passages in the order read */
    gb_row_writer *query_ids, *query_texts; /* queries in the order read */
    gb_map *passage_map, *query_map;        /* external id -> row */
    uint32_t *document;                     /* document of each passage, [passages] */
    size_t document_space;                  /* capacity of document */
    uint32_t passages, queries;             /* rows so far */
    uint32_t documents;                     /* document numbers given so far */
    uint64_t titled;                        /* passages with a title */
    uint64_t empty_texts;                   /* passages without text */
    uint64_t empty_queries;                 /* queries without text */
    uint64_t repaired;                      /* titles and texts that repair_encoding changed */
    gb_text room;                           /* of a repaired title or text */
    gb_out *answers;                        /* answers.tsv, or NULL: none yet */
    gb_map *questions;                      /* split, tab, text -> number in the split, or NULL */
    uint32_t numbered[3];                   /* questions numbered in train, dev, test */
    gb_map *own_texts;                      /* title, tab, text -> number of a passage without id */
    gb_map *id_texts;                       /* kind, tab, id -> fingerprint of the text, or NULL */
    char *generated;       /* generated queries that the source brought, JSONL in dir, or NULL */
    uint32_t paragraphs;   /* that passages were cut from, where the layout has them */
    const char *kind;      /* layout of the source */
    const char *structure; /* where the documents come from */
    json_t *splits;        /* split -> its counts */
    json_t *files;         /* file name -> SHA-256 of what was read */
    json_t *notes;         /* sentences a report should print */
    char label[100];       /* of progress */
    gb_progress progress;  /* of the file being read, in KB */
    const gb_lines *shown; /* that file; never read from; NULL: none */
} gb_import;

/* ---- the sink (import.c). `lines` is the place named in messages. ---- */

/* Add a passage; refuses an id that is empty, has blanks or line ends, or was there before. */
bool data_import_passage(gb_import *import, const gb_lines *lines, const char *id,
                         const char *title, const char *text, uint32_t document, gb_status *status);
bool data_import_query(gb_import *import, const gb_lines *lines, const char *id, const char *text,
                       gb_status *status);
/* Answers of a query, at least one (tabs and line ends in them become blanks); once a query. */
bool data_import_answers(gb_import *import, const gb_lines *lines, const char *query_id,
                         const char *const *answers, size_t count, gb_status *status);
/* GB_DATA for an answer that should be a regular expression and is none. */
bool data_import_check_answer(const gb_import *import, const gb_lines *lines, const char *answer,
                              size_t length, gb_status *status);
/* To be called when a corpus is read: false when `path` held no passage. */
bool data_import_corpus_done(const gb_import *import, const char *path, gb_status *status);
/* Append a sentence to the notes of collection.json. */
void data_import_note(gb_import *import, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Append a text to out, with every run of characters that are bytes of UTF-8 taken for Latin-1
 * turned back ("Ã©" becomes "é"); whether there was one (repair.c). */
bool data_repair_utf8(const char *text, size_t length, gb_text *out);

/* ---- its files (import_files.c) ---- */

/* Open a source file and record its hash; its progress is shown by what is added of it. */
gb_lines *data_import_open(gb_import *import, const char *path, gb_status *status);
/* How far the file of a line that is added was read; nothing where lines is NULL. */
void data_import_show(gb_import *import, const gb_lines *lines);
/* After the last file: the end of its progress. */
void data_import_files_done(gb_import *import);
/* Does the name, but for .gz or .zst, end so? */
bool data_import_ends(const char *name, const char *end);
/* gb_entries_read of all names in a folder; one that is not there, or a file, has none. */
bool data_import_list(const char *folder, gb_entries *list, gb_status *status);

/* ---- judgements (import_qrels.c); after all queries and passages ---- */

/* Copy a file of judgements as qrels/<split>.tsv, checking ids, and count it. */
bool data_import_qrels(gb_import *import, const char *path, const char *split, gb_status *status);
/* What a split holds. */
typedef struct gb_qrels_counts {
    uint64_t judgements; /* written */
    uint64_t relevant;   /* of grade 1 and more */
    uint64_t skipped;    /* of unknown ids */
    uint64_t no_query;   /* of them those whose query is not known */
    uint64_t repeated;   /* said twice in the same words */
    uint32_t queries;    /* different queries */
    int32_t highest;     /* grade */
} gb_qrels_counts;
/* qrels/<split>.tsv with its header line written; and its counts for collection.json. */
gb_out *data_import_split_open(const gb_import *import, const char *split, gb_status *status);
void data_import_split_done(gb_import *import, const char *split, const gb_qrels_counts *counts);
/* The same one by one, for judgements that lie in other files: open, judge, and in any case close,
 * which counts and commits where `ok`, else gives up. */
typedef struct gb_import_judging {
    char *split;            /* name */
    gb_out *out;            /* qrels/<split>.tsv */
    gb_map *pairs;          /* grades, to find contradictions */
    gb_map *queries;        /* that have a judgement */
    gb_qrels_counts counts; /* so far */
    char unknown[120];      /* the first id that the collection does not have; "": none */
    const char *hint;       /* what to do about it */
} gb_import_judging;
bool data_import_judge_open(gb_import *import, const char *split, gb_import_judging *judging,
                            gb_status *status);
bool data_import_judge(gb_import *import, const gb_lines *lines, gb_import_judging *judging,
                       const gb_qrel_line *line, gb_status *status);
bool data_import_judge_close(gb_import *import, gb_import_judging *judging, bool ok,
                             gb_status *status);
/* Make a training split where there is none. */
bool data_import_make_train(gb_import *import, gb_status *status);

/* ---- readers of layouts ---- */

/* What a file looks like inside. */
typedef enum gb_file_kind {
    GB_FILE_OTHER,     /* nothing that is known */
    GB_FILE_CORPUS,    /* JSONL of passages: Tevatron, and what is named corpus.jsonl */
    GB_FILE_CONTENTS,  /* {"id", "contents"}: Pyserini */
    GB_FILE_DOCUMENTS, /* JSONL of documents */
    GB_FILE_TRAINING,  /* queries with positive and negative passages (training.h) */
    GB_FILE_DPR,       /* psgs_w100.tsv: id, text, title */
    GB_FILE_MSMARCO,   /* tab-separated passages */
    GB_FILE_SQUAD,     /* one object of articles, paragraphs, questions: SQuAD */
    GB_FILE_TREC,      /* <DOC> ... </DOC>: TREC's documents */
    GB_FILE_IDS,       /* ids of tokens (import_ids.c) */
} gb_file_kind;
/* By its name and its first object or line. */
bool data_import_kind(const char *path, gb_file_kind *kind, gb_status *status);

/* Archives (import_tar.c): known by their names; unpacked into a new folder. */
bool data_import_is_archive(const char *path);
/* Links in `to` to what lies in `from`, is no archive, and is not there yet. */
bool data_import_link_files(const char *from, const char *to, gb_status *status);
bool data_import_unarchive(const char *path, const char *folder, gb_status *status);

bool data_import_beir(gb_import *import, const char *folder, gb_status *status);
bool data_import_msmarco(gb_import *import, const char *path, gb_status *status);
/* queries.<split>.tsv, topics.<split>.tsv and qrels.<split>.tsv of a folder. */
bool data_import_msmarco_splits(gb_import *import, const char *folder, gb_status *status);
bool data_import_documents(gb_import *import, const char *path, gb_status *status);
bool data_import_trec(gb_import *import, const char *path, gb_status *status);
bool data_import_ids(gb_import *import, const char *path, gb_status *status);
bool data_import_is_ids(const json_t *object); /* such a line */
/* A file, or all such files of a folder. */
bool data_import_squad(gb_import *import, const char *path, gb_status *status);
bool data_import_rocketqa(gb_import *import, const char *folder, gb_status *status);
/* The passages of a JSONL corpus alone. */
bool data_import_corpus(gb_import *import, const char *path, gb_status *status);
/* A folder or file. */
bool data_import_pyserini(gb_import *import, const char *path, gb_status *status);
/* A folder with or without psgs_w100.tsv, or that file: then its questions and training files too.
 */
bool data_import_dpr(gb_import *import, const char *path, gb_status *status);
/* <split>_queries.jsonl and <split>_qrels.jsonl of a folder. *found: there were some. */
bool data_import_flag_splits(gb_import *import, const char *folder, bool *found, gb_status *status);
/* Split that a file's name speaks of: train (also where it says nothing), dev or test. */
typedef enum gb_named_split { GB_SPLIT_TRAIN, GB_SPLIT_DEV, GB_SPLIT_TEST } gb_named_split;
extern const char *const gb_split_names[3];
gb_named_split data_import_named_split(const char *name);
/* Whether the last part of a path has a word with no letter before or behind it: "test" is one of
 * "my-test2.json", not of "latest.json". */
bool data_import_has_word(const char *name, const char *word);
/* Id of a question that has none of its own, "<split>-<number>" in id[40]; *known: it was met
 * before. */
bool data_import_question(gb_import *import, gb_named_split split, const char *text, char id[40],
                          bool *known, gb_status *status);
/* GB_DATA where a query's id stood with another text before: files that number their queries anew
 * would have those of each other. */
bool data_import_same_query(gb_import *import, const gb_lines *lines, const char *id,
                            const char *text, gb_status *status);
/* Training files of a folder, or one file: their queries, their positives as judgements, and, where
 * no corpus was read, their passages. *found: there were some. */
bool data_import_training(gb_import *import, const char *path, bool *found, gb_status *status);
/* DPR's questions, <set>-<split>.qa.csv: those that are not known from training files yet become
 * questions without judgements. */
bool data_import_questions(gb_import *import, const char *folder, gb_status *status);
/* queries.jsonl and qrels/ of a BEIR folder. */
bool data_import_beir_queries(gb_import *import, const char *folder, gb_status *status);
/* Cuts texts into passages; zero-initialise but for the first three. */
typedef struct gb_import_cutter {
    gb_import *import;      /* that the spans go to */
    uint32_t words;         /* of a span: its sentences end behind so many */
    bool at_most;           /* it has at most so many words, or one sentence */
    gb_span *sentences;     /* of the current text; kept from text to text, as all below */
    size_t capacity;        /* allocated */
    gb_text span;           /* text of the current span */
    gb_text id;             /* its id */
    size_t *starts;         /* bytes of the text before each span, [spans], ascending */
    size_t starts_capacity; /* allocated */
    uint32_t spans;         /* that the last text gave */
} gb_import_cutter;
/* A cutter of long texts, by params->span_words. */
gb_import_cutter data_import_cutter_of(gb_import *import);
/* Passages "<id>-0", "<id>-1" and so on of whole sentences; none of a text without a sentence. */
bool data_import_cut_text(gb_import_cutter *cut, const gb_lines *lines, const char *id,
                          const char *title, const char *text, uint32_t document,
                          gb_status *status);
void data_import_cutter_free(gb_import_cutter *cut);
/* The passages of the stored collection at params->path, cut; no queries, no judgements. */
bool data_import_cut(gb_import *import, gb_status *status);
/* Give passages their documents by a documents.jsonl read after the corpus. */
bool data_import_structure(gb_import *import, const char *path, gb_status *status);
/* Bring documents' passages together and number documents in their order; after commit of the
 * passage tables. Writes passages.document.gbt. */
bool data_import_group(gb_import *import, gb_status *status);

/* ---- generated queries; both write generated.gbt; the passages' tables are complete ---- */

/* What was written. */
typedef struct gb_generated_counts {
    uint64_t queries; /* in all */
    uint32_t without; /* passages with none */
    uint32_t least;   /* fewest of a passage that has any */
    uint32_t most;    /* most of a passage */
} gb_generated_counts;
/* Another passage has so many. */
void data_generated_count(gb_generated_counts *counts, uint32_t queries);
/* Queries as docTTTTTquery gives them: a line a passage in the collection's order (several queries
 * of one line have tabs between them). A file, or a folder of predicted_queries_*.txt*: the parts
 * of a sample follow each other by name, and every sample adds its queries to those before. */
bool data_generated_is_lines(const char *path);
bool data_generated_lines(const char *folder, const char *path, uint32_t passages,
                          gb_generated_counts *counts, gb_status *status);
/* Into `folder`, from a JSONL file of {"id", "queries": [...]} or {"id", "query"} lines in any
 * order, or from the folder of gabbro generate that has one. passage_map gives the row of an id. */
#define GENERATED_FILE "queries.jsonl"
bool data_generated_read(const char *folder, const char *path, const gb_map *passages,
                         gb_generated_counts *counts, gb_status *status);
/* By the extractive generator, of the passages in folder, into out_folder. */
bool data_generated_extract(const char *folder, const char *out_folder, uint32_t per_passage,
                            uint64_t seed, gb_generated_counts *counts, gb_status *status);
/* Make queries and splits train and dev of generated queries, for a source that has none. */
bool data_import_hold_out(gb_import *import, gb_generated_counts *counts, gb_status *status);

/* ---- questions of people divided, for a source without a training split (divide.c) ---- */

/* What a question becomes. */
typedef enum gb_share {
    GB_SHARE_TRAIN,     /* a training query: half of them */
    GB_SHARE_GENERATED, /* a generated query: a quarter */
    GB_SHARE_DEV,       /* one that judges: a quarter */
} gb_share;
/* By the first hexadecimal digit of the SHA-256 of "<seed> <id>": 0 to 7 train, 8 to b generated, c
 * to f dev. */
bool data_share_of(uint64_t seed, const char *id, gb_share *share, gb_status *status);
/* A question in the place of a generated query. */
typedef struct gb_stand_in {
    const char *passage_id; /* external id of the passage that answers it */
    const char *text;       /* of the question */
    uint32_t passage;       /* row of that passage as it was read */
    uint32_t document;      /* its document */
    uint32_t number;        /* in the order read */
} gb_stand_in;
/* Zero-initialise; free with data_stand_ins_free. */
typedef struct gb_stand_ins {
    gb_stand_in *items; /* [count] */
    size_t count;       /* of questions */
    size_t capacity;    /* of items */
    gb_arena *texts;    /* holds their strings */
} gb_stand_ins;
bool data_stand_ins_add(gb_stand_ins *list, const gb_import *import, const char *passage_id,
                        const char *text, gb_status *status);
/* import->generated: every question for its passage, and for a seeded choice of the questions
 * another one that another passage answers, of the same document where there is one, so that 56.5%
 * of all are about their passage. Sorts the list. Nothing where the list is empty. */
bool data_stand_ins_write(gb_import *import, gb_stand_ins *list, gb_status *status);
void data_stand_ins_free(gb_stand_ins *list);

#endif
