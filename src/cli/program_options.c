/* The options of the whole program, which stand anywhere on its command line. */
#include "cli.h"

#include <gabbro/base.h>
#include <gabbro/os.h>
#include <gabbro/vk.h>

#include <string.h>

/* Before any command is known these are taken by hand; the table is what help says of them. */
static const char *none;

const gb_option gb_program_options[] = {
    {"shaders", GB_OPTION_TEXT, &none, 0, "DIR",
     "take the kernels from their source in this folder (default "
     "$GABBRO_SHADERS, else the built-in ones)"},
    {"precision", GB_OPTION_TEXT, &none, 0, "NAME",
     "fp16 or bf16: products and attention by cooperative matrices "
     "of half floats or bfloat16, sums of floats, on devices that "
     "have such; fp32: all of floats (default as $GABBRO_PROFILE "
     "says, else fp32)"},
    {"progress", GB_OPTION_TEXT, &none, 0, "FORM",
     "json: say progress, messages and failures as JSON lines on "
     "standard error (default $GABBRO_PROGRESS, else text)"},
    {0}};

/* Takes an option out of argv, NAME VALUE or NAME=VALUE before a "--", its value into *value, which
 * stays as it is where the option is not given. */
static bool take_option(const char *name, const char *hint, const char **value, int *argc,
                        char **argv, gb_status *status)
{
    size_t length = strlen(name);
    int kept = 0;
    bool open = true;
    for (int i = 0; i < *argc; i++) {
        open = open && strcmp(argv[i], "--") != 0;
        const char *rest = open && !strncmp(argv[i], name, length) ? argv[i] + length : NULL;
        if (rest && *rest == '=')
            *value = rest + 1;
        else if (!rest || *rest)
            argv[kept++] = argv[i];
        else if (i + 1 == *argc)
            return gb_fail(status, GB_USAGE, NULL, hint, "%s needs a value", name);
        else
            *value = argv[++i];
    }
    argv[kept] = NULL;
    *argc = kept;
    return true;
}

/* --progress json, also for the processes that this one starts. */
static bool use_progress(gb_config *config, int *argc, char **argv, gb_status *status)
{
    if (!take_option("--progress", "json or text", &config->progress, argc, argv, status))
        return false;
    if (!config->progress || !strcmp(config->progress, "text"))
        return true;
    if (strcmp(config->progress, "json") != 0)
        return gb_fail(status, GB_USAGE, "--progress", "json or text", "no form \"%.60s\"",
                       config->progress);
    gb_say_set_form(GB_SAY_JSON);
    return gb_os_set_variable("GABBRO_PROGRESS", "json") == 0 || gb_fail_memory(status, "starting");
}

/* --precision, also for the processes that this one starts. */
static bool use_precision(gb_config *config, int *argc, char **argv, gb_status *status)
{
    static const char hint[] = "fp32, fp16 or bf16";
    static const char *const profiles[] = {
        [GB_FP32] = "", [GB_FP16] = "matrix", [GB_BF16] = "matrix-bf16"};
    const char *wish = NULL;
    int precision = GB_FP32;
    if (!take_option("--precision", hint, &wish, argc, argv, status))
        return false;
    if (!wish)
        return true;
    while (precision <= GB_BF16 && strcmp(wish, gb_precision_name((gb_precision)precision)) != 0)
        precision++;
    if (precision > GB_BF16)
        return gb_fail(status, GB_USAGE, "--precision", hint, "no precision \"%.60s\"", wish);
    gb_config_set(config, "GABBRO_PROFILE", profiles[precision]);
    return gb_os_set_variable("GABBRO_PROFILE", profiles[precision]) == 0 ||
           gb_fail_memory(status, "starting");
}

/* --shaders DIR, also for the processes that this one starts, wherever they are started. */
static bool use_shaders(gb_config *config, int *argc, char **argv, gb_status *status)
{
    if (!take_option("--shaders", "a folder like shaders/", &config->shaders, argc, argv, status))
        return false;
    uint32_t differ;
    if (!config->shaders)
        return true;
    if (!gb_shaders_use(config, config->shaders, &differ, status))
        return false;
    gb_log(GB_LOG_INFO, "kernels from %s: %u differ from the built-in ones", config->shaders,
           differ);
    char *whole = gb_os_real_path(config->shaders);
    bool ok = (whole && gb_os_set_variable("GABBRO_SHADERS", whole) == 0) ||
              gb_fail_memory(status, "starting");
    free(whole);
    return ok;
}

bool gb_program_options_take(gb_config *config, int *argc, char **argv, gb_status *status)
{
    return use_progress(config, argc, argv, status) && use_precision(config, argc, argv, status) &&
           use_shaders(config, argc, argv, status);
}
