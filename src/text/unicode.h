/* Characters as BERT's clean-up sees them (private to the text module).
 *
 * Hugging Face's tokenizers takes general categories from a table of Unicode 8.0 and canonical
 * decompositions and combining classes from Unicode 9.0: a mark or punctuation encoded later is an
 * ordinary character to it. The same holds here, by the age of the character, so that ids stay
 * equal. One difference is left: lower case comes from utf8proc, so capitals newer than its Unicode
 * version (15 in utf8proc 2.8: Garay, Beria Erfe and eight Latin letters are missing) stay. */
#ifndef GABBRO_TEXT_UNICODE_H
#define GABBRO_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_MAX_DECOMPOSED = 8 }; /* the longest canonical decomposition has 4 characters */

/* Next character of bytes[*at .. length); moves *at. An invalid byte gives -1 and moves by one. */
int32_t text_unicode_next(const char *bytes, size_t length, size_t *at);
size_t text_unicode_put(int32_t c, char out[4]);             /* UTF-8 of c; returns its bytes */
size_t text_unicode_count(const char *bytes, size_t length); /* characters of valid UTF-8 */
bool text_unicode_is_white_space(int32_t c);                 /* property White_Space */
bool text_unicode_is_letter(int32_t c);                      /* a category L* */
bool text_unicode_is_number(int32_t c);                      /* a category N* */
/* What regular expressions call \w (UTS 18): letters, marks, digits, connectors such as _, joiners.
 */
bool text_unicode_is_word(int32_t c);

bool text_bert_is_dropped(int32_t c);     /* NUL, U+FFFD, control, format, private use */
bool text_bert_is_space(int32_t c);       /* of what is not dropped */
bool text_bert_is_cjk(int32_t c);         /* becomes a word of its own */
bool text_bert_is_punctuation(int32_t c); /* ASCII's symbols or a category P* */
bool text_bert_is_accent(int32_t c);      /* category Mn, dropped after decomposition */
int32_t text_bert_lower(int32_t c);
/* Canonical decomposition of c (not ordered); returns the number of characters, at least 1. */
size_t text_bert_decompose(int32_t c, int32_t out[UNICODE_MAX_DECOMPOSED]);
int text_bert_combining_class(int32_t c); /* canonical combining class, 0..254 */

#endif
