/* Paths, folders, whole files, atomic output. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef S_ISLNK /* Windows */
#define S_ISLNK(mode) false
#endif

/* A failed system call on a file, with the hint its errno deserves (0: unknown). */
static bool fail_errno(gb_status *status, const char *path, const char *doing, int error)
{
    const char *hint = "check the path and its permissions";
    if (error == ENOSPC || error == EDQUOT)
        hint = "free space and run again";
    else if (error == EFBIG)
        hint = "raise the limit on the size of files (ulimit -f) and run again";
    else if (error == 0)
        hint = "free space, or raise the limit on the size of files, and run again";
    else if (error == EIO)
        hint = "check the disk";
    else if (error == EMFILE || error == ENFILE)
        hint = "raise the limit of open files (ulimit -n)";
    return gb_fail(status, GB_DATA, path, hint, "%s: %s", doing,
                   error ? strerror(error) : "a write failed");
}

char *gb_path_join(gb_status *status, const char *a, const char *b)
{
    size_t length = strlen(a);
    bool bare = length == 0 || a[length - 1] == '/';
    return gb_format(status, "%s%s%s", a, bare ? "" : "/", b);
}

const char *gb_path_name(const char *path, size_t *length)
{
    size_t end = strlen(path), start;
    while (end > 0 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    *length = end - start;
    return path + start;
}

bool gb_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

bool gb_dir_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool gb_file_needed(const char *folder, const char *name, const char *hint, gb_status *status)
{
    struct stat info;
    char *path = gb_path_join(status, folder, name);
    if (!path)
        return false;
    bool lacks = gb_dir_exists(folder) && stat(path, &info) != 0 && errno == ENOENT;
    free(path);
    return !lacks || gb_fail(status, GB_DATA, folder, hint, "it has no %s", name);
}

bool gb_make_dirs(const char *path, gb_status *status)
{
    char *part = gb_strdup(path, status);
    if (!part)
        return false;
    bool ok = true;
    for (char *at = part; ok && *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char kept = *at;
        *at = '\0';
        int error = GB_TRY_CALL(gb_os_make_folder(part, false)) == 0 ? 0 : errno;
        if (error && !gb_dir_exists(part))
            ok = fail_errno(status, part, "cannot make the folder", error);
        *at = kept;
    }
    free(part);
    return ok;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return gb_os_remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

bool gb_remove_tree(const char *path, gb_status *status)
{
    if (GB_TRY_CALL(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS)) != 0 && errno != ENOENT)
        return fail_errno(status, path, "cannot remove", errno);
    return true;
}

/* Read fd to its end. */
static char *read_all(int fd, const char *path, size_t guess, size_t *length, gb_status *status)
{
    char *data = NULL;
    size_t capacity = 0, have = 0;
    if (!gb_grow(&data, &capacity, guess + 1, 1, status))
        return NULL;
    for (;;) {
        /* One byte stays free for the NUL. */
        if (have + 1 >= capacity && !gb_grow(&data, &capacity, capacity + 4096, 1, status))
            break;
        if (!gb_wait_for_input(fd, path, status))
            break;
        ssize_t got = GB_TRY_CALL(read(fd, data + have, capacity - 1 - have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            fail_errno(status, path, "cannot read", errno);
            break;
        }
        if (got == 0) {
            data[have] = '\0';
            if (length)
                *length = have;
            return data;
        }
        have += (size_t)got;
    }
    free(data);
    return NULL;
}

char *gb_read_file(const char *path, size_t *length, gb_status *status)
{
    int fd = GB_TRY_CALL(gb_os_open(path, O_RDONLY));
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        fail_errno(status, path, "cannot open", errno);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *data =
        read_all(fd, path, S_ISREG(info.st_mode) ? (size_t)info.st_size + 1 : 4096, length, status);
    close(fd);
    return data;
}

struct gb_out {
    char *path;   /* where the file shall stand */
    char *draft;  /* where it is written until then; NULL: written in place (a device or a pipe) */
    FILE *stream; /* to the draft */
};

static void out_free(gb_out *out)
{
    free(out->path);
    free(out->draft);
    free(out);
}

/* A hidden name beside path, another one each time. Two containers, or two machines with one file
 * system, can have a process of the same number: whoever makes a draft does so only if nothing
 * stands there, and else asks for the next name. */
static char *draft_name(const char *path, gb_status *status)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    return gb_format(status, "%.*s.%s.%ld-%u.draft", folder, path, path + folder, (long)getpid(),
                     atomic_fetch_add(&counter, 1));
}

/* The path itself, or where the links end that stand there; NULL: out of memory. */
static char *behind_links(const char *path, gb_status *status)
{
    struct stat info;
    bool link = gb_os_stat_link(path, &info) == 0 && S_ISLNK(info.st_mode);
    char *real = link ? gb_os_real_path(path) : NULL;
    return real ? real : gb_strdup(path, status);
}

/* The standard output or error, if that is what a path names, as /dev/stdout does; else -1. It is
 * written where it stands: others have written into it, and will. */
static int standard_at(const char *path)
{
    return gb_os_is_at(STDOUT_FILENO, path)   ? STDOUT_FILENO
           : gb_os_is_at(STDERR_FILENO, path) ? STDERR_FILENO
                                              : -1;
}

/* there: a file stands where the draft will. */
static int open_draft(gb_out *out, bool there, gb_status *status)
{
    for (int tries = 0; tries < 1000; tries++) {
        free(out->draft);
        out->draft = draft_name(out->path, status);
        if (!out->draft)
            return -1;
        int fd = GB_TRY_CALL(gb_os_open(out->draft, O_WRONLY | O_CREAT | O_EXCL));
        if (fd >= 0 && (!there || gb_os_keep_permissions(fd, out->path) == 0))
            return fd;
        int error = errno;
        if (fd >= 0) {
            close(fd);
            gb_os_remove(out->draft);
        }
        errno = error;
        if (error != EEXIST)
            break;
    }
    fail_errno(status, out->path, "cannot write", errno);
    return -1;
}

gb_out *gb_out_open(const char *path, gb_status *status)
{
    if (gb_dir_exists(path)) {
        gb_fail(status, GB_DATA, path, "give the path of a file", "cannot write: is a folder");
        return NULL;
    }
    gb_out *out = gb_alloc(1, sizeof *out, status);
    if (!out)
        return NULL;
    if (!(out->path = behind_links(path, status))) {
        out_free(out);
        return NULL;
    }
    struct stat info;
    bool there = stat(path, &info) == 0;
    int fd, own = there ? standard_at(path) : -1;
    if (own >= 0 || (there && !S_ISREG(info.st_mode))) {
        fflush(stdout); /* what was printed comes first */
        fd = GB_TRY_CALL(own >= 0 ? dup(own) : gb_os_open(path, O_WRONLY));
        if (fd < 0)
            fail_errno(status, path, "cannot write", errno);
    } else {
        fd = open_draft(out, there, status);
    }
    if (fd >= 0 && (gb_fault(GB_FAULT_MEMORY) || !(out->stream = fdopen(fd, "wb")))) {
        gb_fail_memory(status, "opening a file");
        close(fd);
        if (out->draft)
            gb_os_remove(out->draft);
    }
    if (!out->stream) {
        out_free(out);
        return NULL;
    }
    return out;
}

FILE *gb_out_stream(gb_out *out)
{
    return out->stream;
}

bool gb_out_rewind(gb_out *out, gb_status *status)
{
    /* What is written in place may have begun before this. */
    int error = !out->draft                                         ? ESPIPE
                : GB_TRY_CALL(fseek(out->stream, 0, SEEK_SET)) == 0 ? 0
                                                                    : errno;
    return (!error && !ferror(out->stream)) || fail_errno(status, out->path, "cannot write", error);
}

/* So that names in the folder that path lies in survive a loss of power. */
static void sync_above(const char *path)
{
    char *copy = strdup(path);
    char *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash)
        slash[slash == copy] = '\0';
    if (copy)
        gb_os_sync_path(slash ? copy : ".");
    free(copy);
}

bool gb_out_commit(gb_out *out, gb_status *status)
{
    if (!gb_memory_check("writing a file", status)) {
        gb_out_abandon(out);
        return false;
    }
    bool earlier = ferror(out->stream) != 0; /* its errno is gone */
    bool ok = true;
    int error = 0;
    errno = 0;
    if (GB_TRY_CALL(fflush(out->stream)) != 0 || earlier || ferror(out->stream)) {
        error = errno;
        ok = false;
    }
    if (ok && out->draft && GB_TRY_CALL(gb_os_sync(fileno(out->stream))) != 0) {
        error = errno;
        ok = false;
    }
    if (fclose(out->stream) != 0 && ok) {
        error = errno;
        ok = false;
    }
    if (ok && out->draft && GB_TRY_CALL(gb_os_rename(out->draft, out->path)) != 0) {
        error = errno;
        ok = false;
    }
    if (!ok) {
        fail_errno(status, out->path, "cannot write", error);
        if (out->draft)
            gb_os_remove(out->draft);
    } else if (out->draft) {
        sync_above(out->path);
    }
    out_free(out);
    return ok;
}

void gb_out_abandon(gb_out *out)
{
    if (!out)
        return;
    fclose(out->stream);
    if (out->draft)
        gb_os_remove(out->draft);
    out_free(out);
}

bool gb_write_file(const char *path, const void *bytes, size_t length, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    if (length)
        fwrite(bytes, 1, length, out->stream); /* checked at commit */
    return gb_out_commit(out, status);
}

bool gb_text_write(const gb_text *text, const char *path, gb_status *status)
{
    return (!text->failed || gb_fail_memory(status, "putting a text together")) &&
           gb_write_file(path, text->data, text->length, status);
}

bool gb_text_write_in(const gb_text *text, const char *folder, const char *name, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    bool ok = path && gb_text_write(text, path, status);
    free(path);
    return ok;
}

bool gb_copy_file(const char *from, const char *to, gb_status *status)
{
    char bytes[1 << 16];
    FILE *in = GB_TRY_OPEN(gb_os_fopen(from, "rb"));
    if (!in)
        return fail_errno(status, from, "cannot open", errno);
    gb_out *out = gb_out_open(to, status);
    bool ok = out != NULL;
    for (size_t got; ok && (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        ok = fwrite(bytes, 1, got, gb_out_stream(out)) == got;
    if (out && ferror(in)) {
        fail_errno(status, from, "cannot read", errno);
        gb_out_abandon(out);
        out = NULL;
    }
    fclose(in);
    return out && gb_out_commit(out, status);
}

/* ---- folders that appear at once ---- */

char *gb_draft_folder(const char *path, gb_status *status)
{
    char *place = behind_links(path, status);
    for (int tries = 0; place && tries < 1000; tries++) {
        char *draft = draft_name(place, status);
        if (!draft || GB_TRY_CALL(gb_os_make_folder(draft, false)) == 0) {
            free(place);
            return draft;
        }
        int error = errno;
        free(draft);
        errno = error;
        if (error != EEXIST)
            break;
    }
    if (place)
        fail_errno(status, path, "cannot write", errno);
    free(place);
    return NULL;
}

static bool fail_kept(const char *draft, const char *path, int error, gb_status *status)
{
    char hint[300];
    snprintf(hint, sizeof hint, "the new one is whole: move %s there", draft);
    return gb_fail(status, GB_DATA, path, hint, "cannot write: %s", strerror(error));
}

/* What stood there before: the new one is in its place, whether this can go or not. */
static void remove_former(const char *path, const char *of)
{
    gb_status why = {0};
    if (!gb_remove_tree(path, NULL) && !gb_remove_tree(path, &why)) /* again: what else can go */
        gb_log(GB_LOG_OWN, "%s is new, but what stood there is left as %s: %s: %s", of, path,
               why.where, why.what);
}

static bool exchange(const char *draft, const char *path, gb_status *status)
{
    if (GB_TRY_CALL(gb_os_exchange(draft, path)) == 0) {
        remove_former(draft, path);
        return true;
    }
    char *former = gb_format(status, "%s.old", draft);
    if (!former) {
        gb_remove_tree(draft, NULL);
        return false;
    }
    bool ok = GB_TRY_CALL(gb_os_rename(path, former)) == 0 || fail_kept(draft, path, errno, status);
    if (ok && GB_TRY_CALL(gb_os_rename(draft, path)) != 0) {
        ok = fail_kept(draft, path, errno, status);
        if (gb_os_rename(former, path) != 0)
            gb_log(GB_LOG_ERROR, "what stood there is now %s", former);
    }
    if (ok)
        remove_former(former, path);
    free(former);
    return ok;
}

bool gb_replace_folder(const char *draft, const char *path, gb_status *status)
{
    gb_os_sync_path(draft); /* some file systems cannot: not an error */
    char *place = behind_links(path, status);
    bool ok = place != NULL;
    if (!ok) {
        gb_remove_tree(draft, NULL);
    } else if (gb_dir_exists(place)) {
        ok = exchange(draft, place, status);
    } else if (!(ok = GB_TRY_CALL(gb_os_rename(draft, place)) == 0)) {
        fail_errno(status, path, "cannot write", errno);
        gb_remove_tree(draft, NULL);
    }
    if (ok)
        sync_above(place);
    free(place);
    return ok;
}

bool gb_draft_end(char *draft, bool ok, const char *path, gb_status *status)
{
    ok = ok && draft;
    if (ok)
        ok = gb_replace_folder(draft, path, status);
    else if (draft)
        gb_remove_tree(draft, NULL);
    free(draft);
    return ok;
}

/* ---- temporary folders ---- */

char *gb_temporary_folder(const gb_config *config, const char *name, gb_status *status)
{
    const char *where = config->temporary ? config->temporary : "/tmp";
    static atomic_uint counter;
    for (int tries = 0; tries < 1000; tries++) {
        char *folder = gb_format(status, "%s/gabbro-%s-%ld-%u", where, name, (long)getpid(),
                                 atomic_fetch_add(&counter, 1));
        if (!folder || gb_os_make_folder(folder, true) == 0)
            return folder;
        bool taken = errno == EEXIST;
        if (!taken)
            gb_fail(status, GB_DATA, folder, "set TMPDIR to a folder that can be written",
                    "no temporary folder can be made");
        free(folder);
        if (!taken)
            return NULL;
    }
    gb_fail(status, GB_DATA, where, "empty it", "no temporary folder can be made");
    return NULL;
}

void gb_temporary_remove(char *folder)
{
    gb_status ignored = {0};
    if (folder)
        gb_remove_tree(folder, &ignored);
    free(folder);
}
