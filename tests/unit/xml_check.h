/* Is a text well-formed XML (or HTML as we write it), and does every id occur once? */
#ifndef GABBRO_TESTS_XML_CHECK_H
#define GABBRO_TESTS_XML_CHECK_H

#include <gabbro/base.h>

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

static inline bool xml_void(const char *name, size_t length)
{
    static const char *const names[] = {"meta", "br", "img", "input", "link", "hr"};
    for (size_t i = 0; i < 6; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], name, length))
            return true;
    return false;
}

/* An attribute list up to '>'; notes ids. Returns the '>' (or NULL). */
static inline const char *xml_attributes(const char *at, gb_map *ids)
{
    while (*at && *at != '>') {
        if (*at != '"') {
            cr_assert_neq(*at, '<');
            at++;
            continue;
        }
        const char *close = strchr(at + 1, '"');
        cr_assert_not_null(close);
        cr_assert(!memchr(at, '<', (size_t)(close - at)), "< in an attribute: %.60s", at);
        if (!strncmp(at - 4, " id=", 4)) {
            size_t length = (size_t)(close - at - 1);
            cr_assert_eq(gb_map_get(ids, at + 1, length), GB_MAP_NONE, "id twice: %.40s", at);
            cr_assert(gb_map_set(ids, at + 1, length, 1, NULL));
        }
        at = close + 1;
    }
    return *at ? at : NULL;
}

static inline void xml_entities(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at == '&')
            cr_assert(memchr(at, ';', (size_t)(end - at) < 8 ? (size_t)(end - at) : 8),
                      "bare &: %.20s", at);
}

/* `ids` collects the ids; owned by the caller. */
static inline void xml_check(const char *text, gb_map *ids)
{
    const char *open[64], *at = text;
    size_t lengths[64], depth = 0;
    while ((at = strchr(at, '<'))) {
        if (at[1] == '!' || at[1] == '?') {
            at = strchr(at, '>');
            cr_assert_not_null(at);
            continue;
        }
        bool closing = at[1] == '/';
        const char *name = at + 1 + closing;
        size_t length = strcspn(name, " \n/>");
        cr_assert(isalpha((unsigned char)*name), "no tag: %.30s", at);
        const char *end = xml_attributes(name + length, ids);
        cr_assert_not_null(end);
        if (closing) {
            cr_assert(depth && lengths[depth - 1] == length &&
                          !strncmp(open[depth - 1], name, length),
                      "</%.*s> closes nothing, near %.60s", (int)length, name, at);
            depth--;
        } else if (end[-1] != '/' && !xml_void(name, length)) {
            cr_assert(depth < 64);
            open[depth] = name;
            lengths[depth++] = length;
        }
        if (!closing && (!strncmp(name, "script", length) || !strncmp(name, "style", length)))
            at = strstr(end, "</");
        else
            at = end + 1;
        const char *next = at ? strchr(at, '<') : NULL;
        xml_entities(at, next ? next : at + strlen(at));
    }
    cr_assert_eq(depth, 0, "not closed: %.20s", depth ? open[depth - 1] : "");
}

static inline void xml_check_alone(const char *text)
{
    gb_map *ids = gb_map_create(NULL);
    xml_check(text, ids);
    gb_map_destroy(ids);
}

#endif
