/* Help as JSON: all that is known of a command. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* jansson's functions take NULL for a value that could not be made, and fail. */
static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
    *failed = json_object_set_new(object, key, value) != 0 || *failed;
}

static void print(gb_text *text, json_t *json, bool failed)
{
    char *dump = failed ? NULL : json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (dump)
        gb_text_printf(text, "%s\n", dump);
    text->failed = text->failed || !dump;
    free(dump);
    json_decref(json);
}

static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *option_json(const gb_option *option, const char *heading, const char *note,
                           bool *failed)
{
    static const char *const kinds[] = {
        [GB_OPTION_TEXT] = "text", [GB_OPTION_U32] = "integer",  [GB_OPTION_U64] = "integer",
        [GB_OPTION_REAL] = "real", [GB_OPTION_RATIO] = "ratio",  [GB_OPTION_FLAG] = "flag",
        [GB_OPTION_LIST] = "list", [GB_OPTION_CHOICE] = "choice"};
    char letter[2] = {option->letter, '\0'};
    json_t *json = json_object();
    put(json, "name", json_string(option->name), failed);
    if (option->letter)
        put(json, "letter", json_string(letter), failed);
    put(json, "kind", json_string(kinds[option->kind]), failed);
    put(json, "placeholder", string_or_null(options_placeholder(option)), failed);
    put(json, "help", json_string(option->help), failed);
    put(json, "heading", string_or_null(heading), failed);
    if (note)
        put(json, "note", json_string(note), failed);
    put(json, "required", json_boolean(option->flags & GB_OPTION_REQUIRED), failed);
    put(json, "input", json_boolean(option->flags & GB_OPTION_INPUT), failed);
    put(json, "default", gb_option_value(option, NULL), failed);
    if (option->words) {
        json_t *words = json_array();
        for (size_t i = 0; option->words[i]; i++)
            *failed = json_array_append_new(words, json_string(option->words[i])) != 0 || *failed;
        put(json, "words", words, failed);
    }
    return json;
}

void options_json(gb_text *text, const gb_command *command, const gb_option_table *tables)
{
    gb_text usage = {0};
    bool failed = false;
    const char *heading = NULL;
    options_usage(&usage, command, tables);
    json_t *json = json_object(), *options = json_array();
    put(json, "name", json_string(command->name), &failed);
    put(json, "summary", json_string(command->summary), &failed);
    put(json, "usage", json_string(usage.failed ? NULL : usage.data), &failed);
    put(json, "operands", string_or_null(command->operands), &failed);
    put(json, "description", string_or_null(command->description), &failed);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);) {
        heading = walk.table->heading ? walk.table->heading : heading;
        if (!(walk.option.flags & GB_OPTION_HIDDEN))
            failed = json_array_append_new(options, option_json(&walk.option, heading,
                                                                walk.table->note, &failed)) != 0 ||
                     failed;
    }
    put(json, "options", options, &failed);
    gb_text_free(&usage);
    print(text, json, failed);
}

void options_set_json(gb_text *text, const gb_command_set *set)
{
    bool failed = false;
    json_t *json = json_object(), *commands = json_array(), *options = json_array();
    put(json, "name", json_string(set->name), &failed);
    put(json, "version", json_string(set->version), &failed);
    put(json, "summary", json_string(set->summary), &failed);
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++) {
            json_t *one = json_object();
            put(one, "name", json_string((*command)->name), &failed);
            put(one, "group", json_string(group->heading), &failed);
            put(one, "summary", json_string((*command)->summary), &failed);
            failed = json_array_append_new(commands, one) != 0 || failed;
        }
    put(json, "commands", commands, &failed);
    for (const gb_option *option = set->options; option->name; option++)
        failed =
            json_array_append_new(options, option_json(option, NULL, NULL, &failed)) != 0 || failed;
    put(json, "options", options, &failed);
    print(text, json, failed);
}
