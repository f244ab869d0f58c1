/* Shared by the files of the options module. */
#ifndef OPTIONS_PRIVATE_H
#define OPTIONS_PRIVATE_H

#include <gabbro/options.h>

/* ---- values ---- */

/* Put a text into the option's variable; `typed` is the option as it was typed, for messages. */
bool options_set(const gb_option *option, const char *typed, const char *text, gb_status *status);
/* Whether a table before has an option of that name. */
bool options_repeats(const gb_option_walk *walk, const gb_option_table *tables);
/* Whether it must be given and is missing. */
bool options_missing(const gb_option *option);
/* What stands for its value in the help, or NULL for a flag. */
const char *options_placeholder(const gb_option *option);
/* Its help, with the words of a choice and the default behind it, onto a text. */
void options_explain(gb_text *text, const gb_option *option);

/* ---- forms of help ---- */

/* The usage of a command in one line, without "usage: ". */
void options_usage(gb_text *text, const gb_command *command, const gb_option_table *tables);

/* A command in each form, and a set of commands. */
void options_text(gb_text *text, const gb_command *command, const gb_option_table *tables);
void options_json(gb_text *text, const gb_command *command, const gb_option_table *tables);
void options_man(gb_text *text, const gb_command *command, const gb_option_table *tables);
void options_completion(gb_text *text, const gb_command *command, const gb_option_table *tables);
/* first: only the commands whose names begin with this word, or NULL. */
void options_set_text(gb_text *text, const gb_command_set *set, const char *first);
void options_set_json(gb_text *text, const gb_command_set *set);
void options_set_man(gb_text *text, const gb_command_set *set);
/* Around the parts of the commands. */
void options_completion_head(gb_text *text, const gb_command_set *set);
void options_completion_tail(gb_text *text, const gb_command_set *set);

/* Whether the form `name`, e.g. "--json", is among the words behind --help. */
bool options_asked(const char *name, int argc, char **argv);
/* Whether a command's name begins with a word and goes on behind it. */
bool options_begins(const gb_command *command, const char *first);
/* Write to out; frees the text. */
bool options_print(gb_text *text, FILE *out, gb_status *status);

/* Append words, broken into lines of the help's width. The first goes to `column`, later lines
 * begin at `indent`. Returns the column behind the last word. */
size_t options_fill(gb_text *text, const char *words, size_t column, size_t indent);
/* Append the paragraphs of a description, filled. */
void options_paragraphs(gb_text *text, const char *description);

#endif
