/* Pyserini's collections: JSON objects {"id", "contents"}, one a line or in an array, in one file
 * or a folder of them; "title\ntext" in contents. Queries and judgements lie beside them as MS
 * MARCO's do, or as topics.<split>.tsv. */
#include "data/import.h"
#include "data/training.h"

#include <stdlib.h>
#include <string.h>

static bool take_passage(gb_import *import, const gb_lines *lines, json_t *object,
                         gb_status *status)
{
    char number[GB_JSON_NUMBER];
    const char *id = data_jsonl_id(lines, object, "id", "_id", number, status);
    const char *contents = id ? data_jsonl_string(lines, object, "contents", false, status) : NULL;
    if (!contents)
        return false;
    const char *end = strchr(contents, '\n');
    char *title = gb_format(status, "%.*s", (int)(end ? end - contents : 0), contents);
    bool ok = title && data_import_passage(import, lines, id, title, end ? end + 1 : contents,
                                           GB_MAP_NONE, status);
    free(title);
    return ok;
}

static bool read_file(gb_import *import, const char *path, gb_status *status)
{
    gb_lines *lines = data_import_open(import, path, status);
    gb_objects *objects = lines ? gb_objects_open(lines, 0, status) : NULL;
    json_t *object;
    int got = objects ? 1 : -1;
    while (got == 1 && (got = gb_objects_next(objects, &object, status)) == 1) {
        if (!take_passage(import, lines, object, status))
            got = -1;
        json_decref(object);
    }
    gb_objects_close(objects);
    gb_lines_close(lines);
    return got == 0;
}

bool data_import_pyserini(gb_import *import, const char *path, gb_status *status)
{
    import->kind = "Pyserini JSON";
    import->structure = "none: each passage is its own document";
    if (!gb_dir_exists(path))
        return read_file(import, path, status) && data_import_corpus_done(import, path, status);
    gb_entries list;
    bool ok = data_import_list(path, &list, status);
    for (size_t i = 0; ok && i < list.count; i++) {
        gb_file_kind kind = GB_FILE_OTHER;
        const char *name = list.names[i];
        char *file = gb_path_join(status, path, name);
        if (data_import_ends(name, ".json") || data_import_ends(name, ".jsonl"))
            ok = file && data_import_kind(file, &kind, status);
        ok = file && ok && (kind != GB_FILE_CONTENTS || read_file(import, file, status));
        free(file);
    }
    gb_entries_free(&list);
    return ok && data_import_corpus_done(import, path, status) &&
           data_import_msmarco_splits(import, path, status);
}
