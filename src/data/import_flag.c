/* FlagEmbedding's evaluation sets: <split>_queries.jsonl {"id", "text"} and <split>_qrels.jsonl
 * {"qid", "docid", "relevance"} beside a corpus.jsonl. */
#include "data/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool take_query(gb_import *import, const gb_lines *lines, json_t *object, void *context,
                       gb_status *status)
{
    (void)context;
    char number[24];
    const char *id = gb_jsonl_id(lines, object, "id", "_id", number, status);
    const char *text = id ? gb_jsonl_string(lines, object, "text", false, status) : NULL;
    return text && gb_import_query(import, lines, id, text, status);
}

static bool take_judgement(gb_import *import, const gb_lines *lines, json_t *object, void *context,
                           gb_status *status)
{
    char query[24], passage[24];
    const json_t *grade = json_object_get(object, "relevance");
    gb_qrel_line line = {.query = gb_jsonl_id(lines, object, "qid", NULL, query, status)};
    if (!line.query || !(line.passage = gb_jsonl_id(lines, object, "docid", NULL, passage, status)))
        return false;
    double value = json_number_value(grade);
    if (!json_is_number(grade) || !(fabs(value) <= GB_MOST_GRADE) || value != (int32_t)value)
        return gb_lines_fail(lines, status, "expected {\"qid\", \"docid\", \"relevance\"}",
                             "\"relevance\" is not a whole number from -%d to %d", GB_MOST_GRADE,
                             GB_MOST_GRADE);
    line.grade = (int32_t)value;
    return gb_import_judge(import, lines, context, &line, status);
}

static bool each_line(gb_import *import, const char *folder, const char *name,
                      bool (*take)(gb_import *, const gb_lines *, json_t *, void *, gb_status *),
                      void *context, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_lines *lines = path ? gb_import_open(import, path, status) : NULL;
    json_t *object;
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_jsonl_next(lines, &object, status)) == 1) {
        if (!take(import, lines, object, context, status))
            got = -1;
        json_decref(object);
    }
    gb_lines_close(lines);
    free(path);
    return got == 0;
}

bool gb_import_flag_splits(gb_import *import, const char *folder, bool *found, gb_status *status)
{
    gb_import_names list;
    *found = false;
    bool ok = gb_import_list(folder, &list, status);
    for (size_t i = 0; ok && i < list.count; i++)
        if (gb_import_ends(list.names[i], "_queries.jsonl")) {
            *found = true;
            ok = each_line(import, folder, list.names[i], take_query, NULL, status);
        }
    for (size_t i = 0; ok && *found && i < list.count; i++) {
        if (!gb_import_ends(list.names[i], "_qrels.jsonl"))
            continue;
        char split[80];
        gb_import_judging judging = {0};
        snprintf(split, sizeof split, "%.*s",
                 (int)(gb_import_stem(list.names[i]) - strlen("_qrels.jsonl")), list.names[i]);
        ok = gb_import_judge_open(import, split, &judging, status) &&
             each_line(import, folder, list.names[i], take_judgement, &judging, status);
        ok = gb_import_judge_close(import, &judging, ok, status);
    }
    gb_import_names_free(&list);
    return ok;
}
