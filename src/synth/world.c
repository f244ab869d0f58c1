/* The mini world: its things, their facts, and the documents that tell them. */
#include "synth/world.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_WORDS = 150, /* of names in main */
    PEOPLE = 140,      /* in main */
    SET_PEOPLE = 60,   /* in another set, none of main's */
    TRIES = 100,
};
static const double RELATED = 0.355; /* pairs of passages of a document in main */
static const double RESTATED =
    0.08; /* texts with room that tell a fact that is told elsewhere too */
static const double THEME_SHARE = 0.17; /* of the values of a list that a theme likes */
static const double THEME_PULL = 4;     /* so much more often do they go with it */
static const double SAME_WORD = 0.3;    /* neighbours with the same first word */
static const double SAME_THEME = 0.4;   /* and of the same theme */
static const double QUALIFIED = 0.15;   /* names with an adjective before */

/* ---- draws ---- */

gb_rng synth_world_rng(const world *w, uint32_t stage, uint32_t row)
{
    return gb_rng_make(w->seed, GB_RNG_WORLD, stage | w->number << 8, row);
}

/* A stream of the language, which all sets share. */
static gb_rng language_rng(const world *w, uint32_t stage, uint32_t row)
{
    return gb_rng_make(w->seed, GB_RNG_WORLD, stage, row);
}

bool synth_world_chance(gb_rng *rng, double probability)
{
    return gb_rng_uniform(rng) < probability;
}

uint32_t synth_world_pick(gb_rng *rng, const double *weights, uint32_t count)
{
    double total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += weights[i];
    double at = gb_rng_uniform(rng) * total;
    uint32_t which = 0;
    while (which < count - 1 && (at -= weights[which]) >= 0)
        which++;
    return which;
}

const char *synth_world_falling(gb_rng *rng, const lexicon_words *words)
{
    double weights[64];
    uint32_t count = words->count < 64 ? words->count : 64;
    for (uint32_t i = 0; i < count; i++)
        weights[i] = 1.0 / (1 + i);
    return words->items[synth_world_pick(rng, weights, count)];
}

const char *synth_world_any(gb_rng *rng, const lexicon_words *words)
{
    return words->items[gb_rng_below(rng, words->count)];
}

void *synth_world_array(world *w, size_t count, size_t size, gb_status *status)
{
    return gb_arena_alloc(w->arena, count * size, status);
}

const char *synth_world_keep(world *w, const gb_text *text, gb_status *status)
{
    if (text->failed) {
        gb_fail_memory(status, "writing the mini world");
        return NULL;
    }
    return gb_arena_strdup(w->arena, text->data ? text->data : "", text->length, status);
}

/* ---- looking things up ---- */

const lexicon_attribute *synth_world_attribute(const world *w, uint32_t fact)
{
    return &w->lexicon->attributes[w->facts[fact].attribute];
}

const lexicon_list *synth_world_list(const world *w, uint32_t attribute)
{
    uint32_t list = w->lexicon->attributes[attribute].list;
    return list == LEXICON_PERSON ? &w->people : &w->lexicon->lists[list];
}

const lexicon_value *synth_world_value(const world *w, uint32_t fact)
{
    return &synth_world_list(w, w->facts[fact].attribute)->values[w->facts[fact].value];
}

const lexicon_kind *synth_world_kind(const world *w, uint32_t entity)
{
    return &w->lexicon->kinds[w->entities[entity].kind];
}

bool synth_world_states(const world_passage *passage, uint32_t fact)
{
    for (uint32_t i = 0; i < passage->fact_count; i++)
        if (passage->facts[i] == fact)
            return true;
    return false;
}

uint32_t synth_world_next_stating(const world *w, uint32_t fact, uint32_t passage)
{
    for (uint32_t p = passage + 1; p < w->passage_count; p++)
        if (synth_world_states(&w->passages[p], fact))
            return p;
    return GB_MAP_NONE;
}

/* Main's documents are its own, in one piece. */
static bool is_main(const world *w)
{
    return w->set->task == TASK_MAIN || w->set->task == TASK_DOCUMENTS;
}

/* ---- names ---- */

/* Whether the tokenizer, which takes the longest token that fits, cuts start and end apart. */
static bool cuts_well(const gb_map *tokens, const char *start, const char *end)
{
    char word[24], piece[26];
    size_t first = strlen(start);
    int length = snprintf(word, sizeof word, "%s%s", start, end);
    for (size_t size = (size_t)length; size > first; size--)
        if (gb_map_get(tokens, word, size) != GB_MAP_NONE)
            return false;
    snprintf(piece, sizeof piece, "##%s", end);
    for (const char *at = word; at[1] && at[2]; at++)
        if (at[0] == at[1] && at[1] == at[2])
            return false;
    return gb_map_get(tokens, piece, strlen(piece)) != GB_MAP_NONE;
}

/* First words of names that main and the others may take, in one order for all sets. */
static bool list_first_words(world *w, lexicon_words *words, gb_status *status)
{
    const lexicon *l = w->lexicon;
    gb_map *tokens = gb_map_create(status);
    uint32_t all = l->starts.count * l->ends.count;
    uint32_t *order = synth_world_array(w, all, sizeof *order, status);
    words->items = synth_world_array(w, all, sizeof *words->items, status);
    bool ok = tokens && order && words->items && synth_lexicon_tokens(l, NULL, tokens, status);
    gb_rng rng = language_rng(w, STAGE_NAMES, 0);
    if (ok)
        gb_rng_order(&rng, order, all);
    for (uint32_t i = 0; ok && i < all; i++) {
        const char *start = l->starts.items[order[i] / l->ends.count];
        const char *end = l->ends.items[order[i] % l->ends.count];
        char word[24];
        if (!cuts_well(tokens, start, end))
            continue;
        int length = snprintf(word, sizeof word, "%s%s", start, end);
        word[0] = (char)toupper((unsigned char)word[0]);
        ok = (words->items[words->count++] =
                  gb_arena_strdup(w->arena, word, (size_t)length, status)) != NULL;
    }
    gb_map_destroy(tokens);
    return ok;
}

/* Main takes the first ones; another set draws among the rest. */
static bool choose_first_words(world *w, lexicon_words *words, gb_status *status)
{
    if (!list_first_words(w, words, status))
        return false;
    if (w->number == 0) {
        words->count = FIRST_WORDS;
        return true;
    }
    uint32_t rest = words->count - FIRST_WORDS, wanted = w->set->entities / 2 + 5;
    lexicon_words chosen = {synth_world_array(w, rest, sizeof *chosen.items, status),
                            wanted < rest ? wanted : rest};
    uint32_t *order = synth_world_array(w, rest, sizeof *order, status);
    if (!chosen.items || !order)
        return false;
    gb_rng rng = synth_world_rng(w, STAGE_NAMES, 1);
    gb_rng_order(&rng, order, rest);
    for (uint32_t i = 0; i < chosen.count; i++)
        chosen.items[i] = words->items[FIRST_WORDS + order[i]];
    *words = chosen;
    return true;
}

/* People, who are things of the kind person and values of others: "Hob Ives". */
static bool make_people(world *w, gb_status *status)
{
    const lexicon *l = w->lexicon;
    uint32_t given = l->she.count + l->he.count, all = given * l->surnames.count;
    uint32_t *order = synth_world_array(w, all, sizeof *order, status);
    w->people.count = w->number ? SET_PEOPLE : PEOPLE;
    w->people.values = synth_world_array(w, w->people.count, sizeof *w->people.values, status);
    if (!order || !w->people.values)
        return false;
    gb_rng rng = language_rng(w, STAGE_PEOPLE, 0);
    gb_rng_order(&rng, order, all);
    if (w->number) { /* none of main's */
        rng = synth_world_rng(w, STAGE_PEOPLE, 0);
        gb_rng_shuffle(&rng, order + PEOPLE, all - PEOPLE);
        order += PEOPLE;
    }
    for (uint32_t i = 0; i < w->people.count; i++) {
        uint32_t first = order[i] / l->surnames.count;
        const char *surname = l->surnames.items[order[i] % l->surnames.count];
        gb_text name = {0};
        gb_text_printf(&name, "%s %s",
                       first < l->she.count ? l->she.items[first]
                                            : l->he.items[first - l->she.count],
                       surname);
        const char *full = synth_world_keep(w, &name, status);
        gb_text_free(&name);
        if (!full)
            return false;
        w->people.values[i] = (lexicon_value){.full = {full}, .brief = {surname}, .wordings = 1};
    }
    return true;
}

static bool is_she(const world *w, const char *name)
{
    for (uint32_t i = 0; i < w->lexicon->she.count; i++) {
        size_t length = strlen(w->lexicon->she.items[i]);
        if (!strncmp(name, w->lexicon->she.items[i], length) && name[length] == ' ')
            return true;
    }
    return false;
}

/* A name of a thing that is no person. */
static void draw_name(const world *w, world_entity *e, const lexicon_words *firsts, gb_rng *rng,
                      gb_text *name)
{
    const lexicon_kind *kind = &w->lexicon->kinds[e->kind];
    double weights[FIRST_WORDS];
    uint32_t count = firsts->count < FIRST_WORDS ? firsts->count : FIRST_WORDS;
    for (uint32_t i = 0; i < count; i++)
        weights[i] = 1 / sqrt(5.0 + i);
    bool ship = !strcmp(kind->name, "ship"), plain = ship || !strcmp(kind->name, "book");
    e->brief = firsts->items[synth_world_pick(rng, weights, count)];
    if (ship && gb_rng_below(rng, 2))
        e->brief = synth_world_any(rng, &w->lexicon->ship_adjectives);
    name->length = 0;
    if (!plain && synth_world_chance(rng, QUALIFIED))
        gb_text_printf(name, "%s ", synth_world_any(rng, &w->lexicon->adjectives));
    gb_text_printf(name, "%s %s", e->brief, synth_world_any(rng, &kind->heads));
}

/* Numbers of the kinds that the set names. */
static uint32_t set_kinds(const world *w, uint32_t kinds[LEXICON_KINDS])
{
    uint32_t count = 0;
    for (const char *at = w->set->kinds; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        kinds[count++] = synth_lexicon_kind(w->lexicon, at, length);
        at += length;
    }
    return count;
}

static bool name_entity(world *w, world_entity *e, uint32_t *person, const lexicon_words *firsts,
                        gb_map *taken, gb_rng *rng, gb_status *status)
{
    const lexicon_kind *kind = &w->lexicon->kinds[e->kind];
    gb_text name = {0}, full = {0};
    bool known = true;
    if (kind->person) {
        const lexicon_value *value = &w->people.values[(*person)++ % w->people.count];
        gb_text_printf(&name, "%s", value->full[0]);
        e->brief = value->brief[0];
        e->she = is_she(w, value->full[0]);
        e->he = !e->she;
        known = false;
    }
    for (int i = 0; known && i < TRIES; i++) {
        draw_name(w, e, firsts, rng, &name);
        known = !name.failed && gb_map_get(taken, name.data, name.length) != GB_MAP_NONE;
    }
    gb_text_printf(&full, "%s%s", kind->the ? "the " : "", name.failed ? "" : name.data);
    bool ok = (e->name = synth_world_keep(w, &name, status)) != NULL &&
              (e->full = synth_world_keep(w, &full, status)) != NULL &&
              gb_map_set(taken, name.data, name.length, 1, status);
    if (ok && known)
        ok = gb_fail(status, GB_INTERNAL, w->set->name, NULL, "too few names for the things");
    gb_text_free(&name);
    gb_text_free(&full);
    return ok;
}

static bool make_entities(world *w, gb_status *status)
{
    uint32_t kinds[LEXICON_KINDS], kind_count = set_kinds(w, kinds), person = 0;
    lexicon_words firsts = {0};
    w->entity_count = w->set->entities;
    w->entities = synth_world_array(w, w->entity_count, sizeof *w->entities, status);
    gb_map *taken = gb_map_create(status);
    bool ok =
        w->entities && taken && make_people(w, status) && choose_first_words(w, &firsts, status);
    for (uint32_t i = 0; ok && i < w->entity_count; i++) {
        gb_rng rng = synth_world_rng(w, STAGE_ENTITY, i);
        world_entity *e = &w->entities[i];
        e->kind = kinds[i % kind_count];
        e->theme = gb_rng_below(&rng, w->lexicon->theme_count);
        ok = name_entity(w, e, &person, &firsts, taken, &rng, status);
    }
    gb_map_destroy(taken);
    return ok;
}

uint32_t synth_world_neighbour(const world *w, gb_rng *rng, uint32_t entity)
{
    const world_entity *e = &w->entities[entity];
    double at = gb_rng_uniform(rng);
    bool by_word = at < SAME_WORD, by_theme = !by_word && at < SAME_WORD + SAME_THEME;
    uint32_t found = 0, chosen = GB_MAP_NONE;
    for (uint32_t i = 0; (by_word || by_theme) && i < w->entity_count; i++) {
        const world_entity *other = &w->entities[i];
        if (i == entity ||
            (by_word ? strcmp(other->brief, e->brief) != 0 : other->theme != e->theme))
            continue;
        if (gb_rng_below(rng, ++found) == 0)
            chosen = i;
    }
    if (chosen != GB_MAP_NONE)
        return chosen;
    uint32_t other = gb_rng_below(rng, w->entity_count - 1);
    return other + (other >= entity);
}

/* ---- facts ---- */

/* A value by Zipf's law (shifted by three); those that go with the theme more often. */
static uint32_t draw_value(const world *w, gb_rng *rng, uint32_t attribute, uint32_t theme)
{
    const lexicon_list *list = synth_world_list(w, attribute);
    double weights[256];
    gb_rng pull = language_rng(
        w, STAGE_PULL, w->lexicon->attributes[attribute].list * w->lexicon->theme_count + theme);
    uint32_t count = list->count < 256 ? list->count : 256;
    for (uint32_t v = 0; v < count; v++)
        weights[v] = (synth_world_chance(&pull, THEME_SHARE) ? THEME_PULL : 1) / (3.0 + v);
    return synth_world_pick(rng, weights, count);
}

/* Attributes of a kind, group by group, both in drawn order. */
static uint32_t order_attributes(const world *w, uint32_t kind, gb_rng *rng, uint32_t *order,
                                 uint32_t *scratch)
{
    const lexicon *l = w->lexicon;
    uint32_t count = 0;
    gb_rng_order(rng, scratch, l->attribute_count);
    for (uint32_t i = 0; i < l->attribute_count; i++) {
        const lexicon_attribute *first = &l->attributes[scratch[i]];
        bool begun = false;
        for (uint32_t j = 0; j < i && !begun; j++)
            begun = !strcmp(l->attributes[scratch[j]].group, first->group);
        for (uint32_t j = i; !begun && j < l->attribute_count; j++) {
            const lexicon_attribute *a = &l->attributes[scratch[j]];
            if (!strcmp(a->group, first->group) && a->kinds >> kind & 1)
                order[count++] = scratch[j];
        }
    }
    return count;
}

static bool make_facts(world *w, gb_status *status)
{
    const world_set *set = w->set;
    uint32_t attributes = w->lexicon->attribute_count;
    w->facts =
        synth_world_array(w, (size_t)w->entity_count * set->max_facts, sizeof *w->facts, status);
    uint32_t *order = synth_world_array(w, 2 * (size_t)attributes, sizeof *order, status);
    if (!w->facts || !order)
        return false;
    for (uint32_t i = 0; i < w->entity_count; i++) {
        world_entity *e = &w->entities[i];
        gb_rng rng = synth_world_rng(w, STAGE_FACTS, i);
        uint32_t most = order_attributes(w, e->kind, &rng, order, order + attributes);
        uint32_t wanted = set->min_facts + gb_rng_below(&rng, set->max_facts - set->min_facts + 1);
        e->first_fact = w->fact_count;
        e->fact_count = wanted < most ? wanted : most;
        for (uint32_t f = 0; f < e->fact_count; f++) {
            world_fact *fact = &w->facts[w->fact_count++];
            *fact = (world_fact){.entity = i, .attribute = order[f]};
            do
                fact->value = draw_value(w, &rng, order[f], e->theme);
            while (synth_world_list(w, order[f]) == &w->people &&
                   !strcmp(w->people.values[fact->value].full[0], e->name));
        }
    }
    return true;
}

/* ---- which text states what ---- */

static void add_passage(world *w, uint32_t entity, const uint32_t *facts, uint32_t count,
                        uint32_t round)
{
    world_passage *p = &w->passages[w->passage_count++];
    *p =
        (world_passage){.entity = entity, .fact_count = count, .round = round, .echo = GB_MAP_NONE};
    memcpy(p->facts, facts, count * sizeof *facts);
}

/* Texts of an entity: in every round its facts, later ones by chance and in another order, so many
 * to a text. A single fact that is left joins the last text where that has room. */
static void plan_entity(world *w, uint32_t entity, uint32_t *facts)
{
    const world_set *set = w->set;
    const world_entity *e = &w->entities[entity];
    gb_rng rng = synth_world_rng(w, STAGE_PLAN, entity);
    for (uint32_t round = 0; round < set->times; round++) {
        uint32_t count = 0, passages = w->passage_count;
        for (uint32_t f = 0; f < e->fact_count; f++)
            if (round == 0 || synth_world_chance(&rng, set->times - round))
                facts[count++] = e->first_fact + f;
        if (round)
            gb_rng_shuffle(&rng, facts, count);
        for (uint32_t at = 0; at < count;) {
            uint32_t size =
                set->min_stated + gb_rng_below(&rng, set->max_stated - set->min_stated + 1);
            size = size < count - at ? size : count - at;
            world_passage *last =
                w->passage_count > passages ? &w->passages[w->passage_count - 1] : NULL;
            if (size == 1 && set->min_stated > 1 && last && last->fact_count < set->max_stated)
                last->facts[last->fact_count++] = facts[at];
            else
                add_passage(w, entity, facts + at, size, round);
            at += size;
        }
    }
}

/* Some texts of main tell a fact that another tells too, where they have room for it. */
static void restate(world *w, uint32_t passage)
{
    world_passage *p = &w->passages[passage];
    const world_entity *e = &w->entities[p->entity];
    gb_rng rng = synth_world_rng(w, STAGE_PLAN, w->entity_count + passage);
    if (!is_main(w) || !synth_world_chance(&rng, RESTATED))
        return;
    uint32_t fact = e->first_fact + gb_rng_below(&rng, e->fact_count);
    if (!synth_world_states(p, fact) && p->fact_count < w->set->max_stated)
        p->facts[p->fact_count++] = fact;
}

/* What a text names or tells besides. */
static void add_asides(world *w, uint32_t passage)
{
    world_passage *p = &w->passages[passage];
    const world_entity *e = &w->entities[p->entity];
    gb_rng rng = synth_world_rng(w, STAGE_PLAN, w->entity_count + w->passage_count + passage);
    if (synth_world_chance(&rng, w->set->echo)) {
        uint32_t fact = e->first_fact + gb_rng_below(&rng, e->fact_count);
        p->echo = synth_world_states(p, fact) ? GB_MAP_NONE : fact;
    }
    for (double more = w->set->aside; more > 0 && p->aside_count < WORLD_MOST_ASIDES; more--)
        if (synth_world_chance(&rng, more)) {
            const world_entity *other = &w->entities[synth_world_neighbour(w, &rng, p->entity)];
            p->asides[p->aside_count++] = other->first_fact + gb_rng_below(&rng, other->fact_count);
        }
}

static bool plan_passages(world *w, gb_status *status)
{
    size_t most = (size_t)((double)w->fact_count * ceil(w->set->times)) + w->entity_count;
    w->passages = synth_world_array(w, most, sizeof *w->passages, status);
    uint32_t *facts = synth_world_array(w, w->set->max_facts, sizeof *facts, status);
    if (!w->passages || !facts)
        return false;
    for (uint32_t e = 0; e < w->entity_count; e++)
        plan_entity(w, e, facts);
    for (uint32_t p = 0; p < w->passage_count; p++) {
        restate(w, p);
        add_asides(w, p);
    }
    return true;
}

/* ---- documents ---- */

/* Passages that no document has yet. */
typedef struct supply {
    uint32_t *first; /* [entities] where its passages begin in order */
    uint32_t *left;  /* [entities] how many of them are left; taken from the end */
    uint32_t *order; /* [passages] by entity, shuffled */
    uint32_t *told;  /* [passages] in order of documents, filled by drift */
    uint32_t *of;    /* [passages] document of each in `told` */
} supply;

static bool make_supply(world *w, supply *s, gb_status *status)
{
    *s = (supply){synth_world_array(w, w->entity_count, sizeof *s->first, status),
                  synth_world_array(w, w->entity_count, sizeof *s->left, status),
                  synth_world_array(w, w->passage_count, sizeof *s->order, status),
                  synth_world_array(w, w->passage_count, sizeof *s->told, status),
                  synth_world_array(w, w->passage_count, sizeof *s->of, status)};
    if (!s->first || !s->left || !s->order || !s->told || !s->of)
        return false;
    for (uint32_t p = 0; p < w->passage_count; p++) {
        s->order[p] = p;
        s->first[w->passages[p].entity] = p + 1;
    }
    for (uint32_t e = 0, begin = 0; e < w->entity_count; e++) {
        uint32_t end = s->first[e];
        s->first[e] = begin;
        gb_rng rng = synth_world_rng(w, STAGE_ORDER, e);
        gb_rng_shuffle(&rng, s->order + begin, end - begin);
        begin = end;
    }
    return true;
}

static void refill(const world *w, supply *s)
{
    for (uint32_t e = 0; e < w->entity_count; e++)
        s->left[e] = (e + 1 < w->entity_count ? s->first[e + 1] : w->passage_count) - s->first[e];
}

/* An entity of which something is left, each alike. */
static uint32_t draw_topic(const world *w, const supply *s, gb_rng *rng)
{
    uint32_t found = 0, chosen = 0;
    for (uint32_t e = 0; e < w->entity_count; e++)
        if (s->left[e] && gb_rng_below(rng, ++found) == 0)
            chosen = e;
    return chosen;
}

/* A neighbour of which something is left; GB_MAP_NONE after some tries. */
static uint32_t draw_next(const world *w, const supply *s, gb_rng *rng, uint32_t entity)
{
    for (int i = 0; i < 20; i++) {
        uint32_t next = synth_world_neighbour(w, rng, entity);
        if (s->left[next])
            return next;
    }
    return GB_MAP_NONE;
}

/* Deal all passages to documents; returns how many. */
static uint32_t drift(const world *w, supply *s, double stay)
{
    const world_set *set = w->set;
    uint32_t told = 0, document = 0;
    refill(w, s);
    for (; told < w->passage_count; document++) {
        gb_rng rng = synth_world_rng(w, STAGE_DRIFT, document);
        uint32_t entity = draw_topic(w, s, &rng), length = UINT32_MAX;
        if (set->min_texts)
            length = set->min_texts + gb_rng_below(&rng, set->max_texts - set->min_texts + 1);
        for (uint32_t i = 0; i < length; i++) {
            s->of[told] = document;
            s->told[told++] = s->order[s->first[entity] + --s->left[entity]];
            if (s->left[entity] && synth_world_chance(&rng, stay))
                continue;
            entity = is_main(w) ? draw_next(w, s, &rng, entity) : GB_MAP_NONE;
            if (entity == GB_MAP_NONE)
                break;
        }
    }
    return document;
}

/* Share of all pairs of passages of a document that have the same entity. */
static double related_share(const world *w, const supply *s)
{
    uint64_t same = 0, pairs = 0;
    for (uint32_t i = 0; i < w->passage_count; i++)
        for (uint32_t j = i + 1; j < w->passage_count && s->of[j] == s->of[i]; j++) {
            pairs++;
            same += w->passages[s->told[i]].entity == w->passages[s->told[j]].entity;
        }
    return pairs ? (double)same / (double)pairs : 0;
}

/* The share is a step function of `stay` and not quite monotone, so a grid is searched. */
static void calibrate(world *w, supply *s)
{
    double best = 2;
    w->stay = 1;
    for (int i = 0; is_main(w) && i <= 120; i++) {
        double stay = 0.50 + 0.0025 * i;
        drift(w, s, stay);
        double error = fabs(related_share(w, s) - RELATED);
        if (error < best) {
            best = error;
            w->stay = stay;
        }
    }
    w->documents = drift(w, s, w->stay);
    w->related = related_share(w, s);
}

static bool make_documents(world *w, gb_status *status)
{
    supply s;
    world_passage *ordered = synth_world_array(w, w->passage_count, sizeof *ordered, status);
    w->stating = synth_world_array(w, w->fact_count, sizeof *w->stating, status);
    if (!ordered || !w->stating || !make_supply(w, &s, status))
        return false;
    calibrate(w, &s);
    for (uint32_t f = 0; f < w->fact_count; f++)
        w->stating[f] = GB_MAP_NONE;
    for (uint32_t i = 0; i < w->passage_count; i++) {
        ordered[i] = w->passages[s.told[i]];
        ordered[i].document = s.of[i];
        for (uint32_t f = 0; f < ordered[i].fact_count; f++)
            if (w->stating[ordered[i].facts[f]] == GB_MAP_NONE)
                w->stating[ordered[i].facts[f]] = i;
    }
    w->passages = ordered;
    return true;
}

/* ---- all of it ---- */

bool synth_world_make_texts(world *w, const world_set *set, uint32_t number, uint64_t seed,
                            gb_status *status)
{
    *w = (world){.set = set, .number = number, .seed = seed};
    return (w->arena = gb_arena_create(1 << 18, status)) &&
           (w->lexicon = synth_lexicon_create(status)) && (w->asked = gb_map_create(status)) &&
           make_entities(w, status) && make_facts(w, status) && plan_passages(w, status) &&
           make_documents(w, status) && synth_world_write_texts(w, status);
}

world *synth_world_make(const world_set *set, uint32_t number, uint64_t seed, gb_status *status)
{
    world *w = gb_alloc(1, sizeof *w, status);
    bool ok =
        w && synth_world_make_texts(w, set, number, seed, status) &&
        (set->task == TASK_MAIN ? synth_world_make_questions(w, status) &&
                                      synth_world_make_generated(w, 0, WORLD_GENERATED, status)
                                : synth_world_make_task(w, status));
    if (ok)
        return w;
    gb_synth_destroy(w);
    return NULL;
}

void gb_synth_destroy(gb_synth *w)
{
    if (!w)
        return;
    for (uint32_t s = 0; s < WORLD_SPLITS; s++)
        free(w->splits[s].judgements);
    gb_map_destroy(w->asked);
    synth_lexicon_destroy(w->lexicon);
    gb_arena_destroy(w->arena);
    free(w);
}
