/* Query generation models of the mini world.
 *
 * The rates were fixed before any model was trained with them. What is known and what is assumed:
 *
 * - world-t5: the queries that the collection comes with. Of the queries of a T5 of 0.25 billion
 *   parameters 56.5% were judged strongly related to their passage by people (query-as-context,
 *   table 5). The shares of the kinds of failures, and of wordings copied from the passage, are
 *   assumed.
 * - world-3b, world-7b, world-13b stand for tk-instruct 3b, Alpaca 7b and Alpaca 13b (document
 *   expansion by large language models). No paper says how many of their queries are about their
 *   passage. That a larger model fails less is the assumption, by one rule for the three: ten
 *   times the parameters halve the share of queries that are not about their passage. From .435 at
 *   0.25 billion that gives .209 at 2.85, .161 at 6.7 and .132 at 13.0 billion, so about = .79,
 *   .84, .87. With the failures, queries of the wrong entity fall from 10.9% to 5.3, 4.0 and 3.3%.
 * - The share of copied wordings and the mix of failures stay as they are: nothing is known of
 * them, and generators that differ in one respect can be compared. */
#include "synth/world.h"

#include <string.h>

static const struct {
    const char *name;  /* on the command line */
    const char *title; /* for reports */
    double about;      /* queries about a fact that the passage states */
} generators[] = {
    {"world-t5", "mini-world t5-like", 0.565},
    {"world-3b", "mini-world 3b-like", 0.79},
    {"world-7b", "mini-world 7b-like", 0.84},
    {"world-13b", "mini-world 13b-like", 0.87},
};
enum { GENERATORS = sizeof generators / sizeof *generators };

enum { TRIES = 200 };
static const double COPY = 0.40; /* queries about their passage with its wording */
/* Kinds of the queries that are not about their passage. */
static const double failures[GENERATED_COUNT] = {[GENERATED_OTHER_ATTRIBUTE] = 0.35,
                                                 [GENERATED_ENTITY_ONLY] = 0.20,
                                                 [GENERATED_WRONG_ENTITY] = 0.25,
                                                 [GENERATED_NO_ENTITY] = 0.20};

uint32_t synth_world_generator(const char *name)
{
    for (uint32_t i = 0; i < GENERATORS; i++)
        if (!strcmp(name, generators[i].name))
            return i;
    return GB_MAP_NONE;
}

const char *synth_world_generator_title(uint32_t generator)
{
    return generators[generator].title;
}

/* Kinds of the k-th queries of all passages in exact proportion, so that the first C queries of
 * every passage have the same shares for any C. */
static void deal_kinds(world *w, uint32_t k, uint32_t *order)
{
    double about = generators[w->generator].about, end;
    uint32_t kind = 0;
    gb_rng rng = synth_world_rng(w, STAGE_KINDS + 2 * w->generator, k);
    gb_rng_order(&rng, order, w->passage_count);
    end = about * w->passage_count;
    for (uint32_t i = 0; i < w->passage_count; i++) {
        while (kind < GENERATED_COUNT - 1 && i + 0.5 >= end)
            end += (1 - about) * failures[++kind] * w->passage_count;
        w->generated_kinds[(size_t)order[i] * w->generated_count + k] = (uint8_t)kind;
    }
}

/* A stated fact of the entity that the passage does not state, or the first of the passage. */
static uint32_t another_fact(const world *w, const world_passage *p, gb_rng *rng)
{
    const world_entity *e = &w->entities[p->entity];
    for (int i = 0; i < 40; i++) {
        uint32_t fact = e->first_fact + gb_rng_below(rng, e->fact_count);
        if (!synth_world_states(p, fact) && w->stating[fact] != GB_MAP_NONE)
            return fact;
    }
    return p->facts[0];
}

static bool entity_only(world *w, uint32_t entity, gb_rng *rng, const char **text,
                        gb_status *status)
{
    gb_text out = {0};
    world_slots s = {.w = w, .rng = rng, .kind = w->entities[entity].kind};
    s.subject = s.object = w->entities[entity].full;
    synth_world_expand(&s, synth_world_any(rng, &w->lexicon->entity), &out);
    *text = synth_world_keep_question(w, &out, status);
    gb_text_free(&out);
    return *text != NULL;
}

static bool no_entity(world *w, const world_passage *p, gb_rng *rng, const char **text,
                      gb_status *status)
{
    uint32_t fact = p->facts[gb_rng_below(rng, p->fact_count)];
    uint32_t kind = w->entities[p->entity].kind;
    char name[60];
    snprintf(name, sizeof name, "a %s", synth_world_noun(w, rng, kind));
    return synth_world_ask_of(w, w->facts[fact].attribute, kind, name, rng, text, status);
}

/* Writes one query of the kind for a passage. */
static bool write_one(world *w, uint32_t row, generated_kind kind, gb_rng *rng, const char **text,
                      gb_status *status)
{
    const world_passage *p = &w->passages[row];
    world_query q = {0};
    uint32_t fact;
    bool ok;
    switch (kind) {
    case GENERATED_ABOUT:
        fact = p->facts[gb_rng_below(rng, p->fact_count)];
        ok = synth_world_ask(w, &q, fact, row, COPY, rng, status);
        break;
    case GENERATED_OTHER_ATTRIBUTE:
        fact = another_fact(w, p, rng);
        ok = synth_world_ask(w, &q, fact, w->stating[fact], 0, rng, status);
        break;
    case GENERATED_WRONG_ENTITY:
        p = &w->passages
                 [w->stating[w->entities[synth_world_neighbour(w, rng, p->entity)].first_fact]];
        fact = p->facts[gb_rng_below(rng, p->fact_count)];
        ok = synth_world_ask(w, &q, fact, (uint32_t)(p - w->passages), 0, rng, status);
        break;
    case GENERATED_ENTITY_ONLY:
        return entity_only(w, p->entity, rng, text, status);
    default:
        return no_entity(w, p, rng, text, status);
    }
    *text = q.text;
    return ok;
}

/* Says whether a question of a split that judges has this text. A generator learns from the
 * training split, so that it may write what is asked there; it has never seen the others. */
static bool is_judged(const world *w, const char *text)
{
    uint32_t split = gb_map_get(w->asked, text, strlen(text));
    return split != GB_MAP_NONE && split != SPLIT_TRAIN;
}

/* The k-th query of a passage, drawn again while it is a judged question word for word. */
static bool generate(world *w, uint32_t row, uint32_t k, gb_status *status)
{
    size_t at = (size_t)row * w->generated_count + k;
    gb_rng rng =
        synth_world_rng(w, STAGE_GENERATED + 2 * w->generator, row * WORLD_MOST_GENERATED + k);
    for (int tries = 0; tries < TRIES; tries++) {
        if (!write_one(w, row, (generated_kind)w->generated_kinds[at], &rng, &w->generated[at],
                       status))
            return false;
        if (!is_judged(w, w->generated[at]))
            return true;
    }
    return gb_fail(status, GB_INTERNAL, w->set->name, NULL,
                   "every query for passage %u is a judged question", row);
}

bool synth_world_make_generated(world *w, uint32_t generator, uint32_t count, gb_status *status)
{
    if (count == 0 || count > WORLD_MOST_GENERATED)
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "a generator of the mini world writes 1 to %d queries a passage",
                       WORLD_MOST_GENERATED);
    w->generator = generator;
    w->generated_count = count;
    size_t all = (size_t)w->passage_count * count;
    w->generated = synth_world_array(w, all, sizeof *w->generated, status);
    w->generated_kinds = synth_world_array(w, all, sizeof *w->generated_kinds, status);
    uint32_t *order = synth_world_array(w, w->passage_count, sizeof *order, status);
    if (!w->generated || !w->generated_kinds || !order)
        return false;
    for (uint32_t k = 0; k < count; k++)
        deal_kinds(w, k, order);
    for (uint32_t row = 0; row < w->passage_count; row++)
        for (uint32_t k = 0; k < count; k++)
            if (!generate(w, row, k, status))
                return false;
    return true;
}

bool synth_world_generated_rows(const world *w, gb_row_writer *writer, gb_status *status)
{
    gb_text row = {0};
    bool ok = true;
    for (uint32_t p = 0; p < w->passage_count && ok; p++) {
        row.length = 0;
        for (uint32_t k = 0; k < w->generated_count; k++)
            gb_text_printf(&row, "%s\n", w->generated[(size_t)p * w->generated_count + k]);
        ok = row.failed ? gb_fail_memory(status, "writing generated queries")
                        : gb_row_writer_add(writer, row.data, row.length, status);
    }
    gb_text_free(&row);
    return ok;
}
