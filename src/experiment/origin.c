/* What made an artifact beside its settings: the build, and the machine. */
#include "private.h"
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uversion.h>
#include <utf8proc.h>
#include <vulkan/vulkan.h>
#include <zlib.h>

static json_t *vulkan_version(uint32_t version)
{
    char text[40];
    snprintf(text, sizeof text, "%u.%u.%u", VK_API_VERSION_MAJOR(version),
             VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    return json_string(text);
}

static json_t *loader_version(void)
{
    uint32_t version = VK_API_VERSION_1_0;
    return vkEnumerateInstanceVersion(&version) == VK_SUCCESS ? vulkan_version(version)
                                                              : json_null();
}

static json_t *libraries(const gb_os_facts *system)
{
    UVersionInfo icu, unicode;
    char icu_text[U_MAX_VERSION_STRING_LENGTH], unicode_text[U_MAX_VERSION_STRING_LENGTH];
    u_getVersion(icu);
    u_versionToString(icu, icu_text);
    u_getUnicodeVersion(unicode);
    u_versionToString(unicode, unicode_text);
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "icu", icu_text, "unicode",
                            unicode_text, "utf8proc", utf8proc_version(), "zlib", zlibVersion(),
                            "jansson", JANSSON_VERSION, "vulkan_loader", loader_version());
    if (*system->libc)
        json_object_set_new(all, "libc", json_string(system->libc));
    return all;
}

static json_t *machine(const gb_os_facts *system, const gb_device_caps *caps)
{
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s}", "system", system->system, "release", system->release,
                  "architecture", system->architecture, "processor", system->processor);
    if (caps) {
        json_t *device = json_pack(
            "{s:s, s:o, s:I, s:I, s:I, s:I}", "uuid", caps->uuid, "vulkan",
            vulkan_version(caps->api_version), "memory_bytes", (json_int_t)caps->memory_bytes,
            "max_buffer_bytes", (json_int_t)caps->max_buffer_bytes, "max_shared_bytes",
            (json_int_t)caps->max_shared_bytes, "subgroup_size", (json_int_t)caps->subgroup_size);
        json_object_set_new(all, "device", device);
    }
    return all;
}

void experiment_note_origin(const gb_config *config, const gb_device_caps *caps, json_t *facts)
{
    gb_os_facts system;
    gb_os_facts_read(&system);
    json_t *built = json_pack("{s:s, s:s, s:o}", "source",
                              config->source ? config->source : "unknown", "compiler",
#ifdef __clang__
                              "clang " __clang_version__,
#else
                              "gcc " __VERSION__,
#endif
                              "libraries", libraries(&system));
    json_object_set_new(facts, "built", built);
    json_object_set_new(facts, "machine", machine(&system, caps));
}
