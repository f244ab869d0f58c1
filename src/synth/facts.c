/* The facts of the mini world, and which text states which. */
#include "synth/world.h"

#include <math.h>
#include <string.h>

static const double RESTATED =
    0.08; /* texts with room that tell a fact that is told elsewhere too */
static const double THEME_SHARE = 0.17; /* of the values of a list that a theme likes */
static const double THEME_PULL = 4;     /* so much more often do they go with it */

/* A value by Zipf's law (shifted by three); those that go with the theme more often. */
static uint32_t draw_value(const world *w, gb_rng *rng, uint32_t attribute, uint32_t theme)
{
    const lexicon_list *list = synth_world_list(w, attribute);
    double weights[256];
    gb_rng pull = synth_world_language_rng(
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

bool synth_world_make_facts(world *w, gb_status *status)
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
    if (!synth_world_is_main(w) || !synth_world_chance(&rng, RESTATED))
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

bool synth_world_plan_passages(world *w, gb_status *status)
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
