/* The words of the mini world. */
#include "data/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- plain English ------------------------------------------------------------------------- */

/* Fillers, the frequent ones first. Adjectives start with a consonant: they follow "a". */
static const char *const adjectives[] = {
    "new",   "great",  "large",  "small",   "long",   "high",    "low",     "young",  "bright",
    "dark",  "deep",   "wide",   "strong",  "late",   "common",  "rare",    "simple", "famous",
    "local", "modern", "plain",  "quiet",   "steady", "sudden",  "sharp",   "soft",   "warm",
    "cold",  "cool",   "dry",    "wet",     "fair",   "fine",    "free",    "full",   "green",
    "grey",  "heavy",  "hidden", "huge",    "keen",   "lasting", "lively",  "loud",   "main",
    "mild",  "modest", "narrow", "noble",   "pale",   "patient", "proud",   "pure",   "quick",
    "rich",  "rough",  "round",  "royal",   "sacred", "secret",  "serious", "short",  "silent",
    "slow",  "smooth", "solid",  "special", "stable", "strange", "tall",    "thin",   "tidy",
    "tiny",  "true",   "vast",   "vivid",   "weak",   "white",   "wild",    "wise",
};
static const char *const adverbs[] = {
    "often",    "always",    "usually",   "mostly",     "still",     "now",      "once",
    "soon",     "again",     "already",   "almost",     "clearly",   "closely",  "commonly",
    "deeply",   "directly",  "early",     "easily",     "entirely",  "fairly",   "finally",
    "firmly",   "formally",  "freely",    "fully",      "generally", "gladly",   "gradually",
    "greatly",  "happily",   "highly",    "indeed",     "instead",   "jointly",  "justly",
    "kindly",   "largely",   "lately",    "loosely",    "mainly",    "merely",   "nearly",
    "neatly",   "newly",     "nicely",    "officially", "openly",    "partly",   "perhaps",
    "plainly",  "possibly",  "presently", "privately",  "promptly",  "properly", "proudly",
    "publicly", "purely",    "quickly",   "quietly",    "quite",     "readily",  "really",
    "recently", "regularly", "safely",    "simply",     "slowly",    "softly",   "steadily",
    "strictly", "strongly",  "surely",    "suddenly",   "today",     "together", "truly",
    "twice",    "widely",    "wisely",
};
static const char *const nouns[] = {
    "year",    "season",  "north",   "south",    "east",   "west",    "valley",  "coast",
    "market",  "harvest", "winter",  "summer",   "spring", "autumn",  "morning", "evening",
    "night",   "day",     "century", "king",     "queen",  "council", "law",     "trade",
    "road",    "bridge",  "gate",    "wall",     "tower",  "field",   "forest",  "lake",
    "sea",     "island",  "bay",     "harbor",   "port",   "garden",  "mill",    "mine",
    "quarry",  "school",  "temple",  "library",  "museum", "court",   "army",    "fleet",
    "border",  "hill",    "marsh",   "desert",   "cave",   "well",    "farm",    "inn",
    "castle",  "square",  "street",  "station",  "canal",  "dam",     "region",  "province",
    "capital", "empire",  "treaty",  "festival", "storm",  "flood",   "drought", "famine",
    "peace",   "feast",   "journey", "story",    "song",   "book",    "map",     "letter",
};
/* Kinds of entities; the usual noun first. */
static const char *const type_nouns[][WORLD_NOUNS] = {
    {"town", "city", "settlement", "borough"},
    {"river", "stream", "waterway", "creek"},
    {"ship", "vessel", "boat", "craft"},
    {"scholar", "thinker", "teacher", "writer"},
    {"guild", "company", "society", "brotherhood"},
    {"mountain", "peak", "summit", "ridge"},
};
/* Kinds of entities of other sets; all of them fillers, so that the vocabulary has them. */
static const char *const other_nouns[][WORLD_NOUNS] = {
    {"road", "street", "bridge", "gate"},       {"lake", "bay", "sea", "canal"},
    {"castle", "tower", "wall", "court"},       {"school", "library", "museum", "temple"},
    {"farm", "field", "garden", "mill"},        {"storm", "flood", "drought", "famine"},
    {"book", "story", "song", "letter"},        {"treaty", "law", "peace", "council"},
    {"empire", "province", "region", "border"}, {"festival", "feast", "harvest", "journey"},
    {"army", "fleet", "port", "harbor"},        {"mine", "quarry", "cave", "well"},
    {"forest", "hill", "marsh", "desert"},      {"market", "square", "station", "inn"},
};
/* What the patterns of sentences and queries hold besides; a test finds one that is missing. */
static const char *const glue[] = {
    "the",    "of",     "a",     "is",    "was",   "has",   "had",    "its",
    "it",     "as",     "in",    "with",  "and",   "by",    "near",   "for",
    "known",  "kept",   "chose", "grew",  "holds", "alias", "people", "call",
    "became", "called", "what",  "which", "does",  "have",  "where",
};
static const char *const punctuation[] = {".", ",", "?"};

enum { FILLERS = 80, TYPES_WITH_NOUNS = sizeof type_nouns / sizeof *type_nouns };
#define COUNT(array) (sizeof(array) / sizeof *(array))
_Static_assert(COUNT(adjectives) == FILLERS && COUNT(adverbs) == FILLERS && COUNT(nouns) == FILLERS,
               "the three kinds of fillers are equally many");

const char *gb_world_noun(const world *w, uint32_t type, uint32_t which)
{
    type = (w->params.first_type + type) % (TYPES_WITH_NOUNS + COUNT(other_nouns));
    return type < TYPES_WITH_NOUNS ? type_nouns[type][which]
                                   : other_nouns[type - TYPES_WITH_NOUNS][which];
}

const char *gb_world_filler(gb_rng *rng, char kind)
{
    double total = 0;
    for (int i = 0; i < FILLERS; i++)
        total += 1.0 / (i + 1);
    double at = gb_rng_uniform(rng) * total;
    int rank = 0;
    while (rank < FILLERS - 1 && (at -= 1.0 / (rank + 1)) >= 0)
        rank++;
    return kind == 'J' ? adjectives[rank] : kind == 'D' ? adverbs[rank] : nouns[rank];
}

/* ---- invented words ------------------------------------------------------------------------ */

/* Consonants and endings are such that Porter's stemmer leaves every word as it is, and every word
 * is pronounceable. */
static const char consonants[] = "bdfgklmnprstvz";
static const char vowels[] = "aeiou";
static const char last_vowels[] = "aou";
static const char last_consonants[] = "kpbgvfxz";
static const char *const onsets[] = {"br", "dr", "fl", "fr", "gl", "gr", "kl", "kr",
                                     "pl", "pr", "sk", "sl", "sn", "st", "tr", "vr"};
/* Syllables that would read as something rude. */
static const char *const rude[] = {"fag", "fuk", "nig", "dik", "tit", "kok", "pis",
                                   "rap", "naz", "kun", "fuk", "dag", "pup", "kak"};

static void invent(gb_rng *rng, const char *pattern, char *word)
{
    size_t length = 0;
    for (const char *p = pattern; *p; p++) {
        const char *from = *p == 'C'   ? consonants
                           : *p == 'V' ? vowels
                           : *p == 'v' ? last_vowels
                                       : last_consonants;
        if (*p == 'O') {
            memcpy(word + length, onsets[gb_rng_below(rng, COUNT(onsets))], 2);
            length += 2;
        } else {
            word[length++] = from[gb_rng_below(rng, (uint32_t)strlen(from))];
        }
    }
    word[length] = '\0';
}

static bool is_rude(const char *word)
{
    for (size_t i = 0; i < COUNT(rude); i++)
        if (strstr(word, rude[i]))
            return true;
    return false;
}

/* WordPiece takes the longest word that fits: a plain word must not begin like a name. */
static bool begins_plain_word(const char *piece)
{
    static const struct {
        const char *const *words; /* a list */
        size_t count;             /* its length */
    } lists[] = {{adjectives, FILLERS},
                 {adverbs, FILLERS},
                 {nouns, FILLERS},
                 {type_nouns[0], TYPES_WITH_NOUNS * WORLD_NOUNS},
                 {glue, COUNT(glue)}};
    for (size_t l = 0; l < COUNT(lists); l++)
        for (size_t i = 0; i < lists[l].count; i++)
            if (strncmp(lists[l].words[i], piece, strlen(piece)) == 0)
                return true;
    return false;
}

/* A new word of the pattern, unlike all before. */
static const char *new_word(world *w, gb_rng *rng, const char *pattern, gb_map *taken,
                            gb_status *status)
{
    char word[16];
    do
        invent(rng, pattern, word);
    while (is_rude(word) || begins_plain_word(word) ||
           gb_map_get(taken, word, strlen(word)) != GB_MAP_NONE);
    if (!gb_map_set(taken, word, strlen(word), 1, status))
        return NULL;
    return gb_arena_strdup(w->arena, word, strlen(word), status);
}

static bool make_names(world *w, gb_rng *rng, gb_map *taken, gb_status *status)
{
    for (uint32_t i = 0; i < WORLD_PIECES; i++) {
        if (!(w->words.first_pieces[i] = new_word(w, rng, "CVCV", taken, status)) ||
            !(w->words.second_pieces[i] = new_word(w, rng, "CVCv", taken, status)))
            return false;
    }
    uint32_t order[WORLD_PIECES * WORLD_PIECES];
    gb_rng_order(rng, order, COUNT(order));
    for (uint32_t i = 0; i < 2 * w->params.entities; i++) {
        gb_text name = {0};
        gb_text_printf(&name, "%s%s", w->words.first_pieces[order[i] / WORLD_PIECES],
                       w->words.second_pieces[order[i] % WORLD_PIECES]);
        if (!name.failed)
            name.data[0] = (char)toupper((unsigned char)name.data[0]);
        const char *kept = gb_world_string(w, &name, status);
        gb_text_free(&name);
        if (!kept)
            return false;
        world_entity *entity = &w->entities[i / 2];
        *(i % 2 ? &entity->alias : &entity->name) = kept;
    }
    return true;
}

/* ---- words of other sets ------------------------------------------------------------------- */

/* Names of the language's pieces that it does not use itself. */
static bool borrow_names(world *w, gb_rng *rng, gb_map *taken, gb_status *status)
{
    const world *from = w->language;
    memcpy(w->words.first_pieces, from->words.first_pieces, sizeof w->words.first_pieces);
    memcpy(w->words.second_pieces, from->words.second_pieces, sizeof w->words.second_pieces);
    for (uint32_t i = 0; i < 2 * from->params.entities; i++) {
        const char *name = i % 2 ? from->entities[i / 2].alias : from->entities[i / 2].name;
        if (!gb_map_set(taken, name, strlen(name), 1, status))
            return false;
    }
    uint32_t order[WORLD_PIECES * WORLD_PIECES], next = 0;
    gb_rng_order(rng, order, COUNT(order));
    for (uint32_t i = 0; i < 2 * w->params.entities;) {
        gb_text name = {0};
        gb_text_printf(&name, "%s%s", w->words.first_pieces[order[next] / WORLD_PIECES],
                       w->words.second_pieces[order[next] % WORLD_PIECES]);
        next++;
        if (!name.failed)
            name.data[0] = (char)toupper((unsigned char)name.data[0]);
        bool used = !name.failed && gb_map_get(taken, name.data, name.length) != GB_MAP_NONE;
        const char *kept = used ? "" : gb_world_string(w, &name, status);
        gb_text_free(&name);
        if (!kept)
            return false;
        if (used)
            continue;
        *(i % 2 ? &w->entities[i / 2].alias : &w->entities[i / 2].name) = kept;
        i++;
    }
    return true;
}

/* A word that the language does not have, of three of its pieces: the vocabulary covers it. */
static const char *foreign_word(world *w, gb_rng *rng, gb_map *taken, gb_status *status)
{
    char word[40];
    do
        snprintf(word, sizeof word, "%s%s%s",
                 w->words.first_pieces[gb_rng_below(rng, WORLD_PIECES)],
                 w->words.second_pieces[gb_rng_below(rng, WORLD_PIECES)],
                 w->words.second_pieces[gb_rng_below(rng, WORLD_PIECES)]);
    while (is_rude(word) || gb_map_get(taken, word, strlen(word)) != GB_MAP_NONE);
    if (!gb_map_set(taken, word, strlen(word), 1, status))
        return NULL;
    return gb_arena_strdup(w->arena, word, strlen(word), status);
}

static bool foreign_attribute(world *w, uint32_t a, gb_rng *rng, gb_map *taken, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < WORLD_WORDINGS; i++)
        ok = (w->words.attributes[a][i] = foreign_word(w, rng, taken, status)) != NULL;
    for (uint32_t i = 0; ok && !w->takes_entity[a] && i < WORLD_VALUES * WORLD_VALUE_WORDINGS; i++)
        ok = (w->words.values[a][i / 2][i % 2] = foreign_word(w, rng, taken, status)) != NULL;
    return ok;
}

/* Attributes are the language's with their words and values, but for a share of foreign ones.
 * Where there are no more of a kind (with or without values), foreign ones take their place. */
static bool borrow_attributes(world *w, gb_rng *rng, gb_map *taken, gb_status *status)
{
    const world *from = w->language;
    uint32_t *order = gb_world_array(w, from->attributes, sizeof *order, status);
    uint32_t *own = gb_world_array(w, w->attributes, sizeof *own, status);
    if (!order || !own)
        return false;
    gb_rng_order(rng, order, from->attributes);
    gb_rng_order(rng, own, w->attributes);
    uint32_t foreign = (uint32_t)(w->params.foreign * w->attributes + 0.5), next[2] = {0};
    for (uint32_t i = 0; i < w->attributes; i++) {
        uint32_t a = own[i], *at = &next[w->takes_entity[a]];
        while (*at < from->attributes && from->takes_entity[order[*at]] != w->takes_entity[a])
            ++*at;
        if (i < foreign || *at == from->attributes) {
            if (!foreign_attribute(w, a, rng, taken, status))
                return false;
            continue;
        }
        memcpy(w->words.attributes[a], from->words.attributes[order[*at]],
               sizeof w->words.attributes[a]);
        memcpy(w->words.values[a], from->words.values[order[*at]], sizeof w->words.values[a]);
        ++*at;
    }
    return true;
}

/* Values of which each takes every ending: many different ones, as answers to questions are. */
static bool end_values(world *w, gb_status *status)
{
    if (w->params.endings == 0)
        return true;
    uint32_t values = gb_world_values(w), endings = w->params.endings;
    w->ended = gb_world_array(w, (size_t)w->attributes * values * WORLD_VALUE_WORDINGS,
                              sizeof *w->ended, status);
    for (uint32_t i = 0; w->ended && i < w->attributes * values * WORLD_VALUE_WORDINGS; i++) {
        uint32_t a = i / WORLD_VALUE_WORDINGS / values, v = i / WORLD_VALUE_WORDINGS % values;
        if (w->takes_entity[a])
            continue;
        char word[48];
        int length = snprintf(word, sizeof word, "%s%s",
                              w->words.values[a][v / endings][i % WORLD_VALUE_WORDINGS],
                              w->words.second_pieces[v % endings]);
        if (!(w->ended[i] = gb_arena_strdup(w->arena, word, (size_t)length, status)))
            return false;
    }
    return w->ended != NULL;
}

static bool borrow_words(world *w, gb_status *status)
{
    uint32_t names = WORLD_PIECES * WORLD_PIECES - 2 * w->language->params.entities;
    if (2 * w->params.entities > names || w->params.endings > WORLD_PIECES)
        return gb_fail(status, GB_USAGE, NULL, NULL, "too many entities or endings for the names");
    gb_map *taken = gb_map_create(status);
    gb_rng rng = gb_world_rng(w, STAGE_WORDS, 0);
    bool ok = taken && borrow_names(w, &rng, taken, status) &&
              borrow_attributes(w, &rng, taken, status) && end_values(w, status);
    gb_map_destroy(taken);
    return ok;
}

/* ---- all words ------------------------------------------------------------------------------ */

bool gb_world_make_words(world *w, gb_status *status)
{
    if (w->language) {
        w->words.attributes = gb_world_array(w, w->attributes, sizeof *w->words.attributes, status);
        w->words.values = gb_world_array(w, w->attributes, sizeof *w->words.values, status);
        return w->words.attributes && w->words.values && borrow_words(w, status);
    }
    if (2 * w->params.entities > WORLD_PIECES * WORLD_PIECES || w->params.types > TYPES_WITH_NOUNS)
        return gb_fail(status, GB_USAGE, NULL, NULL, "too many entities or types for the names");
    w->words.attributes = gb_world_array(w, w->attributes, sizeof *w->words.attributes, status);
    w->words.values = gb_world_array(w, w->attributes, sizeof *w->words.values, status);
    gb_map *taken = gb_map_create(status);
    gb_rng rng = gb_world_rng(w, STAGE_WORDS, 0);
    bool ok = w->words.attributes && w->words.values && taken && make_names(w, &rng, taken, status);
    for (uint32_t a = 0; ok && a < w->attributes; a++) {
        for (uint32_t i = 0; ok && i < WORLD_WORDINGS; i++)
            ok = (w->words.attributes[a][i] = new_word(w, &rng, "OVCVF", taken, status)) != NULL;
        if (w->takes_entity[a])
            continue;
        for (uint32_t i = 0; ok && i < WORLD_VALUES * WORLD_VALUE_WORDINGS; i++)
            ok = (w->words.values[a][i / 2][i % 2] = new_word(w, &rng, "CVCCVF", taken, status)) !=
                 NULL;
    }
    gb_map_destroy(taken);
    return ok;
}

/* ---- vocabulary ---------------------------------------------------------------------------- */

/* Each word once: some stand in two lists. */
static bool put(FILE *out, gb_map *seen, const char *word, const char *mark)
{
    char token[40];
    int length = snprintf(token, sizeof token, "%s%s", mark, word);
    if (gb_map_get(seen, token, (size_t)length) != GB_MAP_NONE)
        return true;
    fprintf(out, "%s\n", token);
    return gb_map_set(seen, token, (size_t)length, 1, NULL);
}

static bool put_list(FILE *out, gb_map *seen, const char *const *words, size_t count,
                     const char *mark)
{
    for (size_t i = 0; i < count; i++)
        if (!put(out, seen, words[i], mark))
            return false;
    return true;
}

static bool put_world(const world *w, FILE *out, gb_map *seen)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    bool ok = put_list(out, seen, specials, COUNT(specials), "") &&
              put_list(out, seen, punctuation, COUNT(punctuation), "") &&
              put_list(out, seen, glue, COUNT(glue), "") &&
              put_list(out, seen, type_nouns[0], TYPES_WITH_NOUNS * WORLD_NOUNS, "") &&
              put_list(out, seen, adjectives, FILLERS, "") &&
              put_list(out, seen, adverbs, FILLERS, "") &&
              put_list(out, seen, nouns, FILLERS, "") &&
              put_list(out, seen, w->words.first_pieces, WORLD_PIECES, "") &&
              put_list(out, seen, w->words.second_pieces, WORLD_PIECES, "##");
    for (uint32_t a = 0; ok && a < w->attributes; a++) {
        ok = put_list(out, seen, w->words.attributes[a], WORLD_WORDINGS, "");
        if (ok && !w->takes_entity[a])
            ok =
                put_list(out, seen, w->words.values[a][0], WORLD_VALUES * WORLD_VALUE_WORDINGS, "");
    }
    return ok;
}

bool gb_world_write_vocab(const world *w, const char *path, gb_status *status)
{
    gb_map *seen = gb_map_create(status);
    gb_out *out = seen ? gb_out_open(path, status) : NULL;
    bool ok = out && put_world(w, gb_out_stream(out), seen);
    if (out && !ok)
        gb_fail_memory(status, "writing the vocabulary");
    gb_map_destroy(seen);
    if (ok)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}
