/* Texts from files: JSON lines, tab-separated queries, TREC topics. */
#include "topics.h"

#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>

static const char *string_field(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get(object, name);
    if (!value && other)
        value = json_object_get(object, other);
    return json_string_value(value);
}

/* Where the texts of a file go. */
typedef struct sink {
    const gb_lines *lines; /* the file */
    bool queries;          /* they are, not passages */
    gb_text_fn *each;      /* takes a text */
    void *ctx;             /* for each */
} sink;

/* Hand a text over; a failure without a place gets that of the line. */
static bool deliver(const sink *to, const char *id, const char *title, const char *text,
                    gb_status *status)
{
    gb_status own = {0};
    char where[300];
    if (!gb_lines_check_id(to->lines, id, to->queries, status))
        return false;
    if (to->each(to->ctx, id, title, text, &own))
        return true;
    snprintf(where, sizeof where, "%.250s:%llu", gb_lines_path(to->lines),
             (unsigned long long)gb_lines_number(to->lines));
    return gb_fail(status, own.code, own.where[0] ? own.where : where, own.hint, "%s", own.what);
}

/* One JSON line. */
static bool json_line(const sink *to, const char *line, size_t length, gb_status *status)
{
    const gb_lines *lines = to->lines;
    json_t *object = gb_json_line(lines, line, length, 0, status);
    if (!object)
        return false;
    char number[GB_JSON_NUMBER];
    const char *id = gb_json_id(gb_json_either(object, "_id", "id"), number);
    const char *title = string_field(object, "title", NULL);
    const char *text = string_field(object, "text", "contents");
    bool ok;
    if (!id || !text)
        ok = gb_lines_fail(lines, status, "lines are {\"_id\": ..., \"title\": ..., \"text\": ...}",
                           "no %s in the object", id ? "\"text\"" : "\"_id\"");
    else
        ok = deliver(to, id, title ? title : "", text, status);
    json_decref(object);
    return ok;
}

bool gb_read_jsonl(const char *path, gb_text_fn *each, void *ctx, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    const sink to = {lines, false, each, ctx};
    char *line;
    size_t length;
    int got;
    bool ok = true;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1)
        ok = length == 0 || json_line(&to, line, length, status);
    gb_lines_close(lines);
    return ok && got == 0;
}

/* A topic in the making. */
typedef struct topic {
    bool open;    /* between <DOC> and </DOC> */
    gb_text id;   /* of <DOCNO> */
    gb_text text; /* what follows it */
} topic;

static void append_id(gb_text *id, const char *bytes, const char *end)
{
    while (bytes < end && (*bytes == ' ' || *bytes == '\t'))
        bytes++;
    while (end > bytes && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    gb_text_append(id, bytes, (size_t)(end - bytes));
}

/* Behind what is blank. */
static const char *past_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* A line of a topic; all of it may stand in one. */
static bool topic_line(topic *t, const sink *to, const char *line, gb_status *status)
{
    const gb_lines *lines = to->lines;
    static const char form[] = "topics are <DOC> <DOCNO> 1 </DOCNO> text </DOC>";
    if (strncmp(line, "<DOC>", 5) == 0) {
        if (t->open)
            return gb_lines_fail(lines, status, NULL, "<DOC> inside a <DOC>");
        t->open = true;
        t->id.length = t->text.length = 0;
        line = past_blanks(line + 5);
        if (!*line)
            return true;
    }
    const char *docno = strstr(line, "<DOCNO>");
    if (docno) {
        const char *end = strstr(docno, "</DOCNO>");
        if (!t->open || !end || t->id.length)
            return gb_lines_fail(lines, status, form, "misplaced or unfinished <DOCNO>");
        append_id(&t->id, docno + 7, end);
        line = past_blanks(end + 8);
        if (!*line)
            return true;
    }
    const char *close = strstr(line, "</DOC>"), *end = close ? close : line + strlen(line);
    while (close && end > line && strchr(" \t", end[-1]))
        end--;
    if (!close || end > line) {
        if (!t->open && *past_blanks(line))
            return gb_lines_fail(lines, status, form, "text outside of a topic");
        if (t->text.length)
            gb_text_append(&t->text, "\n", 1);
        gb_text_append(&t->text, line, (size_t)(end - line));
    }
    if (!close)
        return true;
    if (!t->open || !t->id.length)
        return gb_lines_fail(lines, status, NULL, "</DOC> without <DOC> and <DOCNO>");
    if (*past_blanks(close + 6))
        return gb_lines_fail(lines, status, form, "text outside of a topic");
    t->open = false;
    if (t->id.failed || t->text.failed)
        return gb_fail_memory(status, "reading topics");
    return deliver(to, t->id.data, "", t->text.length ? t->text.data : "", status);
}

static bool tsv_line(const sink *to, char *line, gb_status *status)
{
    char *tab = strchr(line, '\t');
    if (!tab || tab == line)
        return gb_lines_fail(to->lines, status, "lines are \"qid<TAB>text\"",
                             "no tab behind an id");
    *tab = '\0';
    return deliver(to, line, "", tab + 1, status);
}

static bool top_line(topics_top *top, const sink *to, const char *line, gb_status *status)
{
    bool ended;
    return eval_topics_top_line(top, to->lines, line, &ended, status) &&
           (!ended || deliver(to, top->id.data, "", top->text.data, status));
}

/* What the first line with something in it says: '{', '[', "<D" as 'D', "<t" as 't', else a letter
 * of a line with tabs. */
static char kind_of(const char *line)
{
    line += strspn(line, " \t");
    return strncmp(line, "<top>", 5) == 0 ? 't'
           : *line == '<'                 ? 'D'
           : strchr("{[", *line)          ? *line
                                          : '\t';
}

bool gb_read_queries(const char *path, gb_text_fn *each, void *ctx, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    const sink to = {lines, true, each, ctx};
    topic t = {0};
    topics_top top = {0};
    gb_text whole = {0}; /* of a JSON array */
    char *line, kind = '\0';
    size_t length;
    int got;
    bool ok = true;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (!kind && line[strspn(line, " \t")])
            kind = kind_of(line);
        if (!gb_utf8_valid(line, length) || memchr(line, '\0', length))
            ok = gb_lines_fail(lines, status, "save the file as UTF-8", "invalid UTF-8");
        else if (kind == 't')
            ok = top_line(&top, &to, line, status);
        else if (kind == 'D')
            ok = topic_line(&t, &to, line, status);
        else if (kind == '[')
            gb_text_printf(&whole, "%s\n", line);
        else if (length && kind == '{')
            ok = json_line(&to, line, length, status);
        else if (length)
            ok = tsv_line(&to, line, status);
    }
    ok = ok && got == 0;
    if (ok && whole.failed)
        ok = gb_fail_memory(status, "reading topics");
    if (ok && kind == '[')
        ok = eval_topics_cast(lines, &whole, each, ctx, status);
    if (ok && (t.open || top.open))
        ok = gb_lines_fail(lines, status, NULL, "the file ends inside a topic");
    gb_lines_close(lines);
    gb_text_free(&t.id);
    gb_text_free(&t.text);
    gb_text_free(&whole);
    eval_topics_top_free(&top);
    return ok;
}

static bool add_topic(void *ctx, const char *id, const char *title, const char *text,
                      gb_status *status)
{
    gb_topics *topics = ctx;
    (void)title;
    uint32_t row, known = gb_names_count(topics->names);
    if (!gb_names_row(topics->names, id, strlen(id), &row, status))
        return false;
    if (row < known)
        return gb_fail(status, GB_DATA, NULL, NULL, "query \"%.80s\" comes twice", id);
    if (!gb_grow(&topics->starts, &topics->capacity, (size_t)row + 2, sizeof(size_t), status))
        return false;
    topics->starts[row] = topics->texts.length;
    gb_text_append(&topics->texts, text, strlen(text));
    topics->starts[row + 1] = topics->texts.length;
    return topics->texts.failed ? gb_fail_memory(status, "reading queries") : true;
}

bool gb_topics_read(const char *path, gb_topics *topics, gb_status *status)
{
    gb_topics fresh = {.names = gb_names_create(status)};
    if (!fresh.names)
        return false;
    if (!gb_read_queries(path, add_topic, &fresh, status)) {
        gb_topics_free(&fresh);
        return false;
    }
    if (gb_names_count(fresh.names) == 0) {
        gb_topics_free(&fresh);
        return gb_fail(status, GB_DATA, path, NULL, "no queries in the file");
    }
    *topics = fresh;
    return true;
}

const char *gb_topics_text(const void *ctx, uint32_t row, size_t *length)
{
    const gb_topics *topics = ctx;
    *length = topics->starts[row + 1] - topics->starts[row];
    return topics->texts.data ? topics->texts.data + topics->starts[row] : "";
}

void gb_topics_free(gb_topics *topics)
{
    if (!topics)
        return;
    gb_names_destroy(topics->names);
    gb_text_free(&topics->texts);
    free(topics->starts);
    *topics = (gb_topics){0};
}
