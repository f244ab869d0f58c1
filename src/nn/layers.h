/* What layers are made of: shared by the encoder and the decoders. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include <gabbro/nn.h>

/* Declare "<prefix>.<name>": biases and layer norms are vectors without decay, the rest is drawn
 * from N(0, std). */
bool layer_param(gb_params *params, const char *prefix, const char *name, uint32_t rows,
                 uint32_t cols, float std, uint32_t *index, gb_status *status);
typedef struct layer_entry {
    const char *name;    /* behind the prefix */
    uint32_t rows, cols; /* size */
    uint32_t *index;     /* gets the parameter */
} layer_entry;
bool layer_params(gb_params *params, const char *prefix, const layer_entry *list, size_t count,
                  float std, gb_status *status);
/* A block without query, key and value. */
bool layer_rest_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                        gb_block *block, gb_status *status);

/* y, dropped, plus the residual. */
gb_tensor layer_add(gb_net *net, const gb_packed_inputs *in, gb_tensor y, gb_tensor residual);
/* W x + b, dropped, plus the residual: in one kernel when nothing is dropped. */
gb_tensor layer_project(gb_net *net, const gb_packed_inputs *in, gb_tensor x, uint32_t weight,
                        uint32_t bias, gb_tensor residual);
/* Self-attention, without the output matrix. */
gb_tensor layer_attend(gb_net *net, const gb_block *block, const gb_packed_inputs *in, gb_tensor x,
                       gb_mask_kind mask, uint32_t window);
gb_tensor layer_norm(gb_net *net, gb_tensor x, uint32_t weight, uint32_t bias);
/* x, the end of a layer that began at node `first`: where net says so, it is computed again for its
 * gradient. */
gb_tensor layer_end(gb_net *net, uint32_t first, gb_tensor x);
/* LN(x + FFN(x)) */
gb_tensor layer_feed_forward(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                             gb_tensor x);

#endif
