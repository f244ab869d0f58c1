/* Training files: opening them and the examples of their lines; see training.h. */
#include "data/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct training_file {
    gb_lines *lines;          /* the file; the caller's */
    gb_objects *objects;      /* of JSON, or NULL: lines with tabs */
    json_t *object;           /* the current one; owns the strings */
    bool texts;               /* strings in its lists are texts, else ids */
    training_example example; /* the current one */
};

/* ---- JSON ---- */

/* The first of the members that is there. */
static json_t *member(const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        json_t *value = json_object_get(object, *keys);
        if (value && !json_is_null(value))
            return value;
    }
    return NULL;
}

static const char *const query_keys[] = {"query", "question", "anchor", "query_text", NULL};
static const char *const query_id_keys[] = {"query_id", "qid", "_id", "id", NULL};
static const char *const passage_id_keys[] = {"docid", "passage_id", "psg_id", "pid",
                                              "id",    "_id",        NULL};
static const char *const score_keys[] = {"score", "ce-score", "ce_score", NULL};
static const char *const text_keys[] = {"text", "contents", NULL};
static const char *const positive_keys[] = {"positive_passages",     "positive_ctxs", "pos",
                                            "positive_document_ids", "positive",      NULL};
static const char *const negative_keys[] = {"negative_passages", "neg", "negative_document_ids",
                                            "negative", NULL};

/* A string, or a whole number as one: it takes the number's place in `of`, which owns it. */
static const char *as_string(json_t *of, const char *key, json_t *value)
{
    char number[GB_JSON_NUMBER];
    if (!json_is_integer(value))
        return json_string_value(value);
    json_t *string = json_string(gb_json_id(value, number));
    json_object_set_new(of, key, string);
    return json_string_value(string);
}

static const char *id_of(json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        json_t *value = json_object_get(object, *keys);
        if (value && !json_is_null(value))
            return as_string(object, *keys, value);
    }
    return NULL;
}

static bool add(training_list *list, training_passage passage, gb_status *status)
{
    if (!gb_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items, status))
        return false;
    list->items[list->count++] = passage;
    return true;
}

static bool wrong(const training_file *file, gb_status *status, const char *what)
{
    return gb_lines_fail(file->lines, status,
                         "the layouts that are read are described in docs/reference/formats.md",
                         "%s", what);
}

static bool add_object(training_file *file, json_t *item, training_list *list, gb_status *status)
{
    const json_t *title = json_object_get(item, "title");
    training_passage passage = {.id = id_of(item, passage_id_keys),
                                .title = json_is_string(title) ? json_string_value(title) : "",
                                .text = json_string_value(member(item, text_keys))};
    if (!passage.id && !passage.text)
        return wrong(file, status, "a passage without \"docid\" and without \"text\"");
    const json_t *score = member(item, score_keys);
    passage.score = json_is_number(score) ? json_number_value(score) : NAN;
    return add(list, passage, status);
}

/* A passage, a list of them, or an object of lists. */
static bool add_passages(training_file *file, json_t *value, training_list *list, gb_status *status)
{
    size_t index;
    const char *key;
    json_t *item;
    if (!value || json_is_null(value))
        return true;
    if (json_is_object(value) && (member(value, passage_id_keys) || member(value, text_keys)))
        return add_object(file, value, list, status);
    if (json_is_object(value)) {
        json_object_foreach(value, key, item)
        {
            if (!add_passages(file, item, list, status))
                return false;
        }
        return true;
    }
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool is_text = file->texts;
        return add(list,
                   (training_passage){is_text ? NULL : text, is_text ? "" : NULL,
                                      is_text ? text : NULL, NAN},
                   status);
    }
    if (!json_is_array(value))
        return wrong(file, status, "passages are neither objects nor strings nor ids");
    json_array_foreach(value, index, item)
    {
        if (json_is_array(item))
            return wrong(file, status, "passages of token ids: give the file of texts");
        if (!json_is_integer(item)) {
            if (!add_passages(file, item, list, status))
                return false;
            continue;
        }
        char number[GB_JSON_NUMBER];
        json_t *string = json_string(gb_json_id(item, number)); /* the array owns it */
        json_array_set_new(value, index, string);
        if (!add(list, (training_passage){.id = json_string_value(string), .score = NAN}, status))
            return false;
    }
    return true;
}

static bool add_answers(training_file *file, gb_status *status)
{
    training_example *e = &file->example;
    json_t *answers = json_object_get(file->object, "answers"), *item;
    size_t index;
    json_array_foreach(answers, index, item)
    {
        if (!json_is_string(item))
            return wrong(file, status, "\"answers\" is not a list of strings");
        if (!gb_grow(&e->answers, &e->answer_capacity, e->answer_count + 1, sizeof *e->answers,
                     status))
            return false;
        e->answers[e->answer_count++] = json_string_value(item);
    }
    return true;
}

/* "negative_1", "negative_2", ... of mined n-tuples. */
static bool add_numbered(training_file *file, gb_status *status)
{
    for (int i = 1;; i++) {
        char key[24];
        snprintf(key, sizeof key, "negative_%d", i);
        json_t *value = json_object_get(file->object, key);
        if (!value)
            return true;
        if (!add_passages(file, value, &file->example.negatives, status))
            return false;
    }
}

/* Scores of the passages of both lists, from one of these members, if it is there. */
static bool add_scores(training_file *file, const char *key, training_list *const lists[],
                       int list_count, gb_status *status)
{
    json_t *scores = json_object_get(file->object, key), *item;
    size_t index, count = 0, first = 0;
    for (int l = 0; l < list_count; l++)
        count += lists[l]->count;
    if (!scores || json_is_null(scores))
        return true;
    if (!json_is_array(scores) || json_array_size(scores) != count)
        return gb_lines_fail(file->lines, status, "give a score for every passage",
                             "\"%s\" is not a list of %zu numbers", key, count);
    json_array_foreach(scores, index, item)
    {
        if (!json_is_number(item))
            return gb_lines_fail(file->lines, status, "give a score for every passage",
                                 "\"%s\" is not a list of %zu numbers", key, count);
        while (index - first >= lists[0]->count) { /* of the next list */
            first += lists[0]->count;
            lists++;
        }
        lists[0]->items[index - first].score = json_number_value(item);
    }
    return true;
}

static bool add_all_scores(training_file *file, gb_status *status)
{
    training_list *const lists[] = {&file->example.positives, &file->example.negatives};
    return add_scores(file, "pos_scores", lists, 1, status) &&
           add_scores(file, "neg_scores", lists + 1, 1, status) &&
           add_scores(file, "teacher_scores", lists, 2, status);
}

static bool read_object(training_file *file, gb_status *status)
{
    training_example *e = &file->example;
    json_t *query = member(file->object, query_keys);
    if (query && !json_is_string(query))
        return wrong(file, status,
                     json_is_array(query) ? "queries of token ids: give the file of texts"
                                          : "the query is not a string");
    e->query = json_string_value(query);
    e->query_id = id_of(file->object, query_id_keys);
    file->texts = e->query && !json_object_get(file->object, "positive_document_ids") &&
                  !json_object_get(file->object, "negative_document_ids");
    if (!e->query && !e->query_id)
        return wrong(file, status, "neither \"query\" nor \"query_id\"");
    json_t *hard = json_object_get(file->object, "hard_negative_ctxs");
    json_t *negatives = member(file->object, negative_keys);
    if (json_array_size(hard))
        negatives = hard;
    else if (!negatives)
        negatives = json_object_get(file->object, "negative_ctxs");
    return add_passages(file, member(file->object, positive_keys), &e->positives, status) &&
           add_passages(file, negatives, &e->negatives, status) && add_numbered(file, status) &&
           add_all_scores(file, status) && add_answers(file, status);
}

bool data_training_is_example(const json_t *object)
{
    static const char *const marks[] = {
        "negative_passages",     "hard_negative_ctxs", "neg", "negative",
        "negative_document_ids", "negative_1",         NULL};
    return member(object, positive_keys) || member(object, marks);
}

/* ---- lines with tabs ---- */

/* An id: no blank in it, and no comma. */
static bool is_id(const char *field)
{
    return *field && !strpbrk(field, " ,");
}

static bool add_ids(training_file *file, char *ids, gb_status *status)
{
    for (char *id; (id = gb_take_field(&ids, ","));)
        if (*id &&
            !add(&file->example.negatives, (training_passage){.id = id, .score = NAN}, status))
            return false;
    return file->example.negatives.count || wrong(file, status, "a query without negatives");
}

static bool is_score(const char *field, double *score)
{
    char *end;
    *score = strtod(field, &end);
    return end > field && !*end && isfinite(*score);
}

/* Five fields: ids of query, positive and negative, and the scores of both before or behind. */
static bool read_scored(training_file *file, char *const fields[5], gb_status *status)
{
    training_example *e = &file->example;
    double scores[2];
    bool before = strchr(fields[0], '.') && strchr(fields[1], '.') &&
                  is_score(fields[0], &scores[0]) && is_score(fields[1], &scores[1]);
    char *const *ids = before ? fields + 2 : fields, *const *numbers = before ? fields : fields + 3;
    if (!is_score(numbers[0], &scores[0]) || !is_score(numbers[1], &scores[1]))
        return wrong(file, status, "five fields are no three ids and two scores");
    e->query_id = ids[0];
    return add(&e->positives, (training_passage){.id = ids[1], .score = scores[0]}, status) &&
           add(&e->negatives, (training_passage){.id = ids[2], .score = scores[1]}, status);
}

static bool read_line(training_file *file, char *line, gb_status *status)
{
    training_example *e = &file->example;
    char *fields[6];
    int count = 0;
    while (line && count < 6)
        fields[count++] = gb_take_field(&line, "\t");
    if (count == 2 && is_id(fields[0])) {
        e->query_id = fields[0];
        return add_ids(file, fields[1], status);
    }
    if (count == 5)
        return read_scored(file, fields, status);
    if (count != 3)
        return wrong(file, status,
                     "neither query, positive, negative nor query id and ids, with tabs between");
    if (is_id(fields[0]) && is_id(fields[1]) && is_id(fields[2])) {
        e->query_id = fields[0];
        return add(&e->positives, (training_passage){.id = fields[1], .score = NAN}, status) &&
               add(&e->negatives, (training_passage){.id = fields[2], .score = NAN}, status);
    }
    e->query = fields[0];
    return add(&e->positives, (training_passage){NULL, "", fields[1], NAN}, status) &&
           add(&e->negatives, (training_passage){NULL, "", fields[2], NAN}, status);
}

/* ---- the file ---- */

training_file *data_training_open(gb_lines *lines, const char *path, gb_status *status)
{
    bool json;
    training_file *file =
        gb_objects_are_in(path, &json, status) ? gb_alloc(1, sizeof *file, status) : NULL;
    if (!file)
        return NULL;
    file->lines = lines;
    if (json && !(file->objects = gb_objects_open(lines, 0, status))) {
        free(file);
        return NULL;
    }
    return file;
}

int data_training_next(training_file *file, const training_example **example, gb_status *status)
{
    training_example *e = &file->example;
    e->query = e->query_id = NULL;
    e->positives.count = e->negatives.count = e->answer_count = 0;
    json_decref(file->object);
    file->object = NULL;
    int got;
    if (file->objects) {
        got = gb_objects_next(file->objects, &file->object, status);
        if (got == 1 && !read_object(file, status))
            got = -1;
    } else {
        char *line;
        size_t length;
        got = gb_lines_next_text(file->lines, &line, &length, status);
        if (got == 1 && !read_line(file, line, status))
            got = -1;
    }
    *example = e;
    return got;
}

void data_training_close(training_file *file)
{
    if (!file)
        return;
    gb_objects_close(file->objects);
    json_decref(file->object);
    free(file->example.positives.items);
    free(file->example.negatives.items);
    free(file->example.answers);
    free(file);
}
