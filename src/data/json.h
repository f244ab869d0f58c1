/* JSON files and JSONL lines with messages that name the place. */
#ifndef GABBRO_DATA_JSON_H
#define GABBRO_DATA_JSON_H

#include <gabbro/base.h>
#include <jansson.h>

/* A file that holds one JSON object; the caller owns a reference. NULL and status on failure. */
json_t *gb_json_load(const char *path, gb_status *status);
/* Write with two-space indentation, keys in their order of insertion, numbers by 15 digits. Takes
 * no reference. A NULL json counts as out of memory (so that the making of it need not be checked
 * step by step). */
bool gb_json_save(const char *path, const json_t *json, gb_status *status);
/* The same as folder/name; takes the reference. */
bool gb_json_save_in(const char *folder, const char *name, json_t *json, gb_status *status);

/* Next object of a JSONL file; empty lines are passed over. 1: *object is a new reference, 0: end,
 * -1: error in status. */
int gb_jsonl_next(gb_lines *lines, json_t **object, gb_status *status);
/* Every object of the lines, which are closed at the end; NULL lines, or a take that is false:
 * false.
 */
typedef bool gb_jsonl_take(void *ctx, const gb_lines *lines, const json_t *object,
                           gb_status *status);
bool gb_jsonl_each(gb_lines *lines, gb_jsonl_take *take, void *ctx, gb_status *status);
/* String member `key`, or `other` when key is absent (other may be NULL). Integers count as ids and
 * are written to number[24]. NULL and status when it is missing or not a string. */
const char *gb_jsonl_id(const gb_lines *lines, const json_t *object, const char *key,
                        const char *other, char number[24], gb_status *status);
/* String member `key`. When absent (or null): NULL and status, or "" if `optional`. */
const char *gb_jsonl_string(const gb_lines *lines, const json_t *object, const char *key,
                            bool optional, gb_status *status);

#endif
