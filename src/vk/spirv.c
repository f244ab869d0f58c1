/* Just enough SPIR-V to tell a shader's workgroup size under specialisation: its LocalSize, or the
 * constant decorated WorkgroupSize, which takes its place (SPIR-V specification, 3.1 and 3.20); and
 * whether it can see its subgroups, by its capabilities (3.31). */
#include "vk/private.h"

enum {
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_DECORATE = 71,
    MODE_LOCAL_SIZE = 17,
    DECORATION_SPEC_ID = 1,
    DECORATION_BUILTIN = 11,
    BUILTIN_WORKGROUP_SIZE = 25,
    CAPABILITY_SUBGROUPS = 61, /* the first of those of subgroups, GroupNonUniform */
    CAPABILITY_SUBGROUPS_LAST = 68,
    CAPABILITY_MATRICES_NV = 5357,
    CAPABILITY_MATRICES_KHR = 6022,
    HEADER_WORDS = 5,
};

/* One instruction: words[0] is opcode and length, the operands follow. */
typedef struct instruction {
    const uint32_t *words; /* at its first word */
    uint32_t opcode;       /* low half of it */
    uint32_t length;       /* words in all */
} instruction;

/* Steps to the instruction at *at; false at the end or where the lengths do not add up. */
static bool next(const uint32_t *words, size_t count, size_t *at, instruction *found)
{
    if (*at >= count)
        return false;
    found->words = words + *at;
    found->opcode = words[*at] & 0xffff;
    found->length = words[*at] >> 16;
    if (found->length == 0 || found->length > count - *at)
        return false;
    *at += found->length;
    return true;
}

/* Value of the scalar constant `id`, specialised. */
static bool constant_value(const uint32_t *words, size_t count, uint32_t id, const uint32_t *spec,
                           uint32_t spec_count, uint32_t *value)
{
    instruction i;
    uint32_t spec_id = UINT32_MAX;
    for (size_t at = HEADER_WORDS; next(words, count, &at, &i);) {
        if (i.opcode == OP_DECORATE && i.length == 4 && i.words[1] == id &&
            i.words[2] == DECORATION_SPEC_ID)
            spec_id = i.words[3];
        if ((i.opcode != OP_CONSTANT && i.opcode != OP_SPEC_CONSTANT) || i.length < 4 ||
            i.words[2] != id)
            continue;
        *value = i.opcode == OP_SPEC_CONSTANT && spec_id < spec_count ? spec[spec_id] : i.words[3];
        return true;
    }
    return false;
}

bool vk_spirv_local_size(const uint32_t *words, size_t count, const uint32_t *spec,
                         uint32_t spec_count, uint32_t size[3])
{
    instruction i;
    uint32_t builtin = 0;
    bool found = false;
    for (size_t at = HEADER_WORDS; next(words, count, &at, &i);) {
        if (i.opcode == OP_EXECUTION_MODE && i.length == 6 && i.words[2] == MODE_LOCAL_SIZE) {
            for (int k = 0; k < 3; k++)
                size[k] = i.words[3 + k];
            found = true;
        }
        if (i.opcode == OP_DECORATE && i.length == 4 && i.words[2] == DECORATION_BUILTIN &&
            i.words[3] == BUILTIN_WORKGROUP_SIZE)
            builtin = i.words[1];
        bool composite =
            i.opcode == OP_CONSTANT_COMPOSITE || i.opcode == OP_SPEC_CONSTANT_COMPOSITE;
        if (!builtin || !composite || i.length != 6 || i.words[2] != builtin)
            continue;
        for (int k = 0; k < 3; k++)
            if (!constant_value(words, count, i.words[3 + k], spec, spec_count, &size[k]))
                return false;
        return true;
    }
    return found;
}

vk_subgroup_use vk_spirv_subgroup_use(const uint32_t *words, size_t count)
{
    instruction i;
    vk_subgroup_use use = VK_SUBGROUPS_UNSEEN;
    for (size_t at = HEADER_WORDS; next(words, count, &at, &i) && i.opcode == OP_CAPABILITY;) {
        uint32_t capability = i.length == 2 ? i.words[1] : 0;
        if (capability == CAPABILITY_MATRICES_NV || capability == CAPABILITY_MATRICES_KHR)
            return VK_SUBGROUPS_OF_MATRICES;
        if (capability >= CAPABILITY_SUBGROUPS && capability <= CAPABILITY_SUBGROUPS_LAST)
            use = VK_SUBGROUPS_SEEN;
    }
    return use;
}
