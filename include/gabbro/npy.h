/* Search: vectors in NumPy's files, of which several may be read as one. */
#ifndef GABBRO_NPY_H
#define GABBRO_NPY_H

#include <gabbro/search.h>

/* First bytes of a .npy file of float32 [rows, width], C order (format version 1.0). */
#define GB_NPY_HEADER 128
void gb_npy_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER]);

/* Files of vectors read one behind the other: float32 or float16 of any .npy version, little
 * endian, C order, [rows, width]. Memory is that of the rows asked for, whatever the files' sizes.
 */
typedef struct gb_npy gb_npy;
/* A damaged file, another kind of numbers and other widths are GB_DATA with the file's name. */
gb_npy *gb_npy_open(const char *const *paths, size_t count, gb_status *status);
void gb_npy_close(gb_npy *npy);                       /* NULL ok */
gb_vectors gb_npy_vectors(gb_npy *npy);               /* to search; valid while it is open */
uint32_t gb_npy_rows(const gb_npy *npy, size_t file); /* rows of one file */

#endif
