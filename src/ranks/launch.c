/* What launchers leave in the environment, and being one by starting mpirun. */
#include "transport.h"
#include <gabbro/os.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A word as a number; `otherwise` where there is none. */
static uint32_t number(const char *text, uint32_t otherwise)
{
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    return text && !*end && value <= UINT32_MAX ? (uint32_t)value : otherwise;
}

/* Count of processes and number of this one, as the launcher says. srun sets its own variables for
 * every step, and PMIX_RANK where it offers PMIx; a batch script has neither a step of several
 * tasks nor PMIX_RANK. */
static void launched(const gb_config *c, uint32_t *count, uint32_t *rank)
{
    const struct {
        const char *needs, *count, *rank; /* what is set by whom */
    } launchers[] = {
        {c->ompi_size, c->ompi_size, c->ompi_rank},   /* Open MPI */
        {c->pmi_size, c->pmi_size, c->pmi_rank},      /* MPICH, srun --mpi=pmi2 */
        {c->pmix_rank, c->slurm_size, c->slurm_rank}, /* srun --mpi=pmix */
    };
    *count = 1;
    *rank = 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (launchers[i].needs) {
            *count = number(launchers[i].count, 1);
            *rank = number(launchers[i].rank, 0);
            return;
        }
}

uint32_t gb_ranks_launched(const gb_config *config)
{
    uint32_t count, rank;
    launched(config, &count, &rank);
    return count ? count : 1;
}

uint32_t gb_ranks_launched_rank(const gb_config *config)
{
    uint32_t count, rank;
    launched(config, &count, &rank);
    return count > 1 ? rank : 0;
}

/* Ranks that wait give their core away (oversubscribe), and no rank is bound to a core. */
static const char by_default[] = "mpirun --oversubscribe --bind-to none";

#define LOOK_MS 50 /* between looks whether the launcher has ended */

/* The launcher's exit code, once it has ended. */
static int code_of(gb_os_process *launcher)
{
    int code = 0;
    bool told = false;
    while (!gb_os_ended(launcher, false, &code)) {
        if (!told && gb_interrupted()) {
            gb_os_stop_launched(launcher);
            told = true;
        }
        gb_os_wait(NULL, 0, LOOK_MS);
    }
    return code;
}

bool gb_ranks_run(const gb_config *config, uint32_t count, char *const argv[], int *code,
                  gb_status *status)
{
    static char n[] = "-n";
    char self[PATH_MAX], ranks[16];
    const char *given = config->mpirun;
    if (!given || !given[strspn(given, " ")])
        given = by_default;
    size_t arguments = 0, words = 0, most = strlen(given) / 2 + 1; /* words of one letter */
    if (!ranks_transport_built(status))
        return false;
    while (argv[arguments])
        arguments++;
    bool started = false;
    char **all = gb_alloc(most + 4 + arguments, sizeof *all, status);
    char *launcher = all ? gb_strdup(given, status) : NULL;
    bool known = gb_os_program(self, sizeof self);
    if (launcher && !known)
        gb_fail(status, GB_USAGE, NULL, "start the ranks by mpirun -n",
                "what the ranks are to run is not known");
    if (launcher && known) {
        snprintf(ranks, sizeof ranks, "%u", count);
        for (char *word = strtok(launcher, " "); word; word = strtok(NULL, " "))
            all[words++] = word;
        all[words++] = n;
        all[words++] = ranks;
        all[words++] = self;
        memcpy(all + words, argv, arguments * sizeof *all); /* a NULL is behind them */
        gb_os_process process;
        started =
            gb_os_start(&(gb_os_command){.program = all[0],
                                         .words = (const char *const *)all,
                                         .output = -1,
                                         .errors = -1,
                                         .apart = true},
                        &process) == 0 ||
            gb_fail(status, GB_USAGE, all[0], "apt-get install openmpi-bin, or set GABBRO_MPIRUN",
                    "the launcher of ranks does not start: %s", strerror(errno));
        if (started)
            *code = code_of(&process);
    }
    free(launcher);
    free(all);
    return started;
}
