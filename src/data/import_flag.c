/* FlagEmbedding's evaluation sets: <split>_queries.jsonl {"id", "text"} and <split>_qrels.jsonl
 * {"qid", "docid", "relevance"} beside a corpus.jsonl. */
#include "data/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool take_query(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    char number[GB_JSON_NUMBER];
    const char *id = data_jsonl_id(lines, object, "id", "_id", number, status);
    const char *text = id ? data_jsonl_string(lines, object, "text", false, status) : NULL;
    return text && data_import_query(ctx, lines, id, text, status);
}

/* Judgements of a split. */
typedef struct judge {
    gb_import *import;         /* that knows the ids */
    gb_import_judging judging; /* where they go */
} judge;

static bool take_judgement(void *ctx, const gb_lines *lines, const json_t *object,
                           gb_status *status)
{
    judge *j = ctx;
    char query[24], passage[24];
    const json_t *grade = json_object_get(object, "relevance");
    gb_qrel_line line = {.query = data_jsonl_id(lines, object, "qid", NULL, query, status)};
    if (!line.query ||
        !(line.passage = data_jsonl_id(lines, object, "docid", NULL, passage, status)))
        return false;
    double value = json_number_value(grade);
    if (!json_is_number(grade) || !(fabs(value) <= GB_MOST_GRADE) || value != (int32_t)value)
        return gb_lines_fail(lines, status, "expected {\"qid\", \"docid\", \"relevance\"}",
                             "\"relevance\" is not a whole number from -%d to %d", GB_MOST_GRADE,
                             GB_MOST_GRADE);
    line.grade = (int32_t)value;
    return data_import_judge(j->import, lines, &j->judging, &line, status);
}

static bool each_line(gb_import *import, const char *folder, const char *name, gb_jsonl_take *take,
                      void *ctx, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_lines *lines = path ? data_import_open(import, path, status) : NULL;
    free(path);
    return gb_jsonl_each(lines, take, ctx, status);
}

bool data_import_flag_splits(gb_import *import, const char *folder, bool *found, gb_status *status)
{
    gb_entries list;
    *found = false;
    bool ok = data_import_list(folder, &list, status);
    for (size_t i = 0; ok && i < list.count; i++)
        if (data_import_ends(list.names[i], "_queries.jsonl")) {
            *found = true;
            ok = each_line(import, folder, list.names[i], take_query, import, status);
        }
    for (size_t i = 0; ok && *found && i < list.count; i++) {
        if (!data_import_ends(list.names[i], "_qrels.jsonl"))
            continue;
        char split[80];
        judge j = {.import = import};
        snprintf(split, sizeof split, "%.*s",
                 (int)(gb_unpack_stem(list.names[i]) - strlen("_qrels.jsonl")), list.names[i]);
        ok = data_import_judge_open(import, split, &j.judging, status) &&
             each_line(import, folder, list.names[i], take_judgement, &j, status);
        ok = data_import_judge_close(import, &j.judging, ok, status);
    }
    gb_entries_free(&list);
    return ok;
}
