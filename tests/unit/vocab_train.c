/* Training a vocabulary, against a plain implementation that recounts all pairs for every merge. */
#include "gabbro/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static gb_vocab *train(gb_vocab_trainer_params params, const char *const *texts, int count,
                       gb_status *status)
{
    gb_vocab_trainer *trainer = gb_vocab_trainer_create(params, status);
    cr_assert_not_null(trainer);
    for (int i = 0; i < count; i++)
        cr_assert(gb_vocab_trainer_add(trainer, texts[i], strlen(texts[i]), status));
    gb_vocab *vocab = gb_vocab_trainer_finish(trainer, status);
    gb_vocab_trainer_destroy(trainer);
    return vocab;
}

/* The tokens behind the five special ones, joined by spaces; free. */
static char *list(const gb_vocab *vocab)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    gb_text text = {0};
    gb_text_append(&text, "", 0);
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++) {
        if (id < 5)
            cr_assert_str_eq(gb_vocab_token(vocab, id), special[id]);
        else
            gb_text_printf(&text, "%s%s", id > 5 ? " " : "", gb_vocab_token(vocab, id));
    }
    cr_assert_not(text.failed);
    return text.data;
}

static void expect_list(gb_vocab_trainer_params params, const char *text, const char *want)
{
    gb_status status = {0};
    gb_vocab *vocab = train(params, &text, 1, &status);
    cr_assert(vocab, "%s", status.what);
    char *got = list(vocab);
    cr_expect_str_eq(got, want);
    free(got);
    gb_vocab_destroy(vocab);
}

Test(vocab_train, order_is_specials_characters_inner_forms_merges)
{
    gb_vocab_trainer_params params = {.size = 100, .tokenizer = GB_TOKENIZER_DEFAULTS};
    /* gabbro 3, gab 1: ##a ##b 4; then ga-b 4 against b-r, r-o 3. */
    expect_list(params, "Gabbro gabbro, gabbro gab",
                ", a b g o r ##a ##b ##o ##r ##ab gab ##br ##bro gabbro");
}

Test(vocab_train, ties_go_to_the_smaller_text)
{
    /* a-##x and b-##y stand twice each; one place is left. */
    gb_vocab_trainer_params params = {.size = 12, .tokenizer = GB_TOKENIZER_DEFAULTS};
    expect_list(params, "by ax by ax", "a b x y ##x ##y ax");
}

Test(vocab_train, min_count_alphabet_and_long_words)
{
    gb_vocab_trainer_params params = {.size = 100, .min_count = 3, .tokenizer = {true, true, 4}};
    expect_list(params, "ab ab cd cd cd ef abcde abcde", "a b c d e f ##b ##d ##f cd");
    /* Of six characters the three most frequent stay; words with others teach nothing. */
    params.max_alphabet = 3;
    params.min_count = 1;
    expect_list(params, "xy xy de de de ab ab ab", "a b d ##b ab");
}

Test(vocab_train, too_small_a_size_is_refused)
{
    gb_vocab_trainer_params params = {.size = 9, .tokenizer = GB_TOKENIZER_DEFAULTS};
    const char *text = "abc bca";
    gb_status status = {0};
    cr_expect_null(train(params, &text, 1, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(strstr(status.what, "alone are 11"), "%s", status.what);
}

Test(vocab_train, no_text_gives_the_special_tokens)
{
    gb_status status = {0};
    gb_vocab *vocab = train(GB_VOCAB_TRAINER_DEFAULTS, NULL, 0, &status);
    cr_assert_not_null(vocab);
    cr_expect_eq(gb_vocab_size(vocab), 5);
    cr_expect_eq(gb_vocab_specials(vocab).mask, 4);
    gb_vocab_destroy(vocab);
    gb_vocab_trainer_destroy(NULL);
}

/* ---- the plain implementation ---- */

enum { WORDS = 120, MAX_LENGTH = 12, TOKEN = 2 * MAX_LENGTH + 4 };

typedef struct plain_word {
    char pieces[MAX_LENGTH][TOKEN]; /* tokens with "##" */
    int length;                     /* pieces */
    int times;                      /* how often the word is seen */
} plain_word;

/* Count of one pair over all words. */
static int count_pair(const plain_word *words, const char *left, const char *right)
{
    int count = 0;
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < words[w].length; i++)
            if (!strcmp(words[w].pieces[i], left) && !strcmp(words[w].pieces[i + 1], right))
                count += words[w].times;
    return count;
}

/* The best pair by (count, left, right); its count. */
static int best_pair(const plain_word *words, char left[TOKEN], char right[TOKEN])
{
    int best = 0;
    for (int w = 0; w < WORDS; w++) {
        for (int i = 0; i + 1 < words[w].length; i++) {
            const char *a = words[w].pieces[i], *b = words[w].pieces[i + 1];
            int count = count_pair(words, a, b), order = strcmp(a, left);
            order = order ? order : strcmp(b, right);
            if (count > best || (count == best && order < 0)) {
                best = count;
                strcpy(left, a);
                strcpy(right, b);
            }
        }
    }
    return best;
}

static void merge(plain_word *word, const char *left, const char *right)
{
    int length = 0;
    for (int i = 0; i < word->length; i++) {
        bool here = i + 1 < word->length && !strcmp(word->pieces[i], left) &&
                    !strcmp(word->pieces[i + 1], right);
        memmove(word->pieces[length], word->pieces[i], TOKEN);
        if (here)
            strcat(word->pieces[length], right + 2);
        length++;
        i += here;
    }
    word->length = length;
}

/* Random words over a few letters, so that pairs overlap (aaa), tie, and the same text is reached
 * by several merges. */
static char *random_words(plain_word *words, uint32_t letters)
{
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, letters, 0);
    gb_text text = {0};
    for (int w = 0; w < WORDS; w++) {
        char bytes[MAX_LENGTH + 1] = "";
        words[w].length = 1 + (int)gb_rng_below(&rng, MAX_LENGTH);
        words[w].times = 1 + (int)gb_rng_below(&rng, 3);
        for (int i = 0; i < words[w].length; i++) {
            bytes[i] = (char)('a' + gb_rng_below(&rng, letters));
            snprintf(words[w].pieces[i], TOKEN, "%s%c", i ? "##" : "", bytes[i]);
        }
        for (int i = 0; i < words[w].times; i++)
            gb_text_printf(&text, "%.*s ", words[w].length, bytes);
    }
    cr_assert_not(text.failed);
    return text.data;
}

Test(vocab_train, merges_are_those_of_the_plain_implementation)
{
    for (uint32_t letters = 2; letters <= 5; letters++) {
        plain_word *words = calloc(WORDS, sizeof *words);
        cr_assert_not_null(words);
        char *text = random_words(words, letters);
        gb_vocab_trainer_params params = {
            .size = 200, .min_count = 4, .tokenizer = GB_TOKENIZER_DEFAULTS};
        gb_status status = {0};
        gb_vocab *vocab = train(params, (const char *const *)&text, 1, &status);
        cr_assert(vocab, "%s", status.what);
        uint32_t known = 5 + 2 * letters;
        for (;;) {
            char left[TOKEN] = "", right[TOKEN] = "", joined[2 * TOKEN];
            if (best_pair(words, left, right) < 4 || known == 200)
                break;
            snprintf(joined, sizeof joined, "%s%s", left, right + 2);
            uint32_t id = gb_vocab_id(vocab, joined, strlen(joined));
            cr_assert(id <= known, "%u letters, token %u: %s has id %u", letters, known, joined,
                      id);
            known += id == known;
            for (int w = 0; w < WORDS; w++)
                merge(&words[w], left, right);
        }
        cr_expect_eq(gb_vocab_size(vocab), known);
        gb_vocab_destroy(vocab);
        free(text);
        free(words);
    }
}

Test(vocab_train, order_of_the_texts_and_more_finishes_change_nothing)
{
    static const char *const texts[] = {"gabbro basalt granite", "basalt dolerite gabbro gneiss",
                                        "granite gneiss schist slate", "slate basalt andesite"};
    const char *reversed[4];
    for (int i = 0; i < 4; i++)
        reversed[i] = texts[3 - i];
    gb_vocab_trainer_params params = {.size = 80, .tokenizer = GB_TOKENIZER_DEFAULTS};
    gb_status status = {0};
    gb_vocab *a = train(params, texts, 4, &status), *b = train(params, reversed, 4, &status);
    char *first = list(a), *second = list(b);
    cr_expect_str_eq(first, second);
    free(second);
    gb_vocab_destroy(b);

    gb_vocab_trainer *trainer = gb_vocab_trainer_create(params, &status);
    for (int i = 0; i < 4; i++) {
        cr_assert(gb_vocab_trainer_add(trainer, texts[i], strlen(texts[i]), &status));
        gb_vocab_destroy(gb_vocab_trainer_finish(trainer, &status));
    }
    b = gb_vocab_trainer_finish(trainer, &status);
    second = list(b);
    cr_expect_str_eq(first, second);
    gb_vocab_trainer_destroy(trainer);
    free(first);
    free(second);
    gb_vocab_destroy(a);
    gb_vocab_destroy(b);
}

Test(vocab_train, the_tokenizer_can_use_it)
{
    const char *text = "uncooled cooled uncooled cooling quartz quartz";
    gb_vocab_trainer_params params = {.size = 60, .tokenizer = GB_TOKENIZER_DEFAULTS};
    gb_status status = {0};
    gb_vocab *vocab = train(params, &text, 1, &status);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, &status);
    gb_ids ids = {0};
    cr_assert(gb_tokenize(tokenizer, text, strlen(text), &ids, &status));
    for (size_t i = 0; i < ids.count; i++)
        cr_expect_not(gb_vocab_is_special(vocab, ids.data[i]));
    cr_expect_str_eq(gb_vocab_token(vocab, ids.data[ids.count - 1]), "quartz");
    free(ids.data);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
}
