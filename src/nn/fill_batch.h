/* Private: what files share that fill inputs from a batch. */
#ifndef GABBRO_NN_FILL_BATCH_H
#define GABBRO_NN_FILL_BATCH_H

#include <gabbro/nn.h>

/* Sequences of a batch from `first` on, or `max_count` if it has more. */
uint32_t nn_packed_left(const gb_batch *batch, uint32_t first, uint32_t max_count);

#endif
