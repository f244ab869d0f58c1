/* Failure messages. */
#include "gabbro/base.h"

#include <string.h>
#include <unistd.h>

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

bool gb_fail(gb_status *status, gb_code code, const char *where, const char *hint, const char *fmt,
             ...)
{
    if (!status)
        return false;
    /* The arguments may point into the status itself (a message wrapped in another). */
    gb_status next = {.code = code};
    va_list args;
    va_start(args, fmt);
    vsnprintf(next.what, sizeof next.what, fmt, args);
    va_end(args);
    copy_text(next.where, sizeof next.where, where);
    copy_text(next.hint, sizeof next.hint, hint);
    *status = next;
    return false;
}

bool gb_fail_memory(gb_status *status, const char *what)
{
    return gb_fail(status, GB_MEMORY, NULL, "use a smaller input or a machine with more memory",
                   "out of memory: %s", what);
}

/* Appends a text to a line. A message quotes what input said: control bytes must not break the line
 * or the terminal. */
static void add_clean(char *line, size_t size, const char *text)
{
    for (size_t at = strlen(line); *text && at + 1 < size; text++, line[at] = '\0')
        line[at++] = (char)((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

void gb_status_print(const gb_status *status)
{
    if (gb_say_get_form() == GB_SAY_JSON) {
        const gb_say_member members[] = {{"code", NULL, status->code},
                                         {"what", status->what, 0},
                                         {"where", status->where, 0},
                                         {"hint", status->hint, 0}};
        gb_say_event("failure", members, 4);
        return;
    }
    /* Written by one call, so that lines of threads do not mix. */
    char line[sizeof *status + 40] = "";
    add_clean(line, sizeof line, status->where);
    add_clean(line, sizeof line, status->where[0] ? ": " : "");
    add_clean(line, sizeof line, status->what);
    add_clean(line, sizeof line, status->hint[0] ? " (" : "");
    add_clean(line, sizeof line, status->hint);
    add_clean(line, sizeof line, status->hint[0] ? ")" : "");
    fprintf(stderr, "%sgabbro: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
            line); /* over a progress line */
}
