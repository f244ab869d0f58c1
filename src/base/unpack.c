/* Bytes of plain, gzip and zstd files, told apart by their first bytes. What has come is given at
 * once, so that a pipe or a terminal is answered line by line, which zlib's gzread would not do. */
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
static const unsigned char gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct gb_unpack {
    char *path;          /* for messages */
    int fd;              /* read from */
    uint64_t taken;      /* bytes of it that were read */
    uint64_t size;       /* of it; 0: unknown, as of a pipe */
    unsigned char *read; /* [BUFFER_BYTES] what was read of the file */
    size_t first, end;   /* of it, what is left */
    bool ended;          /* the file has no more that counts */
    enum { UNKNOWN, PLAIN, GZIP, ZSTD } kind;
    bool inside;   /* a member of gzip or a frame of zstd */
    z_stream gzip; /* GZIP: its state */
#if GABBRO_ZSTD
    ZSTD_DStream *zstd; /* ZSTD: its state */
#endif
};

/* Reads what has come, behind what is left; waits if nothing has. */
static bool fill(gb_unpack *u, gb_status *status)
{
    memmove(u->read, u->read + u->first, u->end - u->first);
    u->end -= u->first;
    u->first = 0;
    if (!gb_wait_for_input(u->fd, u->path, status))
        return false;
    ssize_t got = GB_TRY_CALL(read(u->fd, u->read + u->end, BUFFER_BYTES - u->end));
    if (got < 0)
        return gb_fail(status, GB_DATA, u->path, "check the disk", "cannot read: %s",
                       strerror(errno));
    u->end += (size_t)got;
    u->taken += (uint64_t)got;
    u->ended = got == 0;
    return true;
}

static bool begins(const gb_unpack *u, const unsigned char *magic, size_t length)
{
    size_t there = u->end - u->first;
    return !memcmp(u->read + u->first, magic, there < length ? there : length);
}

/* Zstd's frames that are to be skipped, with which pzstd begins: 5? 2a 4d 18. */
static bool begins_skipped(const gb_unpack *u)
{
    unsigned char magic[] = {u->end > u->first ? u->read[u->first] : 0x50, 0x2a, 0x4d, 0x18};
    return (magic[0] & 0xf0) == 0x50 && begins(u, magic, sizeof magic);
}

static bool begins_zstd(const gb_unpack *u)
{
    return begins(u, zstd_magic, sizeof zstd_magic) || begins_skipped(u);
}

/* Tells the kind by the first bytes; no more is waited for than decides it. */
static bool find_kind(gb_unpack *u, gb_status *status)
{
    while (!u->ended && u->end < sizeof zstd_magic &&
           (begins(u, gzip_magic, sizeof gzip_magic) || begins_zstd(u)))
        if (!fill(u, status))
            return false;
    u->kind = PLAIN;
    if (u->end >= sizeof gzip_magic && begins(u, gzip_magic, sizeof gzip_magic)) {
        u->kind = GZIP;
        u->inside = true;
        return (!gb_fault(GB_FAULT_MEMORY) && inflateInit2(&u->gzip, 16 + MAX_WBITS) == Z_OK) ||
               gb_fail_memory(status, "opening a file");
    }
    if (u->end < sizeof zstd_magic || !begins_zstd(u))
        return true;
#if GABBRO_ZSTD
    u->kind = ZSTD;
    u->zstd = gb_fault(GB_FAULT_MEMORY) ? NULL : ZSTD_createDStream();
    return u->zstd || gb_fail_memory(status, "opening a file");
#else
    return gb_fail(status, GB_DATA, u->path,
                   "unpack it with zstd -d, or build with libzstd-dev installed",
                   "this program was built without zstd");
#endif
}

/* Decoders: take from u->read, put at most `size` bytes and say how many. */

static void take_plain(gb_unpack *u, void *bytes, size_t size, size_t *got)
{
    *got = u->end - u->first < size ? u->end - u->first : size;
    memcpy(bytes, u->read + u->first, *got);
    u->first += *got;
}

static bool take_gzip(gb_unpack *u, void *bytes, size_t size, size_t *got, gb_status *status)
{
    if (!u->inside) { /* another member begins, or something that gzip ignores too */
        if (u->end - u->first < sizeof gzip_magic)
            return true;
        u->inside = begins(u, gzip_magic, sizeof gzip_magic);
        u->ended |= !u->inside;
        if (!u->inside)
            return true;
        inflateReset(&u->gzip);
    }
    uInt room = (uInt)(size < 1u << 30 ? size : 1u << 30);
    u->gzip.next_in = u->read + u->first;
    u->gzip.avail_in = (uInt)(u->end - u->first);
    u->gzip.next_out = bytes;
    u->gzip.avail_out = room;
    int code = inflate(&u->gzip, Z_NO_FLUSH);
    u->first = u->end - u->gzip.avail_in;
    *got = room - u->gzip.avail_out;
    u->inside = code != Z_STREAM_END;
    if (code == Z_MEM_ERROR)
        return gb_fail_memory(status, "reading a gzip file");
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ||
           gb_fail(status, GB_DATA, u->path, again, "the file's gzip data are damaged");
}

#if GABBRO_ZSTD
static bool take_zstd(gb_unpack *u, void *bytes, size_t size, size_t *got, gb_status *status)
{
    ZSTD_inBuffer input = {u->read + u->first, u->end - u->first, 0};
    ZSTD_outBuffer output = {bytes, size, 0};
    if (!u->inside && input.size == 0)
        return true;
    size_t left = ZSTD_decompressStream(u->zstd, &output, &input);
    u->first += input.pos;
    *got = output.pos;
    u->inside = left != 0;
    return !ZSTD_isError(left) ||
           gb_fail(status, GB_DATA, u->path, again, "the file's zstd data are damaged: %s",
                   ZSTD_getErrorName(left));
}
#endif

static bool take(gb_unpack *u, void *bytes, size_t size, size_t *got, gb_status *status)
{
    *got = 0;
    if (u->kind == GZIP)
        return take_gzip(u, bytes, size, got, status);
#if GABBRO_ZSTD
    if (u->kind == ZSTD)
        return take_zstd(u, bytes, size, got, status);
#endif
    take_plain(u, bytes, size, got);
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
    if (!unpack) {
        close(fd);
        return NULL;
    }
    unpack->fd = fd;
    unpack->size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    unpack->path = gb_strdup(standard ? "standard input" : path, status);
    unpack->read = unpack->path ? gb_alloc(BUFFER_BYTES, 1, status) : NULL;
    if (unpack->read)
        return unpack;
    gb_unpack_close(unpack);
    return NULL;
}

int64_t gb_unpack_read(gb_unpack *u, void *bytes, size_t size, gb_status *status)
{
    if (u->kind == UNKNOWN && !find_kind(u, status))
        return -1;
    for (size_t got, before; size > 0;) {
        before = u->first;
        if (!take(u, bytes, size, &got, status))
            return -1;
        if (got)
            return (int64_t)got;
        if (u->ended && u->inside) {
            gb_fail(status, GB_DATA, u->path, again, "the file is cut off inside its %s data",
                    u->kind == GZIP ? "gzip" : "zstd");
            return -1;
        }
        if (u->ended)
            return 0;
        if (u->first == before && !fill(u, status))
            return -1;
    }
    return 0;
}

void gb_unpack_place(const gb_unpack *unpack, uint64_t *read, uint64_t *of)
{
    *read = unpack->taken;
    *of = unpack->size;
}

void gb_unpack_close(gb_unpack *unpack)
{
    if (!unpack)
        return;
    inflateEnd(&unpack->gzip); /* nothing where it was not begun */
#if GABBRO_ZSTD
    ZSTD_freeDStream(unpack->zstd);
#endif
    close(unpack->fd);
    free(unpack->read);
    free(unpack->path);
    free(unpack);
}

/* ---- names ---- */

/* Of one file, as it is or packed. */
static const char *const endings[] = {"", ".gz", ".zst"};

size_t gb_unpack_stem(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 1; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && gb_ends_with(name, length, endings[i]))
            return length - end;
    }
    return length;
}

bool gb_unpack_find(const char *folder, const char *name, char **path, gb_status *status)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        *path = gb_format(status, "%s/%s%s", folder, name, endings[i]);
        if (!*path)
            return false;
        if (gb_file_exists(*path))
            return true;
        free(*path);
    }
    *path = NULL;
    return true;
}
