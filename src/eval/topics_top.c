#include "topics.h"

#include <string.h>

static const char hint[] = "topics are <top> <num> Number: 301 <title> words </top>";

enum { NOTHING, ID, TITLE }; /* fields */

/* Tags that may stand anywhere in a line; another one only at its beginning. */
static const struct {
    const char *name;  /* as it is written */
    const char *label; /* that may follow it, and is none of the field's words */
    int field;         /* that it begins */
} tags[] = {{"<top>", "", NOTHING},  {"</top>", "", NOTHING},      {"<num>", "Number:", ID},
            {"</num>", "", NOTHING}, {"<title>", "Topic:", TITLE}, {"</title>", "", NOTHING},
            {"<desc>", "", NOTHING}, {"<narr>", "", NOTHING}};
enum { TAGS = sizeof tags / sizeof *tags, TOP = 0, TOP_END = 1 };

/* The tag that stands there, or TAGS. */
static size_t tag_at(const char *text)
{
    size_t tag = 0;
    while (tag < TAGS && strncmp(text, tags[tag].name, strlen(tags[tag].name)) != 0)
        tag++;
    return tag;
}

static void append_trimmed(gb_text *to, const char *text, size_t length)
{
    while (length && strchr(" \t\r", text[length - 1]))
        length--;
    if (length && to->length)
        gb_text_append(to, " ", 1);
    gb_text_append(to, text, length);
}

/* A stretch of a line without tags. */
static bool take_words(topics_top *top, const gb_lines *lines, const char *text, size_t length,
                       gb_status *status)
{
    size_t blank = strspn(text, " \t\r");
    if (blank >= length)
        return true;
    if (!top->open)
        return gb_lines_fail(lines, status, hint, "text outside of a topic");
    if (top->field)
        append_trimmed(top->field == ID ? &top->id : &top->text, text + blank, length - blank);
    return true;
}

static bool take_tag(topics_top *top, const gb_lines *lines, size_t tag, bool *ended,
                     gb_status *status)
{
    if (tag == TOP) {
        if (top->open)
            return gb_lines_fail(lines, status, hint, "<top> inside a <top>");
        top->open = true;
        top->id.length = top->text.length = 0;
    } else if (!top->open) {
        return gb_lines_fail(lines, status, hint, "text outside of a topic");
    } else if (tag == TOP_END) {
        if (!top->id.length || !top->text.length)
            return gb_lines_fail(lines, status, hint, "a topic without <num> or <title>");
        top->open = false;
        *ended = true;
    }
    top->field = tags[tag].field;
    return !top->id.failed && !top->text.failed ? true : gb_fail_memory(status, "reading topics");
}

bool eval_topics_top_line(topics_top *top, const gb_lines *lines, const char *line, bool *ended,
                          gb_status *status)
{
    line += strspn(line, " \t");
    *ended = false;
    if (*line == '<' && tag_at(line) == TAGS && top->open) {
        top->field = NOTHING;
        return true;
    }
    while (*line) {
        size_t length = 0, tag = TAGS;
        while (line[length] && (tag = tag_at(line + length)) == TAGS)
            length++;
        if (!take_words(top, lines, line, length, status))
            return false;
        line += length;
        if (!*line)
            break;
        if (*ended)
            return gb_lines_fail(lines, status, "begin it on a line of its own",
                                 "a tag behind </top>");
        if (!take_tag(top, lines, tag, ended, status))
            return false;
        line += strlen(tags[tag].name);
        line += strspn(line, " \t");
        line +=
            strncmp(line, tags[tag].label, strlen(tags[tag].label)) ? 0 : strlen(tags[tag].label);
    }
    if (top->field == ID) /* which ends with its line */
        top->field = NOTHING;
    return true;
}

void eval_topics_top_free(topics_top *top)
{
    gb_text_free(&top->id);
    gb_text_free(&top->text);
}
