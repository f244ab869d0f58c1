/* Known bugs of drivers and what is done about them. One table; each row says why. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VENDOR_AMD      0x1002
#define VENDOR_INTEL    0x8086
#define VENDOR_QUALCOMM 0x5143
#define VENDOR_APPLE    0x106b
#define ANY             0

static const struct quirk {
    uint32_t vendor;    /* PCI vendor, or ANY */
    uint32_t driver;    /* VkDriverId, or ANY */
    const char *name;   /* part of the device's name, or NULL */
    uint32_t before;    /* driver versions below this one, in its own packing; 0 = all */
    uint32_t flag;      /* what to do */
    const char *reason; /* what goes wrong */
} quirks[] = {
    {VENDOR_AMD, VK_DRIVER_ID_MOLTENVK, NULL, 0, GB_QUIRK_NO_SUBGROUPS,
     "MoltenVK tells 64 lanes where shaders run with 32 (MoltenVK #2750)"},
    {VENDOR_INTEL, ANY, "Arc(TM) A", 0, GB_QUIRK_NO_MATRIX,
     "matrix kernels run far below scalar ones on this generation (llama.cpp #24404)"},
    {VENDOR_AMD, VK_DRIVER_ID_AMD_PROPRIETARY, NULL, 0, GB_QUIRK_NO_MATRIX,
     "announced on cards that have no matrix units (llama.cpp #10597)"},
    {VENDOR_QUALCOMM, ANY, NULL, 0, GB_QUIRK_NO_MATRIX | GB_QUIRK_SMALL_SUBMITS,
     "matrix kernels give wrong numbers (ncnn #6972) and the watchdog is short"},
    {VENDOR_QUALCOMM, ANY, "Adreno (TM) 5", 0, GB_QUIRK_NO_PIPELINE_CACHE,
     "stored pipelines crash the driver on this generation"},
};
#define QUIRK_COUNT (sizeof quirks / sizeof quirks[0])

static const struct flag {
    uint32_t bit;     /* GB_QUIRK_ bit */
    const char *name; /* as GABBRO_QUIRKS spells it */
} flags[] = {
    {GB_QUIRK_NO_SUBGROUPS, "no_subgroups"},
    {GB_QUIRK_NO_MATRIX, "no_matrix"},
    {GB_QUIRK_NO_FP16, "no_fp16"},
    {GB_QUIRK_NO_PIPELINE_CACHE, "no_pipeline_cache"},
    {GB_QUIRK_SMALL_SUBMITS, "small_submits"},
    {GB_QUIRK_NO_TEXELS, "no_texels"},
    {GB_QUIRK_NO_LANE_ROWS, "no_lane_rows"},
    {GB_QUIRK_NO_SHUFFLE_MATMUL, "no_shuffle_matmul"},
    {GB_QUIRK_NO_SHUFFLE_ATTENTION, "no_shuffle_attention"},
    {GB_QUIRK_NO_SHUFFLE_NORM, "no_shuffle_norm"},
    {GB_QUIRK_NO_MATRIX_KHR, "no_matrix_khr"},
    {GB_QUIRK_NO_BFLOAT16, "no_bfloat16"},
};
#define FLAG_COUNT (sizeof flags / sizeof flags[0])

void gb_quirks_text(uint32_t bits, char *buffer, size_t size)
{
    size_t used = 0;
    snprintf(buffer, size, "none");
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if ((bits & flags[i].bit) && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? "," : "",
                                     flags[i].name);
}

static bool matches(const struct quirk *quirk, const gb_device_caps *caps)
{
    return (quirk->vendor == ANY || quirk->vendor == caps->vendor_id) &&
           (quirk->driver == ANY || quirk->driver == caps->driver_id) &&
           (!quirk->name || strcasestr(caps->name, quirk->name)) &&
           (!quirk->before || caps->driver_version < quirk->before);
}

/* What the shuffling kernels of CPU drivers stand on: workgroups of 8 lanes are one subgroup. */
static bool can_shuffle(const gb_device_caps *caps)
{
    return (caps->subgroup_ops & GB_SUBGROUP_SHUFFLE) && caps->subgroup_min >= 8;
}

/* Kernels of the cpu profile that cannot run here. */
static uint32_t unfit(const gb_device_caps *caps, uint32_t known)
{
    const char *profile = gb_env("GABBRO_PROFILE");
    bool cpu = profile ? !strcmp(profile, "cpu") : caps->type == GB_DEVICE_CPU;
    bool shuffles = can_shuffle(caps) && !(known & GB_QUIRK_NO_SUBGROUPS);
    return cpu && !shuffles ? GB_QUIRK_SHUFFLES : 0;
}

const char *gb_quirk_reason(const gb_device_caps *caps, uint32_t bit)
{
    for (size_t i = 0; i < QUIRK_COUNT; i++)
        if ((quirks[i].flag & bit) && matches(&quirks[i], caps))
            return quirks[i].reason;
    if (bit & gb_selftest_quirks(caps))
        return "gabbro doctor found wrong numbers on this driver";
    if ((bit & GB_QUIRK_SHUFFLES) && !can_shuffle(caps))
        return "its subgroups are smaller than 8 lanes, or do not shuffle";
    return "GABBRO_QUIRKS asks for it";
}

bool gb_quirks_apply(const char *wish, uint32_t *bits, gb_status *status)
{
    while (*wish) {
        size_t length = strcspn(wish, ",");
        bool off = *wish == '-';
        const char *name = wish + off;
        size_t name_length = length - off;
        bool known = length == 0;
        for (size_t i = 0; i < FLAG_COUNT; i++)
            if (strlen(flags[i].name) == name_length &&
                strncmp(flags[i].name, name, name_length) == 0) {
                *bits = off ? *bits & ~flags[i].bit : *bits | flags[i].bit;
                known = true;
            }
        if (!known) {
            char all[256];
            gb_quirks_text(UINT32_MAX, all, sizeof all);
            return gb_fail(status, GB_USAGE, "GABBRO_QUIRKS", all, "unknown quirk '%.*s'",
                           (int)name_length, name);
        }
        wish += length + (wish[length] == ',');
    }
    return true;
}

bool gb_quirks_find(const gb_device_caps *caps, uint32_t *bits, gb_status *status)
{
    uint32_t found = gb_selftest_quirks(caps);
    for (size_t i = 0; i < QUIRK_COUNT; i++)
        if (matches(&quirks[i], caps))
            found |= quirks[i].flag;
    const char *wish = gb_env("GABBRO_QUIRKS");
    if (wish && !gb_quirks_apply(wish, &found, status))
        return false;
    found |= unfit(caps, found);
    if (wish) /* "-flag" holds against what cannot run, too */
        gb_quirks_apply(wish, &found, status);
    *bits = found;
    return true;
}
