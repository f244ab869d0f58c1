/* Queries and passages of a collection by what a training file calls them. */
#include "data/training.h"

#include <string.h>

static bool add_row(gb_map *map, const gb_row_file *titles, const gb_row_file *file, uint64_t row,
                    gb_text *room, gb_status *status)
{
    size_t length;
    const char *text;
    room->length = 0;
    if (titles) {
        text = gb_row_file_row(titles, row, &length);
        gb_text_append(room, text, length);
        gb_text_append(room, "\t", 1);
    }
    text = gb_row_file_row(file, row, &length);
    gb_text_append(room, text, length);
    if (room->failed)
        return gb_fail_memory(status, "finding passages");
    return gb_map_get(map, room->data, room->length) != GB_MAP_NONE ||
           gb_map_set(map, room->data, room->length, (uint32_t)row, status);
}

/* Row of a key in a map over a row file (titles: keys are title, tab, text). */
static bool find(gb_map **map, const gb_row_file *titles, const gb_row_file *file,
                 const char *title, const char *key, uint32_t *row, gb_status *status)
{
    gb_text room = {0};
    bool ok = true;
    if (!*map) {
        ok = (*map = gb_map_create(status)) != NULL;
        for (uint64_t i = 0; ok && i < gb_row_file_count(file); i++)
            ok = add_row(*map, titles, file, i, &room, status);
    }
    if (ok) {
        room.length = 0;
        if (titles)
            gb_text_printf(&room, "%s\t", title);
        gb_text_append(&room, key, strlen(key));
        ok = !room.failed || gb_fail_memory(status, "finding passages");
    }
    if (ok)
        *row = gb_map_get(*map, room.data, room.length);
    gb_text_free(&room);
    return ok;
}

bool data_find_query(data_finder *f, const training_example *e, uint32_t *row, gb_status *status)
{
    const gb_collection *c = f->collection;
    return e->query_id ? find(&f->query_ids, NULL, c->query_ids, NULL, e->query_id, row, status)
                       : find(&f->query_texts, NULL, c->queries, NULL, e->query, row, status);
}

bool data_find_passage(data_finder *f, const training_passage *passage, uint32_t *row,
                       gb_status *status)
{
    const gb_collection *c = f->collection;
    return passage->id ? find(&f->passage_ids, NULL, c->passage_ids, NULL, passage->id, row, status)
                       : find(&f->passage_texts, c->titles, c->texts, passage->title, passage->text,
                              row, status);
}

void data_finder_free(data_finder *f)
{
    gb_map_destroy(f->query_ids);
    gb_map_destroy(f->query_texts);
    gb_map_destroy(f->passage_ids);
    gb_map_destroy(f->passage_texts);
}
