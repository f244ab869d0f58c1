/* gabbro encode: the step that writes vectors of a collection's passages or queries, all or a shard
 * of them. */
#include "ranking.h"
#include "vector_file.h"

#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro encode --model MODEL --collection STEP --tokens STEP [options]\n\n"
    "Vectors of the passages, or with --split of the queries of a split: vectors.npy (float32) "
    "and\n"
    "ids.txt (an id a line) in the step's folder, which is printed. --shard-index and "
    "--shard-count\n"
    "take one of several equal parts; a killed command goes on where it was. gabbro search reads "
    "the\n"
    "shards.\n";

typedef struct settings {
    const char *model, *collection, *tokens, *split; /* split NULL: passages */
    uint32_t shard, shards;                          /* which part, of how many */
} settings;

/* What is encoded. */
typedef struct job {
    const gb_table *tokens; /* ids of passages or queries */
    const gb_table *names;  /* their external ids */
    uint32_t *rows;         /* queries of the split, or NULL: all passages */
    uint32_t total;         /* texts of all shards */
    uint32_t first, count;  /* of this shard */
    uint32_t longest;       /* tokens of a text */
} job;

static bool plan_job(job *j, const settings *o, const gb_collection *collection,
                     const ranking_dense *model, gb_status *status)
{
    j->tokens = o->split ? model->tokens.queries : model->tokens.passages;
    j->names = o->split ? collection->query_ids : collection->passage_ids;
    j->longest = o->split ? model->longest_query : model->longest_passage;
    j->total = model->passage_count;
    bool ok = !o->split || ranking_queries(collection, o->split, NULL, &j->rows, &j->total, status);
    if (ok && gb_table_count(j->tokens) != gb_table_count(j->names))
        ok = gb_fail(status, GB_DATA, o->tokens, "tokenize this collection",
                     "the tokens are of another collection");
    j->first = (uint32_t)((uint64_t)j->total * o->shard / o->shards);
    j->count = (uint32_t)((uint64_t)j->total * (o->shard + 1) / o->shards) - j->first;
    return ok;
}

static bool write_vectors(step_run *run, const job *j, gb_encoder *encoder, uint32_t width,
                          gb_status *status)
{
    const vector_texts texts = {j->tokens, j->rows, j->first, j->count, "encode"};
    char *path = step_file(run, "vectors.npy", status);
    bool ok = path && vector_file_write(run, path, "encoded", &texts, encoder, width, status);
    free(path);
    return ok;
}

static bool write_ids(const step_run *run, const job *j, gb_status *status)
{
    char *path = step_file(run, "ids.txt", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    for (uint32_t i = 0; out && i < j->count; i++) {
        size_t length;
        uint32_t row = j->rows ? j->rows[j->first + i] : j->first + i;
        const char *id = gb_table_row(j->names, row, &length);
        fwrite(id, 1, length, gb_out_stream(out));
        fputc('\n', gb_out_stream(out));
    }
    free(path);
    return out && gb_out_commit(out, status);
}

/* What vector_set.c puts shards together by. */
static bool write_description(const step_run *run, const settings *o, const job *j, uint32_t width,
                              gb_status *status)
{
    char model[GB_IDENTITY], tokens[GB_IDENTITY];
    if (!gb_identity(o->model, model, status) || !gb_identity(o->tokens, tokens, status))
        return false;
    char *texts = gb_format(status, "%s %s", o->split ? o->split : "passages", tokens);
    char *encoder = gb_format(status, "%s%s%s", model, run->pooling ? " pooling " : "",
                              run->pooling ? run->pooling : "");
    char *path = step_file(run, "vectors.json", status);
    json_t *json = texts && encoder && path
                       ? json_pack("{s:s, s:s, s:i, s:i, s:i, s:i}", "model", encoder, "texts",
                                   texts, "first", (int)j->first, "rows", (int)j->count, "total",
                                   (int)j->total, "width", (int)width)
                       : NULL;
    char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    bool ok = text ? gb_write_file(path, text, strlen(text), status)
                   : gb_fail_memory(status, "describing vectors");
    json_decref(json);
    free(text);
    free(path);
    free(texts);
    free(encoder);
    return ok;
}

static bool make(step_run *run, const settings *o, gb_status *status)
{
    ranking_dense model = {0};
    job j = {0};
    gb_device *device = step_device(run, status);
    gb_collection *collection = device ? gb_open_collection(o->collection, status) : NULL;
    bool ok = collection && ranking_model_open(&model, run, o->model, o->tokens, status) &&
              plan_job(&j, o, collection, &model, status);
    gb_encoder *encoder = ok ? ranking_encoder(&model, j.longest, status) : NULL;
    double start_s = gb_now_s();
    uint32_t width = model.model.config.hidden_size;
    ok = encoder && write_vectors(run, &j, encoder, width, status) &&
         (!step_leads(run) ||
          (write_ids(run, &j, status) && write_description(run, o, &j, width, status)));
    if (ok && step_leads(run)) {
        json_t *facts = step_device_facts(run);
        json_object_set_new(facts, "texts", json_integer(j.count));
        gb_padding rows = gb_encoder_padding(encoder);
        json_t *times = step_times(gb_now_s() - start_s);
        step_say_padding(times, rows.used, rows.computed);
        json_object_set_new(facts, "times", times);
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    gb_encoder_destroy(encoder);
    free(j.rows);
    ranking_dense_close(&model);
    gb_collection_close(collection);
    return ok;
}

int gb_cli_encode(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.shards = 1};
    const step_option options[] = {
        {"model", OPTION_TEXT, &o.model, true, true, "retriever: step or model folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"split", OPTION_TEXT, &o.split, false, false, "queries of this split, not the passages"},
        {"shard-index", OPTION_U32, &o.shard, false, false, "which part, from 0 (0)"},
        {"shard-count", OPTION_U32, &o.shards, false, false, "parts in all (1)"},
        {0}};
    step_run run = {.kind = "encode", .options = options, .encodes = true, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = o.shard < o.shards || gb_fail(&status, GB_USAGE, NULL, NULL,
                                            "--shard-index is below --shard-count, from 0");
    if (ok && run.cost) {
        ranking_cost(o.collection, o.model, o.tokens, o.split, &status);
    } else if (ok && step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            make(&run, &o, &status);
    }
    return step_close(&run, &status);
}
