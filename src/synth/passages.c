/* Entries: sentences that tell the facts of a text, and what stands between them. */
#include "synth/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SENTENCES = WORLD_MOST_STATED + WORLD_MOST_ASIDES + 2 };
static const double INTRO = 0.25;                   /* texts that begin with no fact */
static const double OWN_THEME = 0.75;               /* details of the theme of the entity */
static const double preference[] = {0.5, 0.3, 0.2}; /* of wordings */
static const double SAME_VALUE = 0.6;               /* a value with two wordings takes the first */

/* How a sentence speaks of its entity: "the Tesket Wort", "the Tesket herb", "the herb", "it". */
typedef enum mention { MENTION_FULL, MENTION_BRIEF, MENTION_NOUN, MENTION_PRONOUN } mention;

/* A text being written, sentence by sentence. */
typedef struct entry {
    const world *w;                   /* whose */
    uint32_t entity;                  /* the main one */
    gb_rng rng;                       /* of the text */
    bool named;                       /* some sentence has named the entity */
    bool last_own;                    /* the last sentence is about it */
    bool last_named;                  /* and names it */
    gb_text sentence[MOST_SENTENCES]; /* without stop */
    gb_text detail[MOST_SENTENCES];   /* hung on it, or empty */
    uint32_t of[MOST_SENTENCES];      /* entity that it is about */
    uint32_t count;                   /* sentences */
} entry;

/* ---- subjects ---- */

/* Whether a sentence sounds right with "it" in the place of the name: "at it people play" does not.
 */
static bool takes_pronoun(const char *pattern)
{
    static const char *const stiff[] = {"at {O}", "of {O}", "from {O}", "near {O}"};
    for (size_t i = 0; i < sizeof stiff / sizeof *stiff; i++)
        if (strstr(pattern, stiff[i]))
            return false;
    return true;
}

static mention choose_mention(entry *t, const char *pattern)
{
    double at = gb_rng_uniform(&t->rng);
    bool person = synth_world_kind(t->w, t->entity)->person;
    if (t->count == 0) /* people are introduced by name */
        return at < 0.75   ? MENTION_FULL
               : at < 0.92 ? MENTION_BRIEF
               : person    ? MENTION_FULL
                           : MENTION_NOUN;
    if (!t->named)
        return at < 0.5 ? MENTION_FULL : at < 0.7 ? MENTION_BRIEF : MENTION_NOUN;
    bool again = t->last_own && t->last_named; /* one does not say a name twice in a row */
    if (at < (again ? 0.04 : 0.20))
        return MENTION_FULL;
    if (at < (again ? 0.10 : 0.34))
        return MENTION_BRIEF;
    return at < 0.55 || !t->last_own || !takes_pronoun(pattern) ? MENTION_NOUN : MENTION_PRONOUN;
}

/* Fill subject, object and owner; their text lies in `room`. */
static void speak_of(entry *t, mention how, gb_text *room, world_slots *s)
{
    const world_entity *e = &t->w->entities[t->entity];
    bool person = synth_world_kind(t->w, t->entity)->person;
    if (how == MENTION_PRONOUN) {
        s->subject = e->she ? "she" : e->he ? "he" : "it";
        s->object = e->she ? "her" : e->he ? "him" : "it";
        s->owner = e->she ? "her" : e->he ? "his" : "its";
        t->last_named = false;
        return;
    }
    const char *noun = synth_world_noun(t->w, &t->rng, e->kind);
    if (how == MENTION_FULL)
        gb_text_printf(room, "%s", e->full);
    else if (how == MENTION_BRIEF && person)
        gb_text_printf(room, "%s", e->brief);
    else if (how == MENTION_BRIEF)
        gb_text_printf(room, "the %s %s", e->brief, noun);
    else
        gb_text_printf(room, "%s %s", t->count || person ? "the" : "this", noun);
    s->subject = s->object = room->failed ? "" : room->data;
    t->last_named = how == MENTION_FULL || how == MENTION_BRIEF;
    t->named = t->named || t->last_named;
}

/* ---- sentences ---- */

static void choose_value(const lexicon_value *value, gb_rng *rng, world_slots *s)
{
    uint32_t i = value->wordings > 1 && !synth_world_chance(rng, SAME_VALUE);
    s->value = value->full[i];
    s->plural = value->plural[i];
}

/* Append a sentence of a template, its first letter a capital. */
static void put(const world_slots *s, const char *pattern, gb_text *out)
{
    size_t start = out->length;
    synth_world_expand(s, pattern, out);
    synth_world_articles(out, start);
    if (!out->failed && out->length > start)
        out->data[start] = (char)toupper((unsigned char)out->data[start]);
}

static world_slots slots_of(entry *t, uint32_t entity)
{
    return (world_slots){.w = t->w,
                         .rng = &t->rng,
                         .kind = t->w->entities[entity].kind,
                         .theme = &t->w->lexicon->themes[t->w->entities[entity].theme]};
}

static void add_detail(entry *t)
{
    const lexicon *l = t->w->lexicon;
    if (!synth_world_chance(&t->rng, t->w->set->detail))
        return;
    world_slots s = slots_of(t, t->entity);
    if (!synth_world_chance(&t->rng, OWN_THEME))
        s.theme = &l->themes[gb_rng_below(&t->rng, l->theme_count)];
    gb_text *out = &t->detail[t->count];
    gb_text_printf(out, ", ");
    synth_world_expand(&s, synth_world_any(&t->rng, &l->detail), out);
    synth_world_articles(out, 0);
}

static void add_intro(entry *t)
{
    bool person = synth_world_kind(t->w, t->entity)->person;
    const lexicon_words *patterns = person ? &t->w->lexicon->person : &t->w->lexicon->intro;
    world_slots s = slots_of(t, t->entity);
    s.subject = s.object = t->w->entities[t->entity].full;
    s.owner = t->w->entities[t->entity].she ? "her" : "his"; /* only people's have one */
    put(&s, synth_world_any(&t->rng, patterns), &t->sentence[t->count]);
    t->of[t->count++] = t->entity;
    t->named = t->last_own = t->last_named = true;
}

static void add_fact(entry *t, uint32_t fact, uint32_t *wording)
{
    const lexicon_attribute *a = synth_world_attribute(t->w, fact);
    world_slots s = slots_of(t, t->entity);
    gb_text room = {0};
    *wording = synth_world_pick(&t->rng, preference, LEXICON_WORDINGS);
    speak_of(t, choose_mention(t, a->passages[*wording]), &room, &s);
    choose_value(synth_world_value(t->w, fact), &t->rng, &s);
    put(&s, a->passages[*wording], &t->sentence[t->count]);
    add_detail(t);
    t->of[t->count++] = t->entity;
    t->last_own = true;
    gb_text_free(&room);
}

static void add_aside(entry *t, uint32_t fact)
{
    uint32_t entity = t->w->facts[fact].entity;
    world_slots s = slots_of(t, entity);
    s.subject = s.object = t->w->entities[entity].full;
    choose_value(synth_world_value(t->w, fact), &t->rng, &s);
    uint32_t wording = synth_world_pick(&t->rng, preference, LEXICON_WORDINGS);
    put(&s, synth_world_attribute(t->w, fact)->passages[wording], &t->sentence[t->count]);
    t->of[t->count++] = entity;
    t->last_own = false;
}

static void add_echo(entry *t, uint32_t fact)
{
    world_slots s = slots_of(t, t->entity);
    gb_text room = {0};
    speak_of(t, t->named && t->last_own ? MENTION_PRONOUN : MENTION_FULL, &room, &s);
    s.called = synth_world_attribute(t->w, fact)->keywords[0].text;
    put(&s, synth_world_any(&t->rng, &t->w->lexicon->echo), &t->sentence[t->count]);
    t->of[t->count++] = t->entity;
    gb_text_free(&room);
}

void synth_world_write_claim(const world *w, uint32_t fact, const lexicon_value *value, gb_rng *rng,
                             gb_text *out)
{
    uint32_t entity = w->facts[fact].entity;
    world_slots s = {.w = w, .rng = rng, .kind = w->entities[entity].kind};
    s.subject = s.object = w->entities[entity].full;
    choose_value(value ? value : synth_world_value(w, fact), rng, &s);
    uint32_t wording = synth_world_pick(rng, preference, LEXICON_WORDINGS);
    put(&s, synth_world_attribute(w, fact)->passages[wording], out);
}

/* ---- texts ---- */

static void leave_out(entry *t, uint32_t i)
{
    gb_text_free(&t->sentence[i]);
    gb_text_free(&t->detail[i]);
    t->count--;
    for (uint32_t j = i; j < t->count; j++) {
        t->sentence[j] = t->sentence[j + 1];
        t->detail[j] = t->detail[j + 1];
        t->of[j] = t->of[j + 1];
    }
    t->sentence[t->count] = t->detail[t->count] = (gb_text){0};
}

static uint32_t all_tokens(const entry *t)
{
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < t->count; i++)
        tokens += synth_world_tokens(&t->sentence[i]) + synth_world_tokens(&t->detail[i]) + 1;
    return tokens;
}

/* Leave out details, the last ones first, then the echo, then asides, until the text is short
 * enough: what is cut off at the end would be lost to those who look for it. */
static void shorten(entry *t, world_passage *p)
{
    const uint32_t most = t->w->set->max_tokens;
    for (uint32_t i = t->count; i-- > 0 && all_tokens(t) > most;)
        t->detail[i].length = 0;
    if (p->echo != GB_MAP_NONE && all_tokens(t) > most) {
        leave_out(t, t->count - 1);
        p->echo = GB_MAP_NONE;
    }
    for (uint32_t i = t->count; i-- > 0 && all_tokens(t) > most;)
        if (t->of[i] != t->entity) {
            leave_out(t, i);
            p->aside_count--; /* they are in order, so the last one went */
        }
}

static bool join(world *w, entry *t, world_passage *p, gb_text *out, gb_status *status)
{
    out->length = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        out->failed |= t->sentence[i].failed || t->detail[i].failed;
        gb_text_printf(out, "%s%.*s%.*s.", out->length ? " " : "", (int)t->sentence[i].length,
                       t->sentence[i].data, (int)t->detail[i].length,
                       t->detail[i].length ? t->detail[i].data : "");
        p->sentences++;
    }
    p->text = synth_world_keep(w, out, status);
    return p->text != NULL;
}

/* All sentences of a text. */
static void compose(entry *t, world_passage *p, bool intro)
{
    if (intro)
        add_intro(t);
    uint32_t aside_at = gb_rng_below(&t->rng, p->fact_count);
    for (uint32_t f = 0; f < p->fact_count; f++) {
        add_fact(t, p->facts[f], &p->wording[f]);
        for (uint32_t a = 0; f == aside_at && a < p->aside_count; a++)
            add_aside(t, p->asides[a]);
    }
    if (p->echo != GB_MAP_NONE)
        add_echo(t, p->echo);
    p->named = t->named;
    shorten(t, p);
}

static void clear(entry *t)
{
    for (uint32_t i = 0; i < MOST_SENTENCES; i++) {
        gb_text_free(&t->sentence[i]);
        gb_text_free(&t->detail[i]);
    }
}

static bool write_passage(world *w, uint32_t row, gb_text *out, gb_status *status)
{
    world_passage *p = &w->passages[row], planned = *p;
    entry t = {.w = w, .entity = p->entity, .rng = synth_world_rng(w, STAGE_TEXT, row)};
    bool intro = p->round == 0 && synth_world_chance(&t.rng, INTRO);
    compose(&t, p, intro);
    if (intro && all_tokens(&t) > w->set->max_tokens) {
        clear(&t);
        t = (entry){.w = w, .entity = p->entity, .rng = t.rng};
        *p = planned;
        compose(&t, p, false);
    }
    bool ok = join(w, &t, p, out, status);
    clear(&t);
    return ok;
}

bool synth_world_write_texts(world *w, gb_status *status)
{
    gb_text text = {0};
    bool ok = true;
    for (uint32_t row = 0; row < w->passage_count && ok; row++)
        ok = write_passage(w, row, &text, status);
    gb_text_free(&text);
    return ok;
}
