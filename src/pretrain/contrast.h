/* What the objectives share that compare vectors of texts. */
#ifndef PRETRAIN_CONTRAST_H
#define PRETRAIN_CONTRAST_H

#include "common.h"

/* A text as far as it fits between [CLS] and [SEP]. */
text_ids pretrain_cut_text(text_ids text, uint32_t max_length);

/* Mean over N rows of -log exp(a_i . b_i / t) / sum_j exp(a_i . b_j / t). */
gb_tensor pretrain_pair_loss(gb_builder *builder, uint32_t count, gb_tensor a, gb_tensor b,
                             double temperature);

/* Program of a part of a batch of masked texts that are compared by their first rows: the masked LM
 * is losses[1], and all that a part has. */
void pretrain_masked_microbatch_build(gb_builder *builder, const gb_bert *bert,
                                      const gb_bucket *bucket, const batch_texts *texts,
                                      uint64_t seed, gb_tensor losses[GB_MAX_LOSSES]);

/* The loss of N pairs whose vectors are rows of x: of all first texts, then of all second ones. */
gb_tensor pretrain_side_loss(gb_builder *builder, uint32_t pairs, gb_tensor vectors,
                             double temperature);

#endif
