/* Bytes of plain, gzip and zstd files, told apart by their first bytes; zlib's gzread does plain
 * ones too. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if GABBRO_ZSTD
#include <zstd.h>
#endif

enum { BUFFER_BYTES = 1 << 17 };
static const char again[] = "fetch or write the file again";

struct gb_unpack {
    char *path;  /* as given to open */
    gzFile file; /* plain or gzip; NULL for zstd */
#if GABBRO_ZSTD
    int fd;               /* of a zstd file, or -1 */
    ZSTD_DStream *stream; /* its state */
    char *packed;         /* bytes read of it */
    ZSTD_inBuffer input;  /* what is left of them */
    size_t open_frame;    /* 0: between frames */
#endif
};

static bool is_zstd(int fd)
{
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char start[4];
    return gb_os_read_at(fd, start, sizeof start, 0) == sizeof start &&
           !memcmp(start, magic, sizeof start);
}

#if GABBRO_ZSTD
static bool open_zstd(gb_unpack *unpack, int fd, gb_status *status)
{
    unpack->fd = fd;
    unpack->packed = gb_alloc(BUFFER_BYTES, 1, status);
    if (!unpack->packed)
        return false;
    unpack->stream = gb_fault(GB_FAULT_MEMORY) ? NULL : ZSTD_createDStream();
    unpack->input.src = unpack->packed;
    return unpack->stream || gb_fail_memory(status, "opening a file");
}

static int64_t read_zstd(gb_unpack *unpack, void *bytes, size_t size, gb_status *status)
{
    ZSTD_outBuffer output = {.dst = bytes, .size = size};
    while (output.pos == 0) {
        bool ended = false;
        if (unpack->input.pos == unpack->input.size) {
            ssize_t got = GB_TRY_CALL(read(unpack->fd, unpack->packed, BUFFER_BYTES));
            if (got < 0) {
                gb_fail(status, GB_DATA, unpack->path, "check the disk", "cannot read: %s",
                        strerror(errno));
                return -1;
            }
            unpack->input.size = (size_t)got;
            unpack->input.pos = 0;
            ended = got == 0;
        }
        if (ended && !unpack->open_frame)
            return 0;
        size_t left = ZSTD_decompressStream(unpack->stream, &output, &unpack->input);
        if (ZSTD_isError(left)) {
            gb_fail(status, GB_DATA, unpack->path, again, "the file's zstd data are damaged: %s",
                    ZSTD_getErrorName(left));
            return -1;
        }
        unpack->open_frame = left;
        if (ended && output.pos == 0) {
            gb_fail(status, GB_DATA, unpack->path, again,
                    "the file is cut off inside its zstd data");
            return -1;
        }
    }
    return (int64_t)output.pos;
}
#endif

/* The file descriptor is taken over, also on failure. */
static bool open_kind(gb_unpack *unpack, int fd, gb_status *status)
{
    if (is_zstd(fd)) {
#if GABBRO_ZSTD
        return open_zstd(unpack, fd, status);
#else
        close(fd);
        return gb_fail(status, GB_DATA, unpack->path,
                       "unpack it with zstd -d, or build with libzstd-dev installed",
                       "this program was built without zstd");
#endif
    }
    unpack->file = gb_fault(GB_FAULT_MEMORY) ? NULL : gzdopen(fd, "rb");
    if (!unpack->file) {
        close(fd);
        return gb_fail_memory(status, "opening a file");
    }
    gzbuffer(unpack->file, BUFFER_BYTES);
    return true;
}

gb_unpack *gb_unpack_open(const char *path, gb_status *status)
{
    bool standard = !strcmp(path, "-");
    int fd = GB_TRY_CALL(standard ? gb_os_open_input() : gb_os_open(path, O_RDONLY));
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        gb_fail(status, GB_DATA, path, "check the path and its permissions", "cannot open: %s",
                strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (S_ISDIR(info.st_mode)) {
        gb_fail(status, GB_DATA, path, "give the path of a file", "is a folder, not a file");
        close(fd);
        return NULL;
    }
    gb_unpack *unpack = gb_alloc(1, sizeof *unpack, status);
#if GABBRO_ZSTD
    if (unpack)
        unpack->fd = -1;
#endif
    if (unpack)
        unpack->path = gb_strdup(standard ? "standard input" : path, status);
    if (!unpack || !unpack->path) {
        close(fd);
        gb_unpack_close(unpack);
        return NULL;
    }
    if (open_kind(unpack, fd, status))
        return unpack;
    gb_unpack_close(unpack);
    return NULL;
}

int64_t gb_unpack_read(gb_unpack *unpack, void *bytes, size_t size, gb_status *status)
{
#if GABBRO_ZSTD
    if (!unpack->file)
        return read_zstd(unpack, bytes, size, status);
#endif
    errno = 0;
    if (gb_fault(GB_FAULT_FILE)) {
        gb_fail(status, GB_DATA, unpack->path, "check the disk", "cannot read: %s", strerror(EIO));
        return -1;
    }
    int got = gzread(unpack->file, bytes, (unsigned)(size < 1u << 30 ? size : 1u << 30));
    int code = Z_OK;
    gzerror(unpack->file, &code);
    if (code == Z_MEM_ERROR)
        gb_fail_memory(status, "reading a gzip file");
    else if (code == Z_BUF_ERROR)
        gb_fail(status, GB_DATA, unpack->path, again, "the file is cut off inside its gzip data");
    else if (code == Z_ERRNO)
        gb_fail(status, GB_DATA, unpack->path, "check the disk", "cannot read: %s",
                strerror(errno));
    else if (got < 0 || code < 0)
        gb_fail(status, GB_DATA, unpack->path, again, "the file's gzip data are damaged");
    else
        return got;
    return -1;
}

void gb_unpack_close(gb_unpack *unpack)
{
    if (!unpack)
        return;
    if (unpack->file)
        gzclose(unpack->file);
#if GABBRO_ZSTD
    ZSTD_freeDStream(unpack->stream);
    if (unpack->fd >= 0)
        close(unpack->fd);
    free(unpack->packed);
#endif
    free(unpack->path);
    free(unpack);
}
