/* What the fuzz targets share: the input as a file in a folder of its own, kept in memory. */
#ifndef GABBRO_TESTS_FUZZ_H
#define GABBRO_TESTS_FUZZ_H

#include <gabbro/base.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_folder[64]; /* of this process */

static inline void fuzz_leave(void)
{
    gb_remove_tree(fuzz_folder, NULL);
}

enum { FUZZ_PATH = 192 }; /* bytes that hold every path */

/* Path in the folder, valid until the next call. */
static inline const char *fuzz_path(const char *name)
{
    static char path[FUZZ_PATH];
    if (!fuzz_folder[0]) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/gabbro-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(fuzz_folder))
            abort();
        atexit(fuzz_leave);
        gb_log_set_level(GB_LOG_ERROR);
    }
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    return path;
}

/* Path of a file with these bytes, valid until the next call. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    return path;
}

/* Path of a new folder whose files, up to a name that is NULL, are the parts of the input; a form
 * feed parts them. Names behind the last part have no file. Valid until the next call. */
static inline const char *fuzz_parts(const char *folder, const char *const *names,
                                     const uint8_t *data, size_t size)
{
    char name[96];
    if (!gb_remove_tree(fuzz_path(folder), NULL) || !gb_make_dirs(fuzz_path(folder), NULL))
        abort();
    for (bool more = true; more && *names; names++) {
        const uint8_t *end = size ? memchr(data, '\f', size) : NULL;
        size_t length = end ? (size_t)(end - data) : size;
        snprintf(name, sizeof name, "%s/%s", folder, *names);
        char *slash = strchr(name + strlen(folder) + 1, '/');
        if (slash) {
            *slash = '\0';
            gb_make_dirs(fuzz_path(name), NULL);
            *slash = '/';
        }
        fuzz_file(name, data, length);
        more = end != NULL;
        data += length + more;
        size -= length + more;
    }
    return fuzz_path(folder);
}

size_t fuzz_accepted; /* inputs without a failure, but for that of a library that is not there */

/* A failure has a code and says what and why. */
static inline void fuzz_check(bool ok, const gb_status *status)
{
    fuzz_accepted += ok || strstr(status->what, "built without");
    if (ok != (status->code == GB_OK) || (!ok && !status->what[0]))
        abort();
}

#endif
