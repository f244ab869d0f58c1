/* The mini world: entities with facts, documents that tell them, questions about them.
 *
 *   world_words.c    the words: plain English for glue, invented ones for names, attributes, values
 *   world.c          entities, facts, documents and their topic drift
 *   world_text.c     sentences of passages
 *   world_queries.c  the query writer, training and development sets, generated queries
 *   world_topics.c   topics with graded judgements
 *   world_generators.c  query generation models of rising quality
 *   world_measure.c  facts about the world that reports print
 *   world_write.c    folders and files
 *
 * All draws come from gb_rng(seed, GB_RNG_WORLD, stage, row): the world is a pure function of its
 * seed and WORLD_VERSION. */
#ifndef GABBRO_DATA_WORLD_H
#define GABBRO_DATA_WORLD_H

#include <gabbro/data.h>
#include <jansson.h>

enum { WORLD_VERSION = GB_WORLD_VERSION };

enum {
    WORLD_WORDINGS = 3,         /* words for an attribute */
    WORLD_NOUNS = 4,            /* nouns for a type */
    WORLD_VALUES = 8,           /* values of an attribute */
    WORLD_VALUE_WORDINGS = 2,   /* words for a value */
    WORLD_PIECES = 30,          /* first and second pieces of names */
    WORLD_PAIR = 2,             /* attributes of a cluster */
    WORLD_MOST_GENERATED = 256, /* queries of a passage by one generator */
};

/* Purposes of draws within the world; append only. */
typedef enum world_stage {
    STAGE_WORDS = 1,
    STAGE_TYPES = 2,
    STAGE_FACTS = 3,
    STAGE_NEIGHBOURS = 4,
    STAGE_LENGTHS = 5,
    STAGE_DRIFT = 6,
    STAGE_TEXT = 7,
    STAGE_SPLIT = 8,
    STAGE_TRAIN = 9,
    STAGE_DEV = 10,
    STAGE_TOPICS = 11,
    STAGE_TOPIC_TEXT = 12,
    STAGE_KINDS = 13,
    STAGE_GENERATED = 14,
    STAGE_ASIDE = 15,
    STAGE_GENERATORS = 64, /* + 2 * generator: its queries, + 1 their kinds */
} world_stage;

/* How good a query generation model is. A better model (as the larger language models are) has a
 * higher `about`; everything else of the world stays the same. */
typedef struct gb_generator_rates {
    const char *name;       /* for reports */
    double about;           /* share of queries about a fact that the passage states */
    double copy;            /* of those, share that copies the passage's word for the attribute */
    double other_attribute; /* of the rest: another attribute of the same entity */
    double entity_only;     /* of the rest: the entity and nothing else */
    double wrong_entity;    /* of the rest: the passage's attribute of another entity */
    double no_entity;       /* of the rest: the attribute without any entity; the four sum to 1 */
} gb_generator_rates;

struct gb_world_params {
    uint32_t types;           /* kinds of entities */
    uint32_t entities;        /* in all */
    uint32_t documents;       /* in all */
    uint32_t least_passages;  /* of a document */
    uint32_t most_passages;   /* of a document; lengths between are equally frequent */
    uint32_t clusters;        /* pairs of attributes */
    uint32_t type_clusters;   /* clusters whose facts the passages of a type state */
    uint32_t entity_clusters; /* clusters whose second attribute takes an entity as value */
    uint32_t neighbours;      /* of an entity: where a document's topic drifts to */
    double related;           /* share of pairs of passages of a document about one entity */
    double restated;          /* passages that state a pair already stated elsewhere */
    double named_first;       /* first sentences that name the entity */
    double named_later;       /* later ones */
    double alias_in_passage;  /* passages that use the entity's alias, a fifth of them no name */
    double alias_in_query;    /* queries that use it */
    double aside;             /* passages with a sentence about another entity */
    double aside_stated;      /* of those, that repeat a fact which has a passage of its own */
    double preference;        /* each next wording of an attribute is this much rarer */
    double keyword, question, attribute_of, conjunctive; /* styles of queries; sum 1 */
    double conjunctive_named; /* conjunctive queries that also name the entity */
    double train_facts;       /* share of the facts kept for training queries, rest for dev */
    uint32_t train, dev;      /* queries */
    uint32_t dl19, dl20;      /* topics with graded judgements */
    uint32_t generated;       /* generated queries a passage; the first C are used */
    gb_generator_rates generator;
    /* The rest is zero for the set main; see world_sets.h. */
    uint32_t units;      /* what main has as passages is put together by so many; 0: as they are */
    double stay;         /* chance that the next text keeps the entity; 0: found from `related` */
    uint32_t first_type; /* nouns of type 0 are those of this one */
    uint32_t endings;    /* each value word takes one of so many endings; 0: none */
    double foreign;      /* share of attributes with words that main does not have */
};
gb_world_params gb_world_defaults(void);

/* A query generation model by its name on the command line; the first is the collection's own. */
typedef struct world_generator {
    const char *name;         /* "world-t5" ... */
    gb_generator_rates rates; /* how good it is */
} world_generator;
/* NULL behind the last. */
const world_generator *gb_world_generator(uint32_t index);

typedef struct world_entity {
    const char *name;   /* capitalised */
    const char *alias;  /* capitalised */
    uint32_t type;      /* < types */
    bool alias_written; /* some passage uses the alias */
} world_entity;

typedef struct world_passage {
    uint32_t document;            /* < documents */
    uint32_t entity;              /* the main one */
    uint32_t cluster;             /* the pair of attributes it states */
    uint32_t wording[WORLD_PAIR]; /* word used for each of the two */
    uint32_t aside_entity;        /* entity of the sentence about another, or GB_MAP_NONE */
    uint32_t aside_attribute;     /* attribute told there */
    uint32_t sentences;           /* in the text */
    const char *text;             /* in the arena */
} world_passage;

typedef enum query_style {
    STYLE_KEYWORD,
    STYLE_QUESTION,
    STYLE_ATTRIBUTE_OF,
    STYLE_CONJUNCTIVE,
    STYLE_COUNT,
} query_style;

/* What a query asks for, and how. */
typedef struct world_query {
    uint32_t entity;              /* asked about; GB_MAP_NONE: none */
    uint32_t attribute;           /* asked for; GB_MAP_NONE: none */
    uint32_t other;               /* second attribute of a conjunctive query, else GB_MAP_NONE */
    query_style style;            /* form */
    bool named;                   /* the entity asked about is named */
    uint32_t wording[WORLD_PAIR]; /* words used for the two attributes */
    uint32_t positive;            /* labelled passage; GB_MAP_NONE for topics */
    const char *text;             /* in the arena */
} world_query;

typedef enum world_split {
    SPLIT_TRAIN,
    SPLIT_DEV,
    SPLIT_DL19,
    SPLIT_DL20,
    SPLIT_COUNT
} world_split;
extern const char *const gb_world_splits[SPLIT_COUNT]; /* their names */

typedef enum generated_kind {
    KIND_ABOUT,
    KIND_OTHER_ATTRIBUTE,
    KIND_ENTITY_ONLY,
    KIND_WRONG_ENTITY,
    KIND_NO_ENTITY,
    KIND_COUNT,
} generated_kind;

/* Words of the world; strings in the arena or constant. */
typedef struct world_words {
    const char *first_pieces[WORLD_PIECES];                    /* names start with one */
    const char *second_pieces[WORLD_PIECES];                   /* and end with one */
    const char *(*attributes)[WORLD_WORDINGS];                 /* [attributes] */
    const char *(*values)[WORLD_VALUES][WORLD_VALUE_WORDINGS]; /* [attributes] */
} world_words;

typedef struct world {
    gb_world_params params;       /* what defines it */
    uint64_t seed;                /* the world seed */
    uint32_t set;                 /* number of the set: streams of its own; 0: main */
    const struct world *language; /* of another set than main: where most words come from */
    const char **ended;           /* values with endings, [attributes, values, wordings], or NULL */
    gb_arena *arena;              /* all strings and arrays */
    world_words words;            /* invented words */
    uint32_t attributes;          /* WORLD_PAIR * clusters */
    bool *takes_entity;           /* [attributes] its values are entities */
    bool *type_uses;              /* [types * clusters] */
    world_entity *entities;       /* [entities] */
    uint32_t *values;             /* [entities * attributes] value, or entity */
    uint32_t *neighbours;         /* [entities * params.neighbours] */
    double stay;                  /* chance that the next passage keeps the entity, calibrated */
    double related;               /* share of related pairs reached with it */
    world_passage *passages;      /* [passage_count], in order of documents */
    uint32_t passage_count;       /* passages */
    uint32_t *stated;      /* [entities * clusters] first passage stating the pair, or none */
    uint32_t *stated_next; /* [passage_count] next passage stating the same pair, or none */
    world_query *queries[SPLIT_COUNT];   /* of each split */
    uint32_t query_count[SPLIT_COUNT];   /* how many */
    gb_qrel *judgements[SPLIT_COUNT];    /* of topics: query (within its split), passage, grade */
    size_t judgement_count[SPLIT_COUNT]; /* how many */
    size_t judgement_space[SPLIT_COUNT]; /* capacity; these arrays are not in the arena */
    const char **generated;              /* [passage_count * params.generated] queries */
    uint8_t *generated_kinds;            /* the same shape: generated_kind */
    uint32_t generator;                  /* who wrote them: see gb_world_generator */
} world;

/* Make everything but files. gb_world_free after both success and failure. */
bool gb_world_make(world *w, const gb_world_params *params, uint64_t seed, gb_status *status);
void gb_world_free(world *w);
/* Write a world that is made; folder must exist. */
bool gb_world_write(const world *w, const char *folder, gb_status *status);
/* The rows of its generated.gbt. */
bool gb_world_generated_rows(const world *w, gb_table_writer *writer, gb_status *status);

/* ---- parts ---- */

gb_rng gb_world_rng(const world *w, world_stage stage, uint32_t row);
bool gb_world_chance(gb_rng *rng, double probability);
/* Array in the arena, zeroed. */
void *gb_world_array(world *w, size_t count, size_t size, gb_status *status);
const char *gb_world_string(world *w, const gb_text *text, gb_status *status);

bool gb_world_make_words(world *w, gb_status *status);
/* The words alone (and what they need), for other sets to take them from. */
bool gb_world_make_language(world *w, uint64_t seed, gb_status *status);
/* Everything but queries; set and language of w are as they should be, the rest is overwritten. */
bool gb_world_make_texts(world *w, const gb_world_params *params, uint64_t seed, gb_status *status);
/* Noun of a type, most usual first. */
const char *gb_world_noun(const world *w, uint32_t type, uint32_t which);
uint32_t gb_world_values(const world *w); /* different values of an attribute */
/* A filler word by Zipf's law: kind 'J' adjective, 'D' adverb, 'N' noun. */
const char *gb_world_filler(gb_rng *rng, char kind);
/* The vocabulary: special tokens, then every word of the world, names as two pieces. */
bool gb_world_write_vocab(const world *w, const char *path, gb_status *status);

bool gb_world_write_texts(world *w, gb_status *status);
/* Word for a value of an entity's attribute as text; entities by name, or alias where `alias`. */
const char *gb_world_value(const world *w, uint32_t entity, uint32_t attribute, gb_rng *rng);
/* All words for it: WORLD_VALUE_WORDINGS words, or name and alias. */
void gb_world_value_words(const world *w, uint32_t entity, uint32_t attribute,
                          const char *words[WORLD_VALUE_WORDINGS]);
/* Append a sentence that claims a fact, its value `value`, or the true one where that is NULL. */
void gb_world_write_claim(const world *w, uint32_t entity, uint32_t attribute, const char *word,
                          const char *value, gb_rng *rng, gb_text *out);
/* Number of a word by preference .8^rank; reversed for queries. */
uint32_t gb_world_wording(const world *w, gb_rng *rng, bool reversed);
uint32_t gb_world_noun_choice(gb_rng *rng, bool reversed);

/* Write query->text from its other fields; fills wording where it is not GB_MAP_NONE already. */
bool gb_world_write_query(world *w, world_query *query, gb_rng *rng, gb_status *status);
query_style gb_world_style(const world *w, gb_rng *rng, double conjunctive);
/* A query about a fact, in words that are not in `asked` (or, after some tries, are); they are
 * then.
 */
bool gb_world_ask(world *w, world_query *query, uint32_t fact, gb_rng *rng, gb_map *asked,
                  gb_status *status);
bool gb_world_make_queries(world *w, const bool *reserved, gb_map *texts, gb_status *status);
bool gb_world_make_generated(world *w, gb_status *status);
/* Topics; marks the pairs [entities * clusters] they ask for as reserved. */
bool gb_world_make_topics(world *w, bool *reserved, gb_map *texts, gb_status *status);

/* Make the queries of another generator in the place of the own ones, `count` a passage. */
bool gb_world_regenerate(world *w, uint32_t generator, uint32_t count, gb_status *status);
/* The world that a collection was written from, by its collection.json: *found is false, and
 * nothing is made, where the collection is no mini world (set main). gb_world_free after true. */
bool gb_world_of_collection(world *w, const gb_collection *collection, bool *found,
                            gb_status *status);

/* Tells from a query's text alone whether it asks about a fact of a passage: it names the entity
 * and an attribute of the pair that the passage states, or both attributes. */
typedef struct world_reader {
    const world *w;     /* read with */
    gb_map *names;      /* name or alias, lower case -> entity */
    gb_map *attributes; /* wording -> attribute */
} world_reader;
bool gb_world_reader_open(world_reader *reader, const world *w, gb_status *status);
void gb_world_reader_close(world_reader *reader);
bool gb_world_is_about(const world_reader *reader, uint32_t passage, const char *query,
                       size_t length);

/* Measured facts as JSON (a jansson object), and the parameters beside them. */

json_t *gb_world_describe(const world *w);
/* A quotient (0 of nothing), rounded to four digits: for people. */
json_t *gb_world_share(double part, double whole);

#endif
