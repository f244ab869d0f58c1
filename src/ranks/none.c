/* No transport: the program was built without MPI. */
#include "transport.h"

#include <stdlib.h>

static const char hint[] =
    "apt-get install libopenmpi-dev openmpi-bin, then build again: meson configure -Dmpi=enabled";

bool ranks_transport_built(gb_status *status)
{
    return gb_fail(status, GB_USAGE, NULL, hint,
                   "this gabbro was built without MPI: it cannot run as several ranks");
}

bool ranks_transport_open(transport_place *place, gb_status *status)
{
    (void)place;
    return ranks_transport_built(status);
}

void ranks_transport_close(void)
{
}

_Noreturn void ranks_transport_abort(int code)
{
    exit(code);
}

bool ranks_transport_send(const char *name, const void *bytes, size_t count, uint32_t to,
                          gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)to;
    return ranks_transport_built(status);
}

bool ranks_transport_receive(const char *name, void *bytes, size_t count, uint32_t from,
                             gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)from;
    return ranks_transport_built(status);
}

bool ranks_transport_broadcast(const char *name, void *bytes, size_t count, uint32_t from,
                               gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)from;
    return ranks_transport_built(status);
}
