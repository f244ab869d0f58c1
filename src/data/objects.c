/* JSON objects of a file: one a line, or elements of one array over any lines. */
#include "data/training.h"

#include <stdlib.h>
#include <string.h>

struct gb_objects {
    gb_lines *lines; /* the file; the caller's */
    bool array;      /* elements of an array, else a line each */
    bool begun;      /* '[' was met */
    bool ended;      /* ']' was met */
    char *at;        /* what is left of the line */
    char *end;       /* behind the line */
    gb_text text;    /* the object being collected */
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

bool data_objects_are_in(const char *path, bool *objects, gb_status *status)
{
    char first;
    if (!first_character(path, &first, status))
        return false;
    *objects = first == '{' || first == '[';
    return true;
}

gb_objects *data_objects_open(gb_lines *lines, const char *path, gb_status *status)
{
    char first;
    gb_objects *objects =
        first_character(path, &first, status) ? gb_alloc(1, sizeof *objects, status) : NULL;
    if (objects) {
        objects->lines = lines;
        objects->array = first == '[';
    }
    return objects;
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

static int next_element(gb_objects *o, json_t **object, gb_status *status)
{
    for (;;) {
        int got = o->ended ? 0 : skip_space(o, status);
        if (got == 0 && !o->ended) {
            gb_lines_fail(o->lines, status, array_hint, "the array is not closed: the file is cut");
            return -1;
        }
        if (got != 1)
            return got;
        if (*o->at == '{' && o->begun) {
            uint64_t line = gb_lines_number(o->lines);
            return collect(o, status) == 1 ? parse(o, line, object, status) : -1;
        }
        if (*o->at == ']' && o->begun)
            o->ended = true;
        else if (*o->at == '[' && !o->begun)
            o->begun = true;
        else if (*o->at != ',' || !o->begun) {
            gb_lines_fail(o->lines, status, array_hint, "\"%c\" between the objects of an array",
                          *o->at);
            return -1;
        }
        o->at++;
    }
}

int data_objects_next(gb_objects *objects, json_t **object, gb_status *status)
{
    return objects->array ? next_element(objects, object, status)
                          : gb_jsonl_next(objects->lines, object, status);
}

void data_objects_close(gb_objects *objects)
{
    if (!objects)
        return;
    gb_text_free(&objects->text);
    free(objects);
}

bool data_objects_first(const char *path, json_t **object, gb_status *status)
{
    *object = NULL;
    gb_lines *lines = gb_lines_open(path, status);
    gb_objects *objects = lines ? data_objects_open(lines, path, status) : NULL;
    int got = objects ? data_objects_next(objects, object, status) : -1;
    if (got != 1)
        *object = NULL;
    data_objects_close(objects);
    gb_lines_close(lines);
    return got >= 0;
}
