/* The things of the mini world: people and what else has a name. */
#include "synth/world.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
    FIRST_WORDS = 150, /* of names in main */
    PEOPLE = 140,      /* in main */
    SET_PEOPLE = 60,   /* in another set, none of main's */
    TRIES = 100,
};
static const double SAME_WORD = 0.3;  /* neighbours with the same first word */
static const double SAME_THEME = 0.4; /* and of the same theme */
static const double QUALIFIED = 0.15; /* names with an adjective before */

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
    gb_rng rng = synth_world_language_rng(w, STAGE_NAMES, 0);
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
    gb_rng rng = synth_world_language_rng(w, STAGE_PEOPLE, 0);
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

bool synth_world_make_entities(world *w, gb_status *status)
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
