/* Archives: a .tar, plain or packed, is taken apart into the draft and read as the folder it holds.
 * POSIX ustar headers, with the long names of GNU tar and pax. */
#include "data/import.h"
#include "gabbro/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, COPY_BYTES = 1 << 17, LONGEST_NAME = 1 << 16 };

/* An archive being read. */
typedef struct archive {
    gb_unpack *bytes;   /* the source */
    const char *path;   /* of the archive */
    const char *folder; /* where its files go */
    char *buffer;       /* [COPY_BYTES] */
    char *name;         /* of the next member by an extended header, or NULL */
} archive;

static bool damaged(const archive *a, gb_status *status, const char *what)
{
    return gb_fail(status, GB_DATA, a->path, "fetch the archive again", "%s", what);
}

/* Exactly `size` bytes, or with `may_end` none at all (*ended). */
static bool read_whole(archive *a, char *to, size_t size, bool *ended, gb_status *status)
{
    size_t have = 0;
    while (have < size) {
        int64_t got = gb_unpack_read(a->bytes, to + have, size - have, status);
        if (got < 0)
            return false;
        if (got == 0) {
            if (ended && have == 0) {
                *ended = true;
                return true;
            }
            return damaged(a, status, "the archive is cut off");
        }
        have += (size_t)got;
    }
    return true;
}

/* A number in octal digits, or in binary where its first bit is set (GNU, for 8 GB and more). */
static bool number(const unsigned char *field, size_t size, uint64_t *value)
{
    *value = 0;
    if (field[0] & 0x80) {
        for (size_t i = 1; i < size; i++)
            *value = *value << 8 | field[i];
        return true;
    }
    for (size_t i = 0; i < size && field[i] && field[i] != ' '; i++) {
        if (field[i] < '0' || field[i] > '7')
            return false;
        *value = *value << 3 | (uint64_t)(field[i] - '0');
    }
    return true;
}

/* The sum of all bytes, those of the sum itself taken for blanks. */
static bool sum_holds(const unsigned char block[BLOCK])
{
    uint64_t wanted, sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : block[i];
    size_t blanks = 148 + strspn((const char *)block + 148, " ");
    return blanks < 156 && number(block + blanks, 156 - blanks, &wanted) && wanted == sum;
}

static bool skip(archive *a, uint64_t bytes, gb_status *status)
{
    bytes = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    while (bytes) {
        size_t part = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
        if (!read_whole(a, a->buffer, part, NULL, status))
            return false;
        bytes -= part;
    }
    return true;
}

/* The body of a member as a new file. */
static bool copy_out(archive *a, const char *name, uint64_t bytes, gb_status *status)
{
    char *path = gb_path_join(status, a->folder, name);
    char *slash = path ? strrchr(path, '/') : NULL;
    bool ok = slash != NULL;
    if (ok) {
        *slash = '\0';
        ok = gb_make_dirs(path, status);
        *slash = '/';
    }
    gb_out *out = ok ? gb_out_open(path, status) : NULL;
    ok = out != NULL;
    uint64_t padded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    for (uint64_t done = 0; ok && done < padded;) {
        size_t part = padded - done < COPY_BYTES ? (size_t)(padded - done) : COPY_BYTES;
        ok = read_whole(a, a->buffer, part, NULL, status);
        if (ok && done < bytes)
            fwrite(a->buffer, 1, bytes - done < part ? (size_t)(bytes - done) : part,
                   gb_out_stream(out));
        done += part;
    }
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    free(path);
    return ok;
}

/* The name in an extended header: GNU's is the body, pax's follows "path=". */
static bool long_name(archive *a, char type, uint64_t bytes, gb_status *status)
{
    if (bytes > LONGEST_NAME)
        return damaged(a, status, "the archive has a name of more than 64 KiB");
    size_t padded = (size_t)(bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (!read_whole(a, a->buffer, padded, NULL, status))
        return false;
    a->buffer[bytes] = '\0';
    const char *name = a->buffer;
    size_t length = strlen(name);
    if (type == 'x') {
        name = memmem(a->buffer, bytes, " path=", 6);
        if (!name)
            return true;
        name += 6;
        length = strcspn(name, "\n");
    }
    free(a->name);
    a->name = gb_format(status, "%.*s", (int)length, name);
    return a->name != NULL;
}

/* Must stay inside the folder; a leading "./" is common and harmless. */
static const char *safe_name(const char *name)
{
    while (!strncmp(name, "./", 2))
        name += 2;
    bool up = !strcmp(name, "..") || !strncmp(name, "../", 3) || strstr(name, "/../");
    return name[0] == '/' || up || !*name ? NULL : name;
}

static bool member(archive *a, unsigned char block[BLOCK], gb_status *status)
{
    uint64_t bytes;
    char type = (char)block[156], plain[256 + 2];
    if (!sum_holds(block) || !number(block + 124, 12, &bytes) || bytes > INT64_MAX)
        return damaged(a, status, "not a tar archive, or a damaged one");
    if (type == 'L' || type == 'x')
        return long_name(a, type, bytes, status);
    bool ustar = !memcmp(block + 257, "ustar\0", 6) && block[345];
    snprintf(plain, sizeof plain, "%.155s%s%.100s", ustar ? (const char *)block + 345 : "",
             ustar ? "/" : "", (const char *)block);
    const char *name = safe_name(a->name ? a->name : plain);
    bool ok;
    if (type != '0' && type != '\0') /* a folder, a link: no data of a collection */
        ok = skip(a, bytes, status);
    else if (!name)
        ok = damaged(a, status, "the archive has a file outside of its folder");
    else
        ok = copy_out(a, name, bytes, status);
    free(a->name);
    a->name = NULL;
    return ok;
}

bool gb_import_is_tar(const char *path)
{
    size_t length = strlen(path);
    static const char *const endings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && !strcmp(path + length - end, endings[i]))
            return true;
    }
    return false;
}

bool gb_import_untar(const char *path, const char *folder, gb_status *status)
{
    archive a = {.path = path,
                 .folder = folder,
                 .bytes = gb_unpack_open(path, status),
                 .buffer = gb_alloc(COPY_BYTES + 1, 1, status)};
    bool ok = a.bytes && a.buffer && gb_make_dirs(folder, status), ended = false;
    uint32_t members = 0;
    while (ok && !ended) {
        unsigned char block[BLOCK];
        ok = read_whole(&a, (char *)block, BLOCK, &ended, status);
        if (!ok || ended || !block[0]) /* a block of zeros ends the archive */
            break;
        ok = member(&a, block, status);
        members++;
    }
    if (ok && !members)
        ok = damaged(&a, status, "the archive is empty");
    gb_unpack_close(a.bytes);
    free(a.buffer);
    free(a.name);
    return ok;
}

bool gb_import_link_files(const char *from, const char *to, gb_status *status)
{
    gb_import_names list;
    char *folder = gb_dir_exists(to) ? realpath(from, NULL) : NULL;
    bool ok = gb_import_list(from, &list, status);
    for (size_t i = 0; ok && folder && i < list.count; i++) {
        char *file = gb_path_join(status, folder, list.names[i]);
        char *link = file ? gb_path_join(status, to, list.names[i]) : NULL;
        ok = link != NULL;
        if (ok && !gb_dir_exists(file) && !gb_import_is_tar(file) &&
            GB_TRY_CALL(symlink(file, link)) && errno != EEXIST)
            ok = gb_fail(status, GB_DATA, link, "check the disk", "cannot link: %s",
                         strerror(errno));
        free(link);
        free(file);
    }
    gb_import_names_free(&list);
    free(folder);
    return ok;
}
