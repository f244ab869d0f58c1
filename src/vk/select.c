/* Choosing a device, listing them, and naming the chosen one without opening it. */
#include "vk/private.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char no_device_hint[] =
    "install a Vulkan driver; without a GPU: apt install mesa-vulkan-drivers";

/* Lower-case hex digits of text without dashes; false if it is not 32 of them. */
static bool parse_uuid(const char *text, char uuid[33])
{
    size_t used = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text) || used == 32)
            return false;
        uuid[used++] = (char)tolower((unsigned char)*text);
    }
    uuid[used] = '\0';
    return used == 32;
}

/* One or two digits are an index; longer numbers are part of a name ("3090"). */
static bool is_index(const char *text)
{
    size_t length = strlen(text);
    return length <= 2 && strspn(text, "0123456789") == length;
}

static bool named(const gb_device_caps *caps, const char *select)
{
    char uuid[33];
    if (is_index(select))
        return caps->index == (uint32_t)atoi(select);
    if (strcmp(select, "cpu") == 0)
        return caps->type == GB_DEVICE_CPU;
    if (parse_uuid(select, uuid))
        return strcmp(caps->uuid, uuid) == 0;
    return gb_contains_word(caps->name, select);
}

/* "0: NAME (type)" of all devices, for messages. */
static void list_text(const gb_adapter *adapters, uint32_t count, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "there is: ");
    for (uint32_t i = 0; i < count && used < size; i++) {
        const gb_device_caps *caps = &adapters[i].caps;
        used += (size_t)snprintf(text + used, size - used, "%s%u: %s (%s)", i ? ", " : "",
                                 caps->index, caps->name, gb_device_type_name(caps->type));
    }
}

static const gb_adapter *best(const gb_adapter *adapters, uint32_t count)
{
    const gb_adapter *chosen = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (adapters[i].caps.usable && (!chosen || adapters[i].caps.type > chosen->caps.type))
            chosen = &adapters[i];
    return chosen;
}

/* The adapter itself, unless it must not be used. */
static const gb_adapter *allowed(const gb_instance *instance, const gb_adapter *adapter,
                                 gb_status *status)
{
    const gb_kernel_rules *rules = instance->rules;
    bool ok = !rules->allow || rules->allow(instance->config, &adapter->caps, status);
    return ok ? adapter : NULL;
}

const gb_adapter *vk_adapter_select(const gb_instance *instance, const gb_adapter *adapters,
                                    uint32_t count, const char *select, gb_status *status)
{
    /* The steps of a table get its --device as GABBRO_DEVICE. */
    const char *where = select && *select ? "device" : "--device or GABBRO_DEVICE";
    if (count == 0) {
        gb_fail(status, GB_DEVICE, NULL, no_device_hint, "no Vulkan device was found");
        return NULL;
    }
    if (!select || !*select)
        select = instance->config->device;
    if (!select) {
        const gb_adapter *chosen = best(adapters, count);
        if (!chosen)
            gb_fail(status, GB_DEVICE, adapters[0].caps.name, no_device_hint,
                    "no device is usable: %s", adapters[0].caps.reason);
        return chosen ? allowed(instance, chosen, status) : NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const gb_device_caps *caps = &adapters[i].caps;
        if (!named(caps, select))
            continue;
        if (caps->usable)
            return allowed(instance, &adapters[i], status);
        gb_fail(status, GB_DEVICE, where, "choose another device", "%s cannot be used: %s",
                caps->name, caps->reason);
        return NULL;
    }
    char text[280];
    list_text(adapters, count, text, sizeof text);
    gb_fail(status, GB_DEVICE, where, text, "no device is called '%s'", select);
    return NULL;
}

/* For a look at devices: without the layer. */
static gb_instance *look(const gb_device_params *params, gb_status *status)
{
    gb_device_params quick = params ? *params : (gb_device_params){0};
    quick.validation = false;
    return vk_instance_create(&quick, status);
}

bool gb_device_list(const gb_device_params *params, gb_device_caps **caps, size_t *count,
                    gb_status *status)
{
    gb_adapter *adapters = NULL;
    uint32_t found = 0;
    gb_instance *instance = look(params, status);
    if (!instance)
        return false;
    bool ok = vk_adapters_list(instance, &adapters, &found, status);
    gb_device_caps *list = ok ? gb_alloc(found, sizeof *list, status) : NULL;
    for (uint32_t i = 0; list && i < found; i++)
        list[i] = adapters[i].caps;
    free(adapters);
    vk_instance_destroy(instance);
    if (!list)
        return false;
    *caps = list;
    *count = found;
    return true;
}

bool gb_device_find(const gb_device_params *params, gb_device_caps *caps, gb_status *status)
{
    gb_adapter *adapters = NULL;
    const gb_adapter *chosen = NULL;
    uint32_t count = 0;
    gb_instance *instance = look(params, status);
    if (!instance)
        return false;
    if (vk_adapters_list(instance, &adapters, &count, status))
        chosen =
            vk_adapter_select(instance, adapters, count, params ? params->select : NULL, status);
    if (chosen)
        *caps = chosen->caps;
    free(adapters);
    vk_instance_destroy(instance);
    return chosen != NULL;
}

char *gb_device_identity(const gb_device_params *params, gb_status *status)
{
    gb_device_caps caps;
    char quirks[256], precision[16] = "";
    if (!gb_device_find(params, &caps, status))
        return NULL;
    gb_quirks_text(params ? params->rules : NULL, caps.quirks, quirks, sizeof quirks);
    const char *limits = params && params->config ? params->config->limits : NULL;
    char tuned[32] = "";
    if (caps.precision != GB_FP32)
        snprintf(precision, sizeof precision, " | %s", gb_precision_name(caps.precision));
    if (caps.tiles)
        snprintf(tuned, sizeof tuned, " | tiles 0x%05x", caps.tiles);
    return gb_format(status, "%s | %s | version 0x%x | profile %s | quirks %s%s%s%s%s", caps.name,
                     caps.driver, caps.driver_version, gb_kernel_profile_name(caps.profile), quirks,
                     limits ? " | limits " : "", limits ? limits : "", tuned, precision);
}
