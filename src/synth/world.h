/* The mini world: invented things with facts, entries that tell them, questions about them.
 *
 *   words/            the word lists, data
 *   lexicon.c         reads them
 *   vocabulary.c      the tokens of a world
 *   world.c           all of it, draws, looking things up
 *   entities.c        things and their names
 *   facts.c           their facts, and which text states which
 *   documents.c       documents and their drift
 *   grammar.c         templates become English
 *   passages.c        the writer of entries
 *   questions.c       the writer of questions; training and development questions
 *   generated.c       query generation models of rising quality
 *   topics.c          topics with graded judgements
 *   read.c            tells from its text whether a query asks for a fact of a passage
 *   sets.c            the sets, a line each
 *   tasks.c           questions and judgements of the sets beside main, one function a task
 *   write.c           files, through the import of collections
 *   measure.c         what a world is like, for world.json
 *
 * All draws come from gb_rng(seed, GB_RNG_WORLD, stage, row): a set is a pure function of the seed
 * of its world and of GB_WORLD_VERSION. */
#ifndef GABBRO_SYNTH_WORLD_H
#define GABBRO_SYNTH_WORLD_H

#include "synth/lexicon.h"

#include <gabbro/data.h>
#include <gabbro/synth.h>
#include <gabbro/json.h>

enum {
    WORLD_MOST_STATED = 8,      /* facts of a passage */
    WORLD_MOST_ASIDES = 3,      /* facts of others in a passage */
    WORLD_GENERATED = 20,       /* queries of a passage that main comes with */
    WORLD_MOST_GENERATED = 256, /* queries of a passage by one generator */
};

/* Purposes of draws within the world; append only. */
typedef enum world_stage {
    STAGE_NAMES = 1,
    STAGE_PEOPLE = 2,
    STAGE_PULL = 3,
    STAGE_ENTITY = 4,
    STAGE_FACTS = 5,
    STAGE_PLAN = 6,
    STAGE_DRIFT = 7,
    STAGE_TEXT = 8,
    STAGE_SPLIT = 9,
    STAGE_QUERY = 10,
    STAGE_JUDGED = 11,
    STAGE_KINDS = 12,     /* + 2 * generator */
    STAGE_GENERATED = 13, /* + 2 * generator */
    STAGE_ORDER = 32,
} world_stage;

/* How a question is put. */
typedef enum question_form {
    FORM_KEYWORD,  /* "tesket wort price" */
    FORM_QUESTION, /* "what is the price of tesket wort" */
    FORM_CLUE,     /* "what is the price of tesket wort, the herb that smells of tar" */
    FORM_THEME,    /* "what is the price of the salty herb tesket" */
    FORM_BRIEF,    /* "what is the price of the tesket herb" */
    FORM_TWO,      /* "which herb smells of tar and is sold for a kiss" */
    FORM_RARE,     /* "which herb is sold for a kiss", where one alone is */
    FORM_COUNT,
} question_form;

/* What a question of the set asks for, and which texts answer it. */
typedef enum world_task {
    TASK_MAIN,      /* training, development, graded topics, generated queries */
    TASK_NONE,      /* no questions: text to pre-train on */
    TASK_DOCUMENTS, /* main's questions, main's documents */
    TASK_FACT,      /* a fact; the texts that state it */
    TASK_GRADED,    /* a fact; 2 texts that state it, 1 others of the entity */
    TASK_ENTITY,    /* something of an entity; all texts about the entity */
    TASK_CLAIM,     /* a statement, a third of them wrong; the texts that state the true fact */
    TASK_TWO_HOP,   /* a fact of the one who is a fact of another; both texts */
    TASK_LIST,      /* all things of a kind with a value; the texts that state it */
    TASK_COUNTER,   /* a text; the others that state the same facts */
    TASK_DUPLICATE, /* a question; the texts, questions themselves, that ask the same */
} world_task;

/* A set: what defines its world and its questions. sets.c has them all. */
typedef struct world_set {
    const char *name;                /* of --set */
    world_task task;                 /* see there */
    const char *kinds;               /* of things, equally many each */
    uint32_t entities;               /* in all */
    uint32_t min_facts, max_facts;   /* of an entity */
    double times;                    /* how often a fact is stated */
    uint32_t min_stated, max_stated; /* facts of a text */
    uint32_t min_texts, max_texts;   /* of a document; 0: all of an entity */
    double detail, echo, aside;      /* sentences with a detail; texts with an echo, an aside */
    uint32_t max_tokens;             /* of a text, where its facts leave room */
    bool titled;                     /* texts have the name of their entity as title */
    bool bodiless;                   /* of TASK_DUPLICATE: texts are questions alone */
    bool answers;                    /* questions have answers.tsv */
    double forms[FORM_COUNT];        /* shares of the forms of questions; sum 1 */
    uint32_t train, test;            /* questions; test is main's dev */
    const char *trait;               /* what it borrows from the real set */
} world_set;
const world_set *synth_world_set_at(uint32_t index); /* NULL behind the last; main is the first */

typedef struct world_entity {
    uint32_t kind;       /* of the lexicon */
    uint32_t theme;      /* of the lexicon */
    const char *name;    /* "Galbury Primer" */
    const char *full;    /* "the Galbury Primer" */
    const char *brief;   /* "Galbury"; a person's surname */
    bool she, he;        /* of people */
    uint32_t first_fact; /* its facts lie together */
    uint32_t fact_count; /* how many */
} world_entity;

typedef struct world_fact {
    uint32_t entity;    /* whose */
    uint32_t attribute; /* of the lexicon */
    uint32_t value;     /* in the attribute's list */
} world_fact;

typedef struct world_passage {
    uint32_t document;                   /* counting up */
    uint32_t entity;                     /* the main one */
    uint32_t facts[WORLD_MOST_STATED];   /* stated, in order */
    uint32_t wording[WORLD_MOST_STATED]; /* of the attribute */
    uint32_t fact_count;                 /* how many */
    uint32_t echo;                       /* fact whose attribute is named, or GB_MAP_NONE */
    uint32_t asides[WORLD_MOST_ASIDES];  /* facts of others that are told in passing */
    uint32_t aside_count;                /* how many */
    uint32_t round;                      /* the facts are told for so many-th time */
    uint32_t sentences;                  /* in the text */
    bool named;                          /* the text names its entity */
    const char *text;                    /* in the arena */
} world_passage;

typedef struct world_query {
    const char *text;   /* lower case */
    uint32_t fact;      /* asked for, or GB_MAP_NONE */
    uint32_t other;     /* second fact told (clue, two), or GB_MAP_NONE */
    question_form form; /* how it is put */
    bool named;         /* the entity is named */
    uint32_t positive;  /* labelled passage, or GB_MAP_NONE */
} world_query;

typedef struct world_split {
    const char *name;       /* train, dev, test ... */
    world_query *queries;   /* in the arena */
    uint32_t count;         /* of them */
    gb_qrel *judgements;    /* query within the split, text, grade; not in the arena */
    size_t judgement_count; /* how many */
    size_t judgement_space; /* capacity */
} world_split;

enum { WORLD_SPLITS = 4 };
enum { SPLIT_DL19 = 0, SPLIT_DL20 = 1, SPLIT_DEV = 2, SPLIT_TRAIN = 3 }; /* of main */

/* Kinds of generated queries. */
typedef enum generated_kind {
    GENERATED_ABOUT,           /* a fact that the passage states */
    GENERATED_OTHER_ATTRIBUTE, /* another fact of the same entity */
    GENERATED_ENTITY_ONLY,     /* the entity and nothing else */
    GENERATED_WRONG_ENTITY,    /* a fact of a neighbour */
    GENERATED_NO_ENTITY,       /* the attribute without any entity */
    GENERATED_COUNT,
} generated_kind;

struct gb_synth {
    lexicon *lexicon;        /* the language */
    const world_set *set;    /* what it is made by */
    uint32_t number;         /* of the set: streams of its own; 0: main */
    uint64_t seed;           /* of the world */
    gb_arena *arena;         /* all strings and arrays */
    lexicon_list people;     /* values of the list PERSON */
    world_entity *entities;  /* [set->entities] */
    uint32_t entity_count;   /* how many */
    world_fact *facts;       /* [fact_count] */
    uint32_t fact_count;     /* how many */
    world_passage *passages; /* [passage_count], in order of documents */
    uint32_t passage_count;  /* passages */
    uint32_t documents;      /* their documents */
    double stay;             /* chance that the next passage keeps the entity, calibrated */
    double related;          /* share of related pairs reached with it */
    uint32_t *stating;       /* [fact_count] first passage that states it, or GB_MAP_NONE */
    world_split splits[WORLD_SPLITS]; /* as many as there are */
    uint32_t split_count;             /* of them */
    gb_map *asked;                    /* every text of a question once -> its split */
    uint32_t generator;               /* who wrote the generated queries */
    uint32_t generated_count;         /* of a passage */
    const char **generated;           /* [passage_count * generated_count] */
    uint8_t *generated_kinds;         /* the same shape */
};
typedef struct gb_synth world;

/* ---- draws ---- */

gb_rng synth_world_rng(const world *w, uint32_t stage, uint32_t row);
/* A stream of the language, which all sets share. */
gb_rng synth_world_language_rng(const world *w, uint32_t stage, uint32_t row);
bool synth_world_chance(gb_rng *rng, double probability);
/* Number drawn with probabilities in proportion to weights. */
uint32_t synth_world_pick(gb_rng *rng, const double *weights, uint32_t count);
/* One of the words, the first ones more often (by 1, 1/2 ...), or all alike. */
const char *synth_world_falling(gb_rng *rng, const lexicon_words *words);
const char *synth_world_any(gb_rng *rng, const lexicon_words *words);
void *synth_world_array(world *w, size_t count, size_t size, gb_status *status);
const char *synth_world_keep(world *w, const gb_text *text, gb_status *status);

/* ---- world.c, sets.c ---- */

/* Things, facts, documents and texts of a set. gb_synth_destroy after success and failure. */
bool synth_world_make_texts(world *w, const world_set *set, uint32_t number, uint64_t seed,
                            gb_status *status);
/* The same with its questions. */
world *synth_world_make(const world_set *set, uint32_t number, uint64_t seed, gb_status *status);
const lexicon_attribute *synth_world_attribute(const world *w, uint32_t fact);
const lexicon_list *synth_world_list(const world *w, uint32_t attribute);
const lexicon_value *synth_world_value(const world *w, uint32_t fact);
const lexicon_kind *synth_world_kind(const world *w, uint32_t entity);
/* Main's documents are its own, in one piece. */
bool synth_world_is_main(const world *w);
/* Next passage behind `passage` that states the fact; GB_MAP_NONE: none. */
uint32_t synth_world_next_stating(const world *w, uint32_t fact, uint32_t passage);
bool synth_world_states(const world_passage *passage, uint32_t fact);

/* ---- entities.c, facts.c, documents.c: in this order ---- */

bool synth_world_make_entities(world *w, gb_status *status);
/* Another entity that a reader may take for it: of the same first word, the same theme, or any. */
uint32_t synth_world_neighbour(const world *w, gb_rng *rng, uint32_t entity);
bool synth_world_make_facts(world *w, gb_status *status);
bool synth_world_plan_passages(world *w, gb_status *status); /* which text states what */
bool synth_world_make_documents(world *w, gb_status *status);

/* ---- grammar.c ---- */

/* What the slots of a template are filled with. */
typedef struct world_slots {
    const world *w;             /* whose words */
    gb_rng *rng;                /* of choices between words */
    uint32_t kind;              /* its words fill {T} {made} {did} {maker} */
    const char *subject;        /* {S} */
    const char *object;         /* {O}, and behind "of" in {G} */
    const char *owner;          /* "its": {G x} is "its x"; or NULL */
    const char *value;          /* {V} */
    bool plural;                /* of the value */
    const lexicon_theme *theme; /* of {p} {ps} {s} {a} */
    const char *called;         /* {N} */
} world_slots;
/* Append a filled template. */
void synth_world_expand(const world_slots *slots, const char *pattern, gb_text *out);
/* "a" becomes "an" where the next word asks for it, everywhere from `start`. */
void synth_world_articles(gb_text *text, size_t start);
/* Tokens of a text, rather too many: words, marks, and a second piece of whatever may be a name. */
uint32_t synth_world_tokens(const gb_text *text);
/* Noun of a kind, the usual one most often. */
const char *synth_world_noun(const world *w, gb_rng *rng, uint32_t kind);

/* ---- passages.c ---- */

bool synth_world_write_texts(world *w, gb_status *status);
/* Append the sentence that states a fact of an entity by its name; with `value` instead of its own.
 */
void synth_world_write_claim(const world *w, uint32_t fact, const lexicon_value *value, gb_rng *rng,
                             gb_text *out);

/* ---- questions.c ---- */

/* Write a question about a fact that a passage states. copy: chance that it has the passage's
 * wording. Forms that the passage does not allow become others. */
bool synth_world_ask(world *w, world_query *query, uint32_t fact, uint32_t passage, double copy,
                     gb_rng *rng, gb_status *status);
/* The same in a text that no question has had (after some tries, one that has). */
bool synth_world_ask_anew(world *w, world_query *query, uint32_t fact, uint32_t passage,
                          uint32_t split, gb_rng *rng, gb_status *status);
/* A question in template form for a name that is any text, such as "a castle". */
bool synth_world_ask_of(world *w, uint32_t attribute, uint32_t kind, const char *name, gb_rng *rng,
                        const char **text, gb_status *status);
/* Append a clue ("was built by a nun"); shortened: its value may be. */
void synth_world_clue(const world *w, uint32_t fact, bool shortened, gb_rng *rng, gb_text *out);
world_split *synth_world_add_split(world *w, const char *name, uint32_t count, gb_status *status);
/* Judge a text for a question, each text once: the better grade counts. */
bool synth_world_judge(world_split *split, uint32_t query, uint32_t passage, int32_t grade,
                       gb_status *status);
/* Lower case, without a stop or comma at the end, articles in order; kept in the arena. */
const char *synth_world_keep_question(world *w, gb_text *text, gb_status *status);
/* Topics, training and development questions of main. */
bool synth_world_make_questions(world *w, gb_status *status);
/* Facts that passages state, shuffled; those for topics first. */
uint32_t *synth_world_shuffled_facts(world *w, uint32_t *count, gb_status *status);

/* ---- topics.c, generated.c, read.c, tasks.c, measure.c, vocabulary.c, write.c ---- */

bool synth_world_judge_topic(const world *w, world_split *split, uint32_t query, gb_status *status);
bool synth_world_make_generated(world *w, uint32_t generator, uint32_t count, gb_status *status);
/* Number of a generator by its name; GB_MAP_NONE: none. */
uint32_t synth_world_generator(const char *name);
const char *synth_world_generator_title(uint32_t generator); /* for reports */
bool synth_world_is_about(const world *w, uint32_t passage, const char *query, size_t length);
bool synth_world_make_task(world *w, gb_status *status);
json_t *synth_world_describe(const world *w);
/* Every token, the same for all seeds and sets: in *tokens if not NULL, and in the map. */
bool synth_lexicon_tokens(const lexicon *l, gb_text *tokens, gb_map *known, gb_status *status);
bool synth_world_generated_rows(const world *w, gb_row_writer *writer, gb_status *status);

#endif
