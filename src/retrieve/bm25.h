/* Inside of the BM25 index, shared by building and searching. Private to the module. */
#ifndef RETRIEVE_BM25_H
#define RETRIEVE_BM25_H

#include <gabbro/retrieve.h>

/* One (term, text) pair while building; the texts' entries follow each other. */
typedef struct bm25_entry {
    uint32_t term;  /* number of the term */
    uint32_t count; /* occurrences in the text */
} bm25_entry;

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

    bm25_entry *log;          /* building: all entries, text after text */
    size_t log_count;         /* entries in use */
    size_t log_capacity;      /* entries allocated */
    uint32_t *distinct;       /* building: [text_count] entries of each text */
    size_t distinct_capacity; /* texts allocated */
    size_t *place;            /* building: [term_count] entry of the current text + 1, or older */
    size_t place_capacity;    /* terms allocated */

    size_t *starts;     /* finished: [term_count + 1] where the postings of a term start */
    uint32_t *texts;    /* finished: texts of all postings, ascending inside a term */
    uint16_t *counts;   /* finished: occurrences, at most 65535 */
    float inverse[256]; /* finished: 1 / (k1 (1 - b + b length / mean length)) by length byte */
};

#endif
