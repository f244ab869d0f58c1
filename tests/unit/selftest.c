/* What the self-test found is kept and heeded, and kernels that cannot run are not chosen. */
#include "scratch.h"
#include "diag/selftest.h"
#include "ops/kernels.h"
#include "vk/private.h"

#include <math.h>

static gb_device_caps cpu_device(uint32_t subgroup)
{
    gb_device_caps caps = {.name = "test device",
                           .driver = "test driver 1",
                           .uuid = "00112233445566778899aabbccddeeff",
                           .type = GB_DEVICE_CPU,
                           .subgroup_min = subgroup,
                           .subgroup_ops = GB_SUBGROUP_BASIC | GB_SUBGROUP_SHUFFLE};
    return caps;
}

static gb_config config = {.cache_home = "cache"};
static const gb_instance instance = {.config = &config, .rules = &gb_ops_rules};

static uint32_t quirks_of(const gb_device_caps *caps)
{
    gb_status status = {0};
    uint32_t bits = 0;
    cr_assert(vk_quirks_find(&instance, caps, &bits, &status), "%s", status.what);
    return bits;
}

Test(selftest, shuffling_kernels_need_eight_lanes)
{
    gb_device_caps eight = cpu_device(8), four = cpu_device(4), mute = cpu_device(8);
    cr_expect_eq(quirks_of(&eight), 0);
    cr_expect_eq(quirks_of(&four), GB_QUIRK_SHUFFLES);
    cr_expect(strstr(vk_quirk_reason(&instance, &four, GB_QUIRK_NO_SHUFFLE_NORM), "8 lanes"));
    mute.subgroup_ops = GB_SUBGROUP_BASIC;
    cr_expect_eq(quirks_of(&mute), GB_QUIRK_SHUFFLES);
    gb_device_caps gpu = four;
    gpu.type = GB_DEVICE_DISCRETE; /* it runs other kernels */
    cr_expect_eq(quirks_of(&gpu), 0);
    config.profile = "cpu";
    cr_expect_eq(quirks_of(&gpu), GB_QUIRK_SHUFFLES);
    config.profile = NULL;
    config.quirks = "no_subgroups";
    cr_expect_eq(quirks_of(&eight), GB_QUIRK_NO_SUBGROUPS | GB_QUIRK_SHUFFLES);
    config.quirks = "-no_shuffle_norm";
    cr_expect_eq(quirks_of(&four), GB_QUIRK_SHUFFLES & ~GB_QUIRK_NO_SHUFFLE_NORM);
}

Test(selftest, what_was_found_is_heeded)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_device_caps caps = cpu_device(8), newer = cpu_device(8);
    cr_expect_not(gb_selftest_known(&config, &caps));
    cr_expect(ops_kernels_allow(&config, &caps, &status));
    cr_assert(gb_selftest_store(&config, &caps, GB_QUIRK_NO_TEXELS, NULL, &status), "%s",
              status.what);
    cr_expect(gb_selftest_known(&config, &caps));
    cr_expect_eq(quirks_of(&caps), GB_QUIRK_NO_TEXELS);
    cr_expect(strstr(vk_quirk_reason(&instance, &caps, GB_QUIRK_NO_TEXELS), "doctor"));
    cr_expect(ops_kernels_allow(&config, &caps, &status));
    snprintf(newer.driver, sizeof newer.driver, "test driver 2");
    cr_expect_not(gb_selftest_known(&config, &newer), "another driver");
    cr_expect_eq(quirks_of(&newer), 0);
    config.selftest = "off";
    cr_expect_eq(quirks_of(&caps), 0);
    config.selftest = NULL;
    cr_assert(gb_selftest_store(&config, &caps, 0, "layer norm", &status));
    cr_expect_not(ops_kernels_allow(&config, &caps, &status));
    cr_expect_eq(status.code, GB_DEVICE);
    cr_expect(strstr(status.what, "layer norm"), "%s", status.what);
    scratch_leave(&s);
}

Test(selftest, matrices_are_known_where_they_are_asked_for)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_device_caps caps = cpu_device(8), asked = cpu_device(8);
    asked.precision = GB_FP16;
    cr_assert(gb_selftest_store(&config, &caps, GB_QUIRK_NO_TEXELS, NULL, &status), "%s",
              status.what);
    cr_expect(gb_selftest_known(&config, &caps));
    cr_expect_not(gb_selftest_known(&config, &asked));
    cr_assert(gb_selftest_store(&config, &asked, GB_QUIRK_NO_LANE_ROWS, NULL, &status));
    cr_assert(gb_selftest_store_matrices(&config, &asked, GB_FP16, GB_QUIRK_NO_MATRIX, &status));
    cr_expect(gb_selftest_known(&config, &asked));
    asked.precision = GB_BF16;
    cr_expect_not(gb_selftest_known(&config, &asked), "half floats tell nothing of bfloat16");
    cr_assert(gb_selftest_store_matrices(&config, &asked, GB_BF16, GB_QUIRK_NO_BFLOAT16, &status));
    cr_expect(gb_selftest_known(&config, &asked));
    uint32_t all =
        GB_QUIRK_NO_TEXELS | GB_QUIRK_NO_LANE_ROWS | GB_QUIRK_NO_MATRIX | GB_QUIRK_NO_BFLOAT16;
    cr_expect_eq(quirks_of(&caps), all, "nothing that was found before is forgotten");
    cr_expect(ops_kernels_allow(&config, &asked, &status), "products of floats are left");
    scratch_leave(&s);
}

/* GABBRO_QUIRKS avoids a variant that is wrong, so its test finds nothing wrong. */
Test(selftest, other_kernels_are_not_known)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_device_caps caps = cpu_device(8);
    config.quirks = "no_shuffle_norm";
    cr_assert(gb_selftest_store(&config, &caps, 0, NULL, &status), "%s", status.what);
    cr_expect(gb_selftest_known(&config, &caps));
    config.quirks = NULL;
    cr_expect_not(gb_selftest_known(&config, &caps));
    config.profile = "scalar";
    cr_assert(gb_selftest_store(&config, &caps, 0, NULL, &status));
    config.profile = NULL;
    cr_expect_not(gb_selftest_known(&config, &caps));
    cr_assert(gb_selftest_store(&config, &caps, GB_QUIRK_NO_TEXELS, NULL, &status));
    config.limits = "memory=8G"; /* the kernels are the same */
    cr_expect(gb_selftest_known(&config, &caps));
    config.limits = "memory=8G,min";
    cr_expect_not(gb_selftest_known(&config, &caps));
    config.limits = NULL;
    cr_expect_eq(quirks_of(&caps), GB_QUIRK_NO_TEXELS, "nothing was overwritten");
    scratch_leave(&s);
}

Test(selftest, damaged_records_count_as_none)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_device_caps caps = cpu_device(8);
    char *path = gb_device_cache(&config, &caps, "selftest", "txt");
    cr_assert(gb_selftest_store(&config, &caps, GB_QUIRK_NO_TEXELS, "top-k", &status));
    size_t length;
    char *whole = gb_read_file(path, &length, &status);
    for (size_t cut = 0; cut < length; cut += 9) {
        cr_assert(gb_write_file(path, whole, cut, &status));
        quirks_of(&caps);
        gb_status ignored = {0};
        ops_kernels_allow(&config, &caps, &ignored);
    }
    scratch_write(path, "nonsense\nwrong everything\nrefused all\n");
    cr_expect_not(gb_selftest_known(&config, &caps));
    cr_expect_eq(quirks_of(&caps), 0);
    free(whole);
    free(path);
    scratch_leave(&s);
}

/* A tile that gives one NaN among right numbers is wrong, wherever it is. */
Test(selftest, a_tile_with_a_nan_is_wrong)
{
    const float own[] = {1, 2, 3}, rounded[] = {1, 2, 3.00001f}, other[] = {1, 2, 3.1f};
    cr_expect(diag_same_numbers(own, own, 3));
    cr_expect(diag_same_numbers(own, rounded, 3));
    cr_expect_not(diag_same_numbers(own, other, 3));
    for (size_t i = 0; i < 3; i++) {
        float one[] = {1, 2, 3};
        one[i] = NAN;
        cr_expect_not(diag_same_numbers(own, one, 3), "NaN at %zu", i);
        one[i] = INFINITY;
        cr_expect_not(diag_same_numbers(own, one, 3), "infinity at %zu", i);
    }
}
