/* Archives: a .tar, plain or packed, or a .zip is taken apart into the draft and read as the folder
 * it holds. The formats are libarchive's work. The bytes of a .tar come through gb_unpack, since
 * libarchive 3.6 does not compare the sum at the end of gzip data; only names and files are ours.
 */
#include "data/import.h"
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 17 };

/* An archive being unpacked. */
typedef struct untar {
    struct archive *archive; /* libarchive's reader */
    gb_unpack *bytes;        /* what it reads */
    char *buffer;            /* [COPY_BYTES] of them */
    const char *path;        /* of the archive */
    const char *folder;      /* where its files go */
    gb_progress progress;    /* in KB of it */
    bool zip;                /* a .zip, which libarchive reads by itself, its directory first */
    bool ended;              /* there were no more bytes when it asked for some */
    bool unread;             /* they could not be read: the status says why */
    gb_status *status;       /* of the import */
} untar;

static bool damaged(const untar *u, const char *what)
{
    return gb_fail(u->status, GB_DATA, u->path, "fetch the archive again", "%s", what);
}

static const char *reason(const untar *u)
{
    const char *why = archive_error_string(u->archive);
    return why ? why : "no reason given";
}

/* What libarchive could not do. */
static bool stopped(const untar *u)
{
    if (u->unread)
        return false;
    if (archive_errno(u->archive) == ENOMEM)
        return gb_fail_memory(u->status, "unpacking an archive");
    if (u->ended)
        return damaged(u, "the archive is cut off");
    return gb_fail(u->status, GB_DATA, u->path, "fetch the archive again",
                   "not such an archive, or a damaged one: %s", reason(u));
}

/* archive_read_callback: the next bytes, 0 at the end, negative where they cannot be read. */
static la_ssize_t more(struct archive *archive, void *data, const void **bytes)
{
    (void)archive;
    untar *u = data;
    int64_t got = -1;
    if (gb_not_interrupted(NULL, u->status))
        got = gb_unpack_read(u->bytes, u->buffer, COPY_BYTES, u->status);
    u->ended = got == 0;
    u->unread = got < 0;
    *bytes = u->buffer;
    return (la_ssize_t)got;
}

/* How much of the archive has been read; false where it is to stop. */
static bool show(untar *u)
{
    uint64_t read, of;
    gb_unpack_place(u->bytes, &read, &of);
    if (u->zip)
        read = (uint64_t)archive_filter_bytes(u->archive, -1);
    gb_progress_update(&u->progress, read / 1000, NULL);
    return gb_not_interrupted(u->path, u->status);
}

/* The body of a member; libarchive leaves holes out, which no collection has. */
static bool copy_body(untar *u, int64_t size, FILE *to)
{
    const void *bytes;
    size_t length;
    la_int64_t offset, done = 0;
    int code;
    while ((code = archive_read_data_block(u->archive, &bytes, &length, &offset)) == ARCHIVE_OK &&
           offset == done) {
        if (length) /* of the last block of a .zip there are no bytes at all */
            fwrite(bytes, 1, length, to); /* checked at commit */
        done += (la_int64_t)length;
        if (!show(u))
            return false;
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_EOF)
        return stopped(u);
    return done == size ||
           gb_fail(u->status, GB_DATA, u->path, "unpack it with tar and give the folder",
                   "the archive has a file with holes, or of another size than it says");
}

/* A member as a new file. */
static bool copy_out(untar *u, const char *name, int64_t size)
{
    char *path = gb_path_join(u->status, u->folder, name);
    char *slash = path ? strrchr(path, '/') : NULL;
    bool ok = slash != NULL;
    if (ok) {
        *slash = '\0';
        ok = gb_make_dirs(path, u->status);
        *slash = '/';
    }
    gb_out *out = ok ? gb_out_open(path, u->status) : NULL;
    free(path);
    if (out && copy_body(u, size, gb_out_stream(out)))
        return gb_out_commit(out, u->status);
    gb_out_abandon(out);
    return false;
}

/* Must stay inside the folder; a leading "./" is common and harmless. */
static const char *safe_name(const char *name)
{
    while (!strncmp(name, "./", 2))
        name += 2;
    if (strchr(name, '\\')) /* it parts folders, too, on Windows */
        return NULL;
    for (const char *part = name; *part; part += strspn(part, "/")) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 2 && !strncmp(part, "..", 2)))
            return NULL;
        part += length;
    }
    return *name ? name : NULL;
}

static bool member(untar *u, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname(entry);
    if (!name)
        return damaged(u, "the archive has a member without a name");
    if (!strncmp(name, "__MACOSX/", 9)) /* what macOS adds to a .zip */
        return true;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return true; /* a folder, a link: no data of a collection */
    name = safe_name(name);
    return name ? copy_out(u, name, archive_entry_size(entry))
                : damaged(u, "the archive has a file outside of its folder");
}

static bool read_members(untar *u)
{
    struct archive_entry *entry;
    uint64_t members = 0;
    int code = u->zip ? archive_read_open_filename(u->archive, u->path, COPY_BYTES)
                      : archive_read_open(u->archive, u, NULL, more, NULL);
    if (code != ARCHIVE_OK)
        return stopped(u);
    for (; (code = archive_read_next_header(u->archive, &entry)) != ARCHIVE_EOF; members++) {
        if (code == ARCHIVE_WARN) /* a user's name in no known letters, and the like */
            gb_log(GB_LOG_WARN, "%s: %s", u->path, reason(u));
        else if (code != ARCHIVE_OK)
            return stopped(u);
        if (!member(u, entry))
            return false;
    }
    return members > 0 || damaged(u, "the archive is empty");
}

bool data_import_is_archive(const char *path)
{
    size_t length = strlen(path);
    static const char *const endings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && !strcmp(path + length - end, endings[i]))
            return true;
    }
    return false;
}

bool data_import_unarchive(const char *path, const char *folder, gb_status *status)
{
    void *locale = gb_os_utf8_begin(); /* else a .zip's names beyond ASCII are lost */
    size_t length = strlen(path);
    untar u = {.path = path,
               .zip = length > 4 && !strcmp(path + length - 4, ".zip"),
               .folder = folder,
               .status = status,
               .bytes = gb_unpack_open(path, status),
               .buffer = gb_alloc(COPY_BYTES, 1, status)};
    bool ok = u.bytes && u.buffer && gb_make_dirs(folder, status);
    if (ok) {
        u.archive = gb_fault(GB_FAULT_MEMORY) ? NULL : archive_read_new();
        ok = (u.archive &&
              (u.zip ? archive_read_support_format_zip_seekable(u.archive)
                     : archive_read_support_format_tar(u.archive)) == ARCHIVE_OK &&
              archive_read_support_format_empty(u.archive) == ARCHIVE_OK) ||
             gb_fail_memory(status, "unpacking an archive");
    }
    if (ok) {
        uint64_t read, of;
        gb_unpack_place(u.bytes, &read, &of);
        gb_progress_begin(&u.progress, "unpack", "KB", of / 1000, 0);
        ok = read_members(&u);
        gb_progress_end_long(&u.progress, of / 1000);
    }
    int64_t left =
        ok && !u.zip; /* behind the last member; the sum of packed bytes is at their end */
    while (left > 0)
        left = gb_unpack_read(u.bytes, u.buffer, COPY_BYTES, status);
    archive_read_free(u.archive);
    gb_unpack_close(u.bytes);
    free(u.buffer);
    gb_os_locale_end(locale);
    return ok && left == 0;
}

bool data_import_link_files(const char *from, const char *to, gb_status *status)
{
    gb_entries list;
    char *folder = gb_dir_exists(to) ? gb_os_real_path(from) : NULL;
    bool ok = data_import_list(from, &list, status);
    for (size_t i = 0; ok && folder && i < list.count; i++) {
        char *file = gb_path_join(status, folder, list.names[i]);
        char *link = file ? gb_path_join(status, to, list.names[i]) : NULL;
        ok = link != NULL;
        if (ok && !data_import_is_archive(file) && GB_TRY_CALL(gb_os_link(file, link)) &&
            errno != EEXIST)
            ok = gb_fail(status, GB_DATA, link, "check the disk", "cannot link: %s",
                         strerror(errno));
        free(link);
        free(file);
    }
    gb_entries_free(&list);
    free(folder);
    return ok;
}
