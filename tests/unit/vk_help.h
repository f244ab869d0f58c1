/* Devices for tests of the Vulkan runtime: as the environment asks, under validation. */
#ifndef GABBRO_TESTS_VK_HELP_H
#define GABBRO_TESTS_VK_HELP_H

#include "vk/private.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* For tests that provoke messages: they would look like failures. */
static inline void expect_messages(void)
{
    cr_assert(freopen("/dev/null", "w", stderr));
}

#define CHECK(call) cr_assert((call), "%s (%s)", status.what, status.where)

/* To open a device as the environment asks for now. */
static inline gb_device_params params_now(void)
{
    static gb_config config;
    config = gb_config_read();
    return (gb_device_params){.config = &config, .quiet = true};
}

static inline gb_device *open_plain(gb_status *status)
{
    gb_device_params params = params_now();
    return gb_device_open(&params, status);
}

/* Identity of the device that `select` names. */
static inline char *identity_of(const char *select, gb_status *status)
{
    gb_device_params params = params_now();
    params.select = select;
    return gb_device_identity(&params, status);
}

/* Open a device under validation; skips the test where there is none. */
static inline gb_device *open_device(bool profile)
{
    gb_status status = {0};
    gb_device_params params = params_now();
    params.validation = true;
    params.profile = profile;
    gb_device *device = gb_device_open(&params, &status);
    if (!device)
        cr_skip_test("skipped: %s", status.what);
    return device;
}

/* Close it, and fail if the layer had anything to say. */
static inline void close_device(gb_device *device)
{
    uint32_t messages = gb_device_validation_count(device);
    gb_device_close(device);
    cr_assert_eq(messages, 0, "%u validation messages", messages);
}

#endif
