/* Which tiles products use on a device: chosen by `gabbro tune`, kept for each driver. */
#ifndef GABBRO_TILES_H
#define GABBRO_TILES_H

#include "gabbro/vk.h"

/* A choice is a number of GB_TILE_CLASSES fields of three bits, one for each class of products; 0
 * in a field: the tile that the profile has there. A class depends on the form of a product and on
 * its depth alone, so that a sum's order cannot depend on how many rows are asked for at once. */
#define GB_TILE_CLASSES 6
#define GB_TILE_BITS    3
#define GB_TILE_DEPTH   512 /* from here on a product is deep */

/* The choice of a device: what GABBRO_TUNE says (off: none; 0x...: this one; on: the stored one),
 * and without it the stored one, but none on CPU devices, whose results are recorded. With
 * GABBRO_LIMITS there is none. Part of gb_device_identity wherever it is not 0. */
uint32_t gb_tiles_chosen(const gb_device_caps *caps);
/* Whether the device uses a stored choice and none is stored for this driver. */
bool gb_tiles_wanted(const gb_device_caps *caps);
/* Keep a choice beside the pipeline cache, for this device, driver and set of kernels. */
bool gb_tiles_store(const gb_device_caps *caps, uint32_t tiles, gb_status *status);
/* Programs created from now on use this choice: for measuring. */
void gb_device_use_tiles(gb_device *device, uint32_t tiles);
uint32_t gb_device_tiles(const gb_device *device);

/* What a choice holds for a class. */
static inline uint32_t gb_tile_of(uint32_t tiles, uint32_t tile_class)
{
    return tiles >> GB_TILE_BITS * tile_class & ((1u << GB_TILE_BITS) - 1);
}

#endif
