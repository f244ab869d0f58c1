/* The mini world as a whole, its draws, and what is asked of it. */
#include "synth/world.h"

#include <stdlib.h>

/* ---- draws ---- */

gb_rng synth_world_rng(const world *w, uint32_t stage, uint32_t row)
{
    return gb_rng_make(w->seed, GB_RNG_WORLD, stage | w->number << 8, row);
}

gb_rng synth_world_language_rng(const world *w, uint32_t stage, uint32_t row)
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

bool synth_world_is_main(const world *w)
{
    return w->set->task == TASK_MAIN || w->set->task == TASK_DOCUMENTS;
}

/* ---- all of it ---- */

bool synth_world_make_texts(world *w, const world_set *set, uint32_t number, uint64_t seed,
                            gb_status *status)
{
    *w = (world){.set = set, .number = number, .seed = seed};
    return (w->arena = gb_arena_create(1 << 18, status)) &&
           (w->lexicon = synth_lexicon_create(status)) && (w->asked = gb_map_create(status)) &&
           synth_world_make_entities(w, status) && synth_world_make_facts(w, status) &&
           synth_world_plan_passages(w, status) && synth_world_make_documents(w, status) &&
           synth_world_write_texts(w, status);
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
