/* Rows module: keeps large arrays in files, of which only the rows that are asked for are in
 * memory. Row files (.gbt) hold byte strings or lists of token ids; NumPy's .npy files hold
 * vectors. The module stands on base only. */
#ifndef GABBRO_ROWS_H
#define GABBRO_ROWS_H

#include <gabbro/base.h>

/* ---- row files: memory-mapped arrays of byte strings ---- */

/* An open row file. On disk: "GABTABLE", u32 version 1, u32 element bytes, u64 count, u64
 * offsets[count + 1] in bytes, then the bytes (little endian). Texts have element size 1, token ids
 * 4. Memory does not grow with the file. */
typedef struct gb_row_file gb_row_file;
/* Opens a row file, or folder/name. NULL and GB_DATA if it is damaged or its elements have another
 * size. */
gb_row_file *gb_row_file_open(const char *path, uint32_t element_bytes, gb_status *status);
gb_row_file *gb_row_file_open_in(const char *folder, const char *name, uint32_t element_bytes,
                                 gb_status *status);
void gb_row_file_close(gb_row_file *file);
uint64_t gb_row_file_count(const gb_row_file *file);
/* Row `row` (below the count) and its length in elements; not NUL-terminated. It is valid until the
 * row file is closed. */
const void *gb_row_file_row(const gb_row_file *file, uint64_t row, size_t *length);
/* Makes a map from the bytes of each row to its number. NULL and status on failure. */
gb_map *gb_row_file_map(const gb_row_file *file, gb_status *status);

/* Writes a row file, row by row. */
typedef struct gb_row_writer gb_row_writer;
gb_row_writer *gb_row_writer_open(const char *path, uint32_t element_bytes, gb_status *status);
gb_row_writer *gb_row_writer_open_in(const char *folder, const char *name, uint32_t element_bytes,
                                     gb_status *status);
/* Adds the next row, of `length` elements. */
bool gb_row_writer_add(gb_row_writer *writer, const void *row, size_t length, gb_status *status);
/* Puts the whole file into place, atomically. Frees the writer. */
bool gb_row_writer_commit(gb_row_writer *writer, gb_status *status);
/* Removes what was written. Frees the writer; NULL ok. */
void gb_row_writer_abandon(gb_row_writer *writer);
/* Commits if ok, otherwise abandons. Returns whether the file is in place. */
bool gb_row_writer_end(gb_row_writer *writer, bool ok, gb_status *status);

/* ---- vectors ---- */

/* Vectors [rows, width], row by row without gaps. They lie in memory (or are mapped), or are handed
 * out in blocks. */
typedef struct gb_vectors {
    uint32_t rows;       /* number of vectors, below UINT32_MAX */
    uint32_t width;      /* floats of a vector */
    const float *values; /* [rows, width]; NULL: `read` hands them out */
    /* Gives rows first..first+count-1 [count, width], valid until the next call; NULL and status on
     * failure. Blocks are read in ascending order; the last may overlap the one before it. */
    const float *(*read)(void *context, uint32_t first, uint32_t count, gb_status *status);
    void *context; /* first argument of `read` */
} gb_vectors;

#define GB_NPY_HEADER 128
/* Makes the first bytes of a .npy file of float32 [rows, width] in C order (format version 1.0). */
void gb_npy_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER]);
/* The same of int8, whose factors, a float32 for each row, are a list in scales.npy. */
void gb_npy_int8_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER]);
void gb_npy_scales_header(uint64_t rows, char header[GB_NPY_HEADER]);
/* The first bytes of a faiss IndexFlatIP, before the numbers. */
#define GB_FAISS_HEADER 45
void gb_faiss_header(uint64_t rows, uint32_t width, char header[GB_FAISS_HEADER]);
/* The same of float16, and of a list of `count` uint32. */
void gb_npy_half_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER]);
void gb_npy_list_header(uint64_t count, char header[GB_NPY_HEADER]);

/* Numbers of vectors in files. int8 has a factor for each row, its largest absolute value / 127. */
typedef enum gb_number { GB_NUMBER_FLOAT32, GB_NUMBER_FLOAT16, GB_NUMBER_INT8 } gb_number;
extern const char *const gb_number_names[]; /* words of them, ended by NULL */
uint32_t gb_number_bytes(gb_number kind);
/* Packs a vector [width] into out, where its first bytes may be; *factor is set for int8. GB_DATA,
 * naming `where`, for a value beyond the largest float16, and as int8 for one that is not finite.
 */
bool gb_number_pack(gb_number kind, const float *row, uint32_t width, void *out, float *factor,
                    const char *where, gb_status *status);
/* How far packed vectors are from what they were. Zero-initialise it. */
typedef struct gb_rounding {
    double number; /* largest difference of a number */
    double vector; /* largest length of a vector's difference, as a share of the vector's length */
} gb_rounding;
/* Adds a vector [width] and what gb_number_pack made of it. */
void gb_rounding_add(gb_rounding *rounding, gb_number kind, const float *row, uint32_t width,
                     const void *packed, float factor);
/* First bytes of a .npy file of them. */
void gb_number_header(gb_number kind, uint64_t rows, uint32_t width, char header[GB_NPY_HEADER]);

/* Files of vectors that are read as one, file after file: .npy of any version with float32, float16
 * or int8 (with scales.npy beside it) [rows, width], little endian, C order; or faiss' flat
 * indexes. Memory is that of the rows asked for, whatever the sizes of the files. */
typedef struct gb_npy gb_npy;
/* Opens them. GB_DATA, naming the file, for a damaged one, other types of numbers, and a width that
 * differs from the first file's. */
gb_npy *gb_npy_open(const char *const *paths, size_t count, gb_status *status);
void gb_npy_close(gb_npy *npy);                       /* NULL ok */
gb_vectors gb_npy_vectors(gb_npy *npy);               /* all vectors, valid while it is open */
uint32_t gb_npy_rows(const gb_npy *npy, size_t file); /* rows of one file */
/* Reads a .npy file with a list of int32, uint32, int64 or uint64 from 0 to 2^32 - 1, little
 * endian: values [*count], to be freed. NULL and GB_DATA for anything else. */
uint32_t *gb_npy_integers(const char *path, size_t *count, gb_status *status);

#endif
