/* Names of the models that a figure shows. */
#include "gabbro/figures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool gb_model_name(const char **item, char name[GB_MODEL_NAME], gb_status *status)
{
    const char *given = *item, *equals = strchr(given, '=');
    size_t length = equals ? (size_t)(equals - given) : 0;
    const char *start = equals ? given : gb_path_name(given, &length);
    if (equals)
        *item = equals + 1;
    bool fine = length && length < GB_MODEL_NAME && **item && gb_utf8_valid(start, length);
    for (size_t i = 0; fine && i < length; i++)
        fine = !iscntrl((unsigned char)start[i]);
    if (!fine)
        return gb_fail(status, GB_USAGE, NULL, "--model NAME=MODEL", "\"%.80s\" names no model",
                       given);
    snprintf(name, GB_MODEL_NAME, "%.*s", (int)length, start);
    return true;
}

json_t *gb_model_names(const char **items, size_t count, char (*names)[GB_MODEL_NAME],
                       gb_status *status)
{
    json_t *list = json_array();
    for (size_t m = 0; list && m < count; m++) {
        bool ok = gb_model_name(&items[m], names[m], status);
        for (size_t n = 0; ok && n < m; n++)
            if (!strcmp(names[m], names[n]))
                ok = gb_fail(status, GB_USAGE, NULL, "--model NAME=MODEL",
                             "two models have the name \"%s\"", names[m]);
        if (!ok) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(names[m]));
    }
    json_t *settings = list ? json_pack("{s:o}", "names", list) : NULL;
    if (!settings)
        gb_fail_memory(status, "naming models");
    return settings;
}
