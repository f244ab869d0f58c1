/* Ranks room: several processes that train one model, each on a device of its own, on one machine
 * or several. Started by an MPI launcher (mpirun, srun) or by gb_ranks_start. Stands on base only;
 * without MPI at build time a process is alone, and joining others fails with what to install.
 *
 * All ranks make the same calls in the same order. Nothing here depends on which rank is faster. A
 * call that waits for others ends, with GB_INTERRUPTED, some time after a signal asked to stop. */
#ifndef GABBRO_RANKS_H
#define GABBRO_RANKS_H

#include <gabbro/base.h>

/* What the launcher's environment says of this process, before anything is joined. */
uint32_t
gb_ranks_launched(const gb_config *config); /* processes of the job; 1: not launched with others */
uint32_t
gb_ranks_launched_rank(const gb_config *config); /* number of this one among them; 0 when alone */
/* Become the launcher of `count` processes of this program with these arguments (argv[0]: the
 * sub-command; ends with NULL): the words of $GABBRO_MPIRUN, else mpirun and what suits ranks that
 * share a machine, then -n COUNT. Returns only when that fails. */
bool gb_ranks_start(const gb_config *config, uint32_t count, char *const argv[], gb_status *status);

typedef struct gb_ranks gb_ranks;
/* Join the other processes of the job. Once a process. */
gb_ranks *gb_ranks_join(const gb_config *config, gb_status *status);
void gb_ranks_leave(gb_ranks *ranks); /* NULL ok; waits for the others */
/* This process cannot go on: end all of them with this exit code. Does not return. */
_Noreturn void gb_ranks_abort(gb_ranks *ranks, int code);

/* NULL: alone, rank 0 of 1. */
uint32_t gb_ranks_count(const gb_ranks *ranks);
uint32_t gb_ranks_rank(const gb_ranks *ranks);
uint32_t gb_ranks_local(const gb_ranks *ranks); /* number among those of the same machine */
/* What this rank does now, e.g. "pretrain mlm, step 12": part of gb_ranks_name. */
void gb_ranks_at(gb_ranks *ranks, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *gb_ranks_name(const gb_ranks *ranks); /* "rank 1 of 4 on HOST, pretrain mlm, step 12" */

/* Items [first, first + count) of `total` that owner `index` of `owners` has: runs in order of the
 * owners, as equal as can be, longer ones first. */
void gb_ranks_range(uint32_t index, uint32_t owners, uint32_t total, uint32_t *first,
                    uint32_t *count);

/* The bytes of rank 0 to all. */
bool gb_ranks_broadcast(gb_ranks *ranks, void *bytes, size_t count, gb_status *status);
/* `all` is made of as many pieces as ranks; rank r has written the bytes [ends[r - 1], ends[r]) of
 * it (the first begins at 0) and gets the others. */
bool gb_ranks_gather(gb_ranks *ranks, void *all, const size_t *ends, gb_status *status);
/* total[i] = ((a[i] + b[i]) + c[i]) + ... over the terms [floats] of rank 0, then those of rank 1,
 * and so on, at least one in all: the same bits however they are spread over ranks. total may be
 * terms[0], and is given to every rank. */
bool gb_ranks_sum(gb_ranks *ranks, float *const *terms, uint32_t count, float *total, size_t floats,
                  gb_status *status);
/* *yes becomes true on all ranks if it is on one. */
bool gb_ranks_any(gb_ranks *ranks, bool *yes, gb_status *status);
/* Fail unless all ranks have the same text; `what` names it. */
bool gb_ranks_agree(gb_ranks *ranks, const char *what, const char *text, gb_status *status);

#endif
