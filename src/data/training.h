/* Training files: queries with their positive and negative passages, in the layouts that kits have.
 *
 * JSON objects, one a line or all in one array (plain, gzip or zstd):
 *   query      "query", "question", "anchor" or "query_text"; its id "query_id", "qid", "_id", "id"
 *   positives  "positive_passages", "positive_ctxs", "pos", "positive_document_ids", "positive"
 *   negatives  "negative_passages", "hard_negative_ctxs" (else "negative_ctxs"), "neg",
 *              "negative_document_ids", "negative", "negative_1", "negative_2", ...
 *   answers    "answers"
 * (Tevatron, DPR, FlagEmbedding, sentence-transformers). A passage is an object of "docid",
 * "passage_id", "psg_id", "pid", "id" or "_id", "title", "text"; or a text, or, where the query has
 * no text either, or as a number, an id. "neg" may be an object of lists, one a system. Scores of a
 * teacher: "score", "ce-score" or "ce_score" of a passage's object, or the lists "pos_scores" and
 * "neg_scores", or "teacher_scores" of all, positives first. Lines with tabs: query id, positive
 * id, negative id (MS MARCO's triples); query id, ids with commas between (coCondenser's); query,
 * positive, negative as texts; query id, positive id, negative id and the scores of both, or these
 * scores before the ids. */
#ifndef GABBRO_DATA_TRAINING_H
#define GABBRO_DATA_TRAINING_H

#include "data/json.h"
#include <gabbro/data.h>

/* A passage of an example; what the file does not say is NULL. */
typedef struct training_passage {
    const char *id;    /* external id */
    const char *title; /* may be empty */
    const char *text;  /* of the passage */
    double score;      /* a teacher's, or NAN */
} training_passage;

/* Growable list. */
typedef struct training_list {
    training_passage *items; /* passages in the file's order */
    size_t count;            /* in use */
    size_t capacity;         /* allocated */
} training_list;

/* One query of a training file; valid until the next one is read. */
typedef struct training_example {
    const char *query_id;    /* or NULL */
    const char *query;       /* text, or NULL */
    training_list positives; /* may be none */
    training_list negatives; /* may be none */
    const char **answers;    /* strings */
    size_t answer_count;     /* in use */
    size_t answer_capacity;  /* allocated */
} training_example;

typedef struct training_file training_file;
/* lines: the open file, which stays the caller's; path: the same, to look inside. */
training_file *data_training_open(gb_lines *lines, const char *path, gb_status *status);
/* 1: *example, 0: end, -1: error in status. */
int data_training_next(training_file *file, const training_example **example, gb_status *status);
void data_training_close(training_file *file); /* NULL ok */

/* Has the object the marks of an example? */
bool data_training_is_example(const json_t *object);

/* ---- rows of a collection (finder.c) ---- */

/* What ids and texts mean; the maps are made when first asked for. */
typedef struct data_finder {
    const gb_collection *collection; /* where to look */
    gb_map *query_ids, *query_texts; /* -> row */
    gb_map *passage_ids;             /* -> row */
    gb_map *passage_texts;           /* title, tab, text -> row */
} data_finder;
/* Row of the query or a passage of an example; GB_MAP_NONE where the collection has none. */
bool data_find_query(data_finder *finder, const training_example *example, uint32_t *row,
                     gb_status *status);
bool data_find_passage(data_finder *finder, const training_passage *passage, uint32_t *row,
                       gb_status *status);
void data_finder_free(data_finder *finder);

/* ---- tab-separated values with quotes (quoted.c) ---- */

/* Next record as Python's csv module reads it with tabs: a field that starts with a quote ends with
 * one, "" in it is a quote, line ends in it belong to it. Returns the number of fields (at most
 * `most`, the rest dropped), 0 at the end, -1 with status. The fields lie in room. */
int data_quoted_next(gb_lines *lines, gb_text *room, char **fields, int most, gb_status *status);
/* Strings of a list as Python writes it, ['a', "b"], in place: their number, or -1 where it is
 * none. Escapes \\ \' \" \n \t \r \xHH \uHHHH are understood. */
int data_python_strings(char *text, const char **strings, int most);

#endif
