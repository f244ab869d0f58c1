/* Training a WordPiece vocabulary: count words, choose the alphabet, learn merges. */
#include "text/merges.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* A word or a character of the text. */
typedef struct counted {
    const char *bytes; /* in the trainer's arena, or in a word */
    uint32_t length;   /* bytes */
    uint64_t count;    /* times seen */
} counted;

struct gb_vocab_trainer {
    gb_vocab_trainer_params params; /* with the defaults filled in */
    gb_arena *arena;                /* bytes of the words */
    gb_map *index;                  /* word -> place in words */
    counted *words;                 /* in the order of their first use */
    size_t count;                   /* words in use */
    size_t capacity;                /* words allocated */
    gb_status *status;              /* of the running gb_vocab_trainer_add */
};

gb_vocab_trainer *gb_vocab_trainer_create(gb_vocab_trainer_params params, gb_status *status)
{
    const gb_vocab_trainer_params defaults = GB_VOCAB_TRAINER_DEFAULTS;
    params.size = params.size ? params.size : defaults.size;
    params.min_count = params.min_count ? params.min_count : defaults.min_count;
    params.max_alphabet = params.max_alphabet ? params.max_alphabet : defaults.max_alphabet;
    if (params.tokenizer.max_word_chars == 0)
        params.tokenizer.max_word_chars = defaults.tokenizer.max_word_chars;
    gb_vocab_trainer *trainer = gb_alloc(1, sizeof *trainer, status);
    if (!trainer)
        return NULL;
    trainer->params = params;
    trainer->arena = gb_arena_create(1 << 16, status);
    trainer->index = trainer->arena ? gb_map_create(status) : NULL;
    if (!trainer->index) {
        gb_vocab_trainer_destroy(trainer);
        return NULL;
    }
    return trainer;
}

void gb_vocab_trainer_destroy(gb_vocab_trainer *trainer)
{
    if (!trainer)
        return;
    gb_map_destroy(trainer->index);
    gb_arena_destroy(trainer->arena);
    free(trainer->words);
    free(trainer);
}

/* Callback of gb_pretokenize. Words that the tokenizer would give up on teach nothing. */
static bool count_word(void *ctx, const char *bytes, size_t length)
{
    gb_vocab_trainer *trainer = ctx;
    size_t limit = trainer->params.tokenizer.max_word_chars;
    if (length > limit && text_unicode_count(bytes, length) > limit)
        return true;
    uint32_t at = gb_map_get(trainer->index, bytes, length);
    if (at != GB_MAP_NONE) {
        trainer->words[at].count++;
        return true;
    }
    if (trainer->count >= GB_MAP_NONE)
        return gb_fail(trainer->status, GB_DATA, NULL, "train on a sample of the text",
                       "too many different words to learn a vocabulary from");
    if (!gb_grow(&trainer->words, &trainer->capacity, trainer->count + 1, sizeof *trainer->words,
                 trainer->status))
        return false;
    const char *copy = gb_arena_strdup(trainer->arena, bytes, length, trainer->status);
    if (!copy ||
        !gb_map_set(trainer->index, bytes, length, (uint32_t)trainer->count, trainer->status))
        return false;
    trainer->words[trainer->count++] = (counted){copy, (uint32_t)length, 1};
    return true;
}

bool gb_vocab_trainer_add(gb_vocab_trainer *trainer, const char *text, size_t length,
                          gb_status *status)
{
    trainer->status = status;
    bool ok = gb_pretokenize(trainer->params.tokenizer, text, length, count_word, trainer, status);
    trainer->status = NULL;
    return ok;
}

/* ---- the alphabet ---- */

/* What finish works with. */
typedef struct training {
    const gb_vocab_trainer *trainer; /* the words and the parameters */
    gb_vocab *vocab;                 /* the result */
    counted *alphabet;               /* characters */
    size_t alphabet_count;           /* characters in use */
    size_t alphabet_capacity;        /* characters allocated */
    uint32_t *ids;                   /* token ids of one word */
    size_t id_capacity;              /* ids allocated */
    gb_status *status;               /* where a failure is told */
} training;

static int by_bytes(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_bytes(a, b);
}

/* Bytes of the character at word[at]; words are valid UTF-8. */
static uint32_t char_bytes(const counted *word, uint32_t at)
{
    size_t end = at;
    text_unicode_next(word->bytes, word->length, &end);
    return (uint32_t)end - at;
}

static bool count_chars(training *t)
{
    gb_map *seen = gb_map_create(t->status);
    bool ok = seen != NULL;
    for (size_t w = 0; ok && w < t->trainer->count; w++) {
        const counted *word = &t->trainer->words[w];
        for (uint32_t at = 0, size; ok && at < word->length; at += size) {
            const char *c = word->bytes + at;
            size = char_bytes(word, at);
            uint32_t known = gb_map_get(seen, c, size);
            if (known != GB_MAP_NONE) {
                t->alphabet[known].count += word->count;
                continue;
            }
            ok = gb_grow(&t->alphabet, &t->alphabet_capacity, t->alphabet_count + 1,
                         sizeof *t->alphabet, t->status) &&
                 gb_map_set(seen, c, size, (uint32_t)t->alphabet_count, t->status);
            if (ok)
                t->alphabet[t->alphabet_count++] = (counted){c, size, word->count};
        }
    }
    gb_map_destroy(seen);
    return ok;
}

/* Keep the most frequent characters, in the order of their bytes. */
static void choose_alphabet(training *t)
{
    if (t->alphabet_count == 0)
        return;
    qsort(t->alphabet, t->alphabet_count, sizeof *t->alphabet, by_count);
    if (t->alphabet_count > t->trainer->params.max_alphabet)
        t->alphabet_count = t->trainer->params.max_alphabet;
    qsort(t->alphabet, t->alphabet_count, sizeof *t->alphabet, by_bytes);
}

/* Whether every character of the word is in the alphabet. Another word is always [UNK], so its
 * pieces are of no use. */
static bool is_covered(const training *t, const counted *word)
{
    for (uint32_t at = 0, size; at < word->length; at += size) {
        size = char_bytes(word, at);
        if (gb_vocab_id(t->vocab, word->bytes + at, size) == GB_MAP_NONE)
            return false;
    }
    return true;
}

/* Append the characters that stand inside words once more, as "##c". */
static bool append_inner_forms(training *t)
{
    for (size_t i = 0; i < t->alphabet_count; i++)
        t->alphabet[i].count = 0;
    for (size_t w = 0; w < t->trainer->count; w++) {
        const counted *word = &t->trainer->words[w];
        if (!is_covered(t, word))
            continue;
        for (uint32_t at = char_bytes(word, 0), size; at < word->length; at += size) {
            size = char_bytes(word, at);
            counted key = {word->bytes + at, size, 0};
            counted *found = bsearch(&key, t->alphabet, t->alphabet_count, sizeof key, by_bytes);
            found->count = 1;
        }
    }
    for (size_t i = 0; i < t->alphabet_count; i++) {
        char form[2 + 4] = "##";
        memcpy(form + 2, t->alphabet[i].bytes, t->alphabet[i].length);
        if (t->alphabet[i].count &&
            !text_vocab_append(t->vocab, form, 2 + t->alphabet[i].length, t->status))
            return false;
    }
    return true;
}

static bool append_characters(training *t)
{
    const char *missing;
    for (int i = 0; i < GB_SPECIALS; i++)
        if (!text_vocab_append(t->vocab, special_names[i], strlen(special_names[i]), t->status))
            return false;
    if (!text_vocab_find_specials(t->vocab, special_names, &missing, t->status) || !count_chars(t))
        return false;
    choose_alphabet(t);
    for (size_t i = 0; i < t->alphabet_count; i++)
        if (!text_vocab_append(t->vocab, t->alphabet[i].bytes, t->alphabet[i].length, t->status))
            return false;
    if (!append_inner_forms(t))
        return false;
    uint32_t size = t->trainer->params.size, have = gb_vocab_size(t->vocab);
    return have <= size ||
           gb_fail(t->status, GB_USAGE, NULL, "raise the size or lower the alphabet's limit",
                   "a vocabulary of %u tokens is too small: special tokens and single characters "
                   "alone are %u",
                   size, have);
}

/* ---- merges ---- */

static bool add_word(training *t, merges *m, const counted *word)
{
    uint32_t count = 0;
    for (uint32_t at = 0, size; at < word->length; at += size) {
        char form[2 + 4] = "##";
        size = char_bytes(word, at);
        memcpy(form + 2, word->bytes + at, size);
        if (!gb_grow(&t->ids, &t->id_capacity, count + 1, sizeof *t->ids, t->status))
            return false;
        t->ids[count++] =
            at == 0 ? gb_vocab_id(t->vocab, form + 2, size) : gb_vocab_id(t->vocab, form, size + 2);
    }
    return text_merges_add(m, t->ids, count, word->count, t->status);
}

static bool learn_merges(training *t)
{
    merges *m = text_merges_create(t->vocab, t->status);
    bool ok = m != NULL;
    for (size_t w = 0; ok && w < t->trainer->count; w++)
        if (is_covered(t, &t->trainer->words[w]))
            ok = add_word(t, m, &t->trainer->words[w]);
    ok = ok &&
         text_merges_learn(m, t->trainer->params.size, t->trainer->params.min_count, t->status);
    text_merges_destroy(m);
    return ok;
}

gb_vocab *gb_vocab_trainer_finish(gb_vocab_trainer *trainer, gb_status *status)
{
    training t = {.trainer = trainer, .status = status, .vocab = gb_vocab_create(status)};
    bool ok = t.vocab && append_characters(&t) && learn_merges(&t);
    free(t.alphabet);
    free(t.ids);
    if (!ok) {
        gb_vocab_destroy(t.vocab);
        return NULL;
    }
    return t.vocab;
}
