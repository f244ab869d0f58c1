/* The environment: the only file of the library that reads it. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where a variable goes. */
static const struct {
    const char *name; /* of the variable */
    size_t at;        /* field of a gb_config */
} variables[] = {
    {"HOME", offsetof(gb_config, home)},
    {"XDG_CACHE_HOME", offsetof(gb_config, cache_home)},
    {"XDG_CONFIG_HOME", offsetof(gb_config, config_home)},
    {"XDG_DATA_HOME", offsetof(gb_config, data_home)},
    {"TMPDIR", offsetof(gb_config, temporary)},
    {"GABBRO_STORE", offsetof(gb_config, store)},
    {"GABBRO_DATA", offsetof(gb_config, data)},
    {"HF_HUB_CACHE", offsetof(gb_config, hub_cache)},
    {"HF_HOME", offsetof(gb_config, hub_home)},
    {"GABBRO", offsetof(gb_config, program)},
    {"GABBRO_TABLES", offsetof(gb_config, tables)},
    {"GABBRO_MANIFEST", offsetof(gb_config, manifest)},
    {"GABBRO_SHADERS", offsetof(gb_config, shaders)},
    {"GLSLC", offsetof(gb_config, glslc)},
    {"GABBRO_LOG", offsetof(gb_config, log)},
    {"GABBRO_PROGRESS", offsetof(gb_config, progress)},
    {"GABBRO_DEVICE", offsetof(gb_config, device)},
    {"GABBRO_PROFILE", offsetof(gb_config, profile)},
    {"GABBRO_LIMITS", offsetof(gb_config, limits)},
    {"GABBRO_QUIRKS", offsetof(gb_config, quirks)},
    {"GABBRO_TUNE", offsetof(gb_config, tune)},
    {"GABBRO_SELFTEST", offsetof(gb_config, selftest)},
    {"GABBRO_VALIDATION", offsetof(gb_config, validation)},
    {"GABBRO_BARRIERS", offsetof(gb_config, barriers)},
    {"GABBRO_SUBMIT_MS", offsetof(gb_config, submit_ms)},
    {"GABBRO_MPIRUN", offsetof(gb_config, mpirun)},
    {"OMPI_COMM_WORLD_SIZE", offsetof(gb_config, ompi_size)},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", offsetof(gb_config, ompi_local_size)},
    {"OMPI_COMM_WORLD_RANK", offsetof(gb_config, ompi_rank)},
    {"PMI_SIZE", offsetof(gb_config, pmi_size)},
    {"PMI_RANK", offsetof(gb_config, pmi_rank)},
    {"PMIX_RANK", offsetof(gb_config, pmix_rank)},
    {"SLURM_STEP_NUM_TASKS", offsetof(gb_config, slurm_size)},
    {"SLURM_PROCID", offsetof(gb_config, slurm_rank)},
    {"LP_NUM_THREADS", offsetof(gb_config, lavapipe_threads)},
    {"GABBRO_FAIL_AT", offsetof(gb_config, fail_at)},
    {"GABBRO_POISON", offsetof(gb_config, poison)},
    {"GABBRO_SPOIL", offsetof(gb_config, corrupt)},
};
#define VARIABLES (sizeof variables / sizeof *variables)

static void put(gb_config *config, size_t variable, const char *value)
{
    const char **field = (const char **)(void *)((char *)config + variables[variable].at);
    *field = value && *value ? value : NULL;
}

gb_config gb_config_read(void)
{
    gb_config config = {0};
    for (size_t i = 0; i < VARIABLES; i++)
        put(&config, i, getenv(variables[i].name));
    return config;
}

bool gb_config_set(gb_config *config, const char *name, const char *value)
{
    for (size_t i = 0; i < VARIABLES; i++)
        if (!strcmp(variables[i].name, name)) {
            put(config, i, value);
            return true;
        }
    return false;
}

char *gb_config_cache(const gb_config *config, const char *name)
{
    if (config->cache_home)
        return gb_format(NULL, "%s/gabbro/%s", config->cache_home, name);
    return config->home ? gb_format(NULL, "%s/.cache/gabbro/%s", config->home, name) : NULL;
}

bool gb_environment_exchange(const char *name, const char *value, char **before, gb_status *status)
{
    const char *now = getenv(name);
    *before = now ? gb_strdup(now, status) : NULL;
    if (now && !*before)
        return false;
    if (gb_os_set_variable(name, value))
        return gb_fail_memory(status, "changing the environment");
    return true;
}
