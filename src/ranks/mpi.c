/* The transport over MPI. Waiting looks for signals and gives the core away: ranks may share one.
 */
#include "transport.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define TAG      1
#define SPINS    200         /* looks before a wait begins to sleep */
#define SLEEP_NS 100000      /* between looks after that */
#define TELL_S   0.3         /* a rank that was told to stop waits so long before it says so */
#define STOP_S   60.0        /* and this long for the others, who may be in a long step or saving */
#define LARGEST  (64u << 20) /* bytes of one message */

bool ranks_transport_built(gb_status *status)
{
    (void)status;
    return true;
}

static bool check(const char *name, int error, gb_status *status)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (error == MPI_SUCCESS)
        return true;
    MPI_Error_string(error, text, &length);
    return gb_fail(status, GB_DEVICE, name, "look at what the other ranks say", "MPI: %s", text);
}

bool ranks_transport_open(transport_place *place, gb_status *status)
{
    int provided, rank, count, local;
    MPI_Comm machine;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return gb_fail(status, GB_DEVICE, NULL, "try mpirun hostname", "MPI does not start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!check("joining", MPI_Comm_rank(MPI_COMM_WORLD, &rank), status) ||
        !check("joining", MPI_Comm_size(MPI_COMM_WORLD, &count), status) ||
        !check("joining",
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                                   &machine),
               status) ||
        !check("joining", MPI_Comm_rank(machine, &local), status))
        return false;
    MPI_Comm_free(&machine);
    *place = (transport_place){(uint32_t)rank, (uint32_t)count, (uint32_t)local};
    return true;
}

void ranks_transport_close(void)
{
    MPI_Finalize();
}

_Noreturn void ranks_transport_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

static bool wait_for(const char *name, MPI_Request *request, gb_status *status)
{
    static bool said; /* this rank has said that it waits */
    double told_s = 0;
    for (int looks = 0;; looks++) {
        int done = 0;
        if (!check(name, MPI_Test(request, &done, MPI_STATUS_IGNORE), status))
            return false;
        if (done)
            return true;
        if (gb_interrupted() && told_s == 0)
            told_s = gb_now_s();
        double waited_s = told_s > 0 ? gb_now_s() - told_s : 0;
        if (waited_s > TELL_S && !said) {
            said = true;
            gb_log(GB_LOG_OWN, "%s: asked to stop while it waits for the other ranks", name);
        }
        if (waited_s > STOP_S)
            return gb_fail(status, GB_INTERRUPTED, name, "run the same command to resume",
                           "stopped while it waited for the other ranks");
        if (looks < SPINS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
}

bool ranks_transport_send(const char *name, const void *bytes, size_t count, uint32_t to,
                          gb_status *status)
{
    MPI_Request request;
    return check(name,
                 MPI_Isend(bytes, (int)count, MPI_BYTE, (int)to, TAG, MPI_COMM_WORLD, &request),
                 status) &&
           wait_for(name, &request, status);
}

bool ranks_transport_receive(const char *name, void *bytes, size_t count, uint32_t from,
                             gb_status *status)
{
    MPI_Request request;
    return check(name,
                 MPI_Irecv(bytes, (int)count, MPI_BYTE, (int)from, TAG, MPI_COMM_WORLD, &request),
                 status) &&
           wait_for(name, &request, status);
}

bool ranks_transport_broadcast(const char *name, void *bytes, size_t count, uint32_t from,
                               gb_status *status)
{
    for (size_t at = 0; at < count; at += LARGEST) {
        size_t now = count - at < LARGEST ? count - at : LARGEST;
        MPI_Request request;
        if (!check(name,
                   MPI_Ibcast((char *)bytes + at, (int)now, MPI_BYTE, (int)from, MPI_COMM_WORLD,
                              &request),
                   status) ||
            !wait_for(name, &request, status))
            return false;
    }
    return true;
}
