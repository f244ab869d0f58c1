/* Topics with graded judgements, as TREC's deep learning tracks have them.
 *
 * Grade 3: the passage states the fact asked for. Grade 2: it tells it in passing, in an entry
 * about another thing, or says that there is something to tell ("opinions differ about its age"),
 * or it meets one of the conditions of a question that names nothing. Grade 1: another passage
 * about the same thing. Grade 0, judged all the same: statements of the same attribute about others
 * of its kind, and some drawn at random. */
#include "synth/world.h"

enum { RANDOM_JUDGED = 10, LIKE_JUDGED = 20 };

static bool tells_aside(const world_passage *p, uint32_t fact)
{
    for (uint32_t a = 0; a < p->aside_count; a++)
        if (p->asides[a] == fact)
            return true;
    return false;
}

/* A fact of the passage with the attribute and value of another fact, of a thing of its kind. */
static bool meets(const world *w, const world_passage *p, uint32_t fact)
{
    const world_fact *wanted = &w->facts[fact];
    if (fact == GB_MAP_NONE || w->entities[p->entity].kind != w->entities[wanted->entity].kind)
        return false;
    for (uint32_t i = 0; i < p->fact_count; i++) {
        const world_fact *f = &w->facts[p->facts[i]];
        if (f->attribute == wanted->attribute && f->value == wanted->value)
            return true;
    }
    return false;
}

static bool is_like(const world *w, const world_passage *p, uint32_t fact)
{
    const world_fact *wanted = &w->facts[fact];
    if (w->entities[p->entity].kind != w->entities[wanted->entity].kind)
        return false;
    for (uint32_t i = 0; i < p->fact_count; i++)
        if (w->facts[p->facts[i]].attribute == wanted->attribute)
            return true;
    return false;
}

/* -1: it would not be judged. */
static int grade(const world *w, const world_query *q, const world_passage *p)
{
    if (synth_world_states(p, q->fact))
        return 3;
    if (!q->named) {
        int met = meets(w, p, q->fact) + (q->other != GB_MAP_NONE && meets(w, p, q->other));
        if (met == 1 + (q->other != GB_MAP_NONE))
            return 3;
        if (met)
            return 2;
    }
    if (p->echo == q->fact || tells_aside(p, q->fact))
        return 2;
    if (p->entity == w->facts[q->fact].entity)
        return 1;
    return -1;
}

bool synth_world_judge_topic(const world *w, world_split *split, uint32_t query, gb_status *status)
{
    const world_query *q = &split->queries[query];
    gb_rng rng = synth_world_rng(w, STAGE_JUDGED, q->fact);
    uint32_t start = gb_rng_below(&rng, w->passage_count), like = 0;
    bool ok = true;
    for (uint32_t row = 0; ok && row < w->passage_count; row++) {
        int given = grade(w, q, &w->passages[row]);
        ok = given < 0 || synth_world_judge(split, query, row, given, status);
    }
    for (uint32_t i = 0; ok && i < w->passage_count && like < LIKE_JUDGED; i++) {
        uint32_t row = (start + i) % w->passage_count;
        if (!is_like(w, &w->passages[row], q->fact))
            continue;
        like++;
        ok = synth_world_judge(split, query, row, 0, status);
    }
    for (int i = 0; ok && i < RANDOM_JUDGED; i++)
        ok = synth_world_judge(split, query, gb_rng_below(&rng, w->passage_count), 0, status);
    return ok;
}
