/* Topics of the mini world with graded judgements, as TREC's deep learning tracks have them.
 *
 * Grade 3: the passage states the fact asked for. Grade 2: it states it in passing, in a passage
 * about another entity, or it meets one of the two conditions of a conjunctive topic. Grade 1:
 * another passage about the same entity. Grade 0, judged all the same: passages of the same type
 * that state the same attributes of other entities, and some drawn at random. */
#include "data/world.h"

#include <stdlib.h>
#include <string.h>

enum { RANDOM_JUDGED = 10 };

/* Whether an entity has the value that the topic's entity has. */
static bool agrees(const world *w, uint32_t entity, uint32_t topic_entity, uint32_t attribute)
{
    return w->values[entity * w->attributes + attribute] ==
           w->values[topic_entity * w->attributes + attribute];
}

/* Grade of a passage; -1: it would not be judged. */
static int grade(const world *w, const world_query *topic, const world_passage *passage)
{
    uint32_t cluster = topic->attribute / WORLD_PAIR;
    bool states = passage->cluster == cluster, same = passage->entity == topic->entity;
    bool same_type = w->entities[passage->entity].type == w->entities[topic->entity].type;
    if (same && states)
        return 3;
    if (topic->other != GB_MAP_NONE && !topic->named && states && same_type) {
        int met = agrees(w, passage->entity, topic->entity, topic->attribute) +
                  agrees(w, passage->entity, topic->entity, topic->other);
        if (met > 0)
            return met == 2 ? 3 : 2;
    }
    if (passage->aside_entity == topic->entity &&
        (passage->aside_attribute == topic->attribute || passage->aside_attribute == topic->other))
        return 2;
    if (same)
        return 1;
    return states && same_type ? 0 : -1;
}

static bool add_judgement(world *w, world_split split, gb_qrel judgement, gb_status *status)
{
    if (!gb_grow(&w->judgements[split], &w->judgement_space[split], w->judgement_count[split] + 1,
                 sizeof *w->judgements[split], status))
        return false;
    w->judgements[split][w->judgement_count[split]++] = judgement;
    return true;
}

static bool judge(world *w, world_split split, uint32_t number, gb_rng *rng, gb_status *status)
{
    const world_query *topic = &w->queries[split][number];
    uint32_t extra[RANDOM_JUDGED];
    for (int i = 0; i < RANDOM_JUDGED; i++)
        extra[i] = gb_rng_below(rng, w->passage_count);
    for (uint32_t row = 0; row < w->passage_count; row++) {
        int given = grade(w, topic, &w->passages[row]);
        for (int i = 0; i < RANDOM_JUDGED && given < 0; i++)
            if (extra[i] == row)
                given = 0;
        if (given >= 0 && !add_judgement(w, split, (gb_qrel){number, row, given}, status))
            return false;
    }
    return true;
}

/* Facts to ask for: first those that some passage states in passing, then all stated ones, each
 * group shuffled. Facts are entity * attributes + attribute. */
typedef struct candidates {
    uint32_t *passing, *all;           /* the two groups */
    uint32_t passing_count, all_count; /* their sizes */
    uint32_t next_passing, next_all;   /* next to try */
} candidates;

static bool list_candidates(world *w, candidates *c, gb_status *status)
{
    uint32_t pairs = w->params.entities * w->params.clusters;
    c->passing = gb_world_array(w, w->passage_count, sizeof *c->passing, status);
    c->all = gb_world_array(w, (size_t)pairs * WORLD_PAIR, sizeof *c->all, status);
    if (!c->passing || !c->all)
        return false;
    for (uint32_t row = 0; row < w->passage_count; row++) {
        const world_passage *p = &w->passages[row];
        if (p->aside_entity == GB_MAP_NONE)
            continue;
        uint32_t fact = p->aside_entity * w->attributes + p->aside_attribute;
        if (w->stated[fact / WORLD_PAIR] != GB_MAP_NONE)
            c->passing[c->passing_count++] = fact;
    }
    for (uint32_t fact = 0; fact < pairs * WORLD_PAIR; fact++)
        if (w->stated[fact / WORLD_PAIR] != GB_MAP_NONE)
            c->all[c->all_count++] = fact;
    gb_rng rng = gb_world_rng(w, STAGE_TOPICS, 0);
    gb_rng_shuffle(&rng, c->passing, c->passing_count);
    gb_rng_shuffle(&rng, c->all, c->all_count);
    return true;
}

/* Next fact of a pair not yet reserved; every second topic has, while there are any, a fact that is
 * also stated in passing. GB_MAP_NONE when all are used. */
static uint32_t next_fact(candidates *c, bool passing, bool *reserved)
{
    while (passing && c->next_passing < c->passing_count) {
        uint32_t fact = c->passing[c->next_passing++];
        if (!reserved[fact / WORLD_PAIR]) {
            reserved[fact / WORLD_PAIR] = true;
            return fact;
        }
    }
    while (c->next_all < c->all_count) {
        uint32_t fact = c->all[c->next_all++];
        if (!reserved[fact / WORLD_PAIR]) {
            reserved[fact / WORLD_PAIR] = true;
            return fact;
        }
    }
    return GB_MAP_NONE;
}

bool gb_world_make_topics(world *w, bool *reserved, gb_map *texts, gb_status *status)
{
    candidates c = {0};
    if (!list_candidates(w, &c, status))
        return false;
    w->query_count[SPLIT_DL19] = w->params.dl19;
    w->query_count[SPLIT_DL20] = w->params.dl20;
    uint32_t number = 0;
    for (world_split split = SPLIT_DL19; split <= SPLIT_DL20; split++) {
        uint32_t count = w->query_count[split];
        w->queries[split] = gb_world_array(w, count, sizeof *w->queries[split], status);
        if (!w->queries[split])
            return false;
        for (uint32_t i = 0; i < count; i++, number++) {
            uint32_t fact = next_fact(&c, number % 2 == 0, reserved);
            if (fact == GB_MAP_NONE)
                return gb_fail(status, GB_USAGE, NULL, NULL, "too few facts for the topics");
            gb_rng rng = gb_world_rng(w, STAGE_TOPIC_TEXT, number);
            if (!gb_world_ask(w, &w->queries[split][i], fact, &rng, texts, status) ||
                !judge(w, split, i, &rng, status))
                return false;
        }
    }
    return true;
}
