/* Which kernel of attention a target gets, and that its tile is one that the device can hold. */
#include "../../src/ops/attention_kernel.h"

#include <criterion/criterion.h>

static gb_target with_matrices(gb_matrix matrix, uint32_t shared)
{
    matrix.khr = matrix.khr_source = true;
    return (gb_target){.profile = GB_PROFILE_MATRIX,
                       .max_groups = 65535,
                       .max_invocations = 1024,
                       .max_shared_bytes = shared,
                       .matrix = matrix};
}

static const gb_matrix wave64 = {16, 16, 16, 64}, wave32 = {16, 16, 16, 32}, arc = {8, 16, 16, 16},
                       cpu = {8, 8, 8, 8};

static attention_choice chosen(gb_matrix matrix, uint32_t shared, attention_part part,
                               uint32_t head_dim)
{
    gb_target target = with_matrices(matrix, shared);
    return ops_attention_choose(&target, part, false, head_dim);
}

/* Constants from id 4 on: rows, columns, depth of a matrix, subgroups each way, other rows, lanes.
 */
static void check_tile(const gb_matrix *matrix, const attention_choice *c)
{
    cr_assert_eq(c->spec_count, 7);
    cr_expect_eq(c->lanes, c->spec[3] * c->spec[4] * matrix->lanes);
    cr_expect_eq(c->rows, c->spec[3] * matrix->m);
    cr_expect_eq(c->spec[5] % (c->spec[4] * matrix->n), 0, "whole matrices of scores");
    cr_expect_eq(c->spec[5] % matrix->k, 0, "whole steps of sums");
    cr_expect_eq(c->lanes % c->rows, 0, "a row's lanes");
}

Test(attention_kernel, heads_of_32_to_128_go_by_matrices)
{
    static const gb_matrix *const all[] = {&wave64, &wave32, &arc, &cpu};
    for (size_t m = 0; m < sizeof all / sizeof *all; m++)
        for (int part = ATTENTION_FORWARD; part <= ATTENTION_BACKWARD_KV; part++)
            for (uint32_t head = 32; head <= 128; head *= 2) {
                /* the widest gradient of keys and values shares more than 48 KiB on Intel's */
                uint32_t shared = all[m] == &arc && head == 128 ? 64 << 10 : 48 << 10;
                attention_choice c = chosen(*all[m], shared, (attention_part)part, head);
                cr_expect(strstr(c.shader, "_matrix_khr"), "%s", c.shader);
                check_tile(all[m], &c);
            }
}

Test(attention_kernel, little_shared_memory_makes_small_tiles_or_none)
{
    uint32_t roomy = chosen(arc, 64 << 10, ATTENTION_BACKWARD_KV, 128).spec[5];
    cr_expect_eq(roomy, 32);
    attention_choice wide = chosen(cpu, 32 << 10, ATTENTION_BACKWARD_KV, 128);
    cr_expect_str_eq(wide.shader, "attention_backward_kv_matrix_khr");
    cr_expect_str_eq(chosen(wave32, 16 << 10, ATTENTION_BACKWARD_KV, 128).shader,
                     "attention_backward_kv_tiled");
    cr_expect_str_eq(chosen(wave32, 48 << 10, ATTENTION_FORWARD, 256).shader,
                     "attention_forward_tiled", "sums of a wider head fill the registers");
}

Test(attention_kernel, what_is_avoided_is_not_chosen)
{
    gb_target target = with_matrices(wave32, 48 << 10);
    target.avoid = GB_QUIRK_NO_MATRIX_KHR;
    cr_expect_str_eq(ops_attention_choose(&target, ATTENTION_FORWARD, true, 64).shader,
                     "attention_gqa_forward_matrix");
    target.avoid = GB_QUIRK_NO_MATRIX_ATTENTION;
    cr_expect_str_eq(ops_attention_choose(&target, ATTENTION_FORWARD, true, 64).shader,
                     "attention_gqa_forward_tiled");
    target.avoid = GB_QUIRK_NO_MATRIX;
    cr_expect_str_eq(ops_attention_choose(&target, ATTENTION_BACKWARD_Q, false, 64).shader,
                     "attention_backward_q_tiled");
    target.avoid = 0;
    target.matrix.bfloat16 = true;
    cr_expect_str_eq(ops_attention_choose(&target, ATTENTION_BACKWARD_Q, false, 64).shader,
                     "attention_backward_q_matrix_bfloat16");
    target.matrix = (gb_matrix){0};
    cr_expect_str_eq(ops_attention_choose(&target, ATTENTION_BACKWARD_Q, false, 64).shader,
                     "attention_backward_q_tiled");
    target.profile = GB_PROFILE_CPU;
    attention_choice c = ops_attention_choose(&target, ATTENTION_BACKWARD_Q, false, 64);
    cr_expect_str_eq(c.shader, "attention_backward_q");
    cr_expect(c.by_lanes);
}
