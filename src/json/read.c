/* Reading JSON. */
#include "gabbro/json.h"

#include <stdlib.h>
#include <string.h>

static const char file_hint[] = "the file is damaged; fetch or make it again";
static const char line_hint[] = "each line must be one JSON object in UTF-8";

/* What is wrong with a text. */
typedef struct fault {
    const char *what; /* NULL: there was no memory */
    int line;         /* of the text, from 1 */
    json_error_t error;
} fault;

static json_t *parse(const char *text, size_t length, uint32_t flags, fault *f)
{
    *f = (fault){.line = 1};
    if (length > GB_JSON_MAX_BYTES) {
        f->what = "too long a value";
        return NULL;
    }
    json_t *json = json_loadb(
        text, length,
        JSON_REJECT_DUPLICATES | (flags & GB_JSON_REALS ? JSON_DECODE_INT_AS_REAL : 0), &f->error);
    if (!json) {
        f->line = f->error.line;
        f->what = json_error_code(&f->error) == json_error_out_of_memory ? NULL : f->error.text;
    } else if (!(flags & GB_JSON_ANY) && !json_is_object(json)) {
        f->what = "not a JSON object";
        json_decref(json);
        json = NULL;
    }
    return json;
}

json_t *gb_json_parse(const char *text, size_t length, uint32_t flags, const char *where,
                      gb_status *status)
{
    fault f;
    json_t *json = parse(text, length, flags, &f);
    char place[300];
    snprintf(place, sizeof place, "%.280s:%d", where, f.line);
    if (!json && f.what)
        gb_fail(status, GB_DATA, place, file_hint, "not valid JSON: %.160s", f.what);
    else if (!json)
        gb_fail_memory(status, "reading JSON");
    return json;
}

json_t *gb_json_load(const char *path, uint32_t flags, gb_status *status)
{
    size_t length;
    char *text = gb_read_file(path, &length, status);
    json_t *json = text ? gb_json_parse(text, length, flags, path, status) : NULL;
    free(text);
    return json;
}

json_t *gb_json_load_in(const char *folder, const char *name, uint32_t flags, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    json_t *json = path ? gb_json_load(path, flags, status) : NULL;
    free(path);
    return json;
}

json_t *gb_json_line(const gb_lines *lines, const char *text, size_t length, uint32_t flags,
                     gb_status *status)
{
    fault f;
    json_t *json = gb_utf8_valid(text, length) ? parse(text, length, flags, &f) : NULL;
    if (!json && !gb_utf8_valid(text, length))
        gb_lines_fail(lines, status, line_hint, "invalid UTF-8");
    else if (!json && f.what)
        gb_lines_fail(lines, status, line_hint, "not valid JSON: %.160s", f.what);
    else if (!json)
        gb_fail_memory(status, "reading JSON");
    return json;
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
    *object = NULL;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1 && is_blank(line, length))
        ;
    if (got == 1)
        *object = gb_json_line(lines, line, length, 0, status);
    return got == 1 && !*object ? -1 : got;
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
