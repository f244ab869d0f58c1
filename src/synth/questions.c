/* Questions: how they are put, and main's splits. */
#include "synth/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 40, TOPICS = 550, MOST_TOKENS = 20 };
static const double preference[] = {0.40, 0.35, 0.25}; /* of wordings: not quite that of passages */
static const double SHORTENED = 0.45;                  /* values of clues that lose a word */
static const double SAME_VALUE = 0.6;    /* a value with two wordings takes the first */
static const double SUBJECT_FIRST = 0.8; /* keywords behind the name */
static const double OWN_ADJECTIVE = 0.5; /* theme questions that tell no people */

/* ---- parts ---- */

void synth_world_clue(const world *w, uint32_t fact, bool shortened, gb_rng *rng, gb_text *out)
{
    const lexicon_value *value = synth_world_value(w, fact);
    uint32_t i = value->wordings > 1 && !synth_world_chance(rng, SAME_VALUE);
    bool brief = shortened && synth_world_chance(rng, SHORTENED);
    world_slots s = {.w = w,
                     .rng = rng,
                     .kind = w->entities[w->facts[fact].entity].kind,
                     .value = brief ? value->brief[i] : value->full[i]};
    synth_world_expand(&s, synth_world_attribute(w, fact)->clues[gb_rng_below(rng, LEXICON_CLUES)],
                       out);
}

const char *synth_world_keep_question(world *w, gb_text *text, gb_status *status)
{
    synth_world_articles(text, 0);
    for (size_t i = 0; i < text->length; i++)
        text->data[i] = (char)tolower((unsigned char)text->data[i]);
    while (text->length && strchr(".,", text->data[text->length - 1]))
        text->data[--text->length] = '\0';
    return synth_world_keep(w, text, status);
}

static const char *relative(const world *w, uint32_t entity)
{
    return synth_world_kind(w, entity)->person ? "who" : "that";
}

/* The name as the form has it, with what is told of the thing besides. */
static void put_name(const world *w, const world_query *q, gb_rng *rng, gb_text *out)
{
    uint32_t entity = w->facts[q->fact].entity;
    const world_entity *e = &w->entities[entity];
    bool person = synth_world_kind(w, entity)->person;
    const char *noun = synth_world_noun(w, rng, e->kind);
    world_slots s = {.w = w, .rng = rng, .kind = e->kind, .theme = &w->lexicon->themes[e->theme]};
    if (q->form == FORM_BRIEF && person) {
        gb_text_printf(out, "%s", e->brief);
    } else if (q->form == FORM_BRIEF) {
        gb_text_printf(out, "the %s %s", e->brief, noun);
    } else if (q->form == FORM_THEME && !person && synth_world_chance(rng, OWN_ADJECTIVE)) {
        synth_world_expand(&s, "the {a} {T} ", out);
        gb_text_printf(out, "%s", e->brief);
    } else {
        gb_text_printf(out, "%s", e->full);
    }
    if (q->form == FORM_THEME && (person || strstr(out->failed ? "" : out->data, e->full))) {
        gb_text_printf(out, ", ");
        synth_world_expand(&s, synth_world_any(rng, &w->lexicon->theme), out);
        gb_text_printf(out, ",");
    } else if (q->form == FORM_CLUE) {
        gb_text_printf(out, ", the %s %s ", noun, relative(w, entity));
        synth_world_clue(w, q->other, true, rng, out);
        gb_text_printf(out, ",");
    }
}

static void put_keywords(const world *w, const world_query *q, gb_rng *rng, gb_text *out)
{
    const lexicon_attribute *a = synth_world_attribute(w, q->fact);
    const world_entity *e = &w->entities[w->facts[q->fact].entity];
    const lexicon_keyword *k = &a->keywords[gb_rng_below(rng, a->keyword_count)];
    world_slots s = {.w = w, .rng = rng, .kind = e->kind};
    bool name_first = k->alone || synth_world_chance(rng, SUBJECT_FIRST);
    if (name_first)
        gb_text_printf(out, "%s ", e->name);
    synth_world_expand(&s, k->text, out);
    if (!name_first)
        gb_text_printf(out, " of %s", e->full);
}

static void put_nameless(const world *w, const world_query *q, gb_rng *rng, gb_text *out)
{
    uint32_t entity = w->facts[q->fact].entity;
    bool who = synth_world_kind(w, entity)->person && synth_world_chance(rng, 0.3);
    gb_text_printf(out, "%s%s ", who ? "who" : "which ",
                   who ? "" : synth_world_noun(w, rng, w->entities[entity].kind));
    synth_world_clue(w, q->fact, true, rng, out);
    if (q->other != GB_MAP_NONE) {
        gb_text_printf(out, " and ");
        synth_world_clue(w, q->other, true, rng, out);
    }
}

static void put_template(const world *w, uint32_t attribute, uint32_t kind, uint32_t wording,
                         const char *name, gb_rng *rng, gb_text *out)
{
    world_slots s = {.w = w, .rng = rng, .kind = kind, .subject = name, .object = name};
    synth_world_expand(&s, w->lexicon->attributes[attribute].questions[wording], out);
}

bool synth_world_ask_of(world *w, uint32_t attribute, uint32_t kind, const char *name, gb_rng *rng,
                        const char **text, gb_status *status)
{
    gb_text out = {0};
    put_template(w, attribute, kind, synth_world_pick(rng, preference, LEXICON_WORDINGS), name, rng,
                 &out);
    *text = synth_world_keep_question(w, &out, status);
    gb_text_free(&out);
    return *text != NULL;
}

/* ---- one question ---- */

/* Whether the entity alone of its kind has the value. */
static bool is_rare(const world *w, uint32_t fact)
{
    const world_fact *f = &w->facts[fact];
    for (uint32_t i = 0; i < w->fact_count; i++)
        if (i != fact && w->facts[i].attribute == f->attribute && w->facts[i].value == f->value &&
            w->entities[w->facts[i].entity].kind == w->entities[f->entity].kind)
            return false;
    return true;
}

/* Another fact that the passage states; GB_MAP_NONE: none. */
static uint32_t draw_other(const world_passage *p, uint32_t fact, gb_rng *rng)
{
    uint32_t found = 0, chosen = GB_MAP_NONE;
    for (uint32_t i = 0; i < p->fact_count; i++)
        if (p->facts[i] != fact && gb_rng_below(rng, ++found) == 0)
            chosen = p->facts[i];
    return chosen;
}

/* A form that the passage allows: a rare value is asked for alone, others in pairs. */
static void choose_form(const world *w, world_query *q, const world_passage *p, gb_rng *rng)
{
    q->form = (question_form)synth_world_pick(rng, w->set->forms, FORM_COUNT);
    if (q->form == FORM_RARE && !is_rare(w, q->fact))
        q->form = FORM_TWO;
    if (q->form == FORM_TWO || q->form == FORM_CLUE)
        q->other = draw_other(p, q->fact, rng);
    if (q->other == GB_MAP_NONE && (q->form == FORM_TWO || q->form == FORM_CLUE))
        q->form = FORM_QUESTION;
    q->named = q->form != FORM_TWO && q->form != FORM_RARE;
}

/* The question as its form has it. */
static void put_question(const world *w, const world_query *q, uint32_t wording, gb_rng *rng,
                         gb_text *out)
{
    const world_fact *fact = &w->facts[q->fact];
    gb_text name = {0};
    out->length = 0;
    if (!q->named) {
        put_nameless(w, q, rng, out);
    } else if (q->form == FORM_KEYWORD) {
        put_keywords(w, q, rng, out);
    } else {
        put_name(w, q, rng, &name);
        put_template(w, fact->attribute, w->entities[fact->entity].kind, wording,
                     name.failed ? "" : name.data, rng, out);
    }
    out->failed |= name.failed;
    gb_text_free(&name);
}

bool synth_world_ask(world *w, world_query *q, uint32_t fact, uint32_t passage, double copy,
                     gb_rng *rng, gb_status *status)
{
    const world_passage *p = &w->passages[passage];
    gb_text out = {0};
    *q = (world_query){.fact = fact, .other = GB_MAP_NONE, .positive = passage};
    choose_form(w, q, p, rng);
    uint32_t wording = synth_world_pick(rng, preference, LEXICON_WORDINGS);
    bool copied = synth_world_chance(rng, copy);
    for (uint32_t i = 0; copied && i < p->fact_count; i++)
        if (p->facts[i] == fact)
            wording = p->wording[i];
    put_question(w, q, wording, rng, &out);
    if (synth_world_tokens(&out) > MOST_TOKENS) { /* who asks does not go on for ever */
        q->form = FORM_BRIEF;
        q->other = GB_MAP_NONE;
        q->named = true;
        put_question(w, q, wording, rng, &out);
    }
    q->text = synth_world_keep_question(w, &out, status);
    gb_text_free(&out);
    return q->text != NULL;
}

bool synth_world_ask_anew(world *w, world_query *q, uint32_t fact, uint32_t passage, uint32_t split,
                          gb_rng *rng, gb_status *status)
{
    for (int i = 0; i < TRIES; i++) {
        if (!synth_world_ask(w, q, fact, passage, 0, rng, status))
            return false;
        if (gb_map_get(w->asked, q->text, strlen(q->text)) == GB_MAP_NONE)
            break;
    }
    return gb_map_set(w->asked, q->text, strlen(q->text), split, status);
}

/* ---- splits ---- */

world_split *synth_world_add_split(world *w, const char *name, uint32_t count, gb_status *status)
{
    world_split *split = &w->splits[w->split_count];
    split->name = name;
    split->queries = synth_world_array(w, count, sizeof *split->queries, status);
    if (!split->queries)
        return NULL;
    w->split_count++;
    return split;
}

bool synth_world_judge(world_split *split, uint32_t query, uint32_t passage, int32_t grade,
                       gb_status *status)
{
    for (size_t i = split->judgement_count; i-- > 0 && split->judgements[i].query == query;)
        if (split->judgements[i].passage == passage) {
            if (split->judgements[i].grade < grade)
                split->judgements[i].grade = grade;
            return true;
        }
    if (!gb_grow(&split->judgements, &split->judgement_space, split->judgement_count + 1,
                 sizeof *split->judgements, status))
        return false;
    split->judgements[split->judgement_count++] = (gb_qrel){query, passage, grade};
    return true;
}

uint32_t *synth_world_shuffled_facts(world *w, uint32_t *count, gb_status *status)
{
    uint32_t *facts = synth_world_array(w, w->fact_count, sizeof *facts, status);
    *count = 0;
    for (uint32_t f = 0; facts && f < w->fact_count; f++)
        if (w->stating[f] != GB_MAP_NONE)
            facts[(*count)++] = f;
    gb_rng rng = synth_world_rng(w, STAGE_SPLIT, 0);
    if (facts)
        gb_rng_shuffle(&rng, facts, *count);
    return facts;
}

/* Topics take facts that some other text names or tells in passing, so that there is a grade 2:
 * those go first, else in their order. */
static bool echoed_first(world *w, uint32_t *facts, uint32_t count, gb_status *status)
{
    bool *echoed = synth_world_array(w, w->fact_count, sizeof *echoed, status);
    uint32_t *sorted = synth_world_array(w, count, sizeof *sorted, status);
    if (!echoed || !sorted)
        return false;
    for (uint32_t p = 0; p < w->passage_count; p++) {
        const world_passage *passage = &w->passages[p];
        if (passage->echo != GB_MAP_NONE)
            echoed[passage->echo] = true;
        for (uint32_t a = 0; a < passage->aside_count; a++)
            echoed[passage->asides[a]] = true;
    }
    uint32_t next = 0;
    for (int first = 1; first >= 0; first--)
        for (uint32_t i = 0; i < count; i++)
            if (echoed[facts[i]] == first)
                sorted[next++] = facts[i];
    memcpy(facts, sorted, count * sizeof *facts);
    return true;
}

static uint32_t draw_positive(const world *w, uint32_t fact, gb_rng *rng)
{
    uint32_t found = 0, chosen = w->stating[fact];
    for (uint32_t p = chosen; p != GB_MAP_NONE; p = synth_world_next_stating(w, fact, p))
        if (gb_rng_below(rng, ++found) == 0)
            chosen = p;
    return chosen;
}

/* A question of two facts may not show one that another split asks for: the two would be the same
 * question. */
static bool crosses(const world_query *q, const uint8_t *split_of, uint32_t split)
{
    return q->form == FORM_TWO && split_of[q->other] && split_of[q->other] != split + 1;
}

static bool fill_split(world *w, uint32_t number, const uint32_t *facts, const uint8_t *split_of,
                       gb_status *status)
{
    world_split *split = &w->splits[number];
    bool ok = true, graded = number <= SPLIT_DL20;
    for (uint32_t i = 0; ok && i < split->count; i++) {
        gb_rng rng = synth_world_rng(w, STAGE_QUERY, facts[i]);
        uint32_t positive = draw_positive(w, facts[i], &rng);
        world_query *q = &split->queries[i];
        for (int tries = 0; ok && tries < TRIES; tries++) {
            ok = synth_world_ask_anew(w, q, facts[i], positive, number, &rng, status);
            if (!ok || !crosses(q, split_of, number))
                break;
        }
        ok = ok && (graded ? synth_world_judge_topic(w, split, i, status)
                           : synth_world_judge(split, i, positive, 1, status));
    }
    return ok;
}

bool synth_world_make_questions(world *w, gb_status *status)
{
    static const char *const names[] = {"dl19", "dl20", "dev", "train"};
    const uint32_t counts[] = {TOPICS, TOPICS, w->set->test, w->set->train};
    uint32_t count = 0, at = 0;
    uint32_t *facts = synth_world_shuffled_facts(w, &count, status);
    uint8_t *split_of = synth_world_array(w, w->fact_count, sizeof *split_of, status);
    if (!facts || !split_of || !echoed_first(w, facts, count, status))
        return false;
    if (2 * TOPICS + w->set->test + w->set->train > count)
        return gb_fail(status, GB_INTERNAL, w->set->name, NULL, "too few facts for the questions");
    for (uint32_t s = 0; s < WORLD_SPLITS; s++) {
        if (!synth_world_add_split(w, names[s], counts[s], status))
            return false;
        w->splits[s].count = counts[s];
        for (uint32_t i = 0; i < counts[s]; i++)
            split_of[facts[at++]] = (uint8_t)(s + 1);
    }
    bool ok = true;
    for (uint32_t s = 0, from = 0; ok && s < WORLD_SPLITS; from += counts[s++])
        ok = fill_split(w, s, facts + from, split_of, status);
    return ok;
}
