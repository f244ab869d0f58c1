/* Late interaction: how many vectors texts have, their files, their index. Private to the module.
 */
#ifndef RETRIEVE_LATE_H
#define RETRIEVE_LATE_H

#include "retriever.h"

/* Opens what a model of late interaction has: its settings and projection, declared beside the
 * encoder. Nothing where vectors are of texts. */
bool retrieve_late_open(gb_retriever *r, gb_status *status);
void retrieve_late_close(retrieve_late *late);
/* Starts [count + 1] of texts, from 0; NULL on failure, also where 32 bits do not number all. */
uint32_t *retrieve_late_starts(const gb_retriever *r, gb_late_side side,
                               const gb_encode_rows *texts, gb_status *status);
/* The program that encodes the texts of a side: the retriever's. */
gb_late_encoder *retrieve_late_encoder(const gb_retriever *r, gb_late_side side, gb_status *status);
/* gb_retriever_write of tokens, of texts with their starts; whole: path of the vectors of [CLS],
 * which COIL has. */
bool retrieve_late_write(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                         const uint32_t *starts, const gb_vector_file *file, const char *whole,
                         gb_padding *padding, gb_status *status);
/* Takes the tags of the tokens of a text that take part, in their order. */
typedef bool late_take_tags(void *ctx, const uint32_t *tags, uint32_t count);
/* Gives those of all texts. */
bool retrieve_late_tags(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                        late_take_tags *take, void *ctx, gb_status *status);
/* Writes what the folder of a shard has but for ids.txt and vectors.json: vectors.npy, starts.npy,
 * and of COIL tags.npy and whole.npy. */
bool retrieve_late_write_shard(const gb_retriever *r, gb_text_kind kind,
                               const gb_encode_rows *texts, gb_number numbers, const char *folder,
                               const char *journal, gb_padding *padding, gb_status *status);
/* gb_retriever_index and gb_retriever_rank of tokens. */
bool retrieve_late_index(gb_retriever *r, const gb_vector_file *file, gb_status *status);
bool retrieve_late_rank(gb_retriever *r, const gb_encode_rows *queries, uint32_t depth, gb_run *run,
                        gb_status *status);

#endif
