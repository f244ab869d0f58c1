/* Learning merges over a list of counted words (private to the text module). */
#ifndef GABBRO_TEXT_MERGES_H
#define GABBRO_TEXT_MERGES_H

#include "text/vocab.h"

typedef struct merges merges;
/* Merges join tokens of vocab, whose single characters are there already, and append new ones. */
merges *text_merges_create(gb_vocab *vocab, gb_status *status);
void text_merges_destroy(merges *m);
/* Add a word as the ids of its characters, seen `times` times. */
bool text_merges_add(merges *m, const uint32_t *ids, uint32_t length, uint64_t times,
                     gb_status *status);
/* Join the most frequent pair until vocab has `size` tokens or every pair left is rarer than
 * min_count. Ties go to the pair whose left, then right text is smaller by bytes. */
bool text_merges_learn(merges *m, uint32_t size, uint64_t min_count, gb_status *status);

#endif
