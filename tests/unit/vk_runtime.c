/* The Vulkan runtime on whatever device there is (lavapipe at the least), always under the
 * validation layer where it is installed. */
#include "gabbro/vk.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Open a device under validation; skips the test where there is none. */
static gb_device *open_device(bool profile)
{
    gb_status status = {0};
    gb_device_params params = {.validation = true, .profile = profile, .quiet = true};
    gb_device *device = gb_device_open(&params, &status);
    if (!device)
        cr_skip_test("skipped: %s", status.what);
    return device;
}

/* Close it, and fail if the layer had anything to say. */
static void close_device(gb_device *device)
{
    uint32_t messages = gb_device_validation_count(device);
    gb_device_close(device);
    cr_assert_eq(messages, 0, "%u validation messages", messages);
}

#define CHECK(call) cr_assert((call), "%s (%s)", status.what, status.where)

/* An axpy item: y += a*x over n floats, x and y at byte offsets of their buffers. */
static gb_item axpy(gb_device *device, gb_binding x, gb_binding y, uint32_t n, float a,
                    gb_status *status)
{
    uint32_t spec[] = {32, 0};
    gb_item item = {.kind = GB_ITEM_DISPATCH,
                    .barrier_before = true,
                    .label = "axpy",
                    .bind = {x, y},
                    .push_bytes = 8,
                    .grid = {(n + 31) / 32, 1, 1},
                    .flops = 2.0 * n,
                    .bytes = 12.0 * n};
    memcpy(item.push, &n, 4);
    memcpy(item.push + 4, &a, 4);
    item.pipeline = gb_pipeline_get(device, "test_axpy", spec, 2, status);
    return item;
}

Test(vk_runtime, program_computes_and_is_replayed)
{
    enum { N = 1000 };
    gb_status status = {0};
    gb_device *device = open_device(false);
    gb_buffer *buffer = gb_buffer_create(device, GB_BUFFER_DEVICE, 3 * 4096, "test", &status);
    CHECK(buffer);
    gb_binding x = {buffer, 0, 4 * N}, y = {buffer, 4096, 4 * N}, z = {buffer, 8192, 4 * N};
    /* y = 0; y += 2x twice; z = y. Every step needs the one before. */
    gb_item items[4] = {
        {.kind = GB_ITEM_FILL, .bind = {y}},
        axpy(device, x, y, N, 2, &status),
        axpy(device, x, y, N, 2, &status),
        {.kind = GB_ITEM_COPY, .barrier_before = true, .bind = {y, z}},
    };
    float values[N], results[N];
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    gb_program *program = gb_program_create(device, items, 4, &status);
    CHECK(program);
    CHECK(gb_upload(device, buffer, 0, values, sizeof values, &status));
    for (int replay = 0; replay < 3; replay++)
        CHECK(gb_program_submit(program, &status));
    CHECK(gb_download(device, buffer, 8192, results, sizeof results, &status));
    for (int i = 0; i < N; i++)
        cr_assert_eq(results[i], 4 * values[i]);
    gb_program_destroy(program);
    gb_buffer_destroy(buffer);
    close_device(device);
}
