/* The driver's compiled pipelines on disk, so that the next start is faster. One file for each
 * device and driver: the hash of its payload in hex, a newline, the payload. Whatever goes wrong
 * with it, the program runs on without it. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

#define HEADER GB_HASH_SIZE /* 64 digits and a newline */

char *gb_device_cache(const gb_config *config, const gb_device_caps *caps, const char *kind,
                      const char *suffix)
{
    char name[128];
    snprintf(name, sizeof name, "%s-%s-%08x.%s", kind, caps->uuid, caps->driver_version, suffix);
    return gb_config_cache(config, name);
}

/* The payload of a sound file (caller frees *file), or NULL. */
static const char *read_payload(const char *path, char **file, size_t *length)
{
    char hex[GB_HASH_SIZE];
    size_t size = 0;
    if (!gb_file_exists(path))
        return NULL;
    *file = gb_read_file(path, &size, NULL);
    if (*file && size > HEADER) {
        *length = size - HEADER;
        gb_hash_bytes(*file + HEADER, *length, hex);
        if (memcmp(*file, hex, HEADER - 1) == 0 && (*file)[HEADER - 1] == '\n')
            return *file + HEADER;
    }
    gb_log(GB_LOG_DEBUG, "%s: damaged, starting a new pipeline cache", path);
    return NULL;
}

bool vk_pipeline_cache_load(gb_device *device, gb_status *status)
{
    if (device->pipeline_cache)
        return true;
    char *file = NULL;
    size_t length = 0;
    const char *payload = NULL;
    if (!device->cache_path && !(device->adapter.caps.quirks & GB_QUIRK_NO_PIPELINE_CACHE))
        device->cache_path =
            gb_device_cache(device->instance->config, &device->adapter.caps, "pipelines", "bin");
    if (device->cache_path)
        payload = read_payload(device->cache_path, &file, &length);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = payload ? length : 0,
                                      .pInitialData = payload};
    bool ok = VK_TRY(vkCreatePipelineCache(device->handle, &info, NULL, &device->pipeline_cache),
                     "creating the pipeline cache", status);
    free(file);
    return ok;
}

gb_out *gb_device_cache_open(const char *path, gb_status *status)
{
    char *folder = gb_strdup(path, status);
    if (folder)
        *strrchr(folder, '/') = '\0';
    gb_out *out = folder && gb_make_dirs(folder, status) ? gb_out_open(path, status) : NULL;
    free(folder);
    return out;
}

static bool write_payload(const char *path, const char *payload, size_t length, gb_status *status)
{
    char hex[GB_HASH_SIZE];
    gb_hash_bytes(payload, length, hex);
    gb_out *out = gb_device_cache_open(path, status);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "%s\n", hex);
    fwrite(payload, 1, length, gb_out_stream(out));
    return gb_out_commit(out, status);
}

void vk_pipeline_cache_store(gb_device *device)
{
    gb_status status = {0};
    size_t length = 0;
    char *payload = NULL;
    if (!device->cache_dirty || !device->cache_path || !device->pipeline_cache)
        return;
    bool ok = vkGetPipelineCacheData(device->handle, device->pipeline_cache, &length, NULL) ==
                  VK_SUCCESS &&
              (payload = gb_alloc(length, 1, &status)) &&
              vkGetPipelineCacheData(device->handle, device->pipeline_cache, &length, payload) ==
                  VK_SUCCESS &&
              write_payload(device->cache_path, payload, length, &status);
    if (!ok)
        gb_log(GB_LOG_DEBUG, "%s: the pipeline cache was not stored: %s", device->cache_path,
               status.what);
    free(payload);
}
