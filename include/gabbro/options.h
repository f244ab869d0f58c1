/* Options module: reads command lines. A program describes its commands and their options by
 * tables, from which the module parses a command line and prints help, manual pages and the
 * completion for shells. */
#ifndef GABBRO_OPTIONS_H
#define GABBRO_OPTIONS_H

#include <gabbro/base.h>

#include <gabbro/json.h>

#include <math.h>

/* ---- numbers ---- */

/* Read the value of an option, which is named as it is typed ("--steps"). GB_USAGE, naming option
 * and text, if the text is anything but a number from min to max. */
bool gb_parse_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value,
                  gb_status *status);
bool gb_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *value,
                  gb_status *status);
bool gb_parse_real(const char *option, const char *text, double min, double max, double *value,
                   gb_status *status);

/* ---- names ---- */

/* Finds the name that a mistyped word probably meant: begin with the word alone, then compare it
 * with each name. */
typedef struct gb_nearest {
    const char *word; /* as it was typed */
    const char *name; /* the nearest name so far, or NULL: none is near */
    size_t distance;  /* edits from word to name */
} gb_nearest;
void gb_nearest_compare(gb_nearest *nearest, const char *name);

/* ---- options ---- */

#define GB_WORDS_MAX 256
/* Words in the order in which they were given. They belong to argv. */
typedef struct gb_words {
    const char *items[GB_WORDS_MAX]; /* [count] words */
    size_t count;                    /* number of words */
} gb_words;

/* What value an option takes, and the type of the variable that gets it. A variable is open while
 * it holds the value that is given here. */
typedef enum gb_option_kind {
    GB_OPTION_TEXT,   /* const char *; open: NULL */
    GB_OPTION_U32,    /* uint32_t; open: GB_OPEN */
    GB_OPTION_U64,    /* uint64_t */
    GB_OPTION_REAL,   /* double, at least 0 unless min says otherwise; open: GB_OPEN_REAL */
    GB_OPTION_RATIO,  /* double, 0 to 1; open: GB_OPEN_REAL */
    GB_OPTION_FLAG,   /* bool; the option takes no value */
    GB_OPTION_LIST,   /* gb_words; the option may be given several times */
    GB_OPTION_CHOICE, /* uint32_t or an enum: index of the value in words; open: GB_OPEN */
} gb_option_kind;

/* Initial values that stand for "not given". The help then prints no default, and the code that
 * uses the option decides. */
#define GB_OPEN      UINT32_MAX
#define GB_OPEN_REAL (-INFINITY)

#define GB_OPTION_REQUIRED 1u /* a text, list or open choice that must be given */
#define GB_OPTION_INPUT    2u /* names a file or folder whose identity is an input of an artifact */
#define GB_OPTION_NO_KEY   4u /* says how work is done, not what: not in an artifact's key */
#define GB_OPTION_HIDDEN   8u /* a second name of an option, or for tests: in no help */
#define GB_OPTION_MODEL    16u /* names a model: an input that may be a name, see gb_find_model */

/* One option of a command. A table of options ends with one without a name. */
typedef struct gb_option {
    const char *name;    /* name without the dashes, e.g. "learning-rate" */
    gb_option_kind kind; /* what value it takes */
    void *value;         /* variable of the kind's type, which holds the default before parsing. In
                            a table with a base: GB_FIELD of the structure */
    uint32_t flags;      /* GB_OPTION_ bits */
    const char *placeholder;  /* stands for the value in the help, e.g. "FILE"; NULL: the kind's */
    const char *help;         /* one line; the default is printed behind it */
    const char *const *words; /* values of a choice, ended by NULL */
    char letter;              /* short form, e.g. 'q' of -q, or 0 */
    double min, max;          /* limits of a number, included; both 0: those of its kind */
    const char *with;         /* options of which one must be given, too, if this one changes its
                                 value, as it has no effect without: "compare|interval"; or NULL */
} gb_option;
/* Value of an option whose table can be constant: a member of the structure that is the base. */
#define GB_FIELD(type, member) ((void *)offsetof(type, member))

/* Options that belong together. An array of tables ends with one without options. */
typedef struct gb_option_table {
    const char *heading;      /* printed above them in the help; NULL: under the table before */
    const gb_option *options; /* the options */
    void *base;               /* structure that holds their values, or NULL */
    const char *note;         /* behind the heading, what it stands for; NULL: nothing */
    bool no_key;              /* no option of it is part of a key, as with GB_OPTION_NO_KEY */
} gb_option_table;

/* An iterator over the options of several tables. Zero-initialise it. */
typedef struct gb_option_walk {
    const gb_option_table *table; /* table of the current option, or NULL */
    size_t next;                  /* index of the next option in it */
    gb_option option;             /* the current option; its value points to its variable */
} gb_option_walk;
/* Goes on to the next option; false behind the last one. */
bool gb_option_next(gb_option_walk *walk, const gb_option_table *tables);
/* Sets every option of a name, as a command line does: options of several tables may share one.
 * Fails with GB_USAGE if there is none, or the text is no value of it. */
bool gb_option_set(const gb_option_table *tables, const char *name, const char *text,
                   gb_status *status);
/* Makes JSON of the present value of an option: a word for a choice, an array for a list, null if
 * it is open. NULL and GB_USAGE for a text that is not UTF-8, or GB_MEMORY. The caller calls
 * json_decref. */
json_t *gb_option_value(const gb_option *option, gb_status *status);

/* ---- settings of what describes itself ---- */

/* Room for the own settings of one entry of a table of such, e.g. of an objective, whose options
 * are fields of a structure that it alone knows. */
#define GB_OWN_BYTES 64
typedef union gb_own_settings {
    double alignment;         /* of any field */
    char bytes[GB_OWN_BYTES]; /* the structure, then zeros */
} gb_own_settings;
/* Returns settings with these defaults of `bytes`, at most GB_OWN_BYTES. */
gb_own_settings gb_own_settings_of(const void *defaults, size_t bytes);

/* ---- commands ---- */

/* A command line that is being executed. */
typedef struct gb_call {
    const gb_config *config; /* what the environment asks for */
    int argc;                /* number of words */
    char **argv;        /* [argc + 1] last word of the command's name, then everything behind it */
    gb_status *refused; /* of a call that only checks its command line: what is wrong with it; NULL:
                           execute it */
} gb_call;

/* A command of the program. */
typedef struct gb_command {
    const char *name;        /* as it is typed behind the program's name, e.g. "data fetch" */
    const char *summary;     /* what it does, in one line without a full stop */
    const char *usage;       /* what follows the name in the usage line; NULL: operands, required
                                options and "[options]" */
    const char *operands;    /* words without a dash, e.g. "QRELS RUN"; NULL: none */
    const char *needs;       /* end of the message "COMMAND needs ..." if operands are missing;
                                NULL: operands */
    uint32_t operands_min;   /* fewest operands */
    uint32_t operands_max;   /* most operands; 0: none */
    const char *description; /* paragraphs with an empty line between them; lines that begin with
                                a space are printed as they are, the others are filled */
    int (*run)(const gb_call *call); /* executes it and returns the exit code */
    bool makes; /* it makes an artifact, and can check its command line alone */
} gb_command;

/* What to do after a command line has been parsed. */
typedef enum gb_parsed {
    GB_PARSED_RUN,  /* execute the command */
    GB_PARSED_HELP, /* nothing: help was asked for, and has been printed */
    GB_PARSED_BAD,  /* end with status->code */
} gb_parsed;

/* Parses a command line into the variables of the options. Words that are not options go to
 * operands (NULL: the command takes none, and any is an error). Long options are written "--name
 * value" or "--name=value", letters may be joined ("-qn"), and all words behind "--" are operands.
 * --help or -h prints the help of the command instead; if one of these words follows, it prints
 * everything known of the command as JSON (--json), its manual page (--man), or its part of the
 * completion (--completion). argv is not changed. */
gb_parsed gb_command_parse(const gb_command *command, const gb_option_table *tables, int argc,
                           char **argv, gb_words *operands, gb_status *status);
/* Parses the command line of a command that has nothing to undo, and prints a failure itself. True:
 * go on. False: end with *code. */
bool gb_command_begin(const gb_command *command, const gb_option *options, const gb_call *call,
                      gb_words *operands, int *code);
/* Prints a failure, if there is one, and returns the exit code of the status. */
int gb_command_end(const gb_status *status);

/* ---- all commands ---- */

/* Commands under one heading. An array of groups ends with one without a heading. */
typedef struct gb_command_group {
    const char *heading;               /* e.g. "Training" */
    const gb_command *const *commands; /* in the order of the help, ended by NULL */
} gb_command_group;
#define GB_COMMANDS(...)                                                                           \
    (const gb_command *const[])                                                                    \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A program that consists of commands. */
typedef struct gb_command_set {
    const char *name, *version, *summary; /* of the program; the summary is one line */
    const gb_command_group *groups;       /* its commands */
    const gb_option *options;             /* options that every command takes */
    const char *notes;                    /* printed below the commands, like a description */
} gb_command_set;

/* Executes the command that the first words behind the program's name give, and returns its exit
 * code. --help, -h and help print the help of the program, in the form that the words behind ask
 * for, as for a command; "data --help" prints the help of all commands that begin with that word;
 * --version prints the version. Failures are printed. */
int gb_command_set_run(const gb_command_set *set, const gb_call *call);
/* Checks a command line of a command that makes an artifact, and executes nothing. Its inputs need
 * not be there yet. GB_USAGE with what the command would refuse. */
bool gb_command_set_check(const gb_command_set *set, const gb_call *call, gb_status *status);

#endif
