/* Sentences, and terms against those recorded from Lucene's EnglishAnalyzer. */
#include "gabbro/text.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- sentences ---- */

/* The sentences of a text as one string with '|' between; free. */
static char *sentences(const char *text, size_t length)
{
    gb_span *spans = NULL;
    size_t capacity = 0, count = 0;
    gb_status status = {0};
    gb_text joined = {0};
    gb_text_append(&joined, "", 0);
    cr_assert(gb_sentences(text, length, &spans, &capacity, &count, &status), "%s", status.what);
    for (size_t i = 0; i < count; i++) {
        cr_assert(spans[i].start < spans[i].end && spans[i].end <= length);
        gb_text_append(&joined, "|", i > 0);
        gb_text_append(&joined, text + spans[i].start, spans[i].end - spans[i].start);
    }
    free(spans);
    cr_assert_not(joined.failed);
    return joined.data;
}

static void expect_sentences(const char *text, const char *want)
{
    char *got = sentences(text, strlen(text));
    cr_expect_str_eq(got, want);
    free(got);
}

Test(sentences, end_at_stops_and_line_ends)
{
    expect_sentences("Gabbro is dense. It cools slowly! Does it?  Yes.",
                     "Gabbro is dense.|It cools slowly!|Does it?|Yes.");
    expect_sentences("It weighs 3.1 t per m3. It is e.g. black.",
                     "It weighs 3.1 t per m3.|It is e.g. black.");
    expect_sentences("\n A title\nA text (in full.) \"Quoted.\" End\n\n",
                     "A title|A text (in full.)|\"Quoted.\"|End");
    expect_sentences("\xE7\x9F\xB3\xE3\x80\x82\xE4\xB8\xAD\xE3\x80\x82",
                     "\xE7\x9F\xB3\xE3\x80\x82|\xE4\xB8\xAD\xE3\x80\x82");
}

Test(sentences, white_space_of_any_kind_is_trimmed)
{
    expect_sentences("\xC2\xA0\xE3\x80\x80One.\xE2\x80\x83\xE2\x80\xA8 Two.\xE2\x80\xA9",
                     "One.|Two.");
    expect_sentences("", "");
    expect_sentences(" \t\r\n\xC2\xA0", "");
}

Test(sentences, ranges_are_in_bytes_also_behind_damage)
{
    expect_sentences("\xF0\x9F\x98\x80 \xFF\xC3.  Caf\xC3\xA9 \xE2\x82. End",
                     "\xF0\x9F\x98\x80 \xFF\xC3.|Caf\xC3\xA9 \xE2\x82.|End");
}

Test(sentences, buffer_is_reused)
{
    gb_span *spans = NULL;
    size_t capacity = 0, count = 0;
    cr_assert(gb_sentences("One. Two. Three.", 16, &spans, &capacity, &count, NULL));
    cr_expect_eq(count, 3);
    cr_assert(gb_sentences("Four.", 5, &spans, &capacity, &count, NULL));
    cr_expect_eq(count, 1);
    cr_expect(spans[0].start == 0 && spans[0].end == 5);
    cr_assert(gb_sentences("", 0, &spans, &capacity, &count, NULL));
    cr_expect_eq(count, 0);
    free(spans);
}

/* ---- terms ---- */

static bool add_term(void *ctx, const char *bytes, size_t length)
{
    return json_array_append_new(ctx, json_stringn(bytes, length)) == 0;
}

/* The terms of a text as a JSON array. */
static json_t *terms_of(gb_analyzer *analyzer, const char *text, size_t length)
{
    json_t *terms = json_array();
    gb_status status = {0};
    cr_assert(gb_analyze(analyzer, text, length, add_term, terms, &status), "%s", status.what);
    return terms;
}

static gb_analyzer *open_analyzer(void)
{
    gb_status status = {0};
    gb_analyzer *analyzer = gb_analyzer_create(&status);
    cr_assert(analyzer, "%s", status.what);
    return analyzer;
}

Test(terms, are_those_of_lucene)
{
    gb_analyzer *analyzer = open_analyzer();
    gb_lines *lines = gb_lines_open(GB_GOLDEN "/english_terms.jsonl", NULL);
    cr_assert_not_null(lines);
    char *line;
    size_t length;
    int count = 0;
    while (gb_lines_next(lines, &line, &length, NULL) == 1) {
        json_t *entry = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
        json_t *text = json_object_get(entry, "text"), *want = json_object_get(entry, "terms");
        if (text) {
            json_t *got = terms_of(analyzer, json_string_value(text), json_string_length(text));
            char *shown = json_dumps(got, JSON_ENSURE_ASCII);
            cr_expect(json_equal(got, want), "line %d: %s", (int)gb_lines_number(lines), shown);
            free(shown);
            json_decref(got);
            count++;
        }
        json_decref(entry);
    }
    cr_expect_gt(count, 20);
    gb_lines_close(lines);
    gb_analyzer_destroy(analyzer);
}

Test(terms, invalid_utf8_separates_words)
{
    gb_analyzer *analyzer = open_analyzer();
    const char text[] = "ro\xFF"
                        "ck \xE2\x82 st\xC3"
                        "one\xF0\x9F\x98";
    json_t *terms = terms_of(analyzer, text, sizeof text - 1);
    char *shown = json_dumps(terms, JSON_COMPACT);
    cr_expect_str_eq(shown, "[\"ro\",\"ck\",\"st\",\"on\"]");
    free(shown);
    json_decref(terms);
    gb_analyzer_destroy(analyzer);
    gb_analyzer_destroy(NULL);
}

static bool take_two(void *ctx, const char *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    return ++*(int *)ctx < 2;
}

Test(terms, callback_stops_the_walk)
{
    gb_analyzer *analyzer = open_analyzer();
    int taken = 0;
    cr_expect_not(gb_analyze(analyzer, "gabbro basalt slate", 19, take_two, &taken, NULL));
    cr_expect_eq(taken, 2);
    taken = -1;
    cr_expect(gb_analyze(analyzer, "gabbro basalt", 13, take_two, &taken, NULL));
    gb_analyzer_destroy(analyzer);
}

Test(terms, stop_words_are_lucenes_33)
{
    static const char *const words =
        " a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with ";
    int count = 0;
    for (const char *word = words + 1; *word; word = strchr(word, ' ') + 1) {
        cr_expect(gb_is_stop_word(word, strcspn(word, " ")));
        count++;
    }
    cr_expect_eq(count, 33);
    static const char *const others[] = {"", "i", "from", "which", "were", "The", "th", "thei"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not(gb_is_stop_word(others[i], strlen(others[i])), "%s", others[i]);
}

Test(terms, a_long_text_without_breaks_takes_linear_time)
{
    enum { LENGTH = 1000000 };
    gb_analyzer *analyzer = open_analyzer();
    char *text = malloc(LENGTH);
    memset(text, 'x', LENGTH);
    json_t *terms = terms_of(analyzer, text, LENGTH);
    cr_expect_eq(json_array_size(terms), (LENGTH + 254) / 255);
    json_decref(terms);
    free(text);
    gb_analyzer_destroy(analyzer);
}
