/* Members of objects. */
#include "gabbro/json.h"

#include <math.h>

const char *gb_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *gb_json_either(const json_t *object, const char *key, const char *other)
{
    json_t *value = json_object_get(object, key);
    return value ? value : json_object_get(object, other);
}

const char *gb_json_id(const json_t *value, char number[GB_JSON_NUMBER])
{
    if (!json_is_integer(value))
        return json_string_value(value);
    snprintf(number, GB_JSON_NUMBER, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return number;
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

bool gb_json_get_u32(const json_t *json, const char *key, const char *path, uint32_t *value,
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

bool gb_json_get_real(const json_t *json, const char *key, const char *path, double *value,
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

bool gb_json_get_bool(const json_t *json, const char *key, const char *path, bool *value,
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

bool gb_json_get_string(const json_t *json, const char *key, const char *path, const char **value,
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
