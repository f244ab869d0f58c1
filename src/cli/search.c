/* gabbro search: ranks passages for queries by their vectors. */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

typedef struct settings {
    gb_words queries, passages; /* folders */
    const char *candidates;     /* run whose passages alone are ranked, or NULL */
    uint32_t depth;             /* passages a query */
    uint32_t piece;             /* passages after which what was found is kept */
    uint32_t dims;              /* numbers of a vector that are compared; 0: all */
} settings;

static bool by_tokens(const settings *o)
{
    return gb_is_token_set(o->queries.items[0]) && gb_is_token_set(o->passages.items[0]);
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    bool tokens = by_tokens(o);
    if (!gb_dir_exists(o->queries.items[0]) || !gb_dir_exists(o->passages.items[0]))
        return true; /* it is said when they are opened */
    if (!tokens && (gb_is_token_set(o->queries.items[0]) || gb_is_token_set(o->passages.items[0])))
        return gb_fail(status, GB_USAGE, o->passages.items[0], "encode both with one retriever",
                       "only the %s have vectors of tokens",
                       gb_is_token_set(o->queries.items[0]) ? "queries" : "passages");
    if (!tokens && o->candidates)
        return gb_fail(status, GB_USAGE, o->passages.items[0],
                       "leave --candidates out, or give folders with starts.npy",
                       "--candidates needs vectors of tokens");
    if (tokens && o->dims)
        return gb_fail(status, GB_USAGE, o->passages.items[0], "leave --dims out",
                       "vectors of tokens are not cut");
    maker->kernels |= tokens ? GB_USER_LATE : 0;
    return true;
}

static bool make_by_tokens(gb_maker *maker, const settings *o, gb_status *status)
{
    gb_token_set queries = {0}, passages = {0};
    char *path = gb_maker_file(maker, "run.trec", status);
    gb_device *device = path ? gb_maker_device(maker, status) : NULL;
    bool ok =
        device && gb_token_set_open(&queries, o->queries.items, o->queries.count, status) &&
        gb_token_set_open(&passages, o->passages.items, o->passages.count, status) &&
        (gb_ranks_rank(maker->ranks) ||
         gb_token_set_search(device, &queries, &passages, o->depth, o->candidates, path, status));
    json_object_set_new(maker->facts, "queries", json_integer(queries.vectors.texts));
    json_object_set_new(maker->facts, "passages", json_integer(passages.vectors.texts));
    gb_token_set_close(&queries);
    gb_token_set_close(&passages);
    free(path);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    if (by_tokens(o))
        return make_by_tokens(maker, o, status);
    gb_vector_set queries = {0}, passages = {0};
    char *found = gb_maker_rank_file(maker, "found", gb_ranks_rank(maker->ranks), status);
    char *path = gb_maker_file(maker, "run.trec", status);
    const gb_search_params params = {
        .k = o->depth, .piece = o->piece, .resume = found, .ranks = maker->ranks};
    gb_device *device = found && path ? gb_maker_device(maker, status) : NULL;
    bool ok = device && gb_vector_set_open(&queries, o->queries.items, o->queries.count, status) &&
              gb_vector_set_open(&passages, o->passages.items, o->passages.count, status) &&
              gb_vector_set_cut(&queries, o->dims, status) &&
              gb_vector_set_cut(&passages, o->dims, status) &&
              gb_vector_set_search(device, &queries, &passages, &params, path, status);
    json_object_set_new(maker->facts, "queries", json_integer(queries.vectors.rows));
    json_object_set_new(maker->facts, "passages", json_integer(passages.vectors.rows));
    gb_vector_set_close(&queries);
    gb_vector_set_close(&passages);
    free(found);
    free(path);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.depth = 1000, .piece = 1 << 17};
    const gb_option options[] = {
        {"queries", GB_OPTION_LIST, &o.queries, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "DIR",
         "vectors of the queries"},
        {"passages", GB_OPTION_LIST, &o.passages, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "DIR",
         "vectors of the passages; once for every shard"},
        {"candidates", GB_OPTION_TEXT, &o.candidates, GB_OPTION_INPUT, "RUN",
         "of token vectors: rank only the passages that this run, a file or an artifact, has for a "
         "query"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query", .min = 1,
         .max = UINT32_MAX},
        {"dims", GB_OPTION_U32, &o.dims, 0, NULL,
         "dimensions of a vector that are compared, as Matryoshka models allow; what was of length "
         "1 "
         "is made so again; 0: all"},
        {"piece", GB_OPTION_U32, &o.piece, GB_OPTION_NO_KEY, NULL,
         "passages between two saved states of a search", .min = 1, .max = UINT32_MAX},
        {0}};
    const gb_make_params params = {.command = &gb_cli_search,
                                   .version = 1,
                                   .kernels = GB_USER_SEARCH,
                                   .flags = GB_MAKES_DIVIDED,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_search = {
    .name = "search",
    .summary = "rank passages by vectors, shard by shard",
    .description =
        "Rank passages by exact inner products of vectors, from folders with vectors.npy and "
        "ids.txt: those of gabbro encode (all shards, in any order) or anyone else's (float32, "
        "float16, int8 with scales.npy, or a flat faiss index with its docid). Where these have a "
        "starts.npy, vectors are of tokens, and the score of a passage is the sum over the query's "
        "tokens of the best inner product with a token of the passage (late interaction). Of equal "
        "scores the earlier passage is first. Vectors are read from the disk as they are needed; a "
        "killed search goes on behind the last piece. Prints the artifact's folder; the run is its "
        "run.trec.",
    .run = run,
    .makes = true};
