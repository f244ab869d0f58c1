/* Tells from the text of a query alone whether it asks for a fact of a passage: it has the form of
 * a question, or the keywords, of an attribute that the passage states, and names its entity; or it
 * names nothing and all its clues are facts of the passage. Whoever wrote the query. */
#include "synth/world.h"

#include <ctype.h>
#include <string.h>

enum { MADE = 3, QUERY_BYTES = 400 };

/* A query being compared with a passage. */
typedef struct reading {
    const world *w;         /* that the passage is of */
    const world_passage *p; /* the passage */
    const char *query;      /* lower case */
    size_t length;          /* of it */
    gb_text room;           /* a filled template */
} reading;

/* ---- names ---- */

/* Whether words stand in a text as whole words; any case in `words`. */
static bool holds(const char *text, size_t length, const char *words)
{
    size_t size = strlen(words);
    for (size_t i = 0; i + size <= length; i++) {
        if ((i > 0 && isalnum((unsigned char)text[i - 1])) ||
            (i + size < length && isalnum((unsigned char)text[i + size])))
            continue;
        size_t same = 0;
        while (same < size && text[i + same] == tolower((unsigned char)words[same]))
            same++;
        if (same == size)
            return true;
    }
    return false;
}

static bool holds_one(const char *text, size_t length, const lexicon_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (holds(text, length, words->items[i]))
            return true;
    return false;
}

/* The words before the first comma are the name: in full, or its first word with a noun of the
 * kind, or a surname alone. */
static bool names(const reading *r, const char *text, size_t length)
{
    const world_entity *e = &r->w->entities[r->p->entity];
    const lexicon_kind *kind = &r->w->lexicon->kinds[e->kind];
    const char *comma = memchr(text, ',', length);
    if (comma)
        length = (size_t)(comma - text);
    if (holds(text, length, e->name))
        return true;
    if (!holds(text, length, e->brief))
        return false;
    return kind->person ? !holds_one(text, length, &r->w->lexicon->she) &&
                              !holds_one(text, length, &r->w->lexicon->he)
                        : holds_one(text, length, &kind->nouns);
}

/* ---- templates ---- */

static const char *made_word(const lexicon_words *words, uint32_t which)
{
    return words->count ? words->items[which < words->count ? which : 0] : "";
}

/* Append a template with the which-th words of making; the name is a tab. */
static void put(reading *r, const char *pattern, size_t length, uint32_t which, const char *value)
{
    const lexicon_kind *kind = &r->w->lexicon->kinds[r->w->entities[r->p->entity].kind];
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] != '{') {
            gb_text_append(&r->room, pattern + i, 1);
            continue;
        }
        const char *slot = pattern + i + 1;
        size_t end = i + 1;
        for (int depth = 1; end < length; end++) {
            depth += (pattern[end] == '{') - (pattern[end] == '}');
            if (depth == 0)
                break;
        }
        if (*slot == 'G') {
            gb_text_printf(&r->room, "the ");
            put(r, slot + 2, end - i - 3, which, value);
            gb_text_printf(&r->room, " of \t");
        } else if (*slot == 'V') {
            gb_text_printf(&r->room, "%s", value);
        } else if (*slot == 'm' || *slot == 'd') {
            gb_text_printf(&r->room, "%s",
                           made_word(slot[1] == 'i'   ? &kind->did
                                     : slot[2] == 'd' ? &kind->made
                                                      : &kind->maker,
                                     which));
        } else {
            gb_text_append(&r->room, "\t", 1);
        }
        i = end;
    }
}

/* The filled template is r->room, in lower case. */
static bool fill(reading *r, const char *pattern, uint32_t which, const char *value)
{
    r->room.length = 0;
    put(r, pattern, strlen(pattern), which, value);
    synth_world_articles(&r->room, 0);
    for (size_t i = 0; i < r->room.length; i++)
        r->room.data[i] = (char)tolower((unsigned char)r->room.data[i]);
    return !r->room.failed && r->room.length > 0;
}

static bool has_choices(const char *pattern)
{
    return strstr(pattern, "{made}") || strstr(pattern, "{did}") || strstr(pattern, "{maker}");
}

/* The query is the template with the entity's name for the tab. */
static bool fits_question(reading *r, const char *pattern)
{
    for (uint32_t which = 0; which < (has_choices(pattern) ? MADE : 1); which++) {
        if (!fill(r, pattern, which, ""))
            continue;
        const char *tab = memchr(r->room.data, '\t', r->room.length);
        if (!tab)
            continue;
        size_t before = (size_t)(tab - r->room.data), behind = r->room.length - before - 1;
        if (r->length > before + behind && !memcmp(r->query, r->room.data, before) &&
            !memcmp(r->query + r->length - behind, tab + 1, behind) &&
            names(r, r->query + before, r->length - before - behind))
            return true;
    }
    return false;
}

/* "NAME price" or "price of NAME". */
static bool fits_keyword(reading *r, const lexicon_keyword *keyword)
{
    for (uint32_t which = 0; which < (has_choices(keyword->text) ? MADE : 1); which++) {
        if (!fill(r, keyword->text, which, "") || r->room.length + 1 >= r->length)
            continue;
        size_t size = r->room.length;
        const char *end = r->query + r->length - size;
        if (end[-1] == ' ' && !memcmp(end, r->room.data, size) &&
            names(r, r->query, r->length - size))
            return true;
        if (!keyword->alone && r->length > size + 4 && !memcmp(r->query, r->room.data, size) &&
            !memcmp(r->query + size, " of ", 4) &&
            names(r, r->query + size + 4, r->length - size - 4))
            return true;
    }
    return false;
}

/* Length of the clue about a fact that a text begins with, 0 for none. */
static size_t clue_length(reading *r, uint32_t fact, const char *text, size_t length)
{
    const lexicon_attribute *a = synth_world_attribute(r->w, fact);
    const lexicon_value *value = synth_world_value(r->w, fact);
    size_t max_length = 0;
    for (int c = 0; c < LEXICON_CLUES; c++)
        for (uint32_t i = 0; i < 2 * value->wordings; i++)
            for (uint32_t which = 0; which < (has_choices(a->clues[c]) ? MADE : 1); which++) {
                const char *word = i % 2 ? value->brief[i / 2] : value->full[i / 2];
                if (fill(r, a->clues[c], which, word) && r->room.length > max_length &&
                    r->room.length <= length && !memcmp(text, r->room.data, r->room.length))
                    max_length = r->room.length;
            }
    return max_length;
}

/* "which fort was built by a nun and hides a music box" */
static bool fits_clues(reading *r)
{
    const lexicon_words *nouns = &r->w->lexicon->kinds[r->w->entities[r->p->entity].kind].nouns;
    size_t at = 0;
    for (uint32_t n = 0; n < nouns->count && !strncmp(r->query, "which ", 6); n++) {
        size_t size = strlen(nouns->items[n]);
        if (!strncmp(r->query + 6, nouns->items[n], size) && r->query[6 + size] == ' ')
            at = 6 + size + 1;
    }
    if (!strncmp(r->query, "who ", 4) && synth_world_kind(r->w, r->p->entity)->person)
        at = 4;
    if (at == 0)
        return false;
    for (uint32_t f = 0; f < r->p->fact_count; f++) {
        size_t size = clue_length(r, r->p->facts[f], r->query + at, r->length - at);
        size_t rest = at + size;
        if (size && rest == r->length)
            return true;
        if (!size || r->length < rest + 5 || memcmp(r->query + rest, " and ", 5) != 0)
            continue;
        rest += 5;
        for (uint32_t g = 0; g < r->p->fact_count; g++)
            if (g != f &&
                rest + clue_length(r, r->p->facts[g], r->query + rest, r->length - rest) ==
                    r->length)
                return true;
    }
    return false;
}

bool synth_world_is_about(const world *w, uint32_t passage, const char *query, size_t length)
{
    char lower[QUERY_BYTES + 1];
    reading r = {.w = w, .p = &w->passages[passage], .query = lower};
    while (length && strchr(" ?.,", query[length - 1]))
        length--;
    if (length == 0 || length > QUERY_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)query[i]);
    lower[length] = '\0';
    r.length = length;
    bool about = fits_clues(&r), named = holds(lower, length, w->entities[r.p->entity].brief);
    for (uint32_t f = 0; f < r.p->fact_count && named && !about; f++) {
        const lexicon_attribute *a = synth_world_attribute(w, r.p->facts[f]);
        for (int i = 0; i < LEXICON_WORDINGS && !about; i++)
            about = fits_question(&r, a->questions[i]);
        for (uint32_t i = 0; i < a->keyword_count && !about; i++)
            about = fits_keyword(&r, &a->keywords[i]);
    }
    gb_text_free(&r.room);
    return about;
}

bool gb_synth_related(const gb_synth *w, const gb_pair *pair)
{
    return pair->other == GB_MAP_NONE
               ? synth_world_is_about(w, pair->passage, pair->text, pair->length)
               : w->passages[pair->passage].entity == w->passages[pair->other].entity;
}
