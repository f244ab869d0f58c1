/* Words and lines: cutting, finding, patterns. */
#include "gabbro/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *gb_take_field(char **rest, const char *separators)
{
    char *part = *rest;
    if (!part)
        return NULL;
    char *end = part + strcspn(part, separators);
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return part;
}

const char *gb_find_bytes(const char *in, size_t length, const char *bytes, size_t size)
{
    const char *end = in + length;
    if (!size)
        return in;
    while (size <= (size_t)(end - in)) {
        in = memchr(in, bytes[0], (size_t)(end - in) - size + 1);
        if (!in || !memcmp(in, bytes, size))
            return in;
        in++;
    }
    return NULL;
}

const char *gb_id_fault(const char *id, bool is_query)
{
    return !*id                     ? "is empty"
           : strpbrk(id, GB_BLANKS) ? "has a blank or a tab"
           : is_query && *id == '#' ? "begins with #, where a comment begins in a run"
                                    : NULL;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool gb_contains_word(const char *text, const char *word)
{
    for (;; text++) {
        size_t i = 0;
        while (word[i] && lower(text[i]) == lower(word[i]))
            i++;
        if (!word[i])
            return true;
        if (!*text)
            return false;
    }
}

/* Whether a set such as [a-z] or [!0-9] has a byte; *end: behind the set, NULL: it is none. */
static bool set_has(const char *set, unsigned char byte, const char **end)
{
    const unsigned char *at = (const unsigned char *)set + 1;
    bool inverted = *at == '!' || *at == '^', found = false;
    at += inverted;
    *end = NULL;
    for (bool first = true; *at && (*at != ']' || first); first = false) {
        unsigned char low = *at++, high = low;
        if (*at == '-' && at[1] && at[1] != ']') {
            high = at[1];
            at += 2;
        }
        found = found || (byte >= low && byte <= high);
    }
    if (*at)
        *end = (const char *)at + 1;
    return found != inverted;
}

bool gb_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *star_text = NULL; /* where a longer star is tried */
    while (*text) {
        const char *next = pattern + 1, *behind;
        bool one = false;
        if (*pattern == '*') {
            star = next;
            star_text = text;
            pattern = next;
            continue;
        }
        if (*pattern == '[') {
            one = set_has(pattern, (unsigned char)*text, &behind);
            if (behind)
                next = behind;
            else
                one = *text == '[';
        } else if (*pattern == '\\' && pattern[1]) {
            one = pattern[1] == *text;
            next = pattern + 2;
        } else {
            one = *pattern == *text || *pattern == '?';
        }
        if (one && *pattern) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

int64_t gb_read_line(FILE *file, char **line, size_t *space)
{
    size_t length = 0;
    for (int c = 0; c != '\n';) {
        if (!gb_grow(line, space, length + 2, 1, NULL)) {
            errno = ENOMEM;
            return -1;
        }
        if ((c = getc(file)) == EOF) {
            if (length == 0 || ferror(file))
                return -1;
            break;
        }
        (*line)[length++] = (char)c;
    }
    (*line)[length] = '\0';
    return (int64_t)length;
}
