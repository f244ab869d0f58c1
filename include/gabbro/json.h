/* JSON module: reads and writes JSON (by jansson) under one policy for all files: UTF-8, no object
 * with a key twice, no value of more than GB_JSON_MAX_BYTES of text. What is wrong is told with its
 * place in the file. */
#ifndef GABBRO_JSON_H
#define GABBRO_JSON_H

#include <gabbro/base.h>
#include <jansson.h>

#define GB_JSON_MAX_BYTES ((size_t)1 << 28) /* text of one value */

/* ---- reading ---- */

#define GB_JSON_ANY 1u /* any value is taken; without it an object alone */
#define GB_JSON_REALS                                                                              \
    2u /* whole numbers are read as reals too, so that they may be of any size                     \
        */

/* The value that a file holds; the caller owns the reference. NULL and GB_DATA with "path:line", or
 * GB_MEMORY, on failure. */
json_t *gb_json_load(const char *path, uint32_t flags, gb_status *status);
/* The same of folder/name. */
json_t *gb_json_load_in(const char *folder, const char *name, uint32_t flags, gb_status *status);
/* The same of text that lies in memory; `where` names its place: lines of the text are counted from
 * it. */
json_t *gb_json_parse(const char *text, size_t length, uint32_t flags, const char *where,
                      gb_status *status);
/* The same of the line that `lines` gave last, or of text that began there. */
json_t *gb_json_line(const gb_lines *lines, const char *text, size_t length, uint32_t flags,
                     gb_status *status);

/* The next object of a file of JSON lines; empty lines are passed over. 1: *object is a new
 * reference, 0: end, -1: error in status. */
int gb_jsonl_next(gb_lines *lines, json_t **object, gb_status *status);
/* Gives every object to `take` and closes the lines; false where lines is NULL or a take is false.
 */
typedef bool gb_jsonl_take(void *ctx, const gb_lines *lines, const json_t *object,
                           gb_status *status);
bool gb_jsonl_each(gb_lines *lines, gb_jsonl_take *take, void *ctx, gb_status *status);

/* ---- members of an object ---- */

/* The string of that key, "" where there is none. */
const char *gb_json_text(const json_t *object, const char *key);

/* The value of a member that may be missing or null: then *value stays as it is. One of another
 * type fails with GB_DATA, naming the key; path is the file's. Strings live as long as the object.
 */
bool gb_json_get_u32(const json_t *object, const char *key, const char *path, uint32_t *value,
                     gb_status *status);
bool gb_json_get_real(const json_t *object, const char *key, const char *path, double *value,
                      gb_status *status);
bool gb_json_get_bool(const json_t *object, const char *key, const char *path, bool *value,
                      gb_status *status);
bool gb_json_get_string(const json_t *object, const char *key, const char *path, const char **value,
                        gb_status *status);

/* ---- writing ---- */

/* Flags of json_dumps for files of results: the same values give the same bytes, and are read back
 * as they were. */
#define GB_JSON_FILE (JSON_SORT_KEYS | JSON_INDENT(1) | JSON_REAL_PRECISION(17))
/* For descriptions of data, which people read: members in the order in which they were added. */
#define GB_JSON_DESCRIPTION (JSON_INDENT(2) | JSON_REAL_PRECISION(15) | GB_JSON_NEWLINE)
#define GB_JSON_NEWLINE     ((size_t)1 << 24) /* a line end behind the value */

/* Append a value. NULL is taken for one that could not be made, so that the making need not be
 * checked step by step. GB_MEMORY where memory was missing; else what JSON cannot say (a number
 * that is not finite, text that is not UTF-8) fails with GB_DATA. */
bool gb_json_print(const json_t *json, size_t format, gb_text *out, gb_status *status);
/* The same into a file, or into folder/name. */
bool gb_json_save(const json_t *json, size_t format, const char *path, gb_status *status);
bool gb_json_save_in(const json_t *json, size_t format, const char *folder, const char *name,
                     gb_status *status);

#endif
