/* Ranks by their names and numbers, and what they do together; transport.h carries the bytes. */
#include "transport.h"
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE (256u << 10) /* floats that travel at once along the chain of a sum */

struct gb_ranks {
    transport_place place; /* this one */
    char host[65];         /* its machine */
    char name[300];        /* see gb_ranks_name */
    float *slice;          /* [SLICE] a sum so far, from the rank before */
};

/* ---- joining ---- */

gb_ranks *gb_ranks_join(const gb_config *config, gb_status *status)
{
    gb_ranks *ranks = gb_alloc(1, sizeof *ranks, status);
    if (!ranks)
        return NULL;
    if (!(ranks->slice = gb_alloc(SLICE, sizeof *ranks->slice, status)) ||
        !ranks_transport_open(&ranks->place, status)) {
        free(ranks->slice);
        free(ranks);
        return NULL;
    }
    gb_os_facts facts;
    gb_os_facts_read(&facts);
    snprintf(ranks->host, sizeof ranks->host, "%.64s",
             *facts.host ? facts.host : "an unnamed machine");
    gb_ranks_at(ranks, "beginning");
    uint32_t launched = gb_ranks_launched(config);
    if (ranks->place.count != launched) {
        gb_fail(status, GB_USAGE, ranks->name,
                "launch with the mpirun of the MPI it was built with",
                "the launcher started %u processes, MPI sees %u", launched, ranks->place.count);
        gb_ranks_leave(ranks);
        return NULL;
    }
    return ranks;
}

void gb_ranks_leave(gb_ranks *ranks)
{
    if (!ranks)
        return;
    ranks_transport_close();
    free(ranks->slice);
    free(ranks);
}

_Noreturn void gb_ranks_abort(gb_ranks *ranks, int code)
{
    (void)ranks;
    ranks_transport_abort(code);
}

/* ---- names and numbers ---- */

uint32_t gb_ranks_count(const gb_ranks *ranks)
{
    return ranks ? ranks->place.count : 1;
}

uint32_t gb_ranks_rank(const gb_ranks *ranks)
{
    return ranks ? ranks->place.rank : 0;
}

uint32_t gb_ranks_local(const gb_ranks *ranks)
{
    return ranks ? ranks->place.local : 0;
}

void gb_ranks_at(gb_ranks *ranks, const char *fmt, ...)
{
    if (!ranks)
        return;
    int length = snprintf(ranks->name, sizeof ranks->name, "rank %u of %u on %s, ",
                          ranks->place.rank, ranks->place.count, ranks->host);
    va_list args;
    va_start(args, fmt);
    vsnprintf(ranks->name + length, sizeof ranks->name - (size_t)length, fmt, args);
    va_end(args);
}

const char *gb_ranks_name(const gb_ranks *ranks)
{
    return ranks ? ranks->name : "";
}

void gb_ranks_range(uint32_t index, uint32_t owners, uint32_t total, uint32_t *first,
                    uint32_t *count)
{
    uint32_t each = total / owners, left = total % owners;
    *first = index * each + (index < left ? index : left);
    *count = each + (index < left);
}

/* ---- together ---- */

bool gb_ranks_broadcast(gb_ranks *ranks, void *bytes, size_t count, gb_status *status)
{
    return !ranks || ranks_transport_broadcast(ranks->name, bytes, count, 0, status);
}

bool gb_ranks_gather(gb_ranks *ranks, void *all, const size_t *ends, gb_status *status)
{
    for (uint32_t r = 0; ranks && r < ranks->place.count; r++) {
        size_t first = r ? ends[r - 1] : 0;
        if (!ranks_transport_broadcast(ranks->name, (char *)all + first, ends[r] - first, r,
                                       status))
            return false;
    }
    return true;
}

/* One slice of a sum: what came from the rank before, then the own terms. */
static void add_terms(float *sum, float *const *terms, uint32_t count, size_t at, size_t floats,
                      bool begun)
{
    for (uint32_t k = 0; k < count; k++) {
        const float *term = terms[k] + at;
        if (!begun && !k)
            memcpy(sum, term, floats * sizeof *sum);
        else
            for (size_t i = 0; i < floats; i++)
                sum[i] += term[i];
    }
}

bool gb_ranks_sum(gb_ranks *ranks, float *const *terms, uint32_t count, float *total, size_t floats,
                  gb_status *status)
{
    uint32_t rank = gb_ranks_rank(ranks), last = gb_ranks_count(ranks) - 1;
    float own[1024], *slice = ranks ? ranks->slice : own;
    size_t most = ranks ? SLICE : sizeof own / sizeof *own;
    for (size_t at = 0; at < floats; at += most) {
        size_t now = floats - at < most ? floats - at : most, bytes = now * sizeof *slice;
        if (rank && !ranks_transport_receive(ranks->name, slice, bytes, rank - 1, status))
            return false;
        add_terms(slice, terms, count, at, now, rank > 0);
        if (rank < last && !ranks_transport_send(ranks->name, slice, bytes, rank + 1, status))
            return false;
        if (rank == last)
            memcpy(total + at, slice, bytes);
    }
    return !last ||
           ranks_transport_broadcast(ranks->name, total, floats * sizeof *total, last, status);
}

bool gb_ranks_any(gb_ranks *ranks, bool *yes, gb_status *status)
{
    bool any = false;
    for (uint32_t r = 0; ranks && r < ranks->place.count; r++) {
        bool theirs = *yes;
        if (!ranks_transport_broadcast(ranks->name, &theirs, sizeof theirs, r, status))
            return false;
        any |= theirs;
    }
    *yes |= any;
    return true;
}

bool gb_ranks_agree(gb_ranks *ranks, const char *what, const char *text, gb_status *status)
{
    char theirs[600] = "";
    bool differs = false;
    if (!ranks)
        return true;
    if (!ranks->place.rank)
        snprintf(theirs, sizeof theirs, "%s", text);
    if (!gb_ranks_broadcast(ranks, theirs, sizeof theirs, status))
        return false;
    if (strncmp(theirs, text, sizeof theirs - 1))
        return gb_fail(status, GB_MISMATCH, ranks->name, NULL,
                       "%s is not that of rank 0: %.120s, not %.120s", what, text, theirs);
    return gb_ranks_any(ranks, &differs, status);
}
