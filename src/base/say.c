/* What a process says on stderr, as JSON lines. The form is the process's own, like its verbosity.
 */
#include "gabbro/base.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int say_form = GB_SAY_TEXT;

void gb_say_set_form(gb_say_form form)
{
    atomic_store(&say_form, (int)form);
}

gb_say_form gb_say_get_form(void)
{
    return (gb_say_form)atomic_load(&say_form);
}

static void put(char *line, size_t size, size_t *length, const char *bytes, size_t count)
{
    if (*length + count < size) {
        memcpy(line + *length, bytes, count);
        *length += count;
    }
}

/* A string of JSON. What is no UTF-8 becomes U+FFFD. */
static void put_text(char *line, size_t size, size_t *length, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    put(line, size, length, "\"", 1);
    while (*at) {
        size_t bytes = gb_utf8_step(at, 4); /* the NUL at the end ends a character, too */
        char escaped[8];
        if (*at == '"' || *at == '\\')
            put(line, size, length, *at == '"' ? "\\\"" : "\\\\", 2);
        else if (*at < ' ' || *at == 0x7f) {
            snprintf(escaped, sizeof escaped, "\\u%04x", *at);
            put(line, size, length, escaped, 6);
        } else if (bytes)
            put(line, size, length, (const char *)at, bytes);
        else
            put(line, size, length, "\xef\xbf\xbd", 3);
        at += bytes ? bytes : 1;
    }
    put(line, size, length, "\"", 1);
}

void gb_say_event(const char *event, const gb_say_member *members, size_t count)
{
    enum {
        LINE = 16384,
        END = 4
    }; /* texts are bounded: messages have at most 2,048 bytes, of 6 each */
    char line[LINE], number[40];
    size_t length = 0, room = LINE - END;
    put(line, room, &length, "{\"event\": ", 10);
    put_text(line, room, &length, event);
    for (size_t i = 0; i < count; i++) {
        const gb_say_member *m = &members[i];
        if (m->text && !*m->text)
            continue;
        put(line, room, &length, ", ", 2);
        put_text(line, room, &length, m->name);
        put(line, room, &length, ": ", 2);
        if (m->text) {
            put_text(line, room, &length, m->text);
            continue;
        }
        snprintf(number, sizeof number, isfinite(m->number) ? "%.10g" : "null", m->number);
        put(line, room, &length, number, strlen(number));
    }
    memcpy(line + length, "}\n", 2);
    fwrite(line, 1, length + 2, stderr); /* one call, so that lines of threads do not mix */
    fflush(stderr);
}

void gb_say_line(const char *fmt, ...)
{
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    const gb_say_member members[] = {{"level", "info", 0}, {"text", line, 0}};
    if (say_form == GB_SAY_JSON)
        gb_say_event("message", members, 2);
    else
        fprintf(stderr, "%s\n", line);
}
