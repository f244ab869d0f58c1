/* Help for the terminal. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH       80 /* of a line */
#define HELP_COLUMN 28 /* where explanations of options begin */
#define NAME_COLUMN 20 /* and of commands */

bool options_asked(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], name))
            return true;
    return false;
}

bool options_print(gb_text *text, FILE *out, gb_status *status)
{
    bool ok = !text->failed || gb_fail_memory(status, "writing the help");
    if (ok)
        fputs(text->data, out);
    gb_text_free(text);
    return ok;
}

/* ---- lines ---- */

/* Bytes of the next word; an option stays with its value. */
static size_t unit_length(const char *words)
{
    size_t length = strcspn(words, " "), begin = words[0] == '[';
    if (!strncmp(words + begin, "--", 2) && words[length] == ' ' && words[length - 1] != ']')
        length += 1 + strcspn(words + length + 1, " ");
    return length;
}

size_t options_fill(gb_text *text, const char *words, size_t column, size_t indent)
{
    while (*words) {
        size_t length = unit_length(words);
        if (column > indent && column + 1 + length > WIDTH) {
            gb_text_printf(text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            gb_text_append(text, " ", 1);
            column++;
        }
        gb_text_append(text, words, length);
        column += length;
        words += length;
        words += strspn(words, " ");
    }
    return column;
}

void options_paragraphs(gb_text *text, const char *description)
{
    size_t column = 0;
    while (*description) {
        size_t length = strcspn(description, "\n");
        gb_text line = {0};
        gb_text_append(&line, description, length);
        text->failed = text->failed || line.failed;
        bool as_it_is = !length || *description == ' ';
        if (as_it_is && column)
            gb_text_append(text, "\n", 1);
        if (as_it_is)
            gb_text_printf(text, "%.*s\n", (int)length, description);
        column = as_it_is || line.failed ? 0 : options_fill(text, line.data, column, 0);
        gb_text_free(&line);
        description += length + (description[length] == '\n');
    }
    if (column)
        gb_text_append(text, "\n", 1);
}

/* What a name means, beside it from a column on; length: bytes of the line so far. */
static void entry(gb_text *text, size_t length, size_t column, const char *meaning)
{
    if (length + 2 > column) {
        gb_text_printf(text, "\n");
        length = 0;
    }
    gb_text_printf(text, "%*s", (int)(column - length), "");
    options_fill(text, meaning, column, column);
    gb_text_append(text, "\n", 1);
}

/* ---- a command ---- */

void options_usage(gb_text *text, const gb_command *command, const gb_option_table *tables)
{
    bool more = false;
    gb_text_printf(text, "gabbro %s", command->name);
    if (command->usage) {
        gb_text_printf(text, " %s", command->usage);
        return;
    }
    if (command->operands)
        gb_text_printf(text, " %s", command->operands);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);) {
        const gb_option *option = &walk.option;
        if (option->flags & GB_OPTION_REQUIRED)
            gb_text_printf(text, " --%s %s%s", option->name, options_placeholder(option),
                           option->kind == GB_OPTION_LIST ? "..." : "");
        else
            more = more || !(option->flags & GB_OPTION_HIDDEN);
    }
    if (more)
        gb_text_printf(text, " [options]");
}

static void option_entry(gb_text *text, const gb_option *option)
{
    gb_text meaning = {0};
    const char *placeholder = options_placeholder(option);
    size_t before = text->length;
    gb_text_printf(text, "  ");
    if (option->letter)
        gb_text_printf(text, "-%c, ", option->letter);
    gb_text_printf(text, "--%s%s%s", option->name, placeholder ? " " : "",
                   placeholder ? placeholder : "");
    options_explain(&meaning, option);
    text->failed = text->failed || meaning.failed;
    if (!text->failed)
        entry(text, text->length - before, HELP_COLUMN, meaning.data);
    gb_text_free(&meaning);
}

static void heading(gb_text *text, const gb_option_table *table)
{
    if (!table->note) {
        gb_text_printf(text, "\n%s:\n", table->heading ? table->heading : "Options");
        return;
    }
    gb_text_printf(text, "\n%s:", table->heading);
    size_t column = strlen(table->heading) + 1;
    options_fill(text, table->note, column > 4 ? column : 5, 4); /* beyond the indent: a blank */
    gb_text_printf(text, "\n");
}

void options_text(gb_text *text, const gb_command *command, const gb_option_table *tables)
{
    gb_text usage = {0};
    options_usage(&usage, command, tables);
    gb_text_printf(text, "usage: ");
    if (!usage.failed)
        options_fill(text, usage.data, 7, 7);
    text->failed = text->failed || usage.failed;
    gb_text_free(&usage);
    gb_text_printf(text, "\n");
    if (command->description) {
        gb_text_printf(text, "\n");
        options_paragraphs(text, command->description);
    }
    gb_option_walk walk = {0};
    for (const gb_option_table *last = NULL; gb_option_next(&walk, tables); last = walk.table) {
        if (walk.table != last && (!last || walk.table->heading))
            heading(text, walk.table);
        if (!(walk.option.flags & GB_OPTION_HIDDEN))
            option_entry(text, &walk.option);
    }
    option_entry(
        text, &(gb_option){"help", GB_OPTION_FLAG, NULL, 0, NULL,
                           "print this help; --help --json gives it as JSON; gabbro --help has the "
                           "options of every command",
                           .letter = 'h'});
}

/* ---- a set of commands ---- */

bool options_begins(const gb_command *command, const char *first)
{
    size_t length = strlen(first);
    return !strncmp(command->name, first, length) && command->name[length] == ' ';
}

static void group_entries(gb_text *text, const gb_command_group *group, const char *first)
{
    bool begun = false;
    for (const gb_command *const *at = group->commands; *at; at++) {
        if (first && !options_begins(*at, first))
            continue;
        gb_text_printf(text, "%s%s%s  %s", begun ? "" : "\n", begun ? "" : group->heading,
                       begun ? "" : ":\n", (*at)->name);
        begun = true;
        entry(text, 2 + strlen((*at)->name), NAME_COLUMN, (*at)->summary);
    }
}

void options_set_text(gb_text *text, const gb_command_set *set, const char *first)
{
    gb_text_printf(text, "usage: %s %s%sCOMMAND [options]\n", set->name, first ? first : "",
                   first ? " " : "");
    if (!first) {
        gb_text_printf(text, "\n");
        options_paragraphs(text, set->summary);
    }
    for (const gb_command_group *group = set->groups; group->heading; group++)
        group_entries(text, group, first);
    if (first)
        return;
    gb_text_printf(text, "\nWith any command:\n");
    for (const gb_option *option = set->options; option->name; option++)
        option_entry(text, option);
    option_entry(text, &(gb_option){"help", GB_OPTION_FLAG, NULL, 0, NULL,
                                    "what the command does, and its options", .letter = 'h'});
    gb_text_printf(text, "\n");
    options_paragraphs(text, set->notes);
}
