/* Room on the disk, before hours of work find that there is none. */
#include <gabbro/os.h>
#include <gabbro/store.h>

bool gb_store_room(const char *path, uint64_t bytes, const char *what, gb_status *status)
{
    uint64_t room_bytes;
    if (gb_os_room(path, &room_bytes) != 0 || bytes <= room_bytes)
        return true;
    return gb_fail(status, GB_DATA, path, "free space, or take another store",
                   "%s take %.2f MiB, and the disk has room for %.2f MiB", what,
                   (double)bytes / (1 << 20), (double)room_bytes / (1 << 20));
}
