/* What a process of reproduce does if mpirun started several of them. */
#include "session.h"
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t number(const char *text, uint32_t otherwise)
{
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

/* Whether a variable, NAME=VALUE, tells processes that they belong to a launcher. */
static bool of_launcher(const char *variable_text)
{
    static const char *const beginnings[] = {"OMPI_", "PMIX_", "PRTE_", "ORTE_"};
    if (!strncmp(variable_text, "OMPI_ALLOW_RUN_AS_ROOT", 22))
        return false; /* the user's own word */
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(variable_text, beginnings[i], 5))
            return true;
    return false;
}

/* Processes that this one starts begin a launch of their own. */
static bool forget_launcher(gb_status *status)
{
    for (size_t i = 0; environ[i];) {
        size_t length = strcspn(environ[i], "=");
        char *name =
            of_launcher(environ[i]) ? gb_format(status, "%.*s", (int)length, environ[i]) : NULL;
        if (of_launcher(environ[i]) && !name)
            return false;
        if (name && gb_os_set_variable(name, NULL) == 0)
            i = 0; /* the others have moved */
        else
            i++;
        free(name);
    }
    return true;
}

bool repro_leave_mpirun(const gb_config *config, uint32_t *ranks, bool *over, gb_status *status)
{
    uint32_t size = number(config->ompi_size, 1);
    *over = size > 1 && number(config->ompi_rank, 0) != 0;
    if (size <= 1 || *over)
        return true;
    if (number(config->ompi_local_size, size) != size)
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "for several machines: reproduce ... --ranks %u with GABBRO_MPIRUN "
                       "(docs/design/ranks.md)",
                       size);
    *ranks = size;
    return forget_launcher(status);
}
