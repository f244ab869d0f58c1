/* Questions of the sets and their judgements, one function a task. */
#include "data/world_sets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_JUDGED = 10, TRIES = 40 };

/* ---- judgements ----------------------------------------------------------------------------- */

/* Judge a text for a question, each text once: the better grade counts. */
static bool judge(set_split *split, uint32_t query, uint32_t text, int32_t grade, gb_status *status)
{
    if (text == GB_MAP_NONE)
        return true;
    for (size_t i = split->judgement_count; i-- > 0 && split->judgements[i].query == query;)
        if (split->judgements[i].passage == text) {
            if (split->judgements[i].grade < grade)
                split->judgements[i].grade = grade;
            return true;
        }
    if (!gb_grow(&split->judgements, &split->judgement_space, split->judgement_count + 1,
                 sizeof *split->judgements, status))
        return false;
    split->judgements[split->judgement_count++] = (gb_qrel){query, text, grade};
    return true;
}

/* All texts that state a fact (or, which is the same, its pair). */
static bool judge_stating(const world_set_data *d, set_split *split, uint32_t query, uint32_t fact,
                          int32_t grade, gb_status *status)
{
    bool ok = true;
    for (uint32_t u = gb_world_stating(d->w, fact); ok && u != GB_MAP_NONE;
         u = d->w->stated_next[u])
        ok = judge(split, query, d->text_of[u], grade, status);
    return ok;
}

/* Grades of a topic: see TASK_GRADED. The same type's statements about others are judged 0. */
static bool judge_graded(const world_set_data *d, set_split *split, uint32_t query, uint32_t fact,
                         gb_status *status)
{
    const world *w = d->w;
    uint32_t entity = fact / w->attributes, attribute = fact % w->attributes;
    bool ok = true;
    for (uint32_t u = 0; ok && u < w->passage_count; u++) {
        const world_passage *unit = &w->passages[u];
        bool same = unit->entity == entity, states = unit->cluster == attribute / WORLD_PAIR;
        if (same || (unit->aside_entity == entity && unit->aside_attribute == attribute))
            ok = judge(split, query, d->text_of[u], same && states ? 2 : 1, status);
        else if (states && w->entities[unit->entity].type == w->entities[entity].type)
            ok = judge(split, query, d->text_of[u], 0, status);
    }
    gb_rng rng = gb_world_set_rng(d, STAGE_SET_JUDGED, query);
    for (int i = 0; ok && i < RANDOM_JUDGED; i++)
        ok = judge(split, query, gb_rng_below(&rng, d->text_count), 0, status);
    return ok;
}

static bool judge_entity(const world_set_data *d, set_split *split, uint32_t query, uint32_t entity,
                         gb_status *status)
{
    bool ok = true;
    for (uint32_t u = 0; ok && u < d->w->passage_count; u++)
        if (d->w->passages[u].entity == entity)
            ok = judge(split, query, d->text_of[u], 1, status);
    return ok;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Words for the letters of a pattern: %n %T entity and its noun, %A %V an attribute and its value,
 * %B %W another. */
typedef struct blanks {
    const char *n, *T, *A, *V, *B, *W; /* any case; those that no pattern uses may be NULL */
} blanks;

static const char *blank(const blanks *b, char letter)
{
    switch (letter) {
    case 'n':
        return b->n;
    case 'T':
        return b->T;
    case 'A':
        return b->A;
    case 'V':
        return b->V;
    case 'B':
        return b->B;
    default:
        return b->W;
    }
}

/* Lower case, as questions are; a full stop at the end is dropped. Keeps the text in the arena. */
static const char *keep_lower(const world_set_data *d, gb_text *text, gb_status *status)
{
    for (size_t i = 0; i < text->length; i++)
        text->data[i] = (char)tolower((unsigned char)text->data[i]);
    if (text->length && text->data[text->length - 1] == '.')
        text->data[--text->length] = '\0';
    return gb_world_string(d->w, text, status);
}

static const char *fill(const world_set_data *d, const char *pattern, const blanks *b,
                        gb_status *status)
{
    gb_text text = {0};
    for (const char *p = pattern; *p; p++) {
        if (*p == '%')
            gb_text_printf(&text, "%s", blank(b, *++p));
        else
            gb_text_append(&text, p, 1);
    }
    const char *kept = keep_lower(d, &text, status);
    gb_text_free(&text);
    return kept;
}

static const char *wording(const world *w, uint32_t attribute, gb_rng *rng)
{
    return w->words.attributes[attribute][gb_world_wording(w, rng, true)];
}

static const char *noun(const world *w, uint32_t entity, gb_rng *rng)
{
    return gb_world_noun(w, w->entities[entity].type, gb_world_noun_choice(rng, true));
}

/* ---- texts of questions, one function a task ------------------------------------------------ */

/* Text of question `query` about a fact, or NULL and status. */
typedef const char *(*asker)(world_set_data *d, uint32_t fact, gb_rng *rng, gb_status *status);

static const char *ask_fact(world_set_data *d, uint32_t fact, gb_rng *rng, gb_status *status)
{
    world_query query;
    return gb_world_ask(d->w, &query, fact, rng, d->asked, status) ? query.text : NULL;
}

static const char *ask_trivia(world_set_data *d, uint32_t fact, gb_rng *rng, gb_status *status)
{
    static const char *const patterns[] = {"which %A does the %T called %n with the %B %W have",
                                           "what %A has the %T %n known for the %B %W",
                                           "%n is a %T with the %B %W, what is its %A",
                                           "what is the %A of the %T with the %B %W"};
    const world *w = d->w;
    uint32_t entity = fact / w->attributes, attribute = fact % w->attributes;
    blanks b = {.n = w->entities[entity].name, .T = noun(w, entity, rng)};
    b.A = wording(w, attribute, rng);
    b.B = wording(w, attribute ^ 1, rng);
    b.W = gb_world_value(w, entity, attribute ^ 1, rng);
    return fill(d, patterns[gb_rng_below(rng, 4)], &b, status);
}

/* A word for a wrong value: that of another entity. */
static const char *wrong_value(const world *w, uint32_t entity, uint32_t attribute, gb_rng *rng)
{
    uint32_t other = entity;
    for (int i = 0; i < TRIES && w->values[other * w->attributes + attribute] ==
                                     w->values[entity * w->attributes + attribute];
         i++)
        other = gb_rng_below(rng, w->params.entities);
    return gb_world_value(w, other, attribute, rng);
}

static const char *ask_claim(world_set_data *d, uint32_t fact, gb_rng *rng, gb_status *status)
{
    const world *w = d->w;
    uint32_t entity = fact / w->attributes, attribute = fact % w->attributes;
    bool wrong = gb_rng_below(rng, 3) == 0, both = gb_world_chance(rng, w->params.conjunctive);
    gb_text text = {0};
    gb_world_write_claim(w, entity, attribute, wording(w, attribute, rng),
                         wrong ? wrong_value(w, entity, attribute, rng) : NULL, rng, &text);
    if (both && text.length) {
        text.length--; /* the full stop */
        gb_text_append(&text, " and", 4);
        gb_world_write_claim(w, entity, attribute ^ 1, wording(w, attribute ^ 1, rng), NULL, rng,
                             &text);
    }
    const char *kept = keep_lower(d, &text, status);
    gb_text_free(&text);
    return kept;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static set_split *add_split(world_set_data *d, const char *name, uint32_t count, gb_status *status)
{
    set_split *split = &d->splits[d->split_count];
    split->name = name;
    split->queries = gb_world_array(d->w, count, sizeof *split->queries, status);
    if (!split->queries)
        return NULL;
    d->split_count++;
    return split;
}

static bool too_few(const world_set_data *d, gb_status *status)
{
    return gb_fail(status, GB_INTERNAL, d->set->name, NULL, "too few facts for the questions");
}

static bool judge_fact(const world_set_data *d, set_split *split, uint32_t query, uint32_t fact,
                       gb_status *status)
{
    switch (d->set->task) {
    case TASK_GRADED:
        return judge_graded(d, split, query, fact, status);
    case TASK_ENTITY:
        return judge_entity(d, split, query, fact / d->w->attributes, status);
    default:
        return judge_stating(d, split, query, fact, 1, status);
    }
}

/* Questions about single facts. Training and test ask for different ones. */
static bool make_facts(world_set_data *d, asker ask, gb_status *status)
{
    uint32_t fact_count, next = 0;
    const uint32_t *facts = gb_world_set_facts(d, &fact_count, status);
    if (!facts)
        return false;
    if (fact_count < d->set->train + d->set->test)
        return too_few(d, status);
    for (int test = d->set->train == 0; test < 2; test++) {
        uint32_t count = test ? d->set->test : d->set->train;
        set_split *split = add_split(d, test ? "test" : "train", count, status);
        if (!split)
            return false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t fact = facts[next];
            gb_rng rng = gb_world_set_rng(d, STAGE_SET_QUERY, next++);
            set_query *query = &split->queries[split->count++];
            *query = (set_query){.entity = fact / d->w->attributes, .fact = fact};
            if (d->set->endings)
                gb_world_value_words(d->w, query->entity, fact % d->w->attributes, query->answers);
            if (!(query->text = ask(d, fact, &rng, status)) ||
                !judge_fact(d, split, i, fact, status))
                return false;
        }
    }
    return true;
}

/* The fact of an entity that is the value of a fact of another. */
static bool make_two_hop(world_set_data *d, gb_status *status)
{
    static const char *const patterns[] = {
        "what is the %B of the %A of %n", "which %B does the %A of the %T %n have",
        "what %B has the %T known as the %A of %n", "the %A of %n has which %B"};
    world *w = d->w;
    uint32_t fact_count;
    const uint32_t *facts = gb_world_set_facts(d, &fact_count, status);
    set_split *split = facts ? add_split(d, "test", d->set->test, status) : NULL;
    if (!split)
        return false;
    for (uint32_t i = 0; i < fact_count && split->count < d->set->test; i++) {
        uint32_t entity = facts[i] / w->attributes, attribute = facts[i] % w->attributes;
        if (!w->takes_entity[attribute])
            continue;
        gb_rng rng = gb_world_set_rng(d, STAGE_SET_QUERY, i);
        uint32_t other = w->values[facts[i]], second;
        do
            second = other * w->attributes + gb_rng_below(&rng, w->attributes);
        while (gb_world_stating(w, second) == GB_MAP_NONE);
        blanks b = {.n = w->entities[entity].name,
                    .T = noun(w, other, &rng),
                    .A = wording(w, attribute, &rng),
                    .B = wording(w, second % w->attributes, &rng)};
        uint32_t row = split->count++;
        split->queries[row] = (set_query){.entity = entity, .fact = facts[i]};
        split->queries[row].text = fill(d, patterns[gb_rng_below(&rng, 4)], &b, status);
        if (!split->queries[row].text || !judge_stating(d, split, row, facts[i], 1, status) ||
            !judge_stating(d, split, row, second, 1, status))
            return false;
    }
    return split->count == d->set->test || too_few(d, status);
}

/* Texts that state a value of an attribute of entities of a type; judged when split is not NULL. */
static bool judge_list(const world_set_data *d, set_split *split, uint32_t row, uint32_t type,
                       uint32_t attribute, uint32_t value, uint32_t *count, gb_status *status)
{
    const world *w = d->w;
    *count = 0;
    for (uint32_t e = 0; e < w->params.entities; e++) {
        uint32_t fact = e * w->attributes + attribute;
        if (w->entities[e].type != type || w->values[fact] != value ||
            gb_world_stating(w, fact) == GB_MAP_NONE)
            continue;
        ++*count;
        if (split && !judge_stating(d, split, row, fact, 1, status))
            return false;
    }
    return true;
}

static bool make_lists(world_set_data *d, gb_status *status)
{
    static const char *const patterns[] = {"%T with %A %V", "%T %A %V", "which %T has the %A %V",
                                           "what %T has %V as its %A"};
    world *w = d->w;
    uint32_t all = w->params.types * w->attributes * WORLD_VALUES, members;
    uint32_t *order = gb_world_array(w, all, sizeof *order, status);
    set_split *split = order ? add_split(d, "test", d->set->test, status) : NULL;
    if (!split)
        return false;
    gb_rng shuffle = gb_world_set_rng(d, STAGE_SET_ORDER, 0);
    gb_rng_order(&shuffle, order, all);
    for (uint32_t i = 0; i < all && split->count < d->set->test; i++) {
        uint32_t value = order[i] % WORLD_VALUES, attribute = order[i] / WORLD_VALUES;
        uint32_t type = attribute / w->attributes, row = split->count;
        attribute %= w->attributes;
        if (w->takes_entity[attribute])
            continue;
        judge_list(d, NULL, row, type, attribute, value, &members, status);
        if (members < 2)
            continue;
        gb_rng rng = gb_world_set_rng(d, STAGE_SET_QUERY, order[i]);
        blanks b = {.T = gb_world_noun(w, type, gb_world_noun_choice(&rng, true)),
                    .A = wording(w, attribute, &rng),
                    .V = w->words.values[attribute][value][gb_rng_below(&rng, 2)]};
        split->queries[row] = (set_query){.entity = GB_MAP_NONE, .fact = GB_MAP_NONE};
        split->queries[row].text = fill(d, patterns[gb_rng_below(&rng, 4)], &b, status);
        split->count++;
        if (!split->queries[row].text ||
            !judge_list(d, split, row, type, attribute, value, &members, status))
            return false;
    }
    return split->count == d->set->test || too_few(d, status);
}

static bool make_duplicates(world_set_data *d, gb_status *status)
{
    uint32_t fact_count;
    const uint32_t *facts = gb_world_set_facts(d, &fact_count, status);
    set_split *split = facts ? add_split(d, "test", d->set->test, status) : NULL;
    if (!split)
        return false;
    for (uint32_t i = 0; i < d->set->test; i++) {
        gb_rng rng = gb_world_set_rng(d, STAGE_SET_QUERY, i);
        world_query query;
        if (!gb_world_ask(d->w, &query, facts[i], &rng, d->asked, status))
            return false;
        split->queries[split->count++] =
            (set_query){.text = query.text, .entity = query.entity, .fact = facts[i]};
        for (uint32_t t = 0; t < d->text_count; t++)
            if (d->texts[t].fact == facts[i] && !judge(split, i, t, 1, status))
                return false;
    }
    return true;
}

static bool judge_counterparts(world_set_data *d, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->splits[0].count; i++)
        ok = judge_stating(d, &d->splits[0], i, d->splits[0].queries[i].fact, 1, status);
    return ok;
}

/* Main's questions; a document is as good as its best passage. */
static bool take_mains(world_set_data *d, gb_status *status)
{
    static const world_split taken[SET_SPLITS] = {SPLIT_TRAIN, SPLIT_DEV, SPLIT_DL19};
    const world *w = d->w;
    bool ok = true;
    for (int s = 0; ok && s < SET_SPLITS; s++) {
        const world_query *queries = w->queries[taken[s]];
        uint32_t count = w->query_count[taken[s]];
        set_split *split = add_split(d, gb_world_splits[taken[s]], count, status);
        if (!split)
            return false;
        for (uint32_t i = 0; ok && i < count; i++) {
            const world_query *q = &queries[i];
            split->queries[split->count++] =
                (set_query){.text = q->text,
                            .entity = q->entity,
                            .fact = q->entity * w->attributes + q->attribute};
            if (q->positive != GB_MAP_NONE)
                ok = judge(split, i, d->text_of[q->positive], 1, status);
        }
        for (size_t j = 0; ok && j < w->judgement_count[taken[s]]; j++) {
            gb_qrel row = w->judgements[taken[s]][j];
            ok = judge(split, row.query, d->text_of[row.passage], row.grade, status);
        }
    }
    return ok;
}

bool gb_world_set_make_queries(world_set_data *d, gb_status *status)
{
    switch (d->set->task) {
    case TASK_NONE:
        return true;
    case TASK_DOCUMENTS:
        return take_mains(d, status);
    case TASK_TRIVIA:
        return make_facts(d, ask_trivia, status);
    case TASK_CLAIM:
        return make_facts(d, ask_claim, status);
    case TASK_TWO_HOP:
        return make_two_hop(d, status);
    case TASK_LIST:
        return make_lists(d, status);
    case TASK_COUNTER:
        return judge_counterparts(d, status);
    case TASK_DUPLICATE:
        return make_duplicates(d, status);
    default:
        return make_facts(d, ask_fact, status);
    }
}
