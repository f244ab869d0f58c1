/* Words of a collection and the sets of them that PROP asks a text about. */
#ifndef PRETRAIN_PROP_H
#define PRETRAIN_PROP_H

#include "contrast.h"

/* A word: where its ids stand, and in how many passages. */
typedef struct prop_word {
    uint32_t passage, start, length; /* ids [start, start + length) of the passage */
    uint32_t passages;               /* that have it */
} prop_word;

/* All content words of a collection: no stop words, punctuation or specials. */
typedef struct prop_words {
    gb_map *numbers;     /* ids of a word -> its number */
    prop_word *words;    /* [count] */
    uint32_t count;      /* different words */
    double *up_to;       /* [count] share of all (word, passage) pairs up to and with each word */
    double mean_length;  /* content words of a passage */
    uint32_t *starts;    /* scratch: of the words of a text */
    uint32_t *last_seen; /* [count] scratch: place + 1 in the last language with the word */
    size_t word_capacity, start_capacity; /* allocated */
} prop_words;
bool prop_words_make(prop_words *words, const gb_pretrain_data *data, uint32_t longest,
                     gb_status *status);
void prop_words_free(prop_words *words);

#define PROP_CANDIDATES 500 /* words that sets are drawn from */

/* The words of one text and their likelihoods. */
typedef struct prop_language {
    uint32_t words[PROP_CANDIDATES];     /* numbers */
    uint32_t frequency[PROP_CANDIDATES]; /* in the text */
    double probability[PROP_CANDIDATES]; /* under its smoothed unigram model */
    uint32_t count;                      /* candidates */
} prop_language;
/* Candidates are the text's words and, up to PROP_CANDIDATES, others drawn by the share of passages
 * that have them; P(w) = (tf + mu p(w)) / (|d| + mu), mu the mean length (Dirichlet smoothing).
 */
bool prop_language_of(prop_words *words, const gb_pretrain_data *data, text_ids text, gb_rng *rng,
                      prop_language *language, gb_status *status);
/* `size` different candidates, each drawn with probability P among those left: their places in the
 * language. Returns the sum of log P. */
double prop_draw_set(const prop_language *language, uint32_t size, gb_rng *rng, uint32_t *places);
/* From a Poisson distribution of mean 3, but not 0. */
uint32_t prop_set_size(gb_rng *rng);

#endif
