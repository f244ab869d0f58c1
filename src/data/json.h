/* Members of the objects in the JSON lines of collections, with messages that name the line. */
#ifndef GABBRO_DATA_JSON_H
#define GABBRO_DATA_JSON_H

#include <gabbro/json.h>

/* String member `key`, or `other` when key is absent (other may be NULL). Integers count as ids
 * (gb_json_id). NULL and status when it is missing or not a string. */
const char *data_jsonl_id(const gb_lines *lines, const json_t *object, const char *key,
                          const char *other, char number[GB_JSON_NUMBER], gb_status *status);
/* String member `key`. When absent (or null): NULL and status, or "" if `optional`. */
const char *data_jsonl_string(const gb_lines *lines, const json_t *object, const char *key,
                              bool optional, gb_status *status);

#endif
