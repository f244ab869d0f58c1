/* SQuAD's JSON: {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question",
 * "answers": [{"text", "answer_start"}]}]}]}]}. Articles are documents, paragraphs are cut at
 * sentences into passages, and a question is judged by the passage in which its answer begins. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

static const char layout_hint[] = "docs/reference/formats.md describes SQuAD's layout";

enum { PASSAGE_WORDS = 45 }; /* at most, where the user does not say */

/* A passage of a paragraph, and how many answers of a question begin in it. */
typedef struct vote {
    uint32_t span;    /* number of the passage in its paragraph */
    uint32_t answers; /* at least 1 */
} vote;

/* Files being read. */
typedef struct squad {
    gb_import *import;            /* that all goes to */
    gb_import_cutter cut;         /* of paragraphs */
    bool divide;                  /* the questions of dev: there is no training file */
    gb_named_split split;         /* of the current file */
    gb_import_judging judging[3]; /* of the splits that have questions */
    gb_stand_ins stand_ins;       /* questions in the place of generated queries */
    gb_map *articles;             /* title -> document */
    uint32_t *paragraphs;         /* [documents] of each so far */
    size_t paragraphs_capacity;   /* allocated */
    const char **answers;         /* different texts of the question's answers */
    vote *votes;                  /* passages of its answers, in their order */
    size_t answers_capacity;      /* of answers */
    size_t votes_capacity;        /* of votes */
    gb_text name;                 /* id of the paragraph */
    gb_text question;             /* text of the question at hand */
    const char *path;             /* of the current file */
    size_t article, paragraph;    /* place in it, from 1; 0: none */
    const char *id;               /* of the question at hand, or NULL */
    uint32_t questions;           /* read */
    uint32_t impossible;          /* of them left out: SQuAD 2.0's without an answer */
} squad;

/* ---- the place of a fault ---- */

/* Name the place in the file where the status has none; returns false. */
static bool fault(const squad *s, gb_status *status)
{
    if (!status || status->where[0] || status->code != GB_DATA)
        return false;
    size_t length = strlen(s->path), skip = length > 120 ? length - 120 : 0;
    int end = snprintf(status->where, sizeof status->where, "%s", s->path + skip);
    const struct {
        const char *what; /* part of the file */
        size_t number;    /* of it */
    } parts[] = {{"article", s->article}, {"paragraph", s->paragraph}};
    for (size_t i = 0; i < 2 && parts[i].number; i++)
        end += snprintf(status->where + end, sizeof status->where - (size_t)end, ", %s %zu",
                        parts[i].what, parts[i].number);
    if (s->id)
        snprintf(status->where + end, sizeof status->where - (size_t)end, ", question %.80s",
                 s->id);
    return false;
}

static bool wrong(const squad *s, gb_status *status, const char *what)
{
    gb_fail(status, GB_DATA, NULL, layout_hint, "%s", what);
    return fault(s, status);
}

/* A member that is a string; NULL and status where it is none. */
static const char *string_of(const squad *s, const json_t *object, const char *key,
                             gb_status *status)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (!value) {
        gb_fail(status, GB_DATA, NULL, layout_hint, "no string \"%s\"", key);
        fault(s, status);
    }
    return value;
}

/* A member that is a list; NULL and status where it is none. */
static const json_t *list_of(const squad *s, const json_t *object, const char *key,
                             gb_status *status)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_array(value))
        return value;
    gb_fail(status, GB_DATA, NULL, layout_hint, "no list \"%s\"", key);
    fault(s, status);
    return NULL;
}

/* ---- questions ---- */

/* Bytes before the character of a number, counted from 0; SIZE_MAX behind the end. */
static size_t byte_of(const char *text, json_int_t character)
{
    const char *at = text;
    for (json_int_t i = 0; i < character && *at; i++)
        do
            at++;
        while (((unsigned char)*at & 0xc0) == 0x80);
    return *at ? (size_t)(at - text) : SIZE_MAX;
}

/* Of the current paragraph: the last span that begins before the byte, or with it. */
static uint32_t span_at(const squad *s, size_t byte)
{
    uint32_t span = s->cut.spans - 1;
    while (span > 0 && s->cut.starts[span] > byte)
        span--;
    return span;
}

/* One answer: its span, and its text among the different ones of the question. */
static bool take_answer(squad *s, const char *context, const json_t *answer, size_t *different,
                        uint32_t *span, gb_status *status)
{
    const char *text = string_of(s, answer, "text", status);
    const json_t *start = json_object_get(answer, "answer_start");
    if (!text)
        return false;
    if (!json_is_integer(start) || json_integer_value(start) < 0)
        return wrong(s, status, "\"answer_start\" is not a number of characters");
    size_t byte = byte_of(context, json_integer_value(start));
    if (!*text || byte == SIZE_MAX || strncmp(context + byte, text, strlen(text)) != 0) {
        gb_fail(status, GB_DATA, NULL, "answer_start counts characters, not bytes, from 0",
                "the answer \"%.60s\" is not in the paragraph at character %lld", text,
                (long long)json_integer_value(start));
        return fault(s, status);
    }
    *span = span_at(s, byte);
    for (size_t i = 0; i < *different; i++)
        if (!strcmp(s->answers[i], text))
            return true;
    s->answers[(*different)++] = text;
    return true;
}

/* The span in which most of the answers begin; of equals that of the first answer. Different texts
 * of answers are in s->answers. */
static bool find_span(squad *s, const char *context, const json_t *answers, size_t *different,
                      uint32_t *span, gb_status *status)
{
    size_t index, count = json_array_size(answers), spans = 0;
    const json_t *answer;
    if (!count || !s->cut.spans)
        return wrong(s, status,
                     count ? "a question about a paragraph without text"
                           : "a question without answers");
    if (!gb_grow(&s->answers, &s->answers_capacity, count, sizeof *s->answers, status) ||
        !gb_grow(&s->votes, &s->votes_capacity, count, sizeof *s->votes, status))
        return false;
    *different = 0;
    json_array_foreach(answers, index, answer)
    {
        uint32_t at = 0;
        if (!take_answer(s, context, answer, different, &at, status))
            return false;
        size_t i = 0;
        while (i < spans && s->votes[i].span != at)
            i++;
        if (i == spans)
            s->votes[spans++] = (vote){.span = at};
        s->votes[i].answers++;
    }
    const vote *best = s->votes;
    for (size_t i = 1; i < spans; i++)
        if (s->votes[i].answers > best->answers)
            best = &s->votes[i];
    *span = best->span;
    return true;
}

/* The question's text on one line, without white space around it. */
static bool read_text(squad *s, const char *text, gb_status *status)
{
    static const char space[] = " \t\r\n";
    s->question.length = 0;
    text += strspn(text, space);
    size_t length = strlen(text);
    while (length && strchr(space, text[length - 1]))
        length--;
    if (!length)
        return wrong(s, status, "a question without text");
    gb_text_append(&s->question, text, length);
    if (s->question.failed)
        return gb_fail_memory(status, "reading questions");
    for (char *at = s->question.data; *at; at++)
        if (strchr("\t\r\n", *at))
            *at = ' ';
    return true;
}

/* A question of the collection, judged in a split. */
static bool ask(squad *s, gb_named_split split, const char *passage, size_t answers,
                gb_status *status)
{
    gb_import *import = s->import;
    gb_import_judging *judging = &s->judging[split];
    gb_qrel_line line = {.query = s->id, .passage = passage, .grade = 1};
    bool ok =
        data_import_query(import, NULL, s->id, s->question.data, status) &&
        data_import_answers(import, NULL, s->id, s->answers, answers, status) &&
        (judging->out || data_import_judge_open(import, gb_split_names[split], judging, status)) &&
        data_import_judge(import, NULL, judging, &line, status);
    return ok || fault(s, status);
}

/* A question that the passage answers, as its id says where questions are divided. */
static bool place_question(squad *s, const char *passage, size_t answers, gb_status *status)
{
    gb_share share;
    if (!s->divide || s->split != GB_SPLIT_DEV)
        return ask(s, s->split, passage, answers, status);
    if (!data_share_of(s->import->params->seed, s->id, &share, status))
        return false;
    if (share != GB_SHARE_GENERATED)
        return ask(s, share == GB_SHARE_TRAIN ? GB_SPLIT_TRAIN : GB_SPLIT_DEV, passage, answers,
                   status);
    return s->import->params->queries || /* which take their place */
           data_stand_ins_add(&s->stand_ins, s->import, passage, s->question.data, status);
}

static bool take_question(squad *s, const char *context, const json_t *qa, gb_status *status)
{
    s->id = NULL;
    const char *id = string_of(s, qa, "id", status);
    const char *text = id ? string_of(s, qa, "question", status) : NULL;
    if (!text)
        return false;
    s->id = id;
    s->questions++;
    if (json_is_true(json_object_get(qa, "is_impossible"))) {
        s->impossible++;
        return true;
    }
    const json_t *answers = list_of(s, qa, "answers", status);
    size_t different = 0;
    uint32_t span = 0;
    if (!answers || !read_text(s, text, status) ||
        !find_span(s, context, answers, &different, &span, status))
        return false;
    char *passage = gb_format(status, "%s-%u", s->name.data, span);
    bool ok = passage && place_question(s, passage, different, status);
    free(passage);
    return ok;
}

/* ---- articles ---- */

static bool take_paragraph(squad *s, const char *title, uint32_t document, const json_t *paragraph,
                           gb_status *status)
{
    size_t index, stem = s->name.length;
    const json_t *qa;
    const char *context = string_of(s, paragraph, "context", status);
    const json_t *qas = context ? list_of(s, paragraph, "qas", status) : NULL;
    if (!qas)
        return false;
    gb_text_printf(&s->name, "-%u", s->paragraphs[document]++);
    if (s->name.failed)
        return gb_fail_memory(status, "reading paragraphs");
    if (!data_import_cut_text(&s->cut, NULL, s->name.data, title, context, document, status))
        return fault(s, status);
    json_array_foreach(qas, index, qa)
    {
        if (!take_question(s, context, qa, status))
            return false;
    }
    s->id = NULL;
    s->import->paragraphs++;
    s->name.length = stem;
    return true;
}

/* The document of an article; one of the same title goes on. */
static bool find_document(squad *s, const char *title, uint32_t *document, gb_status *status)
{
    size_t length = strlen(title);
    *document = length ? gb_map_get(s->articles, title, length) : GB_MAP_NONE;
    if (*document != GB_MAP_NONE)
        return true;
    *document = s->import->documents;
    if ((length && !gb_map_set(s->articles, title, length, *document, status)) ||
        !gb_grow(&s->paragraphs, &s->paragraphs_capacity, (size_t)*document + 1,
                 sizeof *s->paragraphs, status))
        return false;
    s->paragraphs[*document] = 0;
    s->import->documents++;
    return true;
}

/* s->name becomes the title as part of an id, without white space; an article without a title is
 * named by its number. */
static bool name_article(squad *s, const char *title, uint32_t document, gb_status *status)
{
    s->name.length = 0;
    if (*title)
        gb_text_printf(&s->name, "%s", title);
    else
        gb_text_printf(&s->name, "article-%u", document);
    if (s->name.failed)
        return gb_fail_memory(status, "reading articles");
    for (char *at = s->name.data; *at; at++)
        if (strchr(" \t\r\n", *at))
            *at = '_';
    return true;
}

static bool take_article(squad *s, const json_t *article, gb_status *status)
{
    uint32_t document = 0;
    size_t index;
    const json_t *paragraph, *given = json_object_get(article, "title");
    const json_t *paragraphs = list_of(s, article, "paragraphs", status);
    const char *name = given && !json_is_null(given) ? string_of(s, article, "title", status) : "";
    char *title = paragraphs && name ? gb_strdup(name, status) : NULL;
    for (char *at = title; at && *at; at++)
        if (*at == '_')
            *at = ' ';
    bool ok = title && find_document(s, title, &document, status) &&
              name_article(s, title, document, status);
    json_array_foreach(paragraphs, index, paragraph)
    {
        s->paragraph = index + 1;
        ok = ok && take_paragraph(s, title, document, paragraph, status);
    }
    s->paragraph = 0;
    free(title);
    return ok;
}

/* ---- files ---- */

/* The whole of a file as JSON. */
static json_t *load(gb_import *import, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(import, path, status);
    gb_text text = {0};
    char *line;
    size_t length;
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        gb_text_append(&text, line, length);
        gb_text_append(&text, "\n", 1);
    }
    gb_lines_close(lines);
    json_t *json = NULL;
    json_error_t error;
    if (got == 0 && text.failed)
        gb_fail_memory(status, "reading JSON");
    else if (got == 0 &&
             !(json = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, &error))) {
        char *where = gb_format(NULL, "%s:%d", path, error.line);
        if (json_error_code(&error) == json_error_out_of_memory)
            gb_fail_memory(status, "reading JSON");
        else
            gb_fail(status, GB_DATA, where ? where : path, "fetch the file again",
                    "not valid JSON: %s", error.text);
        free(where);
    }
    gb_text_free(&text);
    return json;
}

/* Split that the name of a file speaks of; dev where it says nothing. */
static gb_named_split split_of(const char *path)
{
    gb_named_split split = data_import_named_split(path);
    return split == GB_SPLIT_TRAIN && !data_import_has_word(path, "train") ? GB_SPLIT_DEV : split;
}

static bool read_file(squad *s, const char *path, gb_status *status)
{
    s->path = path;
    s->split = split_of(path);
    json_t *json = load(s->import, path, status);
    const json_t *articles = json ? list_of(s, json, "data", status) : NULL;
    bool ok = articles != NULL;
    size_t index;
    const json_t *article;
    json_array_foreach(articles, index, article)
    {
        s->article = index + 1;
        ok = ok && take_article(s, article, status);
    }
    s->article = s->paragraph = 0;
    s->id = NULL;
    json_decref(json);
    return ok;
}

/* The files of this layout in a folder, or the one file; paths. */
static bool list_files(const char *path, gb_entries *list, gb_status *status)
{
    if (!gb_dir_exists(path)) {
        *list = (gb_entries){0};
        return gb_grow(&list->names, &list->capacity, 1, sizeof *list->names, status) &&
               (list->names[0] = gb_strdup(path, status)) && (list->count = 1);
    }
    if (!data_import_list(path, list, status))
        return false;
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < list->count; i++) {
        gb_file_kind kind = GB_FILE_OTHER;
        char *name = list->names[i], *file = ok ? gb_path_join(status, path, name) : NULL;
        ok = file && (!data_import_ends(name, ".json") || data_import_kind(file, &kind, status));
        free(name);
        if (ok && kind == GB_FILE_SQUAD)
            list->names[kept++] = file;
        else
            free(file);
    }
    list->count = kept;
    return ok;
}

static void say(const squad *s)
{
    gb_import *import = s->import;
    data_import_note(
        import,
        "%u questions about %u articles, whose %u paragraphs are cut at sentences into "
        "%u passages of at most %u words (or one longer sentence)",
        s->questions, import->documents, import->paragraphs, import->passages, s->cut.words);
    if (s->impossible)
        data_import_note(import, "%u of them have no answer in their paragraph and are left out",
                         s->impossible);
    if (s->divide)
        data_import_note(
            import,
            "no training split: the questions of dev are divided by a hash of their ids "
            "(seed %llu): half train, a quarter %s, a quarter judge as dev",
            (unsigned long long)import->params->seed,
            import->params->queries ? "are left out, where they would stand as "
                                      "generated queries"
                                    : "stand as generated queries");
}

/* All files, and the splits at their end. */
static bool read_files(squad *s, const gb_entries *list, gb_status *status)
{
    s->divide = !s->import->params->keep_splits;
    for (size_t i = 0; i < list->count; i++)
        s->divide = s->divide && split_of(list->names[i]) != GB_SPLIT_TRAIN;
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = read_file(s, list->names[i], status);
    for (int split = 0; split < 3; split++)
        if (s->judging[split].split)
            ok = data_import_judge_close(s->import, &s->judging[split], ok, status) && ok;
    if (ok)
        say(s);
    return ok && data_stand_ins_write(s->import, &s->stand_ins, status);
}

bool data_import_squad(gb_import *import, const char *path, gb_status *status)
{
    import->kind = "SQuAD's JSON";
    import->structure = "articles of the source";
    uint32_t words = import->params->span_words;
    squad s = {.import = import,
               .cut = {.import = import, .words = words ? words : PASSAGE_WORDS, .at_most = true},
               .articles = gb_map_create(status)};
    gb_entries list = {0};
    bool ok = s.articles && list_files(path, &list, status) && read_files(&s, &list, status) &&
              data_import_corpus_done(import, path, status);
    gb_entries_free(&list);
    data_import_cutter_free(&s.cut);
    data_stand_ins_free(&s.stand_ins);
    gb_map_destroy(s.articles);
    free(s.paragraphs);
    free(s.answers);
    free(s.votes);
    gb_text_free(&s.name);
    gb_text_free(&s.question);
    return ok;
}
