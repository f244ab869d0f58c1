/* What the objectives share that compare vectors of texts. */
#ifndef PRETRAIN_CONTRAST_H
#define PRETRAIN_CONTRAST_H

#include "common.h"

/* A text as far as it fits between [CLS] and [SEP]. */
text_ids cut_text(text_ids text, uint32_t longest);

/* Mean over N rows of -log exp(a_i . b_i / t) / sum_j exp(a_i . b_j / t). */
gb_tensor pair_loss(gb_net *net, uint32_t count, gb_tensor a, gb_tensor b, double temperature);

/* Program of a part of a batch of masked texts that are compared by their first rows: the masked LM
 * is losses[1], and all that a part has. */
void masked_part_build(gb_net *net, const gb_bert *bert, const gb_shape *shape,
                       const batch_texts *texts, uint64_t seed, gb_tensor losses[GB_MAX_LOSSES]);

/* The loss of N pairs whose vectors are rows of x: of all first texts, then of all second ones. */
gb_tensor side_loss(gb_net *net, uint32_t pairs, gb_tensor vectors, double temperature);

#endif
