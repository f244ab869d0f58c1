/* Locks, so that only one process at a time makes an artifact, or changes a file. */
#include "store.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const long POLL_NS = 50 * 1000 * 1000;

static bool fail_lock(const char *path, int error, gb_status *status)
{
    if (error == EROFS || error == EACCES)
        return gb_fail(status, GB_DATA, path,
                       "it gives what it has; for more copy it to where you can write",
                       "the store cannot be written: %s", strerror(error));
    const char *hint = error == ENOLCK || error == EOPNOTSUPP
                           ? "put the store on a file system with locks"
                           : "check the store's permissions and free space";
    return gb_fail(status, GB_DATA, path, hint, "cannot lock: %s", strerror(error));
}

/* -1: *error says why not, EWOULDBLOCK that another process has it, or had it until a signal came.
 * waited: NULL where waiting is soon over, and nothing is said of it. */
static int take(const char *path, bool wait, bool *waited, int *error)
{
    for (;;) {
        int fd = GB_TRY_CALL(gb_os_open(path, O_RDWR | O_CREAT));
        if (fd < 0) {
            *error = errno;
            return -1;
        }
        while (GB_TRY_CALL(gb_os_lock(fd)) != 0) {
            *error = errno;
            if (*error == EWOULDBLOCK && wait && !gb_interrupted()) {
                if (waited && !*waited)
                    gb_log(GB_LOG_INFO, "waiting for the process that holds %s", path);
                if (waited)
                    *waited = true;
                nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
                continue;
            }
            close(fd);
            return -1;
        }
        /* The last holder removes the file: a lock on one that is no longer there is void. */
        if (gb_os_is_at(fd, path))
            return fd;
        close(fd);
    }
}

static bool fail_stopped(const char *path, gb_status *status)
{
    return gb_fail(status, GB_INTERRUPTED, path, "run again to resume",
                   "stopped while waiting for another process");
}

int store_lock_take(const char *path, bool wait, bool *waited, gb_status *status)
{
    *waited = false;
    int error, fd = take(path, wait, waited, &error);
    if (fd < 0 && error != EWOULDBLOCK)
        fail_lock(path, error, status);
    else if (fd < 0 && wait)
        fail_stopped(path, status);
    return fd;
}

void store_lock_drop(const char *path, int fd)
{
    gb_os_remove(path); /* while it is held, see take */
    close(fd);
}

bool gb_file_lock_take(gb_file_lock *lock, const char *file, gb_status *status)
{
    int error;
    lock->fd = -1;
    if (!(lock->path = gb_format(status, "%s.lock", file)))
        return false;
    if ((lock->fd = take(lock->path, true, NULL, &error)) >= 0)
        return true;
    return error == EWOULDBLOCK ? fail_stopped(lock->path, status)
                                : gb_fail(status, GB_DATA, lock->path,
                                          "check the folder's permissions and free space",
                                          "cannot lock: %s", strerror(error));
}

void gb_file_lock_drop(gb_file_lock *lock)
{
    if (lock->fd >= 0)
        store_lock_drop(lock->path, lock->fd);
    free(lock->path);
    *lock = (gb_file_lock){.fd = -1};
}
