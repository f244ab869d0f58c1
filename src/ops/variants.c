/* Variants of kernels: those that a device cannot run or computes wrongly are avoided, and the next
 * best run instead. */
#include "kernels.h"

#include <string.h>

static const struct gb_quirk_name names[] = {
    {GB_QUIRK_NO_LANE_ROWS, "no_lane_rows"},
    {GB_QUIRK_NO_SHUFFLE_MATMUL, "no_shuffle_matmul"},
    {GB_QUIRK_NO_SHUFFLE_ATTENTION, "no_shuffle_attention"},
    {GB_QUIRK_NO_SHUFFLE_NORM, "no_shuffle_norm"},
    {GB_QUIRK_NO_MATRIX_KHR, "no_matrix_khr"},
    {GB_QUIRK_NO_MATRIX_ATTENTION, "no_matrix_attention"},
};

/* The shuffling kernels of CPU drivers stand on workgroups of 8 lanes that are one subgroup. */
static uint32_t unfit(const gb_config *config, const gb_device_caps *caps, uint32_t quirks)
{
    bool cpu = config->profile ? !strcmp(config->profile, "cpu") : caps->type == GB_DEVICE_CPU;
    bool shuffles = (caps->subgroup_ops & GB_SUBGROUP_SHUFFLE) && caps->subgroup_min >= 8 &&
                    !(quirks & GB_QUIRK_NO_SUBGROUPS);
    return cpu && !shuffles ? GB_QUIRK_SHUFFLES : 0;
}

const gb_kernel_rules gb_ops_rules = {
    .names = names,
    .name_count = sizeof names / sizeof *names,
    .found = ops_kernels_found,
    .unfit = unfit,
    .unfit_reason = "its subgroups are smaller than 8 lanes, or do not shuffle",
    .allow = ops_kernels_allow,
    .tiles = ops_kernels_tiles,
};

gb_device_params gb_ops_device(const gb_config *config, const char *select)
{
    return (gb_device_params){.config = config, .rules = &gb_ops_rules, .select = select};
}

void gb_device_avoid(gb_device *device, uint32_t variants)
{
    uint32_t others = gb_device_get_caps(device)->quirks & ~(uint32_t)GB_QUIRK_TESTED;
    gb_device_use_quirks(device, others | (variants & GB_QUIRK_TESTED));
}
