/* Rows module: large arrays in files of which only the rows asked for are in memory: byte strings
 * and lists of token ids (.gbt), and vectors (NumPy's .npy). Stands on base only. */
#ifndef GABBRO_ROWS_H
#define GABBRO_ROWS_H

#include <gabbro/base.h>

/* ---- tables: memory-mapped arrays of byte strings ---- */

/* On disk: "GABTABLE", u32 version 1, u32 element bytes, u64 count, u64 offsets[count + 1] in
 * bytes, then the bytes (little endian). Texts have element size 1, token ids 4. Memory does not
 * grow with the file. */
typedef struct gb_table gb_table;
gb_table *gb_table_open(const char *path, uint32_t element_bytes, gb_status *status);
gb_table *gb_table_open_in(const char *folder, const char *name, uint32_t element_bytes,
                           gb_status *status);
void gb_table_close(gb_table *table);
uint64_t gb_table_count(const gb_table *table);
/* Row `row` and its length in elements. row must be < count. Not NUL-terminated. */
const void *gb_table_row(const gb_table *table, uint64_t row, size_t *length);
/* Numbers of the rows by their bytes. NULL and status on failure. */
gb_map *gb_table_map(const gb_table *table, gb_status *status);

typedef struct gb_table_writer gb_table_writer;
gb_table_writer *gb_table_writer_open(const char *path, uint32_t element_bytes, gb_status *status);
gb_table_writer *gb_table_writer_open_in(const char *folder, const char *name,
                                         uint32_t element_bytes, gb_status *status);
bool gb_table_writer_add(gb_table_writer *writer, const void *row, size_t length,
                         gb_status *status);
bool gb_table_writer_commit(gb_table_writer *writer, gb_status *status); /* atomic; frees */
void gb_table_writer_abandon(gb_table_writer *writer);                   /* frees; NULL ok */
/* Commit where ok, else abandon. Whether the table stands. */
bool gb_table_writer_end(gb_table_writer *writer, bool ok, gb_status *status);

/* ---- vectors ---- */

/* Vectors [rows, width], row-major without gaps, in memory (or mapped) or handed out in blocks. */
typedef struct gb_vectors {
    uint32_t rows;       /* vectors, below UINT32_MAX */
    uint32_t width;      /* floats of each */
    const float *values; /* [rows * width], or NULL: ask `read` */
    /* Rows first..first+count-1 [count * width], valid until the next call; NULL with status.
     * Blocks come in rising order; the last may overlap the one before it. */
    const float *(*read)(void *context, uint32_t first, uint32_t count, gb_status *status);
    void *context; /* for `read` */
} gb_vectors;

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
