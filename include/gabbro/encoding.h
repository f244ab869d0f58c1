/* Models room: encoding piece by piece, for more texts than one array should hold. */
#ifndef GABBRO_ENCODING_H
#define GABBRO_ENCODING_H

#include <gabbro/nn.h>
#include <gabbro/padding.h>

/* A recorded program that makes vectors; everything given to create must outlive it. */
typedef struct gb_encoder gb_encoder;
gb_encoder *gb_encoder_create(gb_device *device, const gb_bert *bert, const gb_params *params,
                              const float *values, const gb_sentence_settings *how,
                              const gb_special_ids *specials, uint32_t longest, gb_status *status);
/* Vectors of the texts rows[first .. first + count) of a table of token ids (rows NULL: those rows
 * themselves), into out [count, hidden]: the same bits whatever else is encoded with them. label:
 * of a progress line, or NULL: none, and of messages. */
bool gb_encoder_run(gb_encoder *encoder, const gb_table *tokens, const uint32_t *rows,
                    uint32_t first, uint32_t count, const char *label, float *out,
                    gb_status *status);
gb_padding gb_encoder_padding(const gb_encoder *encoder);
void gb_encoder_destroy(gb_encoder *encoder); /* NULL ok */

#endif
