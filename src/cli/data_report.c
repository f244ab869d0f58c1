/* What gabbro data check says of a collection. */
#include "data.h"

#include <gabbro/json.h>
#include <string.h>

/* What is being compared. */
typedef struct comparison {
    const gb_source *source; /* official counts, or NULL */
    uint32_t wrong;          /* counts that differ, and splits with unknown ids */
} comparison;

/* A count, with the official one beside it where there is one. */
static void say_count(comparison *c, const char *what, uint64_t count)
{
    const gb_source_count *official = NULL;
    for (size_t i = 0; c->source && i < c->source->count_count; i++)
        if (!strcmp(c->source->counts[i].what, what))
            official = &c->source->counts[i];
    printf("%-28s %12llu", what, (unsigned long long)count);
    if (official && official->count == count) {
        printf("  as it should be");
    } else if (official) {
        printf("  should be %llu", (unsigned long long)official->count);
        c->wrong++;
    }
    printf("\n");
}

static void say_finding(const gb_row_file *ids, const char *what, const gb_finding *finding)
{
    if (!finding->count)
        return;
    size_t length;
    const char *id = gb_row_file_row(ids, finding->first, &length);
    printf("%-28s %12llu  e.g. %.*s\n", what, (unsigned long long)finding->count,
           (int)(length < 60 ? length : 60), id);
}

/* What collection.json alone has. */
static bool say_description(comparison *c, const gb_collection *collection, gb_status *status)
{
    json_t *json = gb_json_load_in(collection->path, "collection.json", 0, status);
    const json_t *paragraphs = json_object_get(json, "paragraphs");
    if (paragraphs)
        say_count(c, "paragraphs", (uint64_t)json_integer_value(paragraphs));
    const char *split;
    json_t *counts;
    json_object_foreach(json_object_get(json, "splits"), split, counts)
    {
        static const char *const kinds[] = {"queries", "judgements"};
        char what[100];
        for (int k = 0; k < 2; k++) {
            snprintf(what, sizeof what, "%s.%.60s", kinds[k], split);
            say_count(c, what, (uint64_t)json_integer_value(json_object_get(counts, kinds[k])));
        }
        json_int_t unknown = json_integer_value(json_object_get(counts, "skipped_unknown"));
        if (unknown) {
            json_int_t queries = json_integer_value(json_object_get(counts, "skipped_queries"));
            printf("%-28s %12lld  left out: %lld of passages, %lld of queries that are not there\n",
                   what, (long long)unknown, (long long)(unknown - queries), (long long)queries);
            c->wrong++;
        }
    }
    json_decref(json);
    return json != NULL;
}

bool cli_data_report(const char *folder, const gb_source *source, uint32_t *wrong,
                     gb_status *status)
{
    comparison compared = {.source = source}, *c = &compared;
    gb_check check;
    gb_collection *collection = gb_collection_open(folder, status);
    bool ok = collection && gb_collection_check(collection, &check, status);
    if (ok) {
        say_count(c, "passages", collection->passages);
        say_count(c, "documents", collection->documents);
        say_count(c, "titles", check.titles);
        say_count(c, "queries", gb_row_file_count(collection->queries));
        ok = say_description(c, collection, status);
        say_finding(collection->passage_ids, "passages without text", &check.empty);
        say_finding(collection->passage_ids, "passages that repeat another", &check.equal);
        say_finding(collection->passage_ids, "passages that are queries", &check.identical);
        say_finding(collection->query_ids, "queries to train and to judge", &check.trained);
        say_finding(collection->passage_ids, "encoded twice", &check.encoded_twice);
        say_finding(collection->passage_ids, "with lost bytes (U+FFFD)", &check.replaced);
        say_finding(collection->passage_ids, "with control characters", &check.control);
    }
    gb_collection_close(collection);
    *wrong = c->wrong;
    return ok;
}
