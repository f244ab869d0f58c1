/* Worlds and texts of the sets. */
#include "data/world_sets.h"

#include <stdlib.h>
#include <string.h>

static gb_world_params params_of(const world_set *set)
{
    gb_world_params p = gb_world_defaults();
    p.types = set->types;
    p.first_type = set->first_type;
    p.entities = set->entities;
    p.clusters = set->clusters;
    p.type_clusters = set->type_clusters;
    p.entity_clusters = set->clusters / 2;
    p.documents = set->documents;
    p.least_passages = set->least;
    p.most_passages = set->most;
    p.units = set->units;
    p.stay = 0.9; /* texts of a document are about one entity, as an article is */
    p.restated = set->task == TASK_NONE ? 0.3 : p.restated; /* articles say things twice */
    p.aside = set->aside;
    p.keyword = set->keyword;
    p.question = set->question;
    p.attribute_of = set->attribute_of;
    p.conjunctive = set->conjunctive;
    p.endings = set->endings;
    p.foreign = set->foreign;
    return p;
}

uint32_t *gb_world_set_facts(world_set_data *d, uint32_t *count, gb_status *status)
{
    world *w = d->w;
    uint32_t pairs = w->params.entities * w->params.clusters;
    uint32_t *facts = gb_world_array(w, (size_t)pairs * WORLD_PAIR, sizeof *facts, status);
    *count = 0;
    for (uint32_t fact = 0; facts && fact < pairs * WORLD_PAIR; fact++)
        if (gb_world_stating(w, fact) != GB_MAP_NONE)
            facts[(*count)++] = fact;
    gb_rng rng = gb_world_set_rng(d, STAGE_SET_ORDER, 0);
    if (facts)
        gb_rng_shuffle(&rng, facts, *count);
    return facts;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static const char *make_id(world *w, uint32_t document, uint32_t place, gb_status *status)
{
    char id[32];
    int length = snprintf(id, sizeof id, "%u-%u", document, place);
    return gb_arena_strdup(w->arena, id, (size_t)length, status);
}

/* Texts of questions: shuffled facts, each asked once or twice, with the text of a unit that states
 * the fact where texts have bodies. */
static bool make_question_texts(world_set_data *d, gb_status *status)
{
    world *w = d->w;
    double again = d->set->units ? 0.4 : 0.6; /* positives a question: 1.4 CQADupStack, 1.6 Quora */
    uint32_t fact_count, wanted = d->set->documents;
    uint32_t *facts = gb_world_set_facts(d, &fact_count, status);
    d->texts = gb_world_array(w, wanted, sizeof *d->texts, status);
    if (!facts || !d->texts)
        return false;
    for (uint32_t i = 0; i < fact_count && d->text_count < wanted; i++) {
        gb_rng rng = gb_world_set_rng(d, STAGE_SET_TEXT, i);
        uint32_t times = 1 + gb_world_chance(&rng, again);
        for (; times > 0 && d->text_count < wanted; times--) {
            world_query q;
            if (!gb_world_ask(w, &q, facts[i], &rng, d->asked, status))
                return false;
            uint32_t row = d->text_count++;
            d->texts[row] = (set_text){
                .id = make_id(w, row, 0, status),
                .title = d->set->units ? q.text : "",
                .text = d->set->units ? w->passages[gb_world_stating(w, facts[i])].text : q.text,
                .document = row,
                .entity = q.entity,
                .cluster = q.attribute / WORLD_PAIR,
                .fact = facts[i]};
            if (!d->texts[row].id)
                return false;
        }
    }
    return d->text_count == wanted ||
           gb_fail(status, GB_INTERNAL, d->set->name, NULL, "too few facts for the texts");
}

/* Of a set of counterparts, units that become questions: one of each of some pairs that are stated
 * twice. They are no texts. */
static bool take_questions(world_set_data *d, gb_status *status)
{
    world *w = d->w;
    set_split *split = &d->splits[0];
    uint32_t pairs = w->params.entities * w->params.clusters, count = 0;
    uint32_t *order = gb_world_array(w, pairs, sizeof *order, status);
    split->queries = gb_world_array(w, d->set->test, sizeof *split->queries, status);
    if (!order || !split->queries)
        return false;
    for (uint32_t pair = 0; pair < pairs; pair++)
        if (w->stated[pair] != GB_MAP_NONE && w->stated_next[w->stated[pair]] != GB_MAP_NONE)
            order[count++] = pair;
    gb_rng rng = gb_world_set_rng(d, STAGE_SET_ORDER, 1);
    gb_rng_shuffle(&rng, order, count);
    if (count < d->set->test)
        return gb_fail(status, GB_INTERNAL, d->set->name, NULL, "too few facts stated twice");
    for (uint32_t i = 0; i < d->set->test; i++) {
        uint32_t unit = w->stated[order[i]];
        split->queries[i] = (set_query){.text = w->passages[unit].text,
                                        .entity = order[i] / w->params.clusters,
                                        .fact = order[i] * WORLD_PAIR};
        d->text_of[unit] = GB_MAP_NONE;
    }
    split->name = "test";
    split->count = d->set->test;
    d->split_count = 1;
    return true;
}

/* Join units to texts: so many of a document, or all of it. */
static bool join_units(world_set_data *d, gb_status *status)
{
    world *w = d->w;
    uint32_t units = d->set->task == TASK_DOCUMENTS ? w->passage_count : d->set->units;
    uint32_t at_document = GB_MAP_NONE, document = 0, place = 0, held = 0, first = 0;
    gb_text text = {0};
    bool ok = true;
    for (uint32_t u = 0; ok && u < w->passage_count; u++) {
        const world_passage *unit = &w->passages[u];
        if (d->text_of[u] == GB_MAP_NONE)
            continue;
        bool opens = unit->document != at_document;
        if (opens) {
            document += at_document != GB_MAP_NONE;
            at_document = unit->document;
            place = 0;
            first = u;
        }
        if (opens || held == units) {
            text.length = held = 0;
            d->texts[d->text_count++] = (set_text){
                .id = make_id(w, unit->document, place++, status),
                .title = d->set->titled ? w->entities[w->passages[first].entity].name : "",
                .document = document,
                .entity = unit->entity,
                .cluster = unit->cluster};
        }
        set_text *current = &d->texts[d->text_count - 1];
        gb_text_printf(&text, "%s%s", held++ ? " " : "", unit->text);
        bool closes = held == units || u + 1 == w->passage_count ||
                      w->passages[u + 1].document != at_document;
        if (closes)
            current->text = gb_world_string(w, &text, status);
        d->text_of[u] = d->text_count - 1;
        ok = current->id && (!closes || current->text);
    }
    gb_text_free(&text);
    return ok;
}

bool gb_world_set_make_texts(world_set_data *d, uint64_t seed, gb_status *status)
{
    gb_world_params params = params_of(d->set), main_params = gb_world_defaults();
    bool documents = d->set->task == TASK_DOCUMENTS;
    d->w = documents ? d->language : &d->own;
    d->own.set = d->number;
    d->own.language = d->language;
    if (!(documents ? gb_world_make(d->language, &main_params, seed, status)
                    : gb_world_make_language(d->language, seed, status) &&
                          gb_world_make_texts(&d->own, &params, seed, status)))
        return false;
    if (d->set->task == TASK_DUPLICATE)
        return make_question_texts(d, status);
    d->text_of = gb_world_array(d->w, d->w->passage_count, sizeof *d->text_of, status);
    d->texts = gb_world_array(d->w, d->w->passage_count, sizeof *d->texts, status);
    return d->text_of && d->texts && (d->set->task != TASK_COUNTER || take_questions(d, status)) &&
           join_units(d, status);
}
