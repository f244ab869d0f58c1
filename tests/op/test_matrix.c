/* Products by cooperative matrices, in all forms and with all epilogues, over sizes beside and
 * beyond their tiles, against the float64 reference. Operands are 16-bit floats to begin with, so
 * that sums of floats are all that may differ; where gradients pass a GELU they are not, and the
 * bound is that of rounding them. */
#include "harness.h"

#include <criterion/criterion.h>

#define EXACT (64 * 6e-8)

static void product_case(gb_precision precision, gb_matmul_form form, uint32_t m, uint32_t n,
                         uint32_t k)
{
    program p = program_of_precision(precision);
    program_param(&p, "a", form == GB_TN ? k : m, form == GB_TN ? m : k);
    program_param(&p, "b", form == GB_NT ? n : k, form == GB_NT ? k : n);
    program_freeze(&p);
    gb_tensor y = gb_matmul(p.tape, form, program_operand(&p, "a"), program_operand(&p, "b"));
    check_program(&p, y, NULL, 0, EXACT);
    program_free(&p);
}

/* Bias and residual, and a GELU before the residual: its gradient is a rounded operand. */
static void layer_case(gb_precision precision, uint32_t m, uint32_t n, uint32_t k, bool gelu)
{
    program p = program_of_precision(precision);
    program_param(&p, "a", m, k);
    program_param(&p, "b", n, k);
    program_param(&p, "bias", 1, n);
    program_param(&p, "residual", m, n);
    program_freeze(&p);
    gb_tensor y = gb_linear(p.tape, program_operand(&p, "a"), program_operand(&p, "b"),
                            program_operand(&p, "bias"), gelu, program_operand(&p, "residual"));
    check_program(&p, y, NULL, 0, gelu ? test_rounding(precision) : EXACT);
    program_free(&p);
}

typedef struct shape {
    uint32_t m, n, k;
} shape;

static void products(gb_precision precision)
{
    static const shape shapes[] = {{1, 1, 1},    {3, 5, 7},     {17, 65, 33},   {32, 64, 32},
                                   {0, 8, 8},    {8, 8, 0},     {100, 136, 40}, {65, 129, 95},
                                   {1, 128, 64}, {40, 64, 1100}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        product_case(precision, GB_NN, s->m, s->n, s->k);
        product_case(precision, GB_NT, s->m, s->n, s->k);
        product_case(precision, GB_TN, s->m, s->n, s->k);
        layer_case(precision, s->m, s->n, s->k, false);
        layer_case(precision, s->m, s->n, s->k, true);
    }
}

Test(matrix, products)
{
    test_each_precision(products);
}

/* The gradient of a GELU inside a product, and products that add to older gradients. */
static void layer_chain(gb_precision precision)
{
    program p = program_of_precision(precision);
    program_param(&p, "x", 37, 24);
    program_param(&p, "w1", 40, 24);
    program_param(&p, "b1", 1, 40);
    program_param(&p, "w2", 24, 40);
    program_freeze(&p);
    gb_tensor x = program_operand(&p, "x"), w1 = program_operand(&p, "w1");
    gb_tensor h = gb_linear(p.tape, x, w1, program_operand(&p, "b1"), true, GB_NO_TENSOR);
    gb_tensor y =
        gb_linear(p.tape, h, program_operand(&p, "w2"), GB_NO_TENSOR, false, GB_NO_TENSOR);
    y = gb_linear(p.tape, gb_matmul(p.tape, GB_NT, y, y), gb_matmul(p.tape, GB_NT, x, x),
                  GB_NO_TENSOR, false, gb_matmul(p.tape, GB_NT, x, y));
    check_program(&p, y, NULL, 0, 8 * test_rounding(precision));
    program_free(&p);
}

Test(matrix, layer_chain)
{
    test_each_precision(layer_chain);
}

/* The residual of a product may be an older gradient. */
static void adds_to_gradients(gb_precision precision)
{
    program p = program_of_precision(precision);
    program_param(&p, "x", 37, 24);
    program_param(&p, "w1", 24, 24);
    program_param(&p, "w2", 24, 24);
    program_freeze(&p);
    gb_tensor x = program_operand(&p, "x");
    gb_tensor one = gb_matmul(p.tape, GB_NT, x, program_operand(&p, "w1"));
    gb_tensor two = gb_matmul(p.tape, GB_NN, x, program_operand(&p, "w2"));
    check_program(&p, gb_add(p.tape, one, two), NULL, 0, EXACT);
    program_free(&p);
}

Test(matrix, adds_to_gradients_exactly)
{
    test_each_precision(adds_to_gradients);
}
