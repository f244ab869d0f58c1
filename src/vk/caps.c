/* What each physical device is and can do, gathered once into gb_device_caps. */
#include "vk/private.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *gb_device_type_name(gb_device_type type)
{
    static const char *const names[] = {"other", "cpu", "virtual", "integrated", "discrete"};
    return names[type];
}

const char *gb_kernel_profile_name(gb_kernel_profile profile)
{
    static const char *const names[] = {"cpu", "scalar", "matrix"};
    return names[profile];
}

const char *gb_precision_name(gb_precision precision)
{
    static const char *const names[] = {"fp32", "fp16", "bf16"};
    return names[precision];
}

/* ---- extensions ---- */

/* Only of use for surveys. */
#define EXECUTABLE_PROPERTIES VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME

/* Extensions that may be enabled. */
static const struct extension {
    const char *name; /* as the driver lists it */
    uint32_t core;    /* Vulkan version that includes it, 0 = none */
    uint32_t layer;   /* first version of the validation layer that knows it, 0 = all in use */
} optional_extensions[] = {
    {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_API_VERSION_1_2},
    {VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_API_VERSION_1_2},
    {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3},
    {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, 0},
    {VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, 0},
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, 0, VK_MAKE_API_VERSION(0, 1, 3, 255)},
    {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, 0, VK_MAKE_API_VERSION(0, 1, 4, 311)},
    {VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2},
    {"VK_KHR_portability_subset", 0}, /* must be enabled where it is listed */
    {EXECUTABLE_PROPERTIES, 0},
};

static bool listed(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool enabled(const gb_adapter *adapter, const char *name)
{
    for (uint32_t i = 0; i < adapter->extension_count; i++)
        if (strcmp(adapter->extensions[i], name) == 0)
            return true;
    return false;
}

/* What the read-only queries below may ask about. */
typedef struct queryable {
    bool driver_properties; /* VK_KHR_driver_properties or 1.2 */
    bool maintenance4;      /* VK_KHR_maintenance4 or 1.3 */
} queryable;

static bool read_extensions(const gb_instance *instance, gb_adapter *adapter, queryable *known,
                            gb_status *status)
{
    static atomic_flag said[sizeof optional_extensions / sizeof optional_extensions[0]];
    uint32_t count = 0;
    if (!VK_TRY(vkEnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, NULL),
                "listing device extensions", status))
        return false;
    VkExtensionProperties *list = gb_alloc(count, sizeof *list, status);
    if (!list)
        return false;
    bool ok = VK_TRY(vkEnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, list),
                     "listing device extensions", status);
    for (size_t i = 0; ok && i < sizeof optional_extensions / sizeof optional_extensions[0]; i++) {
        const struct extension *extension = &optional_extensions[i];
        bool core = extension->core && adapter->version >= extension->core;
        bool unwanted = !instance->survey && !strcmp(extension->name, EXECUTABLE_PROPERTIES);
        /* An older layer than the driver would call every use of it a mistake. */
        bool unknown = instance->validating && instance->layer_version < extension->layer;
        if (core || unwanted || !listed(list, count, extension->name))
            continue;
        if (unknown && !atomic_flag_test_and_set(&said[i]))
            gb_log(GB_LOG_WARN,
                   "left out while validating: the layer, of Vulkan %u.%u.%u, does not know %s",
                   VK_API_VERSION_MAJOR(instance->layer_version),
                   VK_API_VERSION_MINOR(instance->layer_version),
                   VK_API_VERSION_PATCH(instance->layer_version), extension->name);
        if (!unknown)
            adapter->extensions[adapter->extension_count++] = extension->name;
    }
    known->driver_properties =
        adapter->core12 || listed(list, count, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    known->maintenance4 =
        adapter->core13 || listed(list, count, VK_KHR_MAINTENANCE_4_EXTENSION_NAME);
    adapter->memory_budget = enabled(adapter, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    free(list);
    return ok;
}

/* ---- features ---- */

/* Puts one structure at the end of the chain. All Vulkan structures begin like VkBaseOutStructure.
 */
static VkBaseOutStructure *append(VkBaseOutStructure *tail, void *next, VkStructureType type)
{
    VkBaseOutStructure *structure = next;
    structure->sType = type;
    structure->pNext = NULL;
    tail->pNext = structure;
    return structure;
}

void vk_features_chain(gb_adapter *adapter)
{
    gb_features *f = &adapter->features;
    f->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    VkBaseOutStructure *tail = (VkBaseOutStructure *)&f->core;
    if (adapter->core12 || enabled(adapter, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME))
        tail = append(tail, &f->timeline,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    if (adapter->core12 || enabled(adapter, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME))
        tail = append(tail, &f->float16,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    if (adapter->core13 || enabled(adapter, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        tail = append(tail, &f->subgroup,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    if (enabled(adapter, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME))
        tail = append(tail, &f->matrix_nv,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV);
    if (enabled(adapter, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
        tail = append(tail, &f->matrix_khr,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    if (enabled(adapter, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME))
        tail = append(tail, &f->bfloat16,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
    if (enabled(adapter, EXECUTABLE_PROPERTIES))
        tail =
            append(tail, &f->executables,
                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
    bool matrices = enabled(adapter, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME) ||
                    enabled(adapter, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    if (matrices &&
        (adapter->core12 || enabled(adapter, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME)))
        append(tail, &f->memory_model,
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
}

static void read_features(gb_adapter *adapter)
{
    gb_device_caps *caps = &adapter->caps;
    gb_features *f = &adapter->features;
    vk_features_chain(adapter);
    vkGetPhysicalDeviceFeatures2(adapter->handle, &f->core);
    caps->fp16 = f->float16.shaderFloat16;
    caps->matrix_nv = f->matrix_nv.cooperativeMatrix;
    caps->matrix_khr = f->matrix_khr.cooperativeMatrix;
    /* Enable what the shaders can use and nothing else: unused features cost on some drivers. */
    f->core.features = (VkPhysicalDeviceFeatures){0};
    f->float16.shaderInt8 = VK_FALSE;
    f->bfloat16.shaderBFloat16DotProduct = VK_FALSE;
    f->matrix_nv.cooperativeMatrixRobustBufferAccess = VK_FALSE;
    f->matrix_khr.cooperativeMatrixRobustBufferAccess = VK_FALSE;
    /* With the model on, atomics of the other shaders need the device's scope too. */
    f->memory_model.vulkanMemoryModel &= f->memory_model.vulkanMemoryModelDeviceScope;
    f->memory_model.vulkanMemoryModelDeviceScope = f->memory_model.vulkanMemoryModel;
    f->memory_model.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
}

/* ---- properties ---- */

static uint32_t subgroup_ops(VkSubgroupFeatureFlags flags)
{
    uint32_t ops = 0;
    if (flags & VK_SUBGROUP_FEATURE_BASIC_BIT)
        ops |= GB_SUBGROUP_BASIC;
    if (flags & VK_SUBGROUP_FEATURE_SHUFFLE_BIT)
        ops |= GB_SUBGROUP_SHUFFLE;
    return ops;
}

static gb_device_type device_type(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return GB_DEVICE_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return GB_DEVICE_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return GB_DEVICE_VIRTUAL;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return GB_DEVICE_CPU;
    default:
        return GB_DEVICE_OTHER;
    }
}

static void set_limits(gb_device_caps *caps, const VkPhysicalDeviceLimits *limits)
{
    caps->max_binding_bytes = limits->maxStorageBufferRange;
    caps->max_texel_bytes = (uint64_t)limits->maxTexelBufferElements * 16;
    caps->binding_alignment = (uint32_t)limits->minStorageBufferOffsetAlignment;
    caps->max_shared_bytes = limits->maxComputeSharedMemorySize;
    caps->max_workgroup = limits->maxComputeWorkGroupInvocations;
    memcpy(caps->max_workgroup_xyz, limits->maxComputeWorkGroupSize,
           sizeof caps->max_workgroup_xyz);
    memcpy(caps->max_grid, limits->maxComputeWorkGroupCount, sizeof caps->max_grid);
    caps->timestamp_ns = limits->timestampPeriod;
}

static void set_names(gb_device_caps *caps, const VkPhysicalDeviceProperties *core,
                      const VkPhysicalDeviceDriverProperties *driver, const uint8_t *uuid)
{
    snprintf(caps->name, sizeof caps->name, "%s", core->deviceName);
    caps->type = device_type(core->deviceType);
    caps->vendor_id = core->vendorID;
    caps->driver_version = core->driverVersion;
    caps->driver_id = driver->driverID;
    if (driver->driverName[0])
        snprintf(caps->driver, sizeof caps->driver, "%s %s", driver->driverName,
                 driver->driverInfo);
    else
        snprintf(caps->driver, sizeof caps->driver, "driver version 0x%x", core->driverVersion);
    for (size_t i = 0; i < VK_UUID_SIZE; i++)
        snprintf(caps->uuid + 2 * i, 3, "%02x", uuid[i]);
}

static void read_properties(gb_adapter *adapter, const queryable *known)
{
    gb_device_caps *caps = &adapter->caps;
    VkPhysicalDeviceIDProperties id = {0};
    VkPhysicalDeviceMaintenance3Properties allocation = {0};
    VkPhysicalDeviceSubgroupProperties subgroup = {0};
    VkPhysicalDeviceDriverProperties driver = {0};
    VkPhysicalDeviceMaintenance4Properties buffer = {.maxBufferSize = UINT64_MAX};
    VkPhysicalDeviceSubgroupSizeControlProperties control = {0};
    VkPhysicalDeviceProperties2 core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkBaseOutStructure *tail = (VkBaseOutStructure *)&core;
    tail = append(tail, &id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    tail = append(tail, &allocation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    tail = append(tail, &subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    if (known->driver_properties)
        tail = append(tail, &driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    if (known->maintenance4)
        tail = append(tail, &buffer, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    bool has_control =
        adapter->core13 || enabled(adapter, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    if (has_control)
        tail = append(tail, &control,
                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    vkGetPhysicalDeviceProperties2(adapter->handle, &core);

    set_limits(caps, &core.properties.limits);
    set_names(caps, &core.properties, &driver, id.deviceUUID);
    caps->max_buffer_bytes = buffer.maxBufferSize < allocation.maxMemoryAllocationSize
                                 ? buffer.maxBufferSize
                                 : allocation.maxMemoryAllocationSize;
    caps->subgroup_size = caps->subgroup_min = caps->subgroup_max = subgroup.subgroupSize;
    if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
        caps->subgroup_ops = subgroup_ops(subgroup.supportedOperations);
    if (has_control && control.minSubgroupSize) {
        caps->subgroup_min = control.minSubgroupSize;
        caps->subgroup_max = control.maxSubgroupSize;
        caps->subgroup_control = adapter->features.subgroup.subgroupSizeControl &&
                                 (control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
    }
}

/* ---- memory and queues ---- */

uint32_t vk_main_heap(const VkPhysicalDeviceMemoryProperties *memory, gb_device_type type)
{
    uint32_t best = 0;
    uint64_t best_bytes = 0;
    for (uint32_t i = 0; i < memory->memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &memory->memoryHeaps[i];
        bool own = type == GB_DEVICE_INTEGRATED || heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
        if (own && heap->size > best_bytes) {
            best = i;
            best_bytes = heap->size;
        }
    }
    return best;
}

bool vk_memory_unified(const VkPhysicalDeviceMemoryProperties *memory, gb_device_type type)
{
    const VkMemoryPropertyFlags visible =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t heap = vk_main_heap(memory, type);
    bool found = false;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++)
        found = found || (memory->memoryTypes[i].heapIndex == heap &&
                          (memory->memoryTypes[i].propertyFlags & visible) == visible);
    /* A discrete GPU's small mappable window is no unified memory. */
    return found && type != GB_DEVICE_DISCRETE;
}

uint64_t vk_adapter_free_bytes(const gb_adapter *adapter)
{
    if (!adapter->memory_budget)
        return 0;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    vkGetPhysicalDeviceMemoryProperties2(adapter->handle, &memory);
    uint32_t heap = vk_main_heap(&memory.memoryProperties, adapter->caps.type);
    uint64_t all = budget.heapBudget[heap], used = budget.heapUsage[heap];
    return all > used ? all - used : 0;
}

static void read_memory(gb_adapter *adapter)
{
    gb_device_caps *caps = &adapter->caps;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(adapter->handle, &memory);
    caps->memory_bytes = memory.memoryHeaps[vk_main_heap(&memory, caps->type)].size;
    caps->unified_memory = vk_memory_unified(&memory, caps->type);
}

/* A compute family without graphics if there is one: it is not shared with the desktop. */
static bool read_queues(gb_adapter *adapter)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    bool found = false, found_alone = false;
    vkGetPhysicalDeviceQueueFamilyProperties(adapter->handle, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        bool alone = !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || (found && (found_alone || !alone)))
            continue;
        found = true;
        found_alone = alone;
        adapter->queue_family = i;
        adapter->caps.timestamp_bits = families[i].timestampValidBits;
    }
    return found;
}

/* ---- the whole ---- */

static void judge(gb_adapter *adapter, bool has_queue, uint32_t max_bindings)
{
    gb_device_caps *caps = &adapter->caps;
    const char *reason = NULL;
    if (!has_queue)
        reason = "it has no compute queue";
    else if (!adapter->features.timeline.timelineSemaphore)
        reason = "its driver has no timeline semaphores (Vulkan 1.2 or VK_KHR_timeline_semaphore)";
    else if (max_bindings < GB_BINDINGS)
        reason = "its shaders see fewer than 8 storage buffers";
    caps->usable = !reason;
    if (reason)
        snprintf(caps->reason, sizeof caps->reason, "%s", reason);
}

/* One of which no more can be read than its name. */
static bool judge_broken(gb_adapter *adapter, const VkPhysicalDeviceProperties *basic,
                         const char *reason)
{
    gb_device_caps *caps = &adapter->caps;
    snprintf(caps->name, sizeof caps->name, "%s", basic->deviceName);
    snprintf(caps->reason, sizeof caps->reason, "%.190s", reason);
    caps->type = device_type(basic->deviceType);
    return true;
}

/* A device without cooperative matrices keeps its own profile when asked for them: one setting must
 * serve machines with several devices. */
static bool choose_profile(const gb_config *config, gb_device_caps *caps, gb_status *status)
{
    const char *wish = config->profile;
    caps->profile = caps->type == GB_DEVICE_CPU ? GB_PROFILE_CPU : GB_PROFILE_SCALAR;
    if (!wish)
        return true;
    bool bf16 = strcmp(wish, "matrix-bf16") == 0;
    if (bf16 || strcmp(wish, "matrix") == 0) {
        gb_precision precision = bf16 ? GB_BF16 : GB_FP16;
        if (gb_matrix_of(caps, precision).m) {
            caps->profile = GB_PROFILE_MATRIX;
            caps->precision = precision;
        }
    } else if (strcmp(wish, "scalar") == 0) {
        caps->profile = GB_PROFILE_SCALAR;
    } else if (strcmp(wish, "cpu") == 0) {
        caps->profile = GB_PROFILE_CPU;
    } else {
        return gb_fail(status, GB_USAGE, "GABBRO_PROFILE", "use cpu, scalar, matrix or matrix-bf16",
                       "unknown kernel profile '%s'", wish);
    }
    return true;
}

static bool forced_settings(gb_instance *instance, gb_adapter *adapter, gb_status *status)
{
    const gb_config *config = instance->config;
    gb_device_caps *caps = &adapter->caps;
    if (!vk_limits_apply(config, caps, status) ||
        !vk_quirks_find(instance, caps, &caps->quirks, status))
        return false;
    if (caps->quirks & GB_QUIRK_NO_SUBGROUPS)
        caps->subgroup_ops &= GB_SUBGROUP_BASIC;
    if (caps->quirks & GB_QUIRK_NO_MATRIX)
        caps->matrix_nv = caps->matrix_khr = false;
    if (caps->quirks & GB_QUIRK_NO_FP16)
        caps->fp16 = false;
    if (!vk_matrix_find(instance, adapter, status) || !choose_profile(config, caps, status))
        return false;
    if (instance->rules->tiles)
        caps->tiles = instance->rules->tiles(config, caps);
    return true;
}

static bool read_adapter(gb_instance *instance, gb_adapter *adapter, gb_status *status)
{
    VkPhysicalDeviceProperties basic;
    queryable known = {0};
    vkGetPhysicalDeviceProperties(adapter->handle, &basic);
    adapter->caps.api_version = basic.apiVersion;
    if (basic.apiVersion < VK_API_VERSION_1_1)
        return judge_broken(adapter, &basic, "its driver is older than Vulkan 1.1");
    /* A loader may be older than the driver, and the instance's version is the last that counts. */
    adapter->version =
        instance->api_version < basic.apiVersion ? instance->api_version : basic.apiVersion;
    adapter->core12 = adapter->version >= VK_API_VERSION_1_2;
    adapter->core13 = adapter->version >= VK_API_VERSION_1_3;
    gb_status why = {0};
    if (!read_extensions(instance, adapter, &known, &why)) {
        if (why.code == GB_DEVICE) /* other devices may work */
            return judge_broken(adapter, &basic, why.what);
        *status = why;
        return false;
    }
    read_features(adapter);
    read_properties(adapter, &known);
    read_memory(adapter);
    bool has_queue = read_queues(adapter);
    judge(adapter, has_queue, basic.limits.maxPerStageDescriptorStorageBuffers);
    return forced_settings(instance, adapter, status);
}

bool vk_adapters_list(gb_instance *instance, gb_adapter **adapters, uint32_t *count,
                      gb_status *status)
{
    VkPhysicalDevice handles[32];
    uint32_t found = 32;
    VkResult result = gb_fault(GB_FAULT_VULKAN)
                          ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                          : vkEnumeratePhysicalDevices(instance->handle, &found, handles);
    /* More than 32 devices: take the first ones. No working driver: an empty list. */
    if (result == VK_ERROR_INITIALIZATION_FAILED)
        found = 0;
    else if (result != VK_INCOMPLETE && !vk_check(result, "listing devices", status))
        return false;
    gb_adapter *list = gb_alloc(found, sizeof *list, status);
    if (!list)
        return false;
    for (uint32_t i = 0; i < found; i++) {
        list[i].handle = handles[i];
        list[i].caps.index = i;
        if (!read_adapter(instance, &list[i], status)) {
            free(list);
            return false;
        }
    }
    *adapters = list;
    *count = found;
    return true;
}
