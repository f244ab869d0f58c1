/* An imported collection: opening its folder and reading passages. */
#include <gabbro/json.h>
#include "gabbro/data.h"

#include <stdlib.h>
#include <string.h>

/* A file that a collection may lack: true and *file NULL when there is no such file. */
static bool open_optional(const char *folder, const char *name, uint32_t element_bytes,
                          gb_row_file **file, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    if (!path)
        return false;
    bool ok = true;
    if (gb_file_exists(path))
        ok = (*file = gb_row_file_open(path, element_bytes, status)) != NULL;
    free(path);
    return ok;
}

/* Names of the splits in the order of collection.json, space separated. */
static char *join_splits(const json_t *splits, gb_status *status)
{
    gb_text text = {0};
    const char *name;
    json_t *value;
    gb_text_append(&text, "", 0);
    json_object_foreach((json_t *)splits, name, value)
        gb_text_printf(&text, "%s%s", text.length ? " " : "", name);
    char *joined = text.failed ? NULL : gb_strdup(text.data ? text.data : "", status);
    if (text.failed)
        gb_fail_memory(status, "reading the names of splits");
    gb_text_free(&text);
    return joined;
}

static bool read_description(gb_collection *collection, gb_status *status)
{
    char *path = gb_path_join(status, collection->path, "collection.json");
    if (!path)
        return false;
    if (!gb_file_exists(path)) {
        gb_fail(status, GB_DATA, collection->path,
                "gabbro collection --from makes one of your texts, and prints the folder to give",
                "not a stored collection: it has no collection.json");
        free(path);
        return false;
    }
    json_t *json = gb_json_load(path, 0, status);
    bool ok = false;
    if (json) {
        const char *name = json_string_value(json_object_get(json, "name"));
        const char *generator = json_string_value(json_object_get(json, "generator"));
        const json_t *splits = json_object_get(json, "splits");
        collection->regex_answers = !strcmp(gb_json_text(json, "answers"), "regex");
        if (!name || !json_is_object(splits)) {
            gb_fail(status, GB_DATA, path, "import the collection again",
                    "the description lacks \"name\" or \"splits\"");
        } else {
            collection->name = gb_strdup(name, status);
            collection->generator = gb_strdup(generator ? generator : "none", status);
            collection->splits = join_splits(splits, status);
            ok = collection->name && collection->generator && collection->splits;
        }
    }
    json_decref(json);
    free(path);
    return ok;
}

static bool open_tables(gb_collection *c, gb_status *status)
{
    return (c->passage_ids = gb_row_file_open_in(c->path, "passages.id.gbt", 1, status)) &&
           (c->titles = gb_row_file_open_in(c->path, "passages.title.gbt", 1, status)) &&
           (c->texts = gb_row_file_open_in(c->path, "passages.text.gbt", 1, status)) &&
           (c->document_rows = gb_row_file_open_in(c->path, "passages.document.gbt", 4, status)) &&
           (c->query_ids = gb_row_file_open_in(c->path, "queries.id.gbt", 1, status)) &&
           (c->queries = gb_row_file_open_in(c->path, "queries.text.gbt", 1, status)) &&
           open_optional(c->path, "generated.gbt", 1, &c->generated, status);
}

/* The tables must agree in their numbers of rows, documents must count up one by one. */
static bool check_shapes(gb_collection *c, gb_status *status)
{
    static const char hint[] = "import the collection again";
    uint64_t passages = gb_row_file_count(c->texts), queries = gb_row_file_count(c->queries);
    if (passages == 0 || passages >= GB_MAP_NONE || queries >= GB_MAP_NONE ||
        gb_row_file_count(c->passage_ids) != passages || gb_row_file_count(c->titles) != passages ||
        gb_row_file_count(c->query_ids) != queries ||
        (c->generated && gb_row_file_count(c->generated) != passages))
        return gb_fail(status, GB_DATA, c->path, hint, "the collection's tables do not agree");
    size_t length = 0;
    if (gb_row_file_count(c->document_rows) == 1)
        c->document = gb_row_file_row(c->document_rows, 0, &length);
    if (length != passages || c->document[0] != 0)
        return gb_fail(status, GB_DATA, c->path, hint, "wrong row file of documents");
    for (uint64_t i = 1; i < passages; i++)
        if (c->document[i] - c->document[i - 1] > 1)
            return gb_fail(status, GB_DATA, c->path, hint,
                           "passage %llu is not in its document's place", (unsigned long long)i);
    c->passages = (uint32_t)passages;
    c->documents = c->document[passages - 1] + 1;
    return true;
}

gb_collection *gb_collection_open(const char *path, gb_status *status)
{
    gb_collection *collection = gb_alloc(1, sizeof *collection, status);
    if (!collection)
        return NULL;
    collection->path = gb_strdup(path, status);
    if (!collection->path || !read_description(collection, status) ||
        !open_tables(collection, status) || !check_shapes(collection, status)) {
        gb_collection_close(collection);
        return NULL;
    }
    return collection;
}

void gb_collection_close(gb_collection *collection)
{
    if (!collection)
        return;
    gb_row_file_close(collection->passage_ids);
    gb_row_file_close(collection->titles);
    gb_row_file_close(collection->texts);
    gb_row_file_close(collection->document_rows);
    gb_row_file_close(collection->query_ids);
    gb_row_file_close(collection->queries);
    gb_row_file_close(collection->generated);
    free(collection->path);
    free(collection->name);
    free(collection->generator);
    free(collection->splits);
    free(collection);
}

const char *gb_collection_query(const void *collection, uint32_t query, size_t *length)
{
    return gb_row_file_row(((const gb_collection *)collection)->queries, query, length);
}

json_t *gb_text_json(const gb_row_file *texts, uint32_t row)
{
    size_t length;
    const char *text = gb_row_file_row(texts, row, &length);
    return json_stringn(text, length);
}

bool gb_collection_has_split(const gb_collection *collection, const char *split)
{
    size_t length = strlen(split);
    for (const char *at = collection->splits; *at;) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, split, size) == 0)
            return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

void gb_collection_passage(const gb_collection *collection, uint32_t passage, gb_text *out)
{
    size_t length;
    const char *title = gb_row_file_row(collection->titles, passage, &length);
    if (length) {
        gb_text_append(out, title, length);
        gb_text_append(out, " ", 1);
    }
    const char *text = gb_row_file_row(collection->texts, passage, &length);
    gb_text_append(out, text, length);
}
