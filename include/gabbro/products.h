/* What `gabbro tune` knows of the kernels of products. */
#ifndef GABBRO_PRODUCTS_H
#define GABBRO_PRODUCTS_H

#include <gabbro/ops.h>

#define GB_OTHER_TILES 5 /* tiles 1..5 of a class, beside the profile's own, 0 */
/* Class of a product of that form and depth (gabbro/tiles.h). */
uint32_t gb_tile_class(gb_form form, uint32_t k);
/* Whether a tile of the device's profile can run on it. */
bool gb_tile_fits(const gb_device_caps *caps, uint32_t tile);
/* "16 x 64, depth 8" into text. */
void gb_tile_text(const gb_device_caps *caps, uint32_t tile, char *text, size_t size);

#endif
