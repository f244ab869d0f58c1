/* gabbro relatedness: measures how often contexts are related to their passages. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *collection, *queries; /* artifacts */
    gb_pair_kind of;                  /* contexts */
    uint32_t pairs;                   /* drawn */
    uint64_t seed;                    /* of the draw */
} settings;

static bool write_pairs(const gb_maker *maker, const gb_collection *collection,
                        const gb_pair *pairs, const bool *related, uint32_t count,
                        gb_status *status)
{
    char *path = gb_maker_file(maker, "pairs.tsv", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    fprintf(stream, "related\tpassage\tpassage text\tcontext text\n");
    for (uint32_t i = 0; i < count; i++) {
        size_t id_length, length;
        const char *id = gb_row_file_row(collection->passage_ids, pairs[i].passage, &id_length);
        const char *text = gb_row_file_row(collection->texts, pairs[i].passage, &length);
        fprintf(stream, "%d\t%.*s\t", related[i], (int)id_length, id);
        const char *both[] = {text, pairs[i].text};
        const size_t lengths[] = {length, pairs[i].length};
        for (int t = 0; t < 2; t++) {
            for (size_t b = 0; b < lengths[t]; b++)
                fputc(strchr("\t\r\n", both[t][b]) ? ' ' : both[t][b], stream);
            fputc(t ? '\n' : '\t', stream);
        }
    }
    return gb_out_commit(out, status);
}

static bool write_rate(const gb_maker *maker, double rate, uint32_t count, gb_status *status)
{
    json_t *json = json_pack("{s:{s:f, s:i}}", "related:rate", "value", rate, "pairs", (int)count);
    bool ok = json ? gb_maker_write_metrics(maker, json, status)
                   : gb_fail_memory(status, "writing the rate");
    json_decref(json);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_pair *pairs = gb_alloc(o->pairs, sizeof *pairs, status);
    bool *related = gb_alloc(o->pairs, sizeof *related, status);
    const char *judge = NULL;
    bool ok = collection && pairs && related &&
              (!o->queries || gb_use_queries(collection, o->queries, status)) &&
              gb_pairs_draw(collection, o->of, o->seed, o->pairs, pairs, status) &&
              gb_pairs_judge(collection, pairs, o->pairs, related, &judge, status);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < o->pairs && ok; i++)
        sum += related[i];
    ok = ok && write_pairs(maker, collection, pairs, related, o->pairs, status) &&
         write_rate(maker, (double)sum / o->pairs, o->pairs, status);
    if (ok)
        json_object_set_new(maker->facts, "judge", json_string(judge));
    gb_collection_close(collection);
    free(pairs);
    free(related);
    return ok;
}

static int run(const gb_call *call)
{
    static const char *const kinds[] = {"spans", "queries", NULL}; /* of gb_pair_kind */
    settings o = {.of = GB_PAIR_SPAN, .pairs = 200, .seed = 42};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection"},
        {"queries", GB_OPTION_TEXT, &o.queries, GB_OPTION_INPUT, "ARTIFACT",
         "generated queries (default: the collection's own)", .with = "of"},
        {"of", GB_OPTION_CHOICE, &o.of, 0, NULL, "what the contexts are", kinds},
        {"pairs", GB_OPTION_U32, &o.pairs, 0, NULL, "pairs drawn; the paper's annotators had 200",
         .min = 1, .max = UINT32_MAX},
        {"seed", GB_OPTION_U64, &o.seed, 0, NULL, "seed of the draw"},
        {0}};
    const gb_make_params params = {
        .command = &gb_cli_relatedness, .version = 1, .options = options, .self = &o, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_relatedness = {
    .name = "relatedness",
    .summary = "measure how often contexts are related to their passages",
    .description =
        "Draw pairs of a passage and its context, another passage of the document or a generated "
        "query, and count how many are strongly related. The mini world knows: the passages have "
        "the same subject, or the query asks for a fact of the passage. Elsewhere BM25 judges: "
        "searched with the context, the passage is among the first ten. Prints the artifact's "
        "folder: metrics.json and pairs.tsv, for reading.",
    .run = run,
    .makes = true};
