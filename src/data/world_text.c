/* Sentences of the mini world's passages. */
#include "data/world.h"

#include <ctype.h>
#include <string.h>

/* Patterns of a sentence that tells a fact: %S the subject, %G "the attribute of the subject" or
 * "its attribute", %A the attribute, %V its value, %J %D %N fillers. */
static const char *const subject_patterns[] = {
    "%S has a %J %A of %V",           "%S %D kept %V as its %A",    "%S is known for the %A %V",
    "%S chose %V as its %A",          "in the %N %S had the %A %V", "with %V as %A , %S grew",
    "near the %N %S holds the %A %V",
};
static const char *const genitive_patterns[] = {
    "%G is %D %V",       "%G was %V in the %N",    "%V is %D %G",
    "people call %G %V", "by the %N %G became %V",
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* How a sentence speaks of its entity. */
typedef enum mention { MENTION_NAME, MENTION_BOTH, MENTION_NOUN, MENTION_PRONOUN } mention;

/* Everything a pattern needs. */
typedef struct sentence {
    uint32_t entity;    /* the subject */
    uint32_t attribute; /* told of it */
    const char *word;   /* for the attribute */
    const char *name;   /* name or alias of the entity */
    const char *alias;  /* for MENTION_BOTH */
    mention how;        /* the subject is spoken of */
    const char *value;  /* told, or NULL: a word for the true one */
} sentence;

uint32_t gb_world_wording(const world *w, gb_rng *rng, bool reversed)
{
    double weights[WORLD_WORDINGS], total = 0, weight = 1;
    for (int i = 0; i < WORLD_WORDINGS; i++) {
        weights[reversed ? WORLD_WORDINGS - 1 - i : i] = weight;
        total += weight;
        weight *= w->params.preference;
    }
    double at = gb_rng_uniform(rng) * total;
    uint32_t which = 0;
    while (which < WORLD_WORDINGS - 1 && (at -= weights[which]) >= 0)
        which++;
    return which;
}

uint32_t gb_world_noun_choice(gb_rng *rng, bool reversed)
{
    static const double weights[WORLD_NOUNS] = {0.45, 0.30, 0.15, 0.10};
    double at = gb_rng_uniform(rng);
    uint32_t which = 0;
    while (which < WORLD_NOUNS - 1 && (at -= weights[which]) >= 0)
        which++;
    return reversed ? WORLD_NOUNS - 1 - which : which;
}

const char *gb_world_value(const world *w, uint32_t entity, uint32_t attribute, gb_rng *rng)
{
    uint32_t value = w->values[entity * w->attributes + attribute];
    if (w->takes_entity[attribute])
        return w->entities[value].name;
    const char *words[WORLD_VALUE_WORDINGS];
    gb_world_value_words(w, entity, attribute, words);
    return words[gb_rng_below(rng, WORLD_VALUE_WORDINGS)];
}

uint32_t gb_world_values(const world *w)
{
    return WORLD_VALUES * (w->params.endings ? w->params.endings : 1);
}

void gb_world_value_words(const world *w, uint32_t entity, uint32_t attribute,
                          const char *words[WORLD_VALUE_WORDINGS])
{
    uint32_t value = w->values[entity * w->attributes + attribute];
    for (uint32_t i = 0; i < WORLD_VALUE_WORDINGS; i++)
        if (w->takes_entity[attribute])
            words[i] = i ? w->entities[value].alias : w->entities[value].name;
        else if (w->ended)
            words[i] =
                w->ended[(attribute * gb_world_values(w) + value) * WORLD_VALUE_WORDINGS + i];
        else
            words[i] = w->words.values[attribute][value][i];
}

static void write_subject(const world *w, const sentence *s, gb_rng *rng, gb_text *out)
{
    const char *noun =
        gb_world_noun(w, w->entities[s->entity].type, gb_world_noun_choice(rng, false));
    switch (s->how) {
    case MENTION_NAME:
        if (gb_rng_below(rng, 6) == 0)
            gb_text_printf(out, "the %s ", noun);
        gb_text_printf(out, "%s", s->name);
        break;
    case MENTION_BOTH:
        gb_text_printf(out, "%s alias %s", s->name, s->alias);
        break;
    case MENTION_NOUN:
        gb_text_printf(out, "the %s", noun);
        break;
    case MENTION_PRONOUN:
        gb_text_printf(out, "it");
        break;
    }
}

static void write_genitive(const world *w, const sentence *s, gb_rng *rng, gb_text *out)
{
    if (s->how == MENTION_PRONOUN) {
        gb_text_printf(out, "its %s", s->word);
        return;
    }
    gb_text_printf(out, "the %s of ", s->word);
    write_subject(w, s, rng, out);
}

static void expand(const world *w, const char *pattern, const sentence *s, gb_rng *rng,
                   gb_text *out)
{
    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            if (p[0] != ' ' || p[1] != ',') /* no blank before a comma */
                gb_text_append(out, p, 1);
            continue;
        }
        switch (*++p) {
        case 'S':
            write_subject(w, s, rng, out);
            break;
        case 'G':
            write_genitive(w, s, rng, out);
            break;
        case 'A':
            gb_text_printf(out, "%s", s->word);
            break;
        case 'V':
            gb_text_printf(out, "%s",
                           s->value ? s->value : gb_world_value(w, s->entity, s->attribute, rng));
            break;
        default:
            gb_text_printf(out, "%s", gb_world_filler(rng, *p));
        }
    }
}

/* One sentence with its capital and full stop. */
static void write_sentence(const world *w, const sentence *s, gb_rng *rng, gb_text *out)
{
    if (out->length)
        gb_text_append(out, " ", 1);
    size_t start = out->length;
    uint32_t pick = gb_rng_below(rng, COUNT(subject_patterns) + COUNT(genitive_patterns));
    expand(w,
           pick < COUNT(subject_patterns) ? subject_patterns[pick]
                                          : genitive_patterns[pick - COUNT(subject_patterns)],
           s, rng, out);
    gb_text_append(out, ".", 1);
    if (!out->failed)
        out->data[start] = (char)toupper((unsigned char)out->data[start]);
}

void gb_world_write_claim(const world *w, uint32_t entity, uint32_t attribute, const char *word,
                          const char *value, gb_rng *rng, gb_text *out)
{
    sentence s = {.entity = entity,
                  .attribute = attribute,
                  .word = word,
                  .name = w->entities[entity].name,
                  .how = MENTION_NAME,
                  .value = value};
    write_sentence(w, &s, rng, out);
}

/* ---- passages ------------------------------------------------------------------------------ */

/* The sentence about another entity tells a fact that no passage is about, or now and then one that
 * has a passage of its own. */
static void choose_aside(const world *w, world_passage *passage, uint32_t row)
{
    const gb_world_params *p = &w->params;
    passage->aside_entity = passage->aside_attribute = GB_MAP_NONE;
    gb_rng rng = gb_world_rng(w, STAGE_ASIDE, row);
    if (!gb_world_chance(&rng, p->aside))
        return;
    uint32_t entity = gb_rng_below(&rng, p->entities - 1);
    entity += entity >= passage->entity;
    bool stated = gb_world_chance(&rng, p->aside_stated);
    const bool *uses = w->type_uses + (size_t)w->entities[entity].type * p->clusters;
    uint32_t cluster;
    do
        cluster = gb_rng_below(&rng, p->clusters);
    while (uses[cluster] != stated);
    passage->aside_entity = entity;
    passage->aside_attribute = cluster * WORLD_PAIR + gb_rng_below(&rng, WORLD_PAIR);
}

/* Speak of the main entity: usually by name at first, later more often not. */
static mention choose_mention(const world *w, gb_rng *rng, bool first)
{
    if (gb_world_chance(rng, first ? w->params.named_first : w->params.named_later))
        return MENTION_NAME;
    return first || gb_rng_below(rng, 2) ? MENTION_NOUN : MENTION_PRONOUN;
}

static void write_aside(const world *w, const world_passage *passage, gb_rng *rng, gb_text *out)
{
    const world_entity *entity = &w->entities[passage->aside_entity];
    sentence s = {
        .entity = passage->aside_entity,
        .attribute = passage->aside_attribute,
        .word = w->words.attributes[passage->aside_attribute][gb_world_wording(w, rng, false)],
        .name = entity->name,
        .how = MENTION_NAME};
    write_sentence(w, &s, rng, out);
}

static bool write_passage(world *w, uint32_t row, gb_text *out, gb_status *status)
{
    world_passage *passage = &w->passages[row];
    world_entity *entity = &w->entities[passage->entity];
    choose_aside(w, passage, row);
    gb_rng rng = gb_world_rng(w, STAGE_TEXT, row);
    bool aliased = gb_world_chance(&rng, w->params.alias_in_passage);
    bool both = aliased && gb_rng_below(&rng, 5) > 0;
    uint32_t first = gb_rng_below(&rng, WORLD_PAIR);
    bool aside_last = gb_rng_below(&rng, 2);
    bool has_aside = passage->aside_entity != GB_MAP_NONE;
    out->length = 0;
    passage->sentences = WORLD_PAIR + has_aside;
    for (uint32_t i = 0; i < WORLD_PAIR; i++) {
        uint32_t which = (first + i) % WORLD_PAIR;
        passage->wording[which] = gb_world_wording(w, &rng, false);
        sentence s = {.entity = passage->entity,
                      .attribute = passage->cluster * WORLD_PAIR + which,
                      .name = aliased && !both ? entity->alias : entity->name,
                      .alias = entity->alias,
                      .how = choose_mention(w, &rng, i == 0)};
        s.word = w->words.attributes[s.attribute][passage->wording[which]];
        if (i == 1 && has_aside && !aside_last) {
            write_aside(w, passage, &rng, out);
            if (s.how == MENTION_PRONOUN) /* "it" would be the other one */
                s.how = MENTION_NOUN;
        }
        if (s.how == MENTION_NAME && both) {
            s.how = MENTION_BOTH;
            both = false;
        }
        entity->alias_written = entity->alias_written || s.how == MENTION_BOTH ||
                                (s.how == MENTION_NAME && s.name == entity->alias);
        write_sentence(w, &s, &rng, out);
    }
    if (has_aside && aside_last)
        write_aside(w, passage, &rng, out);
    passage->text = gb_world_string(w, out, status);
    return passage->text != NULL;
}

bool gb_world_write_texts(world *w, gb_status *status)
{
    gb_text text = {0};
    bool ok = true;
    for (uint32_t row = 0; row < w->passage_count && ok; row++)
        ok = write_passage(w, row, &text, status);
    gb_text_free(&text);
    return ok;
}
