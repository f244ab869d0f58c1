/* Queries that are passages of the collection themselves, as in ArguAna and Quora. */
#include <gabbro/data.h>

#include <string.h>

/* Does either text begin with the other one? Ids that are numbers may be equal by accident. */
static bool begin_alike(const gb_collection *collection, uint32_t query, uint32_t passage)
{
    size_t asked, said;
    const char *question = gb_row_file_row(collection->queries, query, &asked);
    const char *text = gb_row_file_row(collection->texts, passage, &said);
    size_t shorter = asked < said ? asked : said;
    return shorter && memcmp(question, text, shorter) == 0;
}

bool gb_collection_identical(const gb_collection *collection, gb_finding *identical,
                             gb_status *status)
{
    gb_map *queries = gb_row_file_map(collection->query_ids, status);
    *identical = (gb_finding){0};
    for (uint32_t p = 0; queries && p < collection->passages; p++) {
        size_t length;
        const char *id = gb_row_file_row(collection->passage_ids, p, &length);
        uint32_t query = gb_map_get(queries, id, length);
        if (query == GB_MAP_NONE || !begin_alike(collection, query, p))
            continue;
        if (!identical->count++)
            identical->first = p;
    }
    gb_map_destroy(queries);
    return queries != NULL;
}
