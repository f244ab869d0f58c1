/* Queries of the mini world: the writer, training and development sets, generated queries. */
#include "data/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Patterns: %n name or alias, %T type noun, %A %V the attribute asked for and its value, %B %W the
 * second attribute of a conjunctive query and its value. */
static const char *const keyword_patterns[] = {"%n %A", "%n %A", "%n %A", "%A %n"};
static const char *const question_patterns[] = {
    "what is the %A of %n",
    "which %A does %n have",
    "what %A has the %T %n",
    "what does %n have as its %A",
};
static const char *const attribute_of_patterns[] = {"%A of %T %n", "%A of the %T %n"};
static const char *const conjunctive_patterns[] = {
    "which %T has %A %V and %B %W",
    "%T with %A %V and %B %W",
    "%T %A %V %B %W",
};
static const char *const named_patterns[] = {"%n %T with %A %V and %B %W",
                                             "which %T called %n has %A %V and %B %W"};
static const char *const entity_patterns[] = {"%n", "what is %n", "%n %T", "where is the %T %n"};
static const char *const nameless_patterns[] = {"what is a %A", "%A of a %T", "%T with a %A",
                                                "which %T has a %A"};
#define COUNT(array)    (sizeof(array) / sizeof *(array))
#define PICK(list, rng) ((list)[gb_rng_below((rng), COUNT(list))])

enum { TRIES = 40 };

static const char *choose_pattern(const world_query *query, gb_rng *rng)
{
    if (query->entity == GB_MAP_NONE)
        return PICK(nameless_patterns, rng);
    if (query->attribute == GB_MAP_NONE)
        return PICK(entity_patterns, rng);
    switch (query->style) {
    case STYLE_KEYWORD:
        return PICK(keyword_patterns, rng);
    case STYLE_QUESTION:
        return PICK(question_patterns, rng);
    case STYLE_ATTRIBUTE_OF:
        return PICK(attribute_of_patterns, rng);
    default:
        return query->named ? PICK(named_patterns, rng) : PICK(conjunctive_patterns, rng);
    }
}

static void append_lower(gb_text *out, const char *word)
{
    for (; *word; word++) {
        char c = (char)tolower((unsigned char)*word);
        gb_text_append(out, &c, 1);
    }
}

/* What a pattern's letter stands for. A nameless query speaks of the type that `type` says. */
static const char *letter(const world *w, const world_query *query, uint32_t type, char which,
                          gb_rng *rng)
{
    const world_entity *entity = query->entity == GB_MAP_NONE ? NULL : &w->entities[query->entity];
    switch (which) {
    case 'n':
        return entity->alias_written && gb_world_chance(rng, w->params.alias_in_query)
                   ? entity->alias
                   : entity->name;
    case 'T':
        return gb_world_noun(w, type, gb_world_noun_choice(rng, true));
    case 'A':
        return w->words.attributes[query->attribute][query->wording[0]];
    case 'B':
        return w->words.attributes[query->other][query->wording[1]];
    case 'V':
        return gb_world_value(w, query->entity, query->attribute, rng);
    default:
        return gb_world_value(w, query->entity, query->other, rng);
    }
}

static bool write_query(world *w, world_query *query, uint32_t type, gb_rng *rng, gb_status *status)
{
    gb_text out = {0};
    query->named = query->entity != GB_MAP_NONE;
    if (query->style == STYLE_CONJUNCTIVE && query->other != GB_MAP_NONE)
        query->named = gb_world_chance(rng, w->params.conjunctive_named);
    for (uint32_t i = 0; i < WORLD_PAIR; i++)
        if (query->wording[i] == GB_MAP_NONE)
            query->wording[i] = gb_world_wording(w, rng, true);
    for (const char *p = choose_pattern(query, rng); *p; p++) {
        if (*p == '%')
            append_lower(&out, letter(w, query, type, *++p, rng));
        else
            gb_text_append(&out, p, 1);
    }
    query->text = gb_world_string(w, &out, status);
    gb_text_free(&out);
    return query->text != NULL;
}

bool gb_world_write_query(world *w, world_query *query, gb_rng *rng, gb_status *status)
{
    return write_query(w, query, w->entities[query->entity].type, rng, status);
}

query_style gb_world_style(const world *w, gb_rng *rng, double conjunctive)
{
    const gb_world_params *p = &w->params;
    if (gb_world_chance(rng, conjunctive))
        return STYLE_CONJUNCTIVE;
    double at = gb_rng_uniform(rng) * (p->keyword + p->question + p->attribute_of);
    if (at < p->keyword)
        return STYLE_KEYWORD;
    return at < p->keyword + p->question ? STYLE_QUESTION : STYLE_ATTRIBUTE_OF;
}

bool gb_world_ask(world *w, world_query *query, uint32_t fact, gb_rng *rng, gb_map *asked,
                  gb_status *status)
{
    for (int attempt = 0; attempt < TRIES; attempt++) { /* until the text is a new one */
        *query = (world_query){.entity = fact / w->attributes,
                               .attribute = fact % w->attributes,
                               .other = GB_MAP_NONE,
                               .wording = {GB_MAP_NONE, GB_MAP_NONE},
                               .positive = GB_MAP_NONE};
        query->style = gb_world_style(w, rng, w->params.conjunctive);
        if (query->style == STYLE_CONJUNCTIVE)
            query->other = query->attribute ^ 1;
        if (!gb_world_write_query(w, query, rng, status))
            return false;
        if (gb_map_get(asked, query->text, strlen(query->text)) == GB_MAP_NONE)
            break;
    }
    return gb_map_set(asked, query->text, strlen(query->text), 1, status);
}

/* ---- training and development -------------------------------------------------------------- */

/* Facts of stated pairs that no topic asks for, shuffled: entity * attributes + attribute. */
static uint32_t *list_facts(world *w, const bool *reserved, uint32_t *count, gb_status *status)
{
    uint32_t pairs = w->params.entities * w->params.clusters;
    uint32_t *facts = gb_world_array(w, (size_t)pairs * WORLD_PAIR, sizeof *facts, status);
    if (!facts)
        return NULL;
    *count = 0;
    for (uint32_t pair = 0; pair < pairs; pair++)
        for (uint32_t i = 0; i < WORLD_PAIR && w->stated[pair] != GB_MAP_NONE && !reserved[pair];
             i++)
            facts[(*count)++] = pair * WORLD_PAIR + i;
    gb_rng rng = gb_world_rng(w, STAGE_SPLIT, 0);
    gb_rng_shuffle(&rng, facts, *count);
    return facts;
}

/* A conjunctive query shows both facts of a pair. Where they lie in different sets only one of them
 * may ask so, or the two sets would hold the same question. */
static bool may_join(const uint8_t *set_of, uint32_t fact)
{
    uint32_t sibling = fact ^ 1;
    return set_of[fact] == set_of[sibling] || (fact / WORLD_PAIR) % WORLD_PAIR == fact % WORLD_PAIR;
}

/* One of the passages that state a pair. */
static uint32_t draw_positive(const world *w, uint32_t pair, gb_rng *rng)
{
    uint32_t count = 0;
    for (uint32_t p = w->stated[pair]; p != GB_MAP_NONE; p = w->stated_next[p])
        count++;
    uint32_t passage = w->stated[pair];
    for (uint32_t pick = gb_rng_below(rng, count); pick > 0; pick--)
        passage = w->stated_next[passage];
    return passage;
}

/* Queries about `facts`, in turn as often as needed. conjunctive is the chance of that style where
 * it is allowed. */
static bool make_set(world *w, world_split split, const uint32_t *facts, uint32_t fact_count,
                     uint32_t count, const uint8_t *set_of, gb_map *texts, gb_status *status)
{
    world_query *queries = gb_world_array(w, count, sizeof *queries, status);
    if (!queries)
        return false;
    uint32_t allowed = 0;
    for (uint32_t i = 0; i < fact_count; i++)
        allowed += may_join(set_of, facts[i]);
    double conjunctive = w->params.conjunctive * fact_count / (allowed ? allowed : 1);
    world_stage stage = split == SPLIT_TRAIN ? STAGE_TRAIN : STAGE_DEV;
    for (uint32_t i = 0; i < count; i++) {
        gb_rng rng = gb_world_rng(w, stage, i);
        uint32_t fact = facts[i % fact_count], pair = fact / WORLD_PAIR;
        uint32_t cluster = pair % w->params.clusters;
        size_t length;
        for (int attempt = 0; attempt < TRIES; attempt++) { /* until the text is a new one */
            queries[i] = (world_query){.entity = pair / w->params.clusters,
                                       .attribute = cluster * WORLD_PAIR + fact % WORLD_PAIR,
                                       .wording = {GB_MAP_NONE, GB_MAP_NONE},
                                       .other = GB_MAP_NONE};
            queries[i].style = gb_world_style(w, &rng, may_join(set_of, fact) ? conjunctive : 0.0);
            if (queries[i].style == STYLE_CONJUNCTIVE)
                queries[i].other = queries[i].attribute ^ 1;
            queries[i].positive = draw_positive(w, pair, &rng);
            if (!gb_world_write_query(w, &queries[i], &rng, status))
                return false;
            length = strlen(queries[i].text);
            if (gb_map_get(texts, queries[i].text, length) == GB_MAP_NONE)
                break;
        }
        if (!gb_map_set(texts, queries[i].text, strlen(queries[i].text), (uint32_t)split, status))
            return false;
    }
    w->queries[split] = queries;
    w->query_count[split] = count;
    return true;
}

bool gb_world_make_queries(world *w, const bool *reserved, gb_map *texts, gb_status *status)
{
    uint32_t count = 0;
    uint32_t *facts = list_facts(w, reserved, &count, status);
    size_t all = (size_t)w->params.entities * w->attributes;
    uint8_t *set_of = gb_world_array(w, all, sizeof *set_of, status);
    if (!facts || !set_of)
        return false;
    uint32_t train = (uint32_t)((double)count * w->params.train_facts);
    if (train == 0 || train == count)
        return gb_fail(status, GB_USAGE, NULL, NULL, "too few facts for two sets of queries");
    for (uint32_t i = 0; i < count; i++)
        set_of[facts[i]] = i < train ? 1 : 2;
    return make_set(w, SPLIT_TRAIN, facts, train, w->params.train, set_of, texts, status) &&
           make_set(w, SPLIT_DEV, facts + train, count - train, w->params.dev, set_of, texts,
                    status);
}

/* ---- generated queries --------------------------------------------------------------------- */

/* The collection's own queries keep the streams that they always had. Those of another generator
 * hang on the generator, the passage and the number alone, not on how many are asked for. */
static gb_rng generator_rng(const world *w, bool kinds, uint32_t passage, uint32_t k)
{
    if (w->generator == 0)
        return kinds ? gb_world_rng(w, STAGE_KINDS, k)
                     : gb_world_rng(w, STAGE_GENERATED, passage * w->params.generated + k);
    world_stage stage = (world_stage)(STAGE_GENERATORS + 2 * w->generator + kinds);
    return gb_world_rng(w, stage, kinds ? k : passage * WORLD_MOST_GENERATED + k);
}

/* Kinds of the k-th queries of all passages in exact proportion, so that the first C queries of
 * every passage have the same shares for any C. */
static void deal_kinds(const world *w, uint32_t k, uint8_t *kinds, uint32_t *order)
{
    const gb_generator_rates *r = &w->params.generator;
    double rest = 1.0 - r->about;
    double shares[KIND_COUNT] = {[KIND_ABOUT] = r->about,
                                 [KIND_OTHER_ATTRIBUTE] = rest * r->other_attribute,
                                 [KIND_ENTITY_ONLY] = rest * r->entity_only,
                                 [KIND_WRONG_ENTITY] = rest * r->wrong_entity,
                                 [KIND_NO_ENTITY] = rest * r->no_entity};
    gb_rng rng = generator_rng(w, true, 0, k);
    uint32_t passages = w->passage_count, kind = 0;
    double end = shares[0] * passages;
    gb_rng_order(&rng, order, passages);
    for (uint32_t i = 0; i < passages; i++) {
        while (kind < KIND_COUNT - 1 && i + 0.5 >= end)
            end += shares[++kind] * passages;
        kinds[(size_t)order[i] * w->params.generated + k] = (uint8_t)kind;
    }
}

/* An attribute of the entity that the passage does not state. */
static uint32_t another_attribute(const world *w, const world_passage *passage, gb_rng *rng)
{
    const gb_world_params *p = &w->params;
    const bool *uses = w->type_uses + (size_t)w->entities[passage->entity].type * p->clusters;
    uint32_t cluster;
    do
        cluster = gb_rng_below(rng, p->clusters);
    while (cluster == passage->cluster || !uses[cluster]);
    return cluster * WORLD_PAIR + gb_rng_below(rng, WORLD_PAIR);
}

/* Another entity; one of the same type, whose passages state the same attributes. */
static uint32_t rival_entity(const world *w, uint32_t entity, gb_rng *rng)
{
    const gb_world_params *p = &w->params;
    uint32_t other;
    do
        other = gb_rng_below(rng, p->entities);
    while (other == entity || w->entities[other].type != w->entities[entity].type);
    return other;
}

static bool generate(world *w, uint32_t row, uint32_t k, gb_status *status)
{
    const world_passage *passage = &w->passages[row];
    size_t at = (size_t)row * w->params.generated + k;
    gb_rng rng = generator_rng(w, false, row, k);
    uint32_t which = gb_rng_below(&rng, WORLD_PAIR);
    world_query query = {.entity = passage->entity,
                         .attribute = passage->cluster * WORLD_PAIR + which,
                         .other = GB_MAP_NONE,
                         .wording = {GB_MAP_NONE, GB_MAP_NONE}};
    query.style = gb_world_style(w, &rng, 0.0);
    uint32_t type = w->entities[passage->entity].type;
    switch ((generated_kind)w->generated_kinds[at]) {
    case KIND_ABOUT:
        query.style = gb_world_style(w, &rng, w->params.conjunctive);
        if (query.style == STYLE_CONJUNCTIVE)
            query.other = query.attribute ^ 1;
        if (gb_world_chance(&rng, w->params.generator.copy)) {
            query.wording[0] = passage->wording[which];
            query.wording[1] = passage->wording[which ^ 1];
        }
        break;
    case KIND_OTHER_ATTRIBUTE:
        query.attribute = another_attribute(w, passage, &rng);
        break;
    case KIND_ENTITY_ONLY:
        query.attribute = GB_MAP_NONE;
        break;
    case KIND_WRONG_ENTITY:
        query.entity = rival_entity(w, passage->entity, &rng);
        break;
    default:
        query.entity = GB_MAP_NONE;
    }
    if (!write_query(w, &query, type, &rng, status))
        return false;
    w->generated[at] = query.text;
    return true;
}

bool gb_world_make_generated(world *w, gb_status *status)
{
    size_t all = (size_t)w->passage_count * w->params.generated;
    w->generated = gb_world_array(w, all, sizeof *w->generated, status);
    w->generated_kinds = gb_world_array(w, all, sizeof *w->generated_kinds, status);
    uint32_t *order = gb_world_array(w, w->passage_count, sizeof *order, status);
    if (!w->generated || !w->generated_kinds || !order)
        return false;
    for (uint32_t k = 0; k < w->params.generated; k++)
        deal_kinds(w, k, w->generated_kinds, order);
    for (uint32_t row = 0; row < w->passage_count; row++)
        for (uint32_t k = 0; k < w->params.generated; k++)
            if (!generate(w, row, k, status))
                return false;
    return true;
}
