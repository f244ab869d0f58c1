/* Inside of the BM25 index, shared by building and searching. Private to the module. */
#ifndef LEXICAL_BM25_H
#define LEXICAL_BM25_H

#include "best.h"

/* One (term, text) pair while building; the texts' entries follow each other. */
typedef struct bm25_entry {
    uint32_t term;  /* number of the term */
    uint32_t count; /* occurrences in the text */
} bm25_entry;

/* A term of the query. */
typedef struct bm25_query_term {
    uint32_t term; /* number in the index */
    float weight;  /* occurrences in the query, or what feedback makes of them */
} bm25_query_term;

/* A term of a feedback passage or of the relevance model. */
typedef struct bm25_feedback_term {
    uint32_t term; /* number in the index */
    double weight; /* occurrences, or the sum over passages */
} bm25_feedback_term;

struct gb_bm25_searcher {
    const gb_bm25 *index;        /* searched */
    void *state;                 /* of the term source */
    lexical_scores scores;       /* of all texts */
    bm25_query_term *terms;      /* terms of the query that the index has, by first occurrence */
    size_t term_count;           /* terms in use */
    size_t term_capacity;        /* terms allocated */
    uint32_t length;             /* terms of the query, repeated and unknown ones included */
    bool failed;                 /* out of memory while collecting terms */
    gb_status *status;           /* of the current search */
    gb_hit *feedback;            /* [rm3.passages] best of the first search */
    bm25_feedback_term *passage; /* scratch: terms of a feedback passage */
    size_t passage_capacity;     /* terms allocated */
    bm25_feedback_term *model;   /* relevance model */
    size_t model_count;          /* its terms */
    size_t model_capacity;       /* terms allocated */
};

/* Puts the weights of RM3 in the place of the query's occurrences, from the searcher's first
 * `count` feedback passages. */
bool lexical_bm25_feedback(gb_bm25_searcher *searcher, uint32_t count, gb_status *status);
/* May feedback choose a term of these bytes? */
bool lexical_bm25_feedback_word(const char *bytes, size_t length);

/* Adds a collection's passages with what the settings append to them, or in their place the words
 * of settings->weights. Shows progress. */
bool lexical_add_collection(gb_bm25 *index, const gb_collection *collection,
                            const gb_bm25_settings *settings, gb_status *status);

struct gb_bm25 {
    gb_bm25_params params;  /* as created */
    void *state;            /* of params.source, for adding */
    gb_map *terms;          /* term -> number */
    uint32_t term_count;    /* different terms */
    uint32_t text_count;    /* texts added */
    uint32_t filled_texts;  /* texts with at least one term: Lucene's N */
    uint64_t total_length;  /* terms of all texts together */
    uint8_t *lengths;       /* [text_count] one-byte lengths */
    size_t length_capacity; /* bytes allocated */
    bool finished;          /* posting lists are built */
    uint64_t text_bytes;    /* finished: memory that grew with the texts, at its most */

    size_t text_first;        /* building: first entry of the text that is being added */
    uint64_t text_length;     /* building: its terms so far */
    bm25_entry *log;          /* building, and kept with feedback: all entries, text after text */
    size_t log_count;         /* entries in use */
    size_t log_capacity;      /* entries allocated */
    uint32_t *distinct;       /* building: [text_count] entries of each text */
    size_t distinct_capacity; /* texts allocated */
    size_t *place;            /* building: [term_count] entry of the current text + 1, or older */
    size_t place_capacity;    /* terms allocated */
    bool *words;              /* with feedback: [term_count] it may choose the term */
    size_t word_capacity;     /* terms allocated */

    size_t *first;      /* finished, with feedback: [text_count + 1] first entry of each text */
    size_t *starts;     /* finished: [term_count + 1] where the postings of a term start */
    uint32_t *texts;    /* finished: texts of all postings, ascending inside a term */
    uint16_t *counts;   /* finished: occurrences, at most 65535 */
    float inverse[256]; /* finished: 1 / (k1 (1 - b + b length / mean length)) by length byte */
};

#endif
