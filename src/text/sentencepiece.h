/* The little that is asked of libsentencepiece, in C (private to the text module). sentencepiece.cpp
 * gives it by the library, sentencepiece_none.c where that was not there to build with. */
#ifndef GABBRO_TEXT_SENTENCEPIECE_H
#define GABBRO_TEXT_SENTENCEPIECE_H

#include "gabbro/text.h"

typedef struct sp_model sp_model;
/* prefix: as the model says, a space comes before every text; otherwise none does. */
sp_model *text_sp_open(const char *path, bool prefix, gb_status *status);
void text_sp_close(sp_model *model);
uint32_t text_sp_count(const sp_model *model);
uint32_t text_sp_id(const sp_model *model, const char *piece, size_t length); /* GB_MAP_NONE */
/* Append the ids of valid UTF-8. */
bool text_sp_encode(const sp_model *model, const char *text, size_t length, gb_ids *ids,
                    gb_status *status);
/* Append the text of ids, all < count. drop_space: without the space the first piece begins with.
 */
bool text_sp_decode(const sp_model *model, const uint32_t *ids, size_t count, bool drop_space,
                    gb_text *text, gb_status *status);

#endif
