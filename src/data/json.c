/* Members of the objects in the JSON lines of collections. */
#include "data/json.h"

static const char layout_hint[] = "docs/reference/formats.md describes the layouts that are read";

const char *data_jsonl_id(const gb_lines *lines, const json_t *object, const char *key,
                          const char *other, char number[GB_JSON_NUMBER], gb_status *status)
{
    const json_t *value = gb_json_either(object, key, other);
    const char *id = gb_json_id(value, number);
    if (!id)
        gb_lines_fail(lines, status, layout_hint, value ? "\"%s\" is not a string" : "no \"%s\"",
                      key);
    return id;
}

const char *data_jsonl_string(const gb_lines *lines, const json_t *object, const char *key,
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
