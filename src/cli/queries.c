/* gabbro queries: the step that generates queries for the passages of a collection. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro queries --collection STEP --generator NAME | --from FILE|DIR [options]\n\n"
    "Generated queries of a collection's passages, for gabbro tokenize --generated. Generators:\n"
    "world-t5 (the mini world's own queries), world-3b, world-7b, world-13b (ever better ones),\n"
    "extractive (any collection). A file has {\"id\", \"queries\": [...]} lines; a .txt\n"
    "file, or a folder of them, has a line of queries a passage, as docTTTTTquery gives them. "
    "Prints\n"
    "the step's folder: generated.gbt, queries.json.\n";

static json_t *read_facts(const char *dir)
{
    json_t *json = NULL;
    char *path = gb_path_join(NULL, dir, "queries.json");
    if (path)
        json = json_load_file(path, 0, NULL);
    free(path);
    return json;
}

int gb_cli_queries(int argc, char **argv)
{
    gb_status status = {0};
    const char *collection_step = NULL;
    gb_queries_params params = GB_QUERIES_DEFAULTS;
    const step_option options[] = {
        {"collection", OPTION_TEXT, &collection_step, true, true, "step of a collection"},
        {"generator", OPTION_TEXT, &params.generator, false, false, "who writes them, see above"},
        {"from", OPTION_TEXT, &params.from, false, true, "generated queries, JSONL or lines"},
        {"queries-per-passage", OPTION_U32, &params.per_passage, false, false,
         "kept of each passage (default 0: world-* 20, extractive 5, all of a file)"},
        {"passages", OPTION_U32, &params.passages, false, false,
         "give queries to so many passages, a seeded choice (default 0: all)"},
        {"seed", OPTION_U64, &params.seed, false, false,
         "of that choice and of the extractive generator (default 42)"},
        {0}};
    step_run run = {.kind = "queries", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (!params.generator == !params.from)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help", "give either --generator or --from");
    ok = ok && step_begin(&run, 1, false, NULL, &status);
    json_t *facts = NULL;
    if (ok && !gb_step_done(run.step)) {
        gb_collection *collection = gb_open_collection(collection_step, &status);
        gb_synth *world = NULL;
        ok = collection && gb_synth_of_collection(collection, &world, &status);
        gb_query_oracle oracle = gb_synth_oracle(world);
        params.oracle = world ? &oracle : NULL;
        ok = ok && gb_queries_make(collection, &params, gb_step_path(run.step), &status);
        gb_synth_destroy(world);
        if (ok)
            facts = read_facts(gb_step_path(run.step));
        gb_collection_close(collection);
    }
    if (ok)
        step_end(&run, facts, &status);
    json_decref(facts);
    return step_close(&run, &status);
}
