/* ModernBERT (Warner et al., 2024) on a tape: pre-norm layers without biases, with rotary positions
 * and a gated feed-forward part. Of its layers some look at all tokens, the others at those of a
 * window around each. */
#include "layers.h"

#include <string.h>

static gb_tensor p(gb_builder *builder, uint32_t index)
{
    return gb_tape_param(builder->tape, index);
}

bool nn_modern_declare(const layer_scope *scope, gb_block *block, uint32_t index, gb_status *status)
{
    const gb_bert_config *config = scope->config;
    uint32_t h = config->hidden_size, f = config->intermediate_size;
    *block = (gb_block){.qkv_bias = UINT32_MAX,
                        .out_bias = UINT32_MAX,
                        .norm1_weight = UINT32_MAX,
                        .norm1_bias = UINT32_MAX,
                        .up_bias = UINT32_MAX,
                        .down_bias = UINT32_MAX,
                        .norm2_bias = UINT32_MAX,
                        .hidden = h,
                        .heads = config->heads,
                        .distance_bias = UINT32_MAX,
                        .local = index % config->global_every != 0};
    const layer_entry list[] = {
        {"attention.output.LayerNorm.weight", LAYER_SCALE, 1, h, &block->norm1_weight},
        {"attention.self.qkv.weight", LAYER_WEIGHT, 3 * h, h, &block->qkv_weight},
        {"attention.output.dense.weight", LAYER_WEIGHT, h, h, &block->out_weight},
        {"output.LayerNorm.weight", LAYER_SCALE, 1, h, &block->norm2_weight},
        {"intermediate.dense.weight", LAYER_WEIGHT, 2 * f, h, &block->up_weight},
        {"output.dense.weight", LAYER_WEIGHT, h, f, &block->down_weight},
    };
    uint32_t lacks = index == 0; /* the embeddings are normed already */
    return nn_layer_declare(scope, list + lacks, sizeof list / sizeof *list - lacks, status);
}

/* ---- inputs ---- */

typedef struct modern_record {
    gb_batch_inputs in;        /* filled */
    const gb_batch *batch;     /* from */
    double theta, local_theta; /* bases of the angles */
    uint32_t head_dim;         /* numbers of a head */
    uint32_t reach;            /* tokens on each side that a window has */
} modern_record;

/* Angles of every row. Places come again in every text, and so do their angles. */
static void fill_angles(const modern_record *record, double theta, float *angles)
{
    const gb_batch *batch = record->batch;
    uint32_t head = record->head_dim, longest = 0, known = 0; /* first row and length of a text */
    for (uint32_t r = 0; r < record->in.rows; r++) {
        uint32_t place = r < batch->rows ? batch->positions[r] : 0;
        float *own = angles + (size_t)r * head;
        if (place < known) {
            memcpy(own, angles + (size_t)(longest + place) * head, sizeof *own * head);
            continue;
        }
        gb_rotary_fill(theta, head, place, own);
        longest = r - place;
        known = place + 1;
    }
}

/* Bit j of a row: whether it looks at token j of its text. Padding looks at its first token. */
static void fill_window(const modern_record *record, uint32_t *bits, uint32_t words)
{
    const gb_batch *batch = record->batch;
    memset(bits, 0, sizeof *bits * words * record->in.rows);
    for (uint32_t r = batch->rows; r < record->in.rows; r++)
        bits[(size_t)r * words] = 1;
    for (uint32_t s = 0; s < batch->count; s++) {
        uint32_t length = batch->starts[s + 1] - batch->starts[s];
        for (uint32_t i = 0; i < length; i++) {
            uint32_t *row = bits + (size_t)(batch->starts[s] + i) * words;
            uint32_t end = length - i > record->reach ? i + record->reach + 1 : length;
            for (uint32_t j = i > record->reach ? i - record->reach : 0; j < end; j++)
                row[j / 32] |= 1u << (j % 32);
        }
    }
}

static bool fill(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const modern_record *record = record_;
    const gb_batch_inputs *in = &record->in;
    float *angles = gb_executable_input(exec, in->angles, status);
    float *local = angles ? gb_executable_input(exec, in->local_angles, status) : NULL;
    if (!local)
        return false;
    fill_angles(record, record->theta, angles);
    fill_angles(record, record->local_theta, local);
    if (!in->windowed)
        return true;
    uint32_t *bits = gb_executable_input(exec, in->window, status);
    if (bits)
        fill_window(record, bits, gb_tape_tensor(gb_executable_tape(exec), in->window)->ld);
    return bits != NULL;
}

void nn_modern_inputs(gb_builder *builder, const gb_bert_config *config, const gb_batch *batch,
                      gb_batch_inputs *in)
{
    gb_tape *tape = builder->tape;
    uint32_t head = config->hidden_size / config->heads, longest = builder->max_length;
    uint32_t reach = config->window / 2;
    in->angles = gb_tape_input(tape, "rotary angles", GB_F32, in->rows, head);
    in->local_angles = gb_tape_input(tape, "local rotary angles", GB_F32, in->rows, head);
    in->windowed = longest > reach + 1;
    in->window = in->windowed ? gb_tape_input(tape, "window", GB_U32, in->rows, (longest + 31) / 32)
                              : GB_NO_TENSOR;
    const modern_record record = {.in = *in,
                                  .batch = batch,
                                  .theta = config->theta,
                                  .local_theta = config->local_theta,
                                  .head_dim = head,
                                  .reach = reach};
    gb_tape_fill_by(tape, fill, &record, sizeof record);
}

/* ---- layers ---- */

/* What the attention of a layer looks at: its norm, or nothing's of the first layer. */
static gb_tensor normed(gb_builder *builder, const gb_block *block, gb_tensor x)
{
    return block->norm1_weight == UINT32_MAX
               ? x
               : nn_layer_norm(builder, x, block->norm1_weight, UINT32_MAX);
}

static gb_tensor product(gb_builder *builder, gb_tensor x, uint32_t weight, gb_tensor residual)
{
    return gb_linear(builder->tape, x, p(builder, weight), GB_NO_TENSOR, false, residual);
}

/* Attention of all rows x, normed already, to the tokens that the layer looks at. */
static gb_tensor attend(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                        gb_tensor x)
{
    uint32_t h = block->hidden;
    gb_tensor qkv = product(builder, x, block->qkv_weight, GB_NO_TENSOR);
    qkv = gb_rotary(builder->tape, qkv, block->local ? in->local_angles : in->angles,
                    h / block->heads, 2 * h);
    gb_attention_params params = nn_layer_attention(builder, block, in);
    if (block->local && in->windowed) {
        params.mask = GB_MASK_BITS;
        params.bits = in->window;
    }
    return gb_attention(builder->tape, in->sequences, qkv, 0, qkv, h, 2 * h, h, &params);
}

/* What follows on attention a, over x. The rate of what is dropped behind the attention is that of
 * its weights; within the feed-forward part it is dropped before the last product. */
static gb_tensor rest(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                      gb_tensor a, gb_tensor x)
{
    gb_tape *tape = builder->tape;
    if (builder->attention_dropout > 0) {
        gb_tensor out = product(builder, a, block->out_weight, GB_NO_TENSOR);
        x = gb_add(tape,
                   gb_dropout(tape, out, builder->attention_dropout, ++builder->dropouts,
                              in->sequences, in->selected),
                   x);
    } else {
        x = product(builder, a, block->out_weight, x);
    }
    gb_tensor n = nn_layer_norm(builder, x, block->norm2_weight, UINT32_MAX);
    gb_tensor up = product(builder, n, block->up_weight, GB_NO_TENSOR);
    gb_tensor gated = nn_layer_drop(builder, gb_gate(tape, up, GB_ACT_GELU, true), in);
    return product(builder, gated, block->down_weight, x);
}

gb_tensor nn_modern_apply(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                          gb_tensor x)
{
    uint32_t first = gb_tape_node_count(builder->tape);
    gb_tensor a = attend(builder, block, in, normed(builder, block, x));
    return nn_layer_end(builder, first, rest(builder, block, in, a, x));
}

gb_tensor nn_modern_read(gb_builder *builder, const gb_block *block, const gb_batch_inputs *in,
                         gb_tensor x)
{
    gb_tape *tape = builder->tape;
    uint32_t h = block->hidden, head = h / block->heads;
    gb_tensor weights[2],
        n = normed(builder, block, x); /* weights of queries; of keys and values */
    gb_batch_inputs rows = *in;
    rows.sequences = in->read_sequences;
    rows.selected = true;
    if (block->local && in->windowed) { /* windows are those of all rows */
        gb_tensor a = gb_selection_gather(builder, attend(builder, block, in, n), &in->read);
        return rest(builder, block, &rows, a, gb_selection_gather(builder, x, &in->read));
    }
    gb_tensor angles = block->local ? in->local_angles : in->angles;
    gb_cut(tape, p(builder, block->qkv_weight), h, weights);
    gb_tensor kv = gb_linear(tape, n, weights[1], GB_NO_TENSOR, false, GB_NO_TENSOR);
    gb_tensor q = gb_linear(tape, gb_selection_gather(builder, n, &in->read), weights[0],
                            GB_NO_TENSOR, false, GB_NO_TENSOR);
    kv = gb_rotary(tape, kv, angles, head, h);
    q = gb_rotary(tape, q, gb_selection_gather(builder, angles, &in->read), head, h);
    gb_attention_params params = nn_layer_attention(builder, block, &rows);
    gb_tensor a = gb_attention(tape, rows.sequences, q, 0, kv, 0, h, h, &params);
    return rest(builder, block, &rows, a, gb_selection_gather(builder, x, &in->read));
}
