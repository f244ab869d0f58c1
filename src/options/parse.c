/* Reading a command line by the tables of a command. */
#include "private.h"

#include <string.h>

/* A command line being read. */
typedef struct reading {
    const gb_command *command;     /* of it */
    const gb_option_table *tables; /* its options */
    int argc;                      /* words */
    char **argv;                   /* the words [argc] */
    int at;                        /* word being read */
    bool only_help;                /* look for --help, change nothing, refuse nothing */
    bool help;                     /* --help was met, at `at` */
    gb_words *operands;            /* words that are no options, or NULL */
    gb_words given;                /* names of the options that were met, each once */
    gb_words changed;              /* of those with a `with`, the ones that got another value */
} reading;

static bool refuse(const reading *r, const char *hint, const char *what, const char *word,
                   gb_status *status)
{
    return r->only_help ||
           gb_fail(status, GB_USAGE, NULL, hint, "%s: %s %s", r->command->name, what, word);
}

static bool no_option(const reading *r, const char *word, const char *name, gb_status *status)
{
    gb_nearest nearest = {.word = name};
    for (gb_option_walk walk = {0}; gb_option_next(&walk, r->tables);)
        if (!(walk.option.flags & GB_OPTION_HIDDEN))
            gb_nearest_compare(&nearest, walk.option.name);
    char hint[120] = "see --help";
    if (nearest.name)
        snprintf(hint, sizeof hint, "did you mean --%s? See --help", nearest.name);
    return refuse(r, hint, "no option", word, status);
}

static bool has(const gb_words *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == length && !memcmp(names->items[i], name, length))
            return true;
    return false;
}

static void note(gb_words *names, const char *name)
{
    if (names->count < GB_WORDS_MAX && !has(names, name, strlen(name)))
        names->items[names->count++] = name;
}

/* A command that lists all its settings, as pages do, gives many options their defaults. */
static bool set(reading *r, const gb_option *option, const char *typed, const char *text,
                gb_status *status)
{
    if (r->only_help)
        return true;
    note(&r->given, option->name);
    json_t *before = option->with ? gb_option_value(option, NULL) : NULL, *after = NULL;
    bool ok = typed[1] == '-' ? gb_option_set(r->tables, option->name, text, status)
                              : options_set(option, typed, text, status);
    if (ok && option->with && !json_equal(before, after = gb_option_value(option, NULL)))
        note(&r->changed, option->name);
    json_decref(before);
    json_decref(after);
    return ok;
}

/* *walk stands at the option of this name. */
static bool find(const reading *r, const char *name, gb_option_walk *walk)
{
    *walk = (gb_option_walk){0};
    while (gb_option_next(walk, r->tables))
        if (!strcmp(walk->option.name, name))
            return true;
    return false;
}

/* The word behind an option: its value. The name of an option is none: a shell leaves out the word
 * of an empty variable. */
static bool set_next(reading *r, const gb_option *option, const char *typed, gb_status *status)
{
    if (r->at + 1 == r->argc)
        return r->only_help || gb_fail(status, GB_USAGE, NULL, "see --help", "%s: %s needs a value",
                                       r->command->name, typed);
    gb_option_walk other;
    const char *value = r->argv[++r->at];
    if (!r->only_help && !strncmp(value, "--", 2) && find(r, value + 2, &other))
        return gb_fail(status, GB_USAGE, NULL, "is a variable empty?",
                       "%s: %s has no value: %s follows", r->command->name, typed, value);
    return set(r, option, typed, value, status);
}

static bool read_long(reading *r, gb_status *status)
{
    char typed[80];
    const char *word = r->argv[r->at], *equals = strchr(word, '=');
    int length = equals ? (int)(equals - word) : (int)strlen(word);
    snprintf(typed, sizeof typed, "%.*s", length, word);
    if (!strcmp(word, "--help")) {
        r->help = true;
        return true;
    }
    gb_option_walk walk;
    if (!find(r, typed + 2, &walk))
        return no_option(r, word, typed + 2, status);
    if (walk.option.kind == GB_OPTION_FLAG)
        return equals ? refuse(r, "see --help", "no value is taken by", typed, status)
                      : set(r, &walk.option, typed, "", status);
    return equals ? set(r, &walk.option, typed, equals + 1, status)
                  : set_next(r, &walk.option, typed, status);
}

/* "-q", "-qn", "-l2", "-l 2". */
static bool read_letters(reading *r, gb_status *status)
{
    for (const char *letter = r->argv[r->at] + 1; *letter; letter++) {
        char typed[3] = {'-', *letter, '\0'};
        gb_option_walk walk = {0};
        bool found = false;
        while (!found && gb_option_next(&walk, r->tables))
            found = walk.option.letter == *letter;
        if (!found && *letter == 'h') {
            r->help = true;
            return true;
        }
        if (!found)
            return no_option(r, r->argv[r->at], r->argv[r->at] + 1, status);
        if (walk.option.kind != GB_OPTION_FLAG)
            return letter[1] ? set(r, &walk.option, typed, letter + 1, status)
                             : set_next(r, &walk.option, typed, status);
        if (!set(r, &walk.option, typed, "", status))
            return false;
    }
    return true;
}

/* A word that nothing takes, or something missing: the usage line shows what goes where. */
__attribute__((format(printf, 3, 4))) static bool misused(const reading *r, gb_status *status,
                                                          const char *format, ...)
{
    gb_text usage = {0};
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    gb_text_printf(&usage, "usage: ");
    options_usage(&usage, r->command, r->tables);
    gb_fail(status, GB_USAGE, NULL, usage.failed ? "see --help" : usage.data, "%s%s",
            r->command->name, what);
    gb_text_free(&usage);
    return false;
}

static bool read_operand(const reading *r, const char *word, gb_status *status)
{
    if (r->only_help)
        return true;
    if (!r->operands || r->operands->count == r->command->operands_max ||
        r->operands->count == GB_WORDS_MAX)
        return misused(r, status, ": \"%.100s\" %s", word,
                       r->command->operands_max ? "is one word too many" : "belongs to no option");
    r->operands->items[r->operands->count++] = word;
    return true;
}

/* Up to --help. */
static bool read_words(reading *r, gb_status *status)
{
    bool only_operands = false, ok = true;
    for (r->at = 1; ok && r->at < r->argc; r->at++) {
        const char *word = r->argv[r->at];
        if (only_operands || word[0] != '-' || !word[1])
            ok = read_operand(r, word, status);
        else if (!strcmp(word, "--"))
            only_operands = true;
        else
            ok = word[1] == '-' ? read_long(r, status) : read_letters(r, status);
        if (r->help)
            return true;
    }
    return ok;
}

/* Whether one of the options was given that an option goes with, if it was changed. */
static bool has_effect(const reading *r, const gb_option *option, gb_status *status)
{
    gb_text needed = {0};
    const char *rest = option->with;
    size_t length;
    bool found = false;
    if (!has(&r->changed, option->name, strlen(option->name)))
        return true;
    for (const char *name; !found && (name = gb_next_word(&rest, '|', &length));) {
        found = has(&r->given, name, length);
        gb_text_printf(&needed, "%s--%.*s", needed.length ? " or " : "", (int)length, name);
    }
    char hint[200];
    snprintf(hint, sizeof hint, "give %s, too, or leave it out", needed.data ? needed.data : "it");
    if (!found)
        gb_fail(status, GB_USAGE, NULL, hint, "%s: --%s has no effect without %s", r->command->name,
                option->name, needed.data ? needed.data : "another");
    gb_text_free(&needed);
    return found;
}

/* What must be given; first what the command is about. */
static bool check(const reading *r, gb_status *status)
{
    const gb_command *command = r->command;
    if (command->operands_min && r->operands->count < command->operands_min)
        return misused(r, status, " needs %s", command->needs ? command->needs : command->operands);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, r->tables);)
        if (options_missing(&walk.option))
            return misused(r, status, ": --%s is needed", walk.option.name);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, r->tables);)
        if (!has_effect(r, &walk.option, status))
            return false;
    return true;
}

static bool print_help(const reading *r, gb_status *status)
{
    gb_text text = {0};
    char **behind = r->argv + r->at;
    int count = r->argc - r->at;
    if (options_asked("--json", count, behind))
        options_json(&text, r->command, r->tables);
    else if (options_asked("--man", count, behind))
        options_man(&text, r->command, r->tables);
    else if (options_asked("--completion", count, behind))
        options_completion(&text, r->command, r->tables);
    else
        options_text(&text, r->command, r->tables);
    return options_print(&text, stdout, status);
}

/* The help shows the variables' first values, so it is looked for before any is changed. */
gb_parsed gb_command_parse(const gb_command *command, const gb_option_table *tables, int argc,
                           char **argv, gb_words *operands, gb_status *status)
{
    reading r = {.command = command,
                 .tables = tables,
                 .argc = argc,
                 .argv = argv,
                 .only_help = true,
                 .operands = operands};
    read_words(&r, NULL);
    if (r.help)
        return print_help(&r, status) ? GB_PARSED_HELP : GB_PARSED_BAD;
    r.only_help = false;
    return read_words(&r, status) && check(&r, status) ? GB_PARSED_RUN : GB_PARSED_BAD;
}

bool gb_command_begin(const gb_command *command, const gb_option *options, const gb_call *call,
                      gb_words *operands, int *code)
{
    gb_status status = {0};
    const gb_option_table tables[] = {{.options = options}, {0}};
    gb_parsed parsed = gb_command_parse(command, tables, call->argc, call->argv, operands, &status);
    *code = gb_command_end(&status);
    return parsed == GB_PARSED_RUN;
}

int gb_command_end(const gb_status *status)
{
    if (status->code != GB_OK)
        gb_status_print(status);
    return (int)status->code;
}
