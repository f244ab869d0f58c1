/* Values of options: from text, into words, as JSON. */
#include "private.h"

#include <string.h>

static bool choose(const gb_option *option, const char *typed, const char *text, gb_status *status)
{
    gb_text known = {0};
    for (uint32_t i = 0; option->words[i]; i++) {
        if (!strcmp(text, option->words[i])) {
            *(uint32_t *)option->value = i;
            gb_text_free(&known);
            return true;
        }
        gb_text_printf(&known, "%s%s", i ? ", " : "", option->words[i]);
    }
    gb_fail(status, GB_USAGE, NULL, NULL, "%s \"%.40s\" is none of: %s", typed, text,
            known.failed ? "" : known.data);
    gb_text_free(&known);
    return false;
}

bool options_set(const gb_option *option, const char *typed, const char *text, gb_status *status)
{
    bool bounded = option->min != 0 || option->max != 0;
    double min = option->min, max = option->max;
    gb_words *list;
    switch (option->kind) {
    case GB_OPTION_TEXT:
        *(const char **)option->value = text;
        return true;
    case GB_OPTION_U32:
        return gb_parse_u32(typed, text, (uint32_t)min, max > 0 ? (uint32_t)max : UINT32_MAX,
                            option->value, status);
    case GB_OPTION_U64:
        /* No more than an integer of JSON holds, as the value stands in records. */
        return gb_parse_u64(typed, text, (uint64_t)min, max > 0 ? (uint64_t)max : INT64_MAX,
                            option->value, status);
    case GB_OPTION_REAL:
        return gb_parse_real(typed, text, min, bounded ? max : 1e30, option->value, status);
    case GB_OPTION_RATIO:
        return gb_parse_real(typed, text, min, bounded ? max : 1, option->value, status);
    case GB_OPTION_LIST:
        list = option->value;
        if (list->count == GB_WORDS_MAX)
            return gb_fail(status, GB_USAGE, NULL, NULL, "%s is given more than %d times", typed,
                           GB_WORDS_MAX);
        list->items[list->count++] = text;
        return true;
    case GB_OPTION_CHOICE:
        return choose(option, typed, text, status);
    case GB_OPTION_FLAG:
        break;
    }
    *(bool *)option->value = true;
    return true;
}

bool gb_option_set(const gb_option_table *tables, const char *name, const char *text,
                   gb_status *status)
{
    char typed[80];
    bool found = false, ok = true;
    snprintf(typed, sizeof typed, "--%s", name);
    for (gb_option_walk walk = {0}; ok && gb_option_next(&walk, tables);)
        if (!strcmp(walk.option.name, name)) {
            found = true;
            ok = options_set(&walk.option, typed, text, status);
        }
    return found ? ok : gb_fail(status, GB_USAGE, NULL, NULL, "no option %s", typed);
}

gb_own_settings gb_own_settings_of(const void *defaults, size_t bytes)
{
    gb_own_settings own = {0};
    if (bytes)
        memcpy(own.bytes, defaults, bytes);
    return own;
}

bool options_missing(const gb_option *option)
{
    if (!(option->flags & GB_OPTION_REQUIRED))
        return false;
    if (option->kind == GB_OPTION_LIST)
        return ((const gb_words *)option->value)->count == 0;
    return option->kind == GB_OPTION_CHOICE ? *(const uint32_t *)option->value == GB_OPEN
                                            : !*(const char **)option->value;
}

const char *options_placeholder(const gb_option *option)
{
    static const char *const of_kind[] = {
        [GB_OPTION_TEXT] = "TEXT", [GB_OPTION_U32] = "N",      [GB_OPTION_U64] = "N",
        [GB_OPTION_REAL] = "X",    [GB_OPTION_RATIO] = "X",    [GB_OPTION_FLAG] = NULL,
        [GB_OPTION_LIST] = "TEXT", [GB_OPTION_CHOICE] = "WORD"};
    return option->placeholder ? option->placeholder : of_kind[option->kind];
}

/* ---- JSON ---- */

static json_t *text_value(const gb_option *option, const char *text, gb_status *status)
{
    if (!text)
        return json_null();
    if (!gb_utf8_valid(text, strlen(text))) {
        gb_fail(status, GB_USAGE, NULL, "give it in UTF-8", "--%s is no valid UTF-8", option->name);
        return NULL;
    }
    return json_string(text);
}

static json_t *list_value(const gb_option *option, gb_status *status)
{
    const gb_words *list = option->value;
    json_t *array = json_array();
    for (size_t i = 0; array && i < list->count; i++) {
        json_t *item = text_value(option, list->items[i], status);
        if (!item || json_array_append_new(array, item)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *value_of(const gb_option *option, gb_status *status)
{
    const void *value = option->value;
    uint32_t number;
    uint64_t large;
    double real;
    switch (option->kind) {
    case GB_OPTION_TEXT:
        return text_value(option, *(const char *const *)value, status);
    case GB_OPTION_LIST:
        return list_value(option, status);
    case GB_OPTION_FLAG:
        return json_boolean(*(const bool *)value);
    case GB_OPTION_U32:
        number = *(const uint32_t *)value;
        return number == GB_OPEN ? json_null() : json_integer(number);
    case GB_OPTION_CHOICE:
        number = *(const uint32_t *)value;
        return number == GB_OPEN ? json_null() : json_string(option->words[number]);
    case GB_OPTION_U64:
        large = *(const uint64_t *)value;
        return json_integer((json_int_t)large);
    case GB_OPTION_REAL:
    case GB_OPTION_RATIO:
        break;
    }
    real = *(const double *)value;
    return real == GB_OPEN_REAL ? json_null() : json_real(real);
}

json_t *gb_option_value(const gb_option *option, gb_status *status)
{
    gb_status refused = {0};
    json_t *value = value_of(option, &refused);
    if (value)
        return value;
    if (refused.code == GB_OK)
        gb_fail_memory(&refused, "noting an option");
    if (status)
        *status = refused;
    return NULL;
}

/* ---- words ---- */

/* The default in words, or "" where there is none to tell. */
static void show(const gb_option *option, char shown[40])
{
    const void *value = option->value;
    const char *text = NULL;
    shown[0] = '\0';
    if (option->kind == GB_OPTION_TEXT)
        text = *(const char *const *)value;
    else if (option->kind == GB_OPTION_CHOICE && *(const uint32_t *)value != GB_OPEN)
        text = option->words[*(const uint32_t *)value];
    else if (option->kind == GB_OPTION_U32 && *(const uint32_t *)value != GB_OPEN)
        snprintf(shown, 40, "%u", *(const uint32_t *)value);
    else if (option->kind == GB_OPTION_U64)
        snprintf(shown, 40, "%llu", (unsigned long long)*(const uint64_t *)value);
    else if ((option->kind == GB_OPTION_REAL || option->kind == GB_OPTION_RATIO) &&
             *(const double *)value != GB_OPEN_REAL)
        snprintf(shown, 40, "%.10g", *(const double *)value);
    if (text)
        snprintf(shown, 40, "%s", text);
}

void options_explain(gb_text *text, const gb_option *option)
{
    char shown[40];
    gb_text_printf(text, "%s", option->help);
    for (size_t i = 0; option->kind == GB_OPTION_CHOICE && option->words[i]; i++)
        gb_text_printf(text, "%s%s", i == 0 ? "; one of " : ", ", option->words[i]);
    show(option, shown);
    if (option->flags & GB_OPTION_REQUIRED)
        gb_text_printf(text, " (required)");
    else if (*shown)
        gb_text_printf(text, " (default %s)", shown);
}

/* ---- tables ---- */

bool options_repeats(const gb_option_walk *walk, const gb_option_table *tables)
{
    for (gb_option_walk earlier = {0}; gb_option_next(&earlier, tables);) {
        if (earlier.table == walk->table && earlier.next == walk->next)
            return false;
        if (!strcmp(earlier.option.name, walk->option.name))
            return true;
    }
    return false;
}

bool gb_option_next(gb_option_walk *walk, const gb_option_table *tables)
{
    if (!walk->table)
        walk->table = tables;
    while (walk->table->options && !walk->table->options[walk->next].name) {
        walk->table++;
        walk->next = 0;
    }
    if (!walk->table->options)
        return false;
    walk->option = walk->table->options[walk->next++];
    if (walk->table->base)
        walk->option.value = (char *)walk->table->base + (uintptr_t)walk->option.value;
    return true;
}
