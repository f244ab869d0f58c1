/* Generated queries read from a JSONL file in any order and laid by passage. */
#include "data/import.h"

#include <stdlib.h>
#include <string.h>

uint32_t gb_generated_row_count(const char *row, size_t length)
{
    uint32_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += row[i] == '\n';
    return lines;
}

const char *gb_generated_row_query(const char *row, size_t length, uint32_t which, size_t *size)
{
    const char *end = row + length;
    while (which-- > 0)
        row = (const char *)memchr(row, '\n', (size_t)(end - row)) + 1;
    *size = (size_t)((const char *)memchr(row, '\n', (size_t)(end - row)) - row);
    return row;
}

bool gb_generated_row_has(const char *row, size_t length, const char *query, size_t size)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(row + at, '\n', length - at);
        size_t own = (size_t)(end - row) - at;
        if (own == size && (size == 0 || memcmp(row + at, query, size) == 0))
            return true;
        at += own + 1;
    }
    return false;
}

void data_generated_count(gb_generated_counts *counts, uint32_t queries)
{
    counts->queries += queries;
    counts->without += queries == 0;
    if (queries > counts->most)
        counts->most = queries;
    if (queries && (!counts->least || queries < counts->least))
        counts->least = queries;
}

/* Queries in the order of the file, spooled to a table so that memory stays small. */
typedef struct spool {
    const gb_map *passages; /* rows of ids */
    gb_row_writer *writer;  /* texts */
    uint32_t *owner;        /* passage row of each, [count] */
    size_t capacity;        /* of owner */
    size_t count;           /* queries so far */
} spool;

/* Store one query: white space trimmed, line ends turned into blanks; an empty one is dropped. */
static bool spool_add(spool *to, uint32_t passage, const char *text, gb_status *status)
{
    static const char space[] = " \t\r\n";
    text += strspn(text, space);
    size_t length = strlen(text);
    while (length > 0 && strchr(space, text[length - 1]))
        length--;
    if (length == 0)
        return true;
    char *copy = gb_alloc(length, 1, status);
    if (!copy)
        return false;
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    bool ok = gb_grow(&to->owner, &to->capacity, to->count + 1, sizeof *to->owner, status) &&
              gb_row_writer_add(to->writer, copy, length, status);
    free(copy);
    if (ok)
        to->owner[to->count++] = passage;
    return ok;
}

/* ctx: a spool. */
static bool take_queries(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    spool *to = ctx;
    char number[GB_JSON_NUMBER];
    const char *id = data_jsonl_id(lines, object, "id", "_id", number, status);
    if (!id)
        return false;
    uint32_t row = gb_map_get(to->passages, id, strlen(id));
    if (row == GB_MAP_NONE)
        return gb_lines_fail(lines, status, "the file belongs to another collection",
                             "queries for unknown passage \"%.80s\"", id);
    const json_t *list = json_object_get(object, "queries");
    if (!list) {
        const char *query = data_jsonl_string(lines, object, "query", false, status);
        return query && spool_add(to, row, query, status);
    }
    if (!json_is_array(list))
        return gb_lines_fail(lines, status, NULL, "\"queries\" is not a list of strings");
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item)
    {
        if (!json_is_string(item))
            return gb_lines_fail(lines, status, NULL, "\"queries\" is not a list of strings");
        if (!spool_add(to, row, json_string_value(item), status))
            return false;
    }
    return true;
}

/* Write the rows of generated.gbt: start[p] .. start[p + 1] are the queries of passage p. */
static bool report_write_rows(const gb_row_file *texts, const uint64_t *start,
                              const uint64_t *order, size_t passages, gb_row_writer *writer,
                              gb_generated_counts *counts, gb_status *status)
{
    gb_text row = {0};
    bool ok = true;
    for (size_t p = 0; p < passages && ok; p++) {
        row.length = 0;
        for (uint64_t i = start[p]; i < start[p + 1]; i++) {
            size_t length;
            const char *text = gb_row_file_row(texts, order[i], &length);
            gb_text_append(&row, text, length);
            gb_text_append(&row, "\n", 1);
        }
        data_generated_count(counts, (uint32_t)(start[p + 1] - start[p]));
        ok = row.failed ? gb_fail_memory(status, "reading generated queries")
                        : gb_row_writer_add(writer, row.data, row.length, status);
    }
    gb_text_free(&row);
    return ok;
}

/* Counting sort by passage, keeping the order of the file within one. */
static bool write_by_passage(const char *folder, const char *spooled, const spool *from,
                             size_t passages, gb_generated_counts *counts, gb_status *status)
{
    gb_row_file *texts = gb_row_file_open(spooled, 1, status);
    uint64_t *start = gb_alloc(passages + 2, sizeof *start, status);
    uint64_t *order = gb_alloc(from->count, sizeof *order, status);
    gb_row_writer *writer =
        texts && start && order ? gb_row_writer_open_in(folder, "generated.gbt", 1, status) : NULL;
    bool ok = writer != NULL;
    if (ok) {
        for (size_t i = 0; i < from->count; i++)
            start[from->owner[i] + 2]++;
        for (size_t p = 2; p < passages + 2; p++)
            start[p] += start[p - 1];
        for (size_t i = 0; i < from->count; i++)
            order[start[from->owner[i] + 1]++] =
                i; /* start[p + 1] moves from p's start to its end */
        ok = report_write_rows(texts, start, order, passages, writer, counts, status);
    }
    ok = gb_row_writer_end(writer, ok, status);
    gb_row_file_close(texts);
    free(start);
    free(order);
    return ok;
}

bool data_generated_read(const char *folder, const char *path, const gb_map *passages,
                         gb_generated_counts *counts, gb_status *status)
{
    *counts = (gb_generated_counts){0};
    char *spooled = gb_path_join(status, folder, "generated.spool");
    char *file =
        gb_dir_exists(path) ? gb_path_join(status, path, GENERATED_FILE) : gb_strdup(path, status);
    spool all = {.passages = passages,
                 .writer = spooled && file ? gb_row_writer_open(spooled, 1, status) : NULL};
    bool ok = all.writer && gb_jsonl_each(gb_lines_open(file, status), take_queries, &all, status);
    if (ok && all.count == 0)
        ok = gb_fail(status, GB_DATA, file, "one {\"id\", \"queries\": [...]} a line",
                     "no generated queries in the file");
    ok = gb_row_writer_end(all.writer, ok, status) &&
         write_by_passage(folder, spooled, &all, gb_map_count(passages), counts, status);
    if (spooled)
        remove(spooled);
    free(spooled);
    free(file);
    free(all.owner);
    return ok;
}
