/* The programs of the self-test: small ones, each run on the device and in float64. */
#include "check.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 3
#define BEST  5

static gb_tensor operand(check *c, const char *name)
{
    return gb_tape_param(c->tape, gb_params_find(c->params, name));
}

static filled *input(check *c, const char *name, gb_type type, uint32_t rows, uint32_t cols)
{
    filled *f = &c->inputs[c->input_count++];
    f->tensor = gb_tape_input(c->tape, name, type, rows, cols);
    return f;
}

static gb_tensor lengths(check *c)
{
    static const uint32_t starts[] = {0, 9, 10, CHECK_ROWS};
    filled *f = &c->inputs[c->input_count++];
    f->tensor = gb_sequences_input(c->tape, "sequences", TEXTS);
    memcpy(f->words + GB_SEQUENCES_HEADER, starts, sizeof starts);
    return f->tensor;
}

static void labels(check *c, uint32_t classes, gb_tensor *label, gb_tensor *weight)
{
    filled *l = input(c, "labels", GB_U32, CHECK_ROWS, 1);
    for (uint32_t r = 0; r < CHECK_ROWS; r++)
        l->words[r] = r % 6 == 5 ? GB_NO_ROW : r * 5 % classes;
    *label = l->tensor;
    *weight = operand(c, "weights");
}

static gb_tensor product(check *c, gb_matmul_form form)
{
    bool nt = form == GB_NT;
    gb_tensor x = operand(c, "x");
    return form == GB_TN ? gb_matmul(c->tape, form, x, operand(c, "y"))
                         : gb_matmul(c->tape, form, x, operand(c, nt ? "w" : "square"));
}

static gb_tensor build_nn(check *c)
{
    return product(c, GB_NN);
}
static gb_tensor build_nt(check *c)
{
    return product(c, GB_NT);
}
static gb_tensor build_tn(check *c)
{
    return product(c, GB_TN);
}

/* More than one tile each way. */
static gb_tensor build_wide(check *c)
{
    return gb_matmul(c->tape, GB_TN, operand(c, "qkv"), operand(c, "qkv"));
}

static gb_tensor build_split(check *c)
{
    return gb_matmul(c->tape, GB_TN, operand(c, "long"), operand(c, "long"));
}

/* Both gradients are added to older sums. */
static gb_tensor build_again(check *c)
{
    return gb_add(c->tape, product(c, GB_NT), product(c, GB_NT));
}

/* All forms with all they can do but adding to older sums; no size is a multiple of a tile. */
static gb_tensor build_layer(check *c)
{
    return gb_linear(c->tape, operand(c, "x"), operand(c, "w"), operand(c, "word bias"), true,
                     operand(c, "by word"));
}

static gb_tensor build_norm(check *c)
{
    return gb_layer_norm(c->tape, gb_scale(c->tape, operand(c, "x"), 2), operand(c, "gamma"),
                         operand(c, "beta"), 1e-5f);
}

static gb_tensor build_attention(check *c)
{
    gb_attention_params params = {
        .heads = CHECK_HEADS, .bits = GB_NO_TENSOR, .max_length = CHECK_ROWS};
    gb_tensor qkv = operand(c, "qkv");
    return gb_attention(c->tape, lengths(c), qkv, 0, qkv, CHECK_WIDTH, 2 * CHECK_WIDTH, CHECK_WIDTH,
                        &params);
}

/* Heads as BERT's, for which GPUs have kernels of their own, with each mask. */
static gb_tensor attention_of_64(check *c, gb_mask_kind mask)
{
    gb_attention_params params = {
        .heads = 1, .mask = mask, .window = 3, .bits = GB_NO_TENSOR, .max_length = CHECK_ROWS};
    gb_tensor sequences = lengths(c), qkv = operand(c, "qkv of 64");
    if (mask == GB_MASK_BITS) {
        filled *bits = input(c, "bits", GB_U32, CHECK_ROWS, 2);
        uint32_t ld = gb_tape_tensor(c->tape, bits->tensor)->ld;
        for (uint32_t r = 0; r < CHECK_ROWS; r++) /* each sees the first key */
            bits->words[r * ld] = r * 0x9e3779b9u | 1;
        params.bits = bits->tensor;
    }
    return gb_attention(c->tape, sequences, qkv, 0, qkv, 64, 128, 64, &params);
}

static gb_tensor build_attention_64(check *c)
{
    return attention_of_64(c, GB_MASK_NONE);
}
static gb_tensor build_causal_64(check *c)
{
    return attention_of_64(c, GB_MASK_CAUSAL);
}
static gb_tensor build_window_64(check *c)
{
    return attention_of_64(c, GB_MASK_WINDOW);
}
static gb_tensor build_bits_64(check *c)
{
    return attention_of_64(c, GB_MASK_BITS);
}

static gb_tensor build_embed(check *c)
{
    filled *ids = input(c, "ids", GB_U32, 1, CHECK_ROWS),
           *positions = input(c, "positions", GB_U32, 1, CHECK_ROWS);
    gb_row_index by_id = gb_row_index_input(c->tape, "by id", CHECK_WORDS, CHECK_ROWS);
    gb_row_index by_position = gb_row_index_input(c->tape, "by position", CHECK_WORDS, CHECK_ROWS);
    filled *lists = &c->inputs[c->input_count];
    c->input_count += 4;
    lists[0].tensor = by_id.starts;
    lists[1].tensor = by_id.order;
    lists[2].tensor = by_position.starts;
    lists[3].tensor = by_position.order;
    for (uint32_t r = 0; r < CHECK_ROWS; r++) {
        ids->words[r] = r * 7 % CHECK_WORDS;
        positions->words[r] = r % CHECK_WORDS;
    }
    gb_row_index_sort(ids->words, CHECK_ROWS, CHECK_WORDS, lists[0].words, lists[1].words);
    gb_row_index_sort(positions->words, CHECK_ROWS, CHECK_WORDS, lists[2].words, lists[3].words);
    return gb_embed(c->tape, ids->tensor, positions->tensor, by_id, by_position, operand(c, "w"),
                    operand(c, "positions"), operand(c, "types"));
}

static gb_tensor build_softmax(check *c)
{
    gb_tensor label, weight;
    labels(c, CHECK_WIDTH, &label, &weight);
    return gb_softmax_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), label, weight,
                           GB_NO_TENSOR);
}

static gb_tensor build_vocabulary(check *c)
{
    gb_tensor label, weight;
    labels(c, CHECK_WORDS, &label, &weight);
    return gb_vocabulary_loss(c->tape, operand(c, "x"), operand(c, "w"), operand(c, "word bias"),
                              label, weight, 64);
}

static gb_tensor build_set(check *c)
{
    filled *sets = input(c, "sets", GB_U32, CHECK_ROWS, (CHECK_WIDTH + 31) / 32);
    for (uint32_t r = 0; r < CHECK_ROWS; r++) /* row 0 has no target */
        sets->words[r * ((CHECK_WIDTH + 31) / 32)] = r * 0x9e37u & 0xffffu;
    return gb_multilabel_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), sets->tensor,
                              operand(c, "weights"), GB_NO_TENSOR);
}

static gb_tensor build_term_weights(check *c)
{
    gb_tensor weights = gb_term_weights(c->tape, operand(c, "x"), operand(c, "w"),
                                        operand(c, "word bias"), lengths(c), 64);
    return gb_scale(c->tape, weights, 2);
}

static gb_tensor build_preference(check *c)
{
    filled *pairs = input(c, "pairs", GB_U32, CHECK_ROWS, 2);
    for (uint32_t r = 0; r < CHECK_ROWS; r++) {
        pairs->words[2 * r] = r % 6 == 5 ? GB_NO_ROW : r % CHECK_WIDTH;
        pairs->words[2 * r + 1] = (r + 3) % CHECK_WIDTH;
    }
    return gb_preference_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), pairs->tensor,
                              operand(c, "weights"));
}

static gb_tensor build_targets(check *c)
{
    return gb_target_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), operand(c, "y"),
                          operand(c, "weights"), GB_NO_TENSOR);
}

/* LambdaRank's weights on the margins of a teacher. */
static gb_tensor build_pairs(check *c)
{
    filled *positives = input(c, "positives", GB_U32, CHECK_ROWS, (CHECK_WIDTH + 31) / 32);
    for (uint32_t r = 0; r < CHECK_ROWS; r++)
        positives->words[r * ((CHECK_WIDTH + 31) / 32)] = 1u << r % 7 | 1u << r % 5;
    gb_tensor x = gb_scale(c->tape, operand(c, "x"), 3);
    gb_pairs pairs = {.positives = positives->tensor,
                      .weights = operand(c, "y"),
                      .teacher = operand(c, "y"),
                      .ranks = GB_NO_TENSOR};
    pairs.ranks = gb_reciprocal_ranks(c->tape, x, &pairs, CHECK_WIDTH / 2);
    return gb_pair_loss(c->tape, x, &pairs);
}

/* The loss of what each row draws itself. */
static gb_tensor build_sampled(check *c)
{
    gb_tensor x = gb_scale(c->tape, operand(c, "x"), 3);
    gb_tensor drawn = gb_sample_rows(c->tape, x, lengths(c));
    return gb_softmax_loss(c->tape, x, drawn, operand(c, "weights"), GB_NO_TENSOR);
}

static gb_tensor build_normalized(check *c)
{
    gb_tensor x = gb_normalize_rows(c->tape, gb_scale(c->tape, operand(c, "x"), 2));
    return gb_tanh(c->tape, gb_scale(c->tape, x, 3));
}

/* Row r is half of row r and half of the row before it. */
static gb_tensor build_combined(check *c)
{
    gb_sparse in = gb_sparse_input(c->tape, CHECK_ROWS, CHECK_ROWS, 2 * CHECK_ROWS, 2, 2);
    const gb_csr *lists[2] = {&in.there, &in.back};
    for (uint32_t back = 0; back < 2; back++) {
        filled *f = &c->inputs[c->input_count];
        c->input_count += 3;
        f[0].tensor = lists[back]->starts;
        f[1].tensor = lists[back]->order;
        f[2].tensor = lists[back]->weights;
        for (uint32_t r = 0; r < CHECK_ROWS; r++) {
            f[0].words[r + 1] = 2 * (r + 1);
            f[1].words[2 * r] = r;
            f[1].words[2 * r + 1] = (r + (back ? 1 : CHECK_ROWS - 1)) % CHECK_ROWS;
            f[2].words[2 * r] = f[2].words[2 * r + 1] = gb_float_bits(.5f);
        }
    }
    return gb_sparse_matmul(c->tape, gb_scale(c->tape, operand(c, "x"), 2), &in);
}

/* A copy that follows with momentum, and then takes a row. */
static gb_tensor build_followed(check *c)
{
    gb_tensor y = operand(c, "kept");
    filled *momentum = input(c, "momentum", GB_F32, 1, 1),
           *pick = input(c, "pick", GB_U32, 1, CHECK_ROWS);
    momentum->words[0] = gb_float_bits(.75f);
    for (uint32_t r = 0; r < CHECK_ROWS; r++)
        pick->words[r] = r == 2 ? 1 : GB_NO_ROW;
    gb_ema_update(c->tape, y, operand(c, "x"), momentum->tensor);
    gb_replace_rows(c->tape, y, operand(c, "w"), pick->tensor);
    return gb_scale(c->tape, gb_add(c->tape, y, operand(c, "x")), 2);
}

/* Texts that are part of a batch, from its row 5 on. */
static gb_tensor build_microbatch(check *c)
{
    gb_tensor sequences = lengths(c), qkv = operand(c, "qkv");
    gb_attention_params params = {.heads = CHECK_HEADS,
                                  .bits = GB_NO_TENSOR,
                                  .max_length = CHECK_ROWS,
                                  .dropout = .3f,
                                  .dropout_index = 2};
    c->inputs[c->input_count - 1].words[GB_SEQUENCES_HEADER - 1] = 5;
    gb_tensor y = gb_attention(c->tape, sequences, qkv, 0, qkv, CHECK_WIDTH, 2 * CHECK_WIDTH,
                               CHECK_WIDTH, &params);
    return gb_dropout(c->tape, y, .3f, 1, sequences, false);
}

/* The rows of x that are selected, each place's row, and a sequences input of them: every third
 * row; the last text has a place more, which is nobody's. */
#define PLACES ((CHECK_ROWS + 2) / 3 + 1)
static gb_tensor selected_rows(check *c, gb_tensor *sequences)
{
    static const uint32_t starts[] = {0, 9, 10, CHECK_ROWS};
    filled *index = input(c, "index", GB_U32, 1, PLACES),
           *inverse = input(c, "inverse", GB_U32, 1, CHECK_ROWS), *f = &c->inputs[c->input_count++];
    *sequences = f->tensor = gb_selection_input(c->tape, "sequences", TEXTS, PLACES);
    uint32_t *keys = f->words + GB_SEQUENCES_HEADER, *queries = keys + TEXTS + 1,
             *rows = queries + TEXTS + 1;
    for (uint32_t s = 0; s <= TEXTS; s++) {
        keys[s] = starts[s];
        queries[s] = s < TEXTS ? (starts[s] + 2) / 3 : PLACES;
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        bool is_row = 3 * i < CHECK_ROWS;
        index->words[i] = is_row ? 3 * i : GB_NO_ROW;
        rows[i] = is_row ? 3 * i : 1;
    }
    for (uint32_t r = 0; r < CHECK_ROWS; r++)
        inverse->words[r] = r % 3 ? GB_NO_ROW : r / 3;
    return gb_gather_rows(c->tape, operand(c, "x"), index->tensor, inverse->tensor);
}

static gb_tensor build_selected(check *c)
{
    gb_tensor sequences, q = selected_rows(c, &sequences);
    gb_attention_params params = {.heads = CHECK_HEADS,
                                  .bits = GB_NO_TENSOR,
                                  .max_length = CHECK_ROWS,
                                  .dropout = .3f,
                                  .dropout_index = 2,
                                  .selected = true};
    gb_tensor y = gb_attention(c->tape, sequences, q, 0, operand(c, "kv"), 0, CHECK_WIDTH,
                               CHECK_WIDTH, &params);
    return gb_dropout(c->tape, y, .3f, 1, sequences, true);
}

static gb_tensor build_cut(check *c)
{
    gb_tensor parts[2];
    gb_cut(c->tape, operand(c, "x"), 5, parts);
    return gb_matmul(c->tape, GB_NT, parts[0], parts[1]);
}

static gb_tensor build_dropout(check *c)
{
    return gb_dropout(c->tape, gb_scale(c->tape, operand(c, "x"), 2), .3f, 1, lengths(c), false);
}

/* Every row but the first, backwards. */
static gb_tensor build_gather(check *c)
{
    filled *index = input(c, "index", GB_U32, 1, CHECK_ROWS),
           *inverse = input(c, "inverse", GB_U32, 1, CHECK_ROWS);
    for (uint32_t r = 0; r < CHECK_ROWS; r++)
        index->words[r] = inverse->words[r] = r ? CHECK_ROWS - r : GB_NO_ROW;
    return gb_gather_rows(c->tape, gb_scale(c->tape, operand(c, "x"), 2), index->tensor,
                          inverse->tensor);
}

static gb_tensor update(check *c, bool scaled)
{
    static const gb_adamw_params params = {.9f, .999f, 1e-8f, .01f};
    filled *f = &c->inputs[c->input_count++];
    f->tensor = gb_adamw_input(c->tape, scaled);
    gb_adamw_fill(&params, 1, .1f, 1, (float *)(void *)f->words);
    f->words[GB_ADAMW_UNSCALE] = gb_float_bits(.125f);
    return gb_adamw(c->tape, &params, f->tensor);
}

static gb_tensor build_adamw(check *c)
{
    return update(c, false);
}

static gb_tensor build_adamw_scaled(check *c)
{
    return update(c, true);
}

static gb_tensor build_top_k(check *c)
{
    gb_tensor values, columns;
    gb_top_k(c->tape, gb_scale(c->tape, operand(c, "x"), 1), BEST, &values, &columns);
    c->outputs[1] = columns;
    c->indices = true;
    return values;
}

/* Queries and passages of tokens with three tags. */
static gb_tensor build_max_sim(check *c)
{
    static const uint32_t starts[] = {0, 9, 10, CHECK_ROWS};
    gb_max_sim_input in = gb_max_sim_declare(c->tape, TEXTS, CHECK_ROWS, TEXTS, CHECK_ROWS);
    const gb_tensor tensors[] = {in.query_starts, in.passage_starts, in.query_tags,
                                 in.passage_tags};
    for (int i = 0; i < 4; i++) {
        filled *f = &c->inputs[c->input_count++];
        f->tensor = tensors[i];
        for (uint32_t r = 0; r < CHECK_ROWS && i >= 2; r++)
            f->words[r] = r % 8 == 7 ? GB_NO_ROW : r % 3;
        if (i < 2)
            memcpy(f->words, starts, sizeof starts);
    }
    return gb_max_sim(c->tape, gb_scale(c->tape, operand(c, "x"), 2),
                      gb_scale(c->tape, operand(c, "y"), 2), &in, false);
}

/* ---- layers of language models ---- */

/* Texts of both lists of rows, those of the keys as long or not. */
static gb_tensor spans(check *c, bool same)
{
    static const uint32_t starts[2][TEXTS + 1] = {{0, 9, 10, CHECK_ROWS}, {0, 20, 27, CHECK_ROWS}};
    filled *f = input(c, "spans", GB_U32, TEXTS, 4);
    for (uint32_t t = 0; t < TEXTS; t++)
        for (uint32_t side = 0; side < 2; side++) {
            const uint32_t *at = &starts[side && !same][t];
            f->words[4 * t + 2 * side] = at[0];
            f->words[4 * t + 2 * side + 1] = at[1] - at[0];
        }
    return f->tensor;
}

/* T5's: over other rows, with a bias by distance. */
static gb_tensor build_attend(check *c)
{
    gb_attention_gqa_params params = {.heads = CHECK_HEADS,
                                      .kv_heads = CHECK_HEADS,
                                      .head_dim = CHECK_HEAD,
                                      .scale = 1,
                                      .bias = gb_scale(c->tape, operand(c, "by distance"), 2),
                                      .max_q = CHECK_ROWS,
                                      .max_k = CHECK_ROWS};
    return gb_attention_gqa(c->tape, spans(c, false), operand(c, "x"), 0, operand(c, "kv"), 0,
                            CHECK_WIDTH, &params);
}

/* LLaMA's: causal, positions by turning, heads that share their keys. */
static gb_tensor build_rotary(check *c)
{
    gb_attention_gqa_params params = {.heads = CHECK_HEADS,
                                      .kv_heads = 1,
                                      .head_dim = CHECK_HEAD,
                                      .scale = .25f,
                                      .causal = true,
                                      .bias = GB_NO_TENSOR,
                                      .max_q = CHECK_ROWS,
                                      .max_k = CHECK_ROWS};
    filled *angles = input(c, "rotary angles", GB_F32, CHECK_ROWS, CHECK_HEAD);
    for (uint32_t r = 0; r < CHECK_ROWS; r++) {
        float row[CHECK_HEAD];
        gb_rotary_fill(10000, CHECK_HEAD, r, row);
        for (uint32_t i = 0; i < CHECK_HEAD; i++)
            angles->words[r * CHECK_HEAD + i] = gb_float_bits(row[i]);
    }
    gb_tensor qkv =
        gb_rotary(c->tape, operand(c, "kv"), angles->tensor, CHECK_HEAD, CHECK_WIDTH + CHECK_HEAD);
    return gb_attention_gqa(c->tape, spans(c, true), qkv, 0, qkv, CHECK_WIDTH,
                            CHECK_WIDTH + CHECK_HEAD, &params);
}

static gb_tensor build_gate(check *c)
{
    gb_tensor x = gb_gate(c->tape, operand(c, "kv"), GB_ACT_SILU, true);
    return gb_rms_norm(c->tape, x, operand(c, "gamma"), 1e-6f);
}

/* Rows of a matrix of few bits, times a matrix of few bits. */
static gb_tensor build_quant(check *c, gb_quant quant)
{
    enum { OUT = 16, TAKEN = 18 };
    uint32_t cols = gb_quant_cols(quant, CHECK_WIDTH);
    filled *weight = input(c, "weight", GB_U32, OUT, cols),
           *index = input(c, "index", GB_U32, 1, TAKEN);
    uint32_t ld = gb_tape_tensor(c->tape, weight->tensor)->ld;
    for (uint32_t r = 0; r < OUT; r++) {
        float row[CHECK_WIDTH];
        for (uint32_t i = 0; i < CHECK_WIDTH; i++)
            row[i] = (float)((r * CHECK_WIDTH + i) * 37 % 101) / 50 - 1;
        gb_quant_pack_row(quant, row, CHECK_WIDTH, weight->words + (size_t)r * ld);
    }
    for (uint32_t i = 0; i < TAKEN; i++)
        index->words[i] = i % 7 == 6 ? GB_NO_ROW : i * 5 % OUT;
    gb_tensor x = gb_quant_lookup(c->tape, weight->tensor, quant, CHECK_WIDTH, index->tensor);
    return gb_quant_linear(c->tape, x, weight->tensor, quant, GB_NO_TENSOR);
}

static gb_tensor build_fp16(check *c)
{
    return build_quant(c, GB_QUANT_F16);
}

static gb_tensor build_bf16(check *c)
{
    return build_quant(c, GB_QUANT_BF16);
}

static gb_tensor build_q8(check *c)
{
    return build_quant(c, GB_QUANT_Q8);
}

/* ---- all of them ---- */

/* Compiling is what takes long on a CPU. Stand-ins are tried where no other case has their code,
 * and with all cases once they are in use; what few programs use, and what has no kernel of its own
 * on a CPU, not at a driver's first use. */
// clang-format off
const check_case check_cases[] = {
    {"matmul nn", build_nn, IN_MATRICES},
    {"matmul nt", build_nt, IN_MATRICES},
    {"matmul tn", build_tn, IN_MATRICES},
    {"matmul of several tiles", build_wide, IN_PLAIN | IN_MATRICES},
    {"matmul in parts", build_split, IN_MATRICES},
    {"matmul added to older sums", build_again, ON_GPUS | IN_MATRICES},
    {"linear with bias, GELU, residual", build_layer, IN_BUFFERS | IN_PLAIN | IN_MATRICES},
    {"layer norm", build_norm, IN_BUFFERS | IN_PLAIN},
    {"attention", build_attention, IN_BUFFERS | IN_PLAIN | IN_MATRICES},
    {"attention, a head of 64", build_attention_64, ON_GPUS | IN_MATRICES},
    {"the same, causal", build_causal_64, ON_GPUS | IN_MATRICES},
    {"the same, in a window", build_window_64, ON_GPUS | IN_MATRICES},
    {"the same, masked by bits", build_bits_64, ON_GPUS | IN_MATRICES},
    {"embedding", build_embed, IN_BUFFERS | IN_PLAIN},
    {"softmax loss", build_softmax, IN_BUFFERS | IN_PLAIN | OF_ONE},
    {"vocabulary loss", build_vocabulary, IN_MATRICES | OF_ONE},
    {"loss against sets", build_set, IN_BUFFERS | IN_PLAIN},
    {"term weights", build_term_weights, IN_BUFFERS | IN_PLAIN},
    {"preference loss", build_preference, IN_PLAIN},
    {"loss against probabilities", build_targets, SELDOM},
    {"losses of pairs", build_pairs, SELDOM},
    {"draws from a softmax", build_sampled, IN_PLAIN},
    {"normalised rows, tanh", build_normalized, IN_PLAIN},
    {"attention and dropout of a part", build_microbatch, IN_BUFFERS | IN_PLAIN},
    {"attention and dropout of some rows", build_selected, IN_BUFFERS | IN_PLAIN | IN_MATRICES},
    {"a tensor in two parts", build_cut, 0},
    {"dropout", build_dropout, 0},
    {"gathered rows", build_gather, IN_PLAIN},
    {"combined rows", build_combined, IN_PLAIN},
    {"momentum, replaced rows", build_followed, IN_PLAIN},
    {"AdamW", build_adamw, IN_BUFFERS | NO_GRADIENT},
    {"AdamW of a scaled loss", build_adamw_scaled, IN_BUFFERS | NO_GRADIENT},
    {"late interaction", build_max_sim, IN_BUFFERS | IN_PLAIN},
    {"top-k", build_top_k, IN_PLAIN | NO_GRADIENT},
    {"attention, bias by distance", build_attend, IN_BUFFERS | IN_MATRICES},
    {"rotary positions, shared keys", build_rotary, IN_BUFFERS | IN_MATRICES},
    {"gate, RMS norm", build_gate, IN_BUFFERS | IN_PLAIN},
    {"weights of fp16", build_fp16, SELDOM | NO_GRADIENT},
    {"weights of bf16", build_bf16, SELDOM | NO_GRADIENT},
    {"weights of q8", build_q8, SELDOM | NO_GRADIENT},
};
// clang-format on
const size_t check_case_count = sizeof check_cases / sizeof *check_cases;
