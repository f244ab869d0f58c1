/* Import of a collection: the sink that readers fill, and the order of the work. */
#include "data/import.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A title or text as it goes into the collection. */
static bool add_text(gb_import *import, gb_row_writer *writer, const char *text, gb_status *status)
{
    size_t length = strlen(text);
    if (!import->variant.repair_encoding)
        return gb_row_writer_add(writer, text, length, status);
    import->room.length = 0;
    import->repaired += data_repair_utf8(text, length, &import->room);
    return import->room.failed
               ? gb_fail_memory(status, "repairing a text")
               : gb_row_writer_add(writer, import->room.data, import->room.length, status);
}

bool data_import_passage(gb_import *import, const gb_lines *lines, const char *id,
                         const char *title, const char *text, uint32_t document, gb_status *status)
{
    size_t length = strlen(id);
    data_import_show(import, lines);
    if (import->variant.drop_titles)
        title = "";
    if (!gb_lines_check_id(lines, id, false, status))
        return false;
    if (gb_map_get(import->passage_map, id, length) != GB_MAP_NONE)
        return gb_lines_fail(lines, status, "remove one of the two",
                             "passage id \"%.80s\" appears twice", id);
    if (import->passages == GB_MAP_NONE - 1)
        return gb_lines_fail(lines, status, NULL, "more passages than 32 bits can number");
    if (!gb_grow(&import->document, &import->document_space, (size_t)import->passages + 1,
                 sizeof *import->document, status) ||
        !gb_map_set(import->passage_map, id, length, import->passages, status) ||
        !gb_row_writer_add(import->ids, id, length, status) ||
        !add_text(import, import->titles, title, status) ||
        !add_text(import, import->texts, text, status))
        return false;
    import->document[import->passages++] = document;
    import->titled += *title != '\0';
    import->empty_texts += *text == '\0';
    return true;
}

bool data_import_query(gb_import *import, const gb_lines *lines, const char *id, const char *text,
                       gb_status *status)
{
    size_t length = strlen(id);
    data_import_show(import, lines);
    if (!gb_lines_check_id(lines, id, true, status))
        return false;
    if (gb_map_get(import->query_map, id, length) != GB_MAP_NONE)
        return gb_lines_fail(lines, status, "remove one of the two",
                             "query id \"%.80s\" appears twice", id);
    if (!gb_map_set(import->query_map, id, length, import->queries, status) ||
        !gb_row_writer_add(import->query_ids, id, length, status) ||
        !gb_row_writer_add(import->query_texts, text, strlen(text), status))
        return false;
    import->queries++;
    import->empty_queries += *text == '\0';
    return true;
}

bool data_import_check_answer(const gb_import *import, const gb_lines *lines, const char *answer,
                              size_t length, gb_status *status)
{
    if (!import->variant.regex_answers || !length)
        return true;
    gb_regex *regex = gb_regex_create(answer, length, lines, status);
    gb_regex_destroy(regex);
    return regex != NULL;
}

bool data_import_answers(gb_import *import, const gb_lines *lines, const char *query_id,
                         const char *const *answers, size_t count, gb_status *status)
{
    for (size_t i = 0; i < count; i++)
        if (!data_import_check_answer(import, lines, answers[i], strlen(answers[i]), status))
            return false;
    if (!import->answers) {
        char *path = gb_path_join(status, import->dir, "answers.tsv");
        import->answers = path ? gb_out_open(path, status) : NULL;
        free(path);
        if (!import->answers)
            return false;
    }
    FILE *stream = gb_out_stream(import->answers);
    fputs(query_id, stream);
    for (size_t i = 0; i < count; i++) {
        fputc('\t', stream);
        for (const char *at = answers[i]; *at; at++)
            fputc(strchr("\t\r\n", *at) ? ' ' : *at, stream);
    }
    fputc('\n', stream);
    return true;
}

bool data_import_corpus_done(const gb_import *import, const char *path, gb_status *status)
{
    if (import->passages == 0)
        return gb_fail(status, GB_DATA, path, "check that it was fetched whole",
                       "the collection has no passages");
    return true;
}

void data_import_note(gb_import *import, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    gb_log(GB_LOG_INFO, "%s", text);
    json_array_append_new(import->notes, json_string(text));
}

/* ---- order of the work ---- */

static bool import_begin(gb_import *import, gb_status *status)
{
    import->passage_map = gb_map_create(status);
    import->query_map = gb_map_create(status);
    import->splits = json_object();
    import->files = json_object();
    import->notes = json_array();
    if (!import->splits || !import->files || !import->notes)
        return gb_fail_memory(status, "describing the collection");
    char *qrels = gb_path_join(status, import->dir, "qrels");
    bool ok =
        import->passage_map && import->query_map && qrels && gb_make_dirs(qrels, status) &&
        (import->ids = gb_row_writer_open_in(import->dir, "passages.id.gbt", 1, status)) &&
        (import->titles = gb_row_writer_open_in(import->dir, "passages.title.gbt", 1, status)) &&
        (import->texts = gb_row_writer_open_in(import->dir, "passages.text.gbt", 1, status)) &&
        (import->query_ids = gb_row_writer_open_in(import->dir, "queries.id.gbt", 1, status)) &&
        (import->query_texts = gb_row_writer_open_in(import->dir, "queries.text.gbt", 1, status));
    free(qrels);
    return ok;
}

static bool commit(gb_row_writer **writer, gb_status *status)
{
    gb_row_writer *taken = *writer;
    *writer = NULL;
    return gb_row_writer_commit(taken, status);
}

static bool read_training(gb_import *import, const char *path, gb_status *status)
{
    bool found;
    return data_import_training(import, path, &found, status);
}

/* A file by what it looks like inside. */
static bool read_file(gb_import *import, const char *path, gb_status *status)
{
    static bool (*const readers[])(gb_import *, const char *, gb_status *) = {
        [GB_FILE_OTHER] = data_import_documents,   [GB_FILE_CORPUS] = data_import_corpus,
        [GB_FILE_CONTENTS] = data_import_pyserini, [GB_FILE_DOCUMENTS] = data_import_documents,
        [GB_FILE_TRAINING] = read_training,        [GB_FILE_DPR] = data_import_dpr,
        [GB_FILE_MSMARCO] = data_import_msmarco,   [GB_FILE_SQUAD] = data_import_squad,
        [GB_FILE_TREC] = data_import_trec,         [GB_FILE_IDS] = data_import_ids,
    };
    gb_file_kind kind;
    if (data_import_ends(path, ".csv"))
        return gb_fail(status, GB_DATA, path,
                       "save it as .tsv, with id, text or id, title, text and no heading",
                       "a table with commas is not read as a collection");
    import->kind = "JSONL corpus";
    import->structure = "none: each passage is its own document";
    return data_import_kind(path, &kind, status) && readers[kind](import, path, status);
}

/* A folder without a file of a known name: by the first file that tells. */
static bool read_by_content(gb_import *import, const char *folder, bool *found, gb_status *status)
{
    static bool (*const readers[])(gb_import *, const char *, gb_status *) = {
        [GB_FILE_CONTENTS] = data_import_pyserini,
        [GB_FILE_TRAINING] = data_import_dpr,
        [GB_FILE_SQUAD] = data_import_squad,
        [GB_FILE_TREC] = data_import_trec,
        [GB_FILE_IDS] = NULL, /* a file alone; the last kind */
    };
    gb_entries list;
    gb_file_kind kind = GB_FILE_OTHER;
    bool ok = data_import_list(folder, &list, status);
    for (size_t i = 0; ok && i < list.count && !readers[kind]; i++) {
        const char *name = list.names[i];
        if (!data_import_ends(name, ".json") && !data_import_ends(name, ".jsonl") &&
            !data_import_ends(name, ".trec"))
            continue;
        char *path = gb_path_join(status, folder, name);
        ok = path && data_import_kind(path, &kind, status);
        free(path);
    }
    gb_entries_free(&list);
    *found = readers[kind] != NULL;
    return ok && (!*found || readers[kind](import, folder, status));
}

/* Tell the layout by what lies at the path. *known is false, and nothing is read, where no layout
 * is told by it. */
static bool read_known(gb_import *import, const char *path, bool *known, gb_status *status)
{
    *known = true;
    if (!gb_dir_exists(path))
        return read_file(import, path, status);
    static const struct {
        const char *name;                                     /* file that tells the layout */
        bool (*read)(gb_import *, const char *, gb_status *); /* its reader; takes the folder */
    } layouts[] = {
        {"psgs_w100.tsv", data_import_dpr},      {"corpus.jsonl", data_import_beir},
        {"collection.tsv", data_import_msmarco}, {"msmarco-docs.tsv", data_import_msmarco},
        {"para.txt", data_import_rocketqa},      {"documents.jsonl", data_import_documents}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char *found;
        if (!gb_unpack_find(path, layouts[i].name, &found, status))
            return false;
        free(found);
        if (found)
            return layouts[i].read(import, path, status);
    }
    return read_by_content(import, path, known, status);
}

static bool fail_unknown(const char *folder, gb_status *status)
{
    return gb_fail(
        status, GB_DATA, folder,
        "expected corpus.jsonl, collection.tsv, msmarco-docs.tsv, *.trec, psgs_w100.tsv, "
        "para.txt, documents.jsonl, SQuAD's JSON, or JSON of {\"id\", \"contents\"} or "
        "of training examples, plain, .gz or .zst; docs/reference/formats.md has an example",
        "no collection in this folder");
}

static bool read_path(gb_import *import, const char *path, gb_status *status)
{
    bool known;
    return read_known(import, path, &known, status) && (known || fail_unknown(path, status));
}

/* The only file or folder in a folder, or the folder itself. */
static char *only_entry(const char *folder, gb_status *status)
{
    gb_entries list;
    if (!data_import_list(folder, &list, status))
        return NULL;
    char *path =
        list.count == 1 ? gb_path_join(status, folder, list.names[0]) : gb_strdup(folder, status);
    gb_entries_free(&list);
    return path;
}

/* What was unpacked, with what lies beside the archive. A lone file whose name tells no layout is
 * read as if it were given itself. */
static bool read_unpacked(gb_import *import, const char *folder, const char *inside,
                          const char *beside, gb_status *status)
{
    bool file = !gb_dir_exists(inside);
    if (!beside)
        return read_path(import, inside, status);
    const char *both = file ? folder : inside;
    bool known;
    if (!data_import_link_files(beside, both, status) || !read_known(import, both, &known, status))
        return false;
    if (known)
        return true;
    return file ? read_path(import, inside, status) : fail_unknown(both, status);
}

/* An archive is read as what it holds, with what lies beside it in `beside` (or NULL). */
static bool read_archive(gb_import *import, const char *path, const char *beside, gb_status *status)
{
    char *folder = gb_path_join(status, import->dir, "unpacked");
    bool ok = folder && data_import_unarchive(path, folder, status);
    char *inside = ok ? only_entry(folder, status) : NULL;
    ok = inside && read_unpacked(import, folder, inside, beside, status) &&
         gb_remove_tree(folder, status);
    free(inside);
    free(folder);
    return ok;
}

/* The one archive of a folder, as it is fetched; *path is NULL where there is none or more. */
static bool find_archive(const char *folder, char **path, gb_status *status)
{
    gb_entries list;
    *path = NULL;
    if (!data_import_list(folder, &list, status))
        return false;
    size_t found = list.count, count = 0;
    for (size_t i = 0; i < list.count; i++)
        if (data_import_is_archive(list.names[i])) {
            found = i;
            count++;
        }
    bool ok = count != 1 || (*path = gb_path_join(status, folder, list.names[found])) != NULL;
    gb_entries_free(&list);
    return ok;
}

static bool import_read(gb_import *import, gb_status *status)
{
    const char *path = import->params->path;
    if (import->variant.cut)
        return data_import_cut(import, status);
    if (!gb_dir_exists(path))
        return data_import_is_archive(path) ? read_archive(import, path, NULL, status)
                                            : read_path(import, path, status);
    char *archive = NULL;
    bool known;
    if (!read_known(import, path, &known, status))
        return false;
    if (known)
        return true;
    if (!find_archive(path, &archive, status))
        return false;
    if (!archive)
        return fail_unknown(path, status);
    bool ok = read_archive(import, archive, path, status);
    free(archive);
    return ok;
}

static json_t *describe_generated(const gb_import *import, const gb_generated_counts *counts)
{
    json_t *json = json_object();
    json_object_set_new(json, "queries", json_integer((json_int_t)counts->queries));
    json_object_set_new(json, "fewest_per_passage", json_integer(counts->least));
    json_object_set_new(json, "most_per_passage", json_integer(counts->most));
    json_object_set_new(json, "passages_without", json_integer(counts->without));
    if (!import->params->queries)
        json_object_set_new(json, "seed", json_integer((json_int_t)import->params->seed));
    return json;
}

/* The last part of a path, for names that must not depend on where a folder lies. */
static char *last_part(const char *path, gb_status *status)
{
    size_t length;
    const char *name = gb_path_name(path, &length);
    return gb_format(status, "%.*s", (int)length, name);
}

static bool import_describe(gb_import *import, const gb_generated_counts *counts, gb_status *status)
{
    const gb_import_params *params = import->params;
    char *name = last_part(params->path, status);
    char *file = params->queries ? last_part(params->queries, status) : NULL;
    char *path = gb_path_join(status, import->dir, "collection.json");
    json_t *json = name && path && (file || !params->queries) ? json_object() : NULL;
    bool ok = false;
    if (json) {
        char generator[200];
        snprintf(generator, sizeof generator, "file %s", file ? file : "");
        json_object_set_new(json, "name", json_string(name));
        json_object_set_new(json, "source", json_string(import->kind));
        json_object_set(json, "files", import->files);
        json_object_set_new(json, "passages", json_integer(import->passages));
        json_object_set_new(json, "documents", json_integer(import->documents));
        json_object_set_new(json, "document_structure", json_string(import->structure));
        if (import->paragraphs)
            json_object_set_new(json, "paragraphs", json_integer(import->paragraphs));
        json_object_set_new(json, "queries", json_integer(import->queries));
        json_object_set_new(json, "title_join", json_string(import->titled ? "space" : "none"));
        json_object_set_new(json, "passages_with_title", json_integer((json_int_t)import->titled));
        if (import->variant.drop_titles)
            json_object_set_new(json, "titles", json_string("dropped"));
        if (import->variant.repair_encoding)
            json_object_set_new(json, "encoding", json_string("repaired"));
        if (import->variant.regex_answers)
            json_object_set_new(json, "answers", json_string("regex"));
        json_object_set_new(json, "empty_texts", json_integer((json_int_t)import->empty_texts));
        json_object_set(json, "splits", import->splits);
        json_object_set_new(json, "generator",
                            json_string(file                ? generator
                                        : import->generated ? "questions of people"
                                                            : "extractive"));
        json_object_set_new(json, "generated", describe_generated(import, counts));
        json_object_set(json, "notes", import->notes);
        ok = gb_json_save(json, GB_JSON_DESCRIPTION, path, status);
    } else if (status && status->code == GB_OK) {
        gb_fail_memory(status, "describing the collection");
    }
    json_decref(json);
    free(name);
    free(file);
    free(path);
    return ok;
}

static bool read_generated(gb_import *import, gb_generated_counts *counts, gb_status *status)
{
    const char *given = import->params->queries;
    if (given && data_generated_is_lines(given))
        return data_generated_lines(import->dir, given, import->passages, counts, status);
    bool ok = data_generated_read(import->dir, given ? given : import->generated,
                                  import->passage_map, counts, status);
    if (import->generated)
        remove(import->generated);
    return ok;
}

static bool commit_answers(gb_import *import, gb_status *status)
{
    gb_out *out = import->answers;
    import->answers = NULL;
    if (out && !gb_out_commit(out, status))
        return false;
    char *path = gb_path_join(status, import->dir, "answers.tsv");
    bool missing = path && import->variant.regex_answers && !gb_file_exists(path);
    bool ok = path && (!missing || gb_fail(status, GB_DATA, import->params->path,
                                           "add answers.tsv, or leave --answers out",
                                           "the source has no answers"));
    free(path);
    return ok;
}

static bool import_run(gb_import *import, gb_status *status)
{
    const gb_import_params *params = import->params;
    gb_generated_counts counts = {0};
    if (!import_begin(import, status) || !import_read(import, status))
        return false;
    data_import_files_done(import);
    if (import->empty_texts)
        data_import_note(import, "%llu of %u passages have no text",
                         (unsigned long long)import->empty_texts, import->passages);
    if (import->empty_queries)
        data_import_note(import, "%llu of %u queries have no text",
                         (unsigned long long)import->empty_queries, import->queries);
    if (import->variant.repair_encoding)
        data_import_note(import, "%llu titles and texts were encoded twice and are repaired",
                         (unsigned long long)import->repaired);
    bool held_out = import->queries == 0 && !params->keep_splits;
    return commit(&import->ids, status) && commit(&import->titles, status) &&
           commit(&import->texts, status) && data_import_group(import, status) &&
           (params->keep_splits || data_import_make_train(import, status)) &&
           (params->queries || import->generated
                ? read_generated(import, &counts, status)
                : data_generated_extract(import->dir, import->dir,
                                         params->queries_per_passage + held_out, params->seed,
                                         &counts, status)) &&
           (!held_out || data_import_hold_out(import, &counts, status)) &&
           commit(&import->query_ids, status) && commit(&import->query_texts, status) &&
           commit_answers(import, status) && import_describe(import, &counts, status);
}

static void import_free(gb_import *import)
{
    gb_row_writer_abandon(import->ids);
    gb_row_writer_abandon(import->titles);
    gb_row_writer_abandon(import->texts);
    gb_row_writer_abandon(import->query_ids);
    gb_row_writer_abandon(import->query_texts);
    gb_map_destroy(import->passage_map);
    gb_map_destroy(import->query_map);
    gb_map_destroy(import->questions);
    gb_map_destroy(import->own_texts);
    gb_map_destroy(import->id_texts);
    gb_out_abandon(import->answers);
    gb_text_free(&import->room);
    json_decref(import->splits);
    json_decref(import->files);
    json_decref(import->notes);
    free(import->document);
    free(import->generated);
    free(import->dir);
}

bool gb_collection_import(const gb_import_params *params, const char *out_dir, gb_status *status)
{
    const gb_import_variant as_it_is = {0};
    return gb_collection_import_as(params, &as_it_is, out_dir, status);
}

bool gb_collection_import_as(const gb_import_params *params, const gb_import_variant *variant,
                             const char *out_dir, gb_status *status)
{
    gb_import_params filled = *params;
    if (filled.queries_per_passage == 0)
        filled.queries_per_passage = 5;
    filled.keep_splits |= variant->cut;
    gb_import import = {.params = &filled, .variant = *variant};
    import.dir = gb_draft_create(out_dir, "collection.json", status);
    if (!import.dir)
        return false;
    bool ok = gb_draft_end(import.dir, import_run(&import, status), out_dir, status);
    import.dir = NULL;
    import_free(&import);
    return ok;
}
