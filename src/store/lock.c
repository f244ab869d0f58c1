/* Locks, so that only one process at a time makes an artifact. */
#include "store.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const long POLL_NS = 50 * 1000 * 1000;

static bool fail_lock(const char *path, int error, gb_status *status)
{
    if (error == EROFS || error == EACCES)
        return gb_fail(status, GB_DATA, path,
                       "it gives what it has; for more copy it to where you can write (--store)",
                       "the store cannot be written: %s", strerror(error));
    const char *hint = error == ENOLCK || error == EOPNOTSUPP
                           ? "put the store on a file system with locks (--store)"
                           : "check the store's permissions and free space";
    return gb_fail(status, GB_DATA, path, hint, "cannot lock: %s", strerror(error));
}

int store_lock_take(const char *path, bool wait, bool *waited, gb_status *status)
{
    *waited = false;
    for (;;) {
        int fd = GB_TRY_CALL(gb_os_open(path, O_RDWR | O_CREAT));
        if (fd < 0) {
            fail_lock(path, errno, status);
            return -1;
        }
        while (GB_TRY_CALL(gb_os_lock(fd)) != 0) {
            int error = errno;
            if (error == EWOULDBLOCK && wait && !gb_interrupted()) {
                if (!*waited)
                    gb_log(GB_LOG_INFO, "waiting for the process that holds %s", path);
                *waited = true;
                nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
                continue;
            }
            close(fd);
            if (error == EWOULDBLOCK && wait)
                gb_fail(status, GB_INTERRUPTED, path, "run again to resume",
                        "stopped while waiting for another process");
            else if (error != EWOULDBLOCK)
                fail_lock(path, error, status);
            return -1;
        }
        /* The last holder removes the file: a lock on one that is no longer there is void. */
        if (gb_os_is_at(fd, path))
            return fd;
        close(fd);
    }
}

void store_lock_drop(const char *path, int fd)
{
    gb_os_remove(path); /* while it is held, see store_lock_take */
    close(fd);
}
