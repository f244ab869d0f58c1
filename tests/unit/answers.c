/* Retrieve room: answers of questions, by DPR's rule. */
#include "scratch.h"

#include <gabbro/eval.h>

/* Whether `text` holds one of `answers` (separated by tabs). */
static bool held(const char *answers, const char *text)
{
    char line[500];
    gb_status status = {0};
    bool found = false;
    snprintf(line, sizeof line, "q\t%s\n", answers);
    scratch_write("answers.tsv", line);
    gb_names *queries = gb_names_create(&status);
    gb_answers *read = gb_answers_read("answers.tsv", queries, &status);
    cr_assert_not_null(read, "%s", status.what);
    cr_assert(gb_answers_hold(read, 0, text, strlen(text), &found, &status));
    gb_answers_destroy(read);
    gb_names_destroy(queries);
    return found;
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
    scratch_write("answers.tsv", "b\tred\na\tblue\tgreen\n");
    gb_status status = {0};
    gb_names *queries = gb_names_create(&status);
    uint32_t row;
    for (const char *id = "abc"; *id; id++)
        cr_assert(gb_names_row(queries, id, 1, &row, &status));
    gb_answers *answers = gb_answers_read("answers.tsv", queries, &status);
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
    cr_assert(gb_answers_qrels(answers, &run, file, 3, &qrels, &status));
    static const gb_qrel expected[] = {{0, 0, 1}, {0, 1, 0}, {0, 3, 1}, {1, 0, 0}};
    cr_assert_eq(qrels.count, 4, "%zu judgements", qrels.count);
    for (size_t i = 0; i < 4; i++)
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

static void expect_refused(const char *text, const char *place)
{
    gb_status status = {0};
    scratch_write("answers.tsv", text);
    gb_row_writer *writer = gb_row_writer_open("ids.gbt", 1, &status);
    cr_assert(gb_row_writer_add(writer, "a", 1, &status) && gb_row_writer_commit(writer, &status));
    gb_row_file *ids = gb_row_file_open("ids.gbt", 1, &status);
    gb_names *queries = gb_names_from_row_file(ids, &status);
    cr_expect_null(gb_answers_read("answers.tsv", queries, &status));
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
    scratch_write("in/answers.tsv", "q\thill\nz\tred\n");
    cr_expect_not(gb_collection_import(&params, "other", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "in/answers.tsv:2");
    cr_expect_not(gb_dir_exists("other"));
    scratch_leave(&s);
}
