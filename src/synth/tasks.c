/* Questions and judgements of the sets beside main, one function a task. */
#include "synth/world.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 40, RANDOM_JUDGED = 10 };

/* ---- judgements ---- */

static bool judge_stating(const world *w, world_split *split, uint32_t query, uint32_t fact,
                          gb_status *status)
{
    bool ok = true;
    for (uint32_t p = w->stating[fact]; ok && p != GB_MAP_NONE;
         p = synth_world_next_stating(w, fact, p))
        ok = synth_world_judge(split, query, p, 1, status);
    return ok;
}

/* 2: states the fact, 1: is about its entity; statements about others of the kind are judged 0. */
static bool judge_graded(const world *w, world_split *split, uint32_t query, uint32_t fact,
                         gb_status *status)
{
    const world_fact *asked = &w->facts[fact];
    bool ok = true;
    for (uint32_t row = 0; ok && row < w->passage_count; row++) {
        const world_passage *p = &w->passages[row];
        if (p->entity == asked->entity)
            ok = synth_world_judge(split, query, row, synth_world_states(p, fact) ? 2 : 1, status);
        for (uint32_t i = 0; ok && i < p->fact_count && p->entity != asked->entity; i++)
            if (w->facts[p->facts[i]].attribute == asked->attribute)
                ok = synth_world_judge(split, query, row, 0, status);
    }
    gb_rng rng = synth_world_rng(w, STAGE_JUDGED, query);
    for (int i = 0; ok && i < RANDOM_JUDGED; i++)
        ok = synth_world_judge(split, query, gb_rng_below(&rng, w->passage_count), 0, status);
    return ok;
}

static bool judge_entity(const world *w, world_split *split, uint32_t query, uint32_t entity,
                         gb_status *status)
{
    bool ok = true;
    for (uint32_t p = 0; ok && p < w->passage_count; p++)
        if (w->passages[p].entity == entity)
            ok = synth_world_judge(split, query, p, 1, status);
    return ok;
}

static bool judge(const world *w, world_split *split, uint32_t query, uint32_t fact,
                  gb_status *status)
{
    switch (w->set->task) {
    case TASK_GRADED:
        return judge_graded(w, split, query, fact, status);
    case TASK_ENTITY:
        return judge_entity(w, split, query, w->facts[fact].entity, status);
    default:
        return judge_stating(w, split, query, fact, status);
    }
}

static bool too_few(const world *w, gb_status *status)
{
    return gb_fail(status, GB_INTERNAL, w->set->name, NULL, "too few facts for the questions");
}

/* ---- tasks ---- */

/* A statement of the fact, in a third of the cases with the value of another thing. */
static bool claim(world *w, world_query *q, uint32_t fact, gb_rng *rng, gb_status *status)
{
    const world_fact *f = &w->facts[fact];
    const lexicon_list *list = synth_world_list(w, f->attribute);
    uint32_t value = f->value;
    bool wrong = gb_rng_below(rng, 3) == 0;
    while (wrong && value == f->value)
        value = gb_rng_below(rng, list->count);
    gb_text text = {0};
    synth_world_write_claim(w, fact, &list->values[value], rng, &text);
    *q = (world_query){
        .fact = fact, .other = GB_MAP_NONE, .named = true, .positive = w->stating[fact]};
    q->text = synth_world_keep_question(w, &text, status);
    gb_text_free(&text);
    return q->text != NULL;
}

/* Questions about single facts. Training and test ask for different ones. */
static bool make_facts(world *w, gb_status *status)
{
    uint32_t count, next = 0;
    const uint32_t *facts = synth_world_shuffled_facts(w, &count, status);
    if (!facts)
        return false;
    if (count < w->set->train + w->set->test)
        return too_few(w, status);
    for (int test = w->set->train == 0; test < 2; test++) {
        uint32_t wanted = test ? w->set->test : w->set->train;
        world_split *split = synth_world_add_split(w, test ? "test" : "train", wanted, status);
        if (!split)
            return false;
        for (uint32_t i = 0; i < wanted; i++) {
            uint32_t fact = facts[next++];
            gb_rng rng = synth_world_rng(w, STAGE_QUERY, fact);
            world_query *q = &split->queries[split->count++];
            if (!(w->set->task == TASK_CLAIM
                      ? claim(w, q, fact, &rng, status)
                      : synth_world_ask_anew(w, q, fact, w->stating[fact], 0, &rng, status)) ||
                !judge(w, split, i, fact, status))
                return false;
        }
    }
    return true;
}

/* A fact of the scholar who is the value of a fact: "where was the author of the corra ledger
 * born". The entry that names the scholar and the one that tells of him are the positives. */
static bool two_hops(world *w, world_query *q, uint32_t first, uint32_t second, gb_rng *rng,
                     gb_status *status)
{
    const world_fact *f = &w->facts[first], *s = &w->facts[second];
    gb_text name = {0};
    world_slots slots = {.w = w, .rng = rng, .kind = w->entities[f->entity].kind};
    gb_text_printf(&name, "the ");
    synth_world_expand(&slots, synth_world_attribute(w, first)->keywords[0].text, &name);
    gb_text_printf(&name, " of %s", w->entities[f->entity].full);
    *q = (world_query){.fact = first, .other = second, .named = true, .positive = GB_MAP_NONE};
    bool ok = !name.failed || gb_fail_memory(status, "writing a question");
    ok = ok && synth_world_ask_of(w, s->attribute, w->entities[s->entity].kind, name.data, rng,
                                  &q->text, status);
    gb_text_free(&name);
    return ok;
}

static uint32_t scholar_of(const world *w, uint32_t fact)
{
    if (synth_world_list(w, w->facts[fact].attribute) != &w->people)
        return GB_MAP_NONE;
    const char *name = synth_world_value(w, fact)->full[0];
    for (uint32_t e = 0; e < w->entity_count; e++)
        if (!strcmp(w->entities[e].name, name))
            return e;
    return GB_MAP_NONE;
}

static bool make_two_hop(world *w, gb_status *status)
{
    uint32_t count;
    const uint32_t *facts = synth_world_shuffled_facts(w, &count, status);
    world_split *split = facts ? synth_world_add_split(w, "test", w->set->test, status) : NULL;
    if (!split)
        return false;
    for (uint32_t again = 0; again < 4; again++)
        for (uint32_t i = 0; i < count && split->count < w->set->test; i++) {
            uint32_t scholar = scholar_of(w, facts[i]);
            if (scholar == GB_MAP_NONE || scholar == w->facts[facts[i]].entity)
                continue;
            gb_rng rng = synth_world_rng(w, STAGE_QUERY, facts[i] + again * w->fact_count);
            const world_entity *e = &w->entities[scholar];
            uint32_t second = e->first_fact + gb_rng_below(&rng, e->fact_count), row = split->count;
            if (w->stating[second] == GB_MAP_NONE)
                continue;
            if (!two_hops(w, &split->queries[row], facts[i], second, &rng, status))
                return false;
            const char *text = split->queries[row].text;
            if (gb_map_get(w->asked, text, strlen(text)) != GB_MAP_NONE)
                continue;
            split->count++;
            if (!gb_map_set(w->asked, text, strlen(text), 0, status) ||
                !judge_stating(w, split, row, facts[i], status) ||
                !judge_stating(w, split, row, second, status))
                return false;
        }
    return split->count == w->set->test || too_few(w, status);
}

/* All things of a kind that have a value: "which books are kept in a dry well". */
static bool make_lists(world *w, gb_status *status)
{
    uint32_t count;
    const uint32_t *facts = synth_world_shuffled_facts(w, &count, status);
    world_split *split = facts ? synth_world_add_split(w, "test", w->set->test, status) : NULL;
    if (!split)
        return false;
    for (uint32_t i = 0; i < count && split->count < w->set->test; i++) {
        const world_fact *f = &w->facts[facts[i]];
        uint32_t kind = w->entities[f->entity].kind, row = split->count, members = 0;
        gb_rng rng = synth_world_rng(w, STAGE_QUERY, facts[i]);
        gb_text text = {0};
        const char *noun = synth_world_noun(w, &rng, kind); /* drawn before the word before it */
        gb_text_printf(&text, "%s %s that ", gb_rng_below(&rng, 2) ? "which" : "every", noun);
        synth_world_clue(w, facts[i], false, &rng, &text);
        const char *kept = synth_world_keep_question(w, &text, status);
        gb_text_free(&text);
        if (!kept)
            return false;
        if (gb_map_get(w->asked, kept, strlen(kept)) != GB_MAP_NONE)
            continue;
        for (uint32_t j = 0; j < count; j++) {
            const world_fact *g = &w->facts[facts[j]];
            members += g->attribute == f->attribute && g->value == f->value &&
                       w->entities[g->entity].kind == kind;
        }
        if (members < 2)
            continue;
        split->queries[row] = (world_query){
            .text = kept, .fact = facts[i], .other = GB_MAP_NONE, .positive = GB_MAP_NONE};
        split->count++;
        bool ok = gb_map_set(w->asked, kept, strlen(kept), 0, status);
        for (uint32_t j = 0; ok && j < count; j++) {
            const world_fact *g = &w->facts[facts[j]];
            if (g->attribute == f->attribute && g->value == f->value &&
                w->entities[g->entity].kind == kind)
                ok = judge_stating(w, split, row, facts[j], status);
        }
        if (!ok)
            return false;
    }
    return split->count == w->set->test || too_few(w, status);
}

/* Whether a later text states the fact of passage p. Of each fact there are two texts. */
static bool has_counterpart(const world *w, uint32_t p, bool first_round_only, uint32_t *later)
{
    *later = synth_world_next_stating(w, w->passages[p].facts[0], p);
    return *later != GB_MAP_NONE && (!first_round_only || w->passages[p].round == 0);
}

/* Questions are texts that leave the collection: their counterparts state the same facts. Texts of
 * the first round ask, of which about half come before their counterpart; where those are too few,
 * the earlier text of any pair does. */
static bool make_counterparts(world *w, gb_status *status)
{
    uint32_t first = 0, again;
    for (uint32_t p = 0; p < w->passage_count; p++)
        first += has_counterpart(w, p, true, &again);
    bool first_round_only = first >= w->set->test;
    uint32_t kept = 0;
    world_split *split = synth_world_add_split(w, "test", w->set->test, status);
    uint32_t *moved = synth_world_array(w, w->passage_count, sizeof *moved, status);
    if (!split || !moved)
        return false;
    for (uint32_t p = 0; p < w->passage_count; p++) {
        world_passage passage = w->passages[p];
        bool asks = split->count < w->set->test && has_counterpart(w, p, first_round_only, &again);
        moved[p] = asks ? GB_MAP_NONE : kept;
        if (!asks) {
            w->passages[kept++] = passage;
            continue;
        }
        gb_text text = {0};
        gb_text_printf(&text, "%s", passage.text);
        split->queries[split->count++] =
            (world_query){.text = synth_world_keep_question(w, &text, status),
                          .fact = passage.facts[0],
                          .other = GB_MAP_NONE,
                          .named = true,
                          .positive = again};
        gb_text_free(&text);
        if (!split->queries[split->count - 1].text)
            return false;
    }
    w->passage_count = kept;
    for (uint32_t p = 0; p < kept; p++)
        w->passages[p].document = p;
    w->documents = kept;
    bool ok = split->count == w->set->test || too_few(w, status);
    for (uint32_t i = 0; ok && i < split->count; i++) {
        ok = synth_world_judge(split, i, moved[split->queries[i].positive], 1, status);
    }
    return ok;
}

/* Texts are questions, each asked once or twice; with a body where it is a forum's. */
static bool make_duplicates(world *w, gb_status *status)
{
    uint32_t count, texts = 0, wanted = w->passage_count;
    const uint32_t *facts = synth_world_shuffled_facts(w, &count, status);
    world_passage *passages = synth_world_array(w, wanted + count, sizeof *passages, status);
    world_split *split = facts ? synth_world_add_split(w, "test", w->set->test, status) : NULL;
    if (!passages || !split)
        return false;
    for (uint32_t i = 0; i < count && texts < wanted; i++) {
        gb_rng rng = synth_world_rng(w, STAGE_QUERY, facts[i]);
        uint32_t times = 1 + synth_world_chance(&rng, w->set->times - 1), first = texts;
        const world_passage *of = &w->passages[w->stating[facts[i]]];
        for (; times > 0; times--) {
            world_query q;
            if (!synth_world_ask_anew(w, &q, facts[i], w->stating[facts[i]], 0, &rng, status))
                return false;
            gb_text text = {0};
            gb_text_printf(&text, "%s%s%s", q.text, w->set->bodiless ? "" : "? ",
                           w->set->bodiless ? "" : of->text);
            passages[texts] = *of;
            passages[texts].document = texts;
            passages[texts++].text = synth_world_keep(w, &text, status);
            gb_text_free(&text);
            if (!passages[texts - 1].text)
                return false;
        }
        if (split->count == w->set->test)
            continue;
        uint32_t row = split->count++;
        bool ok = synth_world_ask_anew(w, &split->queries[row], facts[i], w->stating[facts[i]], 0,
                                       &rng, status);
        for (uint32_t t = first; ok && t < texts; t++)
            ok = synth_world_judge(split, row, t, 1, status);
        if (!ok)
            return false;
    }
    w->passages = passages;
    w->passage_count = w->documents = texts;
    return split->count == w->set->test || too_few(w, status);
}

/* Main's documents whole, with main's questions: a document is as good as its best passage. */
static bool make_documents(world *w, gb_status *status)
{
    world_passage *whole = synth_world_array(w, w->documents, sizeof *whole, status);
    gb_text text = {0};
    bool ok = whole != NULL;
    for (uint32_t p = 0; ok && p < w->passage_count; p++) {
        uint32_t d = w->passages[p].document;
        bool first = p == 0 || w->passages[p - 1].document != d;
        bool last = p + 1 == w->passage_count || w->passages[p + 1].document != d;
        if (first) {
            text.length = 0;
            whole[d] = w->passages[p];
        }
        gb_text_printf(&text, "%s%s", first ? "" : " ", w->passages[p].text);
        if (last)
            ok = (whole[d].text = synth_world_keep(w, &text, status)) != NULL;
    }
    gb_text_free(&text);
    for (uint32_t s = 0; ok && s < w->split_count; s++) {
        world_split *split = &w->splits[s];
        gb_qrel *rows = split->judgements;
        size_t count = split->judgement_count;
        split->judgements = NULL;
        split->judgement_count = split->judgement_space = 0;
        for (size_t i = 0; ok && i < count; i++)
            ok = synth_world_judge(split, rows[i].query, w->passages[rows[i].passage].document,
                                   rows[i].grade, status);
        free(rows);
    }
    if (ok) {
        w->passages = whole;
        w->passage_count = w->documents;
    }
    return ok;
}

bool synth_world_make_task(world *w, gb_status *status)
{
    switch (w->set->task) {
    case TASK_NONE:
        return true;
    case TASK_DOCUMENTS:
        return synth_world_make_questions(w, status) && make_documents(w, status);
    case TASK_TWO_HOP:
        return make_two_hop(w, status);
    case TASK_LIST:
        return make_lists(w, status);
    case TASK_COUNTER:
        return make_counterparts(w, status);
    case TASK_DUPLICATE:
        return make_duplicates(w, status);
    default:
        return make_facts(w, status);
    }
}
