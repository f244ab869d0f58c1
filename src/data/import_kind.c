/* What a file is, by its name and its first object or line. */
#include "data/import.h"
#include "data/training.h"

#include <string.h>

static gb_file_kind object_kind(const json_t *object)
{
    if (data_import_is_ids(object))
        return GB_FILE_IDS;
    if (data_training_is_example(object))
        return GB_FILE_TRAINING;
    if (json_object_get(object, "passages"))
        return GB_FILE_DOCUMENTS;
    if (json_object_get(object, "contents"))
        return GB_FILE_CONTENTS;
    return json_object_get(object, "docid") ? GB_FILE_CORPUS : GB_FILE_DOCUMENTS;
}

static bool table_kind(const char *path, gb_file_kind *kind, gb_status *status)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *line;
    size_t length;
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    int got = gb_lines_next(lines, &line, &length, status);
    if (got == 1 && !strcmp(line, "id\ttext\ttitle"))
        *kind = GB_FILE_DPR;
    else if (strstr(name, "triples") || strstr(name, "negatives"))
        *kind = GB_FILE_TRAINING;
    else
        *kind = GB_FILE_MSMARCO;
    gb_lines_close(lines);
    return got >= 0;
}

/* Does the file begin as SQuAD's do: {"data": [ or {"version": "1.1", "data": [? Over any lines. */
static bool begins_as_squad(const char *path, bool *squad, gb_status *status)
{
    char head[100], *line;
    size_t length, have = 0;
    gb_lines *lines = gb_lines_open(path, status);
    int got = lines ? 1 : -1;
    while (got == 1 && have < sizeof head - 1 && (have == 0 || head[0] == '{') &&
           (got = gb_lines_next(lines, &line, &length, status)) == 1)
        for (size_t i = 0; i < length && have < sizeof head - 1; i++)
            if (!strchr(" \t\r", line[i]))
                head[have++] = line[i];
    gb_lines_close(lines);
    head[have] = '\0';
    static const char version[] = "{\"version\":", data[] = "{\"data\":[";
    const char *comma = strncmp(head, version, strlen(version)) ? NULL : strchr(head, ',');
    *squad = comma ? !strncmp(comma + 1, data + 1, strlen(data + 1))
                   : !strncmp(head, data, strlen(data));
    return got >= 0;
}

/* BEIR's file of passages, given alone. */
static bool is_corpus_by_name(const char *path)
{
    static const char corpus[] = "corpus.jsonl";
    size_t length;
    const char *name = gb_path_name(path, &length);
    return gb_unpack_stem(name) == strlen(corpus) && !strncmp(name, corpus, strlen(corpus));
}

bool data_import_kind(const char *path, gb_file_kind *kind, gb_status *status)
{
    *kind = GB_FILE_OTHER;
    if (data_import_ends(path, ".trec")) {
        *kind = GB_FILE_TREC;
        return true;
    }
    if (data_import_ends(path, ".tsv"))
        return table_kind(path, kind, status);
    bool squad;
    if (!begins_as_squad(path, &squad, status))
        return false;
    if (squad) {
        *kind = GB_FILE_SQUAD;
        return true;
    }
    json_t *first;
    if (!gb_objects_first(path, &first, status))
        return false;
    if (first)
        *kind = object_kind(first);
    if (*kind == GB_FILE_DOCUMENTS && is_corpus_by_name(path))
        *kind = GB_FILE_CORPUS;
    json_decref(first);
    return true;
}
