/* Ranks module: lets several processes make one artifact together, each on a device of its own, on
 * one machine or several. They are started by an MPI launcher (mpirun, srun) or by gb_ranks_run.
 * If the program was built without MPI, a process is always alone, and joining others fails with a
 * message that says what to install.
 *
 * All ranks make the same calls in the same order, and no result depends on which rank is faster. A
 * call that waits for others ends with GB_INTERRUPTED some time after a signal asked to stop. */
#ifndef GABBRO_RANKS_H
#define GABBRO_RANKS_H

#include <gabbro/base.h>

/* What the launcher's environment says about this process, before it has joined. */
uint32_t
gb_ranks_launched(const gb_config *config); /* processes of the job; 1: not launched with others */
uint32_t
gb_ranks_launched_rank(const gb_config *config); /* number of this one among them; 0 when alone */
/* Runs a launcher that starts `count` processes of this program with these arguments (argv[0] is
 * the command, the last is NULL). The launcher is $GABBRO_MPIRUN, or mpirun with options for ranks
 * that share a machine, followed by -n COUNT. If this process is asked to stop, it has the launcher
 * pass that on, and waits. *code: the launcher's exit code, where it could be started. */
bool gb_ranks_run(const gb_config *config, uint32_t count, char *const argv[], int *code,
                  gb_status *status);

typedef struct gb_ranks gb_ranks;
/* Joins the other processes of the job. To be called once per process. */
gb_ranks *gb_ranks_join(const gb_config *config, gb_status *status);
void gb_ranks_leave(gb_ranks *ranks); /* NULL ok; waits for the others */
/* Ends all processes with this exit code, because this one cannot continue. Does not return. */
_Noreturn void gb_ranks_abort(gb_ranks *ranks, int code);

/* In all functions below, NULL stands for a process that is alone: rank 0 of 1. */
uint32_t gb_ranks_count(const gb_ranks *ranks);
uint32_t gb_ranks_rank(const gb_ranks *ranks);
uint32_t gb_ranks_local(const gb_ranks *ranks); /* number among those of the same machine */
/* Notes what this rank is doing, such as "pretrain mlm, step 12"; it becomes part of gb_ranks_name.
 */
void gb_ranks_at(gb_ranks *ranks, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *gb_ranks_name(const gb_ranks *ranks); /* "rank 1 of 4 on HOST, pretrain mlm, step 12" */

/* Divides `total` items among `owners`: owner `index` gets the items [first, first + count). The
 * runs are in the order of the owners and as equal as possible, longer ones first. */
void gb_ranks_range(uint32_t index, uint32_t owners, uint32_t total, uint32_t *first,
                    uint32_t *count);

/* Sends the bytes of rank 0 to all ranks. */
bool gb_ranks_broadcast(gb_ranks *ranks, void *bytes, size_t count, gb_status *status);
/* Completes `all` on every rank. Rank r has written the bytes [ends[r - 1], ends[r]), from 0 for
 * the first, and gets those of the others. */
bool gb_ranks_gather(gb_ranks *ranks, void *all, const size_t *ends, gb_status *status);
/* Sums terms of `floats` values in a fixed order: total[i] = ((a[i] + b[i]) + c[i]) + ... over the
 * terms of rank 0, then those of rank 1, and so on. The bits do not depend on how the terms are
 * spread over ranks. There must be at least one term in all; total may be terms[0]. Every rank gets
 * the total. */
bool gb_ranks_sum(gb_ranks *ranks, float *const *terms, uint32_t count, float *total, size_t floats,
                  gb_status *status);
/* Sets *yes to true on all ranks if it is true on one. */
bool gb_ranks_any(gb_ranks *ranks, bool *yes, gb_status *status);
/* Fails unless all ranks have the same text; `what` names it in the message. Where one has another
 * text, none goes on: that one fails, and the others wait until it ends them. */
bool gb_ranks_agree(gb_ranks *ranks, const char *what, const char *text, gb_status *status);

#endif
