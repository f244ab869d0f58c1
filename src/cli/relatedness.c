/* gabbro relatedness: the step that tells how often contexts are related to their passages. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro relatedness --collection STEP --of spans|queries [options]\n\n"
    "Draw pairs of a passage and its context, another passage of the document or a generated\n"
    "query, and tell how many are strongly related. The mini world knows: the passages have the\n"
    "same subject; the query asks for a fact of the passage. Elsewhere BM25 judges: searched with\n"
    "the context, the passage is among the first ten. Prints the step's folder: metrics.json and\n"
    "pairs.tsv, for reading.\n";

typedef struct settings {
    const char *collection, *queries, *of; /* steps; kind by name */
    uint32_t pairs;                        /* drawn */
    uint64_t seed;                         /* of the draw */
} settings;

static bool write_pairs(const step_run *run, const gb_collection *collection, const gb_pair *pairs,
                        const bool *related, uint32_t count, gb_status *status)
{
    char *path = step_file(run, "pairs.tsv", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    fprintf(stream, "related\tpassage\tpassage text\tcontext text\n");
    for (uint32_t i = 0; i < count; i++) {
        size_t id_length, length;
        const char *id = gb_table_row(collection->passage_ids, pairs[i].passage, &id_length);
        const char *text = gb_table_row(collection->texts, pairs[i].passage, &length);
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

static bool write_rate(const step_run *run, double rate, uint32_t count, gb_status *status)
{
    json_t *json = json_pack("{s:{s:f, s:i}}", "related:rate", "value", rate, "pairs", (int)count);
    bool ok =
        json ? step_write_metrics(run, json, status) : gb_fail_memory(status, "writing the rate");
    json_decref(json);
    return ok;
}

static bool work(step_run *run, const settings *o, gb_pair_kind kind, json_t *facts,
                 gb_status *status)
{
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_pair *pairs = gb_alloc(o->pairs, sizeof *pairs, status);
    bool *related = gb_alloc(o->pairs, sizeof *related, status);
    const char *judge = NULL;
    bool ok = collection && pairs && related &&
              (!o->queries || gb_collection_use_queries(collection, o->queries, status)) &&
              gb_pairs_draw(collection, kind, o->seed, o->pairs, pairs, status) &&
              gb_pairs_judge(collection, pairs, o->pairs, related, &judge, status);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < o->pairs && ok; i++)
        sum += related[i];
    ok = ok && write_pairs(run, collection, pairs, related, o->pairs, status) &&
         write_rate(run, (double)sum / o->pairs, o->pairs, status);
    if (ok)
        json_object_set_new(facts, "judge", json_string(judge));
    gb_collection_close(collection);
    free(pairs);
    free(related);
    return ok;
}

int gb_cli_relatedness(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.pairs = 200, .seed = 42};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"queries", OPTION_TEXT, &o.queries, false, true,
         "step of generated queries (default: the collection's own)"},
        {"of", OPTION_TEXT, &o.of, true, false, "spans or queries"},
        {"pairs", OPTION_U32, &o.pairs, false, false, "drawn (200, as the paper's annotators had)"},
        {"seed", OPTION_U64, &o.seed, false, false, "of the draw (42)"},
        {0}};
    step_run run = {.kind = "relatedness", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool spans = !strcmp(o.of, "spans");
    bool ok = spans || !strcmp(o.of, "queries") ||
              gb_fail(&status, GB_USAGE, NULL, NULL, "--of is spans or queries");
    ok = ok && (o.pairs || gb_fail(&status, GB_USAGE, NULL, NULL, "--pairs is at least 1"));
    ok = ok && step_begin(&run, 1, false, NULL, &status);
    json_t *facts = json_object();
    if (ok && !gb_step_done(run.step))
        ok = work(&run, &o, spans ? GB_PAIR_SPAN : GB_PAIR_QUERY, facts, &status);
    if (ok)
        step_end(&run, facts, &status);
    json_decref(facts);
    return step_close(&run, &status);
}
