/* Words of a collection and the sets of them that PROP asks a text about. */
#ifndef PRETRAIN_PROP_H
#define PRETRAIN_PROP_H

#include "contrast.h"

/* A word: where its ids stand, and in how many passages. */
typedef struct prop_word {
    uint32_t passage, start, length; /* ids [start, start + length) of the passage */
    uint32_t passages;               /* that have it */
} prop_word;

/* Whether the word of ids [start, end) is one that sets are made of. */
typedef bool prop_keeps(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end);

/* All words of a collection that sets are made of. */
typedef struct prop_words {
    prop_keeps *keeps;   /* which */
    gb_map *numbers;     /* ids of a word -> its number */
    prop_word *words;    /* [count] */
    uint32_t count;      /* different words */
    double *up_to;       /* [count] share of all (word, passage) pairs up to and with each word */
    double mean_length;  /* such words of a passage */
    uint32_t *starts;    /* scratch: of the words of a text */
    uint32_t *last_seen; /* [count] scratch: place + 1 in the last language with the word */
    size_t word_capacity, start_capacity; /* allocated */
} prop_words;
bool pretrain_prop_words_make(prop_words *words, prop_keeps *keeps, const gb_pretrain_data *data,
                              uint32_t max_length, gb_status *status);
void pretrain_prop_words_free(prop_words *words);

/* Starts of the words of a text in words->starts; *count gets their number. */
bool pretrain_prop_split(prop_words *words, const gb_pretrain_data *data, text_ids text,
                         uint32_t *count, gb_status *status);
/* Number of the word with these ids, or GB_MAP_NONE. */
uint32_t pretrain_prop_number_of(const prop_words *words, const uint32_t *ids, uint32_t length);

#define PROP_CANDIDATES 500 /* words that sets are drawn from */

/* The words of one text that sets are drawn from. */
typedef struct prop_language {
    uint32_t words[PROP_CANDIDATES];     /* numbers */
    uint32_t frequency[PROP_CANDIDATES]; /* in the text */
    double probability[PROP_CANDIDATES]; /* to be drawn */
    double worth[PROP_CANDIDATES];       /* what it adds to the score of a set */
    uint32_t count;                      /* candidates */
} prop_language;
/* Note a word, once more where it is there already (`own`: it stands in the text). Its place, or
 * UINT32_MAX where there are candidates enough. */
uint32_t pretrain_prop_meet(prop_words *words, prop_language *language, uint32_t word, bool own);
/* Candidates are the text's words and, up to PROP_CANDIDATES, others drawn by the share of passages
 * that have them; P(w) = (tf + mu p(w)) / (|d| + mu), mu the mean length (Dirichlet smoothing); a
 * word is worth log P(w).
 */
bool pretrain_prop_language_of(prop_words *words, const gb_pretrain_data *data, text_ids text,
                               gb_rng *rng, prop_language *language, gb_status *status);
/* `size` different candidates, each drawn with its probability among those left: their places
 * in the language. Returns the sum of what they are worth. */
double pretrain_prop_draw_set(const prop_language *language, uint32_t size, gb_rng *rng,
                              uint32_t *places);
/* From a Poisson distribution of mean 3, but not 0. */
uint32_t pretrain_prop_set_size(gb_rng *rng);

/* B-PROP: how much an encoder's [CLS] attends to the words of every passage. */
typedef struct prop_attention {
    float *weights;         /* shares of the words of each passage, in the order they first stand */
    uint64_t *first;        /* [passages + 1] first share of each passage */
    double *background;     /* [words] mean share of each word, normalised */
    size_t weight_capacity; /* allocated */
} prop_attention;
/* One pass over the collection with the parameters `values`, or, where device is NULL, with equal
 * attention to all tokens, for counting alone. words must keep
 * pretrain_prop_is_alphabetic. */
bool pretrain_prop_attention_measure(prop_attention *attention, prop_words *words,
                                     const gb_pretrain_data *data, const gb_bert *bert,
                                     uint32_t max_length, gb_device *device,
                                     const gb_params *params, const float *values,
                                     gb_status *status);
void pretrain_prop_attention_free(prop_attention *attention);
bool pretrain_prop_is_alphabetic(const gb_vocab *vocab, const uint32_t *ids, uint32_t start,
                                 uint32_t end);
/* Candidates are the passage's words: worth -p(w) log2 P(w), p the share of its attention, P the
 * background; drawn by the softmax of what they are worth. None for passages of fewer than 10. */
bool pretrain_prop_attention_language(const prop_attention *attention, prop_words *words,
                                      const gb_pretrain_data *data, uint32_t passage,
                                      uint32_t max_length, prop_language *language,
                                      gb_status *status);

#endif
