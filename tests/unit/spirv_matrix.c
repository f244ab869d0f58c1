/* Cooperative matrices of NV's extension rewritten to KHR's, and of half floats to bfloat16: of our
 * own kernel, instruction by instruction, and of modules that cannot be rewritten. Needs no device.
 */
#include "scratch.h"
#include "vk/private.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXTENSION = 10,
    CAPABILITY = 17,
    TYPE_FLOAT = 22,
    NV_TYPE = 5358,
    KHR_TYPE = 4456,
    KHR_LOAD,
    KHR_STORE,
    KHR_MULTIPLY
};

static const gb_shader_binary *kernel(void)
{
    const gb_shader_binary *shader = gb_shader_find("matmul_matrix");
    if (!shader)
        cr_skip_test("skipped: glslc did not know GL_NV_cooperative_matrix");
    return shader;
}

static size_t count_of(const uint32_t *words, size_t count, uint32_t opcode)
{
    size_t found = 0;
    for (size_t at = 5; at < count; at += words[at] >> 16) {
        cr_assert_gt(words[at] >> 16, 0);
        found += (words[at] & 0xffff) == opcode;
    }
    return found;
}

Test(spirv_matrix, every_instruction_has_its_counterpart)
{
    const gb_shader_binary *shader = kernel();
    gb_status status = {0};
    size_t count;
    cr_assert(vk_spirv_has_nv_matrices(shader->words, shader->word_count));
    uint32_t *words =
        vk_spirv_khr_matrices(shader->words, shader->word_count, false, &count, &status);
    cr_assert(words, "%s", status.what);
    cr_expect_not(vk_spirv_has_nv_matrices(words, count));
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_eq(count_of(words, count, NV_TYPE + i), 0);
        cr_expect_eq(count_of(words, count, KHR_TYPE + i),
                     count_of(shader->words, shader->word_count, NV_TYPE + i));
    }
    cr_expect_eq(words[3], shader->words[3] + 3, "three new ids");
    cr_expect_eq(count, shader->word_count + 3 + 3 * 4, "three types grow, three constants");
    free(words);
}

/* Attention's too. */
Test(spirv_matrix, every_kernel_can_be_rewritten)
{
    kernel();
    size_t rewritten = 0;
    for (size_t i = 0; i < gb_shader_binary_count; i++) {
        const gb_shader_binary *shader = &gb_shader_binaries[i];
        if (!vk_spirv_has_nv_matrices(shader->words, shader->word_count))
            continue;
        gb_status status = {0};
        size_t count;
        uint32_t *words = vk_spirv_khr_matrices(shader->words, shader->word_count,
                                                shader->users & GB_USER_BF16, &count, &status);
        cr_expect(words, "%s: %s", shader->name, status.what);
        free(words);
        rewritten++;
    }
    cr_expect_gt(rewritten, 13, "products, and attention in two precisions");
}

/* The word `at` of the first instruction with that opcode. */
static uint32_t word_of(const uint32_t *words, size_t count, uint32_t opcode, uint32_t at)
{
    for (size_t i = 5; i < count; i += words[i] >> 16)
        if ((words[i] & 0xffff) == opcode)
            return words[i + at];
    cr_assert_fail("no instruction %u", opcode);
    return 0;
}

Test(spirv_matrix, types_have_the_uses_of_their_products)
{
    const gb_shader_binary *shader = kernel();
    gb_status status = {0};
    size_t count;
    uint32_t *words =
        vk_spirv_khr_matrices(shader->words, shader->word_count, false, &count, &status);
    cr_assert(words, "%s", status.what);
    uint32_t sums = word_of(words, count, KHR_MULTIPLY, 1), bound = shader->words[3], seen = 0;
    for (size_t i = 5; i < count; i += words[i] >> 16)
        if ((words[i] & 0xffff) == KHR_TYPE) {
            uint32_t use = words[i + 6] - bound; /* 0: A, 1: B, 2: sums */
            cr_assert_lt(use, 3);
            cr_expect_eq(use == 2, words[i + 1] == sums);
            seen |= 1u << use;
        }
    cr_expect_eq(seen, 7);
    uint32_t layout = word_of(words, count, KHR_STORE, 3) - bound;
    cr_expect_eq(layout, 0, "sums are stored by rows");
    free(words);
}

Test(spirv_matrix, what_cannot_be_rewritten_is_refused)
{
    const gb_shader_binary *shader = kernel();
    gb_status status = {0};
    size_t count, bytes = 4 * shader->word_count;
    uint32_t *own = malloc(bytes);
    memcpy(own, shader->words, bytes);
    cr_expect_null(vk_spirv_khr_matrices(own, 6, false, &count, &status), "cut in an instruction");
    cr_expect_eq(status.code, GB_INTERNAL);
    /* Without its product nobody knows what a type is for. */
    for (size_t i = 5; i < shader->word_count; i += own[i] >> 16)
        if ((own[i] & 0xffff) == NV_TYPE + 3)
            own[i] = (own[i] & 0xffff0000) | 1;
    cr_expect_null(vk_spirv_khr_matrices(own, shader->word_count, false, &count, &status));
    cr_expect(strstr(status.what, "no product"), "%s", status.what);
    free(own);
}

/* ---- bfloat16 ---- */

/* Our kernel with its half floats as bfloat16; caller frees. */
static uint32_t *of_bfloat16(const gb_shader_binary **shader, size_t *count)
{
    gb_status status = {0};
    kernel(); /* where there is no kernel of half floats there is none of bfloat16 */
    *shader = gb_shader_find("matmul_matrix_bfloat16");
    cr_assert(*shader);
    uint32_t *words =
        vk_spirv_khr_matrices((*shader)->words, (*shader)->word_count, true, count, &status);
    cr_assert(words, "%s", status.what);
    return words;
}

/* Whether an instruction of one operand and more has that one first. */
static bool has(const uint32_t *words, size_t count, uint32_t opcode, uint32_t operand)
{
    for (size_t i = 5; i < count; i += words[i] >> 16)
        if ((words[i] & 0xffff) == opcode && words[i + 1] == operand)
            return true;
    return false;
}

Test(spirv_matrix, half_floats_become_bfloat16)
{
    const gb_shader_binary *shader;
    size_t count;
    uint32_t *words = of_bfloat16(&shader, &count), sixteen = 0;
    cr_expect(has(words, count, CAPABILITY, 5116), "the type");
    cr_expect(has(words, count, CAPABILITY, 5118), "matrices of it");
    cr_expect_not(has(words, count, CAPABILITY, 9), "half floats are not asked for");
    cr_expect(has(words, count, EXTENSION, 0x5f565053), "SPV_");
    for (size_t i = 5; i < count; i += words[i] >> 16)
        if ((words[i] & 0xffff) == TYPE_FLOAT && words[i + 2] == 16) {
            cr_expect_eq(words[i] >> 16, 4, "with an encoding");
            cr_expect_eq(words[i + 3], 0, "of bfloat16");
            sixteen = words[i + 1];
        }
    for (size_t i = 5; i < count; i += words[i] >> 16)
        if ((words[i] & 0xffff) == KHR_TYPE && words[i + 6] - shader->words[3] < 2) /* A, B */
            cr_expect_eq(words[i + 2], sixteen);
    cr_expect_eq(count, shader->word_count + 3 + 3 * 4 + 2 + 6 + 1,
                 "three types grow, three constants; a capability, a name, a type grows");
    free(words);
}

Test(spirv_matrix, a_module_without_half_floats_cannot_have_bfloat16)
{
    const gb_shader_binary *shader = gb_shader_find("matmul_scalar");
    gb_status status = {0};
    size_t count;
    cr_expect_null(vk_spirv_khr_matrices(shader->words, shader->word_count, true, &count, &status));
    cr_expect(strstr(status.what, "no half floats"), "%s", status.what);
}

/* By spirv-val, where there is one that knows the extension. */
Test(spirv_matrix, bfloat16_is_valid)
{
    const gb_shader_binary *shader;
    size_t count;
    uint32_t *words = of_bfloat16(&shader, &count);
    char said[2000] = "";
    gb_status status = {0};
    scratch s = scratch_enter();
    cr_assert(gb_write_file("module.spv", words, 4 * count, &status), "%s", status.what);
    free(words);
    FILE *run = popen("spirv-val --target-env vulkan1.3 module.spv 2>&1", "r");
    cr_assert(run);
    said[fread(said, 1, sizeof said - 1, run)] = '\0';
    int code = pclose(run);
    scratch_leave(&s);
    if (code == 127 << 8)
        cr_skip_test("skipped: no spirv-val");
    if (strstr(said, "Invalid capability operand"))
        cr_skip_test("skipped: this spirv-val does not know SPV_KHR_bfloat16");
    cr_expect_eq(code, 0, "%s", said);
}
