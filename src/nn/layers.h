/* What layers are made of: shared by the encoder and the decoders. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include <gabbro/nn.h>

/* Where the parameters of layers are declared. */
typedef struct layer_scope {
    gb_params *params;            /* gets them */
    const char *prefix;           /* of their names, without the dot behind it */
    const gb_bert_config *config; /* sizes, and the spread of fresh weights */
    gb_param_file file;           /* where model folders have them */
    bool copy;                    /* states that copy other parameters, zero at first */
} layer_scope;
typedef enum layer_kind {
    LAYER_WEIGHT, /* a matrix, from N(0, initializer_range) */
    LAYER_BIAS,   /* a vector of zeros */
    LAYER_SCALE,  /* a vector of ones */
} layer_kind;
typedef struct layer_entry {
    const char *name;            /* behind the prefix and a dot; as in gb_param_spec */
    layer_kind kind;             /* what it is */
    uint32_t rows, cols;         /* size */
    uint32_t *index;             /* gets the parameter */
    const gb_param_parts *parts; /* what it is in files, or NULL */
} layer_entry;
bool nn_layer_declare(const layer_scope *scope, const layer_entry *list, size_t count,
                      gb_status *status);
bool nn_layer_declare_block(const layer_scope *scope, gb_block *block, gb_status *status);
/* A block without query, key and value. */
bool nn_layer_declare_rest(const layer_scope *scope, gb_block *block, gb_status *status);

/* y, dropped, plus the residual. */
gb_tensor nn_layer_add(gb_builder *builder, const gb_batch_inputs *in, gb_tensor y,
                       gb_tensor residual);
/* W x + b, dropped, plus the residual: in one kernel when nothing is dropped. */
gb_tensor nn_layer_project(gb_builder *builder, const gb_batch_inputs *in, gb_tensor x,
                           uint32_t weight, uint32_t bias, gb_tensor residual);
/* What attention is told in a layer: mask none. */
gb_attention_params nn_layer_attention(gb_builder *builder, const gb_block *block,
                                       const gb_batch_inputs *in);
/* Self-attention, without the output matrix. */
gb_tensor nn_layer_attend(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                          gb_tensor x, gb_mask_kind mask, uint32_t window);
/* bias UINT32_MAX: there is none. */
gb_tensor nn_layer_norm(gb_builder *builder, gb_tensor x, uint32_t weight, uint32_t bias);
/* x, the end of a layer that began at node `first`: where the builder says so, it is computed again
 * for its gradient. */
gb_tensor nn_layer_end(gb_builder *builder, uint32_t first, gb_tensor x);
/* x with numbers of it dropped, at the rate of states. */
gb_tensor nn_layer_drop(gb_builder *builder, gb_tensor x, const gb_batch_inputs *in);
/* LN(x + FFN(x)) */
gb_tensor nn_layer_feed_forward(gb_builder *builder, const gb_block *block,
                                const gb_batch_inputs *in, gb_tensor x);

/* ---- ModernBERT, modern.c ---- */

bool nn_modern_declare(const layer_scope *scope, gb_block *block, uint32_t index,
                       gb_status *status);
/* The angles and windows of a batch. */
void nn_modern_inputs(gb_builder *builder, const gb_bert_config *config, const gb_batch *batch,
                      gb_batch_inputs *in);
/* Layer of all rows [R, H], and of the rows that are read [in->read.count, H]. */
gb_tensor nn_modern_apply(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                          gb_tensor x);
gb_tensor nn_modern_read(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                         gb_tensor x);

#endif
