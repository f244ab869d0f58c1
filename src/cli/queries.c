/* gabbro queries: generates queries for the passages of a collection. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *collection;   /* artifact */
    gb_queries_params params; /* who writes them, and how many */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return !o->params.generator != !o->params.from ||
           gb_fail(status, GB_USAGE, NULL, "see --help", "give either --generator or --from");
}

/* What queries.json says of them. */
static void read_facts(gb_maker *maker)
{
    char *path = gb_maker_file(maker, "queries.json", NULL);
    json_t *json = path ? gb_json_load(path, 0, NULL) : NULL;
    json_object_update(maker->facts, json);
    json_decref(json);
    free(path);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_synth *world = NULL;
    bool ok = collection && gb_synth_of_collection(collection, &world, status);
    gb_query_oracle oracle = gb_synth_oracle(world);
    o->params.oracle = world ? &oracle : NULL;
    ok = ok && gb_queries_make(collection, &o->params, gb_maker_folder(maker), status);
    if (ok)
        read_facts(maker);
    gb_synth_destroy(world);
    gb_collection_close(collection);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.params = GB_QUERIES_DEFAULTS};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection whose passages get queries"},
        {"generator", GB_OPTION_TEXT, &o.params.generator, 0, "NAME", "who writes them, see above"},
        {"from", GB_OPTION_TEXT, &o.params.from, GB_OPTION_INPUT, "FILE|DIR",
         "generated queries to take, see above"},
        {"queries-per-passage", GB_OPTION_U32, &o.params.per_passage, 0, NULL,
         "queries kept of each passage; 0: 20 of world-*, 5 of extractive, all of a file"},
        {"passages", GB_OPTION_U32, &o.params.passages, 0, NULL,
         "passages that get queries, a seeded choice; 0: all"},
        {"seed", GB_OPTION_U64, &o.params.seed, 0, NULL,
         "seed of that choice and of the extractive generator"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_queries,
                                   .version = 1,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_queries = {
    .name = "queries",
    .summary = "generate queries for the passages of a collection",
    .usage = "--collection ARTIFACT (--generator NAME | --from FILE|DIR) [options]",
    .description =
        "Make generated queries of a collection's passages, for gabbro tokenize --generated. "
        "Prints the artifact's folder: generated.gbt, queries.json.\n\n"
        "Generators:\n"
        "  world-t5     the mini world's own queries\n"
        "  world-3b     better ones\n"
        "  world-7b     still better ones\n"
        "  world-13b    the best ones\n"
        "  extractive   salient words and phrases of the passage, for any collection\n\n"
        "A file has lines of {\"id\", \"queries\": [...]}, as has the folder that gabbro generate "
        "printed; a .txt file, or a folder of them, has a line of queries a passage, as "
        "docTTTTTquery gives them.",
    .run = run,
    .makes = true};
