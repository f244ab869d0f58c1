/* Row files: memory-mapped arrays of byte strings. The writer first writes the bytes to an unlinked
 * file beside its target, because the offsets precede them and their number is known last. */
#include <gabbro/rows.h>
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tables are mapped as they lie on disk");

typedef struct table_header {
    char magic[8];          /* "GABTABLE" */
    uint32_t version;       /* ROW_FILE_VERSION */
    uint32_t element_bytes; /* bytes of one element of a row */
    uint64_t count;         /* number of rows */
} table_header;

enum { ROW_FILE_VERSION = 1, COPY_BYTES = 1 << 16 };
static const char table_magic[8] = {'G', 'A', 'B', 'T', 'A', 'B', 'L', 'E'};
static const char file_hint[] = "make it again: it was cut off, changed or is another kind of file";

struct gb_row_file {
    const void *map;         /* the whole file */
    size_t map_bytes;        /* its size */
    const uint64_t *offsets; /* [count + 1], bytes from the start of data */
    const char *data;        /* first byte of row 0 */
    uint64_t count;          /* rows */
    uint32_t element_bytes;  /* bytes of one element */
};

/* Everything a damaged file could make us read out of bounds is refused here, once. */
static bool check_file(gb_row_file *file, const char *path, uint32_t element_bytes,
                       gb_status *status)
{
    table_header header;
    if (file->map_bytes < sizeof header)
        return gb_fail(status, GB_DATA, path, file_hint, "row file shorter than its header");
    memcpy(&header, file->map, sizeof header);
    if (memcmp(header.magic, table_magic, sizeof table_magic) != 0)
        return gb_fail(status, GB_DATA, path, file_hint, "not a row file");
    if (header.version != ROW_FILE_VERSION)
        return gb_fail(status, GB_DATA, path, file_hint,
                       "row file of version %u, this program reads %d", header.version,
                       ROW_FILE_VERSION);
    if (header.element_bytes != element_bytes)
        return gb_fail(status, GB_DATA, path, file_hint,
                       "row file of %u-byte elements, expected %u", header.element_bytes,
                       element_bytes);
    uint64_t room = (file->map_bytes - sizeof header) / sizeof(uint64_t);
    if (header.count >= room)
        return gb_fail(status, GB_DATA, path, file_hint, "row file cut off inside its offsets");
    file->count = header.count;
    file->element_bytes = element_bytes;
    file->offsets = (const uint64_t *)((const char *)file->map + sizeof header);
    file->data = (const char *)(file->offsets + header.count + 1);
    uint64_t data_bytes = file->map_bytes - sizeof header - (header.count + 1) * sizeof(uint64_t);
    if (file->offsets[0] != 0 || file->offsets[header.count] != data_bytes)
        return gb_fail(status, GB_DATA, path, file_hint,
                       "row file of %llu data bytes, its offsets tell of %llu",
                       (unsigned long long)data_bytes,
                       (unsigned long long)file->offsets[header.count]);
    for (uint64_t i = 0; i < header.count; i++) {
        if (file->offsets[i + 1] < file->offsets[i] || file->offsets[i + 1] % element_bytes)
            return gb_fail(status, GB_DATA, path, file_hint,
                           "row file with wrong offsets at row %llu", (unsigned long long)i);
    }
    return true;
}

gb_row_file *gb_row_file_open(const char *path, uint32_t element_bytes, gb_status *status)
{
    gb_row_file *file = gb_alloc(1, sizeof *file, status);
    if (!file)
        return NULL;
    struct stat info;
    int fd = GB_TRY_CALL(gb_os_open(path, O_RDONLY));
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        gb_fail(status, GB_DATA, path, "check the path", "cannot open row file: %s",
                fd < 0 ? strerror(errno) : "not a regular file");
        if (fd >= 0)
            close(fd);
        free(file);
        return NULL;
    }
    file->map_bytes = (size_t)info.st_size;
    if (file->map_bytes)
        file->map = GB_TRY_OPEN(gb_os_map(fd, file->map_bytes));
    int error = errno;
    close(fd);
    if (file->map_bytes && !file->map) {
        gb_fail(status, GB_DATA, path, NULL, "cannot map row file: %s", strerror(error));
        free(file);
        return NULL;
    }
    if (!check_file(file, path, element_bytes, status)) {
        gb_row_file_close(file);
        return NULL;
    }
    return file;
}

gb_row_file *gb_row_file_open_in(const char *folder, const char *name, uint32_t element_bytes,
                                 gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_row_file *file = path ? gb_row_file_open(path, element_bytes, status) : NULL;
    free(path);
    return file;
}

void gb_row_file_close(gb_row_file *file)
{
    if (!file)
        return;
    if (file->map)
        gb_os_unmap(file->map, file->map_bytes);
    free(file);
}

uint64_t gb_row_file_count(const gb_row_file *file)
{
    return file->count;
}

const void *gb_row_file_row(const gb_row_file *file, uint64_t row, size_t *length)
{
    uint64_t start = file->offsets[row];
    *length = (size_t)((file->offsets[row + 1] - start) / file->element_bytes);
    return file->data + start;
}

gb_map *gb_row_file_map(const gb_row_file *file, gb_status *status)
{
    gb_map *rows = gb_map_create(status);
    for (uint64_t row = 0; rows && row < file->count; row++) {
        size_t length;
        const void *bytes = gb_row_file_row(file, row, &length);
        if (!gb_map_set(rows, bytes, length * file->element_bytes, (uint32_t)row, status)) {
            gb_map_destroy(rows);
            return NULL;
        }
    }
    return rows;
}

/* ---- writing ---- */

struct gb_row_writer {
    char *path;             /* where the file will lie */
    FILE *spool;            /* the data bytes so far; has no name */
    uint64_t *offsets;      /* [count + 1] */
    size_t capacity;        /* offsets allocated */
    uint64_t count;         /* rows so far */
    uint32_t element_bytes; /* bytes of one element */
};

gb_row_writer *gb_row_writer_open(const char *path, uint32_t element_bytes, gb_status *status)
{
    gb_row_writer *writer = gb_alloc(1, sizeof *writer, status);
    if (!writer)
        return NULL;
    writer->element_bytes = element_bytes;
    writer->path = gb_strdup(path, status);
    if (!writer->path ||
        !gb_grow(&writer->offsets, &writer->capacity, 1024, sizeof *writer->offsets, status)) {
        gb_row_writer_abandon(writer);
        return NULL;
    }
    writer->offsets[0] = 0;
    int fd = GB_TRY_CALL(gb_os_open_nameless(path));
    writer->spool = fd < 0 ? NULL : fdopen(fd, "w+b");
    if (!writer->spool) {
        gb_fail(status, GB_DATA, path, "check that the folder exists and may be written",
                "cannot write row file: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        gb_row_writer_abandon(writer);
        return NULL;
    }
    return writer;
}

gb_row_writer *gb_row_writer_open_in(const char *folder, const char *name, uint32_t element_bytes,
                                     gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_row_writer *writer = path ? gb_row_writer_open(path, element_bytes, status) : NULL;
    free(path);
    return writer;
}

bool gb_row_writer_add(gb_row_writer *writer, const void *row, size_t length, gb_status *status)
{
    if (!gb_not_interrupted(NULL, status)) /* long work on collections passes here */
        return false;
    if (!gb_grow(&writer->offsets, &writer->capacity, writer->count + 2, sizeof *writer->offsets,
                 status))
        return false;
    size_t bytes = length * writer->element_bytes;
    if (bytes && (GB_TRY_CALL(0) != 0 || fwrite(row, 1, bytes, writer->spool) != bytes))
        return gb_fail(status, GB_DATA, writer->path, "free some space",
                       "cannot write row file: %s", strerror(errno));
    writer->offsets[writer->count + 1] = writer->offsets[writer->count] + bytes;
    writer->count++;
    return true;
}

static bool writer_copy(gb_row_writer *writer, FILE *target, gb_status *status)
{
    char *buffer = gb_alloc(COPY_BYTES, 1, status);
    if (!buffer)
        return false;
    errno = 0;
    uint64_t copied = 0;
    if (GB_TRY_CALL(fflush(writer->spool)) == 0 && fseeko(writer->spool, 0, SEEK_SET) == 0) {
        size_t got;
        while ((got = fread(buffer, 1, COPY_BYTES, writer->spool)) > 0) {
            fwrite(buffer, 1, got, target); /* checked at commit */
            copied += got;
        }
    }
    free(buffer);
    if (copied != writer->offsets[writer->count])
        return gb_fail(status, GB_DATA, writer->path, "free some space",
                       "cannot write row file: %s",
                       errno ? strerror(errno) : "bytes lost on the way");
    return true;
}

bool gb_row_writer_commit(gb_row_writer *writer, gb_status *status)
{
    gb_out *out = gb_out_open(writer->path, status);
    if (!out) {
        gb_row_writer_abandon(writer);
        return false;
    }
    table_header header = {.version = ROW_FILE_VERSION,
                           .element_bytes = writer->element_bytes,
                           .count = writer->count};
    memcpy(header.magic, table_magic, sizeof table_magic);
    FILE *stream = gb_out_stream(out);
    fwrite(&header, sizeof header, 1, stream);
    fwrite(writer->offsets, sizeof *writer->offsets, writer->count + 1, stream);
    bool ok = writer_copy(writer, stream, status);
    gb_row_writer_abandon(writer);
    if (!ok) {
        gb_out_abandon(out);
        return false;
    }
    return gb_out_commit(out, status);
}

void gb_row_writer_abandon(gb_row_writer *writer)
{
    if (!writer)
        return;
    if (writer->spool)
        fclose(writer->spool);
    free(writer->offsets);
    free(writer->path);
    free(writer);
}

bool gb_row_writer_end(gb_row_writer *writer, bool ok, gb_status *status)
{
    if (ok)
        return gb_row_writer_commit(writer, status);
    gb_row_writer_abandon(writer);
    return false;
}
