/* Reading and changing settings. */
#include "settings.h"

#include <gabbro/options.h>

#include <stdlib.h>
#include <string.h>

/* Of a file, as the errors say. */
static const char form[] = "lines are NAME = VALUE, a comment begins with #";

void repro_settings_free(repro_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->items[i].name);
        free(settings->items[i].value);
        free(settings->items[i].origin);
    }
    free(settings->items);
    *settings = (repro_settings){0};
}

static repro_setting *find(const repro_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++)
        if (!strcmp(settings->items[i].name, name))
            return &settings->items[i];
    return NULL;
}

static repro_setting *add(repro_settings *settings, const char *name, gb_status *status)
{
    if (!gb_grow(&settings->items, &settings->capacity, settings->count + 1,
                 sizeof *settings->items, status))
        return NULL;
    repro_setting *setting = &settings->items[settings->count];
    *setting = (repro_setting){.name = gb_strdup(name, status),
                               .value = gb_strdup("", status),
                               .origin = gb_strdup("", status)};
    settings->count++;
    return setting->name && setting->value && setting->origin ? setting : NULL;
}

static bool replace(char **text, const char *with, gb_status *status)
{
    char *copy = gb_strdup(with, status);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

/* The setting of this name, a new one where there is none, with this value. */
static repro_setting *give(repro_settings *settings, const char *name, const char *value,
                           gb_status *status)
{
    repro_setting *setting = find(settings, name);
    if (!setting)
        setting = add(settings, name, status);
    return setting && replace(&setting->value, value, status) ? setting : NULL;
}

bool repro_settings_copy(const repro_settings *from, repro_settings *to, gb_status *status)
{
    for (size_t i = 0; i < from->count; i++) {
        const repro_setting *one = &from->items[i];
        repro_setting *copy = give(to, one->name, one->value, status);
        if (!copy || !replace(&copy->origin, one->origin, status))
            return false;
        copy->chosen = one->chosen;
        copy->derived = one->derived;
    }
    return true;
}

/* ---- what is taken ---- */

static bool good_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return *name >= 'a' && *name <= 'z' && !name[length];
}

static bool good_value(const char *value)
{
    static const char refused[] = "\"'\\$`;&|<>()[]{}*?!~#\x7f";
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < ' ' || strchr(refused, *at))
            return false;
    return *value != '\0';
}

/* paper_PAPER_NAME for any paper, also one that comes with no scale; words may stand before NAME.
 */
static bool is_of_paper(const repro_settings *known, const char *name)
{
    static const char prefix[] = "paper_";
    const char *at = strncmp(name, prefix, strlen(prefix)) ? NULL : name + strlen(prefix);
    while (at && (at = strchr(at, '_')) != NULL)
        if (find(known, ++at))
            return true;
    return false;
}

static bool check_known(const repro_settings *known, const char *name, const char *where,
                        gb_status *status)
{
    char hint[160] = "";
    gb_nearest nearest = {.word = name};
    if (!known || find(known, name) || is_of_paper(known, name))
        return true;
    for (size_t i = 0; i < known->count; i++)
        gb_nearest_compare(&nearest, known->items[i].name);
    /* Other kits call those of fine-tuning epochs, learning_rate and so on. */
    char of_finetuning[120];
    snprintf(of_finetuning, sizeof of_finetuning, "finetune_%.100s", name);
    if (find(known, of_finetuning))
        nearest.name = of_finetuning;
    if (nearest.name)
        snprintf(hint, sizeof hint, "did you mean %.100s?", nearest.name);
    else
        snprintf(hint, sizeof hint,
                 "docs/reference/settings.md and gabbro train --example list all");
    return gb_fail(status, GB_USAGE, where, hint, "there is no setting \"%.100s\"", name);
}

/* Whether all words of a value are numbers. */
static bool is_numeric(const char *value)
{
    while (*(value += strspn(value, " \t"))) {
        char *end;
        strtod(value, &end);
        if (end == value || (*end && *end != ' ' && *end != '\t'))
            return false;
        value = end;
    }
    return true;
}

/* Where a setting has numbers, another value has to be numbers, too; found here and not by the
 * command that takes it, which may come hours later. */
static bool check_number(const repro_settings *known, const char *name, const char *value,
                         const char *where, gb_status *status)
{
    const repro_setting *usual = known ? find(known, name) : NULL;
    return !usual || !is_numeric(usual->value) || is_numeric(value) ||
           gb_fail(status, GB_USAGE, where, "write it without a unit, and with a decimal point",
                   "%.60s is \"%.60s\", which is no number", name, value);
}

/* ---- files ---- */

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text;
}

/* Whether a setting was read from this file. */
static bool read_from(const repro_setting *setting, const char *path)
{
    size_t length = strlen(path);
    return setting && !strncmp(setting->origin, path, length) && setting->origin[length] == ':';
}

static bool read_line(repro_settings *settings, gb_lines *lines, char *line,
                      const repro_settings *known, gb_status *status)
{
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    line = trim(line);
    if (!*line)
        return true;
    char *equals = strchr(line, '=');
    if (!equals)
        return gb_lines_fail(lines, status, form, "\"%.60s\" gives no setting a value", line);
    *equals = '\0';
    const char *name = trim(line), *value = trim(equals + 1);
    if (!good_name(name))
        return gb_lines_fail(lines, status, form, "\"%.60s\" is no name of a setting", name);
    if (!good_value(value))
        return gb_lines_fail(lines, status,
                             "a plain word or number, or several with blanks between",
                             "%.60s cannot have the value \"%.60s\"", name, value);
    char where[300];
    snprintf(where, sizeof where, "%s:%llu", gb_lines_path(lines),
             (unsigned long long)gb_lines_number(lines));
    const repro_setting *before = find(settings, name);
    if (read_from(before, gb_lines_path(lines)))
        return gb_lines_fail(lines, status, "leave one of them out",
                             "%.60s has a value already, from %.200s", name, before->origin);
    if (!check_known(known, name, where, status) ||
        !check_number(known, name, value, where, status))
        return false;
    repro_setting *setting = give(settings, name, value, status);
    if (!setting || !replace(&setting->origin, where, status))
        return false;
    setting->chosen = known != NULL;
    return true;
}

bool repro_settings_read(repro_settings *settings, const char *path, const repro_settings *known,
                         gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    bool ok = lines != NULL;
    char *line;
    size_t length;
    int got = 0;
    while (ok && (got = gb_lines_next_text(lines, &line, &length, status)) == 1)
        ok = read_line(settings, lines, line, known, status);
    gb_lines_close(lines);
    return ok && got == 0;
}

bool repro_settings_choose(repro_settings *settings, const char *change,
                           const repro_settings *known, gb_status *status)
{
    const char *equals = strchr(change, '=');
    char name[64];
    size_t length = equals ? (size_t)(equals - change) : strlen(change);
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), change);
    if (!check_known(known, name, "--set", status))
        return false;
    if (!equals || !good_value(equals + 1))
        return gb_fail(status, GB_USAGE, "--set", NULL, "%s needs a plain word or number", name);
    if (!check_number(known, name, equals + 1, "--set", status))
        return false;
    repro_setting *setting = give(settings, name, equals + 1, status);
    if (!setting || !replace(&setting->origin, "", status))
        return false;
    setting->chosen = true;
    return true;
}

/* ---- use ---- */

bool repro_settings_apply_prefix(repro_settings *settings, const char *prefix, gb_status *status)
{
    size_t length = strlen(prefix), count = settings->count; /* without those that are added here */
    for (size_t i = 0; i < count; i++) {
        const char *whole = settings->items[i].name;
        if (strncmp(whole, prefix, length) != 0 || whole[length] != '_' || !whole[length + 1])
            continue;
        char *name = gb_strdup(whole + length + 1, status);
        char *value = gb_strdup(settings->items[i].value, status);
        repro_setting *setting = name ? find(settings, name) : NULL;
        bool there = setting != NULL, ok = name && value;
        if (ok && (!setting || !setting->chosen)) {
            setting = give(settings, name, value, status);
            ok = setting != NULL;
            if (ok)
                setting->derived = setting->derived || !there;
        }
        free(name);
        free(value);
        if (!ok)
            return false;
    }
    return true;
}

const char *repro_settings_get(const repro_settings *settings, const char *name)
{
    const repro_setting *setting = find(settings, name);
    return setting ? setting->value : NULL;
}

bool repro_settings_put(repro_settings *settings, const char *name, const char *value,
                        gb_status *status)
{
    repro_setting *setting = find(settings, name);
    if (!setting)
        return gb_fail(status, GB_USAGE, NULL, NULL, "this scale has no setting \"%.60s\"", name);
    if (setting->chosen && strcmp(setting->value, value) != 0)
        gb_log(GB_LOG_WARN, "%s = %s has no effect: the table's recipe makes it %s", name,
               setting->value, value);
    return give(settings, name, value, status) != NULL;
}

json_t *repro_settings_json(const repro_settings *settings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < settings->count; i++)
        if (!settings->items[i].derived)
            json_object_set_new(object, settings->items[i].name,
                                json_string(settings->items[i].value));
    return object;
}
