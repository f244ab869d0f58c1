/* The tiles that `gabbro tune` found fastest, kept for each kind of device, driver and set of
 * shaders: a text file of three lines (what it is for, the device, "tiles NUMBER"), beside the
 * pipeline cache, and one for each precision of cooperative matrices. Equal cards have one choice,
 * as keys of artifacts have it. One that is for something else, or damaged, counts as none. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define TILES_END (1u << GB_TILE_CLASSES * GB_TILE_BITS)

/* Hash of everything that the choice depends on. */
static void key_of(const gb_device_caps *caps, char key[GB_HASH_SIZE])
{
    char kernels[GB_HASH_SIZE];
    gb_text text = {0};
    gb_shaders_hash(GB_USER_ALL, kernels);
    gb_text_printf(&text, "2 %s %s %x %s %s %s", caps->name, caps->driver, caps->driver_version,
                   gb_kernel_profile_name(caps->profile), gb_precision_name(caps->precision),
                   kernels);
    gb_hash_bytes(text.data ? text.data : "", text.length, key);
    gb_text_free(&text);
}

static char *choice_path(const gb_config *config, const char *key)
{
    char name[40];
    snprintf(name, sizeof name, "tiles-%.16s.txt", key);
    return gb_config_cache(config, name);
}

/* The stored choice; *known: whether there is one. */
static uint32_t read_choice(const gb_config *config, const gb_device_caps *caps, bool *known)
{
    char key[GB_HASH_SIZE], *path, *text = NULL;
    key_of(caps, key);
    path = choice_path(config, key);
    if (path && gb_file_exists(path))
        text = gb_read_file(path, NULL, NULL);
    free(path);
    const char *line = text ? strstr(text, "\ntiles ") : NULL;
    *known = line && !strncmp(text, key, GB_HASH_SIZE - 1);
    unsigned long tiles = *known ? strtoul(line + 7, NULL, 0) : 0;
    free(text);
    return tiles < TILES_END ? (uint32_t)tiles : 0;
}

/* Whether a stored choice is used on this device. */
static bool uses_stored(const gb_config *config, const gb_device_caps *caps)
{
    const char *wish = config->tune;
    if (config->limits)
        return false;
    return wish ? !strcmp(wish, "on") : caps->type != GB_DEVICE_CPU;
}

bool gb_tiles_wanted(const gb_config *config, const gb_device_caps *caps)
{
    bool known = true;
    if (uses_stored(config, caps))
        read_choice(config, caps, &known);
    return !known;
}

/* A choice that was made on another device may need more than this one has. */
static bool all_fit(const gb_device_caps *caps, uint32_t tiles)
{
    bool fit = true;
    for (uint32_t class = 0; class < GB_TILE_CLASSES; class ++)
        fit = fit && gb_tile_fits(caps, gb_tile_of(tiles, class));
    return fit;
}

uint32_t ops_kernels_tiles(const gb_config *config, const gb_device_caps *caps)
{
    const char *wish = config->tune;
    bool known;
    if (wish && !strncmp(wish, "0x", 2) && !config->limits) {
        unsigned long tiles = strtoul(wish, NULL, 16);
        return tiles < TILES_END && all_fit(caps, (uint32_t)tiles) ? (uint32_t)tiles : 0;
    }
    return uses_stored(config, caps) ? read_choice(config, caps, &known) : 0;
}

bool gb_tiles_store(const gb_config *config, const gb_device_caps *caps, uint32_t tiles,
                    gb_status *status)
{
    char key[GB_HASH_SIZE], *path;
    key_of(caps, key);
    path = choice_path(config, key);
    if (!path)
        return gb_fail(status, GB_DATA, NULL, "set HOME or XDG_CACHE_HOME",
                       "there is no folder to keep the choice in");
    gb_out *out = gb_device_cache_open(path, status);
    free(path);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "%s\n%s, %s\ntiles 0x%05x\n", key, caps->name, caps->driver, tiles);
    return gb_out_commit(out, status);
}
