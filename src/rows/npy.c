/* Files of vectors. NumPy's .npy: the header is a Python dictionary of descr, fortran_order and
 * shape; int8 has factors of its rows in scales.npy beside it. faiss' IndexFlat: the header is
 * "IxFI", int32 width, int64 rows, two int64 that mean nothing, a byte, int32 metric, uint64
 * numbers. All little endian. */
#include "rows/npy.h"
#include <gabbro/rows.h>
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX = 8, MAX_LENGTH = 1 << 16, FAISS_HEADER = GB_FAISS_HEADER };

typedef struct npy_file {
    int fd;           /* open */
    const char *path; /* as given */
    uint64_t offset;  /* of the first number */
    uint32_t first;   /* row of its first vector in all */
    uint32_t rows;    /* vectors */
    uint32_t width;   /* numbers of each */
    gb_number type;   /* of the numbers */
    float *scales;    /* [rows] what int8 is multiplied with, or NULL */
} npy_file;

struct gb_npy {
    npy_file *files;        /* [count] */
    size_t count;           /* open */
    char **paths;           /* [count] owned */
    uint32_t rows;          /* of all */
    uint32_t width;         /* the same in all */
    float *room;            /* what read gave last */
    size_t capacity;        /* floats of it */
    unsigned char *packed;  /* other numbers than float32 before they are converted */
    size_t packed_capacity; /* bytes of it */
};

/* shape: "(3, 2)" */
static void make_header(const char *type, const char *shape, char header[GB_NPY_HEADER])
{
    memset(header, ' ', GB_NPY_HEADER);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int length = snprintf(header + 10, GB_NPY_HEADER - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    header[10 + length] = ' ';
    header[GB_NPY_HEADER - 1] = '\n';
}

static void make_matrix_header(const char *type, uint64_t rows, uint32_t width,
                               char header[GB_NPY_HEADER])
{
    char shape[48];
    snprintf(shape, sizeof shape, "(%llu, %u)", (unsigned long long)rows, width);
    make_header(type, shape, header);
}

void gb_npy_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER])
{
    make_matrix_header("<f4", rows, width, header);
}

void gb_npy_half_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER])
{
    make_matrix_header("<f2", rows, width, header);
}

void gb_npy_int8_header(uint64_t rows, uint32_t width, char header[GB_NPY_HEADER])
{
    make_matrix_header("|i1", rows, width, header);
}

void gb_npy_scales_header(uint64_t rows, char header[GB_NPY_HEADER])
{
    char shape[48];
    snprintf(shape, sizeof shape, "(%llu,)", (unsigned long long)rows);
    make_header("<f4", shape, header);
}

void gb_faiss_header(uint64_t rows, uint32_t width, char header[GB_FAISS_HEADER])
{
    uint64_t nothing = 1 << 20, numbers = rows * width;
    memset(header, 0, GB_FAISS_HEADER);
    memcpy(header, "IxFI", 4);
    memcpy(header + 4, &width, 4);
    memcpy(header + 8, &rows, 8);
    memcpy(header + 16, &nothing, 8);
    memcpy(header + 24, &nothing, 8);
    header[32] = 1; /* trained; then the metric, 0 for inner products */
    memcpy(header + 37, &numbers, 8);
}

void gb_npy_list_header(uint64_t count, char header[GB_NPY_HEADER])
{
    char shape[48];
    snprintf(shape, sizeof shape, "(%llu,)", (unsigned long long)count);
    make_header("<u4", shape, header);
}

/* ---- opening ---- */

static bool damaged(const npy_file *file, gb_status *status, const char *what)
{
    return gb_fail(status, GB_DATA, file->path, "numpy.save of a float32 array [rows, width]", "%s",
                   what);
}

static bool read_at(const npy_file *file, uint64_t offset, void *to, size_t size, gb_status *status)
{
    for (size_t have = 0; have < size;) {
        int64_t got =
            GB_TRY_CALL(gb_os_read_at(file->fd, (char *)to + have, size - have, offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gb_fail(status, GB_DATA, file->path, "check the disk", "cannot read: %s",
                           strerror(errno));
        if (got == 0)
            return damaged(file, status, "the file is cut off");
        have += (size_t)got;
    }
    return true;
}

const char *rows_npy_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static bool parse_header(npy_file *file, const char *header, gb_status *status)
{
    const char *descr = rows_npy_value(header, "'descr'"),
               *shape = rows_npy_value(header, "'shape'");
    unsigned long long rows, width;
    char end;
    static const char *const types[] = {"'<f4'", "'<f2'", "'|i1'"};
    int type = 2;
    while (type >= 0 && strncmp(descr, types[type], 5))
        type--;
    if (type < 0)
        return damaged(file, status, "the numbers are neither float32, float16 nor int8");
    if (strncmp(rows_npy_value(header, "'fortran_order'"), "False", 5))
        return damaged(file, status, "the array is not in C order");
    if (sscanf(shape, "(%llu, %llu%c", &rows, &width, &end) != 3 || (end != ')' && end != ','))
        return damaged(file, status, "the array is not [rows, width]");
    if (rows >= UINT32_MAX || !width || width > 1u << 20)
        return damaged(file, status, "an array of such a shape cannot be read");
    file->rows = (uint32_t)rows;
    file->width = (uint32_t)width;
    file->type = (gb_number)type;
    return true;
}

/* Factors of int8 vectors, in scales.npy beside them. */
static bool read_scales(npy_file *file, gb_status *status)
{
    const char *slash = strrchr(file->path, '/');
    char *path = gb_format(status, "%.*s%s", (int)(slash ? slash - file->path + 1 : 0), file->path,
                           "scales.npy");
    size_t size = 0, length = (size_t)file->rows * 4;
    char *bytes = path ? gb_read_file(path, &size, status) : NULL, wanted[GB_NPY_HEADER];
    bool ok = bytes != NULL;
    gb_npy_scales_header(file->rows, wanted);
    size_t header =
        ok && size > 10 && !memcmp(bytes, wanted, 8) ? 10u + (unsigned char)bytes[8] : 0;
    char shape[48];
    snprintf(shape, sizeof shape, "'<f4', 'fortran_order': False, 'shape': (%u,)", file->rows);
    if (ok &&
        (!header || size != header + length || !gb_find_bytes(bytes, header, shape, strlen(shape))))
        ok = gb_fail(status, GB_DATA, path, "numpy.save of a float32 array [rows]",
                     "int8 vectors need a factor for each of their %u rows", file->rows);
    ok = ok && (file->scales = gb_alloc(file->rows, sizeof *file->scales, status));
    if (ok)
        memcpy(file->scales, bytes + header, length);
    free(bytes);
    free(path);
    return ok;
}

/* faiss' IndexFlatIP, or IndexFlatL2, whose vectors are taken all the same. */
static bool parse_faiss(npy_file *file, gb_status *status)
{
    unsigned char header[FAISS_HEADER];
    uint32_t width, metric;
    uint64_t rows, numbers;
    if (!read_at(file, 0, header, sizeof header, status))
        return false;
    if (memcmp(header, "IxFI", 4) && memcmp(header, "IxF2", 4))
        return damaged(file, status, "not a flat index of faiss (IndexFlatIP)");
    memcpy(&width, header + 4, 4);
    memcpy(&rows, header + 8, 8);
    memcpy(&metric, header + 33, 4);
    memcpy(&numbers, header + 37, 8);
    if (rows >= UINT32_MAX || !width || width > 1u << 20 || metric > 1 || numbers != rows * width)
        return damaged(file, status, "a damaged flat index of faiss");
    file->rows = (uint32_t)rows;
    file->width = width;
    file->offset = FAISS_HEADER;
    return true;
}

static bool check_size(const npy_file *file, uint64_t bytes, gb_status *status)
{
    uint64_t size = (uint64_t)file->rows * file->width * gb_number_bytes(file->type);
    return bytes == file->offset + size ||
           damaged(file, status, "the file has another size than its header says");
}

static bool open_file(npy_file *file, gb_status *status)
{
    unsigned char start[PREFIX + 4];
    struct stat info;
    file->fd = GB_TRY_CALL(gb_os_open(file->path, O_RDONLY));
    if (file->fd < 0 || fstat(file->fd, &info))
        return gb_fail(status, GB_DATA, file->path, "check the path and its permissions",
                       "cannot open: %s", strerror(errno));
    if (!read_at(file, 0, start, sizeof start, status))
        return false;
    bool faiss = !memcmp(start, "Ix", 2);
    if (faiss)
        return parse_faiss(file, status) && check_size(file, (uint64_t)info.st_size, status);
    if (memcmp(start, "\x93NUMPY", 6) || start[6] < 1 || start[6] > 3)
        return damaged(file, status, "not a .npy file");
    size_t bytes = start[6] == 1 ? 2 : 4, length = 0;
    for (size_t i = bytes; i > 0; i--)
        length = length << 8 | start[PREFIX + i - 1];
    if (length > MAX_LENGTH)
        return damaged(file, status, "the header is damaged");
    char *header = gb_alloc(length + 1, 1, status);
    bool ok = header && read_at(file, PREFIX + bytes, header, length, status) &&
              parse_header(file, header, status);
    free(header);
    file->offset = PREFIX + bytes + length;
    return ok && check_size(file, (uint64_t)info.st_size, status) &&
           (file->type != GB_NUMBER_INT8 || read_scales(file, status));
}

gb_npy *gb_npy_open(const char *const *paths, size_t count, gb_status *status)
{
    gb_npy *npy = gb_alloc(1, sizeof *npy, status);
    bool ok = npy && (npy->files = gb_alloc(count, sizeof *npy->files, status)) &&
              (npy->paths = gb_alloc(count, sizeof *npy->paths, status));
    for (size_t i = 0; ok && i < count; i++) {
        npy_file *file = &npy->files[i];
        file->fd = -1;
        npy->count++;
        ok = (npy->paths[i] = gb_strdup(paths[i], status)) != NULL;
        file->path = npy->paths[i];
        ok = ok && open_file(file, status);
        if (ok && i && file->width != npy->width)
            ok = damaged(file, status, "the vectors have another width than those before");
        if (ok && (uint64_t)npy->rows + file->rows >= UINT32_MAX)
            ok = damaged(file, status, "more vectors than 32 bits can number");
        file->first = ok ? npy->rows : 0;
        npy->rows += ok ? file->rows : 0;
        npy->width = file->width;
    }
    if (ok)
        return npy;
    gb_npy_close(npy);
    return NULL;
}

void gb_npy_close(gb_npy *npy)
{
    if (!npy)
        return;
    for (size_t i = 0; i < npy->count; i++) {
        if (npy->files[i].fd >= 0)
            close(npy->files[i].fd);
        free(npy->paths[i]);
        free(npy->files[i].scales);
    }
    free(npy->files);
    free(npy->paths);
    free(npy->room);
    free(npy->packed);
    free(npy);
}

uint32_t gb_npy_rows(const gb_npy *npy, size_t file)
{
    return npy->files[file].rows;
}

/* ---- reading ---- */

static bool read_rows(gb_npy *npy, const npy_file *file, uint32_t row, uint32_t count, float *to,
                      gb_status *status)
{
    size_t numbers = (size_t)count * npy->width;
    uint64_t at = (uint64_t)row * npy->width;
    uint32_t bytes = gb_number_bytes(file->type);
    if (file->type == GB_NUMBER_FLOAT32)
        return read_at(file, file->offset + at * 4, to, numbers * 4, status);
    if (!gb_grow(&npy->packed, &npy->packed_capacity, numbers * bytes, 1, status) ||
        !read_at(file, file->offset + at * bytes, npy->packed, numbers * bytes, status))
        return false;
    for (size_t i = 0; file->type == GB_NUMBER_FLOAT16 && i < numbers; i++) {
        uint16_t half;
        memcpy(&half, npy->packed + 2 * i, 2);
        to[i] = gb_half_value(half);
    }
    for (size_t i = 0; file->type == GB_NUMBER_INT8 && i < numbers; i++)
        to[i] = (float)(int8_t)npy->packed[i] * file->scales[row + i / npy->width];
    return true;
}

/* A search with others would rank by nothing. */
static bool check_finite(const npy_file *file, uint32_t row, uint32_t count, const float *numbers,
                         gb_status *status)
{
    for (size_t i = 0; i < (size_t)count * file->width; i++)
        if (!isfinite(numbers[i]))
            return gb_fail(status, GB_DATA, file->path, "look at the model that made the vectors",
                           "the vector in row %zu has the number %g", row + i / file->width,
                           (double)numbers[i]);
    return true;
}

static const float *read_all(void *context, uint32_t first, uint32_t count, gb_status *status)
{
    gb_npy *npy = context;
    if (!gb_grow(&npy->room, &npy->capacity, (size_t)count * npy->width, sizeof *npy->room, status))
        return NULL;
    for (size_t i = 0; i < npy->count; i++) {
        const npy_file *file = &npy->files[i];
        uint32_t start = first > file->first ? first : file->first;
        uint32_t end =
            first + count < file->first + file->rows ? first + count : file->first + file->rows;
        if (start >= end)
            continue;
        float *to = npy->room + (size_t)(start - first) * npy->width;
        if (!read_rows(npy, file, start - file->first, end - start, to, status) ||
            !check_finite(file, start - file->first, end - start, to, status))
            return NULL;
    }
    return npy->room;
}

gb_vectors gb_npy_vectors(gb_npy *npy)
{
    return (gb_vectors){.rows = npy->rows, .width = npy->width, .read = read_all, .context = npy};
}
