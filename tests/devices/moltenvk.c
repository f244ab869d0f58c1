/* A Vulkan driver that offers of lavapipe what MoltenVK offers on an Apple GPU, and refuses to give
 * more: for moltenvk.sh. Facts: MoltenVK's list of extensions; Metal's 32 KiB of shared memory and
 * 1024 invocations of a workgroup, and its lack of doubles.
 *
 * MOLTENVK_BEHIND is lavapipe's library. MOLTENVK_LACKS is a part of the name of an extension that
 * is left out, for versions of MoltenVK that lack it. What is refused is said on standard error. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#define EXPORT             __attribute__((visibility("default")))
#define PORTABILITY_SUBSET "VK_KHR_portability_subset"
enum { APPLE = 0x106b };

static PFN_vkGetInstanceProcAddr behind;     /* lavapipe's */
static PFN_vkGetDeviceProcAddr device_calls; /* lavapipe's, of the device that was made last */
static VkInstance instance;                  /* the one that was made last */

/* Those of MoltenVK that have to do with computing. */
static const char *const extensions[] = {
    PORTABILITY_SUBSET,
    "VK_KHR_16bit_storage",
    "VK_KHR_driver_properties",
    "VK_KHR_maintenance4",
    "VK_KHR_shader_float16_int8",
    "VK_KHR_storage_buffer_storage_class",
    "VK_KHR_timeline_semaphore",
    "VK_EXT_memory_budget",
    "VK_EXT_subgroup_size_control",
};
enum { EXTENSIONS = sizeof extensions / sizeof extensions[0] };

/* Structures of features that MoltenVK knows, behind the core's. */
static const VkStructureType feature_types[] = {
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
};

/* Capabilities of SPIR-V that Metal has; neither doubles nor cooperative matrices, bfloat16 and the
 * memory model. */
static const uint32_t capabilities[] = {
    1,    /* Shader */
    9,    /* Float16 */
    11,   /* Int64 */
    22,   /* Int16 */
    46,   /* SampledBuffer */
    61,   /* GroupNonUniform */
    63,   /* GroupNonUniformArithmetic */
    65,   /* GroupNonUniformShuffle */
    4433, /* StorageBuffer16BitAccess */
};
enum { OP_MEMORY_MODEL = 14, OP_CAPABILITY = 17, SPIRV_HEADER = 5 };

static PFN_vkVoidFunction lavapipe(const char *name)
{
    return behind(instance, name);
}
#define LAVAPIPE(name) ((PFN_##name)lavapipe(#name))

static VkResult refuse(VkResult result, const char *what, const char *name)
{
    fprintf(stderr, "moltenvk: refused: %s %s\n", what, name);
    return result;
}

static int lacks(const char *extension)
{
    const char *part = getenv("MOLTENVK_LACKS");
    return part && *part && strstr(extension, part);
}

/* Lavapipe has it, too. It lacks the one that says what is missing. */
static int stands_on(VkPhysicalDevice device, const char *extension)
{
    static VkExtensionProperties list[512];
    uint32_t count = sizeof list / sizeof list[0];
    LAVAPIPE(vkEnumerateDeviceExtensionProperties)(device, NULL, &count, list);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].extensionName, extension))
            return 1;
    return !strcmp(extension, PORTABILITY_SUBSET);
}

static int offers(const char *extension)
{
    for (int i = 0; i < EXTENSIONS; i++)
        if (!strcmp(extensions[i], extension))
            return !lacks(extension);
    return 0;
}

/* ---- what it says of itself ---- */

static VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char *layer,
                                                      uint32_t *count, VkExtensionProperties *list)
{
    (void)layer;
    uint32_t known = 0, room = list ? *count : 0;
    for (int i = 0; i < EXTENSIONS; i++) {
        if (lacks(extensions[i]) || !stands_on(device, extensions[i]))
            continue;
        if (known < room) {
            snprintf(list[known].extensionName, sizeof list[known].extensionName, "%s",
                     extensions[i]);
            list[known].specVersion = 1;
        }
        known++;
    }
    VkResult result = list && known > room ? VK_INCOMPLETE : VK_SUCCESS;
    *count = list && known > room ? room : known;
    return result;
}

static void be_apple(VkPhysicalDeviceProperties *properties)
{
    properties->apiVersion = VK_API_VERSION_1_1;
    properties->vendorID = APPLE;
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    snprintf(properties->deviceName, sizeof properties->deviceName, "what MoltenVK offers");
    properties->limits.maxComputeSharedMemorySize = 32768;
    properties->limits.maxComputeWorkGroupInvocations = 1024;
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device,
                                                 VkPhysicalDeviceProperties *properties)
{
    LAVAPIPE(vkGetPhysicalDeviceProperties)(device, properties);
    be_apple(properties);
}

static VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device,
                                                  VkPhysicalDeviceProperties2 *properties)
{
    LAVAPIPE(vkGetPhysicalDeviceProperties2)(device, properties);
    be_apple(&properties->properties);
    for (VkBaseOutStructure *s = properties->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
            ((VkPhysicalDeviceDriverProperties *)s)->driverID = VK_DRIVER_ID_MOLTENVK;
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device,
                                                VkPhysicalDeviceFeatures2 *features)
{
    LAVAPIPE(vkGetPhysicalDeviceFeatures2)(device, features);
    features->features.shaderFloat64 = VK_FALSE;
}

/* ---- what it does not give ---- */

static const char *unknown_feature(const VkDeviceCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        size_t known = 0, count = sizeof feature_types / sizeof feature_types[0];
        while (known < count && feature_types[known] != s->sType)
            known++;
        if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || known < count)
            continue;
        if (s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            return "a structure that it does not know";
        VkPhysicalDeviceFeatures core = ((const VkPhysicalDeviceFeatures2 *)s)->features, none;
        core.shaderInt16 = core.shaderInt64 = VK_FALSE;
        memset(&none, 0, sizeof none);
        if (memcmp(&core, &none, sizeof none) != 0)
            return "more of the core than integers of 16 and 64 bits";
    }
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *device)
{
    const char *passed[EXTENSIONS];
    VkDeviceCreateInfo below = *info;
    int subset = 0;
    below.enabledExtensionCount = 0;
    below.ppEnabledExtensionNames = passed;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (!offers(name) || below.enabledExtensionCount == EXTENSIONS)
            return refuse(VK_ERROR_EXTENSION_NOT_PRESENT, "extension", name);
        if (!strcmp(name, PORTABILITY_SUBSET))
            subset = 1; /* which lavapipe does not have */
        else
            passed[below.enabledExtensionCount++] = name;
    }
    if (!subset)
        return refuse(VK_ERROR_INITIALIZATION_FAILED, "a device without", PORTABILITY_SUBSET);
    const char *feature = unknown_feature(info);
    if (feature)
        return refuse(VK_ERROR_FEATURE_NOT_PRESENT, "feature:", feature);
    VkResult result = LAVAPIPE(vkCreateDevice)(physical, &below, allocator, device);
    device_calls = LAVAPIPE(vkGetDeviceProcAddr);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_shader(VkDevice device,
                                                    const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkShaderModule *module)
{
    const uint32_t *words = info->pCode;
    for (size_t i = SPIRV_HEADER; i < info->codeSize / 4; i += words[i] >> 16) {
        size_t known = 0, count = sizeof capabilities / sizeof capabilities[0];
        char number[16];
        if ((words[i] & 0xffff) == OP_MEMORY_MODEL || !(words[i] >> 16))
            break;
        if ((words[i] & 0xffff) != OP_CAPABILITY)
            continue;
        while (known < count && capabilities[known] != words[i + 1])
            known++;
        snprintf(number, sizeof number, "%u", words[i + 1]);
        if (known == count)
            return refuse(VK_ERROR_UNKNOWN, "a shader with capability", number);
    }
    return ((PFN_vkCreateShaderModule)device_calls(device, "vkCreateShaderModule"))(
        device, info, allocator, module);
}

/* ---- entry points ---- */

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_call(VkDevice device, const char *name)
{
    if (!strcmp(name, "vkCreateShaderModule"))
        return (PFN_vkVoidFunction)create_shader;
    return LAVAPIPE(vkGetDeviceProcAddr)(device, name);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *made)
{
    VkResult result =
        ((PFN_vkCreateInstance)behind(NULL, "vkCreateInstance"))(info, allocator, made);
    instance = *made;
    return result;
}

static const struct {
    const char *name;       /* as Vulkan has it */
    PFN_vkVoidFunction own; /* what is called instead of lavapipe's */
} own_calls[] = {
    {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
    {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)list_extensions},
    {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)get_properties},
    {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties2},
    {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features2},
    {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
    {"vkCreateShaderModule", (PFN_vkVoidFunction)create_shader},
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_call},
};

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance of,
                                                                          const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance of,
                                                                          const char *name)
{
    for (size_t i = 0; i < sizeof own_calls / sizeof own_calls[0]; i++)
        if (!strcmp(name, own_calls[i].name))
            return own_calls[i].own;
    return behind(of, name);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    const char *path = getenv("MOLTENVK_BEHIND");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    behind =
        library ? (PFN_vkGetInstanceProcAddr)dlsym(library, "vk_icdGetInstanceProcAddr") : NULL;
    if (!behind)
        return refuse(VK_ERROR_INCOMPATIBLE_DRIVER, "no driver in",
                      path ? path : "MOLTENVK_BEHIND");
    *version = *version < 4 ? *version : 4;
    return VK_SUCCESS;
}
