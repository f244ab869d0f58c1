/* The vocabulary file and WordPiece, against ids and words recorded from Hugging Face. */
#include "gabbro/text.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- recorded cases ---- */

/* The words of one text as a JSON array. */
static bool add_word(void *ctx, const char *bytes, size_t length)
{
    return json_array_append_new(ctx, json_stringn(bytes, length)) == 0;
}

static json_t *words_of(json_t *text, bool lower_case)
{
    gb_tokenizer_params params = GB_TOKENIZER_DEFAULTS;
    params.lower_case = lower_case;
    json_t *words = json_array();
    gb_status status = {0};
    cr_assert(gb_pretokenize(params, json_string_value(text), json_string_length(text), add_word,
                             words, &status),
              "%s", status.what);
    return words;
}

static json_t *ids_of(const gb_tokenizer *tokenizer, json_t *text)
{
    gb_ids ids = {0};
    gb_status status = {0};
    cr_assert(
        gb_tokenize(tokenizer, json_string_value(text), json_string_length(text), &ids, &status),
        "%s", status.what);
    json_t *list = json_array();
    for (size_t i = 0; i < ids.count; i++)
        json_array_append_new(list, json_integer(ids.data[i]));
    free(ids.data);
    return list;
}

/* Takes `got`. */
static void expect_equal(json_t *entry, json_t *got, json_t *want)
{
    if (!json_equal(got, want)) {
        char *a = json_dumps(got, JSON_ENSURE_ASCII), *b = json_dumps(want, JSON_ENSURE_ASCII);
        cr_expect_fail("%s: %s instead of %s", json_string_value(json_object_get(entry, "case")), a,
                       b);
        free(a);
        free(b);
    }
    json_decref(got);
}

/* Call check for each line of a JSONL file that has a text; returns their number. */
static int each_case(const char *path, void (*check)(void *ctx, json_t *entry, json_t *text),
                     void *ctx)
{
    gb_status status = {0};
    gb_lines *lines = gb_lines_open(path, &status);
    cr_assert(lines, "%s: %s", status.where, status.what);
    char *line;
    size_t length;
    int count = 0;
    while (gb_lines_next(lines, &line, &length, &status) == 1) {
        json_t *entry = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
        cr_assert(entry, "%s: not JSON", path);
        json_t *text = json_object_get(entry, "text");
        if (text) {
            check(ctx, entry, text);
            count++;
        }
        json_decref(entry);
    }
    gb_lines_close(lines);
    return count;
}

static gb_tokenizer *open_tokenizer(const char *path, gb_vocab **vocab)
{
    gb_status status = {0};
    *vocab = gb_vocab_load(path, &status);
    cr_assert(*vocab, "%s: %s", status.where, status.what);
    gb_tokenizer *tokenizer = gb_tokenizer_create(*vocab, GB_TOKENIZER_DEFAULTS, &status);
    cr_assert(tokenizer, "%s", status.what);
    return tokenizer;
}

static void check_words(void *ctx, json_t *entry, json_t *text)
{
    (void)ctx;
    expect_equal(entry, words_of(text, true), json_object_get(entry, "words"));
    expect_equal(entry, words_of(text, false), json_object_get(entry, "cased_words"));
}

Test(tokenizer, words_are_those_of_hugging_face)
{
    cr_expect_gt(each_case(GB_GOLDEN "/wordpiece.jsonl", check_words, NULL), 60);
}

static void check_tiny_ids(void *tokenizer, json_t *entry, json_t *text)
{
    expect_equal(entry, ids_of(tokenizer, text), json_object_get(entry, "tiny"));
}

Test(tokenizer, ids_are_those_of_hugging_face)
{
    gb_vocab *vocab;
    gb_tokenizer *tokenizer = open_tokenizer(GB_GOLDEN "/wordpiece.vocab.txt", &vocab);
    cr_expect_gt(each_case(GB_GOLDEN "/wordpiece.jsonl", check_tiny_ids, tokenizer), 60);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
}

static void check_bert_ids(void *tokenizer, json_t *entry, json_t *text)
{
    expect_equal(entry, ids_of(tokenizer, text), json_object_get(entry, "bert"));
}

/* These have [CLS] and [SEP] around, and one has a second text with a [SEP] of its own. */
static void check_vector(void *tokenizer, json_t *entry, json_t *text)
{
    json_t *got = ids_of(tokenizer, text), *pair = json_object_get(entry, "text_pair");
    json_array_insert_new(got, 0, json_integer(101));
    json_array_append_new(got, json_integer(102));
    if (pair) {
        json_t *more = ids_of(tokenizer, pair);
        json_array_extend(got, more);
        json_array_append_new(got, json_integer(102));
        json_decref(more);
    }
    expect_equal(entry, got, json_object_get(entry, "ids"));
}

Test(tokenizer, bert_base_uncased)
{
    const char *data = getenv("GABBRO_TEST_DATA");
    if (!data)
        cr_skip_test("skipped: GABBRO_TEST_DATA is not set");
    char *folder = gb_path_join(NULL, data, "bert-base-uncased");
    char *path = gb_path_join(NULL, folder, "vocab.txt");
    char *vectors = gb_path_join(NULL, folder, "vectors.jsonl");
    gb_vocab *vocab;
    gb_tokenizer *tokenizer = open_tokenizer(path, &vocab);
    gb_special_ids special = gb_vocab_specials(vocab);
    cr_expect(gb_vocab_size(vocab) == 30522 && special.pad == 0 && special.unk == 100 &&
              special.cls == 101 && special.sep == 102 && special.mask == 103);
    cr_expect_gt(each_case(GB_GOLDEN "/wordpiece.jsonl", check_bert_ids, tokenizer), 60);
    cr_expect_eq(each_case(vectors, check_vector, tokenizer), 30);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    free(vectors);
    free(path);
    free(folder);
}

/* ---- words ---- */

/* Words joined by '|'. */
typedef struct joined {
    gb_text text; /* the words so far */
    int left;     /* words to take before stopping, or -1 */
} joined;

static bool join_word(void *ctx, const char *bytes, size_t length)
{
    joined *j = ctx;
    if (j->left == 0)
        return false;
    j->left--;
    gb_text_printf(&j->text, "%s%.*s", j->text.length ? "|" : "", (int)length, bytes);
    return true;
}

static void expect_words(gb_tokenizer_params params, const char *text, size_t length,
                         const char *want)
{
    joined j = {.left = -1};
    cr_assert(gb_pretokenize(params, text, length, join_word, &j, NULL));
    cr_expect_str_eq(j.text.data ? j.text.data : "", want);
    gb_text_free(&j.text);
}

Test(words, invalid_utf8_is_dropped)
{
    static const char *const damage[] = {
        "\xFF",     "\x80",         "\xC3",         "\xC0\xAF",
        "\xE2\x82", "\xED\xA0\x80", "\xF0\x9F\x98", "\xF4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        char text[64];
        snprintf(text, sizeof text, "ro%sck st%sone%s", damage[i], damage[i], damage[i]);
        expect_words(GB_TOKENIZER_DEFAULTS, text, strlen(text), "rock|stone");
    }
    expect_words(GB_TOKENIZER_DEFAULTS, "ro\0ck", 5, "rock");
    expect_words(GB_TOKENIZER_DEFAULTS, "\xE4\xB8\xAD", 2, ""); /* cut inside a character */
}

Test(words, cjk_splitting_is_an_option)
{
    gb_tokenizer_params params = GB_TOKENIZER_DEFAULTS;
    const char *text = "a\xE4\xB8\xAD\xE5\x9B\xBD"
                       "b";
    expect_words(params, text, strlen(text), "a|\xE4\xB8\xAD|\xE5\x9B\xBD|b");
    params.split_cjk = false;
    expect_words(params, text, strlen(text), text);
}

Test(words, callback_stops_the_walk)
{
    joined j = {.left = 2};
    const char *text = "one two three four";
    cr_expect_not(gb_pretokenize(GB_TOKENIZER_DEFAULTS, text, strlen(text), join_word, &j, NULL));
    cr_expect_str_eq(j.text.data, "one|two");
    gb_text_free(&j.text);
}

Test(words, long_runs_of_marks_take_linear_time)
{
    /* U+1D165 (class 216) and U+302F (class 224) in turns: all of the first kind come first. */
    enum { PAIRS = 100000 };
    gb_text text = {0}, want = {0};
    gb_text_append(&text, "a", 1);
    gb_text_append(&want, "a", 1);
    for (int i = 0; i < PAIRS; i++) {
        gb_text_append(&text, "\xE3\x80\xAF\xF0\x9D\x85\xA5", 7);
        gb_text_append(&want, "\xF0\x9D\x85\xA5", 4);
    }
    for (int i = 0; i < PAIRS; i++)
        gb_text_append(&want, "\xE3\x80\xAF", 3);
    cr_assert(!text.failed && !want.failed);
    expect_words(GB_TOKENIZER_DEFAULTS, text.data, text.length, want.data);
    gb_text_free(&text);
    gb_text_free(&want);
}

/* ---- WordPiece ---- */

Test(wordpiece, ids_are_appended)
{
    gb_vocab *vocab;
    gb_tokenizer *tokenizer = open_tokenizer(GB_GOLDEN "/wordpiece.vocab.txt", &vocab);
    gb_ids ids = {0};
    cr_assert(gb_tokenize(tokenizer, "rock", 4, &ids, NULL));
    cr_assert(gb_tokenize(tokenizer, "uncooled", 8, &ids, NULL));
    static const char *const want[] = {"rock", "un", "##c", "##o", "##o", "##l", "##ed"};
    cr_assert_eq(ids.count, 7);
    for (size_t i = 0; i < ids.count; i++)
        cr_expect_str_eq(gb_vocab_token(vocab, ids.data[i]), want[i]);
    free(ids.data);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
}

Test(wordpiece, longest_word_is_an_option_in_characters)
{
    gb_vocab *vocab;
    gb_tokenizer_destroy(open_tokenizer(GB_GOLDEN "/wordpiece.vocab.txt", &vocab));
    gb_tokenizer_params params = {.max_word_chars = 4, .split_cjk = true};
    gb_status status = {0};
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, params, &status);
    gb_ids ids = {0};
    const char *text = "rock rocks \xC3\xA9\xC3\x9F\xC3\x9F\xC3\x9F"; /* 4, 5, 4 characters */
    cr_assert(gb_tokenize(tokenizer, text, strlen(text), &ids, &status));
    cr_expect_eq(ids.count, 1 + 1 + 4);
    cr_expect_eq(ids.data[1], gb_vocab_specials(vocab).unk);
    cr_expect_neq(ids.data[2], gb_vocab_specials(vocab).unk);
    free(ids.data);
    gb_tokenizer_destroy(tokenizer);
    params.max_word_chars = 0;
    cr_expect_null(gb_tokenizer_create(vocab, params, &status));
    cr_expect_eq(status.code, GB_USAGE);
    gb_vocab_destroy(vocab);
}

/* ---- the vocabulary file ---- */

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

Test(vocab, damage_is_told_with_its_line)
{
    static const struct {
        const char *bytes, *where, *what;
    } cases[] = {
        {"", "vocab.txt", "empty"},
        {"[PAD]\n[UNK]\n[SEP]\n[MASK]\nrock\n", "vocab.txt:5", "[CLS]"},
        {SPECIALS "rock\nstone\nrock\n", "vocab.txt:8", "\"rock\" stands on line 6"},
        {SPECIALS "rock\nst\xC3\nquartz\n", "vocab.txt:7", "UTF-8"},
        {SPECIALS "\nrock\n", "vocab.txt:6", "empty tokens"},
    };
    scratch s = scratch_enter();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("vocab.txt", cases[i].bytes);
        gb_status status = {0};
        cr_expect_null(gb_vocab_load("vocab.txt", &status));
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_str_eq(status.where, cases[i].where);
        cr_expect(strstr(status.what, cases[i].what), "%s", status.what);
        cr_expect_str_not_empty(status.hint);
    }
    gb_status status = {0};
    cr_expect_null(gb_vocab_load("no-such.txt", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "no-such.txt");
    scratch_leave(&s);
}

Test(vocab, lines_may_hold_any_bytes_and_come_back_equal)
{
    static const char bytes[] =
        "[unused0]\n[MASK]\n a b\t\n##\n\0zero\n[SEP]\n##ing\n\xE4\xB8\xAD\n"
        "[PAD]\n\xE2\x80\xA8\n[CLS]\n\r#\n[UNK]\nlast\n";
    scratch s = scratch_enter();
    gb_status status = {0};
    cr_assert(gb_write_file("vocab.txt", bytes, sizeof bytes - 1, &status));
    gb_vocab *vocab = gb_vocab_load("vocab.txt", &status);
    cr_assert(vocab, "%s: %s", status.where, status.what);
    cr_expect_eq(gb_vocab_size(vocab), 14);
    cr_expect_str_eq(gb_vocab_token(vocab, 2), " a b\t");
    cr_expect_null(gb_vocab_token(vocab, 14));
    cr_expect_eq(gb_vocab_id(vocab, "\0zero", 5), 4);
    cr_expect_eq(gb_vocab_id(vocab, "las", 3), GB_MAP_NONE);
    gb_special_ids special = gb_vocab_specials(vocab);
    cr_expect(special.pad == 8 && special.unk == 12 && special.cls == 10 && special.sep == 5 &&
              special.mask == 1);
    cr_expect(gb_vocab_is_special(vocab, 12) && !gb_vocab_is_special(vocab, 0));
    cr_expect(gb_vocab_is_continuation(vocab, 6) && !gb_vocab_is_continuation(vocab, 11));
    cr_expect_not(gb_vocab_is_continuation(vocab, 14));
    cr_assert(gb_vocab_save(vocab, "again.txt", &status), "%s", status.what);
    size_t length;
    char *again = gb_read_file("again.txt", &length, &status);
    cr_assert(again);
    cr_expect(length == sizeof bytes - 1 && memcmp(again, bytes, length) == 0);
    free(again);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(vocab, windows_lines_are_accepted)
{
    scratch s = scratch_enter();
    scratch_write("vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nrock\r\n");
    gb_status status = {0};
    gb_vocab *vocab = gb_vocab_load("vocab.txt", &status);
    cr_assert(vocab, "%s", status.what);
    cr_expect_eq(gb_vocab_id(vocab, "rock", 4), 5);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(vocab, saving_into_nowhere_fails)
{
    gb_vocab *vocab;
    gb_tokenizer_destroy(open_tokenizer(GB_GOLDEN "/wordpiece.vocab.txt", &vocab));
    gb_status status = {0};
    cr_expect_not(gb_vocab_save(vocab, "/no/such/folder/vocab.txt", &status));
    cr_expect_eq(status.code, GB_DATA);
    gb_vocab_destroy(vocab);
    gb_vocab_destroy(NULL);
    gb_tokenizer_destroy(NULL);
}
