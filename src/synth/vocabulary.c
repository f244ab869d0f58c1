/* The tokens of a world: words of the set main whole, first words of names in two pieces, and
 * pieces for the words that only other sets have. The same for all seeds. */
#include "synth/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 160 }; /* of words that main does not have, letters among them */

/* Tokens being collected. */
typedef struct tokens {
    gb_text *out;      /* lines, or NULL */
    gb_map *known;     /* token -> 1 */
    gb_status *status; /* of failures */
} tokens;

static bool put(tokens *t, const char *mark, const char *word, size_t length)
{
    char token[60];
    int size = snprintf(token, sizeof token, "%s%.*s", mark, (int)length, word);
    if (gb_map_get(t->known, token, (size_t)size) != GB_MAP_NONE)
        return true;
    if (t->out)
        gb_text_printf(t->out, "%s\n", token);
    return gb_map_set(t->known, token, (size_t)size, 1, t->status);
}

/* Every word of a text, in lower case. */
static bool put_text(tokens *t, const char *text)
{
    char word[40];
    bool ok = true;
    for (const char *at = text; ok && *at;) {
        size_t length = 0;
        while (*at && !isalnum((unsigned char)*at))
            at++;
        for (; isalnum((unsigned char)*at); at++)
            if (length < sizeof word)
                word[length++] = (char)tolower((unsigned char)*at);
        ok = length == 0 || put(t, "", word, length);
    }
    return ok;
}

static bool put_words(tokens *t, const char *mark, const lexicon_words *words)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < words->count; i++)
        ok = *mark ? put(t, mark, words->items[i], strlen(words->items[i]))
                   : put_text(t, words->items[i]);
    return ok;
}

static bool put_kind(tokens *t, const lexicon_kind *kind)
{
    return put_words(t, "", &kind->nouns) && put_words(t, "", &kind->heads) &&
           put_words(t, "", &kind->made) && put_words(t, "", &kind->did) &&
           put_words(t, "", &kind->maker);
}

static bool put_theme(tokens *t, const lexicon_theme *theme)
{
    gb_text several = {0};
    bool ok = put_words(t, "", &theme->people) && put_words(t, "", &theme->scenes) &&
              put_words(t, "", &theme->adjectives);
    for (uint32_t i = 0; ok && i < theme->people.count; i++) {
        several.length = 0;
        synth_lexicon_plural(theme->people.items[i], &several);
        ok = several.failed ? gb_fail_memory(t->status, "collecting words")
                            : put_text(t, several.data);
    }
    gb_text_free(&several);
    return ok;
}

static bool put_list(tokens *t, const lexicon_list *list)
{
    bool ok = true;
    for (uint32_t v = 0; ok && v < list->count; v++)
        for (uint32_t i = 0; ok && i < list->values[v].wordings; i++)
            ok = put_text(t, list->values[v].full[i]);
    return ok;
}

static bool put_attribute(tokens *t, const lexicon_attribute *a)
{
    bool ok = true;
    for (int i = 0; ok && i < LEXICON_WORDINGS; i++)
        ok = put_text(t, a->passages[i]) && put_text(t, a->questions[i]);
    for (int i = 0; ok && i < LEXICON_CLUES; i++)
        ok = put_text(t, a->clues[i]);
    for (uint32_t i = 0; ok && i < a->keyword_count; i++)
        ok = put_text(t, a->keywords[i].text);
    return ok;
}

/* Kinds, attributes and their values, of main or of the others alone. */
static bool put_language(const lexicon *l, tokens *t, uint32_t main_kinds, bool main)
{
    bool ok = true;
    for (uint32_t k = 0; ok && k < l->kind_count; k++)
        if ((main_kinds >> k & 1) == main)
            ok = put_kind(t, &l->kinds[k]);
    for (uint32_t a = 0; ok && a < l->attribute_count; a++)
        if (((l->attributes[a].kinds & main_kinds) != 0) == main)
            ok = put_attribute(t, &l->attributes[a]) &&
                 put_list(t, &l->lists[l->attributes[a].list]);
    return ok;
}

static bool put_rest(const lexicon *l, tokens *t)
{
    const lexicon_words *lists[] = {&l->adjectives, &l->ship_adjectives, &l->she,    &l->he,
                                    &l->surnames,   &l->intro,           &l->person, &l->detail,
                                    &l->echo,       &l->entity,          &l->theme};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof lists / sizeof *lists; i++)
        ok = put_words(t, "", lists[i]);
    for (uint32_t i = 0; ok && i < l->theme_count; i++)
        ok = put_theme(t, &l->themes[i]);
    return ok;
}

/* Pieces of the foreign words, as a trained vocabulary would have them. */
static bool put_pieces(const lexicon *l, tokens *t, uint32_t main_kinds)
{
    gb_text words = {0};
    tokens foreign = {.out = &words, .known = gb_map_create(t->status), .status = t->status};
    gb_vocab_trainer_params params = GB_VOCAB_TRAINER_DEFAULTS;
    params.size = PIECES;
    gb_vocab_trainer *trainer = foreign.known ? gb_vocab_trainer_create(params, t->status) : NULL;
    bool ok = trainer && put_language(l, &foreign, main_kinds, false);
    ok = ok && (words.failed ? gb_fail_memory(t->status, "collecting words")
                             : gb_vocab_trainer_add(trainer, words.data, words.length, t->status));
    gb_vocab *vocab = ok ? gb_vocab_trainer_finish(trainer, t->status) : NULL;
    ok = vocab != NULL;
    for (uint32_t id = 0; ok && id < gb_vocab_size(vocab); id++) {
        const char *token = gb_vocab_token(vocab, id);
        ok = gb_vocab_is_special(vocab, id) || put(t, "", token, strlen(token));
    }
    gb_vocab_destroy(vocab);
    gb_vocab_trainer_destroy(trainer);
    gb_map_destroy(foreign.known);
    gb_text_free(&words);
    return ok;
}

bool synth_lexicon_tokens(const lexicon *l, gb_text *out, gb_map *known, gb_status *status)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789", marks[] = ".,'-?";
    tokens t = {out, known, status};
    uint32_t main_kinds = 0;
    for (const char *at = synth_world_set_at(0)->kinds; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        main_kinds |= UINT32_C(1) << synth_lexicon_kind(l, at, length);
        at += length;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof specials / sizeof *specials; i++)
        ok = put(&t, "", specials[i], strlen(specials[i]));
    for (const char *c = marks; ok && *c; c++)
        ok = put(&t, "", c, 1);
    for (const char *c = letters; ok && *c; c++)
        ok = put(&t, "", c, 1) && put(&t, "##", c, 1);
    ok = ok && put_words(&t, "", &l->starts) && put_words(&t, "##", &l->ends) &&
         put_language(l, &t, main_kinds, true) && put_rest(l, &t) && put_pieces(l, &t, main_kinds);
    return ok && (!out || !out->failed || gb_fail_memory(status, "writing the vocabulary"));
}
