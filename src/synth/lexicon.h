/* The words of the mini world, read from the word lists in words/ that are part of the program. */
#ifndef GABBRO_SYNTH_LEXICON_H
#define GABBRO_SYNTH_LEXICON_H

#include <gabbro/base.h>

enum {
    LEXICON_WORDINGS = 3, /* of an attribute, in passages and in questions */
    LEXICON_CLUES = 2,    /* "which castle ..." */
    LEXICON_KEYWORDS = 3, /* at most */
    LEXICON_SAME = 2,     /* wordings of a value */
    LEXICON_KINDS = 32,   /* at most */
};

typedef struct lexicon_words {
    const char **items; /* in falling frequency where it matters */
    uint32_t count;     /* how many */
} lexicon_words;

/* A kind of things: towns, dishes. */
typedef struct lexicon_kind {
    const char *name;    /* in the word lists */
    bool the;            /* "the" stands before a name */
    bool person;         /* has no head word; is "she" or "he" */
    lexicon_words nouns; /* a thing is called so */
    lexicon_words heads; /* second words of names */
    lexicon_words made;  /* built, raised, put up */
    lexicon_words did;   /* the same, of its maker */
    lexicon_words maker; /* builder, mason */
} lexicon_kind;

typedef struct lexicon_keyword {
    const char *text; /* "price" */
    bool alone;       /* cannot stand before "of" */
} lexicon_keyword;

/* What can be told of a thing. */
typedef struct lexicon_attribute {
    const char *name;                           /* in the word lists */
    const char *group;                          /* told together with those of the same group */
    uint32_t kinds;                             /* bits of the kinds that have it */
    uint32_t list;                              /* of values */
    const char *passages[LEXICON_WORDINGS];     /* sentences, the usual one first */
    const char *questions[LEXICON_WORDINGS];    /* the i-th shares its main word with a sentence */
    const char *clues[LEXICON_CLUES];           /* "was built by {V}" */
    lexicon_keyword keywords[LEXICON_KEYWORDS]; /* the first is what echoes call it */
    uint32_t keyword_count;                     /* how many */
} lexicon_attribute;

typedef struct lexicon_value {
    const char *full[LEXICON_SAME];  /* "a drowned sailor" */
    const char *brief[LEXICON_SAME]; /* "a sailor", or full */
    bool plural[LEXICON_SAME];       /* of the full wording */
    uint32_t wordings;               /* 1 or LEXICON_SAME */
} lexicon_value;

typedef struct lexicon_list {
    const char *name;      /* in the word lists */
    lexicon_value *values; /* in falling frequency */
    uint32_t count;        /* how many */
} lexicon_list;

/* What goes together without being a fact. */
typedef struct lexicon_theme {
    const char *name;         /* in the word lists */
    lexicon_words people;     /* who talk about the thing */
    lexicon_words scenes;     /* where it is at its best */
    lexicon_words adjectives; /* how it is */
} lexicon_theme;

typedef struct lexicon {
    gb_arena *arena;                                   /* everything */
    lexicon_kind *kinds;                               /* [kind_count] */
    uint32_t kind_count;                               /* up to LEXICON_KINDS */
    lexicon_list *lists;                               /* [list_count]; the first is PERSON */
    uint32_t list_count;                               /* how many */
    lexicon_attribute *attributes;                     /* [attribute_count] */
    uint32_t attribute_count;                          /* how many */
    lexicon_theme *themes;                             /* [theme_count] */
    uint32_t theme_count;                              /* how many */
    lexicon_words starts, ends;                        /* of first words of names */
    lexicon_words adjectives, ship_adjectives;         /* before and in names */
    lexicon_words she, he, surnames;                   /* names of people */
    lexicon_words intro, person, detail, echo, entity; /* turns of phrase */
    lexicon_words theme;                               /* of questions */
    gb_map *words;                                     /* every word there is, lower case */
} lexicon;

enum { LEXICON_PERSON = 0 }; /* the list whose values are a world's people */

/* NULL and status where there is no memory or a word list is wrong (which names its line). */
lexicon *synth_lexicon_create(gb_status *status);
void synth_lexicon_destroy(lexicon *l); /* NULL ok */
/* "fisherman" -> "fishermen". */
void synth_lexicon_plural(const char *noun, gb_text *out);
/* Number of a kind; GB_MAP_NONE: there is none of that name. */
uint32_t synth_lexicon_kind(const lexicon *l, const char *name, size_t length);

#endif
