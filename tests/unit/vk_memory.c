/* Memory of devices: its kinds and limits, real and made up. */
#include "vk_help.h"

#include <stdlib.h>
#include <string.h>

Test(vk_memory, too_large_a_buffer)
{
    gb_status status = {0};
    gb_device *device = open_device(false);
    uint64_t bytes = gb_device_get_caps(device)->max_buffer_bytes;
    if (bytes < UINT64_MAX - 4) {
        cr_assert_null(
            gb_buffer_create(device, GB_BUFFER_DEVICE, bytes + 4, "activations", &status));
        cr_assert_eq(status.code, GB_MEMORY);
        cr_assert_str_eq(status.where, "activations");
    }
    close_device(device);
}

/* A card of a made-up size: its buffers together are no larger, and its name in keys says so. */
Test(vk_memory, memory_of_a_made_up_card)
{
    static const char *const wrong[] = {"memory=",    "memory=0", "memory=8X", "buffer=-1G",
                                        "memory=8Gi", "max",      "memory"};
    gb_status status = {0};
    setenv("GABBRO_LIMITS", "memory=1.5M,buffer=1M", 1);
    gb_device *device = open_device(false);
    const gb_device_caps *caps = gb_device_get_caps(device);
    cr_expect_eq(caps->memory_bytes, 3 << 19);
    cr_expect_eq(caps->max_buffer_bytes, 1 << 20);
    cr_expect_eq(caps->max_binding_bytes, 1 << 20);
    char *identity = identity_of(NULL, &status);
    cr_expect(strstr(identity, "limits memory=1.5M,buffer=1M"), "%s", identity);
    free(identity);
    cr_expect_null(gb_buffer_create(device, GB_BUFFER_DEVICE, (1 << 20) + 4, "large", &status));
    cr_expect_eq(status.code, GB_MEMORY);
    gb_buffer *first = gb_buffer_create(device, GB_BUFFER_DEVICE, 1 << 20, "first", &status);
    CHECK(first);
    gb_buffer *second = gb_buffer_create(device, GB_BUFFER_DEVICE, 1 << 18, "second", &status);
    CHECK(second);
    status = (gb_status){0};
    cr_expect_null(gb_buffer_create(device, GB_BUFFER_DEVICE, 1 << 18, "third", &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect(strstr(status.hint, "--micro-batch"), "%s", status.hint);
    gb_buffer_destroy(first);
    gb_buffer_destroy(second);
    close_device(device);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        status = (gb_status){0};
        setenv("GABBRO_LIMITS", wrong[i], 1);
        cr_expect_null(open_plain(&status), "%s", wrong[i]);
        cr_expect_eq(status.code, GB_USAGE, "%s", wrong[i]);
    }
}

/* AMD's driver for Windows calls only what the firmware set apart of an integrated GPU's memory
 * device-local, part of it visible; the rest of the host's is no worse. */
Test(vk_memory, memory_of_integrated_gpus)
{
    enum { OWN, HOST, WINDOW };
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags visible =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags cached = visible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const VkPhysicalDeviceMemoryProperties memory = {
        .memoryTypeCount = 4,
        .memoryTypes = {{local, OWN}, {visible, HOST}, {local | visible, WINDOW}, {cached, HOST}},
        .memoryHeapCount = 3,
        .memoryHeaps = {{512 << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT},
                        {(VkDeviceSize)8 << 30, 0},
                        {256 << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}}};
    VkMemoryRequirements needs = {.size = 64 << 20, .memoryTypeBits = 15};
    uint32_t types[4];
    cr_expect_eq(vk_main_heap(&memory, GB_DEVICE_INTEGRATED), HOST);
    cr_expect(vk_memory_unified(&memory, GB_DEVICE_INTEGRATED));
    cr_assert_eq(vk_memory_types(&memory, &needs, GB_BUFFER_DEVICE, true, types), 3);
    cr_expect(types[0] == 2 && types[1] == 0 && types[2] == 1, "%u %u %u", types[0], types[1],
              types[2]);
    /* Nothing is asked of a heap that is smaller. */
    needs.size = 1 << 30;
    cr_assert_eq(vk_memory_types(&memory, &needs, GB_BUFFER_DEVICE, true, types), 1);
    cr_expect_eq(types[0], 1);
    cr_assert_eq(vk_memory_types(&memory, &needs, GB_BUFFER_DOWNLOAD, true, types), 2);
    cr_expect(types[0] == 3 && types[1] == 1, "%u %u", types[0], types[1]);

    /* A card keeps to its own. */
    cr_expect_eq(vk_main_heap(&memory, GB_DEVICE_DISCRETE), OWN);
    cr_expect_not(vk_memory_unified(&memory, GB_DEVICE_DISCRETE));
    needs.size = 64 << 20;
    cr_assert_geq(vk_memory_types(&memory, &needs, GB_BUFFER_DEVICE, false, types), 1);
    cr_expect_eq(types[0], 0);
}
