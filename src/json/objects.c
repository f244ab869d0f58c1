/* JSON objects of a file: one a line, elements of one array over any lines, or members of one
 * object. */
#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>

struct gb_objects {
    gb_lines *lines; /* the file; the caller's */
    bool named;      /* members of one object may be what is wanted */
    enum { UNKNOWN, LINES, ARRAY, MEMBERS } layout;
    bool pending;      /* of LINES, the first one was read and not yet given */
    bool begun, ended; /* of the others, the first character and the last one were met */
    char *at;          /* what is left of the line */
    char *end;         /* behind the line */
    gb_text text;      /* the object being collected */
    gb_text name;      /* of a member, as a JSON array of one string */
    json_t *key;       /* the same, read */
};

static const char array_hint[] = "the file is a JSON array of objects, or has one object a line";

/* First character of a file that is no white space; '\0' of an empty one. */
static bool first_character(const char *path, char *first, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    char *line;
    size_t length;
    int got;
    *first = '\0';
    while (!*first && (got = gb_lines_next(lines, &line, &length, status)) == 1)
        *first = line[strspn(line, " \t\r")];
    gb_lines_close(lines);
    return *first || got == 0;
}

bool gb_objects_are_in(const char *path, bool *objects, gb_status *status)
{
    char first;
    if (!first_character(path, &first, status))
        return false;
    *objects = first == '{' || first == '[';
    return true;
}

gb_objects *gb_objects_open(gb_lines *lines, uint32_t flags, gb_status *status)
{
    gb_objects *objects = gb_alloc(1, sizeof *objects, status);
    if (objects) {
        objects->lines = lines;
        objects->named = flags & GB_OBJECTS_NAMED;
    }
    return objects;
}

void gb_objects_begin(gb_objects *objects, char *line, size_t length)
{
    objects->at = line;
    objects->end = line + length;
}

/* The next character that is no white space stays at objects->at. 1, 0 at the end of the file. */
static int skip_space(gb_objects *o, gb_status *status)
{
    for (;;) {
        while (o->at && o->at < o->end && strchr(" \t\r", *o->at))
            o->at++;
        if (o->at && o->at < o->end)
            return 1;
        size_t length;
        int got = gb_lines_next(o->lines, &o->at, &length, status);
        if (got != 1) {
            o->at = NULL;
            return got;
        }
        o->end = o->at + length;
    }
}

/* Behind the string that begins at `at`, or `end`. */
static const char *behind_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

/* A line that begins {"name": {, or that is cut off before it can be told, begins members. */
static bool begins_members(const gb_objects *o)
{
    static const char order[] = "\":{";
    const char *at = o->at + 1;
    for (size_t i = 0; i < 3; i++) {
        while (at < o->end && strchr(" \t\r", *at))
            at++;
        if (at == o->end)
            return true;
        if (*at != order[i])
            return false;
        at = i ? at + 1 : behind_string(at, o->end);
    }
    return true;
}

/* Settles the layout by what comes first. 1, 0 of an empty file, -1. */
static int settle(gb_objects *o, gb_status *status)
{
    int got = skip_space(o, status);
    if (got != 1)
        return got;
    if (*o->at == '[')
        o->layout = ARRAY;
    else if (o->named && *o->at == '{' && begins_members(o))
        o->layout = MEMBERS;
    else
        o->layout = LINES;
    o->pending = o->layout == LINES;
    return 1;
}

/* Collect from '{' to its '}' into o->text; 1, or -1 with status. */
static int collect(gb_objects *o, gb_status *status)
{
    int depth = 0;
    bool string = false, escaped = false;
    o->text.length = 0;
    for (;;) {
        char *start = o->at;
        while (o->at < o->end) {
            char c = *o->at++;
            if (string) {
                string = escaped || c != '"';
                escaped = !escaped && c == '\\';
                continue;
            }
            string = c == '"';
            depth += (c == '{') - (c == '}');
            if (depth == 0) {
                gb_text_append(&o->text, start, (size_t)(o->at - start));
                return o->text.failed ? (gb_fail_memory(status, "reading JSON"), -1) : 1;
            }
        }
        gb_text_append(&o->text, start, (size_t)(o->end - start));
        gb_text_append(&o->text, "\n", 1);
        size_t length;
        int got = gb_lines_next(o->lines, &o->at, &length, status);
        if (got == 0)
            gb_lines_fail(o->lines, status, array_hint, "the file ends inside an object");
        if (got != 1)
            return -1;
        o->end = o->at + length;
    }
}

static int parse(gb_objects *o, uint64_t line, json_t **object, gb_status *status)
{
    char where[300];
    snprintf(where, sizeof where, "%.250s, object of line %llu", gb_lines_path(o->lines),
             (unsigned long long)line);
    *object = gb_json_parse(o->text.data, o->text.length, 0, where, status);
    return *object ? 1 : -1;
}

/* The name of a member up to its colon. */
static bool read_name(gb_objects *o, gb_status *status)
{
    const char *end = behind_string(o->at, o->end);
    o->name.length = 0;
    gb_text_append(&o->name, "[", 1);
    gb_text_append(&o->name, o->at, (size_t)(end - o->at));
    gb_text_append(&o->name, "]", 1);
    if (o->name.failed)
        return gb_fail_memory(status, "reading JSON");
    o->at += end - o->at;
    json_decref(o->key);
    if (!(o->key = gb_json_line(o->lines, o->name.data, o->name.length, GB_JSON_ANY, status)))
        return false;
    if (skip_space(o, status) != 1 || *o->at != ':')
        return gb_lines_fail(o->lines, status, NULL, "no colon behind the name of a member");
    o->at++;
    if (skip_space(o, status) != 1 || *o->at != '{')
        return gb_lines_fail(o->lines, status, NULL, "the member \"%.80s\" is no object",
                             gb_objects_name(o));
    return true;
}

static int next_element(gb_objects *o, json_t **object, gb_status *status)
{
    const bool members = o->layout == MEMBERS;
    const char *whole = members ? "object" : "array", opens = members ? '{' : '[',
               closes = members ? '}' : ']', starts = members ? '"' : '{';
    for (;;) {
        int got = skip_space(o, status);
        if (got == 0 && !o->ended) {
            gb_lines_fail(o->lines, status, array_hint, "the %s is not closed: the file is cut",
                          whole);
            return -1;
        }
        if (got != 1)
            return got;
        if (o->ended) { /* such as another array: it must not be lost */
            gb_lines_fail(o->lines, status, array_hint, "\"%c\" behind the end of the %s", *o->at,
                          whole);
            return -1;
        }
        if (*o->at == starts && o->begun) {
            uint64_t line = gb_lines_number(o->lines);
            bool ok = (!members || read_name(o, status)) && collect(o, status) == 1;
            return ok ? parse(o, line, object, status) : -1;
        }
        if (*o->at == closes && o->begun)
            o->ended = true;
        else if (*o->at == opens && !o->begun)
            o->begun = true;
        else if (*o->at != ',' || !o->begun) {
            gb_lines_fail(o->lines, status, array_hint, "\"%c\" between the objects of an %s",
                          *o->at, whole);
            return -1;
        }
        o->at++;
    }
}

int gb_objects_next(gb_objects *o, json_t **object, gb_status *status)
{
    *object = NULL;
    int got = o->layout == UNKNOWN ? settle(o, status) : 1;
    if (got != 1)
        return got;
    if (o->layout != LINES)
        return next_element(o, object, status);
    if (!o->pending)
        return gb_jsonl_next(o->lines, object, status);
    o->pending = false;
    *object = gb_json_line(o->lines, o->at, (size_t)(o->end - o->at), 0, status);
    return *object ? 1 : -1;
}

const char *gb_objects_name(const gb_objects *objects)
{
    return json_string_value(json_array_get(objects->key, 0));
}

void gb_objects_close(gb_objects *objects)
{
    if (!objects)
        return;
    gb_text_free(&objects->text);
    gb_text_free(&objects->name);
    json_decref(objects->key);
    free(objects);
}

bool gb_objects_first(const char *path, json_t **object, gb_status *status)
{
    *object = NULL;
    gb_lines *lines = gb_lines_open(path, status);
    gb_objects *objects = lines ? gb_objects_open(lines, 0, status) : NULL;
    int got = objects ? gb_objects_next(objects, object, status) : -1;
    if (got != 1)
        *object = NULL;
    gb_objects_close(objects);
    gb_lines_close(lines);
    return got >= 0;
}
