/* Options module: what the words of a command line mean. A command and its options are tables; they
 * are all that the parser, the help in each of its forms and the shell's completion know. */
#ifndef GABBRO_OPTIONS_H
#define GABBRO_OPTIONS_H

#include <gabbro/base.h>

#include <gabbro/json.h>

/* ---- numbers ---- */

/* The value of an option, as it is typed ("--steps"). Fails with GB_USAGE, naming both, where the
 * text is more or less than a number between the two, which are included. */
bool gb_parse_u64(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *value, gb_status *status);
bool gb_parse_u32(const char *option, const char *text, uint32_t least, uint32_t most,
                  uint32_t *value, gb_status *status);
bool gb_parse_real(const char *option, const char *text, double least, double most, double *value,
                   gb_status *status);

/* ---- options ---- */

/* Words in the order in which they were given. They belong to argv. */
#define GB_WORDS_MAX 256
typedef struct gb_words {
    const char *items[GB_WORDS_MAX]; /* the words [count] */
    size_t count;                    /* how many */
} gb_words;

/* What an option takes, and the type of the variable that its value goes into. */
typedef enum gb_option_kind {
    GB_OPTION_TEXT,   /* const char *: NULL where it is open */
    GB_OPTION_U32,    /* uint32_t: GB_OPEN where it is open */
    GB_OPTION_U64,    /* uint64_t */
    GB_OPTION_REAL,   /* double, at least 0: GB_OPEN_REAL where it is open */
    GB_OPTION_RATIO,  /* double, 0 to 1: GB_OPEN_REAL where it is open */
    GB_OPTION_FLAG,   /* bool: takes no value */
    GB_OPTION_LIST,   /* gb_words: may be given several times */
    GB_OPTION_CHOICE, /* uint32_t or an enum: the place of the value in .words, GB_OPEN where open
                       */
} gb_option_kind;

/* Initial values that stand for "not said": the help gives no default for them, and what uses the
 * option decides. */
#define GB_OPEN      UINT32_MAX
#define GB_OPEN_REAL (-1.0)

#define GB_OPTION_REQUIRED 1u /* a text, list or open choice that must be given */
#define GB_OPTION_INPUT    2u /* names a file or folder whose identity is an input of an artifact */
#define GB_OPTION_NO_KEY   4u /* says how work is done, not what: no part of an artifact's key */
#define GB_OPTION_HIDDEN   8u /* another name of an option, or for tests: in no help */

/* One option of a command. A table of them ends with one without a name. */
typedef struct gb_option {
    const char *name;    /* without the dashes, e.g. "learning-rate" */
    gb_option_kind kind; /* what it takes */
    void *value;         /* the variable, of the kind's type; holds the default before parsing. In
                            a table with a base: GB_FIELD of the structure */
    uint32_t flags;      /* GB_OPTION_* */
    const char *placeholder;  /* stands for its value in the help, e.g. "FILE"; NULL: the kind's */
    const char *help;         /* one line; the default is printed behind it */
    const char *const *words; /* of a choice, ended by NULL */
    char letter;              /* short form, e.g. 'q' of -q, or 0 */
    double least, most;       /* of a number, included; both 0: those of its kind */
} gb_option;
/* The value of an option whose table can be constant: the member of a structure that gets it. */
#define GB_FIELD(type, member) ((void *)offsetof(type, member))

/* Options that belong together. An array of tables ends with one without options. */
typedef struct gb_option_table {
    const char *heading;      /* above them in the help; NULL: they follow the table before */
    const gb_option *options; /* the options */
    void *base;               /* the structure that their values are members of, or NULL */
} gb_option_table;

/* All options of some tables in turn: start from zero. The option has its variable in `value`,
 * whether its table has a base or not. False behind the last. */
typedef struct gb_option_walk {
    const gb_option_table *table; /* of the option given last, or NULL */
    size_t next;                  /* place of the next option in it */
    gb_option option;             /* given last */
} gb_option_walk;
bool gb_option_next(gb_option_walk *walk, const gb_option_table *tables);
/* The present value as JSON: a word for a choice, an array for a list, null where it is open. NULL
 * and GB_USAGE where a text is not UTF-8, or GB_MEMORY. */
json_t *gb_option_value(const gb_option *option, gb_status *status);

/* ---- commands ---- */

/* A command line that is run. */
typedef struct gb_call {
    const gb_config *config; /* what the environment asks for */
    int argc;                /* words */
    char **argv;             /* [argc + 1] the last word of the command's name, then what follows */
} gb_call;

/* A command of the program. */
typedef struct gb_command {
    const char *name;        /* as it is typed behind the program's, e.g. "data fetch" */
    const char *summary;     /* what it does, in one line without a full stop */
    const char *usage;       /* what follows the name in the usage line; NULL: operands, required
                                options and "[options]" */
    const char *operands;    /* words without a dash, e.g. "QRELS RUN", or NULL: none */
    const char *needs;       /* behind "COMMAND needs" where operands are missing; NULL: operands */
    uint32_t operands_min;   /* operands that must be given */
    uint32_t operands_max;   /* operands at most; 0: none */
    const char *description; /* paragraphs with an empty line between them; lines that begin with
                                a space are printed as they are, others are filled */
    int (*run)(const gb_call *call); /* returns the exit code */
} gb_command;

/* What to do after a command line was read. */
typedef enum gb_parsed {
    GB_PARSED_RUN,  /* do what it says */
    GB_PARSED_HELP, /* nothing: help was asked for and is printed */
    GB_PARSED_BAD,  /* end with status->code */
} gb_parsed;

/* Read a command line into the variables of the options. Words that are no options go to operands
 * (NULL: it is an error to give some). Long options take "--name value" and "--name=value", letters
 * may be joined ("-qn"), and behind "--" all words are operands. --help or -h prints the command's
 * help instead; behind it --json gives all that is known of the command as JSON, --man its manual
 * page, --completion its part of the completion. argv is left as it is. */
gb_parsed gb_command_parse(const gb_command *command, const gb_option_table *tables, int argc,
                           char **argv, gb_words *operands, gb_status *status);
/* The same for a command that has nothing to undo: a failure is printed. False: end with *code. */
bool gb_command_begin(const gb_command *command, const gb_option *options, const gb_call *call,
                      gb_words *operands, int *code);
/* Print a failure, if there is one; returns its exit code. */
int gb_command_end(const gb_status *status);

/* ---- all commands ---- */

/* Commands under a heading. An array of groups ends with one without a heading. */
#define GB_GROUP_MAX 16
typedef struct gb_command_group {
    const char *heading;                          /* e.g. "Training" */
    const gb_command *commands[GB_GROUP_MAX + 1]; /* in the order of the help, ended by NULL */
} gb_command_group;

/* A program that consists of commands. */
typedef struct gb_command_set {
    const char *name, *version, *summary; /* of the program; the summary is one line */
    const gb_command_group *groups;       /* its commands */
    const gb_option *options;             /* options that any command takes */
    const char *notes;                    /* below the commands; written like a description */
} gb_command_set;

/* Run the command that is named behind the program's name, the first word, or print the help of the
 * program: for --help, -h and help in the form that the words behind it ask for, as for a command;
 * and for "data --help" that of the commands whose names begin with that word. --version prints the
 * version. Failures are printed. Returns the exit code. */
int gb_command_set_run(const gb_command_set *set, const gb_call *call);

#endif
