/* The Vulkan instance, the validation layer, and what becomes of every VkResult. */
#include "vk/private.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char validation_layer[] = "VK_LAYER_KHRONOS_validation";

/* ---- results ---- */

const char *vk_result_name(VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return "success";
    case VK_NOT_READY:
        return "not ready";
    case VK_TIMEOUT:
        return "timeout";
    case VK_INCOMPLETE:
        return "incomplete list";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "initialisation failed";
    case VK_ERROR_DEVICE_LOST:
        return "device lost";
    case VK_ERROR_MEMORY_MAP_FAILED:
        return "memory cannot be mapped";
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "layer not present";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return "extension not present";
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return "feature not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "no compatible driver";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "too many objects";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return "out of pool memory";
    case VK_ERROR_INVALID_SHADER_NV:
        return "invalid shader";
    default:
        return "unknown error";
    }
}

bool vk_check(VkResult result, const char *doing, gb_status *status)
{
    switch (result) {
    case VK_SUCCESS:
        return true;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return gb_fail(
            status, GB_MEMORY, NULL,
            "free device memory, or use a smaller --micro-batch or --batch where there is one",
            "Vulkan: %s while %s", vk_result_name(result), doing);
    case VK_ERROR_DEVICE_LOST:
        return gb_fail(
            status, GB_DEVICE, NULL,
            "often a watchdog: try GABBRO_SUBMIT_MS=50; look into the kernel log (dmesg)",
            "Vulkan: device lost while %s", doing);
    default:
        return gb_fail(status, GB_DEVICE, NULL, NULL, "Vulkan: %s (VkResult %d) while %s",
                       vk_result_name(result), (int)result, doing);
    }
}

/* ---- validation messages ---- */

/* Messages known to be wrong or without consequence. Each needs its reason. */
static const struct ignored {
    const char *id;     /* part of the message's id */
    const char *reason; /* why it may be ignored */
} ignored_messages[] = {
    {"Loader Message", "the loader's own remarks on drivers and layers it skipped"},
};

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    gb_instance *instance = user;
    const char *id = data->pMessageIdName ? data->pMessageIdName : "";
    for (size_t i = 0; i < sizeof ignored_messages / sizeof ignored_messages[0]; i++)
        if (strstr(id, ignored_messages[i].id))
            return VK_FALSE;
    if (!(types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT))
        return VK_FALSE;
    atomic_fetch_add(&instance->messages, 1);
    bool error = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    gb_log(error ? GB_LOG_ERROR : GB_LOG_OWN, "validation: %s", data->pMessage);
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(gb_instance *instance)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = instance,
    };
}

/* ---- instance ---- */

/* The version of Vulkan that the validation layer is of; 0: it is not there. */
static uint32_t layer_version(void)
{
    uint32_t count = 0, version = 0;
    VkLayerProperties *layers;
    if (vkEnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS || count == 0)
        return 0;
    layers = calloc(count, sizeof *layers);
    if (layers && vkEnumerateInstanceLayerProperties(&count, layers) >= 0)
        for (uint32_t i = 0; i < count && !version; i++)
            if (strcmp(layers[i].layerName, validation_layer) == 0)
                version = layers[i].specVersion;
    free(layers);
    return version;
}

static bool extension_present(const char *layer, const char *name)
{
    uint32_t count = 0;
    VkExtensionProperties *list;
    bool found = false;
    if (vkEnumerateInstanceExtensionProperties(layer, &count, NULL) != VK_SUCCESS || count == 0)
        return false;
    list = calloc(count, sizeof *list);
    if (list && vkEnumerateInstanceExtensionProperties(layer, &count, list) >= 0)
        for (uint32_t i = 0; i < count && !found; i++)
            found = strcmp(list[i].extensionName, name) == 0;
    free(list);
    return found;
}

static uint32_t wanted_version(void)
{
    uint32_t version = VK_API_VERSION_1_1;
    if (vkEnumerateInstanceVersion(&version) != VK_SUCCESS)
        version = VK_API_VERSION_1_1;
    return version < VK_API_VERSION_1_3 ? version : VK_API_VERSION_1_3;
}

static bool start_messenger(gb_instance *instance, gb_status *status)
{
    VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(instance);
    PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)(void *)vkGetInstanceProcAddr(
            instance->handle, "vkCreateDebugUtilsMessengerEXT");
    instance->destroy_messenger =
        (PFN_vkDestroyDebugUtilsMessengerEXT)(void *)vkGetInstanceProcAddr(
            instance->handle, "vkDestroyDebugUtilsMessengerEXT");
    if (!create || !instance->destroy_messenger)
        return gb_fail(status, GB_DEVICE, NULL, "install a complete Vulkan loader",
                       "VK_EXT_debug_utils is announced but has no entry points");
    return VK_TRY(create(instance->handle, &info, NULL, &instance->messenger),
                  "creating the debug messenger", status);
}

/* vkCreateInstance with what is there: layer, debug messages, portability drivers. */
static bool create_handle(gb_instance *instance, bool sync, gb_status *status)
{
    const char *extensions[3];
    uint32_t extension_count = 0;
    const char *layers[1] = {validation_layer};
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(instance);
    VkValidationFeatureEnableEXT enable =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messenger,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = &enable};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "gabbro",
                                     .pEngineName = "gabbro",
                                     .apiVersion = instance->api_version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application,
                                 .ppEnabledExtensionNames = extensions,
                                 .ppEnabledLayerNames = layers};
    if (instance->validating) {
        info.enabledLayerCount = 1;
        info.pNext = &messenger;
        extensions[extension_count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        if (sync) {
            extensions[extension_count++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
            info.pNext = &features;
        }
    }
    if (extension_present(NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[extension_count++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    info.enabledExtensionCount = extension_count;
    VkResult result = gb_fault(GB_FAULT_VULKAN) ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                                                : vkCreateInstance(&info, NULL, &instance->handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return gb_fail(status, GB_DEVICE, NULL,
                       "install a driver; without a GPU: apt install mesa-vulkan-drivers",
                       "no Vulkan driver is installed");
    return vk_check(result, "starting Vulkan", status);
}

/* Of drivers that are loaded again and again some are not found any more at last (NVIDIA's after
 * some thirty times): an instance that stays keeps them loaded. */
static void stay_loaded(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    static VkInstance stays;
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    if (!atomic_flag_test_and_set(&done) && vkCreateInstance(&info, NULL, &stays) != VK_SUCCESS)
        stays = VK_NULL_HANDLE;
}

gb_instance *vk_instance_create(const gb_device_params *params, gb_status *status)
{
    static const gb_config nothing = {0};
    static const gb_kernel_rules no_kernels = {0};
    gb_instance *instance = gb_alloc(1, sizeof *instance, status);
    if (!instance)
        return NULL;
    instance->config = params && params->config ? params->config : &nothing;
    instance->rules = params && params->rules ? params->rules : &no_kernels;
    instance->survey = params && params->survey;
    instance->api_version = wanted_version();
    const char *wish = instance->config->validation;
    if ((params && params->validation) || (wish && strcmp(wish, "0") != 0)) {
        instance->layer_version = layer_version();
        instance->validating =
            instance->layer_version &&
            (extension_present(NULL, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
             extension_present(validation_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
        if (!instance->validating)
            gb_log(GB_LOG_WARN, "the validation layer is not installed, running without it "
                                "(apt install vulkan-validationlayers)");
    }
    bool sync = wish && strcmp(wish, "sync") == 0;
    if (!create_handle(instance, sync, status) ||
        (instance->validating && !start_messenger(instance, status))) {
        vk_instance_destroy(instance);
        return NULL;
    }
    stay_loaded();
    return instance;
}

void vk_instance_destroy(gb_instance *instance)
{
    if (!instance)
        return;
    if (instance->messenger)
        instance->destroy_messenger(instance->handle, instance->messenger, NULL);
    if (instance->handle)
        vkDestroyInstance(instance->handle, NULL);
    free(instance);
}
