/* The programs of the self-test: small ones, each run on the device and in float64. */
#include <gabbro/diag.h>

#include <gabbro/ops.h>
#include <gabbro/packed.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS   37   /* awkward on purpose: no multiple of a tile */
#define LONG   1100 /* rows of an operand whose products are split */
#define WIDTH  32
#define HEADS  2
#define WORDS  23
#define TEXTS  3
#define BEST   5
#define INPUTS 8
#define HEAD   (WIDTH / HEADS)

/* An input and its words. */
typedef struct filled {
    gb_tensor tensor;            /* which */
    uint32_t words[ROWS * HEAD]; /* u32, or floats by bits */
} filled;

/* A small program being checked. */
typedef struct check {
    gb_params *params;     /* operands */
    gb_tape *tape;         /* program */
    gb_state *state;       /* on the device */
    gb_exec *exec;         /* recorded */
    gb_reference *ref;     /* float64 */
    gb_tensor outputs[2];  /* compared, beside the gradients */
    bool indices;          /* outputs[1] holds column numbers in any order */
    filled inputs[INPUTS]; /* values */
    uint32_t input_count;  /* of them */
} check;

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
    static const uint32_t starts[] = {0, 9, 10, ROWS};
    filled *f = &c->inputs[c->input_count++];
    f->tensor = gb_sequences_input(c->tape, "sequences", TEXTS);
    memcpy(f->words + GB_SEQUENCES_HEADER, starts, sizeof starts);
    return f->tensor;
}

static void labels(check *c, uint32_t classes, gb_tensor *label, gb_tensor *weight)
{
    filled *l = input(c, "labels", GB_U32, ROWS, 1);
    for (uint32_t r = 0; r < ROWS; r++)
        l->words[r] = r % 6 == 5 ? GB_NO_ROW : r * 5 % classes;
    *label = l->tensor;
    *weight = operand(c, "weights");
}

static gb_tensor product(check *c, gb_form form)
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

/* Every third row of a batch. */
static gb_tensor build_norm_picked(check *c)
{
    uint32_t rows[ROWS];
    for (uint32_t r = 0; r < ROWS; r++)
        rows[r] = 3 * r;
    filled *f = &c->inputs[c->input_count++];
    f->tensor = gb_row_blocks_input(c->tape, "blocks", 3 * ROWS);
    gb_row_blocks_fill(rows, ROWS - 1, ROWS, 3 * ROWS, f->words);
    return gb_layer_norm_picked(c->tape, gb_scale(c->tape, operand(c, "x"), 2), operand(c, "gamma"),
                                operand(c, "beta"), 1e-5f, f->tensor);
}

static gb_tensor build_attention(check *c)
{
    gb_attention_params params = {.heads = HEADS, .bits = GB_NO_TENSOR, .longest = ROWS};
    gb_tensor qkv = operand(c, "qkv");
    return gb_attention(c->tape, lengths(c), qkv, 0, qkv, WIDTH, 2 * WIDTH, WIDTH, &params);
}

static gb_tensor build_embed(check *c)
{
    filled *ids = input(c, "ids", GB_U32, 1, ROWS),
           *positions = input(c, "positions", GB_U32, 1, ROWS);
    gb_order by_id = gb_order_input(c->tape, "by id", WORDS, ROWS);
    gb_order by_position = gb_order_input(c->tape, "by position", WORDS, ROWS);
    filled *lists = &c->inputs[c->input_count];
    c->input_count += 4;
    lists[0].tensor = by_id.starts;
    lists[1].tensor = by_id.order;
    lists[2].tensor = by_position.starts;
    lists[3].tensor = by_position.order;
    for (uint32_t r = 0; r < ROWS; r++) {
        ids->words[r] = r * 7 % WORDS;
        positions->words[r] = r % WORDS;
    }
    gb_fill_order(ids->words, ROWS, WORDS, lists[0].words, lists[1].words);
    gb_fill_order(positions->words, ROWS, WORDS, lists[2].words, lists[3].words);
    return gb_embed(c->tape, ids->tensor, positions->tensor, by_id, by_position, operand(c, "w"),
                    operand(c, "positions"), operand(c, "types"));
}

static gb_tensor build_softmax(check *c)
{
    gb_tensor label, weight;
    labels(c, WIDTH, &label, &weight);
    return gb_softmax_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), label, weight,
                           GB_NO_TENSOR);
}

static gb_tensor build_vocabulary(check *c)
{
    gb_tensor label, weight;
    labels(c, WORDS, &label, &weight);
    return gb_vocabulary_loss(c->tape, operand(c, "x"), operand(c, "w"), operand(c, "word bias"),
                              label, weight, 64);
}

static gb_tensor build_set(check *c)
{
    filled *sets = input(c, "sets", GB_U32, ROWS, (WIDTH + 31) / 32);
    for (uint32_t r = 0; r < ROWS; r++) /* row 0 has no target */
        sets->words[r * ((WIDTH + 31) / 32)] = r * 0x9e37u & 0xffffu;
    return gb_set_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), sets->tensor,
                       operand(c, "weights"), GB_NO_TENSOR);
}

static gb_tensor build_preference(check *c)
{
    filled *pairs = input(c, "pairs", GB_U32, ROWS, 2);
    for (uint32_t r = 0; r < ROWS; r++) {
        pairs->words[2 * r] = r % 6 == 5 ? GB_NO_ROW : r % WIDTH;
        pairs->words[2 * r + 1] = (r + 3) % WIDTH;
    }
    return gb_preference_loss(c->tape, gb_scale(c->tape, operand(c, "x"), 3), pairs->tensor,
                              operand(c, "weights"));
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
    gb_combination in = gb_combination_input(c->tape, ROWS, ROWS, 2 * ROWS, 2, 2);
    const gb_lists *lists[2] = {&in.there, &in.back};
    for (uint32_t back = 0; back < 2; back++) {
        filled *f = &c->inputs[c->input_count];
        c->input_count += 3;
        f[0].tensor = lists[back]->starts;
        f[1].tensor = lists[back]->order;
        f[2].tensor = lists[back]->weights;
        for (uint32_t r = 0; r < ROWS; r++) {
            f[0].words[r + 1] = 2 * (r + 1);
            f[1].words[2 * r] = r;
            f[1].words[2 * r + 1] = (r + (back ? 1 : ROWS - 1)) % ROWS;
            f[2].words[2 * r] = f[2].words[2 * r + 1] = gb_float_bits(.5f);
        }
    }
    return gb_combine_rows(c->tape, gb_scale(c->tape, operand(c, "x"), 2), &in);
}

/* A copy that follows with momentum, and then takes a row. */
static gb_tensor build_followed(check *c)
{
    gb_tensor y = gb_untrained_param(c->tape, gb_params_find(c->params, "y"));
    filled *momentum = input(c, "momentum", GB_F32, 1, 1),
           *pick = input(c, "pick", GB_U32, 1, ROWS);
    momentum->words[0] = gb_float_bits(.75f);
    for (uint32_t r = 0; r < ROWS; r++)
        pick->words[r] = r == 2 ? 1 : GB_NO_ROW;
    gb_follow(c->tape, y, operand(c, "x"), momentum->tensor);
    gb_replace_rows(c->tape, y, operand(c, "w"), pick->tensor);
    return gb_scale(c->tape, gb_add(c->tape, y, operand(c, "x")), 2);
}

/* Texts that are part of a batch, from its row 5 on. */
static gb_tensor build_part(check *c)
{
    gb_tensor sequences = lengths(c), qkv = operand(c, "qkv");
    gb_attention_params params = {.heads = HEADS,
                                  .bits = GB_NO_TENSOR,
                                  .longest = ROWS,
                                  .dropout = .3f,
                                  .site = 2,
                                  .part = true};
    c->inputs[c->input_count - 1].words[GB_SEQUENCES_HEADER - 1] = 5;
    gb_tensor y = gb_attention(c->tape, sequences, qkv, 0, qkv, WIDTH, 2 * WIDTH, WIDTH, &params);
    return gb_dropout_part(c->tape, y, .3f, 1, sequences);
}

/* Every third row is a query; the last text has a place more, which is nobody's. */
static gb_tensor build_picked(check *c)
{
    enum { PLACES = (ROWS + 2) / 3 + 1 };
    gb_tensor sequences = lengths(c), qkv = operand(c, "qkv");
    const uint32_t *starts = c->inputs[c->input_count - 1].words + GB_SEQUENCES_HEADER;
    filled *f = &c->inputs[c->input_count++];
    uint32_t *rows = f->words + TEXTS + 1, *places = rows + PLACES;
    f->tensor = gb_picked_input(c->tape, "picked", sequences, PLACES, ROWS);
    for (uint32_t s = 0; s <= TEXTS; s++)
        f->words[s] = s < TEXTS ? (starts[s] + 2) / 3 : PLACES;
    for (uint32_t r = 0; r < ROWS; r++)
        places[r] = r % 3 ? GB_NO_ROW : r / 3;
    for (uint32_t i = 0; i < PLACES; i++)
        rows[i] = 3 * i < ROWS ? 3 * i : 1;
    gb_attention_params params = {.heads = HEADS,
                                  .bits = GB_NO_TENSOR,
                                  .longest = ROWS,
                                  .places = PLACES,
                                  .picked = f->tensor};
    return gb_attention(c->tape, sequences, qkv, 0, qkv, WIDTH, 2 * WIDTH, WIDTH, &params);
}

static gb_tensor build_dropout(check *c)
{
    return gb_dropout(c->tape, gb_scale(c->tape, operand(c, "x"), 2), .3f, 1, lengths(c));
}

/* Every row but the first, backwards. */
static gb_tensor build_gather(check *c)
{
    filled *index = input(c, "index", GB_U32, 1, ROWS),
           *inverse = input(c, "inverse", GB_U32, 1, ROWS);
    for (uint32_t r = 0; r < ROWS; r++)
        index->words[r] = inverse->words[r] = r ? ROWS - r : GB_NO_ROW;
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

/* ---- layers of language models ---- */

/* Texts of both lists of rows, those of the keys as long or not. */
static gb_tensor spans(check *c, bool same)
{
    static const uint32_t starts[2][TEXTS + 1] = {{0, 9, 10, ROWS}, {0, 20, 27, ROWS}};
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
    gb_attend_params params = {.heads = HEADS,
                               .kv_heads = HEADS,
                               .head_dim = HEAD,
                               .scale = 1,
                               .bias = gb_scale(c->tape, operand(c, "by distance"), 2),
                               .longest_q = ROWS,
                               .longest_k = ROWS};
    return gb_attend(c->tape, spans(c, false), operand(c, "x"), 0, operand(c, "kv"), 0, WIDTH,
                     &params);
}

/* LLaMA's: causal, positions by turning, heads that share their keys. */
static gb_tensor build_rotary(check *c)
{
    gb_attend_params params = {.heads = HEADS,
                               .kv_heads = 1,
                               .head_dim = HEAD,
                               .scale = .25f,
                               .causal = true,
                               .bias = GB_NO_TENSOR,
                               .longest_q = ROWS,
                               .longest_k = ROWS};
    filled *turns = input(c, "turns", GB_F32, ROWS, HEAD);
    for (uint32_t r = 0; r < ROWS; r++) {
        float row[HEAD];
        gb_rotary_fill(10000, HEAD, r, row);
        for (uint32_t i = 0; i < HEAD; i++)
            turns->words[r * HEAD + i] = gb_float_bits(row[i]);
    }
    gb_tensor qkv = gb_rotary(c->tape, operand(c, "kv"), turns->tensor, HEAD, WIDTH + HEAD);
    return gb_attend(c->tape, spans(c, true), qkv, 0, qkv, WIDTH, WIDTH + HEAD, &params);
}

static gb_tensor build_gate(check *c)
{
    gb_tensor x = gb_gate(c->tape, operand(c, "kv"), GB_ACT_SILU, true);
    return gb_rms_norm(c->tape, x, operand(c, "gamma"), 1e-6f);
}

/* Rows of a matrix of few bits, times a matrix of few bits. */
static gb_tensor build_packed(check *c, gb_packing packing)
{
    enum { OUT = 16, TAKEN = 18 };
    uint32_t cols = gb_packed_cols(packing, WIDTH);
    filled *weight = input(c, "weight", GB_U32, OUT, cols),
           *index = input(c, "index", GB_U32, 1, TAKEN);
    uint32_t ld = gb_tape_tensor(c->tape, weight->tensor)->ld;
    for (uint32_t r = 0; r < OUT; r++) {
        float row[WIDTH];
        for (uint32_t i = 0; i < WIDTH; i++)
            row[i] = (float)((r * WIDTH + i) * 37 % 101) / 50 - 1;
        gb_pack_row(packing, row, WIDTH, weight->words + (size_t)r * ld);
    }
    for (uint32_t i = 0; i < TAKEN; i++)
        index->words[i] = i % 7 == 6 ? GB_NO_ROW : i * 5 % OUT;
    gb_tensor x = gb_packed_look_up(c->tape, weight->tensor, packing, WIDTH, index->tensor);
    return gb_packed_linear(c->tape, x, weight->tensor, packing, GB_NO_TENSOR);
}

static gb_tensor build_fp16(check *c)
{
    return build_packed(c, GB_PACKED_F16);
}

static gb_tensor build_bf16(check *c)
{
    return build_packed(c, GB_PACKED_BF16);
}

static gb_tensor build_q8(check *c)
{
    return build_packed(c, GB_PACKED_Q8);
}

/* ---- one case ---- */

/* Largest difference from the reference, relative to the largest value of the tensor. */
static double error_of(const float *got, const double *want, uint32_t rows, uint32_t cols,
                       uint32_t ld)
{
    double worst = 0, scale = 1e-3;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < cols; i++)
            scale = fmax(scale, fabs(want[(size_t)r * ld + i]));
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < cols; i++) {
            double error = fabs(got[(size_t)r * ld + i] - want[(size_t)r * ld + i]) / scale;
            worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    return worst;
}

static bool prepare(check *c, gb_device *device, gb_tensor (*build)(check *), gb_status *status)
{
    static const struct {
        const char *name;
        uint32_t rows, cols;
    } operands[] = {{"x", ROWS, WIDTH},
                    {"y", ROWS, WIDTH},
                    {"square", WIDTH, WIDTH},
                    {"w", WORDS, WIDTH},
                    {"gamma", 1, WIDTH},
                    {"beta", 1, WIDTH},
                    {"qkv", ROWS, 3 * WIDTH},
                    {"positions", WORDS, WIDTH},
                    {"types", 2, WIDTH},
                    {"word bias", 1, WORDS},
                    {"weights", ROWS, 1},
                    {"long", LONG, WIDTH},
                    {"by word", ROWS, WORDS},
                    {"kv", ROWS, 2 * WIDTH},
                    {"by distance", 2 * ROWS + 1, HEADS}};
    c->outputs[1] = GB_NO_TENSOR;
    if (!(c->params = gb_params_create(status)))
        return false;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        gb_params_add(c->params, operands[i].name, operands[i].rows, operands[i].cols, true,
                      GB_INIT_NORMAL, .7f, status);
    gb_params_freeze(c->params);
    if (!(c->tape = gb_tape_create(c->params, "check", status)))
        return false;
    c->outputs[0] = build(c);
    for (int o = 0; o < 2; o++)
        if (c->outputs[o] != GB_NO_TENSOR)
            gb_tape_output(c->tape, c->outputs[o]);
    bool differentiable = build != build_adamw && build != build_adamw_scaled &&
                          build != build_top_k && build != build_fp16 && build != build_bf16 &&
                          build != build_q8;
    return gb_tape_ok(c->tape, status) &&
           (!differentiable || gb_backward_from(c->tape, c->outputs[0],
                                                build == build_softmax || build == build_vocabulary
                                                    ? gb_tape_constant(c->tape, 1.0)
                                                    : gb_scale(c->tape, c->outputs[0], 1),
                                                status)) &&
           (c->state = gb_state_create(device, c->params, true, status)) &&
           (c->exec = gb_exec_create(c->state, c->tape, status)) &&
           (c->ref = gb_reference_create(c->tape, status));
}

/* Parameters, and gradients and moments too, to both sides. */
static bool fill(check *c, float *values, uint64_t floats, gb_status *status)
{
    for (int a = 0; a < GB_ARENA_COUNT; a++) {
        gb_params_init(c->params, (uint64_t)a + 1, values);
        if (a == GB_ARENA_MOMENT2)
            for (uint64_t i = 0; i < floats; i++)
                values[i] = fabsf(values[i]);
        if (!gb_state_write(c->state, (gb_arena_id)a, values, status))
            return false;
        double *reference = gb_reference_arena(c->ref, (gb_arena_id)a);
        for (uint64_t i = 0; i < floats; i++)
            reference[i] = values[i];
    }
    for (uint32_t i = 0; i < c->input_count; i++) {
        const gb_tensor_info *info = gb_tape_tensor(c->tape, c->inputs[i].tensor);
        size_t count = (size_t)info->rows * info->ld;
        void *device = gb_exec_input(c->exec, c->inputs[i].tensor, status);
        if (!device)
            return false;
        memcpy(device, c->inputs[i].words, count * 4);
        if (info->type == GB_U32)
            memcpy(gb_reference_u(c->ref, c->inputs[i].tensor), c->inputs[i].words, count * 4);
        for (size_t e = 0; info->type == GB_F32 && e < count; e++)
            gb_reference_f(c->ref, c->inputs[i].tensor)[e] = gb_bits_float(c->inputs[i].words[e]);
    }
    return true;
}

/* Top-k promises no order: sums of the chosen values of each row are compared. */
static double top_k_error(const float *got, const double *want, const gb_tensor_info *info)
{
    double worst = 0;
    for (uint32_t r = 0; r < info->rows; r++) {
        double a = 0, b = 0;
        for (uint32_t i = 0; i < info->cols; i++) {
            a += got[(size_t)r * info->ld + i];
            b += want[(size_t)r * info->ld + i];
        }
        worst = isnan(a - b) ? INFINITY : fmax(worst, fabs(a - b));
    }
    return worst;
}

static bool compare(check *c, float *values, double *worst, gb_status *status)
{
    uint64_t ticket;
    if (!gb_exec_run(c->exec, &ticket, status) || !gb_exec_wait(c->exec, ticket, status))
        return false;
    gb_reference_run(c->ref);
    const gb_tensor_info *info = gb_tape_tensor(c->tape, c->outputs[0]);
    const float *got = gb_exec_output(c->exec, ticket, c->outputs[0], status);
    if (!got)
        return false;
    const double *want = gb_reference_f(c->ref, c->outputs[0]);
    *worst = c->indices ? top_k_error(got, want, info)
                        : error_of(got, want, info->rows, info->cols, info->ld);
    for (int a = GB_ARENA_PARAMS; a <= GB_ARENA_GRADS; a++) {
        if (!gb_state_read(c->state, (gb_arena_id)a, values, status))
            return false;
        for (uint32_t p = 0; p < gb_params_count(c->params); p++) {
            const gb_param *param = gb_params_at(c->params, p);
            *worst =
                fmax(*worst, error_of(values + param->offset,
                                      gb_reference_arena(c->ref, (gb_arena_id)a) + param->offset,
                                      param->rows, param->cols, param->ld));
        }
    }
    return true;
}

/* ---- all of them ---- */

/* Compiling is what takes long on a CPU. Stand-ins are tried where no other case has their code,
 * and with all cases once they are in use; what few programs use, not at a driver's first use. */
static const struct {
    const char *name;             /* for people */
    gb_tensor (*build)(check *);  /* builds the program */
    bool buffers, plain, product; /* tried in these columns too */
    bool seldom;                  /* used */
} cases[SELFTEST_CASES] = {
    {"matmul nn", build_nn, false, false, true, false},
    {"matmul nt", build_nt, false, false, true, false},
    {"matmul tn", build_tn, false, false, true, false},
    {"matmul of several tiles", build_wide, false, true, true, false},
    {"matmul in parts", build_split, false, false, true, false},
    {"linear with bias, GELU, residual", build_layer, true, true, true, false},
    {"layer norm", build_norm, true, true, false, false},
    {"layer norm of some rows", build_norm_picked, true, true, false, false},
    {"attention", build_attention, true, true, false, false},
    {"embedding", build_embed, true, true, false, false},
    {"softmax loss", build_softmax, true, true, false, false},
    {"vocabulary loss", build_vocabulary, false, false, true, false},
    {"loss against sets", build_set, true, true, false, false},
    {"preference loss", build_preference, false, true, false, false},
    {"draws from a softmax", build_sampled, false, true, false, false},
    {"normalised rows, tanh", build_normalized, false, true, false, false},
    {"attention and dropout of a part", build_part, true, true, false, false},
    {"attention of some rows", build_picked, true, true, false, false},
    {"dropout", build_dropout, false, false, false, false},
    {"gathered rows", build_gather, false, true, false, false},
    {"combined rows", build_combined, false, true, false, false},
    {"momentum, replaced rows", build_followed, false, true, false, false},
    {"AdamW", build_adamw, true, false, false, false},
    {"AdamW of a scaled loss", build_adamw_scaled, true, false, false, false},
    {"top-k", build_top_k, false, true, false, false},
    {"attention, bias by distance", build_attend, true, false, false, false},
    {"rotary positions, shared keys", build_rotary, true, false, false, false},
    {"gate, RMS norm", build_gate, true, true, false, false},
    {"weights of fp16", build_fp16, false, false, false, true},
    {"weights of bf16", build_bf16, false, false, false, true},
    {"weights of q8", build_q8, false, false, false, true}};

const char *selftest_case_name(size_t i)
{
    return cases[i].name;
}

bool selftest_case_seldom(size_t i)
{
    return cases[i].seldom;
}

bool selftest_case_in(size_t i, selftest_column column)
{
    return column == SELFTEST_USED || (column == SELFTEST_BUFFERS ? cases[i].buffers
                                       : column == SELFTEST_PLAIN ? cases[i].plain
                                                                  : cases[i].product);
}

bool selftest_case_run(gb_device *device, size_t i, double *worst, gb_status *status)
{
    gb_tensor (*build)(check *) = cases[i].build;
    check *c = gb_alloc(1, sizeof *c, status);
    float *values = NULL;
    bool ok = c && prepare(c, device, build, status) &&
              (values = gb_alloc(gb_params_floats(c->params), sizeof *values, status)) &&
              fill(c, values, gb_params_floats(c->params), status) &&
              compare(c, values, worst, status);
    if (c) {
        gb_reference_destroy(c->ref);
        gb_exec_destroy(c->exec);
        gb_tape_destroy(c->tape);
        gb_state_destroy(c->state);
        gb_params_destroy(c->params);
    }
    free(values);
    free(c);
    return ok;
}
