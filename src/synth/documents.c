/* Documents of the mini world: they drift from thing to thing, as far as real ones do. */
#include "synth/world.h"

#include <math.h>

static const double RELATED = 0.355; /* pairs of passages of a document in main */

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
            entity = synth_world_is_main(w) ? draw_next(w, s, &rng, entity) : GB_MAP_NONE;
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
    for (int i = 0; synth_world_is_main(w) && i <= 120; i++) {
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

bool synth_world_make_documents(world *w, gb_status *status)
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
