/* BERT (Devlin et al., 2019) on a tape: embeddings, layers, tied masked-LM head. */
#include "layers.h"

#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

static bool declare(const layer_scope *scope, const layer_entry *entry, gb_status *status)
{
    char name[200];
    bool vector = entry->kind != LAYER_WEIGHT;
    snprintf(name, sizeof name, "%s.%s", scope->prefix, entry->name);
    gb_param_spec spec = {.name = name,
                          .kind = vector ? GB_PARAM_VECTOR : GB_PARAM_MATRIX,
                          .rows = entry->rows,
                          .cols = entry->cols,
                          .init = entry->kind == LAYER_WEIGHT  ? GB_INIT_NORMAL
                                  : entry->kind == LAYER_SCALE ? GB_INIT_ONES
                                                               : GB_INIT_ZEROS,
                          .init_std = (float)scope->config->initializer_range,
                          .file = scope->file,
                          .parts = entry->parts};
    if (scope->copy) {
        spec.kind = GB_PARAM_STATE;
        spec.init = GB_INIT_ZEROS;
    }
    *entry->index = gb_params_add(scope->params, &spec, status);
    return *entry->index != UINT32_MAX;
}

bool layer_declare(const layer_scope *scope, const layer_entry *list, size_t count,
                   gb_status *status)
{
    for (size_t i = 0; i < count; i++)
        if (!declare(scope, &list[i], status))
            return false;
    return true;
}

bool layer_declare_rest(const layer_scope *scope, gb_block *block, gb_status *status)
{
    uint32_t h = scope->config->hidden_size, f = scope->config->intermediate_size;
    block->hidden = h;
    block->heads = scope->config->heads;
    const layer_entry list[] = {
        {"attention.output.dense.weight", LAYER_WEIGHT, h, h, &block->out_weight},
        {"attention.output.dense.bias", LAYER_BIAS, 1, h, &block->out_bias},
        {"attention.output.LayerNorm.weight", LAYER_SCALE, 1, h, &block->norm1_weight},
        {"attention.output.LayerNorm.bias", LAYER_BIAS, 1, h, &block->norm1_bias},
        {"intermediate.dense.weight", LAYER_WEIGHT, f, h, &block->up_weight},
        {"intermediate.dense.bias", LAYER_BIAS, 1, f, &block->up_bias},
        {"output.dense.weight", LAYER_WEIGHT, h, f, &block->down_weight},
        {"output.dense.bias", LAYER_BIAS, 1, h, &block->down_bias},
        {"output.LayerNorm.weight", LAYER_SCALE, 1, h, &block->norm2_weight},
        {"output.LayerNorm.bias", LAYER_BIAS, 1, h, &block->norm2_bias},
    };
    return layer_declare(scope, list, sizeof list / sizeof *list, status);
}

bool layer_declare_block(const layer_scope *scope, gb_block *block, gb_status *status)
{
    static const gb_param_parts qkv = {"qkv", {"query", "key", "value"}, 3};
    uint32_t h = scope->config->hidden_size;
    const layer_entry list[] = {
        {"attention.self.*.weight", LAYER_WEIGHT, 3 * h, h, &block->qkv_weight, &qkv},
        {"attention.self.*.bias", LAYER_BIAS, 1, 3 * h, &block->qkv_bias, &qkv},
    };
    return layer_declare(scope, list, sizeof list / sizeof *list, status) &&
           layer_declare_rest(scope, block, status);
}

bool gb_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                      gb_block *block, gb_status *status)
{
    const layer_scope scope = {.params = params, .prefix = prefix, .config = config};
    return layer_declare_block(&scope, block, status);
}

void gb_block_copy(const gb_params *params, const gb_block *from, const gb_block *to, float *values)
{
    /* The parameters of a block are declared one behind the other. */
    for (uint32_t i = 0; from->qkv_weight + i <= from->norm2_bias; i++) {
        const gb_param *source = gb_params_at(params, from->qkv_weight + i);
        const gb_param *target = gb_params_at(params, to->qkv_weight + i);
        memcpy(values + target->offset, values + source->offset,
               sizeof *values * source->rows * source->ld);
    }
}

static bool declare_embeddings(const layer_scope *scope, gb_bert *bert, gb_status *status)
{
    const gb_bert_config *config = scope->config;
    uint32_t h = config->hidden_size;
    const layer_entry list[] = {
        {"word_embeddings.weight", LAYER_WEIGHT, config->vocab_size, h, &bert->word},
        {"position_embeddings.weight", LAYER_WEIGHT, config->max_positions, h, &bert->position},
        {"token_type_embeddings.weight", LAYER_WEIGHT, config->type_vocab_size, h, &bert->type},
        {"LayerNorm.weight", LAYER_SCALE, 1, h, &bert->norm_weight},
        {"LayerNorm.bias", LAYER_BIAS, 1, h, &bert->norm_bias},
    };
    return layer_declare(scope, list, sizeof list / sizeof *list, status);
}

static bool declare_head(const layer_scope *scope, gb_bert *bert, gb_status *status)
{
    uint32_t h = scope->config->hidden_size;
    const layer_entry list[] = {
        {"transform.dense.weight", LAYER_WEIGHT, h, h, &bert->transform_weight},
        {"transform.dense.bias", LAYER_BIAS, 1, h, &bert->transform_bias},
        {"transform.LayerNorm.weight", LAYER_SCALE, 1, h, &bert->head_norm_weight},
        {"transform.LayerNorm.bias", LAYER_BIAS, 1, h, &bert->head_norm_bias},
        {"bias", LAYER_BIAS, 1, scope->config->vocab_size, &bert->head_bias},
    };
    return layer_declare(scope, list, sizeof list / sizeof *list, status);
}

/* The encoder, its names behind `front`. */
static bool declare_encoder(layer_scope scope, const char *front, gb_bert *bert, gb_status *status)
{
    char prefix[100];
    uint32_t layers = scope.config->layers;
    bert->blocks = gb_alloc(layers, sizeof *bert->blocks, status);
    scope.prefix = prefix;
    snprintf(prefix, sizeof prefix, "%sbert.embeddings", front);
    bool ok = bert->blocks && declare_embeddings(&scope, bert, status);
    for (uint32_t l = 0; ok && l < layers; l++) {
        snprintf(prefix, sizeof prefix, "%sbert.encoder.layer.%u", front, l);
        ok = layer_declare_block(&scope, &bert->blocks[l], status);
    }
    return ok;
}

bool gb_bert_declare(gb_params *params, const gb_bert_config *config, bool head, gb_bert *bert,
                     gb_status *status)
{
    *bert = (gb_bert){.config = *config, .head = head};
    const layer_scope encoder = {.params = params, .config = config, .file = GB_FILE_REQUIRED};
    const layer_scope of_head = {
        .params = params, .prefix = "cls.predictions", .config = config, .file = GB_FILE_OPTIONAL};
    bool ok = declare_encoder(encoder, "", bert, status) &&
              (!head || declare_head(&of_head, bert, status));
    if (!ok)
        gb_bert_free(bert);
    return ok;
}

bool gb_bert_declare_copy(gb_params *params, const char *front, const gb_bert *bert, gb_bert *copy,
                          gb_status *status)
{
    *copy = (gb_bert){.config = bert->config};
    const layer_scope scope = {.params = params, .config = &copy->config, .copy = true};
    if (declare_encoder(scope, front, copy, status))
        return true;
    gb_bert_free(copy);
    return false;
}

void gb_bert_free(gb_bert *bert)
{
    free(bert->blocks);
    bert->blocks = NULL;
}

/* ---- layers ---- */

gb_net gb_net_forward(gb_tape *tape, const gb_bert_config *config, uint32_t longest)
{
    return (gb_net){.tape = tape, .eps = (float)config->layer_norm_eps, .longest = longest};
}

static gb_tensor p(gb_net *net, uint32_t index)
{
    return gb_tape_param(net->tape, index);
}

static gb_tensor drop(gb_net *net, gb_tensor x, const gb_packed_inputs *in)
{
    return gb_dropout(net->tape, x, net->dropout, ++net->sites, in->sequences);
}

gb_tensor layer_add(gb_net *net, const gb_packed_inputs *in, gb_tensor y, gb_tensor residual)
{
    return gb_add(net->tape, net->dropout > 0 ? drop(net, y, in) : y, residual);
}

gb_tensor layer_project(gb_net *net, const gb_packed_inputs *in, gb_tensor x, uint32_t weight,
                        uint32_t bias, gb_tensor residual)
{
    if (net->dropout <= 0)
        return gb_linear(net->tape, x, p(net, weight), p(net, bias), false, residual);
    gb_tensor y = gb_linear(net->tape, x, p(net, weight), p(net, bias), false, GB_NO_TENSOR);
    return layer_add(net, in, y, residual);
}

/* read: only the rows in->read attend. */
static gb_tensor attend(gb_net *net, const gb_block *block, const gb_packed_inputs *in, gb_tensor x,
                        gb_mask_kind mask, uint32_t window, bool read)
{
    uint32_t h = block->hidden;
    gb_tensor qkv = gb_linear(net->tape, x, p(net, block->qkv_weight), p(net, block->qkv_bias),
                              false, GB_NO_TENSOR);
    gb_attention_params params = {.heads = block->heads,
                                  .mask = mask,
                                  .window = window,
                                  .bits = GB_NO_TENSOR,
                                  .longest = net->longest,
                                  .dropout = net->attention_dropout,
                                  .site = net->attention_dropout > 0 ? ++net->sites : 0,
                                  .places = read ? in->read.count : 0,
                                  .picked = in->read_by_sequence};
    return gb_attention(net->tape, in->sequences, qkv, 0, qkv, h, 2 * h, h, &params);
}

gb_tensor layer_attend(gb_net *net, const gb_block *block, const gb_packed_inputs *in, gb_tensor x,
                       gb_mask_kind mask, uint32_t window)
{
    return attend(net, block, in, x, mask, window, false);
}

gb_tensor layer_norm(gb_net *net, gb_tensor x, uint32_t weight, uint32_t bias)
{
    return gb_layer_norm(net->tape, x, p(net, weight), p(net, bias), net->eps);
}

gb_tensor layer_end(gb_net *net, uint32_t first, gb_tensor x)
{
    if (net->recompute)
        gb_tape_layer(net->tape, first);
    return x;
}

/* layer_project of the rows that are read (NULL: of all). What is dropped goes by the row of the
 * batch. */
static gb_tensor project(gb_net *net, const gb_packed_inputs *in, const gb_rows_inputs *read,
                         gb_tensor x, uint32_t weight, uint32_t bias, gb_tensor residual)
{
    if (!read || net->dropout <= 0)
        return layer_project(net, in, x, weight, bias, residual);
    gb_tensor y = gb_linear(net->tape, x, p(net, weight), p(net, bias), false, GB_NO_TENSOR);
    y = drop(net, gb_gather_rows(net->tape, y, read->inverse, read->index), in);
    return gb_add(net->tape, gb_rows_gather(net, y, read), residual);
}

static gb_tensor norm(gb_net *net, const gb_packed_inputs *in, const gb_rows_inputs *read,
                      gb_tensor x, uint32_t weight, uint32_t bias)
{
    return read ? gb_layer_norm_picked(net->tape, x, p(net, weight), p(net, bias), net->eps,
                                       in->read_by_block)
                : layer_norm(net, x, weight, bias);
}

static gb_tensor feed_forward(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                              const gb_rows_inputs *read, gb_tensor x)
{
    gb_tensor up = gb_linear(net->tape, x, p(net, block->up_weight), p(net, block->up_bias), true,
                             GB_NO_TENSOR);
    return norm(net, in, read, project(net, in, read, up, block->down_weight, block->down_bias, x),
                block->norm2_weight, block->norm2_bias);
}

gb_tensor layer_feed_forward(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                             gb_tensor x)
{
    return feed_forward(net, block, in, NULL, x);
}

/* What follows on attention a, over x, both of the rows that are read (NULL: of all). */
static gb_tensor block_rest(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                            const gb_rows_inputs *read, gb_tensor a, gb_tensor x)
{
    x = project(net, in, read, a, block->out_weight, block->out_bias, x);
    x = norm(net, in, read, x, block->norm1_weight, block->norm1_bias);
    return feed_forward(net, block, in, read, x);
}

static gb_tensor block_apply(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                             const gb_rows_inputs *read, gb_tensor x)
{
    uint32_t first = gb_tape_node_count(net->tape);
    gb_tensor a = attend(net, block, in, x, GB_MASK_NONE, 0, read != NULL);
    x = block_rest(net, block, in, read, a, read ? gb_rows_gather(net, x, read) : x);
    if (read) /* the others have zeros */
        x = gb_gather_rows(net->tape, x, read->inverse, read->index);
    return layer_end(net, first, x);
}

gb_tensor gb_block_apply(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                         gb_tensor x)
{
    return block_apply(net, block, in, NULL, x);
}

gb_tensor gb_block_apply_last(gb_net *net, const gb_block *block, const gb_packed_inputs *in,
                              gb_tensor x)
{
    return block_apply(net, block, in, in->read.count ? &in->read : NULL, x);
}

gb_tensor gb_bert_embed(gb_net *net, const gb_bert *bert, const gb_packed_inputs *in)
{
    gb_tensor x = gb_embed(net->tape, in->ids, in->positions, in->by_id, in->by_position,
                           p(net, bert->word), p(net, bert->position), p(net, bert->type));
    return drop(net, layer_norm(net, x, bert->norm_weight, bert->norm_bias), in);
}

/* Input of the last layer; middle as in gb_bert_encode, if it is not behind it. */
static gb_tensor encode_before_last(gb_net *net, const gb_bert *bert, const gb_packed_inputs *in,
                                    uint32_t middle_layer, gb_tensor *middle)
{
    gb_tensor x = gb_bert_embed(net, bert, in);
    for (uint32_t l = 0; l < bert->config.layers; l++) {
        if (middle && l == middle_layer)
            *middle = x;
        if (l + 1 < bert->config.layers)
            x = gb_block_apply(net, &bert->blocks[l], in, x);
    }
    return x;
}

gb_tensor gb_bert_encode(gb_net *net, const gb_bert *bert, const gb_packed_inputs *in,
                         uint32_t middle_layer, gb_tensor *middle)
{
    const gb_block *last = &bert->blocks[bert->config.layers - 1];
    gb_tensor x = encode_before_last(net, bert, in, middle_layer, middle);
    if (middle && middle_layer >= bert->config.layers) /* all of it is read */
        return *middle = gb_block_apply(net, last, in, x);
    return gb_block_apply_last(net, last, in, x);
}

gb_tensor gb_bert_encode_rows(gb_net *net, const gb_bert *bert, const gb_packed_inputs *in,
                              const gb_rows_inputs *wanted)
{
    const gb_block *last = &bert->blocks[bert->config.layers - 1];
    gb_tensor x = encode_before_last(net, bert, in, 0, NULL);
    gb_tensor a = layer_attend(net, last, in, x, GB_MASK_NONE, 0);
    return block_rest(net, last, in, NULL, gb_rows_gather(net, a, wanted),
                      gb_rows_gather(net, x, wanted));
}

#define CHUNK_LOGITS (16u << 20)

uint32_t gb_chunk_rows(uint32_t vocab_size)
{
    uint32_t chunk = CHUNK_LOGITS / vocab_size;
    return chunk ? chunk : 1;
}

gb_tensor gb_bert_head_states(gb_net *net, const gb_bert *bert, gb_tensor h)
{
    gb_tensor t = gb_linear(net->tape, h, p(net, bert->transform_weight),
                            p(net, bert->transform_bias), true, GB_NO_TENSOR);
    return layer_norm(net, t, bert->head_norm_weight, bert->head_norm_bias);
}

gb_tensor gb_bert_mlm_loss(gb_net *net, const gb_bert *bert, gb_tensor h, gb_tensor labels,
                           gb_tensor weights)
{
    gb_tensor t = gb_bert_head_states(net, bert, h);
    return gb_vocabulary_loss(net->tape, t, p(net, bert->word), p(net, bert->head_bias), labels,
                              weights, gb_chunk_rows(bert->config.vocab_size));
}

gb_tensor gb_bert_mlm_sample(gb_net *net, const gb_bert *bert, gb_tensor h, gb_tensor sequences)
{
    gb_tensor t = gb_bert_head_states(net, bert, h);
    return gb_vocabulary_sample(net->tape, t, p(net, bert->word), p(net, bert->head_bias),
                                sequences, gb_chunk_rows(bert->config.vocab_size));
}
