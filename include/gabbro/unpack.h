/* Bytes of a plain, gzip or zstd file, told apart by content (zstd where the program was built with
 * libzstd); gb_lines reads through it. */
#ifndef GABBRO_UNPACK_H
#define GABBRO_UNPACK_H

#include <gabbro/base.h>

typedef struct gb_unpack gb_unpack;
gb_unpack *gb_unpack_open(const char *path, gb_status *status);
/* Up to `size` bytes: how many, 0 at the end, -1 with status. A file cut inside packed data is an
 * error. */
int64_t gb_unpack_read(gb_unpack *unpack, void *bytes, size_t size, gb_status *status);
void gb_unpack_close(gb_unpack *unpack); /* NULL ok */

#endif
