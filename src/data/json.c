/* JSON files and JSONL lines. */
#include "data/json.h"

#include <stdlib.h>
#include <string.h>

static const char valid_hint[] = "each line must be one JSON object in UTF-8";
static const char layout_hint[] = "docs/reference/formats.md describes the layouts that are read";

json_t *gb_json_load(const char *path, gb_status *status)
{
    size_t length = 0;
    char *text = gb_read_file(path, &length, status);
    if (!text)
        return NULL;
    json_error_t error;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!json && json_error_code(&error) == json_error_out_of_memory) {
        gb_fail_memory(status, "reading JSON");
        return NULL;
    }
    if (!json || !json_is_object(json)) {
        char *where = gb_format(NULL, "%s:%d", path, json ? 1 : error.line);
        gb_fail(status, GB_DATA, where ? where : path, "make the file again", "not valid JSON: %s",
                json ? "an object is expected" : error.text);
        free(where);
        json_decref(json);
        return NULL;
    }
    return json;
}

bool gb_json_save(const char *path, const json_t *json, gb_status *status)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    if (!text)
        return gb_fail_memory(status, "writing JSON");
    gb_text line = {0};
    gb_text_printf(&line, "%s\n", text);
    free(text);
    bool ok = line.failed ? gb_fail_memory(status, "writing JSON")
                          : gb_write_file(path, line.data, line.length, status);
    gb_text_free(&line);
    return ok;
}

bool gb_json_save_in(const char *folder, const char *name, json_t *json, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    bool ok = path && gb_json_save(path, json, status);
    free(path);
    json_decref(json);
    return ok;
}

static bool is_blank(const char *line, size_t length)
{
    return strspn(line, " \t\r") >= length;
}

int gb_jsonl_next(gb_lines *lines, json_t **object, gb_status *status)
{
    char *line;
    size_t length;
    int got;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1 && is_blank(line, length))
        ;
    if (got != 1)
        return got;
    if (!gb_utf8_valid(line, length)) {
        gb_lines_fail(lines, status, valid_hint, "invalid UTF-8");
        return -1;
    }
    json_error_t error;
    *object = json_loadb(line, length, 0, &error);
    if (*object && json_is_object(*object))
        return 1;
    if (!*object && json_error_code(&error) == json_error_out_of_memory)
        gb_fail_memory(status, "reading JSON");
    else
        gb_lines_fail(lines, status, valid_hint, "not a JSON object: %s",
                      *object ? "another kind of value" : error.text);
    json_decref(*object);
    *object = NULL;
    return -1;
}

bool gb_jsonl_each(gb_lines *lines, gb_jsonl_take *take, void *ctx, gb_status *status)
{
    json_t *object;
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_jsonl_next(lines, &object, status)) == 1) {
        if (!take(ctx, lines, object, status))
            got = -1;
        json_decref(object);
    }
    gb_lines_close(lines);
    return got == 0;
}

const char *gb_jsonl_id(const gb_lines *lines, const json_t *object, const char *key,
                        const char *other, char number[24], gb_status *status)
{
    const json_t *value = json_object_get(object, key);
    if (!value && other)
        value = json_object_get(object, other);
    if (json_is_integer(value)) {
        snprintf(number, 24, "%lld", (long long)json_integer_value(value));
        return number;
    }
    if (!json_is_string(value)) {
        gb_lines_fail(lines, status, layout_hint, value ? "\"%s\" is not a string" : "no \"%s\"",
                      key);
        return NULL;
    }
    return json_string_value(value);
}

const char *gb_jsonl_string(const gb_lines *lines, const json_t *object, const char *key,
                            bool optional, gb_status *status)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value))
        return json_string_value(value);
    if (optional && (!value || json_is_null(value)))
        return "";
    gb_lines_fail(lines, status, layout_hint, value ? "\"%s\" is not a string" : "no \"%s\"", key);
    return NULL;
}
