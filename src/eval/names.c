/* External ids of rows: a growing list, or a view of a stored row file. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

typedef struct name {
    const char *id; /* in the arena: it stays where it is when the list grows */
    size_t length;  /* bytes of id */
} name;

struct gb_names {
    const gb_row_file *file; /* ids of a fixed list; NULL: growing */
    name *ids;               /* [count] of a growing list */
    size_t capacity;         /* ids allocated */
    gb_arena *bytes;         /* of these ids */
    uint32_t count;          /* rows */
    gb_map *rows;            /* id -> row; a fixed list builds it at its first look-up */
};

static gb_names *names_create(const gb_row_file *file, gb_status *status)
{
    gb_names *names = gb_alloc(1, sizeof *names, status);
    if (!names)
        return NULL;
    names->file = file;
    if (file) {
        names->count = (uint32_t)gb_row_file_count(file);
        return names;
    }
    names->rows = gb_map_create(status);
    names->bytes = names->rows ? gb_arena_create(1 << 16, status) : NULL;
    if (names->bytes)
        return names;
    gb_names_destroy(names);
    return NULL;
}

gb_names *gb_names_create(gb_status *status)
{
    return names_create(NULL, status);
}

gb_names *gb_names_from_row_file(const gb_row_file *file, gb_status *status)
{
    return names_create(file, status);
}

void gb_names_destroy(gb_names *names)
{
    if (!names)
        return;
    gb_map_destroy(names->rows);
    gb_arena_destroy(names->bytes);
    free(names->ids);
    free(names);
}

uint32_t gb_names_count(const gb_names *names)
{
    return names->count;
}

const char *gb_names_get(const gb_names *names, uint32_t row, size_t *length)
{
    if (names->file)
        return gb_row_file_row(names->file, row, length);
    *length = names->ids[row].length;
    return names->ids[row].id;
}

bool gb_names_row(gb_names *names, const char *id, size_t length, uint32_t *row, gb_status *status)
{
    if (!names->rows && !(names->rows = gb_row_file_map(names->file, status)))
        return false;
    *row = gb_map_get(names->rows, id, length);
    if (*row != GB_MAP_NONE || names->file)
        return true;
    if (names->count >= GB_NO_PASSAGE - 1)
        return gb_fail(status, GB_DATA, NULL, NULL, "more than %u different ids", names->count);
    const char *copy = gb_arena_strdup(names->bytes, id, length, status);
    if (!copy ||
        !gb_grow(&names->ids, &names->capacity, (size_t)names->count + 1, sizeof *names->ids,
                 status) ||
        !gb_map_set(names->rows, id, length, names->count, status))
        return false;
    names->ids[names->count] = (name){copy, length};
    *row = names->count++;
    return true;
}

bool gb_run_names_create(gb_run_names *names, gb_status *status)
{
    *names = (gb_run_names){.queries = gb_names_create(status)};
    names->passages = names->queries ? gb_names_create(status) : NULL;
    if (!names->passages)
        gb_run_names_free(names);
    return names->passages;
}

bool gb_run_names_of(const gb_collection *collection, gb_run_names *names, gb_status *status)
{
    *names = (gb_run_names){.queries = gb_names_from_row_file(collection->query_ids, status)};
    names->passages =
        names->queries ? gb_names_from_row_file(collection->passage_ids, status) : NULL;
    if (!names->passages)
        gb_run_names_free(names);
    else
        names->collection = collection;
    return names->passages;
}

void gb_run_names_free(gb_run_names *names)
{
    gb_names_destroy(names->queries);
    gb_names_destroy(names->passages);
    *names = (gb_run_names){0};
}

int gb_names_compare(const gb_names *names, uint32_t a, uint32_t b)
{
    size_t length_a, length_b;
    const char *id_a = gb_names_get(names, a, &length_a);
    const char *id_b = gb_names_get(names, b, &length_b);
    int order = memcmp(id_a, id_b, length_a < length_b ? length_a : length_b);
    return order ? order : (length_a > length_b) - (length_a < length_b);
}
