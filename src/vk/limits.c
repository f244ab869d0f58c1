/* GABBRO_LIMITS: a device that pretends to be a smaller one, or a card with other memory. */
#include "vk/private.h"

#include <stdlib.h>
#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The least a Vulkan 1.1 implementation must offer (specification, "Required Limits"), and no
 * luxuries. */
static void clamp_to_minimum(gb_device_caps *caps)
{
    static const uint32_t workgroup[3] = {128, 128, 64};
    caps->max_binding_bytes = smaller(caps->max_binding_bytes, (uint64_t)1 << 27);
    caps->max_texel_bytes = smaller(caps->max_texel_bytes, (uint64_t)65536 * 16);
    caps->max_buffer_bytes = smaller(caps->max_buffer_bytes, (uint64_t)1 << 30);
    caps->binding_alignment = 256;
    caps->max_shared_bytes = (uint32_t)smaller(caps->max_shared_bytes, 16384);
    caps->max_workgroup = (uint32_t)smaller(caps->max_workgroup, 128);
    for (int i = 0; i < 3; i++) {
        caps->max_workgroup_xyz[i] = (uint32_t)smaller(caps->max_workgroup_xyz[i], workgroup[i]);
        caps->max_grid[i] = (uint32_t)smaller(caps->max_grid[i], 65535);
    }
    caps->subgroup_ops &= GB_SUBGROUP_BASIC;
    caps->subgroup_control = false;
    caps->fp16 = false;
    caps->matrix_nv = caps->matrix_khr = false;
    caps->unified_memory = false; /* so that staging is tried on CPUs too */
}

/* Bytes of "8G", "512M", "64K" or "4096" in word [length]; 0 if it is no such number. */
static uint64_t read_bytes(const char *word, size_t length)
{
    static const char units[] = "KMG";
    char *end;
    double value = strtod(word, &end);
    const char *unit = end < word + length ? strchr(units, *end) : NULL;
    if (end == word || (size_t)(end - word) + (unit != NULL) != length || !(value > 0) ||
        value > 1e15)
        return 0;
    for (const char *u = units; unit && u <= unit; u++)
        value *= 1024;
    return (uint64_t)value / GB_ALIGNMENT * GB_ALIGNMENT;
}

/* One word of the list. */
static bool apply(const char *word, size_t length, gb_device_caps *caps)
{
    static const char memory[] = "memory=", buffer[] = "buffer=";
    uint64_t bytes;
    if (length == 3 && !strncmp(word, "min", length)) {
        clamp_to_minimum(caps);
        return true;
    }
    bool of_memory = !strncmp(word, memory, sizeof memory - 1);
    if ((!of_memory && strncmp(word, buffer, sizeof buffer - 1) != 0) ||
        length < sizeof memory - 1 ||
        !(bytes = read_bytes(word + sizeof memory - 1, length - (sizeof memory - 1))))
        return false;
    if (of_memory)
        caps->memory_bytes = caps->memory_limit_bytes = bytes;
    else
        caps->max_buffer_bytes = caps->max_binding_bytes = bytes;
    return true;
}

bool vk_limits_apply(const gb_config *config, gb_device_caps *caps, gb_status *status)
{
    size_t length;
    const char *list = config->limits;
    for (const char *word; list && (word = gb_next_word(&list, ',', &length));)
        if (!apply(word, length, caps))
            return gb_fail(status, GB_USAGE, "GABBRO_LIMITS",
                           "use min, memory=8G and buffer=4G with commas between, or leave it "
                           "unset",
                           "unknown limit '%.*s'", (int)length, word);
    return true;
}
