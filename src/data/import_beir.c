/* BEIR folders: corpus.jsonl, queries.jsonl, qrels/<split>.tsv; plain or packed. The corpora of
 * Tevatron ("docid", "text" or "document_text") and FlagEmbedding ("id") lie there as well, with
 * training files or <split>_queries.jsonl in the place of queries.jsonl. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

static const char *or_else(const json_t *object, const char *key, const char *other)
{
    return json_object_get(object, key) || !json_object_get(object, other) ? key : other;
}

static bool take_passage(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    char number[GB_JSON_NUMBER];
    const char *id =
        data_jsonl_id(lines, object, or_else(object, "_id", "docid"), "id", number, status);
    const char *title = id ? data_jsonl_string(lines, object, "title", true, status) : NULL;
    const char *key = or_else(object, "text", "document_text");
    const char *text = title ? data_jsonl_string(lines, object, key, false, status) : NULL;
    return text && data_import_passage(ctx, lines, id, title, text, GB_MAP_NONE, status);
}

bool data_import_corpus(gb_import *import, const char *path, gb_status *status)
{
    return gb_jsonl_each(data_import_open(import, path, status), take_passage, import, status) &&
           data_import_corpus_done(import, path, status);
}

static bool take_query(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    char number[GB_JSON_NUMBER];
    const char *id =
        data_jsonl_id(lines, object, or_else(object, "_id", "query_id"), "id", number, status);
    const char *key = or_else(object, "text", "query");
    const char *text = id ? data_jsonl_string(lines, object, key, false, status) : NULL;
    return text && data_import_query(ctx, lines, id, text, status);
}

/* All .tsv files of qrels/ in the order of their names, train first; of a split that is packed in
 * two ways the first. */
static bool read_qrels_folder(gb_import *import, const char *folder, gb_status *status)
{
    gb_entries list;
    if (!data_import_list(folder, &list, status))
        return false;
    bool ok = true;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < list.count && ok; i++) {
            const char *name = list.names[i];
            if (!data_import_ends(name, ".tsv"))
                continue;
            int length = (int)(gb_unpack_stem(name) - strlen(".tsv"));
            bool train = length == 5 && strncmp(name, "train", 5) == 0;
            if (train != (pass == 0))
                continue;
            char *path = gb_path_join(status, folder, name);
            char *split = path ? gb_format(status, "%.*s", length, name) : NULL;
            ok = split && (json_object_get(import->splits, split) ||
                           data_import_qrels(import, path, split, status));
            free(path);
            free(split);
        }
    }
    gb_entries_free(&list);
    return ok;
}

/* A line of answers.tsv: query-id, then answers, separated by tabs. `met`: queries before. */
static bool copy_answer(const gb_import *import, const gb_lines *lines, const char *line,
                        gb_map *met, FILE *out, gb_status *status)
{
    size_t id = strcspn(line, "\t");
    int shown = (int)(id < 80 ? id : 80);
    if (!line[id])
        return gb_lines_fail(lines, status, "lines are \"query-id<TAB>answer<TAB>answer...\"",
                             "query \"%.*s\" has no answer", shown, line);
    if (gb_map_get(met, line, id) != GB_MAP_NONE)
        return gb_lines_fail(lines, status, "put them on one line",
                             "query \"%.*s\" has two lines of answers", shown, line);
    for (const char *at = line + id; *at;) {
        size_t length = strcspn(++at, "\t");
        if (!data_import_check_answer(import, lines, at, length, status))
            return false;
        at += length;
    }
    fprintf(out, "%s\n", line);
    return gb_map_set(met, line, id, 1, status);
}

/* Lines of unknown queries are an error, or left out where judgements of unknown ids are. */
static bool copy_answers(gb_import *import, gb_lines *lines, FILE *out, gb_status *status)
{
    char *line;
    size_t length;
    uint64_t skipped = 0;
    gb_map *met = gb_map_create(status);
    int got = met ? 1 : -1;
    while (got == 1 && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        size_t id = strcspn(line, "\t");
        bool known = gb_map_get(import->query_map, line, id) != GB_MAP_NONE, ok = true;
        if (known)
            ok = copy_answer(import, lines, line, met, out, status);
        else if (import->params->skip_unknown_qrels)
            skipped++;
        else
            ok = gb_lines_fail(lines, status, "see --skip-unknown-qrels",
                               "answers of an unknown query \"%.*s\"", (int)(id < 80 ? id : 80),
                               line);
        got = ok ? 1 : -1;
    }
    gb_map_destroy(met);
    if (skipped)
        data_import_note(import, "answers of %llu unknown queries skipped",
                         (unsigned long long)skipped);
    return got == 0;
}

static bool read_answers(gb_import *import, const char *folder, gb_status *status)
{
    char *path, *to = gb_path_join(status, import->dir, "answers.tsv");
    if (!to || !gb_unpack_find(folder, "answers.tsv", &path, status)) {
        free(to);
        return false;
    }
    gb_lines *lines = path ? data_import_open(import, path, status) : NULL;
    gb_out *out = lines ? gb_out_open(to, status) : NULL;
    bool ok = !path || (out && copy_answers(import, lines, gb_out_stream(out), status));
    if (out && ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    gb_lines_close(lines);
    free(path);
    free(to);
    return ok;
}

/* A source without queries may not judge any: the file of queries has another name, then. */
static bool refuse_judgements(const char *folder, gb_status *status)
{
    gb_entries list = {0};
    char *qrels = gb_path_join(status, folder, "qrels");
    bool ok = qrels && data_import_list(qrels, &list, status);
    for (size_t i = 0; ok && i < list.count; i++)
        if (data_import_ends(list.names[i], ".tsv"))
            ok = gb_fail(status, GB_DATA, folder,
                         "name the file of queries queries.jsonl, or take the judgements away",
                         "qrels/%.100s judges queries, and there is no queries.jsonl",
                         list.names[i]);
    gb_entries_free(&list);
    free(qrels);
    return ok;
}

bool data_import_beir_queries(gb_import *import, const char *folder, gb_status *status)
{
    char *queries;
    if (!gb_unpack_find(folder, "queries.jsonl", &queries, status))
        return false;
    bool found = false;
    if (!queries && (!data_import_flag_splits(import, folder, &found, status) ||
                     (!found && !data_import_training(import, folder, &found, status))))
        return false;
    if (!queries && !found) {
        if (!refuse_judgements(folder, status))
            return false;
        data_import_note(import, "the source has no queries.jsonl: no queries, no splits");
    }
    if (!queries)
        return true;
    bool ok = gb_jsonl_each(data_import_open(import, queries, status), take_query, import, status);
    free(queries);
    char *qrels = ok ? gb_path_join(status, folder, "qrels") : NULL;
    ok = qrels && read_qrels_folder(import, qrels, status) && read_answers(import, folder, status);
    free(qrels);
    if (ok && import->queries && !json_object_size(import->splits))
        data_import_note(import, "there is no qrels/SPLIT.tsv (query-id, corpus-id, score): "
                                 "nobody says which passages answer the queries");
    return ok;
}

bool data_import_beir(gb_import *import, const char *folder, gb_status *status)
{
    import->kind = "BEIR folder";
    import->structure = "none: each passage is its own document";
    char *corpus, *documents = NULL;
    if (!gb_unpack_find(folder, "corpus.jsonl", &corpus, status))
        return false;
    bool ok = data_import_corpus(import, corpus, status) &&
              gb_unpack_find(folder, "documents.jsonl", &documents, status) &&
              (!documents || data_import_structure(import, documents, status)) &&
              data_import_beir_queries(import, folder, status);
    free(corpus);
    free(documents);
    return ok;
}
