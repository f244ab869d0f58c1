/* Documents: JSONL of multi-passage documents or of long texts, and the structure that a
 * documents.jsonl gives to a corpus. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool read_given_passages(gb_import *import, const gb_lines *lines, const char *title,
                                const json_t *passages, uint32_t document, gb_status *status)
{
    size_t index;
    json_t *passage;
    if (!json_is_array(passages) || json_array_size(passages) == 0)
        return gb_lines_fail(lines, status, NULL, "\"passages\" is not a list of passages");
    json_array_foreach(passages, index, passage)
    {
        char number[GB_JSON_NUMBER];
        const char *id = data_jsonl_id(lines, passage, "id", "_id", number, status);
        const char *text = id ? data_jsonl_string(lines, passage, "text", false, status) : NULL;
        if (!text || !data_import_passage(import, lines, id, title, text, document, status))
            return false;
    }
    return true;
}

/* ctx: a gb_import_cutter. */
static bool take_document(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    gb_import_cutter *cut = ctx;
    char number[GB_JSON_NUMBER];
    const char *id = data_jsonl_id(lines, object, "id", "_id", number, status);
    const char *title = id ? data_jsonl_string(lines, object, "title", true, status) : NULL;
    if (!title)
        return false;
    uint32_t document = cut->import->documents++;
    const json_t *passages = json_object_get(object, "passages");
    if (passages)
        return read_given_passages(cut->import, lines, title, passages, document, status);
    const char *text = data_jsonl_string(lines, object, "text", false, status);
    if (!text || !data_import_cut_text(cut, lines, id, title, text, document, status))
        return false;
    return cut->spans || gb_lines_fail(lines, status, NULL, "document \"%.80s\" has no text", id);
}

static bool read_documents(gb_import *import, const char *path, gb_status *status)
{
    gb_import_cutter cut = data_import_cutter_of(import);
    bool ok = gb_jsonl_each(data_import_open(import, path, status), take_document, &cut, status);
    data_import_cutter_free(&cut);
    return ok && data_import_corpus_done(import, path, status);
}

bool data_import_documents(gb_import *import, const char *path, gb_status *status)
{
    import->kind = "JSONL documents";
    import->structure = "documents of the source";
    if (!gb_dir_exists(path))
        return read_documents(import, path, status);
    char *documents;
    if (!gb_unpack_find(path, "documents.jsonl", &documents, status))
        return false;
    bool ok =
        read_documents(import, documents, status) && data_import_beir_queries(import, path, status);
    free(documents);
    return ok;
}

/* ---- structure of a corpus ---- */

/* ctx: the import. */
static bool place_passages(void *ctx, const gb_lines *lines, const json_t *object,
                           gb_status *status)
{
    gb_import *import = ctx;
    uint32_t document = import->documents++;
    const json_t *passages = json_object_get(object, "passages");
    size_t index;
    json_t *passage;
    if (!json_is_array(passages))
        return gb_lines_fail(lines, status, NULL, "no list \"passages\"");
    json_array_foreach(passages, index, passage)
    {
        char number[GB_JSON_NUMBER];
        const char *id = data_jsonl_id(lines, passage, "id", "_id", number, status);
        if (!id)
            return false;
        uint32_t row = gb_map_get(import->passage_map, id, strlen(id));
        if (row == GB_MAP_NONE)
            return gb_lines_fail(lines, status, "the file belongs to another corpus",
                                 "passage \"%.80s\" is not in the corpus", id);
        if (import->document[row] != GB_MAP_NONE)
            return gb_lines_fail(lines, status, NULL, "passage \"%.80s\" is in two places", id);
        import->document[row] = document;
    }
    return true;
}

bool data_import_structure(gb_import *import, const char *path, gb_status *status)
{
    import->structure = "documents.jsonl";
    return gb_jsonl_each(data_import_open(import, path, status), place_passages, import, status);
}

/* Number documents by their first passage and give lone passages numbers of their own. Returns
 * whether the passages of each document already lie together. */
static bool number_documents(gb_import *import, uint32_t *names)
{
    uint32_t next = 0;
    bool together = true;
    for (uint32_t i = 0; i < import->documents; i++)
        names[i] = GB_MAP_NONE;
    for (uint32_t row = 0; row < import->passages; row++) {
        uint32_t given = import->document[row];
        uint32_t number = given == GB_MAP_NONE ? GB_MAP_NONE : names[given];
        if (number == GB_MAP_NONE) {
            number = next++;
            if (given != GB_MAP_NONE)
                names[given] = number;
        } else if (number != import->document[row - 1]) {
            together = false;
        }
        import->document[row] = number;
    }
    import->documents = next;
    return together;
}

/* order[new row] = old row, stable within a document. */
static bool order_by_document(const gb_import *import, uint32_t *order, gb_status *status)
{
    uint32_t *start = gb_alloc((size_t)import->documents + 1, sizeof *start, status);
    if (!start)
        return false;
    for (uint32_t row = 0; row < import->passages; row++)
        start[import->document[row] + 1]++;
    for (uint32_t i = 0; i < import->documents; i++)
        start[i + 1] += start[i];
    for (uint32_t row = 0; row < import->passages; row++)
        order[start[import->document[row]]++] = row;
    free(start);
    return true;
}

static bool reorder_table(const gb_import *import, const char *name, const uint32_t *order,
                          gb_status *status)
{
    char *path = gb_path_join(status, import->dir, name);
    gb_row_file *file = path ? gb_row_file_open(path, 1, status) : NULL;
    gb_row_writer *writer = file ? gb_row_writer_open(path, 1, status) : NULL;
    bool ok = writer != NULL;
    for (uint32_t i = 0; i < import->passages && ok; i++) {
        size_t length;
        const void *row = gb_row_file_row(file, order[i], &length);
        ok = gb_row_writer_add(writer, row, length, status);
    }
    gb_row_file_close(file); /* Windows replaces no file that is open */
    ok = gb_row_writer_end(writer, ok, status);
    free(path);
    return ok;
}

/* Move the passages of each document together; rows of passage_map follow. */
static bool reorder(gb_import *import, gb_status *status)
{
    uint32_t *order = gb_alloc(import->passages, sizeof *order, status);
    uint32_t *document = gb_alloc(import->passages, sizeof *document, status);
    bool ok = order && document && order_by_document(import, order, status) &&
              reorder_table(import, "passages.id.gbt", order, status) &&
              reorder_table(import, "passages.title.gbt", order, status) &&
              reorder_table(import, "passages.text.gbt", order, status);
    gb_row_file *ids = ok ? gb_row_file_open_in(import->dir, "passages.id.gbt", 1, status) : NULL;
    ok = ids != NULL;
    for (uint32_t i = 0; i < import->passages && ok; i++) {
        size_t length;
        const char *id = gb_row_file_row(ids, i, &length);
        document[i] = import->document[order[i]];
        ok = gb_map_set(import->passage_map, id, length, i, status);
    }
    if (ok) {
        memcpy(import->document, document, import->passages * sizeof *document);
        data_import_note(import, "passages were reordered to bring documents together");
    }
    gb_row_file_close(ids);
    free(order);
    free(document);
    return ok;
}

bool data_import_group(gb_import *import, gb_status *status)
{
    uint32_t *names = gb_alloc(import->documents, sizeof *names, status);
    if (!names)
        return false;
    bool together = number_documents(import, names);
    free(names);
    if (!together && !reorder(import, status))
        return false;
    gb_row_writer *writer = gb_row_writer_open_in(import->dir, "passages.document.gbt", 4, status);
    bool ok = writer && gb_row_writer_add(writer, import->document, import->passages, status);
    return gb_row_writer_end(writer, ok, status);
}
