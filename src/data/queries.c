/* Generated queries of a stored collection, beside it: by an oracle's generator, by the extractive
 * generator, or from a file. */
#include "data/import.h"
#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>

enum { EXTRACT_DEFAULT = 5 };

/* What is done with a row file of all queries. */
typedef struct selection {
    const gb_collection *collection;
    bool *chosen;                          /* [passages] has queries, or NULL: all */
    uint32_t most;                         /* queries kept of a passage; 0: all */
    const gb_query_oracle *oracle;         /* or NULL */
    uint64_t queries;                      /* kept */
    uint64_t about;                        /* of them about their passage */
    uint32_t fewest, most_of_one, without; /* of the chosen passages */
} selection;

/* The first `count` of the passages in a seeded order, so that more passages hold fewer. */
static bool choose_passages(selection *s, uint32_t count, uint64_t seed, gb_status *status)
{
    uint32_t passages = s->collection->passages;
    if (count == 0)
        return true;
    if (count > passages)
        return gb_fail(status, GB_USAGE, NULL, NULL, "the collection has only %u passages",
                       passages);
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 2, 0);
    return (s->chosen = gb_rng_choose(&rng, passages, count, status)) != NULL;
}

/* Keep the first queries of a row; returns the bytes kept. */
static size_t take_row(selection *s, uint32_t passage, const char *row, size_t length)
{
    if (s->chosen && !s->chosen[passage])
        return 0;
    uint32_t kept = 0;
    size_t at = 0;
    while (at < length && (s->most == 0 || kept < s->most)) {
        const char *end = memchr(row + at, '\n', length - at);
        size_t size = end ? (size_t)(end - row) - at : length - at;
        if (s->oracle)
            s->about += s->oracle->is_about(s->oracle->ctx, passage, row + at, size);
        at += size + (end != NULL);
        kept++;
    }
    s->queries += kept;
    s->without += kept == 0;
    if (kept > s->most_of_one)
        s->most_of_one = kept;
    if (kept && (s->fewest == 0 || kept < s->fewest))
        s->fewest = kept;
    return at;
}

/* all/generated.gbt becomes generated.gbt with what was chosen. */
static bool select_rows(selection *s, const char *all_dir, const char *out_dir, gb_status *status)
{
    gb_row_file *all = gb_row_file_open_in(all_dir, "generated.gbt", 1, status);
    gb_row_writer *writer = all ? gb_row_writer_open_in(out_dir, "generated.gbt", 1, status) : NULL;
    bool ok = writer != NULL;
    for (uint32_t p = 0; ok && p < s->collection->passages; p++) {
        size_t length;
        const char *row = gb_row_file_row(all, p, &length);
        ok = gb_row_writer_add(writer, row, take_row(s, p, row, length), status);
    }
    ok = gb_row_writer_end(writer, ok, status);
    gb_row_file_close(all);
    return ok;
}

/* ---- the three sources ---- */

static bool from_file(const gb_collection *collection, const char *path, const char *dir,
                      gb_status *status)
{
    gb_generated_counts counts;
    if (data_generated_is_lines(path))
        return data_generated_lines(dir, path, collection->passages, &counts, status);
    gb_map *rows = gb_row_file_map(collection->passage_ids, status);
    bool ok = rows && data_generated_read(dir, path, rows, &counts, status);
    gb_map_destroy(rows);
    return ok;
}

static bool write_all(const gb_collection *collection, const gb_queries_params *params,
                      const char *dir, gb_status *status)
{
    if (params->from)
        return from_file(collection, params->from, dir, status);
    gb_generated_counts counts;
    if (!strcmp(params->generator, "extractive"))
        return data_generated_extract(collection->path, dir,
                                      params->per_passage ? params->per_passage : EXTRACT_DEFAULT,
                                      params->seed, &counts, status);
    bool known = false;
    if (params->oracle && !params->oracle->write(params->oracle->ctx, params->generator,
                                                 params->per_passage, dir, &known, status))
        return false;
    return known || gb_fail(status, GB_USAGE, collection->path,
                            "take --generator extractive or --from FILE.jsonl; the set main of the "
                            "mini world has world-t5, world-3b, world-7b and world-13b",
                            "the collection has no generator \"%.60s\"", params->generator);
}

/* ---- description ---- */

static bool describe(const selection *s, const gb_queries_params *params, const char *out_dir,
                     gb_status *status)
{
    const char *slash = params->from ? strrchr(params->from, '/') : NULL;
    json_t *json = json_object();
    json_object_set_new(json, "collection", json_string(s->collection->name));
    json_object_set_new(json, "passages", json_integer(s->collection->passages));
    json_object_set_new(json, "generator",
                        json_string(!params->from    ? params->generator
                                    : params->writer ? params->writer
                                    : slash          ? slash + 1
                                                     : params->from));
    json_object_set_new(json, "queries", json_integer((json_int_t)s->queries));
    json_object_set_new(json, "fewest_per_passage", json_integer(s->fewest));
    json_object_set_new(json, "most_per_passage", json_integer(s->most_of_one));
    json_object_set_new(
        json, "passages_chosen",
        json_integer(params->passages ? params->passages : s->collection->passages));
    json_object_set_new(json, "passages_without", json_integer(s->without));
    if (s->oracle && s->queries)
        json_object_set_new(json, "about_their_passage",
                            json_real((double)s->about / (double)s->queries));
    bool ok = gb_json_save_in(json, GB_JSON_DESCRIPTION, out_dir, "queries.json", status);
    json_decref(json);
    return ok;
}

bool gb_queries_make(const gb_collection *collection, const gb_queries_params *params,
                     const char *out_dir, gb_status *status)
{
    if (!params->generator == !params->from)
        return gb_fail(status, GB_USAGE, NULL, NULL, "queries come from a generator or a file");
    selection s = {.collection = collection, .oracle = params->oracle, .most = params->per_passage};
    char *all = gb_path_join(status, out_dir, "all");
    bool ok = all && gb_make_dirs(all, status) &&
              choose_passages(&s, params->passages, params->seed, status) &&
              write_all(collection, params, all, status) && select_rows(&s, all, out_dir, status) &&
              describe(&s, params, out_dir, status);
    if (ok && s.queries == 0)
        ok = gb_fail(status, GB_DATA, collection->path, NULL, "no passage got a query");
    if (all)
        ok = gb_remove_tree(all, ok ? status : NULL) && ok;
    free(s.chosen);
    free(all);
    return ok;
}

bool gb_collection_use_queries(gb_collection *collection, const char *dir, gb_status *status)
{
    char *about = gb_path_join(status, dir, "queries.json");
    char *path = gb_path_join(status, dir, "generated.gbt");
    json_t *json = about && path ? gb_json_load(about, 0, status) : NULL;
    const char *of = json_string_value(json_object_get(json, "collection"));
    const char *who = json_string_value(json_object_get(json, "generator"));
    gb_row_file *file = json ? gb_row_file_open(path, 1, status) : NULL;
    char *generator = file ? gb_strdup(who ? who : "none", status) : NULL;
    bool ok = generator != NULL;
    if (ok &&
        (!of || strcmp(of, collection->name) || gb_row_file_count(file) != collection->passages))
        ok = gb_fail(status, GB_DATA, dir, "make them with gabbro queries --collection",
                     "the queries were generated for another collection");
    if (ok) {
        gb_row_file_close(collection->generated);
        free(collection->generator);
        collection->generated = file;
        collection->generator = generator;
    } else {
        gb_row_file_close(file);
        free(generator);
    }
    json_decref(json);
    free(about);
    free(path);
    return ok;
}
