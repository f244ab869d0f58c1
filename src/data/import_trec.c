/* TREC's documents: <DOC> <DOCNO> id </DOCNO> ... </DOC>, in a file or all files *.trec of a
 * folder. The title is what lies in <TITLE>, <HEADLINE>, <TTL>, <HL> or <H3>, the text what lies in
 * the other elements, tags taken out; elements that only describe the document are left out. Names
 * in small letters are the same where <doc> is in small letters. MS MARCO's have address, title and
 * text as the lines of <TEXT>, which are no SGML: only there "&amp;" stays. Queries and judgements
 * lie beside them as MS MARCO's do. */
#include "data/import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char hint[] = "documents are <DOC> <DOCNO> id </DOCNO> <TEXT> ... </TEXT> </DOC>";

/* What an element holds. */
typedef enum part { PART_TEXT, PART_ID, PART_TITLE, PART_NOTHING } part;

/* A document being read. */
typedef struct document {
    gb_import *import;   /* where it goes */
    gb_lines *lines;     /* what is read */
    bool open;           /* behind its <DOC> */
    bool small;          /* which is <doc> */
    char element[16];    /* the innermost one that says what it holds, "": none */
    char outer[16];      /* the one around it that did not, such as <HEADER>, "": none */
    part part;           /* what the innermost holds */
    uint32_t text_lines; /* of <TEXT> so far */
    bool address;        /* the first of them was one: the next is the title, which may be empty */
    uint64_t last;       /* number of the last line that was not empty */
    gb_text id, title, text;
} document;

static part part_of(const char *element)
{
    static const char *const titles[] = {"TITLE", "HEADLINE", "TTL", "HL", "H3", NULL};
    static const char *const nothing[] = {"DOCHDR", "DOCID",  "DOCOLDNO", "DATE",
                                          "DATE1",  "FILEID", "PARENT",   "PROFILE",
                                          "SOURCE", "URL",    "LENGTH",   NULL};
    if (!strcmp(element, "DOCNO"))
        return PART_ID;
    for (int i = 0; titles[i]; i++)
        if (!strcmp(element, titles[i]))
            return PART_TITLE;
    for (int i = 0; nothing[i]; i++)
        if (!strcmp(element, nothing[i]))
            return PART_NOTHING;
    return PART_TEXT;
}

/* Appends words with one blank between them, and before them if there are some already. */
static void add_words(gb_text *to, const char *words, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && !isspace((unsigned char)words[end]))
            end++;
        if (end > at && to->length)
            gb_text_append(to, " ", 1);
        gb_text_append(to, words + at, end - at);
        at = end;
        while (at < length && isspace((unsigned char)words[at]))
            at++;
    }
}

static void add_piece(document *d, const char *words, size_t length)
{
    gb_text *const to[] = {&d->text, &d->id, &d->title, NULL};
    while (length && isspace((unsigned char)*words)) {
        words++;
        length--;
    }
    if (!length || !to[d->part])
        return;
    bool text = d->part == PART_TEXT && !strcmp(d->element, "TEXT");
    if (text && d->text_lines == 0)
        d->address = !strncmp(words, "http://", 7) || !strncmp(words, "https://", 8);
    uint32_t line = text ? d->text_lines : 2;
    if (text && d->address && line == 0)
        return;
    add_words(text && d->address && line == 1 ? &d->title : to[d->part], words, length);
}

/* Names of characters that SGML does not take as they are. */
static void decode(gb_text *text)
{
    static const struct {
        const char *name; /* as it is written */
        char is;          /* the character */
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t to = 0, step;
    for (size_t at = 0; at < text->length; at += step) {
        char c = text->data[at];
        step = 1;
        for (size_t i = 0; c == '&' && i < sizeof names / sizeof *names; i++)
            if (!strncmp(text->data + at, names[i].name, strlen(names[i].name))) {
                c = names[i].is;
                step = strlen(names[i].name);
                break;
            }
        text->data[to++] = c;
    }
    if (text->length)
        text->data[text->length = to] = '\0';
}

static bool begin(document *d, gb_status *status)
{
    if (d->open)
        return gb_lines_fail(d->lines, status, hint, "<DOC> inside a <DOC>");
    d->open = true;
    d->element[0] = d->outer[0] = '\0';
    d->part = PART_NOTHING;
    d->text_lines = 0;
    d->address = false;
    d->id.length = d->title.length = d->text.length = 0;
    return true;
}

static bool end(document *d, gb_status *status)
{
    if (!d->open)
        return gb_lines_fail(d->lines, status, hint, "</DOC> without a <DOC>");
    d->open = false;
    if (d->id.failed || d->title.failed || d->text.failed)
        return gb_fail_memory(status, "reading documents");
    if (!d->id.length)
        return gb_lines_fail(d->lines, status, hint, "a document without <DOCNO>");
    if (!d->address) {
        decode(&d->title);
        decode(&d->text);
    }
    return data_import_passage(d->import, d->lines, d->id.data,
                               d->title.length ? d->title.data : "",
                               d->text.length ? d->text.data : "", GB_MAP_NONE, status);
}

/* The name of a tag as a capital one, "" where it is markup of the text, such as <p>. */
static void read_name(const document *d, const char *name, size_t length, char element[16])
{
    size_t count = 0;
    bool small = d->open ? d->small : length >= 3 && !strncmp(name, "doc", 3);
    while (count < length && count < 15 &&
           (isupper((unsigned char)name[count]) || isdigit((unsigned char)name[count]) ||
            (small && islower((unsigned char)name[count])))) {
        element[count] = (char)toupper((unsigned char)name[count]);
        count++;
    }
    element[count] = '\0';
}

/* A tag, without its brackets. Unknown ones inside an element are markup of the text, and around a
 * known one they are the place of what no known one holds. */
static bool tag(document *d, const char *name, size_t length, gb_status *status)
{
    bool closing = length && *name == '/';
    char element[16];
    read_name(d, name + closing, length - closing, element);
    if (!strcmp(element, "DOC")) {
        d->small = d->open ? d->small : islower((unsigned char)name[closing]);
        return closing ? end(d, status) : begin(d, status);
    }
    if (!d->open || !*element)
        return true;
    if (closing && (!strcmp(element, d->element) || !strcmp(element, d->outer))) {
        bool inner = d->outer[0] && !strcmp(element, d->element);
        memcpy(d->element, inner ? d->outer : "", inner ? sizeof d->outer : 1);
        d->outer[0] = '\0';
        d->part = inner ? PART_TEXT : PART_NOTHING;
    } else if (!closing) {
        bool known = part_of(element) != PART_TEXT || !strcmp(element, "TEXT");
        bool inside = d->element[0], wrapper = d->part == PART_TEXT && strcmp(d->element, "TEXT");
        if (inside && !(known && wrapper && !d->outer[0]))
            return true;
        memcpy(d->outer, d->element, sizeof d->outer);
        memcpy(d->element, element, sizeof element);
        d->part = part_of(element);
    }
    return true;
}

/* Is there a tag at `at`, which begins with a bracket? Its end is *close. */
static bool is_tag(const char *at, const char **close)
{
    const char *name = at + 1 + (at[1] == '/');
    *close = strchr(at, '>');
    return *close && isalpha((unsigned char)*name) && *close - at < 200;
}

static bool take_line(document *d, const char *line, gb_status *status)
{
    uint64_t number = gb_lines_number(d->lines);
    bool had = false;
    if (d->address && d->text_lines == 1 && number > d->last + 1)
        d->text_lines = 2;
    d->last = number;
    while (*line) {
        const char *at = line, *close = NULL;
        while (*at && !(*at == '<' && is_tag(at, &close)))
            at++;
        had = had || (at > line && d->part == PART_TEXT && d->element[0]);
        add_piece(d, line, (size_t)(at - line));
        if (*at && !tag(d, at + 1, (size_t)(close - at - 1), status))
            return false;
        line = *at ? close + 1 : at;
    }
    d->text_lines += had;
    return true;
}

static bool read_file(gb_import *import, const char *path, gb_status *status)
{
    document d = {.import = import, .lines = data_import_open(import, path, status)};
    char *line;
    size_t length;
    int got = d.lines ? 1 : -1;
    while (got == 1 && (got = gb_lines_next_text(d.lines, &line, &length, status)) == 1)
        if (!take_line(&d, line, status))
            got = -1;
    if (got == 0 && d.open)
        got =
            gb_lines_fail(d.lines, status, "fetch the file again", "the last <DOC> has no end") - 1;
    gb_text_free(&d.id);
    gb_text_free(&d.title);
    gb_text_free(&d.text);
    gb_lines_close(d.lines);
    return got == 0;
}

bool data_import_trec(gb_import *import, const char *path, gb_status *status)
{
    import->kind = "TREC documents";
    import->structure = "none: each document is one passage";
    if (!gb_dir_exists(path))
        return read_file(import, path, status) && data_import_corpus_done(import, path, status);
    gb_entries list;
    bool ok = data_import_list(path, &list, status);
    for (size_t i = 0; ok && i < list.count; i++) {
        char *file = gb_path_join(status, path, list.names[i]);
        ok = file && (!data_import_ends(list.names[i], ".trec") || read_file(import, file, status));
        free(file);
    }
    gb_entries_free(&list);
    return ok && data_import_corpus_done(import, path, status) &&
           data_import_msmarco_splits(import, path, status);
}
