/* BERT (Devlin et al., 2019) on a tape: embeddings, layers, tied masked-LM head. */
#include "layers.h"

#include <math.h>
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

bool nn_layer_declare(const layer_scope *scope, const layer_entry *list, size_t count,
                      gb_status *status)
{
    for (size_t i = 0; i < count; i++)
        if (!declare(scope, &list[i], status))
            return false;
    return true;
}

bool nn_layer_declare_rest(const layer_scope *scope, gb_block *block, gb_status *status)
{
    uint32_t h = scope->config->hidden_size, f = scope->config->intermediate_size;
    block->hidden = h;
    block->distance_bias = UINT32_MAX;
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
    return nn_layer_declare(scope, list, sizeof list / sizeof *list, status);
}

bool nn_layer_declare_block(const layer_scope *scope, gb_block *block, gb_status *status)
{
    static const gb_param_parts qkv = {"qkv", {"query", "key", "value"}, 3};
    uint32_t h = scope->config->hidden_size;
    const layer_entry list[] = {
        {"attention.self.*.weight", LAYER_WEIGHT, 3 * h, h, &block->qkv_weight, &qkv},
        {"attention.self.*.bias", LAYER_BIAS, 1, 3 * h, &block->qkv_bias, &qkv},
    };
    return nn_layer_declare(scope, list, sizeof list / sizeof *list, status) &&
           nn_layer_declare_rest(scope, block, status);
}

bool gb_block_declare(gb_params *params, const char *prefix, const gb_bert_config *config,
                      gb_block *block, gb_status *status)
{
    const layer_scope scope = {.params = params, .prefix = prefix, .config = config};
    return nn_layer_declare_block(&scope, block, status);
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
    uint32_t positions = config->max_positions + config->position_offset;
    const layer_entry rows[] = {
        {"word_embeddings.weight", LAYER_WEIGHT, config->vocab_size, h, &bert->word},
        {"position_embeddings.weight", LAYER_WEIGHT, positions, h, &bert->position},
        {"token_type_embeddings.weight", LAYER_WEIGHT, config->type_vocab_size, h, &bert->type},
    };
    const layer_entry norm[] = {
        {"LayerNorm.weight", LAYER_SCALE, 1, h, &bert->norm_weight},
        {"LayerNorm.bias", LAYER_BIAS, 1, h, &bert->norm_bias},
    };
    bool modern = config->theta > 0;
    bert->position = bert->type = bert->norm_bias = UINT32_MAX;
    return nn_layer_declare(scope, rows,
                            modern                    ? 1
                            : config->type_vocab_size ? 3
                                                      : 2,
                            status) &&
           nn_layer_declare(scope, norm, modern ? 1 : 2, status);
}

static bool declare_head(const layer_scope *scope, gb_bert *bert, gb_status *status)
{
    uint32_t h = scope->config->hidden_size;
    bool biased = scope->config->theta <= 0;
    const layer_entry list[] = {
        {"transform.dense.weight", LAYER_WEIGHT, h, h, &bert->transform_weight},
        {"transform.dense.bias", LAYER_BIAS, 1, h, &bert->transform_bias},
        {"transform.LayerNorm.weight", LAYER_SCALE, 1, h, &bert->head_norm_weight},
        {"transform.LayerNorm.bias", LAYER_BIAS, 1, h, &bert->head_norm_bias},
        {"bias", LAYER_BIAS, 1, scope->config->vocab_size, &bert->head_bias},
    };
    bert->transform_bias = bert->head_norm_bias = UINT32_MAX;
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof list / sizeof *list; i++)
        ok = (!biased && (i == 1 || i == 3)) || nn_layer_declare(scope, &list[i], 1, status);
    return ok;
}

/* The bias by distance, which all layers share. */
static bool declare_distance_bias(const layer_scope *scope, gb_bert *bert, gb_status *status)
{
    uint32_t index;
    const layer_entry entry = {"relative_attention_bias.weight", LAYER_WEIGHT,
                               scope->config->buckets, scope->config->heads, &index};
    if (!nn_layer_declare(scope, &entry, 1, status))
        return false;
    for (uint32_t l = 0; l < scope->config->layers; l++)
        bert->blocks[l].distance_bias = index;
    return true;
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
        ok = scope.config->theta > 0 ? nn_modern_declare(&scope, &bert->blocks[l], l, status)
                                     : nn_layer_declare_block(&scope, &bert->blocks[l], status);
    }
    snprintf(prefix, sizeof prefix, "%sbert.encoder", front);
    const layer_entry last = {"final_norm.weight", LAYER_SCALE, 1, scope.config->hidden_size,
                              &bert->final_norm};
    return ok && (!scope.config->buckets || declare_distance_bias(&scope, bert, status)) &&
           (scope.config->theta <= 0 || nn_layer_declare(&scope, &last, 1, status));
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

bool gb_bert_declare_tower(gb_params *params, const char *front, const gb_bert *bert,
                           gb_bert *tower, gb_status *status)
{
    *tower = (gb_bert){.config = bert->config};
    const layer_scope scope = {.params = params, .config = &tower->config, .file = GB_FILE_ASIDE};
    if (declare_encoder(scope, front, tower, status))
        return true;
    gb_bert_free(tower);
    return false;
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

gb_builder gb_builder_forward(gb_tape *tape, const gb_bert_config *config, uint32_t max_length)
{
    return (gb_builder){
        .tape = tape, .eps = (float)config->layer_norm_eps, .max_length = max_length};
}

static gb_tensor p(gb_builder *builder, uint32_t index)
{
    return gb_tape_param(builder->tape, index);
}

gb_tensor nn_layer_drop(gb_builder *builder, gb_tensor x, const gb_batch_inputs *in)
{
    return gb_dropout(builder->tape, x, builder->dropout, ++builder->dropouts, in->sequences,
                      in->selected);
}

gb_tensor nn_layer_add(gb_builder *builder, const gb_batch_inputs *in, gb_tensor y,
                       gb_tensor residual)
{
    return gb_add(builder->tape, builder->dropout > 0 ? nn_layer_drop(builder, y, in) : y,
                  residual);
}

gb_tensor nn_layer_project(gb_builder *builder, const gb_batch_inputs *in, gb_tensor x,
                           uint32_t weight, uint32_t bias, gb_tensor residual)
{
    if (builder->dropout <= 0)
        return gb_linear(builder->tape, x, p(builder, weight), p(builder, bias), false, residual);
    gb_tensor y =
        gb_linear(builder->tape, x, p(builder, weight), p(builder, bias), false, GB_NO_TENSOR);
    return nn_layer_add(builder, in, y, residual);
}

gb_attention_params nn_layer_attention(gb_builder *builder, const gb_block *block,
                                       const gb_batch_inputs *in)
{
    return (gb_attention_params){.heads = block->heads,
                                 .bits = GB_NO_TENSOR,
                                 .max_length = builder->max_length,
                                 .dropout = builder->attention_dropout,
                                 .dropout_index =
                                     builder->attention_dropout > 0 ? ++builder->dropouts : 0,
                                 .selected = in->selected};
}

/* Attention with a bias by distance, of qkv [R, 3H]. Nothing is dropped. */
static gb_tensor attend_by_distance(gb_builder *builder, const gb_block *block,
                                    const gb_batch_inputs *in, gb_tensor qkv)
{
    gb_tape *tape = builder->tape;
    uint32_t h = block->hidden;
    gb_tensor bias = gb_lookup_rows(tape, p(builder, block->distance_bias), in->buckets,
                                    in->by_bucket, GB_NO_TENSOR);
    const gb_attention_gqa_params params = {.heads = block->heads,
                                            .kv_heads = block->heads,
                                            .head_dim = h / block->heads,
                                            .scale = (float)(1 / sqrt(h / block->heads)),
                                            .bias = bias,
                                            .max_q = builder->max_length,
                                            .max_k = builder->max_length};
    return gb_attention_gqa(tape, in->spans, qkv, 0, qkv, h, 2 * h, &params);
}

gb_tensor nn_layer_attend(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                          gb_tensor x, gb_mask_kind mask, uint32_t window)
{
    uint32_t h = block->hidden;
    gb_tensor qkv = gb_linear(builder->tape, x, p(builder, block->qkv_weight),
                              p(builder, block->qkv_bias), false, GB_NO_TENSOR);
    if (in->spanned)
        return attend_by_distance(builder, block, in, qkv);
    gb_attention_params params = nn_layer_attention(builder, block, in);
    params.mask = mask;
    params.window = window;
    return gb_attention(builder->tape, in->sequences, qkv, 0, qkv, h, 2 * h, h, &params);
}

static bool fill_zeros(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const gb_builder *builder = record;
    float *zeros = gb_executable_input(exec, builder->no_bias, status);
    for (uint32_t c = 0; zeros && c < builder->no_bias_cols; c++)
        zeros[c] = 0;
    return zeros != NULL;
}

/* The bias of norms that have none. */
static gb_tensor no_bias(gb_builder *builder, uint32_t cols)
{
    if (builder->no_bias_cols != cols) {
        builder->no_bias = gb_tape_input(builder->tape, "no bias", GB_F32, 1, cols);
        builder->no_bias_cols = cols;
        gb_tape_fill_by(builder->tape, fill_zeros, builder, sizeof *builder);
    }
    return builder->no_bias;
}

gb_tensor nn_layer_norm(gb_builder *builder, gb_tensor x, uint32_t weight, uint32_t bias)
{
    gb_tensor gamma = p(builder, weight);
    gb_tensor beta = bias == UINT32_MAX
                         ? no_bias(builder, gb_tape_tensor(builder->tape, gamma)->cols)
                         : p(builder, bias);
    return gb_layer_norm(builder->tape, x, gamma, beta, builder->eps);
}

gb_tensor nn_layer_end(gb_builder *builder, uint32_t first, gb_tensor x)
{
    if (builder->recompute)
        gb_tape_layer(builder->tape, first);
    return x;
}

gb_tensor nn_layer_feed_forward(gb_builder *builder, const gb_block *block,
                                const gb_batch_inputs *in, gb_tensor x)
{
    gb_tensor up = gb_linear(builder->tape, x, p(builder, block->up_weight),
                             p(builder, block->up_bias), true, GB_NO_TENSOR);
    return nn_layer_norm(builder,
                         nn_layer_project(builder, in, up, block->down_weight, block->down_bias, x),
                         block->norm2_weight, block->norm2_bias);
}

/* What follows on attention a, over x. */
static gb_tensor block_rest(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                            gb_tensor a, gb_tensor x)
{
    x = nn_layer_project(builder, in, a, block->out_weight, block->out_bias, x);
    x = nn_layer_norm(builder, x, block->norm1_weight, block->norm1_bias);
    return nn_layer_feed_forward(builder, block, in, x);
}

gb_tensor gb_block_apply(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                         gb_tensor x)
{
    uint32_t first = gb_tape_node_count(builder->tape);
    gb_tensor a = nn_layer_attend(builder, block, in, x, GB_MASK_NONE, 0);
    return nn_layer_end(builder, first, block_rest(builder, block, in, a, x));
}

/* The layer of the rows that are read, which attend to all rows [in->read.count, H]. */
static gb_tensor apply_read(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                            gb_tensor x)
{
    gb_tape *tape = builder->tape;
    uint32_t h = block->hidden;
    gb_tensor weights[2], biases[2]; /* of queries; of keys and values */
    gb_batch_inputs rows = *in;
    rows.sequences = in->read_sequences;
    rows.selected = true;
    if (in->spanned) { /* a query's place counts, which is not known of selected rows */
        gb_tensor all = nn_layer_attend(builder, block, in, x, GB_MASK_NONE, 0);
        gb_tensor a = gb_selection_gather(builder, all, &in->read);
        return block_rest(builder, block, &rows, a, gb_selection_gather(builder, x, &in->read));
    }
    gb_cut(tape, p(builder, block->qkv_weight), h, weights);
    gb_cut(tape, p(builder, block->qkv_bias), h, biases);
    gb_tensor kv = gb_linear(tape, x, weights[1], biases[1], false, GB_NO_TENSOR);
    x = gb_selection_gather(builder, x, &in->read);
    gb_tensor q = gb_linear(tape, x, weights[0], biases[0], false, GB_NO_TENSOR);
    gb_attention_params params = nn_layer_attention(builder, block, &rows);
    gb_tensor a = gb_attention(tape, rows.sequences, q, 0, kv, 0, h, h, &params);
    return block_rest(builder, block, &rows, a, x);
}

gb_tensor gb_block_apply_last(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                              gb_tensor x)
{
    if (!in->read.count)
        return gb_block_apply(builder, block, in, x);
    uint32_t first = gb_tape_node_count(builder->tape);
    x = apply_read(builder, block, in, x);
    x = gb_gather_rows(builder->tape, x, in->read.inverse, in->read.index);
    return nn_layer_end(builder, first, x);
}

/* Sum of the vectors of words, positions and token types. */
static gb_tensor sum_embeddings(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in)
{
    gb_tape *tape = builder->tape;
    gb_tensor word = p(builder, bert->word);
    if (bert->config.theta > 0)
        return gb_lookup_rows(tape, word, in->ids, in->by_id, GB_NO_TENSOR);
    gb_tensor position = p(builder, bert->position);
    bool types = bert->config.type_vocab_size > 0;
    if (types && !in->pairs)
        return gb_embed(tape, in->ids, in->positions, in->by_id, in->by_position, word, position,
                        p(builder, bert->type));
    gb_tensor x = gb_lookup_rows(tape, position, in->positions, in->by_position, GB_NO_TENSOR);
    x = gb_lookup_rows(tape, word, in->ids, in->by_id, x);
    return types ? gb_lookup_rows(tape, p(builder, bert->type), in->segments, in->by_segment, x)
                 : x;
}

gb_tensor gb_bert_embed(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in)
{
    gb_tensor x = sum_embeddings(builder, bert, in);
    return nn_layer_drop(builder, nn_layer_norm(builder, x, bert->norm_weight, bert->norm_bias),
                         in);
}

gb_tensor gb_bert_layer(gb_builder *builder, const gb_bert *bert, uint32_t index,
                        const gb_batch_inputs *in, gb_tensor x)
{
    const gb_block *block = &bert->blocks[index];
    return bert->config.theta > 0 ? nn_modern_apply(builder, block, in, x)
                                  : gb_block_apply(builder, block, in, x);
}

gb_tensor gb_bert_end(gb_builder *builder, const gb_bert *bert, gb_tensor x)
{
    return bert->config.theta > 0 ? nn_layer_norm(builder, x, bert->final_norm, UINT32_MAX) : x;
}

/* Input of the last layer; middle as in gb_bert_encode, if it is not behind it. */
static gb_tensor encode_before_last(gb_builder *builder, const gb_bert *bert,
                                    const gb_batch_inputs *in, uint32_t middle_layer,
                                    gb_tensor *middle)
{
    gb_tensor x = gb_bert_embed(builder, bert, in);
    for (uint32_t l = 0; l < bert->config.layers; l++) {
        if (middle && l == middle_layer)
            *middle = x;
        if (l + 1 < bert->config.layers)
            x = gb_bert_layer(builder, bert, l, in, x);
    }
    return x;
}

/* The last layer and what follows, of the rows that are read. */
static gb_tensor encode_read(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in,
                             gb_tensor x)
{
    const gb_block *last = &bert->blocks[bert->config.layers - 1];
    return bert->config.theta > 0 ? gb_bert_end(builder, bert, nn_modern_read(builder, last, in, x))
                                  : apply_read(builder, last, in, x);
}

gb_tensor gb_bert_encode(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in,
                         uint32_t middle_layer, gb_tensor *middle)
{
    uint32_t last = bert->config.layers - 1;
    gb_tensor x = encode_before_last(builder, bert, in, middle_layer, middle);
    if (middle && middle_layer > last) /* all of it is read */
        return *middle = gb_bert_end(builder, bert, gb_bert_layer(builder, bert, last, in, x));
    if (!in->read.count)
        return gb_bert_end(builder, bert, gb_bert_layer(builder, bert, last, in, x));
    uint32_t first = gb_tape_node_count(builder->tape);
    x = encode_read(builder, bert, in, x);
    x = gb_gather_rows(builder->tape, x, in->read.inverse, in->read.index);
    return nn_layer_end(builder, first, x);
}

gb_tensor gb_bert_encode_rows(gb_builder *builder, const gb_bert *bert, const gb_batch_inputs *in)
{
    return encode_read(builder, bert, in, encode_before_last(builder, bert, in, 0, NULL));
}

#define CHUNK_LOGITS (16u << 20)

uint32_t gb_chunk_rows(uint32_t vocab_size)
{
    uint32_t chunk = CHUNK_LOGITS / vocab_size;
    return chunk ? chunk : 1;
}

gb_tensor gb_bert_head_states(gb_builder *builder, const gb_bert *bert, gb_tensor h)
{
    gb_tensor bias =
        bert->transform_bias == UINT32_MAX ? GB_NO_TENSOR : p(builder, bert->transform_bias);
    gb_tensor t =
        gb_linear(builder->tape, h, p(builder, bert->transform_weight), bias, true, GB_NO_TENSOR);
    return nn_layer_norm(builder, t, bert->head_norm_weight, bert->head_norm_bias);
}

gb_tensor gb_bert_mlm_loss(gb_builder *builder, const gb_bert *bert, gb_tensor h, gb_tensor labels,
                           gb_tensor weights)
{
    gb_tensor t = gb_bert_head_states(builder, bert, h);
    return gb_vocabulary_loss(builder->tape, t, p(builder, bert->word), p(builder, bert->head_bias),
                              labels, weights, gb_chunk_rows(bert->config.vocab_size));
}

gb_tensor gb_bert_mlm_sample(gb_builder *builder, const gb_bert *bert, gb_tensor h,
                             gb_tensor sequences)
{
    gb_tensor t = gb_bert_head_states(builder, bert, h);
    return gb_vocabulary_sample(builder->tape, t, p(builder, bert->word),
                                p(builder, bert->head_bias), sequences,
                                gb_chunk_rows(bert->config.vocab_size));
}
