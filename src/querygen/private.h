/* A generation being run. */
#ifndef QUERYGEN_PRIVATE_H
#define QUERYGEN_PRIVATE_H

#include "gabbro/querygen.h"

/* A passage of which some answers are there. */
typedef struct querygen_begun {
    uint32_t passage; /* row */
    uint32_t got;     /* answers so far */
    json_t *texts;    /* array of them, by number */
} querygen_begun;

struct gb_querygen {
    gb_querygen_params *params;    /* resolved; borrowed */
    gb_prompt_template prompt;     /* filled for every passage */
    char *folder;                  /* the model's */
    char *name;                    /* of the model's folder, where no other was given */
    char weights[GB_HASH_SIZE];    /* hash of the model's weights */
    gb_coder *coder;               /* its tokenizer */
    gb_collection *collection;     /* passages */
    gb_journal *journal;           /* passages of this shard that are done */
    gb_generator *generator;       /* on the device, or NULL */
    uint32_t first, end, next;     /* passages of this shard, and the next one to begin */
    uint32_t calls;                /* answers of a passage */
    querygen_begun *open;          /* passages between */
    size_t open_count, open_space; /* their number; capacity */
    gb_text text;                  /* scratch: a prompt */
    gb_ids ids;                    /* scratch: its tokens */
    uint64_t queries;              /* written */
    double start_s;                /* when the first text was asked for */
    gb_progress progress;          /* of the passages */
};
/* The model's folder and tokenizer, and the passages of the shard. */
bool querygen_open_inputs(gb_querygen *g, gb_status *status);
/* The tokens of a passage's prompt in g->ids. A long one loses the end of its passage. */
bool querygen_make_prompt(gb_querygen *g, uint32_t passage, gb_status *status);
/* queries.jsonl: all answers of the journal, in the order of the passages. */
bool querygen_write(gb_querygen *g, const char *path, gb_status *status);

/* ---- filtering, filter.c ---- */

typedef struct querygen_filter {
    gb_collection *collection; /* with the queries in place of its own */
    uint32_t *passages;        /* [count] of each query */
    bool *drop;                /* [count] */
    gb_filter_counts counts;   /* of them */
} querygen_filter;
/* A query of a row: bytes from `at` to its line end. */
size_t querygen_line_length(const char *row, size_t length, size_t at);
/* Scores what is left with a cross-encoder, and drops what scores low (filter_score.c). A killed
 * command goes on behind the last chunk. */
bool querygen_filter_by_score(querygen_filter *filter, const gb_filter_params *params,
                              gb_maker *maker, gb_status *status);

#endif
