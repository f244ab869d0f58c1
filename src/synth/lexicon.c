/* Reading of the word lists. They are part of the program, so a fault in one is a fault of ours; it
 * is told all the same, with file and line, for whoever edits them. */
#include "synth/lexicon.h"

#include <ctype.h>
#include <string.h>

static const char kinds_txt[] =
#include "kinds.txt.h"
    ;
static const char names_txt[] =
#include "names.txt.h"
    ;
static const char themes_txt[] =
#include "themes.txt.h"
    ;
static const char phrases_txt[] =
#include "phrases.txt.h"
    ;
static const char attributes_txt[] =
#include "attributes.txt.h"
    ;
static const char values_txt[] =
#include "values.txt.h"
    ;

/* A word list being read. */
typedef struct reader {
    lexicon *l;        /* that it goes to */
    const char *file;  /* its name */
    uint32_t line;     /* number of the current line */
    gb_status *status; /* of failures */
} reader;

static bool wrong(const reader *r, const char *why)
{
    char where[60];
    snprintf(where, sizeof where, "words/%s:%u", r->file, r->line);
    return gb_fail(r->status, GB_INTERNAL, where, "mend the word list", "%s", why);
}

/* ---- cutting up ---- */

static char *trim(char *text)
{
    while (*text == ' ')
        text++;
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';)
        text[--end] = '\0';
    return text;
}

/* The part of *rest before a separator, without blanks around it; NULL behind the last. */
static char *next_part(char **rest, const char *separator)
{
    char *part = gb_take_field(rest, separator);
    return part ? trim(part) : NULL;
}

/* All parts; "-" stands for none. */
static bool split(const reader *r, char *text, const char *separator, lexicon_words *words)
{
    uint32_t most = 1;
    text = trim(text);
    if (!strcmp(text, "-"))
        return true;
    for (const char *at = text; *at; at++)
        most += *at == *separator;
    words->items = gb_arena_alloc(r->l->arena, most * sizeof *words->items, r->status);
    for (char *part; words->items && (part = next_part(&text, separator));)
        words->items[words->count++] = part;
    return words->items != NULL;
}

/* Call `take` with every line that is neither empty nor a remark. */
static bool each_line(reader *r, const char *file, const char *bytes,
                      bool (*take)(reader *r, char *line))
{
    r->file = file;
    r->line = 0;
    char *rest = gb_arena_strdup(r->l->arena, bytes, strlen(bytes), r->status);
    bool ok = rest != NULL;
    for (char *line; ok && (line = gb_take_field(&rest, "\n"));) {
        r->line++;
        if (*line && *line != '#')
            ok = take(r, line);
    }
    return ok;
}

static uint32_t count_lines(const char *bytes, const char *start)
{
    uint32_t count = 0;
    size_t length = strlen(start);
    for (const char *at = bytes; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        count += *at != '#' && *at != '\n' && strncmp(at, start, length) == 0;
    return count;
}

/* ---- kinds, themes, names, phrases ---- */

static bool take_kind(reader *r, char *line)
{
    if (r->l->kind_count == LEXICON_KINDS)
        return wrong(r, "too many kinds");
    lexicon_kind *kind = &r->l->kinds[r->l->kind_count++];
    kind->name = next_part(&line, ";");
    const char *article = next_part(&line, ";");
    kind->the = article && !strcmp(article, "the");
    lexicon_words *fields[] = {&kind->nouns, &kind->heads, &kind->made, &kind->did, &kind->maker};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *field = gb_take_field(&line, ";");
        if (!field)
            return wrong(r, "a kind has seven fields");
        if (!split(r, field, ",", fields[i]))
            return false;
    }
    kind->person = kind->heads.count == 0;
    return kind->nouns.count > 0 || wrong(r, "a kind has nouns");
}

static bool take_theme(reader *r, char *line)
{
    lexicon_theme *theme = &r->l->themes[r->l->theme_count++];
    theme->name = next_part(&line, ":");
    lexicon_words *fields[] = {&theme->people, &theme->scenes, &theme->adjectives};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *field = gb_take_field(&line, ";");
        if (!field || !split(r, field, ",", fields[i]))
            return wrong(r, "a theme has people, scenes and adjectives");
    }
    return true;
}

static bool take_names(reader *r, char *line)
{
    lexicon *l = r->l;
    const struct {
        const char *name;     /* of the line */
        lexicon_words *words; /* where they go */
        const char *between;  /* separator */
    } lines[] = {{"starts", &l->starts, " "},
                 {"ends", &l->ends, " "},
                 {"adjectives", &l->adjectives, ","},
                 {"ship_adjectives", &l->ship_adjectives, ","},
                 {"she", &l->she, ","},
                 {"he", &l->he, ","},
                 {"surnames", &l->surnames, ","}};
    const char *name = next_part(&line, ":");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (line && !strcmp(lines[i].name, name))
            return split(r, line, lines[i].between, lines[i].words);
    return wrong(r, "no such names");
}

static bool take_phrase(reader *r, char *line)
{
    lexicon *l = r->l;
    const struct {
        const char *name;     /* of the line */
        lexicon_words *words; /* where it goes */
    } lines[] = {{"intro", &l->intro}, {"person", &l->person}, {"detail", &l->detail},
                 {"echo", &l->echo},   {"entity", &l->entity}, {"theme", &l->theme}};
    const char *name = next_part(&line, ":");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        lexicon_words *words = lines[i].words;
        if (!line || strcmp(lines[i].name, name))
            continue;
        if (!words->items &&
            !(words->items = gb_arena_alloc(
                  l->arena, count_lines(phrases_txt, "") * sizeof *words->items, r->status)))
            return false;
        words->items[words->count++] = trim(line);
        return true;
    }
    return wrong(r, "no such phrases");
}

/* ---- values ---- */

void synth_lexicon_plural(const char *noun, gb_text *out)
{
    size_t length = strlen(noun);
    const char *last = noun + length - 1;
    if (length > 3 && !strcmp(last - 2, "man"))
        gb_text_printf(out, "%.*smen", (int)length - 3, noun);
    else if (length > 4 && !strcmp(last - 3, "wife"))
        gb_text_printf(out, "%.*sves", (int)length - 2, noun);
    else if (*last == 'y' && !strchr("aeiou", last[-1]))
        gb_text_printf(out, "%.*sies", (int)length - 1, noun);
    else if (strchr("sx", *last) || (*last == 'h' && strchr("cs", last[-1])))
        gb_text_printf(out, "%ses", noun);
    else
        gb_text_printf(out, "%ss", noun);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether a value is spoken of as several: by its article, by its first word, by the last letter of
 * its main word, or as the list says. */
static bool is_plural(const char *value)
{
    static const char *const behind[] = {" of ",  " in ", " with ", " from ", " on ",
                                         " for ", " by ", " to ",   " at ",   " without "};
    static const char *const several[] = {"mice", "geese", "children", "men", "people", "oxen"};
    if (starts_with(value, "a ") || starts_with(value, "an ") || starts_with(value, "its "))
        return false;
    size_t length = strlen(value);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        const char *at = strstr(value, behind[i]);
        if (at && (size_t)(at - value) < length)
            length = (size_t)(at - value);
    }
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        size_t size = strlen(several[i]);
        if (length >= size && !strncmp(value + length - size, several[i], size))
            return true;
    }
    return length > 2 && value[length - 1] == 's' && !strchr("sui", value[length - 2]);
}

/* "a [drowned] sailor" gives both of its forms. */
static bool take_wording(reader *r, char *text, lexicon_value *value)
{
    gb_text full = {0}, brief = {0};
    uint32_t at = value->wordings++;
    char mark = *text == '+' || *text == '=' ? *text : '\0';
    bool inside = false;
    for (const char *c = trim(text + (mark != '\0')); *c; c++) {
        if (*c == '[' || *c == ']') {
            inside = *c == '[';
            continue;
        }
        gb_text_append(&full, c, 1);
        bool doubled = *c == ' ' && (brief.length == 0 || brief.data[brief.length - 1] == ' ');
        if (!inside && !doubled)
            gb_text_append(&brief, c, 1);
    }
    bool ok = full.length && brief.length && !full.failed && !brief.failed;
    if (ok && brief.data[brief.length - 1] == ' ')
        brief.data[--brief.length] = '\0';
    ok = ok &&
         (value->full[at] = gb_arena_strdup(r->l->arena, full.data, full.length, r->status)) !=
             NULL &&
         (value->brief[at] = gb_arena_strdup(r->l->arena, brief.data, brief.length, r->status)) !=
             NULL;
    if (ok)
        value->plural[at] = mark ? mark == '+' : is_plural(value->full[at]);
    gb_text_free(&full);
    gb_text_free(&brief);
    return ok || wrong(r, "a value is empty");
}

static bool take_list(reader *r, char *line)
{
    lexicon_list *list = &r->l->lists[r->l->list_count++];
    lexicon_words values = {0};
    list->name = next_part(&line, ":");
    if (!line || !split(r, line, ",", &values))
        return wrong(r, "a list has a name and values");
    list->count = values.count;
    list->values = gb_arena_alloc(r->l->arena, values.count * sizeof *list->values, r->status);
    bool ok = list->values != NULL;
    for (uint32_t i = 0; ok && i < values.count; i++) {
        char *rest = (char *)values.items[i];
        for (char *wording; ok && (wording = next_part(&rest, "/"));)
            ok = list->values[i].wordings == LEXICON_SAME
                     ? wrong(r, "a value has two wordings")
                     : take_wording(r, wording, &list->values[i]);
    }
    return ok;
}

/* ---- attributes ---- */

uint32_t synth_lexicon_kind(const lexicon *l, const char *name, size_t length)
{
    for (uint32_t i = 0; i < l->kind_count; i++)
        if (strlen(l->kinds[i].name) == length && !strncmp(l->kinds[i].name, name, length))
            return i;
    return GB_MAP_NONE;
}

static bool take_head(reader *r, char *line)
{
    lexicon_attribute *a = &r->l->attributes[r->l->attribute_count++];
    line++;
    a->name = next_part(&line, ";");
    a->group = next_part(&line, ";");
    char *kinds = line ? next_part(&line, ";") : NULL;
    const char *list = line ? next_part(&line, ";") : NULL;
    if (!list)
        return wrong(r, "an attribute has a name, a group, kinds and a list of values");
    for (char *kind; (kind = next_part(&kinds, " "));) {
        uint32_t number = synth_lexicon_kind(r->l, kind, strlen(kind));
        if (number == GB_MAP_NONE)
            return wrong(r, "no such kind");
        a->kinds |= UINT32_C(1) << number;
    }
    for (a->list = 0; a->list < r->l->list_count; a->list++)
        if (!strcmp(r->l->lists[a->list].name, list))
            return true;
    return wrong(r, "no such list of values");
}

static bool take_wordings(reader *r, char *line, const char **wordings, uint32_t wanted)
{
    uint32_t count = 0;
    for (char *wording; (wording = next_part(&line, "|")); count++)
        if (count < wanted)
            wordings[count] = wording;
    return count == wanted || wrong(r, "wrong number of wordings");
}

static bool take_attribute(reader *r, char *line)
{
    if (*line == '@')
        return take_head(r, line);
    if (r->l->attribute_count == 0)
        return wrong(r, "wordings before the first attribute");
    lexicon_attribute *a = &r->l->attributes[r->l->attribute_count - 1];
    char letter = *line++;
    switch (letter) {
    case 'P':
        return take_wordings(r, line, a->passages, LEXICON_WORDINGS);
    case 'Q':
        return take_wordings(r, line, a->questions, LEXICON_WORDINGS);
    case 'C':
        return take_wordings(r, line, a->clues, LEXICON_CLUES);
    case 'K':
        break;
    default:
        return wrong(r, "a line of an attribute begins with P, Q, C or K");
    }
    for (char *keyword; (keyword = next_part(&line, "|"));) {
        if (a->keyword_count == LEXICON_KEYWORDS)
            return wrong(r, "too many keywords");
        char *mark = strchr(keyword, '~');
        if (mark)
            *mark = '\0';
        a->keywords[a->keyword_count++] = (lexicon_keyword){keyword, mark != NULL};
    }
    return true;
}

/* ---- every word ---- */

static bool collect_words(lexicon *l, const char *bytes, gb_status *status)
{
    char word[40];
    for (const char *at = bytes; *at;) {
        size_t length = 0;
        while (*at && !isalnum((unsigned char)*at))
            at++;
        for (; isalnum((unsigned char)*at); at++)
            if (length < sizeof word)
                word[length++] = (char)tolower((unsigned char)*at);
        if (length && !gb_map_set(l->words, word, length, 1, status))
            return false;
    }
    return true;
}

static bool read_all(reader *r)
{
    lexicon *l = r->l;
    const size_t kinds = LEXICON_KINDS, lists = count_lines(values_txt, "") + 1,
                 attributes = count_lines(attributes_txt, "@"),
                 themes = count_lines(themes_txt, "");
    l->kinds = gb_arena_alloc(l->arena, kinds * sizeof *l->kinds, r->status);
    l->lists = gb_arena_alloc(l->arena, lists * sizeof *l->lists, r->status);
    l->attributes = gb_arena_alloc(l->arena, attributes * sizeof *l->attributes, r->status);
    l->themes = gb_arena_alloc(l->arena, themes * sizeof *l->themes, r->status);
    if (!l->kinds || !l->lists || !l->attributes || !l->themes)
        return false;
    l->lists[l->list_count++] = (lexicon_list){.name = "PERSON"};
    return each_line(r, "kinds.txt", kinds_txt, take_kind) &&
           each_line(r, "names.txt", names_txt, take_names) &&
           each_line(r, "themes.txt", themes_txt, take_theme) &&
           each_line(r, "phrases.txt", phrases_txt, take_phrase) &&
           each_line(r, "values.txt", values_txt, take_list) &&
           each_line(r, "attributes.txt", attributes_txt, take_attribute);
}

lexicon *synth_lexicon_create(gb_status *status)
{
    static const char *const plain[] = {kinds_txt, themes_txt, phrases_txt, attributes_txt,
                                        values_txt};
    gb_arena *arena = gb_arena_create(1 << 16, status);
    lexicon *l = arena ? gb_arena_alloc(arena, sizeof *l, status) : NULL;
    if (!l) {
        gb_arena_destroy(arena);
        return NULL;
    }
    l->arena = arena;
    reader r = {.l = l, .status = status};
    bool ok = (l->words = gb_map_create(status)) != NULL && read_all(&r);
    for (size_t i = 0; ok && i < sizeof plain / sizeof *plain; i++)
        ok = collect_words(l, plain[i], status);
    if (ok)
        return l;
    synth_lexicon_destroy(l);
    return NULL;
}

void synth_lexicon_destroy(lexicon *l)
{
    if (!l)
        return;
    gb_map_destroy(l->words);
    gb_arena_destroy(l->arena);
}
