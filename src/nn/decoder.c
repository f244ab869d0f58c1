/* Layers that only decoders have. */
#include "layers.h"

static gb_tensor p(gb_net *net, uint32_t index)
{
    return gb_tape_param(net->tape, index);
}

gb_tensor gb_block_apply_causal(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                                gb_tensor x, uint32_t window)
{
    uint32_t first = gb_tape_node_count(net->tape);
    gb_tensor n = layer_norm(net, x, block->norm1_weight, block->norm1_bias);
    gb_tensor a = layer_attend(net, block, in, n, window ? GB_MASK_WINDOW : GB_MASK_CAUSAL, window);
    x = layer_project(net, in, a, block->out_weight, block->out_bias, x);
    n = layer_norm(net, x, block->norm2_weight, block->norm2_bias);
    gb_tensor up = gb_linear(net->tape, n, p(net, block->up_weight), p(net, block->up_bias), true,
                             GB_NO_TENSOR);
    x = layer_project(net, in, up, block->down_weight, block->down_bias, x);
    return layer_end(net, first, x);
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
    return layer_declare(&scope, list, sizeof list / sizeof *list, status) &&
           layer_declare_rest(&scope, &block->rest, status);
}

gb_tensor gb_query_block_apply(gb_net *net, const gb_query_block *block, const gb_packed_inputs *in,
                               gb_tensor queries, gb_tensor states, gb_tensor bits)
{
    const gb_block *rest = &block->rest;
    uint32_t h = rest->hidden, first = gb_tape_node_count(net->tape);
    gb_tensor q = gb_linear(net->tape, queries, p(net, block->query_weight),
                            p(net, block->query_bias), false, GB_NO_TENSOR);
    gb_tensor kv = gb_linear(net->tape, states, p(net, block->kv_weight), p(net, block->kv_bias),
                             false, GB_NO_TENSOR);
    gb_attention_params params = {.heads = rest->heads,
                                  .mask = GB_MASK_BITS,
                                  .bits = bits,
                                  .longest = net->longest,
                                  .dropout = net->attention_dropout,
                                  .site = net->attention_dropout > 0 ? ++net->sites : 0};
    gb_tensor a = gb_attention(net->tape, in->sequences, q, 0, kv, 0, h, h, &params);
    gb_tensor x = layer_project(net, in, a, rest->out_weight, rest->out_bias, queries);
    x = layer_norm(net, x, rest->norm1_weight, rest->norm1_bias);
    return layer_end(net, first, layer_feed_forward(net, rest, in, x));
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
    return layer_declare_block(&scope, &block->self, status) &&
           layer_declare(&scope, list, sizeof list / sizeof *list, status);
}

gb_tensor gb_memory_block_apply(gb_net *net, const gb_memory_block *block,
                                const gb_packed_inputs *in, const gb_spread_inputs *spread,
                                gb_tensor x, gb_tensor memory, uint32_t window)
{
    const gb_block *self = &block->self;
    uint32_t first = gb_tape_node_count(net->tape);
    gb_tensor a = layer_attend(net, self, in, x, window ? GB_MASK_WINDOW : GB_MASK_CAUSAL, window);
    x = layer_norm(net, layer_project(net, in, a, self->out_weight, self->out_bias, x),
                   self->norm1_weight, self->norm1_bias);
    gb_tensor m = gb_linear(net->tape, memory, p(net, block->value_weight),
                            p(net, block->value_bias), false, GB_NO_TENSOR);
    m = gb_linear(net->tape, m, p(net, block->out_weight), p(net, block->out_bias), false,
                  GB_NO_TENSOR);
    m = gb_spread(net, m, spread, GB_NO_TENSOR);
    x = layer_norm(net, layer_add(net, in, m, x), block->norm_weight, block->norm_bias);
    return layer_end(net, first, layer_feed_forward(net, self, in, x));
}
