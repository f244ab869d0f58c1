/* Known bugs of drivers and what is done about them. One table; each row says why. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANY 0

static const struct quirk {
    uint32_t vendor;    /* PCI vendor, or ANY */
    uint32_t driver;    /* VkDriverId, or ANY */
    const char *name;   /* part of the device's name, or NULL */
    bool no_matrices;   /* only where the driver offers no KHR cooperative matrices */
    uint32_t flag;      /* what to do */
    const char *reason; /* what goes wrong */
} quirks[] = {
    {VENDOR_AMD, VK_DRIVER_ID_MOLTENVK, NULL, false, GB_QUIRK_NO_SUBGROUPS,
     "MoltenVK tells 64 lanes where shaders run with 32 (MoltenVK #2750)"},
    {VENDOR_INTEL, ANY, "Arc(TM) A", false, GB_QUIRK_NO_MATRIX,
     "matrix kernels run far below scalar ones on this generation (llama.cpp #24404)"},
    {VENDOR_AMD, VK_DRIVER_ID_AMD_PROPRIETARY, NULL, false, GB_QUIRK_NO_MATRIX,
     "announced on cards that have no matrix units (llama.cpp #10597)"},
    {VENDOR_QUALCOMM, ANY, NULL, false, GB_QUIRK_NO_MATRIX | GB_QUIRK_SMALL_SUBMITS,
     "matrix kernels give wrong numbers (ncnn #6972) and the watchdog is short"},
    {VENDOR_QUALCOMM, ANY, "Adreno (TM) 5", false, GB_QUIRK_NO_PIPELINE_CACHE,
     "stored pipelines crash the driver on this generation"},
    {VENDOR_ARM, ANY, NULL, false, GB_QUIRK_FEW_REGISTERS,
     "a lane has 64 registers, and the large tiles of products do not fit them"},
    {VENDOR_NVIDIA, ANY, "GK10", false, GB_QUIRK_FEW_REGISTERS,
     "a lane of the first Kepler chips has 63 registers"},
    {VENDOR_INTEL, ANY, NULL, false, GB_QUIRK_MORE_LANES,
     "attention by 64 lanes spills registers, forward with heads of 64 and backward with short "
     "ones"},
    {VENDOR_INTEL, ANY, NULL, true, GB_QUIRK_MOST_LANES,
     "before Arc, its gradient with heads of 64 spills registers by 128 lanes"},
    {VENDOR_NVIDIA, VK_DRIVER_ID_NVIDIA_PROPRIETARY, NULL, false, GB_QUIRK_AS_STORED,
     "turning operands for matrices costs half of the time (H200), where loads turn them for "
     "nothing"},
};
#define QUIRK_COUNT (sizeof quirks / sizeof quirks[0])

static const struct gb_quirk_name flags[] = {
    {GB_QUIRK_NO_SUBGROUPS, "no_subgroups"},
    {GB_QUIRK_NO_MATRIX, "no_matrix"},
    {GB_QUIRK_NO_FP16, "no_fp16"},
    {GB_QUIRK_NO_PIPELINE_CACHE, "no_pipeline_cache"},
    {GB_QUIRK_SMALL_SUBMITS, "small_submits"},
    {GB_QUIRK_NO_TEXELS, "no_texels"},
    {GB_QUIRK_NO_BFLOAT16, "no_bfloat16"},
    {GB_QUIRK_FEW_REGISTERS, "few_registers"},
    {GB_QUIRK_MORE_LANES, "more_lanes"},
    {GB_QUIRK_MOST_LANES, "most_lanes"},
    {GB_QUIRK_AS_STORED, "as_stored"},
};
#define FLAG_COUNT (sizeof flags / sizeof flags[0])

/* The i-th of all names, NULL behind the last. */
static const struct gb_quirk_name *name_at(const gb_kernel_rules *rules, size_t i)
{
    if (i < FLAG_COUNT)
        return &flags[i];
    i -= FLAG_COUNT;
    return rules && i < rules->name_count ? &rules->names[i] : NULL;
}

void gb_quirks_text(const gb_kernel_rules *rules, uint32_t bits, char *buffer, size_t size)
{
    size_t used = 0;
    const struct gb_quirk_name *name;
    snprintf(buffer, size, "none");
    for (size_t i = 0; (name = name_at(rules, i)) != NULL; i++)
        if ((bits & name->bit) && used < size)
            used +=
                (size_t)snprintf(buffer + used, size - used, "%s%s", used ? "," : "", name->name);
}

static bool matches(const struct quirk *quirk, const gb_device_caps *caps)
{
    return (quirk->vendor == ANY || quirk->vendor == caps->vendor_id) &&
           (quirk->driver == ANY || quirk->driver == caps->driver_id) &&
           (!quirk->name || gb_contains_word(caps->name, quirk->name)) &&
           !(quirk->no_matrices && caps->matrix_khr);
}

const char *vk_quirk_reason(const gb_instance *instance, const gb_device_caps *caps, uint32_t bit)
{
    const gb_kernel_rules *rules = instance->rules;
    for (size_t i = 0; i < QUIRK_COUNT; i++)
        if ((quirks[i].flag & bit) && matches(&quirks[i], caps))
            return quirks[i].reason;
    if (rules->found && (bit & rules->found(instance->config, caps)))
        return "gabbro doctor found wrong numbers on this driver";
    if (rules->unfit && (bit & rules->unfit(instance->config, caps, caps->quirks)))
        return rules->unfit_reason;
    return "GABBRO_QUIRKS asks for it";
}

static bool fail_name(const gb_kernel_rules *rules, const char *name, size_t length,
                      gb_status *status)
{
    char all[256];
    gb_quirks_text(rules, UINT32_MAX, all, sizeof all);
    return gb_fail(status, GB_USAGE, "GABBRO_QUIRKS", all, "unknown quirk '%.*s'", (int)length,
                   name);
}

bool gb_quirks_apply(const gb_kernel_rules *rules, const char *wish, uint32_t *bits,
                     gb_status *status)
{
    size_t length;
    for (const char *word; (word = gb_next_word(&wish, ',', &length));) {
        bool off = length && *word == '-';
        const char *name = word + off;
        size_t name_length = length - off;
        bool known = length == 0;
        const struct gb_quirk_name *flag;
        for (size_t i = 0; (flag = name_at(rules, i)) != NULL; i++)
            if (strlen(flag->name) == name_length && !strncmp(flag->name, name, name_length)) {
                *bits = off ? *bits & ~flag->bit : *bits | flag->bit;
                known = true;
            }
        if (!known)
            return fail_name(rules, name, name_length, status);
    }
    return true;
}

bool vk_quirks_find(const gb_instance *instance, const gb_device_caps *caps, uint32_t *bits,
                    gb_status *status)
{
    const gb_kernel_rules *rules = instance->rules;
    const char *wish = instance->config->quirks;
    uint32_t all = rules->found ? rules->found(instance->config, caps) : 0;
    for (size_t i = 0; i < QUIRK_COUNT; i++)
        if (matches(&quirks[i], caps))
            all |= quirks[i].flag;
    if (wish && !gb_quirks_apply(rules, wish, &all, status))
        return false;
    if (rules->unfit)
        all |= rules->unfit(instance->config, caps, all);
    if (wish) /* "-flag" holds against what cannot run, too */
        gb_quirks_apply(rules, wish, &all, status);
    *bits = all;
    return true;
}
