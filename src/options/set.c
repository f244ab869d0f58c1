/* A program of several commands: finding one, and the help of all. */
#include "private.h"

#include <string.h>

/* How many words of argv are the command's name, or 0. */
static int matches(const char *name, int argc, char **argv)
{
    int words = 0;
    for (; *name && words < argc; words++) {
        size_t length = strcspn(name, " ");
        if (strlen(argv[words]) != length || strncmp(argv[words], name, length))
            return 0;
        name += length + (name[length] == ' ');
    }
    return *name ? 0 : words;
}

/* "data" or "data fetsh": how those commands go on that begin with the word. */
static bool begun(const gb_command_set *set, const char *word, gb_text *known)
{
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++)
            if (options_begins(*command, word))
                gb_text_printf(known, "%s%s", known->length ? ", " : "",
                               (*command)->name + strlen(word) + 1);
    return known->length > 0;
}

static bool no_command(const gb_command_set *set, const char *word, gb_status *status)
{
    gb_text known = {0};
    gb_nearest nearest = {.word = word};
    char hint[120] = "see --help";
    if (begun(set, word, &known))
        gb_fail(status, GB_USAGE, NULL, hint, "%s needs one of %s", word, known.data);
    gb_text_free(&known);
    if (status->code != GB_OK)
        return false;
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++)
            gb_nearest_compare(&nearest, (*command)->name);
    if (nearest.name)
        snprintf(hint, sizeof hint, "did you mean %s? See --help", nearest.name);
    else if (*word == '-')
        snprintf(hint, sizeof hint, "options stand behind the command; see --help");
    return gb_fail(status, GB_USAGE, NULL, hint, "no command \"%.100s\"", word);
}

/* The command whose name the first words are, and how many these are. NULL and GB_USAGE, with the
 * nearest name, where there is none. */
static const gb_command *find(const gb_command_set *set, int argc, char **argv, int *words,
                              gb_status *status)
{
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++) {
            *words = matches((*command)->name, argc, argv);
            if (*words)
                return *command;
        }
    no_command(set, argv[0], status);
    return NULL;
}

/* The commands print their parts themselves, as only they know their options. */
static bool print_completion(const gb_command_set *set, const gb_config *config, gb_status *status)
{
    static char help[] = "--help", form[] = "--completion";
    gb_text head = {0}, tail = {0};
    options_completion_head(&head, set);
    bool ok = options_print(&head, stdout, status);
    for (const gb_command_group *group = set->groups; ok && group->heading; group++)
        for (const gb_command *const *command = group->commands; ok && *command; command++) {
            char name[64];
            snprintf(name, sizeof name, "%s", (*command)->name);
            gb_call call = {
                .config = config, .argc = 3, .argv = (char *[]){name, help, form, NULL}};
            int code = (*command)->run(&call);
            ok = code == GB_OK || gb_fail(status, (gb_code)code, NULL, NULL,
                                          "%s does not say its options", (*command)->name);
        }
    options_completion_tail(&tail, set);
    return options_print(&tail, stdout, status) && ok;
}

/* call->argv: gabbro, --help, and the words behind it. */
static bool print_help(const gb_command_set *set, const gb_call *call, gb_status *status)
{
    int argc = call->argc - 2;
    char **argv = call->argv + 2;
    gb_text text = {0};
    if (options_asked("--completion", argc, argv))
        return print_completion(set, call->config, status);
    if (options_asked("--json", argc, argv))
        options_set_json(&text, set);
    else if (options_asked("--man", argc, argv))
        options_set_man(&text, set);
    else
        options_set_text(&text, set, NULL);
    return options_print(&text, stdout, status);
}

static bool print_help_of(const gb_command_set *set, const char *first, gb_status *status)
{
    gb_text text = {0};
    options_set_text(&text, set, first);
    return options_print(&text, stdout, status);
}

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

int gb_command_set_run(const gb_command_set *set, const gb_call *call)
{
    int argc = call->argc;
    char **argv = call->argv;
    gb_status status = {0};
    gb_text text = {0};
    int words;
    if (argc < 2) {
        options_set_text(&text, set, NULL);
        options_print(&text, stderr, &status);
        return GB_USAGE;
    }
    static char help[] = "--help";
    if (argc > 2 && !strcmp(argv[1], "help") && argv[2][0] != '-') { /* help COMMAND */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("%s %s\n", set->name, set->version);
    } else if (is_help(argv[1])) {
        print_help(set, call, &status);
    } else if (argc > 2 && is_help(argv[2]) && begun(set, argv[1], &text)) {
        print_help_of(set, argv[1], &status);
    } else {
        const gb_command *command = find(set, argc - 1, argv + 1, &words, &status);
        if (command)
            return command->run(
                &(gb_call){.config = call->config, .argc = argc - words, .argv = argv + words});
    }
    gb_text_free(&text);
    return gb_command_end(&status);
}

bool gb_command_set_check(const gb_command_set *set, const gb_call *call, gb_status *status)
{
    int words;
    const gb_command *command = find(set, call->argc - 1, call->argv + 1, &words, status);
    if (!command)
        return false;
    if (!command->makes)
        return gb_fail(status, GB_USAGE, NULL, NULL, "it makes no artifact");
    gb_status refused = {0};
    command->run(&(gb_call){call->config, call->argc - words, call->argv + words, &refused});
    if (refused.code != GB_OK && status)
        *status = refused;
    return refused.code == GB_OK;
}
