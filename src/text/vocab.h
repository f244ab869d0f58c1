/* The vocabulary's inside, for the loader and the trainer (private to the text module). */
#ifndef GABBRO_TEXT_VOCAB_H
#define GABBRO_TEXT_VOCAB_H

#include "gabbro/text.h"

extern const char *const special_names[GB_SPECIALS]; /* [PAD] [UNK] [CLS] [SEP] [MASK] */

/* Append a token under the next id; the caller has made sure that it is new. */
bool text_vocab_append(gb_vocab *vocab, const char *bytes, size_t length, gb_status *status);
size_t text_vocab_token_length(const gb_vocab *vocab, uint32_t id); /* bytes; id in range */
size_t text_vocab_longest(const gb_vocab *vocab);                   /* bytes of the longest token */
/* Find the special tokens of WordPiece by name, and look for them in texts; *missing gets the name
 * of one that is not there, or NULL. */
bool text_vocab_find_specials(gb_vocab *vocab, const char *const names[GB_SPECIALS],
                              const char **missing, gb_status *status);

/* A token that is looked for in texts. */
typedef struct vocab_added {
    size_t length;       /* bytes of its text */
    gb_added_token says; /* the rest; its text is the vocabulary's, or the tokenizer's */
} vocab_added;

/* Two tokens that byte pairs join. */
typedef struct vocab_merge {
    uint32_t left, right, joined; /* ids */
} vocab_merge;
const vocab_merge *text_vocab_merges(const gb_vocab *vocab, size_t *count);
double text_vocab_score(const gb_vocab *vocab, uint32_t id);
const unsigned char *text_vocab_charsmap(const gb_vocab *vocab, size_t *length); /* or NULL */

#endif
