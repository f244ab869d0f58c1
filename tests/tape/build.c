/* Building a tape: its text, its parameters, and mistakes that are remembered. */
#include <gabbro/ops.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

static gb_params *two_layers(void)
{
    gb_status status = {0};
    gb_params *params = gb_params_create(&status);
    MUST(params);
    gb_params_add_vector(params, "b", 6, GB_INIT_ZEROS, &status);
    gb_params_add_matrix(params, "w1", 6, 5, 0.5f, &status);
    gb_params_add_matrix(params, "w2", 3, 6, 0.5f, &status);
    gb_params_freeze(params);
    return params;
}

static const char two_layers_text[] =
    "%5:linear[4,6], %6:pre gelu[4,6] = matmul(%0:x[4,5], %4:w1[6,5], %3:b[1,6])\n"
    "%8:linear[4,3] = matmul(%5:linear[4,6], %7:w2[3,6])\n"
    "%9:row losses[4,1], %8:linear[4,3] = "
    "softmax_rows(%8:linear[4,3], %1:labels[4,1], %2:weights[4,1])\n"
    "%10:loss[1,1] = loss(%9:row losses[4,1], %8:linear[4,3], %8:linear[4,3])\n"
    "%11:scaled[1,1] = axpby(%10:loss[1,1])\n"
    "%14:scaled[4,3] = axpby(%8:linear[4,3])\n"
    "%15:d operand[4,6] = matmul(%14:scaled[4,3], %7:w2[3,6], %6:pre gelu[4,6])\n"
    "%16:w2[3,6] = matmul(%14:scaled[4,3], %5:linear[4,6])\n"
    "%17:w1[6,5], %18:b[1,6] = matmul(%15:d operand[4,6], %0:x[4,5])\n";

/* Two layers, a loss and its gradients as text: GELU's derivative rides in the product before it,
 * a scaled loss costs one pass over the logits. */
Test(build, dump)
{
    gb_status status = {0};
    gb_params *params = two_layers();
    gb_tape *tape = gb_tape_create(params, "two layers", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 4, 5);
    gb_tensor labels = gb_tape_input(tape, "labels", GB_U32, 4, 1);
    gb_tensor weights = gb_tape_input(tape, "weights", GB_F32, 4, 1);
    gb_tensor b = gb_tape_param(tape, 0), w1 = gb_tape_param(tape, 1);
    gb_tensor h = gb_linear(tape, x, w1, b, true, GB_NO_TENSOR);
    gb_tensor logits =
        gb_linear(tape, h, gb_tape_param(tape, 2), GB_NO_TENSOR, false, GB_NO_TENSOR);
    gb_tensor loss = gb_softmax_loss(tape, logits, labels, weights, GB_NO_TENSOR);
    MUST(gb_backward(tape, gb_scale(tape, loss, 0.5f), &status));
    gb_text text = {0};
    gb_tape_dump(tape, &text);
    cr_expect_str_eq(text.data, two_layers_text);
    gb_text_free(&text);
    gb_tape_destroy(tape);
    gb_params_destroy(params);
}

/* ---- parameters ---- */

Test(build, decayed_parameters_come_first)
{
    gb_params *params = two_layers();
    const gb_param *b = gb_params_at(params, 0), *w1 = gb_params_at(params, 1);
    const gb_param *w2 = gb_params_at(params, 2);
    cr_expect_eq(w1->ld, 8);
    cr_expect_eq(w1->offset, 0);
    cr_expect_eq(w2->offset, 64); /* every one starts at 256 bytes */
    cr_expect_eq(gb_params_decayed_floats(params), 128);
    cr_expect_eq(b->offset, 128);
    cr_expect_eq(gb_params_floats(params), 192);
    cr_expect_eq(gb_params_find(params, "w2"), 2);
    cr_expect_eq(gb_params_find(params, "w"), UINT32_MAX);
    gb_status status = {0};
    cr_expect_eq(gb_params_add_matrix(params, "late", 1, 1, 0, &status), UINT32_MAX);
    gb_params_destroy(params);
}

/* What is not trained has no gradient and no moments: it lies behind all that has. */
Test(build, parameters_that_are_not_trained_come_last)
{
    gb_status status = {0};
    gb_params *params = gb_params_create(&status);
    MUST(params);
    uint32_t queue = gb_params_add_state(params, "queue", 3, 4, 0, &status);
    const gb_param_spec frozen = {.name = "frozen", .rows = 2, .cols = 4, .untrained = true};
    gb_params_add(params, &frozen, &status);
    uint32_t w = gb_params_add_matrix(params, "w", 6, 5, 1, &status);
    gb_params_freeze(params);
    cr_expect_eq(gb_params_at(params, w)->offset, 0);
    cr_expect_eq(gb_params_at(params, queue)->offset, 64);
    cr_expect_eq(gb_params_at(params, queue + 1)->offset, 128);
    cr_expect_eq(gb_params_floats(params), 192);
    cr_expect_eq(gb_params_arena_floats(params, GB_ARENA_PARAMS), 192);
    for (int a = GB_ARENA_GRADS; a < GB_ARENA_COUNT; a++)
        cr_expect_eq(gb_params_arena_floats(params, (gb_arena_id)a), 64);
    gb_tape *tape = gb_tape_create(params, "state", &status);
    MUST(tape);
    cr_expect(gb_tape_tensor(tape, gb_tape_param(tape, w))->needs_grad);
    cr_expect_not(gb_tape_tensor(tape, gb_tape_param(tape, queue))->needs_grad);
    cr_expect_not(gb_tape_tensor(tape, gb_tape_param(tape, queue + 1))->needs_grad);
    cr_expect_eq(gb_tape_grad_arena(tape, queue), GB_NO_TENSOR);
    cr_expect_not(gb_tape_ok(tape, NULL));
    gb_tape_destroy(tape);
    gb_params_destroy(params);
}

/* Parts have a place in the name, which the whole has too, and are equal. */
Test(build, parts_of_a_parameter)
{
    static const gb_param_parts qkv = {"qkv", {"query", "key", "value"}, 3};
    gb_status status = {0};
    gb_params *params = gb_params_create(&status);
    MUST(params);
    gb_param_spec spec = {.name = "self.*.weight", .rows = 9, .cols = 4, .parts = &qkv};
    uint32_t index = gb_params_add(params, &spec, &status);
    MUST(index != UINT32_MAX);
    cr_expect_str_eq(gb_params_at(params, index)->name, "self.qkv.weight");
    cr_expect_eq(gb_params_at(params, index)->parts_at, 5);
    cr_expect_eq(gb_params_add(params, &spec, &status), UINT32_MAX, "twice");
    spec.name = "other.*.weight";
    spec.rows = 8;
    cr_expect_eq(gb_params_add(params, &spec, &status), UINT32_MAX, "three equal parts of 8");
    spec.rows = 9;
    spec.name = "other.qkv.weight";
    cr_expect_eq(gb_params_add(params, &spec, &status), UINT32_MAX, "no star");
    cr_expect_eq(gb_params_count(params), 1);
    gb_params_destroy(params);
}

/* A parameter starts the same whatever stands beside it: a head does not change the encoder. */
Test(build, values_depend_on_the_name_alone)
{
    gb_status status = {0};
    gb_params *small = two_layers(), *large = gb_params_create(&status);
    MUST(large);
    gb_params_add_matrix(large, "head", 9, 9, 1, &status);
    gb_params_add_matrix(large, "w2", 3, 6, 0.5f, &status);
    gb_params_add_vector(large, "norm", 7, GB_INIT_ONES, &status);
    cr_expect_eq(gb_params_add_matrix(large, "w2", 1, 1, 0, &status), UINT32_MAX);
    gb_params_freeze(large);
    float a[192], b[512];
    cr_assert_leq(gb_params_floats(large), 512);
    memset(b, 0xff, sizeof b);
    gb_params_init(small, 42, a);
    gb_params_init(large, 42, b);
    const gb_param *pa = gb_params_at(small, 2), *pb = gb_params_at(large, 1);
    cr_expect_arr_eq(a + pa->offset, b + pb->offset, 3 * 8 * sizeof(float));
    cr_expect_neq(a[pa->offset], 0);
    cr_expect_eq(a[pa->offset + 6], 0, "padding is zero");
    const gb_param *norm = gb_params_at(large, 2);
    for (uint32_t i = 0; i < norm->ld; i++)
        cr_expect_eq(b[norm->offset + i], i < 7 ? 1 : 0);
    gb_params_init(small, 43, b);
    cr_expect_neq(a[pa->offset], b[pa->offset], "another seed, other values");
    gb_params_destroy(small);
    gb_params_destroy(large);
}

/* ---- mistakes ---- */

/* The first mistake is the one that is reported, and nothing after it crashes. */
Test(build, first_mistake_is_remembered)
{
    gb_status status = {0};
    gb_params *params = two_layers();
    gb_tape *tape = gb_tape_create(params, "wrong", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 4, 5);
    cr_expect(gb_tape_ok(tape, &status));
    gb_tensor y = gb_matmul(tape, GB_NN, x, gb_tape_param(tape, 1)); /* [4,5] [6,5] */
    y = gb_linear(tape, y, gb_tape_param(tape, 2), GB_NO_TENSOR, true, GB_NO_TENSOR);
    y = gb_layer_norm(tape, y, gb_tape_param(tape, 0), gb_tape_param(tape, 0), 1e-5f);
    gb_tensor values, columns;
    gb_top_k(tape, y, 3, &values, &columns);
    gb_tape_output(tape, values);
    cr_assert_not(gb_tape_ok(tape, &status));
    cr_expect_eq(status.code, GB_INTERNAL);
    cr_expect(strstr(status.what, "[4,5]") && strstr(status.what, "[6,5]"), "%s", status.what);
    cr_expect_not(gb_backward(tape, y, &status));
    gb_tape_destroy(tape);
    gb_params_destroy(params);
}

Test(build, inputs_and_views_out_of_range)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "range", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 4, 5);
    cr_expect_neq(gb_tape_view(tape, x, 1, 3), GB_NO_TENSOR);
    cr_expect(gb_tape_ok(tape, NULL));
    cr_expect_eq(gb_tape_view(tape, x, 2, 3), GB_NO_TENSOR);
    cr_expect_not(gb_tape_ok(tape, NULL));
    gb_tape_destroy(tape);
    MUST(tape = gb_tape_create(NULL, "output", &status));
    gb_tape_output(tape, gb_tape_input(tape, "x", GB_F32, 4, 5));
    cr_expect_not(gb_tape_ok(tape, NULL), "an input is no output");
    gb_tape_destroy(tape);
}

/* A name that was cut would be found by the map and not by the folder. */
Test(build, a_parameter_name_that_is_too_long_is_refused)
{
    gb_status status = {0};
    gb_params *params = gb_params_create(&status);
    MUST(params);
    char name[sizeof(gb_param){0}.name + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0'; /* one byte more than there is room for */
    cr_expect_eq(gb_params_add_vector(params, name, 1, GB_INIT_ZEROS, &status), UINT32_MAX);
    cr_expect_eq(status.code, GB_INTERNAL);
    cr_expect_eq(gb_params_count(params), 0);
    name[sizeof name - 2] = '\0';
    cr_expect_eq(gb_params_add_vector(params, name, 1, GB_INIT_ZEROS, &status), 0);
    cr_expect_str_eq(gb_params_at(params, 0)->name, name);
    gb_params_destroy(params);
}
