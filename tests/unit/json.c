/* Json module: one policy for all files, places of faults, members, bytes that are written. */
#include "gabbro/json.h"
#include "scratch.h"

#include <stdlib.h>
#include <string.h>

Test(json, what_is_refused)
{
    static const struct {
        const char *text;  /* of the file */
        const char *where; /* of the message */
        const char *what;  /* in it */
    } bad[] = {{"{\"a\": 1,\n\"a\": 2}", "file:2", "duplicate"},
               {"[1]", "file:1", "not a JSON object"},
               {"{\"a\": \"\xff\"}", "file:1", "0xff"},
               {"{\"a\": 1}\n{}", "file:2", "end of file expected"},
               {"", "file:1", "expected"}};
    scratch here = scratch_enter();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gb_status status = {0};
        scratch_write("file", bad[i].text);
        cr_expect_null(gb_json_load("file", 0, &status), "%s", bad[i].text);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_str_eq(status.where, bad[i].where, "%s: %s", bad[i].text, status.where);
        cr_expect(strstr(status.what, bad[i].what), "%s: %s", bad[i].text, status.what);
    }
    gb_status status = {0};
    char *text = calloc(1, GB_JSON_MAX_BYTES + 1);
    cr_expect_null(gb_json_parse(text, GB_JSON_MAX_BYTES + 1, 0, "memory", &status));
    cr_expect(strstr(status.what, "too long"), "%s", status.what);
    free(text);
    scratch_leave(&here);
}

Test(json, values_and_lines)
{
    scratch here = scratch_enter();
    gb_status status = {0};
    static const char big[] = "{\"a\": 1000000000000000000000000000000}";
    cr_expect_null(gb_json_parse(big, strlen(big), 0, "memory", NULL), "no whole number");
    json_t *json = gb_json_parse(big, strlen(big), GB_JSON_REALS, "memory", &status);
    cr_expect_eq(json_real_value(json_object_get(json, "a")), 1e30);
    json_decref(json);
    json = gb_json_parse("[1]", 3, GB_JSON_ANY, "memory", &status);
    cr_expect(json_is_array(json));
    json_decref(json);
    scratch_write("lines", "{\"a\": 1}\n\n {\"a\": 2}\n[]\n");
    gb_lines *lines = gb_lines_open("lines", &status);
    for (int i = 1; i < 3; i++) {
        cr_assert_eq(gb_jsonl_next(lines, &json, &status), 1, "%s", status.what);
        cr_expect_eq(json_integer_value(json_object_get(json, "a")), i);
        json_decref(json);
    }
    cr_expect_eq(gb_jsonl_next(lines, &json, &status), -1);
    cr_expect_str_eq(status.where, "lines:4");
    cr_expect_null(json);
    gb_lines_close(lines);
    scratch_leave(&here);
}

Test(json, members)
{
    gb_status status = {0};
    json_t *json = json_pack("{s:s, s:i, s:n}", "text", "x", "number", 7, "none");
    uint32_t number = 3;
    cr_expect_str_eq(gb_json_text(json, "text"), "x");
    cr_expect_str_eq(gb_json_text(json, "number"), "");
    cr_expect(gb_json_get_u32(json, "none", "file", &number, &status) && number == 3);
    cr_expect(gb_json_get_u32(json, "number", "file", &number, &status) && number == 7);
    cr_expect_not(gb_json_get_u32(json, "text", "file", &number, &status));
    cr_expect(status.code == GB_DATA && strstr(status.what, "\"text\""));
    json_decref(json);
}

Test(json, bytes_that_are_written)
{
    gb_status status = {0};
    gb_text text = {0};
    json_t *json = json_pack("{s:f, s:i}", "b", .1, "a", 1);
    cr_assert(gb_json_print(json, GB_JSON_FILE, &text, &status));
    cr_assert(gb_json_print(json, GB_JSON_DESCRIPTION, &text, &status));
    cr_expect_str_eq(text.data, "{\n \"a\": 1,\n \"b\": 0.10000000000000001\n}"
                                "{\n  \"b\": 0.1,\n  \"a\": 1\n}\n");
    cr_expect_not(gb_json_print(NULL, GB_JSON_FILE, &text, &status));
    cr_expect_eq(status.code, GB_DATA);
    gb_text_free(&text);
    json_decref(json);
}
