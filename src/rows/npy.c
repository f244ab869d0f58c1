/* NumPy's .npy files: the header is a Python dictionary of descr, fortran_order and shape. */
#include <gabbro/rows.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX = 8, MAX_LENGTH = 1 << 16 };

typedef struct npy_file {
    int fd;           /* open */
    const char *path; /* as given */
    uint64_t offset;  /* of the first number */
    uint32_t first;   /* row of its first vector in all */
    uint32_t rows;    /* vectors */
    uint32_t width;   /* numbers of each */
    bool half;        /* float16 */
} npy_file;

struct gb_npy {
    npy_file *files;      /* [count] */
    size_t count;         /* open */
    char **paths;         /* [count] owned */
    uint32_t rows;        /* of all */
    uint32_t width;       /* the same in all */
    float *room;          /* what read gave last */
    size_t capacity;      /* floats of it */
    uint16_t *halfs;      /* float16 before they are converted */
    size_t half_capacity; /* of halfs */
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
        ssize_t got =
            GB_TRY_CALL(pread(file->fd, (char *)to + have, size - have, (off_t)(offset + have)));
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

/* What follows 'key': in the dictionary. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static bool parse_header(npy_file *file, const char *header, gb_status *status)
{
    const char *descr = value_of(header, "'descr'"), *shape = value_of(header, "'shape'");
    unsigned long long rows, width;
    char end;
    if (strncmp(descr, "'<f4'", 5) && strncmp(descr, "'<f2'", 5))
        return damaged(file, status, "the numbers are neither float32 nor float16");
    if (strncmp(value_of(header, "'fortran_order'"), "False", 5))
        return damaged(file, status, "the array is not in C order");
    if (sscanf(shape, "(%llu, %llu%c", &rows, &width, &end) != 3 || (end != ')' && end != ','))
        return damaged(file, status, "the array is not [rows, width]");
    if (rows >= UINT32_MAX || !width || width > 1u << 20)
        return damaged(file, status, "an array of such a shape cannot be read");
    file->rows = (uint32_t)rows;
    file->width = (uint32_t)width;
    file->half = descr[3] == '2';
    return true;
}

static bool open_file(npy_file *file, gb_status *status)
{
    unsigned char start[PREFIX + 4];
    struct stat info;
    file->fd = GB_TRY_CALL(open(file->path, O_RDONLY | O_CLOEXEC));
    if (file->fd < 0 || fstat(file->fd, &info))
        return gb_fail(status, GB_DATA, file->path, "check the path and its permissions",
                       "cannot open: %s", strerror(errno));
    if (!read_at(file, 0, start, sizeof start, status))
        return false;
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
    uint64_t size = (uint64_t)file->rows * file->width * (file->half ? 2 : 4);
    if (ok && (uint64_t)info.st_size != file->offset + size)
        ok = damaged(file, status, "the file has another size than its header says");
    return ok;
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
    }
    free(npy->files);
    free(npy->paths);
    free(npy->room);
    free(npy->halfs);
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
    if (!file->half)
        return read_at(file, file->offset + at * 4, to, numbers * 4, status);
    if (!gb_grow(&npy->halfs, &npy->half_capacity, numbers, sizeof *npy->halfs, status) ||
        !read_at(file, file->offset + at * 2, npy->halfs, numbers * 2, status))
        return false;
    for (size_t i = 0; i < numbers; i++)
        to[i] = gb_half_value(npy->halfs[i]);
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
        if (start < end && !read_rows(npy, file, start - file->first, end - start,
                                      npy->room + (size_t)(start - first) * npy->width, status))
            return NULL;
    }
    return npy->room;
}

gb_vectors gb_npy_vectors(gb_npy *npy)
{
    return (gb_vectors){.rows = npy->rows, .width = npy->width, .read = read_all, .context = npy};
}
