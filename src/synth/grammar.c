/* Templates become English: slots are filled, "a" and "an" are put right.
 *
 * {S} subject, {O} object, {G x} "its x" or "the x of O", {V} value, {is/are} the one or the other
 * as the value is one or several, {T} {made} {did} {maker} words of the kind, {p} {ps} {s} {a}
 * words of the theme, {N} what an attribute is called. Slots may stand inside {G }. */
#include "synth/world.h"

#include <ctype.h>
#include <string.h>

static const double noun_weights[] = {0.45, 0.30, 0.15, 0.10};
static const double made_weights[] = {0.60, 0.25, 0.15};

const char *synth_world_noun(const world *w, gb_rng *rng, uint32_t kind)
{
    const lexicon_words *nouns = &w->lexicon->kinds[kind].nouns;
    return nouns->items[synth_world_pick(rng, noun_weights, nouns->count < 4 ? nouns->count : 4)];
}

static const char *made(gb_rng *rng, const lexicon_words *words)
{
    return words->count ? words->items[synth_world_pick(rng, made_weights,
                                                        words->count < 3 ? words->count : 3)]
                        : "";
}

static bool is(const char *slot, size_t length, const char *name)
{
    return strlen(name) == length && !strncmp(slot, name, length);
}

static void expand(const world_slots *s, const char *pattern, size_t length, gb_text *out);

/* {G x} */
static void genitive(const world_slots *s, const char *slot, size_t length, gb_text *out)
{
    gb_text_printf(out, "%s ", s->owner ? s->owner : "the");
    expand(s, slot, length, out);
    if (!s->owner)
        gb_text_printf(out, " of %s", s->object);
}

static void fill(const world_slots *s, const char *slot, size_t length, gb_text *out)
{
    const lexicon_kind *kind = &s->w->lexicon->kinds[s->kind];
    const char *slash = memchr(slot, '/', length);
    if (length > 2 && !strncmp(slot, "G ", 2))
        genitive(s, slot + 2, length - 2, out);
    else if (slash && s->plural)
        gb_text_append(out, slash + 1, (size_t)(slot + length - slash) - 1);
    else if (slash)
        gb_text_append(out, slot, (size_t)(slash - slot));
    else if (is(slot, length, "S"))
        gb_text_printf(out, "%s", s->subject);
    else if (is(slot, length, "O"))
        gb_text_printf(out, "%s", s->object);
    else if (is(slot, length, "V"))
        gb_text_printf(out, "%s", s->value);
    else if (is(slot, length, "N"))
        expand(s, s->called, strlen(s->called), out);
    else if (is(slot, length, "T"))
        gb_text_printf(out, "%s", synth_world_noun(s->w, s->rng, s->kind));
    else if (is(slot, length, "made"))
        gb_text_printf(out, "%s", made(s->rng, &kind->made));
    else if (is(slot, length, "did"))
        gb_text_printf(out, "%s", made(s->rng, &kind->did));
    else if (is(slot, length, "maker"))
        gb_text_printf(out, "%s", made(s->rng, &kind->maker));
    else if (is(slot, length, "p"))
        gb_text_printf(out, "%s", synth_world_falling(s->rng, &s->theme->people));
    else if (is(slot, length, "ps"))
        synth_lexicon_plural(synth_world_falling(s->rng, &s->theme->people), out);
    else if (is(slot, length, "s"))
        gb_text_printf(out, "%s", synth_world_falling(s->rng, &s->theme->scenes));
    else if (is(slot, length, "a"))
        gb_text_printf(out, "%s", synth_world_falling(s->rng, &s->theme->adjectives));
    else /* a slot nobody knows stays as it is, and a test finds it */
        gb_text_printf(out, "{%.*s}", (int)length, slot);
}

static void expand(const world_slots *s, const char *pattern, size_t length, gb_text *out)
{
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] != '{') {
            gb_text_append(out, pattern + i, 1);
            continue;
        }
        size_t end = i + 1;
        for (int depth = 1; end < length; end++) {
            depth += (pattern[end] == '{') - (pattern[end] == '}');
            if (depth == 0)
                break;
        }
        fill(s, pattern + i + 1, end - i - 1, out);
        i = end;
    }
}

void synth_world_expand(const world_slots *slots, const char *pattern, gb_text *out)
{
    expand(slots, pattern, strlen(pattern), out);
}

/* Whether a word is spoken with a vowel first. */
static bool begins_with_vowel(const char *word)
{
    static const char *const spoken_otherwise[] = {"one", "uni", "use", "eu", "ewe"};
    static const char *const silent[] = {"hour", "honest", "honour", "heir"};
    char lower[8] = "";
    for (size_t i = 0; i < sizeof lower - 1 && isalpha((unsigned char)word[i]); i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    for (size_t i = 0; i < sizeof spoken_otherwise / sizeof *spoken_otherwise; i++)
        if (!strncmp(lower, spoken_otherwise[i], strlen(spoken_otherwise[i])))
            return false;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (!strncmp(lower, silent[i], strlen(silent[i])))
            return true;
    return *lower && strchr("aeiou", *lower);
}

void synth_world_articles(gb_text *text, size_t start)
{
    gb_text right = {0};
    for (size_t i = start; i < text->length; i++) {
        const char *at = text->data + i;
        bool opens = i == 0 || !isalnum((unsigned char)at[-1]);
        size_t article = 0;
        if (opens && tolower((unsigned char)*at) == 'a')
            article = at[1] == ' ' ? 1 : at[1] == 'n' && at[2] == ' ' ? 2 : 0;
        gb_text_append(&right, at, 1);
        if (article == 0)
            continue;
        if (begins_with_vowel(at + article + 1))
            gb_text_append(&right, "n", 1);
        i += article - 1;
    }
    text->length = start;
    if (right.length)
        gb_text_append(text, right.data, right.length);
    text->failed |= right.failed;
    gb_text_free(&right);
}

uint32_t synth_world_tokens(const gb_text *text)
{
    uint32_t tokens = 0;
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i];
        bool opens = isalnum(c) && (i == 0 || !isalnum((unsigned char)text->data[i - 1]));
        tokens += opens + (opens && isupper(c)) + (!isalnum(c) && c != ' ');
    }
    return tokens;
}
