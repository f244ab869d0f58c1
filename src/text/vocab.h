/* The vocabulary's inside, for the loader and the trainer (private to the text module). */
#ifndef GABBRO_TEXT_VOCAB_H
#define GABBRO_TEXT_VOCAB_H

#include "gabbro/text.h"

#define SPECIAL_COUNT 5
extern const char *const special_names[SPECIAL_COUNT]; /* [PAD] [UNK] [CLS] [SEP] [MASK] */

gb_vocab *text_vocab_create(gb_status *status);
/* Append a token under the next id; the caller has made sure that it is new. */
bool text_vocab_append(gb_vocab *vocab, const char *bytes, size_t length, gb_status *status);
size_t text_vocab_token_length(const gb_vocab *vocab, uint32_t id); /* bytes; id in range */
size_t text_vocab_longest(const gb_vocab *vocab);                   /* bytes of the longest token */
/* Find the special tokens by name; returns the name of a missing one, or NULL. */
const char *text_vocab_find_specials(gb_vocab *vocab);
uint32_t text_vocab_special(const gb_vocab *vocab, int which); /* id of special_names[which] */

#endif
