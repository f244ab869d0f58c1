/* No transport: the program was built without MPI. */
#include "transport.h"

#include <stdlib.h>

static const char hint[] =
    "apt-get install libopenmpi-dev openmpi-bin, then build again: meson configure -Dmpi=enabled";

bool transport_built(gb_status *status)
{
    return gb_fail(status, GB_USAGE, NULL, hint,
                   "this gabbro was built without MPI: it cannot run as several ranks");
}

bool transport_open(transport_place *place, gb_status *status)
{
    (void)place;
    return transport_built(status);
}

void transport_close(void)
{
}

_Noreturn void transport_abort(int code)
{
    exit(code);
}

bool transport_send(const char *name, const void *bytes, size_t count, uint32_t to,
                    gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)to;
    return transport_built(status);
}

bool transport_receive(const char *name, void *bytes, size_t count, uint32_t from,
                       gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)from;
    return transport_built(status);
}

bool transport_broadcast(const char *name, void *bytes, size_t count, uint32_t from,
                         gb_status *status)
{
    (void)name, (void)bytes, (void)count, (void)from;
    return transport_built(status);
}
