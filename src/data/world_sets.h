/* Other sets of the mini world than main: small collections that share its language (names,
 * attributes, values, fillers, patterns) as real domains share English, with entities, documents
 * and questions of their own.
 *
 *   world_sets.c         the table of sets
 *   world_set_texts.c    their worlds and texts
 *   world_set_queries.c  questions with judgements, one function a task
 *   world_set_write.c    folders and files
 *
 * A set is a world made by the same functions as main, with other parameters, streams of its own
 * and words borrowed from main's; main's vocabulary covers it. What main has as a passage is here
 * a unit; a text of the set is made of one or more units of a document. Settings were fixed from
 * what is known about the real sets, before any model was run on them. */
#ifndef GABBRO_DATA_WORLD_SETS_H
#define GABBRO_DATA_WORLD_SETS_H

#include "data/world.h"

/* What a question of the set asks for, and which texts answer it. */
typedef enum world_task {
    TASK_NONE,      /* no questions: text to pre-train on */
    TASK_DOCUMENTS, /* main's questions, main's documents */
    TASK_FACT,      /* a fact; the texts that state it */
    TASK_TRIVIA,    /* a fact, in long questions that give a clue; the texts that state it */
    TASK_GRADED,    /* a fact; 2 texts that state it, 1 others of the entity or that mention it */
    TASK_ENTITY,    /* something of an entity; all texts about the entity */
    TASK_CLAIM,     /* a statement, a third of them wrong; the texts that state the true fact */
    TASK_TWO_HOP,   /* a fact of the entity that is a fact of another; both texts */
    TASK_LIST,      /* all entities of a kind with a value; the texts that state it */
    TASK_COUNTER,   /* a text; the other texts that state the same pair of facts */
    TASK_DUPLICATE, /* a question; the texts, questions themselves, that ask the same */
} world_task;

typedef struct world_set {
    const char *name;           /* of --set */
    world_task task;            /* see there */
    bool titled;                /* texts have the name of their document's entity as title */
    uint32_t first_type, types; /* kinds of entities */
    uint32_t entities;          /* in all */
    uint32_t clusters;          /* pairs of attributes */
    uint32_t type_clusters;     /* of a type; fewer than clusters, so that asides have facts */
    uint32_t documents;         /* in all; of a set of duplicates: texts */
    uint32_t least, most;       /* texts of a document */
    uint32_t units;             /* of a text; 0: the texts are questions alone */
    double foreign;             /* share of attributes with words that main does not have */
    double aside;               /* units with a sentence about another entity */
    double keyword, question, attribute_of, conjunctive; /* styles of questions */
    uint32_t train, test;                                /* questions */
    uint32_t endings;  /* of values: 0, or many different ones for answers */
    const char *trait; /* what it borrows from the real set */
} world_set;

/* Line of the table, NULL behind the last; main is not in it. */
const world_set *gb_world_set_at(uint32_t index);

typedef struct set_text {
    const char *id;    /* external */
    const char *title; /* or "" */
    const char *text;  /* units joined by blanks, or a question */
    uint32_t document; /* counting up */
    uint32_t entity;   /* of the first unit */
    uint32_t cluster;  /* of the first unit */
    uint32_t fact;     /* asked for, of a text that is a question */
} set_text;

typedef struct set_query {
    const char *text;                          /* as asked */
    uint32_t entity;                           /* asked about */
    uint32_t fact;                             /* entity * attributes + attribute */
    const char *answers[WORLD_VALUE_WORDINGS]; /* words that answer it, or NULL */
} set_query;

typedef struct set_split {
    const char *name;       /* train, dev, test ... */
    set_query *queries;     /* in the arena */
    uint32_t count;         /* of them */
    gb_qrel *judgements;    /* query within the split, text, grade; not in the arena */
    size_t judgement_count; /* how many */
    size_t judgement_space; /* capacity */
} set_split;

enum { SET_SPLITS = 3 };

/* A set being made. */
typedef struct world_set_data {
    const world_set *set;
    uint32_t number;              /* of the set, from 1: its streams */
    world *language;              /* main's words, or main itself (TASK_DOCUMENTS) */
    world own;                    /* the set's world */
    world *w;                     /* the one that texts are of */
    set_text *texts;              /* [text_count] */
    uint32_t text_count;          /* how many */
    uint32_t *text_of;            /* [units] text that holds a unit, or GB_MAP_NONE */
    set_split splits[SET_SPLITS]; /* in order */
    uint32_t split_count;         /* how many */
    gb_map *asked;                /* every question text once */
} world_set_data;

/* Streams of the sets beside those of their worlds. */
enum { STAGE_SET_ORDER = 96, STAGE_SET_QUERY = 97, STAGE_SET_JUDGED = 98, STAGE_SET_TEXT = 99 };

/* ---- parts ---- */

bool gb_world_set_make_texts(world_set_data *d, uint64_t seed, gb_status *status);
bool gb_world_set_make_queries(world_set_data *d, gb_status *status);
bool gb_world_set_write(const world_set_data *d, const char *folder, gb_status *status);

/* A stream of the set; stages are those of its world, and STAGE_SET_... */
static inline gb_rng gb_world_set_rng(const world_set_data *d, int stage, uint32_t row)
{
    return gb_world_rng(d->w, (world_stage)stage, row);
}

/* Chain of units that state a pair of facts: for (unit = first; unit != GB_MAP_NONE; ...). */
static inline uint32_t gb_world_stating(const world *w, uint32_t fact)
{
    return w->stated[fact / WORLD_PAIR];
}
/* Facts of pairs that some unit states, shuffled. NULL on failure. */
uint32_t *gb_world_set_facts(world_set_data *d, uint32_t *count, gb_status *status);

#endif
