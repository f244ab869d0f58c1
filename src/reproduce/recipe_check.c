/* Checks the commands of recipes by the options of the program, before the first of them runs. */
#include "recipe_host.h"

#include <string.h>

/* Whether a refusal names an option by which a setting is called: --learning-rate of
 * finetune_learning_rate. */
static bool names_option(const char *refusal, const char *setting)
{
    char option[80], padded[96];
    const char *at = strstr(refusal, "--");
    size_t length = at ? strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    if (!length || length + 3 > sizeof option)
        return false;
    snprintf(option, sizeof option, "_%.*s_", (int)length, at + 2);
    for (char *dash = option; *dash; dash++)
        if (*dash == '-')
            *dash = '_';
    snprintf(padded, sizeof padded, "_%.90s_", setting);
    return strstr(padded, option) != NULL;
}

/* The setting that the user chose and whose value was refused, as far as the refusal tells: by the
 * name of the option, else by a value that no other chosen setting has. NULL: it does not tell. */
static const repro_setting *find_setting(const repro_settings *settings, const gb_status *refused)
{
    const repro_setting *by_value = NULL;
    size_t values = 0;
    char refusal[sizeof refused->where + sizeof refused->what], value[80];
    snprintf(refusal, sizeof refusal, "%s %s", refused->where, refused->what);
    for (size_t i = 0; i < settings->count; i++) {
        const repro_setting *one = &settings->items[i];
        snprintf(value, sizeof value, "\"%.40s\"", one->value);
        bool told = strstr(refusal, value) != NULL;
        if (!one->chosen || (!told && strchr(refusal, '"')))
            continue;
        if (names_option(refusal, one->name))
            return one;
        if (told) {
            by_value = one;
            values++;
        }
    }
    return values == 1 ? by_value : NULL;
}

bool repro_host_check(lua_State *L, int argc, char **argv, gb_status *status)
{
    const repro_host *h = repro_host_of(L);
    const gb_call call = {.config = h->params->config, .argc = argc, .argv = argv};
    gb_status refused = {0};
    char place[REPRO_PLACE];
    if (gb_command_set_check(h->params->commands, &call, &refused))
        return true;
    const repro_setting *setting = find_setting(&h->table->settings, &refused);
    repro_host_place(L, place);
    if (!setting)
        return gb_fail(status, refused.code, place, refused.hint, "gabbro %s: %s%s%s", argv[1],
                       refused.where, *refused.where ? ": " : "", refused.what);
    return gb_fail(status, refused.code, *setting->origin ? setting->origin : "--set", refused.hint,
                   "%s = %s: gabbro %s: %s%s%s", setting->name, setting->value, argv[1],
                   refused.where, *refused.where ? ": " : "", refused.what);
}
