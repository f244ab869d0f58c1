/* Layers that only decoders have. */
#include "layers.h"

static gb_tensor p(gb_builder *builder, uint32_t index)
{
    return gb_tape_param(builder->tape, index);
}

gb_tensor gb_block_apply_causal(gb_builder *builder, const gb_block *block,
                                const gb_batch_inputs *in, gb_tensor x, uint32_t window)
{
    uint32_t first = gb_tape_node_count(builder->tape);
    gb_tensor n = nn_layer_norm(builder, x, block->norm1_weight, block->norm1_bias);
    gb_tensor a =
        nn_layer_attend(builder, block, in, n, window ? GB_MASK_WINDOW : GB_MASK_CAUSAL, window);
    x = nn_layer_project(builder, in, a, block->out_weight, block->out_bias, x);
    n = nn_layer_norm(builder, x, block->norm2_weight, block->norm2_bias);
    gb_tensor up = gb_linear(builder->tape, n, p(builder, block->up_weight),
                             p(builder, block->up_bias), true, GB_NO_TENSOR);
    x = nn_layer_project(builder, in, up, block->down_weight, block->down_bias, x);
    return nn_layer_end(builder, first, x);
}

/* ---- queries of their own ---- */

bool gb_query_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                            gb_query_block *block, gb_status *status)
{
    uint32_t h = config->hidden_size;
    static const gb_param_parts kv = {"kv", {"key", "value"}, 2};
    const layer_scope scope = {.params = params, .prefix = prefix, .config = config};
    const layer_entry list[] = {
        {"attention.self.query.weight", LAYER_WEIGHT, h, h, &block->query_weight},
        {"attention.self.query.bias", LAYER_BIAS, 1, h, &block->query_bias},
        {"attention.self.*.weight", LAYER_WEIGHT, 2 * h, h, &block->kv_weight, &kv},
        {"attention.self.*.bias", LAYER_BIAS, 1, 2 * h, &block->kv_bias, &kv},
    };
    return nn_layer_declare(&scope, list, sizeof list / sizeof *list, status) &&
           nn_layer_declare_rest(&scope, &block->rest, status);
}

gb_tensor gb_query_block_apply(gb_builder *builder, const gb_query_block *block,
                               const gb_batch_inputs *in, gb_tensor queries, gb_tensor states,
                               gb_tensor bits)
{
    const gb_block *rest = &block->rest;
    uint32_t h = rest->hidden, first = gb_tape_node_count(builder->tape);
    gb_tensor q = gb_linear(builder->tape, queries, p(builder, block->query_weight),
                            p(builder, block->query_bias), false, GB_NO_TENSOR);
    gb_tensor kv = gb_linear(builder->tape, states, p(builder, block->kv_weight),
                             p(builder, block->kv_bias), false, GB_NO_TENSOR);
    gb_attention_params params = nn_layer_attention(builder, rest, in);
    params.mask = GB_MASK_BITS;
    params.bits = bits;
    gb_tensor a = gb_attention(builder->tape, in->sequences, q, 0, kv, 0, h, h, &params);
    gb_tensor x = nn_layer_project(builder, in, a, rest->out_weight, rest->out_bias, queries);
    x = nn_layer_norm(builder, x, rest->norm1_weight, rest->norm1_bias);
    return nn_layer_end(builder, first, nn_layer_feed_forward(builder, rest, in, x));
}

/* ---- a memory of one vector ---- */

bool gb_memory_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                             gb_memory_block *block, gb_status *status)
{
    uint32_t h = config->hidden_size;
    const layer_scope scope = {.params = params, .prefix = prefix, .config = config};
    const layer_entry list[] = {
        {"crossattention.self.value.weight", LAYER_WEIGHT, h, h, &block->value_weight},
        {"crossattention.self.value.bias", LAYER_BIAS, 1, h, &block->value_bias},
        {"crossattention.output.dense.weight", LAYER_WEIGHT, h, h, &block->out_weight},
        {"crossattention.output.dense.bias", LAYER_BIAS, 1, h, &block->out_bias},
        {"crossattention.output.LayerNorm.weight", LAYER_SCALE, 1, h, &block->norm_weight},
        {"crossattention.output.LayerNorm.bias", LAYER_BIAS, 1, h, &block->norm_bias},
    };
    return nn_layer_declare_block(&scope, &block->self, status) &&
           nn_layer_declare(&scope, list, sizeof list / sizeof *list, status);
}

gb_tensor gb_memory_block_apply(gb_builder *builder, const gb_memory_block *block,
                                const gb_batch_inputs *in, const gb_broadcast_inputs *spread,
                                gb_tensor x, gb_tensor memory, uint32_t window)
{
    const gb_block *self = &block->self;
    uint32_t first = gb_tape_node_count(builder->tape);
    gb_tensor a =
        nn_layer_attend(builder, self, in, x, window ? GB_MASK_WINDOW : GB_MASK_CAUSAL, window);
    x = nn_layer_norm(builder,
                      nn_layer_project(builder, in, a, self->out_weight, self->out_bias, x),
                      self->norm1_weight, self->norm1_bias);
    gb_tensor m = gb_linear(builder->tape, memory, p(builder, block->value_weight),
                            p(builder, block->value_bias), false, GB_NO_TENSOR);
    m = gb_linear(builder->tape, m, p(builder, block->out_weight), p(builder, block->out_bias),
                  false, GB_NO_TENSOR);
    m = gb_broadcast(builder, m, spread, GB_NO_TENSOR);
    x = nn_layer_norm(builder, nn_layer_add(builder, in, m, x), block->norm_weight,
                      block->norm_bias);
    return nn_layer_end(builder, first, nn_layer_feed_forward(builder, self, in, x));
}
