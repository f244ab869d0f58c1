/* Porter's stemmer (private to the text module). */
#ifndef GABBRO_TEXT_PORTER_H
#define GABBRO_TEXT_PORTER_H

#include <stddef.h>

/* Stem a lower-case word in place; returns its new length, never more than `length`. */
size_t text_porter_stem(char *word, size_t length);

#endif
