/* Differentiation of whole programs: parameters and activations that are used more than once, or
 * not at all. Each program is also compared with float64 and with finite differences. */
#include "harness.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define EPS     6e-8
#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

/* A chain of layers with one weight and one bias. */
Test(gradients, tied_layers)
{
    program p = program_make();
    program_param(&p, "x", 21, 12);
    program_param(&p, "w", 12, 12);
    program_param(&p, "b", 1, 12);
    program_freeze(&p);
    gb_tensor w = program_operand(&p, "w"), b = program_operand(&p, "b");
    gb_tensor y = gb_linear(p.tape, program_operand(&p, "x"), w, b, true, GB_NO_TENSOR);
    y = gb_linear(p.tape, y, w, b, false, program_operand(&p, "x"));
    y = gb_matmul(p.tape, GB_NN, y, w);
    check_program(&p, y, NULL, 0, 200 * EPS);
    program_free(&p);
}

/* The embedding table is also the output matrix, as in BERT's masked-LM head. */
Test(gradients, tied_embedding)
{
    enum { N = 30, V = 17, P = 5, H = 8 };
    uint32_t id[N], position[N], by_id[N], by_position[N], starts[V + 1], position_starts[P + 1];
    uint32_t labels[N];
    float weights[N * 4];
    for (uint32_t i = 0; i < N; i++) {
        id[i] = i * 5 % V;
        position[i] = i % P;
        labels[i] = i % 4 == 3 ? GB_NO_ROW : i * 3 % V;
        weights[i * 4] = 0.05f;
    }
    gb_row_index_sort(id, N, V, starts, by_id);
    gb_row_index_sort(position, N, P, position_starts, by_position);
    program p = program_make();
    program_param(&p, "table", V, H);
    program_param(&p, "position", P, H);
    program_param(&p, "type", 2, H);
    program_param(&p, "bias", 1, V);
    program_freeze(&p);
    gb_tensor ids = gb_tape_input(p.tape, "ids", GB_U32, 1, N);
    gb_tensor positions = gb_tape_input(p.tape, "positions", GB_U32, 1, N);
    gb_row_index order = gb_row_index_input(p.tape, "by id", V, N);
    gb_row_index position_order = gb_row_index_input(p.tape, "by position", P, N);
    gb_tensor tl = gb_tape_input(p.tape, "labels", GB_U32, N, 1);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, N, 1);
    gb_tensor table = program_operand(&p, "table");
    gb_tensor h = gb_embed(p.tape, ids, positions, order, position_order, table,
                           program_operand(&p, "position"), program_operand(&p, "type"));
    gb_tensor loss =
        gb_vocabulary_loss(p.tape, h, table, program_operand(&p, "bias"), tl, tw, 1024);
    input_values inputs[] = {{ids, id, NULL},
                             {positions, position, NULL},
                             {order.starts, starts, NULL},
                             {order.order, by_id, NULL},
                             {position_order.starts, position_starts, NULL},
                             {position_order.order, by_position, NULL},
                             {tl, labels, NULL},
                             {tw, NULL, weights}};
    check_program(&p, loss, inputs, sizeof inputs / sizeof *inputs, 400 * EPS);
    program_free(&p);
}

/* A layer with GELU whose output is needed by others too: their gradients stay their own. */
Test(gradients, gelu_layer_with_residual)
{
    program p = program_make();
    program_param(&p, "x", 19, 8);
    program_param(&p, "w1", 12, 8);
    program_param(&p, "r", 19, 12);
    program_param(&p, "w2", 5, 12);
    program_freeze(&p);
    gb_tensor h = gb_linear(p.tape, program_operand(&p, "x"), program_operand(&p, "w1"),
                            GB_NO_TENSOR, true, program_operand(&p, "r"));
    gb_tensor y =
        gb_linear(p.tape, h, program_operand(&p, "w2"), GB_NO_TENSOR, false, GB_NO_TENSOR);
    check_program(&p, y, NULL, 0, 200 * EPS);
    program_free(&p);
}

Test(gradients, gelu_layer_in_a_sum)
{
    program p = program_make();
    program_param(&p, "x", 19, 8);
    program_param(&p, "w1", 12, 8);
    program_param(&p, "r", 19, 12);
    program_param(&p, "w2", 5, 12);
    program_freeze(&p);
    gb_tensor h = gb_linear(p.tape, program_operand(&p, "x"), program_operand(&p, "w1"),
                            GB_NO_TENSOR, true, GB_NO_TENSOR);
    h = gb_add(p.tape, gb_scale(p.tape, program_operand(&p, "r"), 1.25f), h);
    gb_tensor y =
        gb_linear(p.tape, h, program_operand(&p, "w2"), GB_NO_TENSOR, false, GB_NO_TENSOR);
    check_program(&p, y, NULL, 0, 200 * EPS);
    program_free(&p);
}

Test(gradients, gelu_layer_used_twice)
{
    program p = program_make();
    program_param(&p, "x", 19, 8);
    program_param(&p, "w1", 12, 8);
    program_param(&p, "w2", 5, 12);
    program_param(&p, "w3", 5, 12);
    program_freeze(&p);
    gb_tensor h = gb_linear(p.tape, program_operand(&p, "x"), program_operand(&p, "w1"),
                            GB_NO_TENSOR, true, GB_NO_TENSOR);
    gb_tensor a =
        gb_linear(p.tape, h, program_operand(&p, "w2"), GB_NO_TENSOR, false, GB_NO_TENSOR);
    gb_tensor b = gb_linear(p.tape, h, program_operand(&p, "w3"), GB_NO_TENSOR, false, a);
    check_program(&p, gb_add(p.tape, a, b), NULL, 0, 200 * EPS);
    program_free(&p);
}

/* One activation with many uses of different kinds. */
Test(gradients, activation_used_by_many)
{
    enum { N = 18, H = 8 };
    uint32_t index[3] = {17, 2, GB_NO_ROW}, inverse[N];
    for (uint32_t i = 0; i < N; i++)
        inverse[i] = i == 17 ? 0 : i == 2 ? 1 : GB_NO_ROW;
    program p = program_make();
    program_param(&p, "x", N, H);
    program_param(&p, "w", H, H);
    program_param(&p, "gamma", 1, H);
    program_param(&p, "beta", 1, H);
    program_freeze(&p);
    gb_tensor ti = gb_tape_input(p.tape, "index", GB_U32, 1, 3);
    gb_tensor tn = gb_tape_input(p.tape, "inverse", GB_U32, 1, N);
    gb_tensor w = program_operand(&p, "w");
    gb_tensor h = gb_linear(p.tape, program_operand(&p, "x"), w, GB_NO_TENSOR, true, GB_NO_TENSOR);
    gb_tensor selected = gb_gather_rows(p.tape, h, ti, tn);
    gb_tensor norm =
        gb_layer_norm(p.tape, h, program_operand(&p, "gamma"), program_operand(&p, "beta"), 1e-5f);
    gb_tensor y = gb_linear(p.tape, norm, w, GB_NO_TENSOR, false, h);
    y = gb_add(p.tape, y, gb_scatter_rows(p.tape, h, selected, tn, ti));
    input_values inputs[] = {{ti, index, NULL}, {tn, inverse, NULL}};
    check_program(&p, y, inputs, 2, 400 * EPS);
    program_free(&p);
}

/* A parameter that the loss does not reach has gradient zero, run after run. */
Test(gradients, unused_parameter_stays_zero)
{
    gb_status status = {0};
    program p = program_make();
    uint32_t unused = program_param(&p, "a0", 7, 9);
    program_param(&p, "w", 6, 6);
    uint32_t dead = program_param(&p, "z9", 3, 6); /* used, but not by the loss */
    program_freeze(&p);
    gb_tensor w = program_operand(&p, "w");
    gb_tensor side =
        gb_linear(p.tape, program_operand(&p, "z9"), w, GB_NO_TENSOR, true, GB_NO_TENSOR);
    gb_tape_output(p.tape, side);
    gb_tensor y = gb_matmul(p.tape, GB_NN, w, w);
    gb_tensor dy = gb_tape_input(p.tape, "dy", GB_F32, 6, 6);
    MUST(gb_backward_from(p.tape, y, dy, &status));

    gb_device *device = test_device();
    gb_state *state = gb_state_create(device, p.params, true, &status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &status) : NULL;
    MUST(exec);
    uint64_t floats = gb_params_floats(p.params), ticket;
    float *values = malloc(floats * sizeof *values);
    gb_params_init(p.params, 1, values);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, values, &status));
    for (int run = 0; run < 2; run++) {
        float *input = gb_executable_input(exec, dy, &status);
        MUST(input);
        for (int i = 0; i < 6 * 8; i++)
            input[i] = (float)(i % 5) - 1;
        MUST(gb_executable_run(exec, &ticket, &status));
        MUST(gb_executable_wait(exec, ticket, &status));
        MUST(gb_state_read(state, GB_ARENA_GRADS, values, &status));
        const uint32_t without[] = {unused, dead};
        for (int i = 0; i < 2; i++) {
            const gb_param *param = gb_params_at(p.params, without[i]);
            for (uint64_t k = 0; k < (uint64_t)param->rows * param->ld; k++)
                cr_assert_eq(values[param->offset + k], 0, "gradient of %s", param->name);
        }
        cr_expect_neq(values[gb_params_at(p.params, gb_params_find(p.params, "w"))->offset], 0);
    }
    free(values);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    gb_device_close(device);
    program_free(&p);
}

/* A loss that depends on no parameter has nothing to differentiate, which is no error. */
Test(gradients, loss_without_parameters)
{
    gb_status status = {0};
    program p = program_make();
    program_freeze(&p);
    gb_tensor x = gb_tape_input(p.tape, "x", GB_F32, 1, 1);
    gb_tensor loss = gb_scale(p.tape, x, 2);
    uint32_t nodes = gb_tape_node_count(p.tape);
    MUST(gb_backward(p.tape, loss, &status));
    cr_expect_eq(gb_tape_node_count(p.tape), nodes);
    gb_tensor wide = gb_tape_input(p.tape, "wide", GB_F32, 1, 2);
    cr_expect_not(gb_backward(p.tape, wide, &status), "a loss must be a scalar");
    program_free(&p);
}
