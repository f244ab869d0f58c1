/* Between the files that decide which kernels a device runs. */
#ifndef OPS_KERNELS_H
#define OPS_KERNELS_H

#include <gabbro/ops.h>

/* ---- what the self-test found (selftest_record.c) ---- */

/* Quirks that were found on this driver. */
uint32_t ops_kernels_found(const gb_config *config, const gb_device_caps *caps);
/* GB_DEVICE where kernels are wrong that have no next best. */
bool ops_kernels_allow(const gb_config *config, const gb_device_caps *caps, gb_status *status);

/* ---- tiles (tiles.c) ---- */

/* The choice of a device: what config says (off: none; 0x...: this one; on: the stored one), and
 * without it the stored one, but none on CPU devices, whose results are recorded. With smallest
 * limits there is none. */
uint32_t ops_kernels_tiles(const gb_config *config, const gb_device_caps *caps);

#endif
