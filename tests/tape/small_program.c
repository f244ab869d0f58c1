#include "small_program.h"

#include <criterion/criterion.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

enum {
    ROWS = 150,  /* tokens of a batch */
    LENGTH = 25, /* of a sequence */
    SEQUENCES = ROWS / LENGTH,
    VOCABULARY = 70,
    HIDDEN = 24,
    FEEDFORWARD = 98, /* no multiple of 4: rows have padding */
    SELECTED = 130    /* rows with a label, or none */
};

static const gb_adamw_params adamw = {.beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f};

static const struct {
    const char *name;
    uint32_t rows, cols;
    bool decay;
} weights[] = {{"word", VOCABULARY, HIDDEN, true},  {"position", LENGTH, HIDDEN, true},
               {"type", 2, HIDDEN, true},           {"gamma", 1, HIDDEN, false},
               {"beta", 1, HIDDEN, false},          {"qkv", 3 * HIDDEN, HIDDEN, true},
               {"qkv bias", 1, 3 * HIDDEN, false},  {"out", HIDDEN, HIDDEN, true},
               {"up", FEEDFORWARD, HIDDEN, true},   {"up bias", 1, FEEDFORWARD, false},
               {"down", HIDDEN, FEEDFORWARD, true}, {"head bias", 1, VOCABULARY, false}};

static gb_tensor operand(const small_program *p, const char *name)
{
    return gb_tape_param(p->tape, gb_params_find(p->params, name));
}

static gb_tensor norm(const small_program *p, gb_tensor x)
{
    return gb_layer_norm(p->tape, x, operand(p, "gamma"), operand(p, "beta"), 1e-12f);
}

static void declare_inputs(small_program *p)
{
    p->ids = gb_tape_input(p->tape, "ids", GB_U32, 1, ROWS);
    p->positions = gb_tape_input(p->tape, "positions", GB_U32, 1, ROWS);
    p->by_id = gb_row_index_input(p->tape, "by id", VOCABULARY, ROWS);
    p->by_position = gb_row_index_input(p->tape, "by position", LENGTH, ROWS);
    p->sequences = gb_sequences_input(p->tape, "sequences", SEQUENCES);
    p->index = gb_tape_input(p->tape, "index", GB_U32, 1, SELECTED);
    p->inverse = gb_tape_input(p->tape, "inverse", GB_U32, 1, ROWS);
    p->labels = gb_tape_input(p->tape, "labels", GB_U32, SELECTED, 1);
    p->weights = gb_tape_input(p->tape, "weights", GB_F32, SELECTED, 1);
}

small_program small_program_make(bool training)
{
    gb_status status = {0};
    small_program p = {.params = gb_params_create(&status)};
    MUST(p.params);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        gb_init init = strcmp(weights[i].name, "gamma") ? GB_INIT_NORMAL : GB_INIT_ONES;
        const gb_param_spec spec = {.name = weights[i].name,
                                    .kind = weights[i].decay ? GB_PARAM_MATRIX : GB_PARAM_VECTOR,
                                    .rows = weights[i].rows,
                                    .cols = weights[i].cols,
                                    .init = init,
                                    .init_std = 0.2f};
        MUST(gb_params_add(p.params, &spec, &status) != UINT32_MAX);
    }
    gb_params_freeze(p.params);
    MUST(p.tape = gb_tape_create(p.params, "small", &status));
    declare_inputs(&p);
    gb_tensor h = gb_embed(p.tape, p.ids, p.positions, p.by_id, p.by_position, operand(&p, "word"),
                           operand(&p, "position"), operand(&p, "type"));
    h = gb_dropout(p.tape, norm(&p, h), 0.1f, 0, p.sequences, false);
    gb_tensor qkv =
        gb_linear(p.tape, h, operand(&p, "qkv"), operand(&p, "qkv bias"), false, GB_NO_TENSOR);
    gb_attention_params attention = {.heads = 2,
                                     .max_length = LENGTH,
                                     .dropout = 0.1f,
                                     .dropout_index = 1,
                                     .bits = GB_NO_TENSOR};
    gb_tensor seen =
        gb_attention(p.tape, p.sequences, qkv, 0, qkv, HIDDEN, 2 * HIDDEN, HIDDEN, &attention);
    h = norm(&p, gb_linear(p.tape, seen, operand(&p, "out"), GB_NO_TENSOR, false, h));
    gb_tensor up =
        gb_linear(p.tape, h, operand(&p, "up"), operand(&p, "up bias"), true, GB_NO_TENSOR);
    h = norm(&p, gb_linear(p.tape, up, operand(&p, "down"), GB_NO_TENSOR, false, h));
    h = gb_gather_rows(p.tape, h, p.index, p.inverse);
    p.loss = gb_vocabulary_loss(p.tape, h, operand(&p, "word"), operand(&p, "head bias"), p.labels,
                                p.weights, 64);
    gb_tape_output(p.tape, p.loss);
    p.step = p.norm = GB_NO_TENSOR;
    if (training) {
        MUST(gb_backward(p.tape, p.loss, &status));
        p.step = gb_adamw_input(p.tape, false);
        p.norm = gb_adamw(p.tape, &adamw, p.step);
        gb_tape_output(p.tape, p.norm);
    }
    MUST(gb_tape_ok(p.tape, &status));
    return p;
}

void small_program_free(small_program *p)
{
    gb_tape_destroy(p->tape);
    gb_params_destroy(p->params);
}

static void *input_of(gb_executable *exec, gb_tensor tensor)
{
    gb_status status = {0};
    void *input = gb_executable_input(exec, tensor, &status);
    MUST(input);
    return input;
}

void small_program_fill(const small_program *p, gb_executable *exec, uint32_t step)
{
    gb_rng rng = gb_rng_make(41, GB_RNG_TEST, step, 0);
    uint32_t *ids = input_of(exec, p->ids), *positions = input_of(exec, p->positions);
    uint32_t *sequences = input_of(exec, p->sequences), *index = input_of(exec, p->index);
    uint32_t *inverse = input_of(exec, p->inverse), *labels = input_of(exec, p->labels);
    float *loss_weights = input_of(exec, p->weights);
    for (uint32_t i = 0; i < ROWS; i++) {
        ids[i] = gb_rng_below(&rng, VOCABULARY);
        positions[i] = i % LENGTH;
        inverse[i] = GB_NO_ROW;
    }
    gb_row_index_sort(ids, ROWS, VOCABULARY, input_of(exec, p->by_id.starts),
                      input_of(exec, p->by_id.order));
    gb_row_index_sort(positions, ROWS, LENGTH, input_of(exec, p->by_position.starts),
                      input_of(exec, p->by_position.order));
    sequences[0] = 7;
    sequences[1] = 0;
    sequences[2] = step;
    sequences[3] = 0;
    for (uint32_t s = 0; s <= SEQUENCES; s++)
        sequences[GB_SEQUENCES_HEADER + s] = s * LENGTH;
    for (uint32_t i = 0; i < SELECTED; i++) {
        index[i] = i % 9 == 8 ? GB_NO_ROW : (i * 7 + step) % ROWS; /* 7 and 150 share no factor */
        labels[i] = index[i] == GB_NO_ROW ? GB_NO_ROW : ids[index[i]];
        loss_weights[i * 4] = 1.0f / SELECTED;
        if (index[i] != GB_NO_ROW)
            inverse[index[i]] = i;
    }
    if (p->step != GB_NO_TENSOR)
        gb_adamw_fill(&adamw, step, 1e-3f, 0.5f, input_of(exec, p->step));
}
