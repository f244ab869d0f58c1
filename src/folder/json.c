/* JSON files by jansson, with our messages. */
#include "folder/internal.h"

#include <math.h>
#include <stdlib.h>

/* As folder_json_parse; flags are jansson's. */
static json_t *parse(const char *text, size_t length, size_t flags, const char *path,
                     gb_status *status)
{
    json_error_t error;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, &error);
    if (!json && json_error_code(&error) == json_error_out_of_memory) {
        gb_fail_memory(status, "reading JSON");
    } else if (!json) {
        char where[300];
        snprintf(where, sizeof where, "%s:%d", path, error.line);
        gb_fail(status, GB_DATA, where, "the file is damaged; fetch or write it again",
                "not valid JSON: %.160s", error.text);
    } else if (!json_is_object(json)) {
        gb_fail(status, GB_DATA, path, "the file is damaged; fetch or write it again",
                "not a JSON object");
        json_decref(json);
        json = NULL;
    }
    return json;
}

json_t *folder_json_parse(const char *text, size_t length, const char *path, gb_status *status)
{
    return parse(text, length, 0, path, status);
}

/* Whole numbers too are read as reals: transformers writes a model_max_length of 1e30 in digits. */
json_t *folder_json_load(const char *path, gb_status *status)
{
    size_t length;
    char *text = gb_read_file(path, &length, status);
    if (!text)
        return NULL;
    json_t *json = parse(text, length, JSON_DECODE_INT_AS_REAL, path, status);
    free(text);
    return json;
}

bool folder_json_save(json_t *json, const char *path, gb_status *status)
{
    if (!json)
        return gb_fail_memory(status, "writing JSON");
    gb_out *out = gb_out_open(path, status);
    bool ok = out != NULL;
    if (ok && (json_dumpf(json, gb_out_stream(out), JSON_INDENT(2)) != 0 &&
               !ferror(gb_out_stream(out)))) {
        /* A failed write is told by the commit; this is memory or bad UTF-8. */
        gb_out_abandon(out);
        ok = gb_fail(status, GB_MEMORY, path, NULL, "cannot put together the JSON text");
    } else if (ok) {
        fputc('\n', gb_out_stream(out));
        ok = gb_out_commit(out, status);
    }
    json_decref(json);
    return ok;
}

static bool fail_type(const char *path, const char *key, const char *expected, gb_status *status)
{
    return gb_fail(status, GB_DATA, path, "correct the file", "\"%s\" is not %s", key, expected);
}

/* The member, or NULL when it is absent or null. */
static const json_t *member(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_null(value) ? NULL : value;
}

bool folder_json_uint(const json_t *json, const char *key, const char *path, uint32_t *value,
                      gb_status *status)
{
    const json_t *found = member(json, key);
    if (!found)
        return true;
    double number = json_number_value(found);
    if (!json_is_number(found) || !(number >= 0 && number <= UINT32_MAX) || number != trunc(number))
        return fail_type(path, key, "a whole number from 0 to 4294967295", status);
    *value = (uint32_t)number;
    return true;
}

bool folder_json_real(const json_t *json, const char *key, const char *path, double *value,
                      gb_status *status)
{
    const json_t *found = member(json, key);
    if (!found)
        return true;
    if (!json_is_number(found))
        return fail_type(path, key, "a number", status);
    *value = json_number_value(found);
    return true;
}

bool folder_json_bool(const json_t *json, const char *key, const char *path, bool *value,
                      gb_status *status)
{
    const json_t *found = member(json, key);
    if (!found)
        return true;
    if (!json_is_boolean(found))
        return fail_type(path, key, "true or false", status);
    *value = json_is_true(found);
    return true;
}

bool folder_json_string(const json_t *json, const char *key, const char *path, const char **value,
                        gb_status *status)
{
    const json_t *found = member(json, key);
    if (!found)
        return true;
    if (!json_is_string(found))
        return fail_type(path, key, "a string", status);
    *value = json_string_value(found);
    return true;
}
