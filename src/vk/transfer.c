/* Copies between host and device outside of programs: directly where the buffer is mapped, else
 * through staging memory in two halves. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static uint64_t staging_bytes(const gb_device *device)
{
    uint64_t most = device->adapter.caps.max_buffer_bytes;
    return most < GB_STAGING_BYTES ? most : GB_STAGING_BYTES;
}

static bool prepare(gb_device *device, gb_staging *staging, gb_buffer_kind kind, gb_status *status)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT |
                                             VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = device->adapter.queue_family};
    if (!device->transfer_pool &&
        !VK_TRY(vkCreateCommandPool(device->handle, &pool, NULL, &device->transfer_pool),
                "creating the transfer pool", status))
        return false;
    for (int i = 0; i < 2; i++) {
        VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = device->transfer_pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
        if (!staging->buffer[i] && !(staging->buffer[i] = gb_buffer_create(
                                         device, kind, staging_bytes(device), "staging", status)))
            return false;
        if (!staging->command[i] &&
            !VK_TRY(vkAllocateCommandBuffers(device->handle, &info, &staging->command[i]),
                    "allocating a transfer command buffer", status))
            return false;
    }
    return true;
}

void vk_transfer_free(gb_device *device)
{
    for (int i = 0; i < 2; i++) {
        gb_buffer_destroy(device->up.buffer[i]);
        gb_buffer_destroy(device->down.buffer[i]);
    }
    vkDestroyCommandPool(device->handle, device->transfer_pool, NULL); /* and its buffers */
}

/* Record and submit one copy, ordered after all earlier work. */
static bool submit_copy(gb_device *device, gb_staging *staging, int half, VkBuffer from,
                        VkBuffer to, VkBufferCopy region, gb_status *status)
{
    VkCommandBuffer command = staging->command[half];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    gb_submission submission = {command, "transfer", "transfer"};
    if (!VK_TRY(vkBeginCommandBuffer(command, &begin), "recording a transfer", status))
        return false;
    vk_record_barrier(command, false);
    vkCmdCopyBuffer(command, from, to, 1, &region);
    vk_record_barrier(command, true);
    if (!VK_TRY(vkEndCommandBuffer(command), "recording a transfer", status))
        return false;
    staging->value[half] = vk_device_submit(device, &submission, 1, status);
    return staging->value[half] != 0;
}

static bool in_range(const gb_buffer *buffer, uint64_t offset, uint64_t size, gb_status *status)
{
    if (offset <= buffer->bytes && size <= buffer->bytes - offset)
        return true;
    return gb_fail(status, GB_INTERNAL, buffer->name, NULL,
                   "transfer of %llu bytes at %llu in a buffer of %llu", (unsigned long long)size,
                   (unsigned long long)offset, (unsigned long long)buffer->bytes);
}

/* Bytes of the part at `done` of all. */
static uint64_t part_at(const gb_device *device, uint64_t done, uint64_t size)
{
    uint64_t left = done < size ? size - done : 0, most = staging_bytes(device);
    return left < most ? left : most;
}

bool gb_upload(gb_device *device, gb_buffer *buffer, uint64_t offset, const void *bytes,
               uint64_t size, gb_status *status)
{
    gb_staging *staging = &device->up;
    if (!in_range(buffer, offset, size, status) ||
        !gb_device_wait(device, device->submitted, status))
        return false;
    if (device->survey)
        return true;
    if (buffer->map) {
        memcpy((char *)buffer->map + offset, bytes, size);
        return true;
    }
    if (!prepare(device, staging, GB_BUFFER_UPLOAD, status))
        return false;
    int half = 0;
    for (uint64_t done = 0; done < size; half ^= 1) {
        uint64_t part = part_at(device, done, size);
        gb_buffer *stage = staging->buffer[half];
        if (!gb_device_wait(device, staging->value[half], status))
            return false;
        memcpy(stage->map, (const char *)bytes + done, part);
        if (!submit_copy(device, staging, half, stage->handle, buffer->handle,
                         (VkBufferCopy){0, offset + done, part}, status))
            return false;
        done += part;
    }
    return gb_device_wait(device, device->submitted, status);
}

/* Start copying the part at `done` into one half of the staging memory. */
static bool fetch(gb_device *device, const gb_buffer *buffer, int half, uint64_t from,
                  uint64_t part, gb_status *status)
{
    return part == 0 ||
           submit_copy(device, &device->down, half, buffer->handle,
                       device->down.buffer[half]->handle, (VkBufferCopy){from, 0, part}, status);
}

bool gb_download(gb_device *device, const gb_buffer *buffer, uint64_t offset, void *bytes,
                 uint64_t size, gb_status *status)
{
    gb_staging *staging = &device->down;
    if (!in_range(buffer, offset, size, status) ||
        !gb_device_wait(device, device->submitted, status))
        return false;
    if (device->survey) {
        /* Whole models stay what they are: nobody looks at them, and zeroing them takes longer than
         * compiling the kernels. */
        if (size < GB_STAGING_BYTES)
            memset(bytes, 0, size);
        return true;
    }
    if (buffer->map && buffer->cached) {
        memcpy(bytes, (const char *)buffer->map + offset, size);
        return true;
    }
    if (!prepare(device, staging, GB_BUFFER_DOWNLOAD, status))
        return false;
    int half = 0;
    if (!fetch(device, buffer, half, offset, part_at(device, 0, size), status))
        return false;
    for (uint64_t done = 0; done < size; half ^= 1) {
        uint64_t part = part_at(device, done, size), ahead = done + part;
        if (!fetch(device, buffer, half ^ 1, offset + ahead, part_at(device, ahead, size),
                   status) ||
            !gb_device_wait(device, staging->value[half], status))
            return false;
        memcpy((char *)bytes + done, staging->buffer[half]->map, part);
        done = ahead;
    }
    return true;
}
