/* What a process says as JSON lines: progress, messages, failures. */
#include "gabbro/json.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int kept; /* the real standard error */

static void catch_errors(void)
{
    fflush(stderr);
    kept = dup(STDERR_FILENO);
    cr_assert(freopen("said", "w", stderr) != NULL);
    gb_say_set_form(GB_SAY_JSON);
}

/* The lines that were said as objects, in an array. */
static json_t *said(void)
{
    gb_say_set_form(GB_SAY_TEXT);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    json_t *lines = json_array();
    gb_lines *file = gb_lines_open("said", NULL);
    char *line;
    size_t length;
    while (gb_lines_next_text(file, &line, &length, NULL) == 1) {
        json_t *object = json_loadb(line, length, 0, NULL);
        cr_expect(json_is_object(object), "%s", line);
        json_array_append_new(lines, object ? object : json_null());
    }
    gb_lines_close(file);
    return lines;
}

static const char *text_of(const json_t *lines, size_t line, const char *name)
{
    return json_string_value(json_object_get(json_array_get(lines, line), name));
}

static double number_of(const json_t *lines, size_t line, const char *name)
{
    return json_number_value(json_object_get(json_array_get(lines, line), name));
}

Test(say, texts)
{
    scratch here = scratch_enter();
    char longest[4000];
    memset(longest, '\x01', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const gb_say_member members[] = {{"quoted", "a \"b\" \\ c\n\t\x7f", 0},
                                     {"german", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8b", 0},
                                     {"broken", "a\xff\xc3(\xed\xa0\x80\xe2\x82", 0},
                                     {"empty", "", 0},
                                     {"number", NULL, 2.5},
                                     {"none", NULL, 0. / 0.},
                                     {"longest", longest, 0}};
    catch_errors();
    gb_say_event("test", members, sizeof members / sizeof *members);
    gb_log(GB_LOG_WARN, "%s", "a message");
    gb_say_line("%d of %d", 1, 2);
    json_t *lines = said();
    cr_assert_eq(json_array_size(lines), 3);
    cr_expect_str_eq(text_of(lines, 0, "event"), "test");
    cr_expect_str_eq(text_of(lines, 0, "quoted"), "a \"b\" \\ c\n\t\x7f");
    cr_expect_str_eq(text_of(lines, 0, "german"), "\xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8b");
    cr_expect_not_null(strstr(text_of(lines, 0, "broken"), "\xef\xbf\xbd("), "mended");
    cr_expect_null(json_object_get(json_array_get(lines, 0), "empty"));
    cr_expect_eq(number_of(lines, 0, "number"), 2.5);
    cr_expect(json_is_null(json_object_get(json_array_get(lines, 0), "none")));
    cr_expect_str_eq(text_of(lines, 1, "level"), "warning");
    cr_expect_str_eq(text_of(lines, 1, "text"), "a message");
    cr_expect_str_eq(text_of(lines, 2, "text"), "1 of 2");
    cr_expect_str_eq(text_of(lines, 2, "level"), "info");
    json_decref(lines);
    scratch_leave(&here);
}

/* Which takes seconds, while nobody would know what is done. */
Test(say, hashing_of_a_large_file)
{
    scratch here = scratch_enter();
    char hex[GB_HASH_SIZE];
    FILE *file = fopen("large", "wb");
    cr_assert(file && ftruncate(fileno(file), 1 << 29) == 0 && fclose(file) == 0);
    catch_errors();
    cr_assert(gb_hash_file("large", hex, NULL));
    json_t *lines = said();
    size_t count = json_array_size(lines);
    cr_assert(count >= 2);
    cr_expect_str_eq(text_of(lines, 0, "label"), "hash");
    cr_expect_eq(number_of(lines, count - 1, "done"), (1 << 29) / 1000);
    cr_expect_str_eq(text_of(lines, count - 1, "event"), "end");
    json_decref(lines);
    scratch_leave(&here);
}

Test(say, progress)
{
    scratch here = scratch_enter();
    gb_progress progress;
    gb_status status = {0};
    gb_fail(&status, GB_DATA, "file:3", NULL, "no number");
    catch_errors();
    gb_progress_begin(&progress, "finetune", "steps", 100, 20);
    progress.start_s -= 4;
    progress.shown_s -= 4;
    gb_progress_update(&progress, 60, "loss 1.5");
    gb_progress_update(&progress, 61, NULL); /* too soon */
    gb_progress_end(&progress, 100, NULL);
    gb_status_print(&status);
    json_t *lines = said();
    cr_assert_eq(json_array_size(lines), 4);
    cr_expect_str_eq(text_of(lines, 0, "event"), "progress");
    cr_expect_eq(number_of(lines, 0, "done"), 20);
    cr_expect_eq(number_of(lines, 1, "done"), 60);
    cr_expect_eq(number_of(lines, 1, "total"), 100);
    cr_expect_str_eq(text_of(lines, 1, "note"), "loss 1.5");
    cr_expect(number_of(lines, 1, "per_s") > 5 && number_of(lines, 1, "per_s") <= 10);
    cr_expect(number_of(lines, 1, "left_s") >= 4, "40 steps at 10 a second");
    cr_expect_str_eq(text_of(lines, 2, "event"), "end");
    cr_expect_str_eq(text_of(lines, 3, "event"), "failure");
    cr_expect_eq(number_of(lines, 3, "code"), GB_DATA);
    cr_expect_str_eq(text_of(lines, 3, "where"), "file:3");
    json_decref(lines);
    scratch_leave(&here);
}
