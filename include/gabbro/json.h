/* JSON module: reads and writes JSON (by jansson) under the same rules for all files: UTF-8, no
 * object with a key twice, no value of more than GB_JSON_MAX_BYTES of text. Messages name the line
 * of an error. */
#ifndef GABBRO_JSON_H
#define GABBRO_JSON_H

#include <gabbro/base.h>
#include <jansson.h>

#include <stdio.h>

#define GB_JSON_MAX_BYTES ((size_t)1 << 28) /* text of one value */

/* ---- reading ---- */

#define GB_JSON_ANY   1u /* accepts an array, too; without it, only an object */
#define GB_JSON_REALS 2u /* reads whole numbers as reals too, so that they may have any size */

/* Reads the value in a file; flags are GB_JSON_ bits. The caller owns the reference. NULL and
 * GB_DATA with "path:line", or GB_MEMORY, on failure. */
json_t *gb_json_load(const char *path, uint32_t flags, gb_status *status);
/* Reads the value in folder/name. */
json_t *gb_json_load_in(const char *folder, const char *name, uint32_t flags, gb_status *status);
/* Reads the value in a text in memory. Messages name the place "where:line", with the line of the
 * text. */
json_t *gb_json_parse(const char *text, size_t length, uint32_t flags, const char *where,
                      gb_status *status);
/* Reads the value in the line that `lines` gave last, or in text that began in that line; messages
 * name file and line. */
json_t *gb_json_line(const gb_lines *lines, const char *text, size_t length, uint32_t flags,
                     gb_status *status);

/* Reads the next object of a file of JSON lines and skips empty lines. 1: *object is a new
 * reference, 0: end of the file, -1: error in status. */
int gb_jsonl_next(gb_lines *lines, json_t **object, gb_status *status);
/* Is called for each object; returns false to stop with an error. */
typedef bool gb_jsonl_take(void *ctx, const gb_lines *lines, const json_t *object,
                           gb_status *status);
/* Calls `take` for every object of a file of JSON lines and closes the lines. False if lines is
 * NULL (its opening failed) or a call returned false. */
bool gb_jsonl_each(gb_lines *lines, gb_jsonl_take *take, void *ctx, gb_status *status);

/* Objects of a file, whatever its lines: one object a line, or elements of one array. */
typedef struct gb_objects gb_objects;
#define GB_OBJECTS_NAMED 1u /* or objects that are all members of one: gb_objects_name */
/* Does the file begin as one with objects does? */
bool gb_objects_are_in(const char *path, bool *objects, gb_status *status);
/* Reads the rest of a file of which nothing was read, or one line (gb_objects_begin); flags are
 * GB_OBJECTS_ bits. The lines must outlive the objects. */
gb_objects *gb_objects_open(gb_lines *lines, uint32_t flags, gb_status *status);
/* Says that the first line was read already, and is still valid. */
void gb_objects_begin(gb_objects *objects, char *line, size_t length);
/* 1: *object is a new reference, 0: end, -1: error in status. */
int gb_objects_next(gb_objects *objects, json_t **object, gb_status *status);
/* Name of the member that was given last, or NULL: it is none. Valid until the next call. */
const char *gb_objects_name(const gb_objects *objects);
void gb_objects_close(gb_objects *objects); /* NULL ok; the lines stay open */
/* First object of a file: *object is a new reference, or NULL where the file has none. False when
 * the file cannot be read, or its first object is damaged. */
bool gb_objects_first(const char *path, json_t **object, gb_status *status);

/* ---- members of an object ---- */

/* The string of a member, or "" if there is none. It lives as long as the object. */
const char *gb_json_text(const json_t *object, const char *key);
/* The member `key`, or `other` where there is none of that name; NULL: there is neither. */
json_t *gb_json_either(const json_t *object, const char *key, const char *other);
/* An id: a string, or a whole number as text in number[GB_JSON_NUMBER]; NULL: the value (or NULL)
 * is neither. */
#define GB_JSON_NUMBER 24 /* bytes that hold any whole number of JSON and its NUL */
const char *gb_json_id(const json_t *value, char number[GB_JSON_NUMBER]);

/* Read a member into *value, which stays as it is if the member is missing or null. A member of
 * another type fails with GB_DATA, naming the key and the file `path`. Strings live as long as the
 * object. */
bool gb_json_get_u32(const json_t *object, const char *key, const char *path, uint32_t *value,
                     gb_status *status);
bool gb_json_get_real(const json_t *object, const char *key, const char *path, double *value,
                      gb_status *status);
bool gb_json_get_bool(const json_t *object, const char *key, const char *path, bool *value,
                      gb_status *status);
bool gb_json_get_string(const json_t *object, const char *key, const char *path, const char **value,
                        gb_status *status);

/* ---- writing ---- */

/* Flags of json_dumps for files of results: equal values give equal bytes, and reals are read back
 * exactly. */
#define GB_JSON_FILE (JSON_SORT_KEYS | JSON_INDENT(1) | JSON_REAL_PRECISION(17))
/* Flags for descriptions of data, which people read: members keep the order in which they were
 * added. */
#define GB_JSON_DESCRIPTION (JSON_INDENT(2) | JSON_REAL_PRECISION(15) | GB_JSON_NEWLINE)
#define GB_JSON_NEWLINE     ((size_t)1 << 24) /* a line end behind the value */

/* Appends a value as text; format is GB_JSON_FILE or GB_JSON_DESCRIPTION. NULL means that the value
 * could not be built, so that callers need not check every step of building one. GB_MEMORY if
 * memory was missing; GB_DATA for what JSON cannot hold (a number that is not finite, text that is
 * not UTF-8). */
bool gb_json_print(const json_t *json, size_t format, gb_text *out, gb_status *status);
/* Writes a value without blanks as a line, and releases it; like gb_json_print, but that a full
 * disk is told by what commits the file. */
bool gb_json_write_line(json_t *json, FILE *out, gb_status *status);
/* Write a value to a file, or to folder/name, atomically; otherwise like gb_json_print. */
bool gb_json_save(const json_t *json, size_t format, const char *path, gb_status *status);
bool gb_json_save_in(const json_t *json, size_t format, const char *folder, const char *name,
                     gb_status *status);

#endif
