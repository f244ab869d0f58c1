/* Completion of command lines by bash: one function whose cases are the commands. */
#include "private.h"

#include <string.h>

/* The value of an option, then the options themselves. Where nothing is proposed, bash takes names
 * of files. */
void options_completion(gb_text *text, const gb_command *command, const gb_option_table *tables)
{
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);) {
        const gb_option *option = &walk.option;
        if (option->kind == GB_OPTION_FLAG || option->flags & GB_OPTION_HIDDEN ||
            options_repeats(&walk, tables))
            continue;
        gb_text_printf(text, "    '%s:--%s')", command->name, option->name);
        if (option->kind == GB_OPTION_CHOICE) {
            gb_text_printf(text, " words='");
            for (size_t i = 0; option->words[i]; i++)
                gb_text_printf(text, "%s%s", i ? " " : "", option->words[i]);
            gb_text_printf(text, "'");
        }
        gb_text_printf(text, " ;;\n");
    }
    gb_text_printf(text, "    '%s:'*) words='--help", command->name);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);)
        if (!(walk.option.flags & GB_OPTION_HIDDEN) && !options_repeats(&walk, tables))
            gb_text_printf(text, " --%s", walk.option.name);
    gb_text_printf(text, "' ;;\n");
}

void options_completion_head(gb_text *text, const gb_command_set *set)
{
    gb_text_printf(text,
                   "# Completion of %s's command lines for bash, made by the program itself.\n"
                   "_%s()\n{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=\n"
                   "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    [ \"$COMP_CWORD\" = 1 ] && command= before=\n"
                   "    case \"$command ${COMP_WORDS[2]}\" in\n",
                   set->name, set->name);
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++)
            if (strchr((*command)->name, ' '))
                gb_text_printf(text, "    '%s') command='%s' ;;\n", (*command)->name,
                               (*command)->name);
    gb_text_printf(text, "    esac\n    case $command:$before in\n    :) words='");
    for (const gb_command_group *group = set->groups; group->heading; group++)
        for (const gb_command *const *command = group->commands; *command; command++)
            gb_text_printf(text, "%.*s ", (int)strcspn((*command)->name, " "), (*command)->name);
    gb_text_printf(text, "--help --version' ;;\n");
}

void options_completion_tail(gb_text *text, const gb_command_set *set)
{
    gb_text_printf(text,
                   "    esac\n"
                   "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                   "}\n"
                   "complete -o default -F _%s %s\n",
                   set->name, set->name);
}
