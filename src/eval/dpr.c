/* Reads DPR's results of retrieval: an array of {"question", "answers": [...], "ctxs": [{"id",
 * "title", "text", "score": "81.2", "has_answer": true}]} (dense_retriever.py of the released
 * code), or lines of such objects; or Pyserini's {QUERY: {"question", "answers", "contexts":
 * [{"docid", "score", "text", "has_answer"}]}}. */
#include "dpr.h"

#include "answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

/* A file being read. */
typedef struct dpr_file {
    gb_lines *lines;            /* it */
    const eval_dpr_params *how; /* as asked for */
    const gb_run_names *names;  /* the same */
    gb_map *questions;          /* text -> query, where names have a collection; made when needed */
    gb_map *met;                /* query, as 4 bytes -> 0 */
    dpr_hit *hits;              /* of a question */
    size_t capacity;            /* of hits */
    uint32_t number;            /* objects before */
    char text[GB_JSON_NUMBER];  /* of an id that is a number */
} dpr_file;

bool eval_dpr_begins(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \t\r", line[at]))
        at++;
    return at < length && (line[at] == '{' || line[at] == '[');
}

/* The member as a text: a string, or a whole number; NULL: it is neither. */
static const char *id_in(dpr_file *f, const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        const char *id = gb_json_id(json_object_get(object, *keys), f->text);
        if (id)
            return id;
    }
    return NULL;
}

/* Questions of the collection by their texts; of equal ones the first. */
static bool index_questions(dpr_file *f, gb_status *status)
{
    const gb_collection *collection = f->names->collection;
    uint32_t count = gb_row_file_count(collection->queries);
    bool ok = (f->questions = gb_map_create(status)) != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        size_t length;
        const char *text = gb_collection_query(collection, i, &length);
        ok = gb_map_get(f->questions, text, length) != GB_MAP_NONE ||
             gb_map_set(f->questions, text, length, i, status);
    }
    return ok;
}

static bool find_query(dpr_file *f, const json_t *object, const char *name, uint32_t *query,
                       gb_status *status)
{
    static const char *const keys[] = {"query_id", "qid", "question_id", "id", NULL};
    const char *question = gb_json_text(object, "question");
    const char *id = name ? name : id_in(f, object, keys);
    *query = GB_MAP_NONE;
    if (id && !gb_lines_check_id(f->lines, id, true, status))
        return false;
    if (id && !gb_names_row(f->names->queries, id, strlen(id), query, status))
        return false;
    if (*query == GB_MAP_NONE && f->names->collection) {
        if (!f->questions && !index_questions(f, status))
            return false;
        *query = gb_map_get(f->questions, question, strlen(question));
    } else if (!id) {
        snprintf(f->text, sizeof f->text, "%u", f->number);
        if (!gb_names_row(f->names->queries, f->text, strlen(f->text), query, status))
            return false;
    }
    if (*query == GB_MAP_NONE)
        return gb_lines_fail(f->lines, status, "run and collection must belong together",
                             "unknown query \"%.80s\"",
                             *question ? question
                             : id      ? id
                                       : "");
    const char *key = (const char *)query;
    if (gb_map_get(f->met, key, sizeof *query) != GB_MAP_NONE)
        return gb_lines_fail(f->lines, status, "a query has one list",
                             "a question is there twice: \"%.80s\"", question);
    return gb_map_set(f->met, key, sizeof *query, 0, status);
}

static bool read_hit(dpr_file *f, const json_t *context, dpr_hit *hit, gb_status *status)
{
    static const char *const keys[] = {"id", "docid", "passage_id", NULL};
    const char *id = id_in(f, context, keys);
    const json_t *score = json_object_get(context, "score"),
                 *held = json_object_get(context, "has_answer");
    if (!id)
        return gb_lines_fail(f->lines, status, "passages have an \"id\" or \"docid\"",
                             "a passage without an id");
    if (!gb_lines_check_id(f->lines, id, false, status))
        return false;
    if (!gb_names_row(f->names->passages, id, strlen(id), &hit->passage, status))
        return false;
    if (hit->passage == GB_MAP_NONE)
        return gb_lines_fail(f->lines, status, "run and collection must belong together",
                             "unknown passage \"%.80s\"", id);
    hit->score = json_is_number(score) ? json_number_value(score) : NAN;
    if (score && !json_is_number(score) &&
        (!json_is_string(score) || !eval_parse_score(json_string_value(score), &hit->score)))
        return gb_lines_fail(f->lines, status, NULL, "the score of passage \"%.80s\" is no number",
                             id);
    if (held && !json_is_boolean(held))
        return gb_lines_fail(f->lines, status, NULL,
                             "\"has_answer\" of passage \"%.80s\" is neither true nor false", id);
    hit->held = held ? (int8_t)json_is_true(held) : -1;
    return true;
}

/* ---- which passages hold an answer, where the file is not believed ---- */

static gb_answers *read_answers(const dpr_file *f, const json_t *object, uint32_t query,
                                gb_status *status)
{
    const json_t *list = json_object_get(object, "answers");
    gb_answers *answers = eval_answers_create(f->how->rule, status);
    bool ok = answers && eval_answers_begin(answers, query, status);
    if (ok && !json_is_array(list))
        ok = gb_lines_fail(f->lines, status, "objects are {\"question\", \"answers\": [...]}",
                           "an object without a list \"answers\"");
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        ok = json_is_string(item)
                 ? eval_answers_add(answers, json_string_value(item), f->lines, status)
                 : gb_lines_fail(f->lines, status, NULL, "an answer that is no text");
    }
    if (ok)
        return answers;
    gb_answers_destroy(answers);
    return NULL;
}

/* The text of a passage without its title, which Pyserini has on a line before it. */
static const char *text_of(const json_t *context, bool titled, size_t *length)
{
    const char *text = json_string_value(json_object_get(context, "text"));
    const char *end = text && titled ? strchr(text, '\n') : NULL;
    if (end)
        text = end + 1;
    if (text)
        *length = end ? strcspn(text, "\n") : strlen(text);
    return text;
}

/* Finds out which passages [contexts] of a question hold an answer. */
static bool find_held(dpr_file *f, const json_t *object, const json_t *contexts, uint32_t query,
                      gb_status *status)
{
    const bool titled = json_object_get(object, "contexts") == contexts;
    gb_answers *answers = read_answers(f, object, query, status);
    bool ok = answers != NULL, held;
    for (size_t i = 0; ok && i < json_array_size(contexts); i++) {
        size_t length = 0;
        const char *text = text_of(json_array_get(contexts, i), titled, &length);
        ok = text ? gb_answers_hold(answers, query, text, length, &held, status)
                  : gb_lines_fail(f->lines, status, "answers are looked for in the texts",
                                  "a passage without \"text\"");
        f->hits[i].held = ok && held;
    }
    gb_answers_destroy(answers);
    return ok;
}

/* ---- questions ---- */

static int by_passage(const void *a, const void *b)
{
    const dpr_hit *x = a, *y = b;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

/* No passage twice; sorts a copy behind the hits [2 count]. */
static bool check_hits(const dpr_file *f, size_t count, gb_status *status)
{
    dpr_hit *sorted = f->hits + count;
    if (!count)
        return true;
    memcpy(sorted, f->hits, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_passage);
    for (size_t i = 1; i < count; i++)
        if (sorted[i].passage == sorted[i - 1].passage) {
            size_t length;
            const char *id = gb_names_get(f->names->passages, sorted[i].passage, &length);
            return gb_lines_fail(f->lines, status, "a passage has one rank a query",
                                 "listed twice for its query: passage \"%.*s\"",
                                 (int)(length < 80 ? length : 80), id);
        }
    return true;
}

static bool read_question(dpr_file *f, const json_t *object, const char *name, gb_status *status)
{
    const json_t *contexts = json_object_get(object, "ctxs"), *context;
    uint32_t query;
    size_t i;
    if (!contexts)
        contexts = json_object_get(object, "contexts");
    if (!json_is_array(contexts))
        return gb_lines_fail(f->lines, status,
                             "objects are {\"question\", \"answers\", \"ctxs\": [...]}",
                             "an object without a list \"ctxs\" or \"contexts\"");
    size_t count = json_array_size(contexts);
    if (!find_query(f, object, name, &query, status) ||
        !gb_grow(&f->hits, &f->capacity, 2 * count + 1, sizeof *f->hits, status))
        return false;
    json_array_foreach(contexts, i,
                       context) if (!read_hit(f, context, &f->hits[i], status)) return false;
    return check_hits(f, count, status) &&
           (f->how->rule == GB_ANSWERS_GIVEN || find_held(f, object, contexts, query, status)) &&
           f->how->take(f->how->ctx, f->lines, query, f->hits, (uint32_t)count, status);
}

bool eval_dpr_read(gb_lines *lines, char *line, size_t length, const eval_dpr_params *how,
                   gb_status *status)
{
    dpr_file f = {.lines = lines, .how = how, .names = how->names, .met = gb_map_create(status)};
    gb_objects *objects = f.met ? gb_objects_open(lines, GB_OBJECTS_NAMED, status) : NULL;
    json_t *object;
    int got = objects ? 1 : -1;
    if (objects)
        gb_objects_begin(objects, line, length);
    while (got == 1 && (got = gb_objects_next(objects, &object, status)) == 1) {
        if (!read_question(&f, object, gb_objects_name(objects), status))
            got = -1;
        json_decref(object);
        f.number++;
    }
    gb_objects_close(objects);
    gb_map_destroy(f.questions);
    gb_map_destroy(f.met);
    free(f.hits);
    return got == 0;
}
