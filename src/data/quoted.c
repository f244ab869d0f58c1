/* Tab-separated values with quotes, as DPR's files have them, and lists as Python writes them. */
#include "data/training.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 100 }; /* of a quoted field: more is a quote that was never closed */

/* Quotes of a record are open at its end. */
static bool open_quote(const char *record, size_t length)
{
    bool field = true, quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = record[i];
        if (quoted && c == '"' && i + 1 < length && record[i + 1] == '"')
            i++;
        else if (quoted)
            quoted = c != '"';
        else
            quoted = field && c == '"';
        field = !quoted && c == '\t';
    }
    return quoted;
}

/* Take the quotes out of a field that begins at *at, in place; *at moves behind it. */
static char *take_field(char **at)
{
    char *field = *at, *to = field, *from = field;
    bool quoted = *from == '"';
    from += quoted;
    while (*from && (quoted || *from != '\t')) {
        if (quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (quoted && *from == '"') {
            quoted = false;
            from++;
            continue;
        }
        *to++ = *from++;
    }
    *at = *from ? from + 1 : NULL;
    *to = '\0';
    return field;
}

int data_quoted_next(gb_lines *lines, gb_text *room, char **fields, int most, gb_status *status)
{
    char *line;
    size_t length;
    int got;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1 && length == 0)
        ;
    if (got != 1)
        return got;
    uint64_t first = gb_lines_number(lines);
    room->length = 0;
    gb_text_append(room, line, length);
    while (!room->failed && open_quote(room->data, room->length)) {
        got = gb_lines_number(lines) - first < MOST_LINES
                  ? gb_lines_next(lines, &line, &length, status)
                  : 0;
        if (got == 0)
            gb_lines_fail(
                lines, status, "fields that hold quotes are quoted, and \"\" is one quote",
                "a quoted field that begins in line %llu is not closed", (unsigned long long)first);
        if (got != 1)
            return -1;
        gb_text_append(room, "\n", 1);
        gb_text_append(room, line, length);
    }
    if (room->failed) {
        gb_fail_memory(status, "reading a table");
        return -1;
    }
    if (!gb_utf8_valid(room->data, room->length) || memchr(room->data, '\0', room->length)) {
        gb_lines_fail(lines, status, "save the file as UTF-8", "invalid UTF-8");
        return -1;
    }
    int count = 0;
    for (char *at = room->data; at && count < most;)
        fields[count++] = take_field(&at);
    return count;
}

/* ---- Python's lists ---- */

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else {
        if (c >= 0x10000)
            *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(c < 0x10000 ? 0xe0 | c >> 12 : 0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* The escape at `from` (behind the backslash); NULL where it is none that is known. A backslash
 * that escapes nothing stays, as it does in Python: regular expressions have them. */
static char *take_escape(char *from, char **to)
{
    static const char names[] = "\\'\"ntrabfv", values[] = "\\'\"\n\t\r\a\b\f\v";
    const char *known = *from ? strchr(names, *from) : NULL;
    if (known) {
        *(*to)++ = values[known - names];
        return from + 1;
    }
    if (*from && !strchr("xuUN01234567\n", *from)) {
        *(*to)++ = '\\';
        return from;
    }
    int digits = *from == 'x' ? 2 : *from == 'u' ? 4 : *from == 'U' ? 8 : 0;
    char hex[9] = "", *end;
    if (!digits || strspn(from + 1, "0123456789abcdefABCDEF") < (size_t)digits)
        return NULL;
    memcpy(hex, from + 1, (size_t)digits);
    uint32_t c = (uint32_t)strtoul(hex, &end, 16);
    if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return NULL;
    *to = put_utf8(*to, c);
    return from + 1 + digits;
}

int data_python_strings(char *text, const char **strings, int most)
{
    static const char space[] = " \t\r\n";
    int count = 0;
    char *at = text + strspn(text, space);
    if (*at++ != '[')
        return -1;
    for (bool first = true;; first = false) {
        at += strspn(at, space);
        if (*at == ']' && at[1 + strspn(at + 1, space)] == '\0')
            return count;
        if (!first && *at == ',')
            at += 1 + strspn(at + 1, space);
        else if (!first)
            return -1;
        if (*at == ']') /* behind a last comma */
            continue;
        char quote = *at, *to = at;
        if (quote != '\'' && quote != '"')
            return -1;
        const char *start = to;
        at++;
        while (at && *at && *at != quote) {
            if (*at == '\\')
                at = take_escape(at + 1, &to);
            else
                *to++ = *at++;
        }
        if (!at || !*at || count == most)
            return -1;
        at++;
        *to = '\0';
        strings[count++] = start;
    }
}
