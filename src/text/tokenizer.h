/* What the files of the tokenizer share (private to the text module). */
#ifndef GABBRO_TEXT_TOKENIZER_H
#define GABBRO_TEXT_TOKENIZER_H

#include "text/vocab.h"

struct gb_tokenizer {
    const gb_vocab *vocab;      /* not owned */
    gb_tokenizer_params params; /* of WordPiece, as given */
    gb_map *pairs;              /* byte pairs: two ids -> index of their merge; else NULL */
    uint32_t byte_ids[256];     /* byte pairs: token of each byte, or GB_MAP_NONE */
    double unknown_score;       /* unigrams: of a character without a token */
    vocab_added *added;         /* looked for in texts, the longest first */
    size_t added_count;         /* of them */
    bool any_normalized;        /* some of them in normalised text */
    gb_arena *arena;            /* normalised texts of them */
};

/* A place on the best path through a word. */
typedef struct path_node {
    double score;  /* of the path */
    uint32_t from; /* where its last token begins */
    uint32_t id;   /* of the last token */
    bool reached;  /* there is a path */
} path_node;
/* A token in a word, in a list of what is left. */
typedef struct pair_symbol {
    uint32_t id;         /* token; GB_MAP_NONE: joined to the one before */
    uint32_t prev, next; /* neighbours, or GB_MAP_NONE */
} pair_symbol;
/* Two neighbours that may be joined. */
typedef struct pair_candidate {
    uint32_t merge; /* index of it: the smaller, the earlier */
    uint32_t at;    /* the left one */
} pair_candidate;

/* State of one call of gb_tokenize. */
typedef struct token_job {
    const gb_tokenizer *tokenizer; /* whose */
    gb_ids *ids;                   /* where the ids go */
    gb_status *status;             /* for running out of memory */
    char *buffer;                  /* WordPiece: two spare bytes, then the word */
    size_t capacity;               /* bytes allocated */
    gb_text clean, normal, word;   /* text in UTF-8, normalised, and cut */
    gb_text scratch;               /* of a step of normalisation */
    bool first;                    /* nothing has been cut off the text yet */
    path_node *path;               /* unigrams: [bytes of the word + 1] */
    size_t path_capacity;          /* allocated */
    pair_symbol *symbols;          /* byte pairs: [bytes of the word] */
    size_t symbol_capacity;        /* allocated */
    pair_candidate *heap;          /* byte pairs: to be joined, the best first */
    size_t heap_count;             /* of them */
    size_t heap_capacity;          /* allocated */
} token_job;

static inline bool text_put_id(token_job *job, uint32_t id)
{
    return gb_ids_append(job->ids, id, job->status);
}

/* wordpiece.c: ids of one word; the context is the job. */
bool text_wordpiece(void *job, const char *bytes, size_t length);

/* byte_pairs.c: what the tokenizer keeps for it, and the ids of a stretch of text. */
bool text_byte_pairs_prepare(gb_tokenizer *tokenizer, gb_status *status);
bool text_byte_pairs(token_job *job, const char *text, size_t length);
/* The characters that GPT-2 spells bytes with; at most 2 bytes into out, whose number is returned.
 */
size_t text_byte_spelling(unsigned char byte, char out[4]);

/* unigram.c */
void text_unigram_prepare(gb_tokenizer *tokenizer);
bool text_unigram(token_job *job, const char *text, size_t length);

/* normalize.c: text as WordPiece normalises it, not cut into words yet, into job->normal. */
bool text_bert_normalize(token_job *job, const char *text, size_t length);

/* normal_steps.c: text by the steps of the vocabulary's rules, into job->normal. */
bool text_normal_steps(token_job *job, const char *text, size_t length);

/* charsmap.c: whether a table of sentencepiece's is sound, and text with its replacements,
 * appended.
 */
bool text_charsmap_check(const void *bytes, size_t length);
bool text_charsmap_apply(const unsigned char *map, size_t map_length, const char *text,
                         size_t length, gb_text *out, gb_status *status);

#endif
