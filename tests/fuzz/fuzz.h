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

/* Path of a file with these bytes, valid until the next call. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[128];
    if (!fuzz_folder[0]) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/gabbro-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(fuzz_folder))
            abort();
        atexit(fuzz_leave);
        gb_log_set_level(GB_LOG_ERROR);
    }
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    return path;
}

/* A failure has a code and says what and why. */
static inline void fuzz_check(bool ok, const gb_status *status)
{
    if (ok != (status->code == GB_OK) || (!ok && !status->what[0]))
        abort();
}

#endif
