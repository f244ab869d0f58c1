/* Retrieve room: answers of questions, by DPR's rule. */
#include "scratch.h"

#include <gabbro/eval.h>

/* Reads a line of answers of the query q. */
static gb_answers *read_line(gb_answer_rule rule, const char *answers, gb_status *status)
{
    char line[500];
    snprintf(line, sizeof line, "q\t%s\n", answers);
    scratch_write("answers.tsv", line);
    gb_names *queries = gb_names_create(status);
    gb_answers *read = gb_answers_read("answers.tsv", rule, queries, status);
    gb_names_destroy(queries);
    return read;
}

static bool held_by(gb_answer_rule rule, const char *answers, const char *text)
{
    gb_status status = {0};
    bool found = false;
    gb_answers *read = read_line(rule, answers, &status);
    cr_assert_not_null(read, "%s", status.what);
    cr_assert(gb_answers_hold(read, 0, text, strlen(text), &found, &status), "%s", status.what);
    gb_answers_destroy(read);
    return found;
}

/* Whether `text` holds one of `answers` (separated by tabs), by words. */
static bool held(const char *answers, const char *text)
{
    return held_by(GB_ANSWERS_WORDS, answers, text);
}

/* The same of regular expressions. */
static bool matched(const char *answers, const char *text)
{
    return held_by(GB_ANSWERS_REGEX, answers, text);
}

Test(answers, are_sequences_of_words)
{
    scratch s = scratch_enter();
    cr_expect(held("the Rolling Stones", "A concert of The rolling stones, in 1969."));
    cr_expect_not(held("stone", "A concert of the Rolling Stones."), "part of a word");
    cr_expect_not(held("Rolling Stones", "Stones were rolling."), "another order");
    cr_expect_not(held("Rolling Stones", "The Rolling (British) Stones."),
                  "not one behind another");
    cr_expect(held("nobody\tStones", "The Rolling Stones."), "the second answer");
    cr_expect_not(held("Rolling Stones", ""));
    cr_expect(held("Rolling Stones", "Rolling\t\n Stones"), "any white space");
    scratch_leave(&s);
}

Test(answers, count_punctuation_as_words)
{
    scratch s = scratch_enter();
    cr_expect(held("U.S.", "In the U.S. it rains."));
    cr_expect(held("u.s.", "the U . S ."), "each mark is a word by itself");
    cr_expect_not(held("U.S.", "in the US it rains"));
    cr_expect_not(held("Stones", "Stones2"), "digits belong to words");
    cr_expect(held("3,000", "about 3,000 people"));
    cr_expect_not(held("3000", "about 3,000 people"));
    cr_expect(held("Mary", "Mary's lamb"), "an apostrophe ends a word");
    cr_expect(held("$5", "it costs $5."));
    scratch_leave(&s);
}

Test(answers, compare_decomposed_lower_case_with_accents)
{
    scratch s = scratch_enter();
    cr_expect(held("Café", "the caf\xc3\xa9 of"), "composed against composed");
    cr_expect(held("cafe\xcc\x81", "the CAF\xc3\x89 of"), "decomposed against composed");
    cr_expect_not(held("cafe", "the caf\xc3\xa9 of"), "an accent makes another word");
    cr_expect(held("\xce\x9f\xce\x94\xce\x9f\xce\xa3", "\xce\xbf\xce\xb4\xce\xbf\xcf\x82"),
              "capital and final sigma");
    cr_expect(held("\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0",
                   "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0"),
              "Cyrillic");
    scratch_leave(&s);
}

Test(answers, survive_odd_bytes)
{
    scratch s = scratch_enter();
    cr_expect(held("two words", "\xff\xfe two\xc3 words"), "bytes that are no UTF-8 part words");
    cr_expect_not(held(" ", "anything"), "an answer without a word is nowhere");
    cr_expect_not(held("\t\xe2\x80\x8b", "anything"), "nor is one of format characters");
    scratch_leave(&s);
}

Test(answers, judge_the_first_passages_of_a_run)
{
    scratch s = scratch_enter();
    scratch_write("answers.tsv", "b\tred\na\tblue\tgreen\nd\tred\n");
    gb_status status = {0};
    gb_names *queries = gb_names_create(&status);
    uint32_t row;
    for (const char *id = "abcd"; *id; id++)
        cr_assert(gb_names_row(queries, id, 1, &row, &status));
    gb_answers *answers = gb_answers_read("answers.tsv", GB_ANSWERS_WORDS, queries, &status);
    cr_assert_not_null(answers, "%s", status.what);
    gb_row_writer *writer = gb_row_writer_open("t.gbt", 1, &status);
    static const char *const texts[] = {"a green hill", "a red hill", "a hill", "a blue hill"};
    for (size_t i = 0; i < 4; i++)
        cr_assert(gb_row_writer_add(writer, texts[i], strlen(texts[i]), &status));
    cr_assert(gb_row_writer_commit(writer, &status));
    gb_row_file *file = gb_row_file_open("t.gbt", 1, &status);
    gb_run run = {0};
    gb_hit hits[] = {{3, 4}, {1, 3}, {0, 2}, {2, 1}};
    cr_assert(gb_run_add(&run, 0, hits, 4, &status) && gb_run_add(&run, 1, hits, 0, &status) &&
              gb_run_add(&run, 2, hits, 4, &status));
    gb_qrels qrels;
    uint32_t asked[] = {0, 1, 2, 3}; /* c has no answers, b no passages, and d no list */
    const gb_split split = {.queries = asked, .count = 4};
    cr_assert(gb_answers_qrels(answers, &split, &run, file, 3, &qrels, &status));
    static const gb_qrel expected[] = {{0, 0, 1}, {0, 1, 0}, {0, 3, 1}, {1, 0, 0}, {3, 0, 0}};
    cr_assert_eq(qrels.count, 5, "%zu judgements", qrels.count);
    for (size_t i = 0; i < 5; i++)
        cr_expect(qrels.rows[i].query == expected[i].query &&
                      qrels.rows[i].passage == expected[i].passage &&
                      qrels.rows[i].grade == expected[i].grade,
                  "judgement %zu", i);
    free(qrels.rows);
    gb_run_free(&run);
    gb_row_file_close(file);
    gb_answers_destroy(answers);
    gb_names_destroy(queries);
    scratch_leave(&s);
}

/* ---- regular expressions, against what Python's regex 2026.5.9 finds, which DPR uses ---- */

/* Whether this program has them. */
static bool has_regexes(void)
{
    gb_status status = {0};
    gb_answers *read = read_line(GB_ANSWERS_REGEX, "x", &status);
    cr_assert(read || status.code == GB_USAGE, "%s", status.what);
    gb_answers_destroy(read);
    return read != NULL;
}

static scratch enter_with_regexes(void)
{
    scratch s = scratch_enter();
    if (has_regexes())
        return s;
    scratch_leave(&s);
    cr_skip_test("built without ICU's regular expressions");
    return s;
}

Test(answers, are_regular_expressions)
{
    scratch s = enter_with_regexes();
    cr_expect(matched("19[0-9]{2}", "built in 1969."));
    cr_expect_not(matched("19[0-9]{2}", "built in 1869."));
    cr_expect(matched("(\\d|,)+ feet", "29,035 feet high"));
    cr_expect(matched("Mt\\.? (Everest|Rainier)", "on mt Everest"), "case does not count");
    cr_expect(matched("colou?r", "discolored"), "within words too");
    cr_expect_not(matched("\\bmag\\b", "magma"));
    cr_expect(matched("nowhere\tU\\.S\\.", "the u.s. of 1900"), "the second one");
    cr_expect_not(matched("U\\.S\\.", "the us"));
    cr_expect_not(matched("a|b", ""));
    cr_expect_not(matched("\t", "an empty one is left out"));
    scratch_leave(&s);
}

Test(answers, match_at_the_ends_of_lines)
{
    scratch s = enter_with_regexes();
    cr_expect(matched("^second$", "first\nSecond\nthird"));
    cr_expect(matched("rock$", "a rock\n"));
    cr_expect_not(matched("rock$", "a rock\rof"), "a carriage return ends no line");
    cr_expect_not(matched("first.second", "first\nsecond"), "nor is a line end any character");
    cr_expect(matched("first\\ssecond", "first\nsecond"));
    cr_expect(matched("a.b", "a\xe2\x80\xa8"
                             "b"),
              "but U+2028 is one");
    scratch_leave(&s);
}

Test(answers, match_decomposed_text)
{
    scratch s = enter_with_regexes();
    cr_expect(matched("caf\xc3\xa9", "CAFE\xcc\x81"), "composed against decomposed capitals");
    cr_expect(matched("cafe\xcc\x81", "caf\xc3\xa9"));
    cr_expect(matched("cafe", "caf\xc3\xa9"), "the letter stands before its accent");
    cr_expect(matched("^\\w+$", "caf\xc3\xa9"), "which is part of a word");
    cr_expect(matched("\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2[\xd0\xb0\xd1\x83]",
                      "\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd1\x83"),
              "Cyrillic");
    cr_expect(matched("\xce\xbf\xce\xb4\xce\xbf\xcf\x82", "\xce\x9f\xce\x94\xce\x9f\xce\xa3"),
              "final sigma and capital");
    cr_expect(matched("\\d", "\xe0\xa5\xa7"), "digits of other scripts");
    cr_expect(matched("two.+words", "two\xff\xfewords"), "bytes that are no UTF-8");
    scratch_leave(&s);
}

static void expect_wrong(const char *expression, const char *what)
{
    gb_status status = {0};
    cr_expect_null(read_line(GB_ANSWERS_REGEX, expression, &status), "%s", expression);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "answers.tsv:1");
    cr_expect(strstr(status.what, what), "%s: %s", expression, status.what);
}

Test(answers, name_what_is_wrong_in_an_expression)
{
    scratch s = enter_with_regexes();
    expect_wrong("good\t(a|b", "\"(a|b\" is wrong at character 4: a parenthesis");
    expect_wrong("b[a", "\"b[a\" is wrong at character 3: a [ without its ]");
    expect_wrong("*a", "\"*a\" is wrong at character 1: ");
    expect_wrong("a{3,1}", "\"a{3,1}\" is wrong at character 6: in {N,M}, M is less than N");
    scratch_leave(&s);
}

Test(answers, stop_where_an_expression_takes_too_long)
{
    scratch s = enter_with_regexes();
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    gb_status status = {0};
    bool found;
    gb_answers *answers = read_line(GB_ANSWERS_REGEX, "(a+)+$", &status);
    for (int i = 0; i < 2; i++) { /* the second search has as much time as the first */
        cr_expect_not(gb_answers_hold(answers, 0, text, sizeof text - 1, &found, &status));
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_str_eq(status.where, "answers.tsv:1");
        cr_expect(strstr(status.what, "\"(a+)+$\" can match in so many ways"), "%s", status.what);
        cr_expect(gb_answers_hold(answers, 0, "aaa", 3, &found, &status) && found);
    }
    gb_answers_destroy(answers);
    scratch_leave(&s);
}

static void expect_refused(const char *text, const char *place)
{
    gb_status status = {0};
    scratch_write("answers.tsv", text);
    gb_row_writer *writer = gb_row_writer_open("ids.gbt", 1, &status);
    cr_assert(gb_row_writer_add(writer, "a", 1, &status) && gb_row_writer_commit(writer, &status));
    gb_row_file *ids = gb_row_file_open("ids.gbt", 1, &status);
    gb_names *queries = gb_names_from_row_file(ids, &status);
    cr_expect_null(gb_answers_read("answers.tsv", GB_ANSWERS_WORDS, queries, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, place);
    gb_names_destroy(queries);
    gb_row_file_close(ids);
}

Test(answers, refuse_damaged_files)
{
    scratch s = scratch_enter();
    expect_refused("a\tx\nzz\ty\n", "answers.tsv:2");
    expect_refused("a\n", "answers.tsv:1");
    expect_refused("a\tx\na\ty\n", "answers.tsv:2");
    scratch_leave(&s);
}

/* ---- with a collection ---- */

Test(answers, come_with_an_imported_folder)
{
    scratch s = scratch_enter();
    scratch_write("in/corpus.jsonl",
                  "{\"_id\": \"p\", \"title\": \"Red\", \"text\": \"a hill\"}\n");
    scratch_write("in/queries.jsonl", "{\"_id\": \"q\", \"text\": \"what is red\"}\n");
    scratch_write("in/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\tp\t1\n");
    scratch_write("in/answers.tsv", "q\thill\tred\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "in";
    params.keep_splits = true;
    gb_status status = {0};
    cr_assert(gb_collection_import(&params, "out", &status), "%s", status.what);
    char *copy = gb_read_file("out/answers.tsv", NULL, &status);
    cr_expect_str_eq(copy, "q\thill\tred\n");
    free(copy);
    gb_collection *plain = gb_collection_open("out", &status);
    cr_expect_not(plain->regex_answers);
    gb_collection_close(plain);
    scratch_write("in/answers.tsv", "q\thill\nz\tred\n");
    cr_expect_not(gb_collection_import(&params, "other", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "in/answers.tsv:2");
    cr_expect_not(gb_dir_exists("other"));
    scratch_leave(&s);
}

Test(answers, of_a_collection_are_regular_expressions_where_it_says_so)
{
    scratch s = enter_with_regexes();
    scratch_write("in/corpus.jsonl", "{\"_id\": \"p\", \"text\": \"hills of 1912\"}\n");
    scratch_write("in/queries.jsonl", "{\"_id\": \"q\", \"text\": \"when\"}\n");
    scratch_write("in/answers.tsv", "q\tx\t19[0-9]+\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "in";
    params.keep_splits = true;
    const gb_import_variant variant = {.regex_answers = true};
    gb_status status = {0};
    bool found = false;
    cr_assert(gb_collection_import_as(&params, &variant, "out", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("out", &status);
    gb_names *queries = gb_names_from_row_file(c->query_ids, &status);
    gb_answers *answers = NULL;
    cr_assert(gb_answers_of(c, queries, &answers, &status), "%s", status.what);
    cr_expect(gb_answers_hold(answers, 0, "hills of 1912", 13, &found, &status) && found);
    gb_answers_destroy(answers);
    gb_names_destroy(queries);
    gb_collection_close(c);
    scratch_write("in/answers.tsv", "q\tx\t19[0-9+\n");
    cr_expect_not(gb_collection_import_as(&params, &variant, "other", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "in/answers.tsv:1");
    cr_assert_eq(unlink("in/answers.tsv"), 0);
    cr_expect_not(gb_collection_import_as(&params, &variant, "other", &status));
    cr_expect_str_eq(status.what, "the source has no answers");
    cr_expect_not(gb_dir_exists("other"));
    scratch_leave(&s);
}
