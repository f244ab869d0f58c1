/* The mini world: its entities, facts and documents. */
#include "data/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

gb_world_params gb_world_defaults(void)
{
    return (gb_world_params){
        .types = 6,
        .entities = 100,
        .documents = 400,
        .least_passages = 4,
        .most_passages = 6,
        .clusters = 24,
        .type_clusters = 20,
        .entity_clusters = 12,
        .neighbours = 8,
        .related = 0.355,
        .restated = 0.05,
        .named_first = 0.92,
        .named_later = 0.35,
        .alias_in_passage = 0.45,
        .alias_in_query = 0.12,
        .aside = 0.30,
        .aside_stated = 0.25,
        .preference = 0.8,
        .keyword = 0.28,
        .question = 0.25,
        .attribute_of = 0.17,
        .conjunctive = 0.30,
        .conjunctive_named = 0.25,
        .train_facts = 2.0 / 3.0,
        .train = 3000,
        .dev = 1500,
        .dl19 = 43,
        .dl20 = 54,
        .generated = 20,
        .generator = {.name = "mini-world t5-like",
                      .about = 0.565,
                      .copy = 0.40,
                      .other_attribute = 0.35,
                      .entity_only = 0.20,
                      .wrong_entity = 0.25,
                      .no_entity = 0.20},
    };
}

const char *const gb_world_splits[SPLIT_COUNT] = {"train", "dev", "dl19", "dl20"};

gb_rng gb_world_rng(const world *w, world_stage stage, uint32_t row)
{
    return gb_rng_make(w->seed, GB_RNG_WORLD, (uint32_t)stage | w->set << 8, row);
}

bool gb_world_chance(gb_rng *rng, double probability)
{
    return gb_rng_uniform(rng) < probability;
}

void *gb_world_array(world *w, size_t count, size_t size, gb_status *status)
{
    return gb_arena_alloc(w->arena, count * size, status);
}

const char *gb_world_string(world *w, const gb_text *text, gb_status *status)
{
    if (text->failed) {
        gb_fail_memory(status, "writing the mini world");
        return NULL;
    }
    return gb_arena_strdup(w->arena, text->data ? text->data : "", text->length, status);
}

/* ---- entities and facts -------------------------------------------------------------------- */

static bool make_types(world *w, gb_status *status)
{
    const gb_world_params *p = &w->params;
    w->takes_entity = gb_world_array(w, w->attributes, sizeof *w->takes_entity, status);
    w->type_uses = gb_world_array(w, (size_t)p->types * p->clusters, sizeof *w->type_uses, status);
    uint32_t *order = gb_world_array(w, p->clusters, sizeof *order, status);
    if (!w->takes_entity || !w->type_uses || !order)
        return false;
    gb_rng rng = gb_world_rng(w, STAGE_TYPES, 0);
    gb_rng_order(&rng, order, p->clusters);
    for (uint32_t i = 0; i < p->entity_clusters; i++)
        w->takes_entity[order[i] * WORLD_PAIR + 1] = true;
    for (uint32_t type = 0; type < p->types; type++) {
        gb_rng_order(&rng, order, p->clusters);
        for (uint32_t i = 0; i < p->type_clusters; i++)
            w->type_uses[type * p->clusters + order[i]] = true;
    }
    return true;
}

/* An entity other than `self`, each equally likely. */
static uint32_t another_entity(const world *w, gb_rng *rng, uint32_t self)
{
    uint32_t other = gb_rng_below(rng, w->params.entities - 1);
    return other + (other >= self);
}

static bool make_facts(world *w, gb_status *status)
{
    const gb_world_params *p = &w->params;
    w->values = gb_world_array(w, (size_t)p->entities * w->attributes, sizeof *w->values, status);
    w->neighbours =
        gb_world_array(w, (size_t)p->entities * p->neighbours, sizeof *w->neighbours, status);
    uint32_t *order = gb_world_array(w, p->entities, sizeof *order, status);
    if (!w->values || !w->neighbours || !order)
        return false;
    for (uint32_t e = 0; e < p->entities; e++) {
        w->entities[e].type = e % p->types;
        gb_rng rng = gb_world_rng(w, STAGE_FACTS, e);
        for (uint32_t a = 0; a < w->attributes; a++)
            w->values[e * w->attributes + a] = w->takes_entity[a]
                                                   ? another_entity(w, &rng, e)
                                                   : gb_rng_below(&rng, gb_world_values(w));
        rng = gb_world_rng(w, STAGE_NEIGHBOURS, e);
        gb_rng_order(&rng, order, p->entities);
        for (uint32_t i = 0, n = 0; n < p->neighbours; i++)
            if (order[i] != e)
                w->neighbours[e * p->neighbours + n++] = order[i];
    }
    return true;
}

/* ---- documents ----------------------------------------------------------------------------- */

/* What is left to tell while documents are drawn. */
typedef struct supply {
    bool *told;     /* [entities * clusters] the pair has a passage */
    uint32_t *left; /* [entities] pairs without one */
} supply;

static void supply_reset(const world *w, supply *s)
{
    const gb_world_params *p = &w->params;
    memset(s->told, 0, (size_t)p->entities * p->clusters * sizeof *s->told);
    for (uint32_t e = 0; e < p->entities; e++)
        s->left[e] = p->type_clusters;
}

/* One of `count` entities with probability proportional to the square of what is left to tell about
 * it, so that the numbers of passages stay balanced. candidates NULL: all entities. GB_MAP_NONE
 * when nothing is left. */
static uint32_t draw_topic(const supply *s, gb_rng *rng, const uint32_t *candidates, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = s->left[candidates ? candidates[i] : i];
        total += left * left;
    }
    if (total == 0)
        return GB_MAP_NONE;
    uint32_t at = gb_rng_below(rng, total);
    for (uint32_t i = 0;; i++) {
        uint32_t entity = candidates ? candidates[i] : i, left = s->left[entity];
        if (at < left * left)
            return entity;
        at -= left * left;
    }
}

static uint32_t draw_start(const world *w, const supply *s, gb_rng *rng)
{
    uint32_t entity = draw_topic(s, rng, NULL, w->params.entities);
    return entity == GB_MAP_NONE ? gb_rng_below(rng, w->params.entities) : entity;
}

/* The next topic: a neighbour about which something is left to tell, else any such entity. */
static uint32_t draw_next(const world *w, const supply *s, gb_rng *rng, uint32_t entity)
{
    const uint32_t *near = w->neighbours + (size_t)entity * w->params.neighbours;
    uint32_t next = draw_topic(s, rng, near, w->params.neighbours);
    return next == GB_MAP_NONE ? draw_start(w, s, rng) : next;
}

/* A cluster of the entity's type: one already told (restated) or, usually, a new one. */
static uint32_t draw_cluster(const world *w, supply *s, gb_rng *rng, uint32_t entity)
{
    const gb_world_params *p = &w->params;
    const bool *uses = w->type_uses + (size_t)w->entities[entity].type * p->clusters;
    bool *told = s->told + (size_t)entity * p->clusters;
    uint32_t told_count = p->type_clusters - s->left[entity];
    bool again = gb_world_chance(rng, p->restated);
    if (s->left[entity] == 0 || (again && told_count > 0))
        again = true;
    else
        again = false;
    uint32_t pick = gb_rng_below(rng, again ? told_count : s->left[entity]);
    for (uint32_t c = 0;; c++) {
        if (!uses[c] || told[c] != again || pick-- != 0)
            continue;
        if (!again) {
            told[c] = true;
            s->left[entity]--;
        }
        return c;
    }
}

static uint32_t units_of(const world *w)
{
    return w->params.units ? w->params.units : 1;
}

/* Fill in entities and clusters of all passages for one value of `stay`. Every document has a
 * stream of its own, so worlds of nearby values are alike. Units put together stay with their
 * entity. */
static void drift(world *w, supply *s, double stay)
{
    supply_reset(w, s);
    uint32_t entity = 0, units = units_of(w);
    gb_rng rng = {{0}};
    for (uint32_t i = 0; i < w->passage_count; i++) {
        world_passage *passage = &w->passages[i];
        if (i % units) {
            /* as before */
        } else if (i == 0 || passage->document != w->passages[i - 1].document) {
            rng = gb_world_rng(w, STAGE_DRIFT, passage->document);
            entity = draw_start(w, s, &rng);
        } else if (!gb_world_chance(&rng, stay) || s->left[entity] == 0) {
            entity = draw_next(w, s, &rng, entity);
        }
        passage->entity = entity;
        passage->cluster = draw_cluster(w, s, &rng, entity);
    }
}

/* Share of all pairs of passages of a document that have the same main entity. */
static double related_share(const world *w)
{
    uint64_t same = 0, pairs = 0;
    for (uint32_t i = 0; i < w->passage_count; i++) {
        for (uint32_t j = i + 1;
             j < w->passage_count && w->passages[j].document == w->passages[i].document; j++) {
            pairs++;
            same += w->passages[i].entity == w->passages[j].entity;
        }
    }
    return pairs ? (double)same / (double)pairs : 0.0;
}

/* The share is a step function of `stay` and not quite monotone, so a grid is searched. */
static void calibrate(world *w, supply *s)
{
    double best = w->params.stay > 0 ? 0 : 2.0;
    w->stay = w->params.stay;
    for (int i = 0; i <= 160 && best > 0; i++) {
        double stay = 0.30 + 0.0025 * i;
        drift(w, s, stay);
        double error = fabs(related_share(w) - w->params.related);
        if (error < best) {
            best = error;
            w->stay = stay;
        }
    }
    drift(w, s, w->stay);
    w->related = related_share(w);
}

/* Lengths of documents in equal numbers, shuffled; allocates the passages. */
static bool make_lengths(world *w, gb_status *status)
{
    const gb_world_params *p = &w->params;
    uint32_t *order = gb_world_array(w, p->documents, sizeof *order, status);
    if (!order)
        return false;
    uint32_t kinds = p->most_passages - p->least_passages + 1, total = 0;
    gb_rng rng = gb_world_rng(w, STAGE_LENGTHS, 0);
    gb_rng_order(&rng, order, p->documents);
    for (uint32_t d = 0; d < p->documents; d++)
        total += (p->least_passages + order[d] % kinds) * units_of(w);
    w->passages = gb_world_array(w, total, sizeof *w->passages, status);
    if (!w->passages)
        return false;
    for (uint32_t d = 0; d < p->documents; d++)
        for (uint32_t i = 0; i < (p->least_passages + order[d] % kinds) * units_of(w); i++)
            w->passages[w->passage_count++].document = d;
    return true;
}

/* Chain the passages that state each pair, in their order. */
static bool index_statements(world *w, gb_status *status)
{
    size_t pairs = (size_t)w->params.entities * w->params.clusters;
    w->stated = gb_world_array(w, pairs, sizeof *w->stated, status);
    w->stated_next = gb_world_array(w, w->passage_count, sizeof *w->stated_next, status);
    if (!w->stated || !w->stated_next)
        return false;
    for (size_t i = 0; i < pairs; i++)
        w->stated[i] = GB_MAP_NONE;
    for (uint32_t i = w->passage_count; i-- > 0;) {
        uint32_t *first =
            &w->stated[w->passages[i].entity * w->params.clusters + w->passages[i].cluster];
        w->stated_next[i] = *first;
        *first = i;
    }
    return true;
}

static bool make_documents(world *w, gb_status *status)
{
    const gb_world_params *p = &w->params;
    if (!make_lengths(w, status))
        return false;
    supply s = {gb_world_array(w, (size_t)p->entities * p->clusters, sizeof(bool), status),
                gb_world_array(w, p->entities, sizeof(uint32_t), status)};
    if (!s.told || !s.left)
        return false;
    calibrate(w, &s);
    return index_statements(w, status);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool begin(world *w, const gb_world_params *params, uint64_t seed, gb_status *status)
{
    *w = (world){.params = *params,
                 .seed = seed,
                 .set = w->set,
                 .language = w->language,
                 .attributes = params->clusters * WORLD_PAIR};
    w->arena = gb_arena_create(1 << 18, status);
    if (!w->arena)
        return false;
    w->entities = gb_world_array(w, params->entities, sizeof *w->entities, status);
    return w->entities && make_types(w, status) && gb_world_make_words(w, status);
}

bool gb_world_make_language(world *w, uint64_t seed, gb_status *status)
{
    gb_world_params params = gb_world_defaults();
    *w = (world){0};
    return begin(w, &params, seed, status);
}

bool gb_world_make_texts(world *w, const gb_world_params *params, uint64_t seed, gb_status *status)
{
    return begin(w, params, seed, status) && make_facts(w, status) && make_documents(w, status) &&
           gb_world_write_texts(w, status);
}

bool gb_world_make(world *w, const gb_world_params *params, uint64_t seed, gb_status *status)
{
    *w = (world){0};
    if (!gb_world_make_texts(w, params, seed, status))
        return false;
    bool *reserved =
        gb_world_array(w, (size_t)params->entities * params->clusters, sizeof *reserved, status);
    gb_map *texts = reserved ? gb_map_create(status) : NULL; /* every query text once */
    bool ok = texts && gb_world_make_topics(w, reserved, texts, status) &&
              gb_world_make_queries(w, reserved, texts, status) &&
              gb_world_make_generated(w, status);
    gb_map_destroy(texts);
    return ok;
}

void gb_world_free(world *w)
{
    for (int split = 0; split < SPLIT_COUNT; split++)
        free(w->judgements[split]);
    gb_arena_destroy(w->arena);
    *w = (world){0};
}
