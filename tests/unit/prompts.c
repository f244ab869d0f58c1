/* Querygen module: prompts, the queries in answers, and the list of finished work. */
#include "gabbro/querygen.h"
#include "scratch.h"

#include <gabbro/synth.h>

#include <string.h>

static gb_prompt_template read_prompt(const char *text)
{
    gb_status status = {0};
    gb_prompt_template t;
    cr_assert(gb_write_file("prompt", text, strlen(text), &status));
    cr_assert(gb_prompt_template_read("prompt", &t, &status), "%s: %s", status.where, status.what);
    return t;
}

Test(prompts, head_and_text)
{
    scratch s = scratch_enter();
    gb_prompt_template t =
        read_prompt("# about\nqueries: 7\ntop-p: 0.9\nanswer: list 10\n\n---\n\nA {text}\n# b\n");
    cr_expect_str_eq(t.text, "\nA {text}\n# b");
    cr_expect_str_eq(t.name, "prompt");
    cr_expect(t.queries == 7 && t.list == 10 && t.top_p == 0.9 && t.temperature == 1);
    cr_expect_not(gb_prompt_template_ends_with_passage(&t));
    gb_prompt_template_free(&t);
    t = read_prompt("---\n{passage}");
    cr_expect(gb_prompt_template_ends_with_passage(&t));
    gb_prompt_template_free(&t);
    scratch_leave(&s);
}

Test(prompts, bad_files)
{
    static const struct {
        const char *text;  /* of the file */
        const char *where; /* of the message */
    } bad[] = {{"queries: 2.5\n---\n{text}", "prompt:1"},
               {"queries 2\n---\n{text}", "prompt:1"},
               {"\nqueries: -1\n---\n{text}", "prompt:2"},
               {"answer: list\n---\n{text}", "prompt:1"},
               {"answer: list 3x\n---\n{text}", "prompt:1"},
               {"---\nno passage", "prompt:2"},
               {"queries: 2\n", "prompt:1"}};
    scratch s = scratch_enter();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gb_status status = {0};
        gb_prompt_template t;
        cr_assert(gb_write_file("prompt", bad[i].text, strlen(bad[i].text), &status));
        cr_expect_not(gb_prompt_template_read("prompt", &t, &status), "%s", bad[i].text);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_str_eq(status.where, bad[i].where, "%s: %s", bad[i].text, status.what);
    }
    scratch_leave(&s);
}

Test(prompts, queries_of_answers)
{
    static const struct {
        uint32_t list;       /* 0: one query */
        const char *answer;  /* of the model */
        const char *queries; /* in it */
    } cases[] = {
        {0, "  what is\n gabbro ", "what is  gabbro\n"},
        {0, " \n ", ""},
        {10, "1. what is gabbro\n2. \"dark rocks\"\n\n3) gabbro colour\n(4) 10 best rocks", //
         "what is gabbro\ndark rocks\ngabbro colour\n10 best rocks\n"},
        {10, "Here are ten queries:\n1: a b\n2: c\n3. a b\n4.", "a b\nc\n"},
        {10, "rocks\n- dark rocks\n* 3.5 g", "dark rocks\n3.5 g\n"},
        {10, "rocks\n3.5 g\n10 best rocks", "rocks\n3.5 g\n10 best rocks\n"},
        {2, "1. a\n2. b\n3. c", "a\nb\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gb_prompt_template t = {.list = cases[i].list};
        gb_text out = {0};
        uint32_t lines = 0;
        uint32_t count = gb_answer_queries(&t, cases[i].answer, strlen(cases[i].answer), &out);
        cr_expect_str_eq(out.data ? out.data : "", cases[i].queries);
        for (const char *at = cases[i].queries; *at; at++)
            lines += *at == '\n';
        cr_expect_eq(count, lines, "%s", cases[i].answer);
        gb_text_free(&out);
    }
    /* What one answer said another need not say again. */
    gb_prompt_template t = {.list = 5};
    gb_text out = {0};
    gb_answer_queries(&t, "1. a\n2. b", 9, &out);
    cr_expect_eq(gb_answer_queries(&t, "1. b\n2. c", 9, &out), 1);
    cr_expect_str_eq(out.data, "a\nb\nc\n");
    gb_text_free(&out);
}

Test(prompts, journal_survives)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_journal *j = gb_journal_open("made", 5, &status);
    cr_assert_not_null(j);
    cr_assert(gb_journal_add(j, 3, "three", &status) && gb_journal_add(j, 0, "", &status));
    cr_expect_not(gb_journal_add(j, 3, "again", &status));
    gb_journal_close(j);
    /* The next line was being written when the process was killed. */
    FILE *file = fopen("made", "a");
    cr_assert(file && fputs("1\tha", file) >= 0 && !fclose(file));
    status = (gb_status){0};
    j = gb_journal_open("made", 5, &status);
    cr_assert_not_null(j, "%s", status.what);
    cr_expect_eq(gb_journal_count(j), 2);
    cr_expect_not(gb_journal_has(j, 1));
    cr_assert(gb_journal_add(j, 1, "one", &status));
    gb_journal_close(j);
    j = gb_journal_open("made", 5, &status);
    cr_assert(j && gb_journal_count(j) == 3);
    cr_expect_str_eq(gb_journal_line(j, 3, &status), "three");
    cr_expect_str_eq(gb_journal_line(j, 1, &status), "one");
    cr_expect_str_eq(gb_journal_line(j, 0, &status), "");
    cr_expect_null(gb_journal_line(j, 4, &status));
    gb_journal_close(j);
    cr_assert(gb_write_file("made", "7\tx\n", 4, &status));
    status = (gb_status){0};
    cr_expect_null(gb_journal_open("made", 5, &status));
    cr_expect_eq(status.code, GB_DATA);
    scratch_leave(&s);
}

/* A cut passage keeps whole words, a prompt all of itself. */
Test(prompts, fill)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    cr_assert(gb_synth_generate(1, "main", "a", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("a", &status);
    cr_assert_not_null(c);
    gb_prompt_template t = {.text = (char *)"{x} [{title}] [{text}] end"};
    gb_text whole = {0}, cut = {0};
    cr_assert(gb_prompt_template_fill(&t, c, 3, SIZE_MAX, &whole, &status));
    cr_assert(gb_prompt_template_fill(&t, c, 3, 30, &cut, &status));
    size_t title, text, kept = cut.length - strlen("] end");
    gb_row_file_row(c->titles, 3, &title);
    gb_row_file_row(c->texts, 3, &text);
    cr_expect_eq(whole.length, strlen("{x} [] [] end") + title + text);
    cr_expect(cut.length < whole.length && !memcmp(cut.data, whole.data, kept));
    cr_expect_str_eq(cut.data + kept, "] end");
    cr_expect_eq(whole.data[kept], ' ', "a word was cut");
    gb_text_free(&whole);
    gb_text_free(&cut);
    gb_collection_close(c);
    scratch_leave(&s);
}
