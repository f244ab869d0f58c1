/* Buffers: one VkBuffer with one allocation each. There are few of them; tensors are placed inside
 * by the planner, so no allocator is needed here. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

#define MIB ((double)(1 << 20))

/* Memory properties to try for one kind, best first. */
#define LOCAL   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define VISIBLE (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define CACHED  VK_MEMORY_PROPERTY_HOST_CACHED_BIT

/* Fills wishes and returns how many; the specification guarantees that VISIBLE exists. */
static int memory_wishes(gb_buffer_kind kind, bool unified, VkMemoryPropertyFlags wishes[4])
{
    int count = 0;
    switch (kind) {
    case GB_BUFFER_DEVICE:
        if (unified) {
            wishes[count++] = LOCAL | VISIBLE | CACHED;
            wishes[count++] = LOCAL | VISIBLE;
        }
        wishes[count++] = LOCAL;
        wishes[count++] = unified ? VISIBLE : 0;
        break;
    case GB_BUFFER_UPLOAD:
        wishes[count++] = VISIBLE;
        break;
    case GB_BUFFER_DOWNLOAD:
        wishes[count++] = VISIBLE | CACHED;
        wishes[count++] = VISIBLE;
        break;
    }
    return count;
}

/* First allowed memory type with all the wished properties, UINT32_MAX if none. Device-local
 * memory is kept for what asks for it: types are passed over that have it unasked. */
static uint32_t find_type(const VkPhysicalDeviceMemoryProperties *memory,
                          const VkMemoryRequirements *needs, VkMemoryPropertyFlags wish,
                          bool unified)
{
    uint32_t fallback = UINT32_MAX;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        bool extra_local = (flags & LOCAL) && !(wish & LOCAL) && !unified;
        bool extra_visible = (flags & VISIBLE) && !(wish & VISIBLE) && !unified;
        if (!(needs->memoryTypeBits & (1u << i)) || (flags & wish) != wish ||
            (flags & VK_MEMORY_PROPERTY_PROTECTED_BIT) ||
            memory->memoryHeaps[memory->memoryTypes[i].heapIndex].size < needs->size)
            continue;
        if (!extra_local && !extra_visible)
            return i;
        if (fallback == UINT32_MAX)
            fallback = i;
    }
    return fallback;
}

int vk_memory_types(const VkPhysicalDeviceMemoryProperties *memory,
                    const VkMemoryRequirements *needs, gb_buffer_kind kind, bool unified,
                    uint32_t types[4])
{
    VkMemoryPropertyFlags wishes[4];
    int count = 0, wished = memory_wishes(kind, unified, wishes);
    for (int i = 0; i < wished; i++) {
        types[count] = find_type(memory, needs, wishes[i], unified);
        count += types[count] != UINT32_MAX;
    }
    return count;
}

void vk_buffers_log(const gb_device *device)
{
    static const char *const kinds[] = {"device", "upload", "download"};
    double total = 0;
    gb_log(GB_LOG_ERROR, "buffers in use on %s:", device->adapter.caps.name);
    for (const gb_buffer *b = device->buffers; b; b = b->next) {
        gb_log(GB_LOG_ERROR, "  %-32s %-8s %12.1f MiB", b->name, kinds[b->kind],
               (double)b->bytes / MIB);
        total += (double)b->bytes;
    }
    gb_log(GB_LOG_ERROR, "  %-41s %12.1f MiB of %.1f", "together", total / MIB,
           (double)device->adapter.caps.memory_bytes / MIB);
}

static bool fits_limits(const gb_device *device, uint64_t bytes, const char *name,
                        gb_status *status)
{
    const gb_device_caps *caps = &device->adapter.caps;
    if (bytes <= caps->max_buffer_bytes)
        return true;
    return gb_fail(status, GB_MEMORY, name,
                   "use shorter texts, or a smaller --micro-batch or --batch where there is one",
                   "%.1f MiB wanted in one buffer, %s allows %.1f MiB", (double)bytes / MIB,
                   caps->name, (double)caps->max_buffer_bytes / MIB);
}

/* Whether a card of a made-up size has room for one more. */
static bool within_limit(const gb_device *device, uint64_t bytes)
{
    uint64_t limit = device->adapter.caps.memory_limit_bytes;
    for (const gb_buffer *b = device->buffers; limit && b; b = b->next)
        bytes += b->memory && b->kind == GB_BUFFER_DEVICE ? b->bytes : 0;
    return !limit || bytes <= limit;
}

static bool allocate(gb_buffer *buffer, gb_status *status)
{
    gb_device *device = buffer->device;
    bool room = buffer->kind != GB_BUFFER_DEVICE || within_limit(device, buffer->bytes);
    VkMemoryRequirements needs;
    uint32_t types[4];
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    bool unified = device->adapter.caps.unified_memory;
    vkGetBufferMemoryRequirements(device->handle, buffer->handle, &needs);
    int count = vk_memory_types(&device->memory, &needs, buffer->kind, unified, types);
    for (int i = 0; i < count; i++) {
        VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = needs.size,
                                     .memoryTypeIndex = types[i]};
        VkMemoryPropertyFlags got = device->memory.memoryTypes[types[i]].propertyFlags;
        result = gb_fault(GB_FAULT_VULKAN) || !room
                     ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                     : vkAllocateMemory(device->handle, &info, NULL, &buffer->memory);
        if (result == VK_SUCCESS) {
            bool mapped =
                (got & VISIBLE) == VISIBLE && (buffer->kind != GB_BUFFER_DEVICE || unified);
            buffer->cached = got & CACHED;
            if (mapped)
                return VK_TRY(
                    vkMapMemory(device->handle, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->map),
                    "mapping a buffer", status);
            return true;
        }
    }
    vk_buffers_log(device);
    uint64_t left = vk_adapter_free_bytes(&device->adapter);
    char said[80] = "";
    if (left)
        snprintf(said, sizeof said, "; the driver says %.1f MiB are free", (double)left / MIB);
    return gb_fail(status, GB_MEMORY, buffer->name,
                   "use a smaller --micro-batch or --batch where there is one, or shorter texts, "
                   "or close other programs that use the device",
                   "no device memory for %.1f MiB (%s%s)", (double)needs.size / MIB,
                   vk_result_name(result), said);
}

/* Some drivers do not fail but move memory to the slow side of the bus. */
static void warn_if_over_budget(const gb_device *device, const gb_buffer *buffer)
{
    uint64_t left = vk_adapter_free_bytes(&device->adapter);
    if (buffer->kind == GB_BUFFER_DEVICE && left && buffer->bytes > left)
        gb_log(GB_LOG_OWN, "%s: %.1f MiB exceed the %.1f MiB left on %s; it may become very slow",
               buffer->name, (double)buffer->bytes / MIB, (double)left / MIB,
               device->adapter.caps.name);
}

/* A buffer that no device works on: the host's are memory of its own, the others none. */
static gb_buffer *survey_buffer(gb_buffer *buffer, uint64_t padded, gb_status *status)
{
    buffer->cached = true;
    if (buffer->kind != GB_BUFFER_DEVICE && !(buffer->map = gb_alloc(padded, 1, status))) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

gb_buffer *gb_buffer_create(gb_device *device, gb_buffer_kind kind, uint64_t bytes,
                            const char *name, gb_status *status)
{
    /* Whole words, so that any buffer can be filled and copied to its end. */
    uint64_t padded = bytes ? (bytes + 3) / 4 * 4 : 4;
    if (!device->survey && !fits_limits(device, padded, name, status))
        return NULL;
    gb_buffer *buffer = gb_alloc(1, sizeof *buffer, status);
    if (!buffer)
        return NULL;
    buffer->device = device;
    buffer->kind = kind;
    buffer->bytes = bytes;
    snprintf(buffer->name, sizeof buffer->name, "%s", name ? name : "buffer");
    if (device->survey)
        return survey_buffer(buffer, padded, status);
    warn_if_over_budget(device, buffer);
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = padded,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    buffer->next = device->buffers;
    device->buffers = buffer;
    if (!VK_TRY(vkCreateBuffer(device->handle, &info, NULL, &buffer->handle), "creating a buffer",
                status) ||
        !allocate(buffer, status) ||
        !VK_TRY(vkBindBufferMemory(device->handle, buffer->handle, buffer->memory, 0),
                "binding memory", status)) {
        gb_buffer_destroy(buffer);
        return NULL;
    }
    return buffer;
}

void gb_buffer_destroy(gb_buffer *buffer)
{
    if (!buffer)
        return;
    gb_device *device = buffer->device;
    if (!device->survey) /* work that uses it may be pending, above all after errors */
        vkDeviceWaitIdle(device->handle);
    for (gb_buffer **link = &device->buffers; *link; link = &(*link)->next)
        if (*link == buffer) {
            *link = buffer->next;
            break;
        }
    vkDestroyBuffer(device->handle, buffer->handle, NULL);
    vkFreeMemory(device->handle, buffer->memory, NULL); /* unmaps */
    if (device->survey)
        free(buffer->map);
    free(buffer);
}

void *gb_buffer_map(gb_buffer *buffer)
{
    return buffer->map;
}
