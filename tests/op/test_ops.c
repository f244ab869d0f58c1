/* Every operation, forward and backward, over awkward shapes, against the float64 reference. */
#include "harness.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 6e-8

/* ---- matrix products ---- */

static void product_case(gb_matmul_form form, uint32_t m, uint32_t n, uint32_t k, bool layer)
{
    program p = program_make();
    program_param(&p, "a", form == GB_TN ? k : m, form == GB_TN ? m : k);
    program_param(&p, "b", form == GB_NT ? n : k, form == GB_NT ? k : n);
    program_param(&p, "bias", 1, n);
    program_param(&p, "residual", m, n);
    program_freeze(&p);
    gb_tensor a = program_operand(&p, "a"), b = program_operand(&p, "b");
    gb_tensor y = layer ? gb_linear(p.tape, a, b, program_operand(&p, "bias"), true,
                                    program_operand(&p, "residual"))
                        : gb_matmul(p.tape, form, a, b);
    check_program(&p, y, NULL, 0, 64 * EPS);
    program_free(&p);
}

typedef struct shape {
    uint32_t m, n, k;
} shape;

ParameterizedTestParameters(ops, products)
{
    static shape shapes[] = {{1, 1, 1},      {3, 5, 7},    {15, 63, 31}, {16, 64, 32},
                             {17, 65, 33},   {1, 128, 64}, {100, 4, 17}, {64, 1071, 8},
                             {40, 64, 1100}, {0, 8, 8},    {8, 8, 0},    {130, 20, 64}};
    return cr_make_param_array(shape, shapes, sizeof shapes / sizeof *shapes);
}

ParameterizedTest(shape *s, ops, products)
{
    product_case(GB_NN, s->m, s->n, s->k, false);
    product_case(GB_NT, s->m, s->n, s->k, false);
    product_case(GB_TN, s->m, s->n, s->k, false);
    product_case(GB_NT, s->m, s->n, s->k, true);
}

Test(ops, layer_chain_fuses_gelu_gradient)
{
    program p = program_make();
    program_param(&p, "x", 37, 24);
    program_param(&p, "w1", 40, 24);
    program_param(&p, "b1", 1, 40);
    program_param(&p, "w2", 24, 40);
    program_freeze(&p);
    gb_tensor h = gb_linear(p.tape, program_operand(&p, "x"), program_operand(&p, "w1"),
                            program_operand(&p, "b1"), true, GB_NO_TENSOR);
    gb_tensor y = gb_linear(p.tape, h, program_operand(&p, "w2"), GB_NO_TENSOR, false,
                            program_operand(&p, "x"));
    check_program(&p, y, NULL, 0, 64 * EPS);
    program_free(&p);
}

/* ---- layer norm ---- */

static void norm_case(uint32_t rows, uint32_t cols)
{
    program p = program_make();
    program_param(&p, "x", rows, cols);
    program_param(&p, "gamma", 1, cols);
    program_param(&p, "beta", 1, cols);
    program_freeze(&p);
    gb_tensor y = gb_layer_norm(p.tape, gb_scale(p.tape, program_operand(&p, "x"), 2),
                                program_operand(&p, "gamma"), program_operand(&p, "beta"), 1e-5f);
    check_program(&p, y, NULL, 0, 200 * EPS);
    program_free(&p);
}

Test(ops, layer_norm)
{
    norm_case(1, 4);
    norm_case(7, 33);
    norm_case(9, 64);
    norm_case(130, 128);
    norm_case(0, 8);
}

/* ---- embedding ---- */

static void embed_case(uint32_t rows, uint32_t vocabulary, uint32_t width)
{
    program p = program_make();
    program_param(&p, "word", vocabulary, width);
    program_param(&p, "position", 12, width);
    program_param(&p, "type", 2, width);
    program_freeze(&p);
    gb_tensor ids = gb_tape_input(p.tape, "ids", GB_U32, 1, rows);
    gb_tensor positions = gb_tape_input(p.tape, "positions", GB_U32, 1, rows);
    gb_row_index by_id = gb_row_index_input(p.tape, "by id", vocabulary, rows);
    gb_row_index by_position = gb_row_index_input(p.tape, "by position", 12, rows);
    uint32_t *id = calloc(rows + 1, 4), *position = calloc(rows + 1, 4),
             *order = calloc(rows + 1, 4);
    uint32_t *order2 = calloc(rows + 1, 4), *starts = calloc(vocabulary + 1, 4), starts2[13];
    gb_rng rng = gb_rng_make(3, GB_RNG_TEST, rows, vocabulary);
    for (uint32_t r = 0; r < rows; r++) {
        id[r] = gb_rng_below(&rng, vocabulary);
        position[r] = r % 12;
    }
    gb_row_index_sort(id, rows, vocabulary, starts, order);
    gb_row_index_sort(position, rows, 12, starts2, order2);
    input_values inputs[] = {{ids, id, NULL},
                             {positions, position, NULL},
                             {by_id.starts, starts, NULL},
                             {by_id.order, order, NULL},
                             {by_position.starts, starts2, NULL},
                             {by_position.order, order2, NULL}};
    gb_tensor y = gb_embed(p.tape, ids, positions, by_id, by_position, program_operand(&p, "word"),
                           program_operand(&p, "position"), program_operand(&p, "type"));
    check_program(&p, y, inputs, 6, 64 * EPS);
    program_free(&p);
    free(id), free(position), free(order), free(order2), free(starts);
}

/* Most tokens of a long batch are the same one. */
Test(ops, embed_frequent_entry)
{
    embed_case(4500, 1, 64);
}

Test(ops, embed)
{
    embed_case(1, 3, 4);
    embed_case(50, 9, 20);
    embed_case(130, 40, 64);
}

/* ---- dropout, rows ---- */

Test(ops, dropout)
{
    program p = program_make();
    program_param(&p, "x", 33, 20);
    program_freeze(&p);
    gb_tensor seq = gb_sequences_input(p.tape, "sequences", 0);
    uint32_t words[] = {99, 1, 12, 5, 0};
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 1.5f);
    gb_tensor y = gb_dropout(p.tape, x, 0.25f, 5, seq, false);
    y = gb_add(p.tape, y, gb_dropout(p.tape, x, 0.5f, 6, seq, false));
    input_values inputs[] = {{seq, words, NULL}};
    check_program(&p, y, inputs, 1, 16 * EPS);
    program_free(&p);
}

/* Rows of a matrix and columns of a vector, with a second gradient of the whole. */
Test(ops, cut)
{
    program p = program_make();
    program_param(&p, "w", 21, 10);
    program_param(&p, "b", 1, 20);
    program_param(&p, "u", 12, 13);
    program_freeze(&p);
    gb_tensor w = gb_scale(p.tape, program_operand(&p, "w"), 2), parts[2], biases[2];
    gb_cut(p.tape, w, 8, parts);
    gb_cut(p.tape, program_operand(&p, "b"), 8, biases);
    gb_tensor y = gb_linear(p.tape, parts[1], parts[0], biases[0], false, GB_NO_TENSOR);
    y = gb_matmul(p.tape, GB_NN, y, parts[0]);
    y = gb_add(p.tape, y, gb_scale(p.tape, parts[1], 3));
    gb_tensor z = gb_matmul(p.tape, GB_NT, w, y); /* [21, 13] */
    y = gb_linear(p.tape, z, program_operand(&p, "u"), biases[1], false, GB_NO_TENSOR);
    check_program(&p, y, NULL, 0, 400 * EPS);
    program_free(&p);
}

/* Layers by both parts of weights and bias, and one by the whole: the parts are used twice. */
static void cut_case(uint32_t first, uint32_t rows, uint32_t cols, bool params)
{
    program p = program_make();
    program_param(&p, "x", 21, cols);
    program_param(&p, "w", rows, cols);
    program_param(&p, "b", 1, rows);
    program_freeze(&p);
    gb_tensor x = program_operand(&p, "x"), w = program_operand(&p, "w"),
              b = program_operand(&p, "b"), weights[2], biases[2];
    if (!params) {
        w = gb_scale(p.tape, w, 2);
        b = gb_scale(p.tape, b, 3);
    }
    gb_cut(p.tape, w, first, weights);
    gb_cut(p.tape, b, first, biases);
    gb_tensor y = gb_linear(p.tape, x, w, b, false, GB_NO_TENSOR);
    gb_tensor parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = gb_linear(p.tape, x, weights[i], biases[i], false, GB_NO_TENSOR);
    gb_tensor z = gb_matmul(p.tape, GB_NN, parts[0], weights[0]);
    z = gb_add(p.tape, z, gb_matmul(p.tape, GB_NN, parts[1], weights[1]));
    check_program(&p, gb_add(p.tape, z, gb_matmul(p.tape, GB_NN, y, w)), NULL, 0, 400 * EPS);
    program_free(&p);
}

Test(ops, cut_and_used_twice)
{
    cut_case(8, 24, 16, true);
    cut_case(8, 24, 13, true);
    cut_case(20, 24, 16, false);
}

Test(ops, rows)
{
    enum { N = 21, R = 6, C = 10 };
    uint32_t index[R] = {20, 3, GB_NO_ROW, 0, 7, GB_NO_ROW}, inverse[N];
    for (uint32_t n = 0; n < N; n++)
        inverse[n] = GB_NO_ROW;
    for (uint32_t r = 0; r < R; r++)
        if (index[r] != GB_NO_ROW)
            inverse[index[r]] = r;
    program p = program_make();
    program_param(&p, "x", N, C);
    program_param(&p, "v", R, C);
    program_freeze(&p);
    gb_tensor ti = gb_tape_input(p.tape, "index", GB_U32, 1, R);
    gb_tensor tn = gb_tape_input(p.tape, "inverse", GB_U32, 1, N);
    gb_tensor x = gb_scale(p.tape, program_operand(&p, "x"), 1.5f);
    gb_tensor v = gb_scale(p.tape, program_operand(&p, "v"), 0.5f);
    gb_tensor merged = gb_scatter_rows(p.tape, x, v, tn, ti);
    gb_tensor y =
        gb_add(p.tape, gb_gather_rows(p.tape, x, ti, tn), gb_gather_rows(p.tape, merged, ti, tn));
    input_values inputs[] = {{ti, index, NULL}, {tn, inverse, NULL}};
    check_program(&p, y, inputs, 2, 16 * EPS);
    program_free(&p);
}

static void look_up_case(uint32_t rows, uint32_t entries, uint32_t width)
{
    uint32_t *index = calloc(rows + 1, 4), *order = calloc(rows + 1, 4);
    uint32_t *starts = calloc(entries + 1, 4);
    gb_rng rng = gb_rng_make(6, GB_RNG_TEST, rows, entries);
    for (uint32_t r = 0; r < rows; r++) /* some rows of the table never, some often, some nothing */
        index[r] = r % 7 == 6 ? GB_NO_ROW : gb_rng_below(&rng, (entries + 1) / 2);
    gb_row_index_sort(index, rows, entries, starts, order);
    program p = program_make();
    program_param(&p, "table", entries, width);
    program_param(&p, "addend", rows, width);
    program_freeze(&p);
    gb_tensor ti = gb_tape_input(p.tape, "index", GB_U32, 1, rows);
    gb_row_index by_index = gb_row_index_input(p.tape, "by index", entries, rows);
    gb_tensor table = program_operand(&p, "table"), addend = program_operand(&p, "addend");
    /* An activation, the parameter behind it, and the activation again. */
    gb_tensor x = gb_scale(p.tape, table, 1.5f);
    gb_tensor y = gb_lookup_rows(p.tape, x, ti, by_index, addend);
    y = gb_lookup_rows(p.tape, table, ti, by_index, y);
    y = gb_add(p.tape, y, gb_lookup_rows(p.tape, x, ti, by_index, GB_NO_TENSOR));
    input_values inputs[] = {
        {ti, index, NULL}, {by_index.starts, starts, NULL}, {by_index.order, order, NULL}};
    check_program(&p, y, inputs, 3, 64 * EPS);
    program_free(&p);
    free(index), free(order), free(starts);
}

Test(ops, look_up)
{
    look_up_case(1, 1, 4);
    look_up_case(29, 5, 10);
    look_up_case(130, 9, 64);
}

/* ---- losses ---- */

Test(ops, softmax_loss_with_exclusion)
{
    enum { R = 10, C = 37 };
    uint32_t labels[R], exclude[R * 2] = {0};
    float weights[R * 4];
    for (uint32_t r = 0; r < R; r++) {
        labels[r] = r == 4 ? GB_NO_ROW : (r * 7) % C;
        weights[r * 4] = 0.1f * (float)(r + 1);
        exclude[r * 2 + (r + 20) / 32] |= 1u << ((r + 20) % 32);
        if (labels[r] == r + 20)
            labels[r] = 0;
    }
    program p = program_make();
    program_param(&p, "q", R, 16);
    program_param(&p, "k", C, 16);
    program_freeze(&p);
    gb_tensor tl = gb_tape_input(p.tape, "labels", GB_U32, R, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, R, 1);
    gb_tensor te = gb_tape_input(p.tape, "exclude", GB_U32, R, 2);
    gb_tensor scores = gb_matmul(p.tape, GB_NT, program_operand(&p, "q"), program_operand(&p, "k"));
    gb_tensor y = gb_softmax_loss(p.tape, scores, tl, tw, te);
    input_values inputs[] = {{tl, labels, NULL}, {tw, NULL, weights}, {te, exclude, NULL}};
    check_program(&p, y, inputs, 3, 200 * EPS);
    program_free(&p);
}

static void vocabulary_case(uint32_t rows, uint32_t vocabulary, uint32_t width, uint32_t chunk)
{
    program p = program_make();
    program_param(&p, "h", rows, width);
    program_param(&p, "table", vocabulary, width);
    program_param(&p, "bias", 1, vocabulary);
    program_freeze(&p);
    uint32_t *labels = malloc((rows + 1) * 4);
    float *weights = calloc(rows * 4 + 4, 4);
    for (uint32_t r = 0; r < rows; r++) {
        labels[r] = r % 5 == 4 ? GB_NO_ROW : (r * 13) % vocabulary;
        weights[r * 4] = 1.0f / (float)(rows + 1);
    }
    gb_tensor tl = gb_tape_input(p.tape, "labels", GB_U32, rows, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, rows, 1);
    gb_tensor y = gb_vocabulary_loss(p.tape, gb_scale(p.tape, program_operand(&p, "h"), 1.5f),
                                     program_operand(&p, "table"), program_operand(&p, "bias"), tl,
                                     tw, chunk);
    input_values inputs[] = {{tl, labels, NULL}, {tw, NULL, weights}};
    check_program(&p, y, inputs, 2, 200 * EPS);
    program_free(&p);
    free(labels), free(weights);
}

Test(ops, vocabulary_loss)
{
    vocabulary_case(1, 3, 8, 64);
    vocabulary_case(33, 101, 16, 64);
    vocabulary_case(150, 70, 16, 64); /* three chunks */
}

/* The gradient norm goes over whole arenas: padding there must stay zero. */
Test(ops, vocabulary_padding_has_no_gradient)
{
    enum { WORDS = 21, WIDTH = 8, ROWS = 12 };
    program p = program_make();
    program_param(&p, "h", ROWS, WIDTH);
    program_param(&p, "table", WORDS, WIDTH);
    uint32_t bias = program_param(&p, "bias", 1, WORDS);
    program_param(&p, "weights", ROWS, 1);
    program_freeze(&p);
    gb_tensor labels = gb_tape_input(p.tape, "labels", GB_U32, ROWS, 1);
    gb_tensor loss =
        gb_vocabulary_loss(p.tape, program_operand(&p, "h"), program_operand(&p, "table"),
                           program_operand(&p, "bias"), labels, program_operand(&p, "weights"), 64);
    cr_assert(gb_backward(p.tape, loss, &p.status));
    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, true, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_assert(exec, "%s", p.status.what);
    float *values = calloc(gb_params_floats(p.params), sizeof *values);
    gb_params_init(p.params, 1, values);
    cr_assert(gb_state_write(state, GB_ARENA_PARAMS, values, &p.status));
    uint32_t *label = gb_executable_input(exec, labels, &p.status);
    uint64_t ticket;
    for (uint32_t r = 0; r < ROWS; r++)
        label[r] = r;
    cr_assert(gb_executable_run(exec, &ticket, &p.status) &&
              gb_executable_wait(exec, ticket, &p.status));
    cr_assert(gb_state_read(state, GB_ARENA_GRADS, values, &p.status));
    const gb_param *param = gb_params_at(p.params, bias);
    cr_expect_neq(values[param->offset], 0);
    for (uint32_t c = WORDS; c < param->ld; c++)
        cr_expect_eq(values[param->offset + c], 0);
    free(values);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}

/* Rows as long as BERT's vocabulary, and longer. */
Test(ops, softmax_loss_of_long_rows)
{
    enum { R = 3, C = 41000 };
    uint32_t labels[R] = {40999, 0, 30000};
    float weights[R * 4] = {0.5f, 0, 0, 0, 1, 0, 0, 0, 0.25f};
    program p = program_make();
    program_param(&p, "logits", R, C);
    program_freeze(&p);
    gb_tensor tl = gb_tape_input(p.tape, "labels", GB_U32, R, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, R, 1);
    gb_tensor y = gb_softmax_loss(p.tape, gb_scale(p.tape, program_operand(&p, "logits"), 1.5f), tl,
                                  tw, GB_NO_TENSOR);
    input_values inputs[] = {{tl, labels, NULL}, {tw, NULL, weights}};
    check_program(&p, y, inputs, 2, 200 * EPS);
    program_free(&p);
}

/* More losses of rows than one lane of a CPU driver can add up are refused. */
Test(ops, loss_of_too_many_rows)
{
    enum { R = 40000 };
    program p = program_make();
    program_param(&p, "logits", R, 4);
    program_freeze(&p);
    gb_tensor tl = gb_tape_input(p.tape, "labels", GB_U32, R, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, R, 1);
    gb_softmax_loss(p.tape, program_operand(&p, "logits"), tl, tw, GB_NO_TENSOR);
    gb_device *device = test_device();
    bool cpu = gb_device_get_caps(device)->profile == GB_PROFILE_CPU;
    gb_state *state = gb_state_create(device, p.params, true, &p.status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &p.status) : NULL;
    cr_expect_eq(exec == NULL, cpu);
    cr_expect_eq(p.status.code, cpu ? GB_USAGE : GB_OK, "%s", p.status.what);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}
