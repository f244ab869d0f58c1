/* gabbro negatives: the step that makes a run for gabbro finetune out of a file of negatives. */
#include "ranking.h"

#include <stdlib.h>

static const char usage[] =
    "usage: gabbro negatives --collection STEP --from FILE [options]\n\n"
    "Negatives that a file names, as a run for gabbro finetune --negatives: MS MARCO's triples of "
    "ids,\n"
    "mined lists (sentence-transformers, coCondenser), training files of Tevatron, DPR or\n"
    "FlagEmbedding (docs/formats.md). Passages are found by id, or by text where the file has no "
    "ids.\n"
    "Prints the step's folder; the run is its run.trec.\n";

/* Lists by falling rank: the score says the place alone. */
static bool add_lists(const gb_negatives *negatives, const gb_collection *collection, gb_run *run,
                      gb_status *status)
{
    gb_hit *hits = NULL;
    size_t capacity = 0;
    bool ok = true;
    for (uint32_t q = 0; ok && q < gb_table_count(collection->queries); q++) {
        uint32_t count;
        const uint32_t *rows = gb_negatives_of(negatives, q, &count);
        if (!count)
            continue;
        ok = gb_grow(&hits, &capacity, count, sizeof *hits, status);
        for (uint32_t i = 0; ok && i < count; i++)
            hits[i] = (gb_hit){rows[i], count - i};
        ok = ok && gb_run_add(run, q, hits, count, status);
    }
    free(hits);
    return ok;
}

static bool make(step_run *step, const char *collection_step, const gb_negatives_params *params,
                 gb_status *status)
{
    gb_run run = {0};
    gb_collection *collection = gb_open_collection(collection_step, status);
    gb_negatives *negatives = collection ? gb_negatives_read(collection, params, status) : NULL;
    bool ok = negatives && add_lists(negatives, collection, &run, status) &&
              ranking_write(step, collection, &run, UINT32_MAX, "run.trec", status);
    if (ok) {
        json_int_t skipped = (json_int_t)gb_negatives_skipped(negatives);
        json_t *facts = json_pack("{s:I, s:I, s:I}", "queries", (json_int_t)run.list_count,
                                  "negatives", (json_int_t)run.hit_count, "skipped", skipped);
        gb_log(GB_LOG_INFO, "%zu negatives of %zu queries, %lld unknown ids skipped", run.hit_count,
               run.list_count, (long long)skipped);
        ok = step_end(step, facts, status);
        json_decref(facts);
    }
    gb_negatives_destroy(negatives);
    gb_run_free(&run);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_negatives(int argc, char **argv)
{
    gb_status status = {0};
    const char *collection = NULL;
    gb_negatives_params params = {.per_query = 200, .seed = 42};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &collection, true, true, "step of a collection"},
        {"from", OPTION_TEXT, &params.path, true, true, "file of negatives"},
        {"per-query", OPTION_U32, &params.per_query, false, false,
         "a seeded sample of so many where there are more (200); 0: all"},
        {"seed", OPTION_U64, &params.seed, false, false, "of that sample (42)"},
        {"skip-unknown", OPTION_FLAG, &params.skip_unknown, false, false,
         "skip queries and passages that the collection does not have"},
        {0}};
    step_run run = {.kind = "negatives", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    if (step_begin(&run, 1, false, NULL, &status)) {
        if (gb_step_done(run.step))
            step_end(&run, NULL, &status);
        else
            make(&run, collection, &params, &status);
    }
    return step_close(&run, &status);
}
