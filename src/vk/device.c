/* The logical device: one queue, one timeline semaphore, submissions and waiting for them. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

/* Default bound of one submission. Watchdogs bite at 2 s; the estimates may be off by ten. */
#define SUBMIT_MS 200.0

/* ---- opening ---- */

static bool create_handle(gb_device *device, gb_status *status)
{
    gb_adapter *adapter = &device->adapter;
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = adapter->queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    vk_features_chain(adapter);
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &adapter->features.core,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = adapter->extension_count,
                               .ppEnabledExtensionNames = adapter->extensions};
    if (!VK_TRY(vkCreateDevice(adapter->handle, &info, NULL, &device->handle), "opening the device",
                status))
        return false;
    vkGetDeviceQueue(device->handle, adapter->queue_family, 0, &device->queue);
    vkGetPhysicalDeviceMemoryProperties(adapter->handle, &device->memory);
    return true;
}

static bool create_timeline(gb_device *device, gb_status *status)
{
    bool core = device->adapter.core12;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    device->wait_semaphores = (PFN_vkWaitSemaphores)(void *)vkGetDeviceProcAddr(
        device->handle, core ? "vkWaitSemaphores" : "vkWaitSemaphoresKHR");
    device->counter_value = (PFN_vkGetSemaphoreCounterValue)(void *)vkGetDeviceProcAddr(
        device->handle, core ? "vkGetSemaphoreCounterValue" : "vkGetSemaphoreCounterValueKHR");
    if (!device->wait_semaphores || !device->counter_value)
        return gb_fail(status, GB_DEVICE, device->adapter.caps.name, "update its driver",
                       "timeline semaphores are announced but have no entry points");
    return VK_TRY(vkCreateSemaphore(device->handle, &info, NULL, &device->timeline),
                  "creating the timeline", status);
}

/* What the configuration says a submission may take, or `otherwise`. */
static double submit_ms(const gb_config *config, double otherwise)
{
    const char *text = config->submit_ms;
    char *end = NULL;
    double value = text ? strtod(text, &end) : otherwise;
    if (text && (end == text || *end || value < 0)) {
        gb_log(GB_LOG_WARN, "GABBRO_SUBMIT_MS=%s is no number and is ignored", text);
        return otherwise;
    }
    return value;
}

static void read_settings(gb_device *device, const gb_device_params *params)
{
    const gb_device_caps *caps = &device->adapter.caps;
    const gb_config *config = device->instance->config;
    device->full_barriers = config->barriers && strcmp(config->barriers, "full") == 0;
    device->submit_ms = submit_ms(config, caps->quirks & GB_QUIRK_SMALL_SUBMITS ? 50 : SUBMIT_MS);
    device->users = params->users ? params->users : GB_USER_ALL;
    device->profiling = params->profile;
    if (params->profile && caps->timestamp_bits == 0)
        gb_log(GB_LOG_WARN, "%s has no timestamps, so there is no profile", caps->name);
}

static void log_choice(const gb_device *device, bool quiet)
{
    const gb_device_caps *caps = &device->adapter.caps;
    const gb_config *config = device->instance->config;
    gb_log_level level = quiet ? GB_LOG_DEBUG : GB_LOG_INFO;
    bool rounds = caps->precision != GB_FP32;
    const char *profile = gb_kernel_profile_name(caps->profile);
    gb_log(level, "device: %s (%s), %s, %s kernels%s%s%s%s", caps->name,
           gb_device_type_name(caps->type), caps->driver, profile, rounds ? ", products in " : "",
           rounds ? gb_precision_name(caps->precision) : "", config->limits ? ", limits " : "",
           config->limits ? config->limits : "");
    const char *wish = config->profile;
    if (wish && strncmp(wish, profile, strlen(profile)) != 0) /* matrix-bf16 is matrix */
        gb_log(GB_LOG_OWN, "device: no %s kernels on %s, using %s ones", wish, caps->name, profile);
    for (uint32_t bit = 1; bit && bit <= caps->quirks; bit <<= 1) {
        char name[64];
        gb_quirks_text(device->instance->rules, bit, name, sizeof name);
        if (caps->quirks & bit)
            gb_log(level, "device: %s: %s", name, vk_quirk_reason(device->instance, caps, bit));
    }
}

/* Instance, choice and logical device. */
static bool open_device(gb_device *device, const gb_device_params *params, gb_status *status)
{
    gb_adapter *adapters = NULL;
    uint32_t count = 0;
    device->instance = vk_instance_create(params, status);
    if (!device->instance || !vk_adapters_list(device->instance, &adapters, &count, status))
        return false;
    const gb_adapter *chosen =
        vk_adapter_select(device->instance, adapters, count, params->select, status);
    if (chosen)
        device->adapter = *chosen;
    free(adapters);
    if (!chosen)
        return false;
    read_settings(device, params);
    log_choice(device, params->quiet);
    return create_handle(device, status) && (params->survey || create_timeline(device, status));
}

/* What stands in bindings that an item leaves unused. */
static bool create_dummies(gb_device *device, gb_status *status)
{
    device->dummy =
        gb_buffer_create(device, GB_BUFFER_DEVICE, GB_ALIGNMENT, "unused bindings", status);
    if (!device->dummy)
        return false;
    VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                   .buffer = device->dummy->handle,
                                   .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                   .range = GB_ALIGNMENT};
    return VK_TRY(vkCreateBufferView(device->handle, &info, NULL, &device->dummy_view),
                  "creating a texel view", status);
}

gb_device *gb_device_open(const gb_device_params *params, gb_status *status)
{
    static const gb_device_params defaults = {0};
    gb_device *device = gb_alloc(1, sizeof *device, status);
    if (!device)
        return NULL;
    bool survey = params && params->survey;
    if (!open_device(device, params ? params : &defaults, status) ||
        !vk_pipelines_init(device, status) ||
        !(survey ? vk_survey_init(device, status) : create_dummies(device, status))) {
        gb_device_close(device);
        return NULL;
    }
    return device;
}

void gb_device_close(gb_device *device)
{
    if (!device)
        return;
    if (device->handle) {
        if (!device->survey)
            vkDeviceWaitIdle(device->handle);
        vk_transfer_free(device);
        vk_pipelines_free(device);
        vkDestroyBufferView(device->handle, device->dummy_view, NULL);
        gb_buffer_destroy(device->dummy);
        vkDestroySemaphore(device->handle, device->timeline, NULL);
        vkDestroyDevice(device->handle, NULL);
    }
    vk_profile_free(device);
    vk_survey_free(device);
    vk_instance_destroy(device->instance);
    free(device);
}

/* ---- questions ---- */

const gb_device_caps *gb_device_get_caps(const gb_device *device)
{
    return &device->adapter.caps;
}

const gb_config *gb_device_config(const gb_device *device)
{
    return device->instance->config;
}

const char *gb_device_quirk_reason(const gb_device *device, uint32_t bit)
{
    return vk_quirk_reason(device->instance, &device->adapter.caps, bit);
}

void gb_device_use_quirks(gb_device *device, uint32_t quirks)
{
    device->adapter.caps.quirks = quirks;
}

void gb_device_use_tiles(gb_device *device, uint32_t tiles)
{
    device->adapter.caps.tiles = tiles;
}

void gb_device_use_precision(gb_device *device, gb_precision precision)
{
    device->adapter.caps.precision = precision;
}

void gb_device_set_timing(gb_device *device, bool profile)
{
    device->profiling = profile;
}

uint32_t gb_device_validation_count(const gb_device *device)
{
    return atomic_load(&device->instance->messages);
}

bool gb_device_validating(const gb_device *device)
{
    return device->instance->validating;
}

uint64_t gb_device_submitted(const gb_device *device)
{
    return device->submitted;
}

/* ---- submitting and waiting ---- */

/* Replaces the message of a device loss by one that says where it happened, if that is known. */
static bool explain_loss(gb_device *device, gb_status *status)
{
    uint64_t done = 0;
    const gb_pending *last = NULL, *next = NULL;
    if (device->counter_value(device->handle, device->timeline, &done) != VK_SUCCESS ||
        done > device->submitted)
        done = 0; /* lost devices may answer anything */
    for (size_t i = 0; i < GB_PENDING; i++) {
        const gb_pending *p = &device->pending[i];
        if (p->value && p->value == done)
            last = p;
        if (p->value && p->value == done + 1)
            next = p;
    }
    return gb_fail(
        status, GB_DEVICE, device->adapter.caps.name,
        "often a watchdog: try GABBRO_SUBMIT_MS=50, or 0 to name the dispatch; see dmesg",
        "device lost; last known to have finished: %s; then came: %s to %s",
        last ? last->last : "unknown", next ? next->first : "unknown",
        next ? next->last : "unknown");
}

static void remember(gb_device *device, const gb_submission *submission, uint64_t value)
{
    gb_pending *p = &device->pending[value % GB_PENDING];
    p->value = value;
    snprintf(p->first, sizeof p->first, "%s", submission->first ? submission->first : "unnamed");
    snprintf(p->last, sizeof p->last, "%s", submission->last ? submission->last : "unnamed");
}

/* One vkQueueSubmit for one command buffer: a watchdog counts each by itself. */
static bool submit_one(gb_device *device, const gb_submission *submission, gb_status *status)
{
    uint64_t value = device->submitted + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &timeline,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &submission->command,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &device->timeline};
    VkResult result = gb_fault(GB_FAULT_VULKAN)
                          ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                          : vkQueueSubmit(device->queue, 1, &info, VK_NULL_HANDLE);
    if (result == VK_ERROR_DEVICE_LOST)
        return explain_loss(device, status);
    if (!vk_check(result, "submitting work", status))
        return false;
    device->submitted = value;
    remember(device, submission, value);
    return true;
}

uint64_t vk_device_submit(gb_device *device, const gb_submission *list, uint32_t count,
                          gb_status *status)
{
    for (uint32_t i = 0; i < count; i++)
        if (!submit_one(device, &list[i], status))
            return 0;
    return device->submitted;
}

bool gb_device_wait(gb_device *device, uint64_t value, gb_status *status)
{
    const uint64_t patience_ns = (uint64_t)60 * 1000000000;
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &device->timeline,
                                .pValues = &value};
    VkResult result;
    unsigned minutes = 0;
    if (value > device->submitted)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "waiting for submission %llu of %llu",
                       (unsigned long long)value, (unsigned long long)device->submitted);
    if (device->survey)
        return true;
    do {
        result = gb_fault(GB_FAULT_VULKAN)
                     ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                     : device->wait_semaphores(device->handle, &info, patience_ns);
        minutes++;
        if (result == VK_TIMEOUT)
            gb_log(GB_LOG_OWN,
                   "%s has been at one submission for %u minute%s, and is waited for; other "
                   "programs may be using it, too",
                   device->adapter.caps.name, minutes, minutes == 1 ? "" : "s");
    } while (result == VK_TIMEOUT);
    if (result == VK_ERROR_DEVICE_LOST)
        return explain_loss(device, status);
    return vk_check(result, "waiting for the device", status);
}
