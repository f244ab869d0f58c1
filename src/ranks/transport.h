/* What carries bytes between processes: mpi.c, or none.c where the program is built without MPI. */
#ifndef RANKS_TRANSPORT_H
#define RANKS_TRANSPORT_H

#include <gabbro/ranks.h>

/* This process among those of its job. */
typedef struct transport_place {
    uint32_t rank;  /* its number */
    uint32_t count; /* how many there are */
    uint32_t local; /* its number among those of the same machine */
} transport_place;

bool ranks_transport_built(gb_status *status); /* false: what to install */
bool ranks_transport_open(transport_place *place, gb_status *status);
void ranks_transport_close(void);
_Noreturn void ranks_transport_abort(int code);
/* Each returns when the bytes may be used again. `name`: this rank, for messages. */
bool ranks_transport_send(const char *name, const void *bytes, size_t count, uint32_t to,
                          gb_status *status);
bool ranks_transport_receive(const char *name, void *bytes, size_t count, uint32_t from,
                             gb_status *status);
bool ranks_transport_broadcast(const char *name, void *bytes, size_t count, uint32_t from,
                               gb_status *status);

#endif
