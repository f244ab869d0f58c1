/* An inverted index of impacts that is searched part by part. Private to the module. */
#ifndef RETRIEVE_IMPACTS_H
#define RETRIEVE_IMPACTS_H

#include "best.h"

/* Sparse vectors in a row: terms with their weights. */
typedef struct impacts_vectors {
    uint32_t *terms;      /* [count] */
    uint32_t *rows;       /* [count] which vector, from `first` on */
    float *weights;       /* [count] */
    size_t count;         /* in use */
    size_t capacities[3]; /* allocated, of each array */
    uint32_t first, end;  /* vectors [first, end) of all; one that is being added is `end` */
} impacts_vectors;

/* A search: first all queries are added, then retrieve_impacts_begin, then all passages, each ended
 * by retrieve_impacts_passage, then retrieve_impacts_end; retrieve_impacts_free in any case. Each
 * part of the passages is searched for all queries before the next is added; the best of all parts
 * remain. */
typedef struct impacts {
    uint32_t depth;           /* passages wanted of a query */
    uint64_t memory_bytes;    /* of the postings of a part */
    uint32_t term_count;      /* terms are numbers below this */
    impacts_vectors queries;  /* all */
    impacts_vectors part;     /* passages of this part */
    uint32_t *starts, *order; /* postings of the part by term */
    uint32_t *query_starts;   /* [queries + 1] */
    gb_hit *hits;             /* [queries, depth] best so far */
    uint32_t *found;          /* [queries] how many of them */
    uint32_t parts;           /* searched */
} impacts;

/* Adds a term, with a weight above 0, to the vector that is being added. */
bool retrieve_impacts_add(impacts_vectors *vectors, uint32_t term, float weight, gb_status *status);
/* All queries are there; term_count is settled. */
bool retrieve_impacts_begin(impacts *search, gb_status *status);
/* Ends a passage. */
bool retrieve_impacts_passage(impacts *search, gb_status *status);
/* Ends the passages: hits and found are those of all. */
bool retrieve_impacts_end(impacts *search, gb_status *status);
void retrieve_impacts_free(impacts *search);

#endif
