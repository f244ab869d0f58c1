#include "topics.h"

#include <string.h>

static const char hint[] = "topics are <top> <num> Number: 301 <title> words </top>";

/* What a field holds on its own line, without a label such as "Number:". */
static const char *content(const char *line, const char *tag, const char *label)
{
    const char *at = line + strlen(tag);
    at += strspn(at, " \t");
    if (!strncmp(at, label, strlen(label)))
        at += strlen(label);
    return at + strspn(at, " \t");
}

static void append_trimmed(gb_text *to, const char *text)
{
    size_t length = strcspn(text, "<");
    while (length && strchr(" \t\r", text[length - 1]))
        length--;
    if (length && to->length)
        gb_text_append(to, " ", 1);
    gb_text_append(to, text, length);
}

bool eval_topics_top_line(topics_top *top, const gb_lines *lines, const char *line, bool *ended,
                          gb_status *status)
{
    line += strspn(line, " \t");
    *ended = false;
    if (!strncmp(line, "<top>", 5)) {
        if (top->open)
            return gb_lines_fail(lines, status, hint, "<top> inside a <top>");
        *top = (topics_top){.open = true, .id = top->id, .text = top->text};
        top->id.length = top->text.length = 0;
        return true;
    }
    if (!top->open)
        return !*line || gb_lines_fail(lines, status, hint, "text outside of a topic");
    if (!strncmp(line, "</top>", 6)) {
        if (!top->id.length || !top->text.length)
            return gb_lines_fail(lines, status, hint, "a topic without <num> or <title>");
        top->open = top->title = false;
        *ended = true;
        return !top->id.failed && !top->text.failed ? true
                                                    : gb_fail_memory(status, "reading topics");
    }
    if (!strncmp(line, "<num>", 5)) {
        append_trimmed(&top->id, content(line, "<num>", "Number:"));
    } else if (!strncmp(line, "<title>", 7)) {
        append_trimmed(&top->text, content(line, "<title>", "Topic:"));
        top->title = !strstr(line, "</title>");
    } else if (*line == '<') {
        top->title = false;
    } else if (top->title) {
        append_trimmed(&top->text, line);
    }
    return true;
}

void eval_topics_top_free(topics_top *top)
{
    gb_text_free(&top->id);
    gb_text_free(&top->text);
}
