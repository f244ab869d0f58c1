/* Query generation models of the mini world, and how a query is told to be about a passage.
 *
 * The rates were fixed before any model was trained with them. What is known and what is assumed:
 *
 * - world-t5: the queries that the collection comes with. Of the queries of a T5 of 0.25 billion
 *   parameters 56.5% were judged strongly related to their passage by people (query-as-context,
 *   table 5). The shares of the kinds of failures, and of words copied from the passage, are those
 *   of the world's calibration.
 * - world-3b, world-7b, world-13b stand for tk-instruct 3b, Alpaca 7b and Alpaca 13b (document
 *   expansion by large language models). No paper says how many of their queries are about their
 *   passage. That a larger model fails less is the assumption, by one rule for the three: ten
 *   times the parameters halve the share of queries that are not about their passage. From .435 at
 *   0.25 billion that gives .209 at 2.85, .161 at 6.7 and .132 at 13.0 billion, so about = .79,
 *   .84, .87. With the failures, queries of the wrong entity fall from 10.9% to 5.3, 4.0 and 3.3%.
 * - The share of copied words and the mix of failures stay as they are: nothing is known of them,
 *   and generators that differ in one respect can be compared. */
#include "data/json.h"
#include "data/world.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES                                                                                   \
    .copy = 0.40, .other_attribute = 0.35, .entity_only = 0.20, .wrong_entity = 0.25,              \
    .no_entity = 0.20

static const world_generator generators[] = {
    {"world-t5", {.name = "mini-world t5-like", .about = 0.565, FAILURES}},
    {"world-3b", {.name = "mini-world 3b-like", .about = 0.79, FAILURES}},
    {"world-7b", {.name = "mini-world 7b-like", .about = 0.84, FAILURES}},
    {"world-13b", {.name = "mini-world 13b-like", .about = 0.87, FAILURES}},
};

const world_generator *gb_world_generator(uint32_t index)
{
    return index < sizeof generators / sizeof *generators ? &generators[index] : NULL;
}

bool gb_world_regenerate(world *w, uint32_t generator, uint32_t count, gb_status *status)
{
    if (count == 0 || count > WORLD_MOST_GENERATED)
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "a generator of the mini world writes 1 to %d queries a passage",
                       WORLD_MOST_GENERATED);
    w->generator = generator;
    w->params.generator = gb_world_generator(generator)->rates;
    w->params.generated = count;
    return gb_world_make_generated(w, status);
}

bool gb_world_of_collection(world *w, const gb_collection *collection, bool *found,
                            gb_status *status)
{
    *w = (world){0};
    *found = false;
    char *path = gb_path_join(status, collection->path, "collection.json");
    json_t *json = path ? gb_json_load(path, status) : NULL;
    bool ok = json != NULL;
    const char *source = json_string_value(json_object_get(json, "source"));
    const json_t *seed = json_object_get(json, "world_seed");
    bool is_world = ok && source && !strcmp(source, "mini world") && json_is_integer(seed) &&
                    !json_object_get(json, "set");
    if (is_world && json_integer_value(json_object_get(json, "version")) != WORLD_VERSION) {
        ok = gb_fail(status, GB_DATA, path, "make the collection again",
                     "the collection is of another version of the mini world");
    } else if (is_world) {
        gb_world_params params = gb_world_defaults();
        ok = gb_world_make(w, &params, (uint64_t)json_integer_value(seed), status);
        if (ok && w->passage_count != collection->passages)
            ok = gb_fail(status, GB_DATA, path, "make the collection again",
                         "the collection has %u passages, its world %u", collection->passages,
                         w->passage_count);
        *found = ok;
        if (!ok)
            gb_world_free(w);
    }
    json_decref(json);
    free(path);
    return ok;
}

/* ---- reading queries ----------------------------------------------------------------------- */

enum { WORD_BYTES = 40 };

static bool add_name(gb_map *names, const char *name, uint32_t entity, gb_status *status)
{
    char lower[WORD_BYTES];
    size_t length = 0;
    for (; name[length] && length < sizeof lower; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    return gb_map_set(names, lower, length, entity, status);
}

bool gb_world_reader_open(world_reader *reader, const world *w, gb_status *status)
{
    *reader = (world_reader){.w = w};
    bool ok = (reader->names = gb_map_create(status)) != NULL &&
              (reader->attributes = gb_map_create(status)) != NULL;
    for (uint32_t e = 0; ok && e < w->params.entities; e++)
        ok = add_name(reader->names, w->entities[e].name, e, status) &&
             add_name(reader->names, w->entities[e].alias, e, status);
    for (uint32_t a = 0; ok && a < w->attributes; a++)
        for (uint32_t i = 0; ok && i < WORLD_WORDINGS; i++) {
            const char *word = w->words.attributes[a][i];
            ok = gb_map_set(reader->attributes, word, strlen(word), a, status);
        }
    if (!ok)
        gb_world_reader_close(reader);
    return ok;
}

void gb_world_reader_close(world_reader *reader)
{
    gb_map_destroy(reader->names);
    gb_map_destroy(reader->attributes);
    *reader = (world_reader){0};
}

bool gb_world_is_about(const world_reader *reader, uint32_t passage, const char *query,
                       size_t length)
{
    const world_passage *p = &reader->w->passages[passage];
    bool named = false, stated[WORLD_PAIR] = {false};
    char word[WORD_BYTES];
    for (size_t at = 0; at < length;) {
        size_t size = 0;
        while (at < length && !isalnum((unsigned char)query[at]))
            at++;
        for (; at < length && isalnum((unsigned char)query[at]); at++)
            if (size < sizeof word)
                word[size++] = (char)tolower((unsigned char)query[at]);
        uint32_t attribute = gb_map_get(reader->attributes, word, size);
        named = named || gb_map_get(reader->names, word, size) == p->entity;
        if (attribute != GB_MAP_NONE && attribute / WORLD_PAIR == p->cluster)
            stated[attribute % WORLD_PAIR] = true;
    }
    return (stated[0] && stated[1]) || (named && (stated[0] || stated[1]));
}
