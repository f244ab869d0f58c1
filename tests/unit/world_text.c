/* Synth module: the English of the mini world, by rule. */
#include "synth/world.h"
#include "scratch.h"

#include <ctype.h>

/* ---- grammar ---- */

static void expect_articles(const char *before, const char *after)
{
    gb_text text = {0};
    gb_text_printf(&text, "%s", before);
    synth_world_articles(&text, 0);
    cr_expect_str_eq(text.data, after);
    gb_text_free(&text);
}

Test(world_text, articles_follow_the_next_word)
{
    expect_articles("a apple and a pear", "an apple and a pear");
    expect_articles("A icy town, an gale", "An icy town, a gale");
    expect_articles("an one-eyed sergeant", "a one-eyed sergeant");
    expect_articles("an unicorn or a umbrella", "a unicorn or an umbrella");
    expect_articles("a hour of a honest man", "an hour of an honest man");
    expect_articles("banana oil", "banana oil");
}

static void expect_plural(const char *noun, const char *several)
{
    gb_text text = {0};
    synth_lexicon_plural(noun, &text);
    cr_expect_str_eq(text.data, several);
    gb_text_free(&text);
}

Test(world_text, nouns_have_plurals)
{
    expect_plural("sailor", "sailors");
    expect_plural("fisherman", "fishermen");
    expect_plural("abbess", "abbesses");
    expect_plural("fishwife", "fishwives");
    expect_plural("angler", "anglers");
    expect_plural("choirboy", "choirboys");
}

static const lexicon_value *value_of(const lexicon *l, const char *list, const char *full)
{
    for (uint32_t i = 0; i < l->list_count; i++)
        for (uint32_t v = 0; v < l->lists[i].count && !strcmp(l->lists[i].name, list); v++)
            if (!strcmp(l->lists[i].values[v].full[0], full))
                return &l->lists[i].values[v];
    cr_assert(false, "no %s in %s", full, list);
    return NULL;
}

Test(world_text, values_know_their_number_and_their_short_form)
{
    lexicon *l = synth_lexicon_create(NULL);
    cr_assert_not_null(l);
    cr_expect(value_of(l, "ghost", "twin girls")->plural[0]);
    cr_expect(value_of(l, "keeper", "seven orphans")->plural[0]);
    cr_expect(value_of(l, "route", "a hundred steps")->plural[0]);
    cr_expect(value_of(l, "rescuer", "schoolchildren")->plural[0]);
    cr_expect_not(value_of(l, "ghost", "a headless cook")->plural[0]);
    cr_expect_not(value_of(l, "keeper", "a silent order of nuns")->plural[0]);
    cr_expect_not(value_of(l, "landmark", "a field of poppies")->plural[0]);
    cr_expect_not(value_of(l, "pest", "frost")->plural[0]);
    cr_expect_str_eq(value_of(l, "ghost", "a headless cook")->brief[0], "a cook");
    cr_expect_str_eq(value_of(l, "keeper", "a family of tailors")->brief[0], "a family");
    cr_expect_str_eq(value_of(l, "garment", "bells on their ankles")->brief[0], "bells");
    cr_expect_str_eq(value_of(l, "number", "a hundred")->brief[0], "a hundred");
    synth_lexicon_destroy(l);
}

/* ---- every text ---- */

/* What no English sentence has. */
static void check_marks(const char *text, const char *where)
{
    static const char *const never[] = {
        "  ", " ,", " .", "..", ",,", ",.", " a a", " an a", " the the ", " of of ", " it's ", "{",
        "}",  "[",  "]",  "\t", "\"", "\\", "\n",   "/",     "~",         "|",       "=",      "+"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(never[i], " a a") && strcmp(never[i], " an a"))
            cr_expect_null(strstr(text, never[i]), "\"%s\" in %s: %s", never[i], where, text);
    for (const char *c = text; *c; c++)
        cr_expect(*c >= ' ' && *c <= '~', "%s: %s", where, text);
    cr_expect(*text && *text != ' ' && text[strlen(text) - 1] != ' ', "%s: \"%s\"", where, text);
}

/* "a" before a vowel, "an" before a consonant, by a list of the words that are spoken otherwise. */
static void check_articles(const char *text)
{
    static const char *const otherwise[] = {"one", "unicorn", "hour", "honest"};
    for (const char *at = text; (at = strstr(at, " a")); at++) {
        size_t length = at[2] == ' ' ? 3 : at[2] == 'n' && at[3] == ' ' ? 4 : 0;
        if (length == 0)
            continue;
        const char *word = at + length;
        bool vowel = strchr("aeiouAEIOU", *word) != NULL;
        for (size_t i = 0; i < sizeof otherwise / sizeof *otherwise; i++)
            if (!strncmp(word, otherwise[i], strlen(otherwise[i])))
                vowel = !vowel;
        cr_expect_eq(length == 4, vowel, "%s", text);
    }
}

/* Sentences begin with a capital and end with a stop; no word stands twice. */
static void check_sentences(const char *text)
{
    cr_expect_eq(text[strlen(text) - 1], '.', "%s", text);
    for (const char *at = text; *at; at++) {
        if (at == text || (at[-1] == ' ' && at - text > 1 && at[-2] == '.'))
            cr_expect(isupper((unsigned char)*at), "%s", text);
        size_t length = 0;
        while (isalpha((unsigned char)at[length]))
            length++;
        bool opens = at == text || !isalpha((unsigned char)at[-1]);
        if (opens && length && at[length] == ' ' && !strncasecmp(at, at + length + 1, length) &&
            !isalpha((unsigned char)at[2 * length + 1]))
            cr_expect(false, "a word stands twice: %s", text);
    }
}

/* "it", "its", "he" and the like only behind a name; a person is never "it". */
static void check_pronouns(const world *w, const world_passage *p)
{
    static const char *const words[] = {"It ", "Its ", "He ", "She ", "His ", "Her "};
    const world_entity *e = &w->entities[p->entity];
    bool person = synth_world_kind(w, p->entity)->person;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        for (const char *at = p->text; (at = strstr(at, words[i])); at += length) {
            if (!strncmp(at, "It is to ", 9) || !strncmp(at, "It takes ", 9))
                continue; /* "it is to the nun that we owe the Tesket Wort": stands for nothing */
            const char *name = strstr(p->text, e->brief);
            cr_expect(name && name < at, "no name before \"%s\": %s", words[i], p->text);
            cr_expect_eq(person, i >= 2, "%s", p->text);
        }
    }
}

static bool agrees(const char *text, const char *value, const char *verb)
{
    char claim[100];
    snprintf(claim, sizeof claim, "%s %s", value, verb);
    claim[0] = (char)toupper((unsigned char)claim[0]);
    return strstr(text, claim) == NULL;
}

Test(world_text, entries_are_english)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        world *w = synth_world_make(synth_world_set_at(0), 0, seed, NULL);
        cr_assert_not_null(w);
        for (uint32_t p = 0; p < w->passage_count; p++) {
            const char *text = w->passages[p].text;
            check_marks(text, "an entry");
            check_articles(text);
            check_sentences(text);
            check_pronouns(w, &w->passages[p]);
            cr_expect(agrees(text, "seven orphans", "has ") &&
                          agrees(text, "fishermen", "holds ") &&
                          agrees(text, "twin girls", "walks ") && agrees(text, "a hermit", "have "),
                      "%s", text);
        }
        gb_synth_destroy(w);
    }
}

Test(world_text, questions_are_english)
{
    world *w = synth_world_make(synth_world_set_at(0), 0, 1, NULL);
    cr_assert_not_null(w);
    for (uint32_t s = 0; s < w->split_count; s++)
        for (uint32_t i = 0; i < w->splits[s].count; i++) {
            const char *text = w->splits[s].queries[i].text;
            check_marks(text, "a question");
            check_articles(text);
            for (const char *c = text; *c; c++)
                cr_expect_not(isupper((unsigned char)*c), "%s", text);
            cr_expect_not(strchr(".,", text[strlen(text) - 1]), "%s", text);
        }
    for (size_t i = 0; i < (size_t)w->passage_count * w->generated_count; i++) {
        check_marks(w->generated[i], "a generated query");
        check_articles(w->generated[i]);
    }
    gb_synth_destroy(w);
}

/* Every sentence and question of every attribute, for every kind that has it: none is missing a
 * word, and a question shares a word of its own with the sentence of its number. */
Test(world_text, every_template_can_be_filled)
{
    lexicon *l = synth_lexicon_create(NULL);
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    world w = {.lexicon = l, .set = synth_world_set_at(0)};
    gb_text text = {0};
    uint32_t filled = 0;
    for (uint32_t a = 0; a < l->attribute_count; a++)
        for (uint32_t k = 0; k < l->kind_count; k++) {
            const lexicon_attribute *attribute = &l->attributes[a];
            if (!(attribute->kinds >> k & 1))
                continue;
            const char *patterns[3 * LEXICON_WORDINGS + LEXICON_CLUES] = {0};
            memcpy(patterns, attribute->passages, sizeof attribute->passages);
            memcpy(patterns + 3, attribute->questions, sizeof attribute->questions);
            memcpy(patterns + 6, attribute->clues, sizeof attribute->clues);
            for (uint32_t i = 0; i < attribute->keyword_count; i++)
                patterns[8 + i] = attribute->keywords[i].text;
            cr_expect_gt(attribute->keyword_count, 0, "%s", attribute->name);
            for (size_t i = 0; i < sizeof patterns / sizeof *patterns && patterns[i]; i++) {
                world_slots s = {.w = &w,
                                 .rng = &rng,
                                 .kind = k,
                                 .subject = "it",
                                 .object = "it",
                                 .owner = "its",
                                 .value = "a thing"};
                text.length = 0;
                synth_world_expand(&s, patterns[i], &text);
                check_marks(text.data, attribute->name);
                filled++;
            }
            if (!l->kinds[k].person)
                continue;
            for (int i = 0; i < LEXICON_WORDINGS; i++)
                cr_expect_null(strstr(attribute->passages[i], "its "), "%s", attribute->name);
        }
    cr_expect_gt(filled, 2000);
    gb_text_free(&text);
    synth_lexicon_destroy(l);
}
