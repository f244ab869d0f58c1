/* Prompts for language models, and the queries in their answers. */
#include "gabbro/querygen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* A setting of the head that is a number. */
typedef struct number_key {
    const char *name; /* in the file */
    uint32_t *whole;  /* where it goes, or */
    double *real;     /* there */
} number_key;

static bool set_number(gb_prompt_template *t, const gb_lines *lines, const char *name,
                       const char *value, gb_status *status)
{
    const number_key keys[] = {
        {"queries", &t->queries, NULL},         {"top-k", &t->top_k, NULL},
        {"max-tokens", &t->max_tokens, NULL},   {"prompt-tokens", &t->prompt_tokens, NULL},
        {"temperature", NULL, &t->temperature}, {"top-p", NULL, &t->top_p}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(name, keys[i].name))
            continue;
        char *end;
        errno = 0;
        double number = strtod(value, &end);
        bool whole = number == (double)(uint32_t)(number >= 0 && number < 1e6 ? number : 0);
        if (end == value || *end || errno || !(number >= 0) || number > 1e6 ||
            (keys[i].whole && !whole))
            return gb_lines_fail(lines, status, NULL, "\"%.40s\" is no value for %s", value, name);
        if (keys[i].whole)
            *keys[i].whole = (uint32_t)number;
        else
            *keys[i].real = number;
        return true;
    }
    return gb_lines_fail(lines, status, "see prompts/README.md", "no setting is called \"%.40s\"",
                         name);
}

/* A line of the head, "name: value". */
static bool read_setting(gb_prompt_template *t, const gb_lines *lines, char *line,
                         gb_status *status)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return gb_lines_fail(lines, status, "the prompt begins behind a line \"---\"",
                             "the head of a prompt has \"name: value\" lines");
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    if (strcmp(line, "answer"))
        return set_number(t, lines, line, value, status);
    char rest;
    if (!strcmp(value, "query"))
        t->list = 0;
    else if (sscanf(value, "list %u%c", &t->list, &rest) != 1 || !t->list || t->list > 1000)
        return gb_lines_fail(lines, status, NULL, "answer is \"query\" or \"list N\"");
    return true;
}

static bool read_lines(gb_prompt_template *t, gb_lines *lines, gb_status *status)
{
    gb_text text = {0};
    char *line;
    size_t length;
    bool head = true, begun = false, ok = true;
    int got;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (!head) {
            gb_text_printf(&text, "%s%s", begun ? "\n" : "", line);
            begun = true;
        } else if (!strcmp(line, "---")) {
            head = false;
        } else if (length && *line != '#') {
            ok = read_setting(t, lines, line, status);
        }
    }
    ok = ok && got == 0;
    if (ok && text.failed)
        ok = gb_fail_memory(status, "reading a prompt");
    if (ok && (!text.length || (!strstr(text.data, "{passage}") && !strstr(text.data, "{text}"))))
        ok = gb_lines_fail(lines, status, "see prompts/README.md",
                           "the prompt has no {passage} and no {text}");
    t->text = ok ? text.data : NULL;
    if (!ok)
        gb_text_free(&text);
    return ok;
}

bool gb_prompt_template_read(const char *path, gb_prompt_template *t, gb_status *status)
{
    *t = GB_PROMPT_TEMPLATE_DEFAULTS;
    gb_lines *lines = gb_lines_open(path, status);
    bool ok = lines && read_lines(t, lines, status);
    gb_lines_close(lines);
    const char *slash = strrchr(path, '/');
    if (ok && !(t->name = gb_strdup(slash ? slash + 1 : path, status))) {
        gb_prompt_template_free(t);
        ok = false;
    }
    return ok;
}

void gb_prompt_template_free(gb_prompt_template *t)
{
    free(t->name);
    free(t->text);
    *t = (gb_prompt_template){0};
}

/* ---- filling ---- */

bool gb_prompt_template_ends_with_passage(const gb_prompt_template *t)
{
    static const char *const ends[] = {"{passage}", "{text}"};
    size_t length = strlen(t->text);
    for (int i = 0; i < 2; i++) {
        size_t size = strlen(ends[i]);
        const char *at = strstr(t->text, ends[i]);
        if (at && at + size == t->text + length)
            return true;
    }
    return false;
}

/* The first bytes of a text, up to a blank if there is one; all of it where it is no longer. */
static void append_cut(gb_text *out, const char *text, size_t length, size_t most)
{
    if (length > most) {
        length = most;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--; /* no half characters */
        size_t word = length;
        while (word > 0 && text[word] != ' ')
            word--;
        length = word ? word : length;
    }
    gb_text_append(out, text, length);
}

bool gb_prompt_template_fill(const gb_prompt_template *t, const gb_collection *collection,
                             uint32_t passage, size_t max_bytes, gb_text *out, gb_status *status)
{
    gb_text whole = {0};
    gb_collection_passage(collection, passage, &whole);
    const char *at = t->text, *brace;
    while ((brace = strchr(at, '{'))) {
        gb_text_append(out, at, (size_t)(brace - at));
        size_t length;
        if (!strncmp(brace, "{passage}", 9)) {
            append_cut(out, whole.data ? whole.data : "", whole.length, max_bytes);
            at = brace + 9;
        } else if (!strncmp(brace, "{text}", 6)) {
            const char *text = gb_row_file_row(collection->texts, passage, &length);
            append_cut(out, text, length, max_bytes);
            at = brace + 6;
        } else if (!strncmp(brace, "{title}", 7)) {
            const char *title = gb_row_file_row(collection->titles, passage, &length);
            gb_text_append(out, title, length);
            at = brace + 7;
        } else {
            gb_text_append(out, brace, 1);
            at = brace + 1;
        }
    }
    gb_text_append(out, at, strlen(at));
    bool ok = !(out->failed || whole.failed) || gb_fail_memory(status, "writing a prompt");
    gb_text_free(&whole);
    return ok;
}

/* ---- answers ---- */

/* A part of an answer. */
typedef struct piece {
    const char *at; /* its bytes */
    size_t length;  /* how many */
} piece;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static piece trimmed(piece p)
{
    while (p.length && is_space(*p.at)) {
        p.at++;
        p.length--;
    }
    while (p.length && is_space(p.at[p.length - 1]))
        p.length--;
    return p;
}

/* The length of "1. ", "(2) ", "3: ", "- " or "* " in front; 0: there is none. */
static size_t marker(piece p)
{
    size_t at = p.length && *p.at == '(', digits = at;
    if (p.length > 1 && (*p.at == '-' || *p.at == '*') && is_space(p.at[1]))
        return 2;
    while (at < p.length && p.at[at] >= '0' && p.at[at] <= '9')
        at++;
    if (at == digits || at == p.length || at > digits + 3)
        return 0;
    char sign = p.at[at++];
    bool apart = at == p.length || is_space(p.at[at]);
    return sign == ')' || ((sign == '.' || sign == ':') && apart) ? at : 0;
}

/* A query of a list: without its number and the quotation marks around it. */
static piece item(piece line)
{
    size_t skip = marker(line);
    piece p = trimmed((piece){line.at + skip, line.length - skip});
    if (p.length > 1 && *p.at == '"' && p.at[p.length - 1] == '"')
        p = trimmed((piece){p.at + 1, p.length - 2});
    return p;
}

static piece next_line(piece *rest)
{
    const char *end = memchr(rest->at, '\n', rest->length);
    size_t length = end ? (size_t)(end - rest->at) : rest->length;
    piece line = {rest->at, length};
    rest->at += length + (end != NULL);
    rest->length -= length + (end != NULL);
    return trimmed(line);
}

static uint32_t list_queries(piece answer, uint32_t most, gb_text *out)
{
    bool numbered = false;
    for (piece rest = answer; rest.length;)
        numbered |= marker(next_line(&rest)) > 0;
    uint32_t count = 0;
    for (piece rest = answer; rest.length && count < most;) {
        piece line = next_line(&rest);
        piece query = item(line);
        if (!query.length || (numbered && !marker(line)) ||
            gb_generated_row_has(out->data, out->length, query.at, query.length))
            continue;
        gb_text_append(out, query.at, query.length);
        gb_text_append(out, "\n", 1);
        count++;
    }
    return count;
}

uint32_t gb_answer_queries(const gb_prompt_template *t, const char *answer, size_t length,
                           gb_text *out)
{
    piece all = trimmed((piece){answer, length});
    if (t->list)
        return list_queries(all, t->list, out);
    for (size_t i = 0; i < all.length; i++)
        gb_text_append(out, is_space(all.at[i]) ? " " : all.at + i, 1);
    if (all.length)
        gb_text_append(out, "\n", 1);
    return all.length > 0;
}
