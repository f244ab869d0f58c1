/* DPR's files: psgs_w100.tsv (id, text, title; quoted as Python's csv module does), questions with
 * answers (<set>-<split>.qa.csv) and retriever training files, which training.h describes. */
#include "data/import.h"
#include "data/training.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ANSWERS = 4096 }; /* of a question; TriviaQA's have some hundred */

static bool read_passages(gb_import *import, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(import, path, status);
    gb_text room = {0};
    char *fields[4];
    int got = lines ? 1 : -1;
    while (got > 0 && (got = data_quoted_next(lines, &room, fields, 4, status)) > 0) {
        if (got == 3 && gb_lines_number(lines) == 1 && !strcmp(fields[0], "id"))
            continue; /* the header */
        if (got != 3) {
            gb_lines_fail(lines, status, "expected id, text, title with tabs between",
                          "line of %d column%s", got, got == 1 ? "" : "s");
            got = -1;
        } else if (!data_import_passage(import, lines, fields[0], fields[2], fields[1], GB_MAP_NONE,
                                        status)) {
            got = -1;
        }
    }
    gb_text_free(&room);
    gb_lines_close(lines);
    return got == 0 && data_import_corpus_done(import, path, status);
}

/* ---- questions ---- */

/* Questions of a split: those not known yet join the collection. */
typedef struct asking {
    gb_import *import;    /* the collection */
    gb_named_split split; /* of the file */
    gb_out *ids;          /* questions/<split>.txt */
    uint32_t added;       /* questions in it */
    const char **answers; /* [MOST_ANSWERS] room */
} asking;

static bool take_question(asking *a, const gb_lines *lines, char *const fields[3], int count,
                          gb_status *status)
{
    static const char hint[] = "expected a question, a tab, and ['answer', \"answer\"]";
    char id[40];
    bool known;
    if (count != 2)
        return gb_lines_fail(lines, status, hint, "line of %d column%s", count,
                             count == 1 ? "" : "s");
    int answers = data_python_strings(fields[1], a->answers, MOST_ANSWERS);
    if (answers < 1)
        return gb_lines_fail(lines, status, hint,
                             answers ? "the answers are no list of strings"
                                     : "a question without answers");
    if (!data_import_question(a->import, a->split, fields[0], id, &known, status))
        return false;
    if (known)
        return true;
    fprintf(gb_out_stream(a->ids), "%s\n", id);
    a->added++;
    return data_import_query(a->import, lines, id, fields[0], status) &&
           data_import_answers(a->import, lines, id, a->answers, (size_t)answers, status);
}

static bool read_questions(asking *a, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(a->import, path, status);
    gb_text room = {0};
    char *fields[3];
    int got = lines ? 1 : -1;
    while (got > 0 && (got = data_quoted_next(lines, &room, fields, 3, status)) > 0)
        if (!take_question(a, lines, fields, got, status))
            got = -1;
    gb_text_free(&room);
    gb_lines_close(lines);
    return got == 0;
}

/* The split's entry in collection.json, and its judgements where it has none: the header alone. */
static bool describe(const asking *a, gb_status *status)
{
    const char *split = gb_split_names[a->split];
    json_t *json = json_object_get(a->import->splits, split);
    if (!json) {
        gb_qrels_counts counts = {.queries = a->added};
        gb_out *out = data_import_split_open(a->import, split, status);
        if (!out || !gb_out_commit(out, status))
            return false;
        data_import_split_done(a->import, split, &counts);
        json = json_object_get(a->import->splits, split);
    }
    json_object_set_new(json, "questions", json_integer(a->added));
    return true;
}

bool data_import_questions(gb_import *import, const char *folder, gb_status *status)
{
    gb_entries list;
    if (!data_import_list(folder, &list, status))
        return false;
    char *dir = gb_path_join(status, import->dir, "questions");
    const char **answers = dir ? gb_alloc(MOST_ANSWERS, sizeof *answers, status) : NULL;
    bool ok = answers != NULL;
    for (int split = 0; ok && split < 3; split++) {
        asking a = {.import = import, .split = (gb_named_split)split, .answers = answers};
        for (size_t i = 0; ok && i < list.count; i++) {
            if (!data_import_ends(list.names[i], ".qa.csv") ||
                (int)data_import_named_split(list.names[i]) != split)
                continue;
            char *out = gb_format(status, "%s/%s.txt", dir, gb_split_names[split]);
            char *path = gb_path_join(status, folder, list.names[i]);
            ok = out && path && gb_make_dirs(dir, status) &&
                 (a.ids || (a.ids = gb_out_open(out, status))) && read_questions(&a, path, status);
            free(out);
            free(path);
        }
        if (a.ids && ok)
            ok = gb_out_commit(a.ids, status) && describe(&a, status);
        else
            gb_out_abandon(a.ids);
    }
    free(answers);
    free(dir);
    gb_entries_free(&list);
    return ok;
}

bool data_import_dpr(gb_import *import, const char *path, gb_status *status)
{
    bool found;
    import->kind = "DPR's files";
    import->structure = "none: each passage is its own document";
    if (!gb_dir_exists(path))
        return read_passages(import, path, status);
    char *passages;
    if (!gb_unpack_find(path, "psgs_w100.tsv", &passages, status))
        return false;
    bool ok = (!passages || read_passages(import, passages, status)) &&
              data_import_training(import, path, &found, status) &&
              data_import_questions(import, path, status);
    free(passages);
    return ok;
}
