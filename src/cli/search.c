/* gabbro search: the step that ranks passages for queries by their vectors. */
#include "vector_set.h"

#include <gabbro/ops.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro search --queries DIR --passages DIR [--passages DIR ...] [options]\n\n"
    "Exact inner-product search over folders of vectors.npy and ids.txt: steps of gabbro encode "
    "(all\n"
    "shards, in any order) or anyone else's (float32 or float16). Equal scores: the earlier "
    "passage\n"
    "first. Vectors are read from the disk as they are needed; a killed search goes on behind the "
    "last\n"
    "piece. Prints the step's folder; the run is its run.trec.\n";

enum { PIECE = 1 << 17 }; /* passages between two places to go on from */

typedef struct settings {
    step_list queries, passages; /* folders */
    uint32_t depth;              /* passages a query */
    uint32_t piece;              /* passages of a piece */
} settings;

/* Row of an id among the names of a run. */
static bool name_row(gb_names *names, const vector_set *set, uint32_t row, uint32_t *name,
                     gb_status *status)
{
    size_t length;
    const char *id = vector_set_id(set, row, &length);
    return gb_names_row(names, id, length, name, status);
}

/* Only ids that were found are kept in memory. */
static bool write_run(const step_run *step, const vector_set *queries, const vector_set *passages,
                      uint32_t depth, const uint32_t *rows, const float *scores, gb_status *status)
{
    gb_names *query_names = gb_names_create(status), *names = gb_names_create(status);
    gb_hit *hits = gb_alloc(depth, sizeof *hits, status);
    char *path = step_file(step, "run.trec", status);
    gb_run run = {0};
    bool ok = query_names && names && hits && path;
    for (uint32_t q = 0; ok && q < queries->vectors.rows; q++) {
        uint32_t query, count = 0;
        ok = name_row(query_names, queries, q, &query, status);
        if (ok && query != q)
            ok = gb_fail(status, GB_DATA, NULL, "ids.txt names every query once",
                         "a query is there twice");
        for (size_t at = (size_t)q * depth; ok && count < depth && rows[at + count] != GB_NO_ROW;
             count++) {
            hits[count].score = scores[at + count];
            ok = name_row(names, passages, rows[at + count], &hits[count].passage, status);
        }
        ok = ok && gb_run_add(&run, query, hits, count, status);
    }
    ok = ok && gb_run_write(&run, GB_RUN_TREC, query_names, names, "gabbro", path, status);
    gb_run_free(&run);
    gb_names_destroy(query_names);
    gb_names_destroy(names);
    free(hits);
    free(path);
    return ok;
}

static bool search(step_run *run, const settings *o, const vector_set *queries,
                   const vector_set *passages, gb_status *status)
{
    if (*queries->model && *passages->model && strcmp(queries->model, passages->model))
        return gb_fail(status, GB_DATA, o->queries.items[0], "encode both with one retriever",
                       "queries by %s, passages by %s", queries->model, passages->model);
    uint32_t k = o->depth < passages->vectors.rows ? o->depth : passages->vectors.rows;
    size_t cells = (size_t)queries->vectors.rows * k;
    uint32_t *rows = gb_alloc(cells, sizeof *rows, status);
    float *scores = gb_alloc(cells, sizeof *scores, status);
    char *resume = step_rank_file(run, "found", status);
    gb_device *device = resume ? step_device(run, status) : NULL;
    gb_search_params params = {.k = k};
    double start_s = gb_now_s();
    bool ok = rows && scores && device &&
              gb_search_ranks(run->ranks, device, &queries->vectors, &passages->vectors, &params,
                              o->piece, resume, rows, scores, status) &&
              (!step_leads(run) || write_run(run, queries, passages, k, rows, scores, status));
    if (ok && step_leads(run)) {
        json_t *facts = step_device_facts(run);
        json_object_set_new(facts, "queries", json_integer(queries->vectors.rows));
        json_object_set_new(facts, "passages", json_integer(passages->vectors.rows));
        json_object_set_new(facts, "times", step_times(gb_now_s() - start_s));
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    free(rows);
    free(scores);
    free(resume);
    return ok;
}

static bool make(step_run *run, const settings *o, gb_status *status)
{
    vector_set queries = {0}, passages = {0};
    bool ok = vector_set_open(&queries, &o->queries, status) &&
              vector_set_open(&passages, &o->passages, status) &&
              search(run, o, &queries, &passages, status);
    vector_set_close(&queries);
    vector_set_close(&passages);
    return ok;
}

int gb_cli_search(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.depth = 1000, .piece = PIECE};
    const step_option options[] = {
        {"queries", OPTION_LIST, &o.queries, true, true, "vectors of the queries"},
        {"passages", OPTION_LIST, &o.passages, true, true,
         "vectors of the passages; once for every shard"},
        {"depth", OPTION_U32, &o.depth, false, false, "passages a query (1000)"},
        {"piece", OPTION_U32, &o.piece, false, false,
         "passages between two places to go on from (131072); changes no result", true},
        {0}};
    step_run run = {.kind = "search", .options = options, .divides = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = (o.depth && o.piece) ||
              gb_fail(&status, GB_USAGE, NULL, NULL, "--depth and --piece are at least 1");
    if (ok && step_begin(&run, 1, true, NULL, &status)) {
        if (step_there(&run))
            step_end(&run, NULL, &status);
        else
            make(&run, &o, &status);
    }
    return step_close(&run, &status);
}
