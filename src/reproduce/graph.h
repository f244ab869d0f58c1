/* What recipes declare: the commands that tables need, each once, and what is printed of them. */
#ifndef GABBRO_REPRODUCE_GRAPH_H
#define GABBRO_REPRODUCE_GRAPH_H

#include "settings.h"

/* A word of a command: text, and the folder of an artifact that another command makes behind it. */
typedef struct repro_word {
    const char *text;        /* "" for a folder alone */
    struct repro_node *node; /* NULL for text alone */
} repro_word;

typedef enum repro_state {
    REPRO_WAITING, /* not begun */
    REPRO_RUNNING, /* a process makes it */
    REPRO_BUSY,    /* a process of somebody else makes it; ask again later */
    REPRO_DONE,    /* its folder is known */
    REPRO_FAILED,  /* its process failed */
} repro_state;

/* `gabbro COMMAND ARGUMENTS...`, which makes an artifact and prints its folder. */
typedef struct repro_node {
    size_t index;            /* in the graph: the order of declaration */
    const char *label;       /* what it does, for people: "mine, seed 42" */
    const repro_word *words; /* [count], the first is the command */
    size_t count;            /* words */
    repro_state state;       /* of its making */
    const char *folder;      /* of the artifact, once it is done */
} repro_node;

/* Nodes that tables share: equal commands are one node. */
typedef struct repro_graph {
    gb_arena *arena;    /* all strings and nodes */
    repro_node **nodes; /* [count] in the order of declaration, so inputs come first */
    size_t count;       /* of them */
    size_t capacity;    /* allocated */
    gb_map *places;     /* a command, as bytes -> index of its node */
} repro_graph;
repro_graph *repro_graph_create(gb_status *status);
void repro_graph_destroy(repro_graph *graph);
/* The node of this command, a new one where there is none. NULL and status on failure. */
repro_node *repro_graph_node(repro_graph *graph, const char *label, const repro_word *words,
                             size_t count, gb_status *status);
/* Marks a node, and all that it needs, in an array of the graph's nodes. */
void repro_graph_mark(const repro_graph *graph, const repro_node *node, bool *marks);
const char *repro_graph_keep(repro_graph *graph, const char *text, gb_status *status);
/* The value behind an option of a command, the last one; text NULL where it has none. */
repro_word repro_node_option(const repro_node *node, const char *option);
/* A word as a process gets it, once its artifact is there; the caller frees it. */
char *repro_word_text(repro_word word, gb_status *status);

/* One line of results: a row of a table, or a point of a curve. Text is NULL where there is none.
 */
typedef struct repro_result {
    const char *row;       /* key of the row */
    const char *series;    /* name of the curve */
    const char *x;         /* place of the point, a number */
    const char *set;       /* of the collection that was measured, or "before" fine-tuning */
    const char *seed;      /* of training */
    repro_word evaluation; /* what was measured */
    repro_word model;      /* that it was measured of; text NULL or "": none */
    bool on_request;       /* a plain run leaves it out */
} repro_result;

/* A node as a recipe declared it, again where it did so again. */
typedef struct repro_call {
    repro_node *node; /* declared */
    const char *line; /* "gabbro COMMAND ARGUMENTS...", artifacts as <label> */
    bool on_request;  /* for rows that a plain run leaves out */
} repro_call;

/* A share of percent that is printed once an artifact is there: BEFORE 56.5% BEHIND. */
typedef struct repro_notice {
    const repro_node *node; /* whose first measure it is */
    const char *before;     /* text before the number */
    const char *behind;     /* and behind it */
} repro_notice;

/* What the recipe of one table declared. */
typedef struct repro_table {
    const char *name;        /* "qac/table1" */
    repro_settings settings; /* as the recipe left them */
    repro_call *calls;       /* [call_count] in order */
    size_t call_count, call_capacity;
    repro_result *results; /* [result_count] in order */
    size_t result_count, result_capacity;
    repro_notice *notices; /* [notice_count] */
    size_t notice_count, notice_capacity;
    const char **inputs; /* [input_count] public folders that it asked for */
    size_t input_count, input_capacity;
    repro_word collection;               /* that its results name */
    const char *title, *x, *measure, *y; /* of a figure; NULL: it is a table */
    repro_node *page;                    /* whose files are copied to the results, or NULL */
    const char *page_file;               /* of them the one to look at */
    bool *kept;                          /* [nodes of the graph], see repro_table_select */
    bool plain;                          /* rows on request are not made */
    char sum[40];                        /* of its recipe, see repro_session_sum; else "" */
    json_t *row_sums;                    /* the same of each row on request; NULL: none */
} repro_table;
void repro_table_free(repro_table *table);

/* Chooses the rows that are made. rows: patterns of names with | between, NULL for a plain run;
 * everything: also those on request. A command is left out when only rows that are not made need
 * it, and so is one that no row needs where it stands on such. GB_USAGE when a pattern fits no row.
 */
bool repro_table_select(repro_table *table, const repro_graph *graph, const char *rows,
                        bool everything, gb_status *status);
/* Whether a result belongs to the rows that are made. */
bool repro_result_selected(const repro_result *result, const char *rows, bool everything);
/* Whether the artifact of a call is made for the rows that are chosen. once: and no earlier call
 * makes it. */
bool repro_table_makes(const repro_table *table, size_t call, bool once);
/* Appends the commands that are kept, each once, with the flags behind it. */
void repro_table_text(const repro_table *table, const char *flags, gb_text *out);
/* The checksum of the commands that are kept, without flags and without the place of public data,
 * as `cksum` sums them up: "CRC-BYTES". once: each counts once, else as often as the recipe has it.
 */
bool repro_table_checksum(const repro_table *table, const char *data_dir, bool once, char sum[40],
                          gb_status *status);
/* POSIX cksum of bytes. */
uint32_t repro_cksum(const void *bytes, size_t length);

#endif
