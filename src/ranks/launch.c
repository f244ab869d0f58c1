/* What launchers leave in the environment, and being one by starting mpirun. */
#include "transport.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A variable as a number; `otherwise` where there is none. */
static uint32_t variable(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && value <= UINT32_MAX ? (uint32_t)value : otherwise;
}

/* Names of the count and of the rank, by launcher. srun sets its own for every step, and PMIX_RANK
 * where it offers PMIx; a batch script has neither a step of several tasks nor PMIX_RANK. */
static const struct {
    const char *needs, *count, *rank; /* variables */
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI */
    {"PMI_SIZE", "PMI_SIZE", "PMI_RANK"},                                     /* MPICH, srun pmi2 */
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},                    /* srun --mpi=pmix */
};

static uint32_t launched(bool rank)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (getenv(launchers[i].needs))
            return rank ? variable(launchers[i].rank, 0) : variable(launchers[i].count, 1);
    return rank ? 0 : 1;
}

uint32_t gb_ranks_launched(void)
{
    uint32_t count = launched(false);
    return count ? count : 1;
}

uint32_t gb_ranks_launched_rank(void)
{
    return gb_ranks_launched() > 1 ? launched(true) : 0;
}

/* Ranks that wait give their core away (oversubscribe), no rank is bound to a core, and a rank that
 * is told to stop has time to keep a checkpoint. */
static const char by_default[] =
    "mpirun --oversubscribe --bind-to none --mca odls_base_sigkill_timeout 20";

bool gb_ranks_start(uint32_t count, char *const argv[], gb_status *status)
{
    enum { MOST_WORDS = 32 };
    static char n[] = "-n";
    char self[PATH_MAX], number[16];
    const char *given = getenv("GABBRO_MPIRUN");
    size_t arguments = 0, words = 0;
    if (!transport_built(status))
        return false;
    while (argv[arguments])
        arguments++;
    char **all = gb_alloc(MOST_WORDS + 4 + arguments, sizeof *all, status);
    char *launcher =
        all ? gb_strdup(given && given[strspn(given, " ")] ? given : by_default, status) : NULL;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (launcher && length <= 0)
        gb_fail(status, GB_USAGE, "/proc/self/exe", "start the ranks by mpirun -n",
                "what the ranks are to run is not known: %s", strerror(errno));
    if (launcher && length > 0) {
        self[length] = '\0';
        snprintf(number, sizeof number, "%u", count);
        for (char *word = strtok(launcher, " "); word && words < MOST_WORDS;
             word = strtok(NULL, " "))
            all[words++] = word;
        all[words++] = n;
        all[words++] = number;
        all[words++] = self;
        memcpy(all + words, argv, arguments * sizeof *all); /* a NULL is behind them */
        execvp(all[0], all);
        gb_fail(status, GB_USAGE, all[0], "apt-get install openmpi-bin, or set GABBRO_MPIRUN",
                "the launcher of ranks does not start: %s", strerror(errno));
    }
    free(launcher);
    free(all);
    return false;
}
