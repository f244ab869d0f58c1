/* Manual pages, in roff's macros "man". */
#include "private.h"

#include <ctype.h>
#include <string.h>

/* Text of a paragraph, without what roff takes for its own. */
static void escape(gb_text *text, const char *words, size_t length)
{
    if (length && (words[0] == '.' || words[0] == '\''))
        gb_text_printf(text, "\\&");
    for (size_t i = 0; i < length; i++)
        if (words[i] == '\\')
            gb_text_printf(text, "\\e");
        else if (words[i] == '-')
            gb_text_printf(text, "\\-");
        else
            gb_text_append(text, words + i, 1);
}

static void escaped(gb_text *text, const char *words)
{
    escape(text, words, strlen(words));
}

static void paragraphs(gb_text *text, const char *description)
{
    bool as_it_is = false, fresh = true;
    while (*description) {
        size_t length = strcspn(description, "\n");
        bool indented = *description == ' ';
        if (as_it_is && !indented)
            gb_text_printf(text, ".fi\n");
        if (!length)
            fresh = true;
        else if (fresh)
            gb_text_printf(text, ".PP\n");
        if (indented && !as_it_is)
            gb_text_printf(text, ".nf\n");
        as_it_is = indented;
        fresh = !length;
        escape(text, description, length);
        if (length)
            gb_text_append(text, "\n", 1);
        description += length + (description[length] == '\n');
    }
    if (as_it_is)
        gb_text_printf(text, ".fi\n");
}

static void option_entry(gb_text *text, const gb_option *option)
{
    gb_text meaning = {0};
    const char *placeholder = options_placeholder(option);
    gb_text_printf(text, ".TP\n");
    if (option->letter)
        gb_text_printf(text, "\\fB\\-%c\\fR, ", option->letter);
    gb_text_printf(text, "\\fB\\-\\-");
    escaped(text, option->name);
    gb_text_printf(text, "\\fR%s%s%s\n", placeholder ? " \\fI" : "", placeholder ? placeholder : "",
                   placeholder ? "\\fR" : "");
    options_explain(&meaning, option);
    text->failed = text->failed || meaning.failed;
    if (!meaning.failed)
        escaped(text, meaning.data);
    gb_text_printf(text, "\n");
    gb_text_free(&meaning);
}

static void title(gb_text *text, const char *name)
{
    gb_text_printf(text, ".TH \"");
    for (; *name; name++)
        gb_text_printf(text, "%c", *name == ' ' ? '-' : toupper((unsigned char)*name));
    gb_text_printf(text, "\" 1 \"\" \"gabbro " GABBRO_VERSION "\" \"Gabbro\"\n.SH NAME\n");
}

/* "data fetch" is gabbro-data-fetch. */
static void page_name(gb_text *text, const char *command)
{
    gb_text_printf(text, "gabbro\\-");
    for (; *command; command++)
        gb_text_printf(text, "%s%.1s", *command == ' ' || *command == '-' ? "\\-" : "",
                       *command == ' ' || *command == '-' ? "" : command);
}

void options_man(gb_text *text, const gb_command *command, const gb_option_table *tables)
{
    gb_text usage = {0}, name = {0};
    gb_text_printf(&name, "gabbro-%s", command->name);
    options_usage(&usage, command, tables);
    text->failed = text->failed || usage.failed || name.failed;
    if (!text->failed) {
        title(text, name.data);
        page_name(text, command->name);
        gb_text_printf(text, " \\- ");
        escaped(text, command->summary);
        gb_text_printf(text, "\n.SH SYNOPSIS\n");
        escaped(text, usage.data);
        gb_text_printf(text, "\n");
    }
    gb_text_free(&name);
    gb_text_free(&usage);
    if (command->description) {
        gb_text_printf(text, ".SH DESCRIPTION\n");
        paragraphs(text, command->description);
    }
    gb_option_walk walk = {0};
    for (const gb_option_table *last = NULL; gb_option_next(&walk, tables); last = walk.table) {
        if (!last)
            gb_text_printf(text, ".SH OPTIONS\n");
        if (walk.table != last && walk.table->heading) {
            gb_text_printf(text, ".SS \"");
            escaped(text, walk.table->heading);
            gb_text_printf(text, "\"\n");
            if (walk.table->note)
                paragraphs(text, walk.table->note);
        }
        if (!(walk.option.flags & GB_OPTION_HIDDEN))
            option_entry(text, &walk.option);
    }
    gb_text_printf(text, ".SH SEE ALSO\n.BR gabbro (1)\n");
}

void options_set_man(gb_text *text, const gb_command_set *set)
{
    title(text, set->name);
    escaped(text, set->name);
    gb_text_printf(text, " \\- ");
    escaped(text, set->summary);
    gb_text_printf(text, "\n.SH SYNOPSIS\n\\fB%s\\fR \\fICOMMAND\\fR [options]\n.SH COMMANDS\n",
                   set->name);
    for (const gb_command_group *group = set->groups; group->heading; group++) {
        gb_text_printf(text, ".SS \"%s\"\n", group->heading);
        for (const gb_command *const *command = group->commands; *command; command++) {
            gb_text_printf(text, ".TP\n\\fB");
            page_name(text, (*command)->name);
            gb_text_printf(text, "\\fR(1)\n");
            escaped(text, (*command)->summary);
            gb_text_printf(text, "\n");
        }
    }
    gb_text_printf(text, ".SH OPTIONS\n");
    for (const gb_option *option = set->options; option->name; option++)
        option_entry(text, option);
    gb_text_printf(text, ".SH NOTES\n");
    paragraphs(text, set->notes);
}
