/* T5 (Raffel et al., 2020) and LLaMA (Touvron et al., 2023) on a tape. */
#include <gabbro/lm.h>

#include <math.h>
#include <stdlib.h>

static gb_tensor p(gb_tape *tape, uint32_t index)
{
    return gb_tape_param(tape, index);
}

/* ---- inputs ---- */

static gb_row_index order_if(gb_tape *tape, const char *name, uint32_t entries, uint32_t rows,
                             bool wanted)
{
    return wanted ? gb_row_index_input(tape, name, entries, rows)
                  : (gb_row_index){GB_NO_TENSOR, GB_NO_TENSOR};
}

gb_lm_rows gb_lm_rows_declare(gb_tape *tape, const gb_lm *lm, bool encoder, uint32_t rows,
                              uint32_t sequences, uint32_t max_length, bool gradients)
{
    const gb_lm_config *c = &lm->config;
    bool t5 = c->kind == GB_LM_T5;
    gb_lm_rows in = {.ids = gb_tape_input(tape, "ids", GB_U32, 1, rows),
                     .by_id = order_if(tape, "by id", c->vocab_size, rows, gradients),
                     .spans = gb_tape_input(tape, "spans", GB_U32, sequences, 4),
                     .rotary = GB_NO_TENSOR,
                     .buckets = GB_NO_TENSOR,
                     .cache_row = GB_NO_TENSOR,
                     .rows = rows,
                     .sequences = sequences,
                     .max_length = max_length,
                     .encoder = encoder};
    if (t5) {
        in.buckets = gb_tape_input(tape, "buckets", GB_U32, 1, 2 * max_length - 1);
        in.by_bucket = order_if(tape, "by bucket", c->buckets, 2 * max_length - 1, gradients);
    } else {
        in.rotary = gb_tape_input(tape, "rotary angles", GB_F32, rows, c->head_dim);
    }
    if (lm->slots && !encoder)
        in.cache_row = gb_tape_input(tape, "kept at", GB_U32, 1, rows);
    return in;
}

static bool fill_words(gb_executable *exec, gb_tensor input, const uint32_t *values, size_t count,
                       gb_status *status)
{
    if (input == GB_NO_TENSOR)
        return true;
    uint32_t *to = gb_executable_input(exec, input, status);
    for (size_t i = 0; to && i < count; i++)
        to[i] = values[i];
    return to != NULL;
}

static bool fill_places(gb_executable *exec, const gb_lm_rows *in, const gb_lm *lm,
                        const uint32_t *positions, gb_status *status)
{
    const gb_lm_config *c = &lm->config;
    if (in->rotary != GB_NO_TENSOR) {
        float *rotary = gb_executable_input(exec, in->rotary, status);
        for (uint32_t r = 0; rotary && r < in->rows; r++)
            gb_rotary_fill(c->theta, c->head_dim, positions[r], rotary + (size_t)r * c->head_dim);
        return rotary != NULL;
    }
    uint32_t *buckets = gb_executable_input(exec, in->buckets, status);
    if (!buckets)
        return false;
    for (uint32_t r = 0; r < 2 * in->max_length - 1; r++)
        buckets[r] = gb_distance_bucket((int32_t)r - (int32_t)in->max_length + 1, in->encoder,
                                        c->buckets, c->farthest);
    return gb_row_index_fill(exec, &in->by_bucket, buckets, 2 * in->max_length - 1, c->buckets,
                             status);
}

bool gb_lm_rows_fill(gb_executable *exec, const gb_lm_rows *in, const gb_lm *lm,
                     const uint32_t *ids, const uint32_t *positions, const uint32_t *spans,
                     const uint32_t *cache_row, gb_status *status)
{
    return fill_words(exec, in->ids, ids, in->rows, status) &&
           gb_row_index_fill(exec, &in->by_id, ids, in->rows, lm->config.vocab_size, status) &&
           fill_words(exec, in->spans, spans, (size_t)in->sequences * 4, status) &&
           fill_words(exec, in->cache_row, cache_row, in->rows, status) &&
           fill_places(exec, in, lm, positions, status);
}

/* ---- layers ---- */

/* x W^T (+ residual). */
static gb_tensor linear(gb_tape *tape, const gb_lm *lm, gb_tensor x, uint32_t weight,
                        gb_tensor residual)
{
    return lm->quant ? gb_quant_linear(tape, x, gb_tape_param(tape, weight), lm->quant, residual)
                     : gb_linear(tape, x, p(tape, weight), GB_NO_TENSOR, false, residual);
}

/* What the layers of one list of rows share. */
typedef struct stack {
    gb_tape *tape;               /* program */
    const gb_lm *lm;             /* the model */
    const gb_lm_rows *in;        /* the rows */
    gb_tensor bias;              /* [2 longest - 1, heads], or none */
    gb_tensor encoded;           /* the encoder's rows, or none */
    gb_tensor cross_spans;       /* places in them */
    uint32_t max_encoded_length; /* most of them for a text */
} stack;

static gb_tensor normed(const stack *s, gb_tensor x, uint32_t gamma)
{
    return gb_rms_norm(s->tape, x, p(s->tape, gamma), (float)s->lm->config.eps);
}

static gb_tensor product(const stack *s, gb_tensor x, uint32_t weight)
{
    return linear(s->tape, s->lm, x, weight, GB_NO_TENSOR);
}

/* W_o (attention) + x. */
static gb_tensor attended(const stack *s, gb_tensor spans, gb_tensor q, gb_tensor kv, bool cross,
                          uint32_t o, gb_tensor x)
{
    const gb_lm_config *c = &s->lm->config;
    gb_attention_gqa_params params = {
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .head_dim = c->head_dim,
        .scale = c->kind == GB_LM_T5 ? 1 : (float)(1 / sqrt(c->head_dim)),
        .causal = !cross && !s->in->encoder,
        .bias = cross ? GB_NO_TENSOR : s->bias,
        .max_q = s->in->max_length < s->in->rows ? s->in->max_length : s->in->rows,
        .max_k = cross ? s->max_encoded_length : s->in->max_length};
    gb_tensor a = gb_attention_gqa(s->tape, spans, q, 0, kv, 0, c->kv_heads * c->head_dim, &params);
    return linear(s->tape, s->lm, a, o, x);
}

static gb_tensor self_attention(const stack *s, const gb_lm_layer *layer, uint32_t index,
                                gb_tensor x)
{
    const gb_lm_config *c = &s->lm->config;
    gb_tensor h = normed(s, x, layer->norm1);
    gb_tensor q = product(s, h, layer->q), kv = product(s, h, layer->kv);
    if (s->in->rotary != GB_NO_TENSOR) {
        q = gb_rotary(s->tape, q, s->in->rotary, c->head_dim, c->heads * c->head_dim);
        kv = gb_rotary(s->tape, kv, s->in->rotary, c->head_dim, c->kv_heads * c->head_dim);
    }
    if (s->in->cache_row != GB_NO_TENSOR) {
        gb_tensor cache = gb_tape_param(s->tape, s->lm->self_cache[index]);
        gb_put_rows(s->tape, cache, kv, s->in->cache_row);
        kv = cache;
    }
    return attended(s, s->in->spans, q, kv, false, layer->o, x);
}

static gb_tensor cross_attention(const stack *s, const gb_lm_layer *layer, uint32_t index,
                                 gb_tensor x)
{
    gb_tensor q = product(s, normed(s, x, layer->cross_norm), layer->cross_q);
    gb_tensor kv = s->encoded == GB_NO_TENSOR ? gb_tape_param(s->tape, s->lm->cross_cache[index])
                                              : product(s, s->encoded, layer->cross_kv);
    return attended(s, s->cross_spans, q, kv, true, layer->cross_o, x);
}

static gb_tensor feed_forward(const stack *s, const gb_lm_layer *layer, gb_tensor x)
{
    static const gb_act acts[] = {[GB_LM_RELU] = GB_ACT_RELU,
                                  [GB_LM_GELU] = GB_ACT_GELU,
                                  [GB_LM_GELU_TANH] = GB_ACT_GELU_TANH,
                                  [GB_LM_SILU] = GB_ACT_SILU};
    const gb_lm_config *c = &s->lm->config;
    gb_tensor up = product(s, normed(s, x, layer->norm2), layer->up);
    return linear(s->tape, s->lm, gb_gate(s->tape, up, acts[c->act], c->gated), layer->down, x);
}

/* The rows of the words, and the bias by distance. */
static gb_tensor begin(stack *s, uint32_t bias)
{
    s->bias = s->in->buckets == GB_NO_TENSOR
                  ? GB_NO_TENSOR
                  : gb_lookup_rows(s->tape, p(s->tape, bias), s->in->buckets, s->in->by_bucket,
                                   GB_NO_TENSOR);
    const gb_lm *lm = s->lm;
    return lm->quant ? gb_quant_lookup(s->tape, gb_tape_param(s->tape, lm->word), lm->quant,
                                       lm->config.hidden_size, s->in->ids)
                     : gb_lookup_rows(s->tape, p(s->tape, lm->word), s->in->ids, s->in->by_id,
                                      GB_NO_TENSOR);
}

gb_tensor gb_lm_encode(gb_tape *tape, const gb_lm *lm, const gb_lm_rows *in)
{
    stack s = {.tape = tape, .lm = lm, .in = in};
    gb_tensor x = begin(&s, lm->encoder_bias);
    for (uint32_t l = 0; l < lm->config.layers; l++)
        x = feed_forward(&s, &lm->encoder[l], self_attention(&s, &lm->encoder[l], l, x));
    return normed(&s, x, lm->encoder_norm);
}

void gb_lm_cache_write(gb_tape *tape, const gb_lm *lm, gb_tensor encoded, gb_tensor cache_row)
{
    for (uint32_t l = 0; l < lm->config.decoder_layers; l++) {
        gb_tensor kv = linear(tape, lm, encoded, lm->decoder[l].cross_kv, GB_NO_TENSOR);
        gb_put_rows(tape, gb_tape_param(tape, lm->cross_cache[l]), kv, cache_row);
    }
}

gb_tensor gb_lm_decode(gb_tape *tape, const gb_lm *lm, const gb_lm_rows *in, gb_tensor encoded,
                       gb_tensor cross_spans, uint32_t max_encoded_length)
{
    stack s = {.tape = tape,
               .lm = lm,
               .in = in,
               .encoded = encoded,
               .cross_spans = cross_spans,
               .max_encoded_length = max_encoded_length};
    gb_tensor x = begin(&s, lm->decoder_bias);
    for (uint32_t l = 0; l < lm->config.decoder_layers; l++) {
        const gb_lm_layer *layer = &lm->decoder[l];
        x = self_attention(&s, layer, l, x);
        if (lm->config.layers)
            x = cross_attention(&s, layer, l, x);
        x = feed_forward(&s, layer, x);
    }
    return normed(&s, x, lm->decoder_norm);
}

/* What the output matrix takes: tied to the embeddings of T5 it wants smaller states. */
static gb_tensor scaled(gb_tape *tape, const gb_lm *lm, gb_tensor states)
{
    const gb_lm_config *c = &lm->config;
    return c->kind == GB_LM_T5 && c->tied
               ? gb_scale(tape, states, (float)(1 / sqrt(c->hidden_size)))
               : states;
}

gb_tensor gb_lm_logits(gb_tape *tape, const gb_lm *lm, gb_tensor states)
{
    return linear(tape, lm, scaled(tape, lm, states), lm->output, GB_NO_TENSOR);
}

gb_tensor gb_lm_loss(gb_tape *tape, const gb_lm *lm, const gb_lm_pairs_inputs *in)
{
    gb_tensor encoded = lm->config.layers ? gb_lm_encode(tape, lm, &in->source) : GB_NO_TENSOR;
    gb_tensor states =
        gb_lm_decode(tape, lm, &in->target, encoded, in->cross_spans, in->source.max_length);
    return gb_vocabulary_loss(tape, scaled(tape, lm, states), p(tape, lm->output), GB_NO_TENSOR,
                              in->labels, in->weights, gb_chunk_rows(lm->config.vocab_size));
}
