/* gabbro encode: writes vectors of a collection's passages or queries, all or a shard of them. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

typedef struct settings {
    const char *model, *collection, *tokens, *split; /* artifacts; split NULL: passages */
    uint32_t shard, shards;                          /* which part, of how many */
    gb_sparse_settings sparse;                       /* of sparse vectors */
    uint32_t dims;                                   /* numbers of a vector; 0: all */
    gb_number numbers;                               /* of the others */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    if (!gb_retriever_users(o->model, &maker->kernels, status))
        return false;
    return o->shard < o->shards ||
           gb_fail(status, GB_USAGE, NULL, NULL, "--shard-index is below --shard-count, from 0");
}

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return gb_print_encoding_cost(&(gb_retriever_params){.model = o->model, .tokens = o->tokens},
                                  o->collection, o->split, stdout, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_device *device = gb_maker_device(maker, status);
    gb_collection *collection = device ? gb_open_collection(o->collection, status) : NULL;
    const gb_retriever_params params = {.model = o->model,
                                        .tokens = o->tokens,
                                        .collection = collection,
                                        .pooling = maker->pooling,
                                        .dims = o->dims,
                                        .sparse = o->sparse,
                                        .device = device,
                                        .ranks = maker->ranks};
    const gb_shard shard = {
        .split = o->split, .index = o->shard, .count = o->shards, .numbers = o->numbers};
    gb_retriever *retriever = collection ? gb_retriever_open(&params, status) : NULL;
    char *resume = retriever ? gb_maker_resume_file(maker, "encoded.terms", status) : NULL;
    char *journal =
        resume ? gb_maker_rank_file(maker, "encoded", gb_ranks_rank(maker->ranks), status) : NULL;
    gb_shard_written written;
    double start_s = gb_now_s();
    bool ok = journal && gb_retriever_write_shard(retriever, &shard, gb_maker_folder(maker), resume,
                                                  journal, &written, status);
    if (ok) {
        json_t *times = json_pack("{s:f}", "work_s", gb_now_s() - start_s);
        gb_note_padding(times, written.padding.used, written.padding.computed);
        json_object_set_new(maker->facts, "texts", json_integer(written.texts));
        json_object_set_new(maker->facts, "times", times);
    }
    free(resume);
    free(journal);
    gb_retriever_close(retriever);
    gb_collection_close(collection);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.shards = 1};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "retriever: artifact or model folder"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
         "its tokens"},
        {"split", GB_OPTION_TEXT, &o.split, 0, "NAME",
         "encode the queries of this split, not the passages"},
        {"shard-index", GB_OPTION_U32, &o.shard, 0, NULL, "which part, from 0"},
        {"shard-count", GB_OPTION_U32, &o.shards, 0, NULL, "parts in all", .min = 1,
         .max = UINT32_MAX},
        {"numbers", GB_OPTION_CHOICE, &o.numbers, 0, NULL,
         "of dense vectors and those of tokens; int8, of dense ones alone, has scales.npy beside "
         "it",
         gb_number_names},
        {"dims", GB_OPTION_U32, &o.dims, 0, NULL,
         "dimensions of a dense vector that are kept, as Matryoshka models allow; 0: all"},
        {"quantize", GB_OPTION_REAL, &o.sparse.quantize, 0, "X",
         "multiply the weights of sparse vectors by X and round them; 0: do not"},
        {0}};
    const gb_option_table tables[] = {{"Sparse vectors", gb_sparse_options, &o.sparse}, {0}};
    const gb_make_params params = {.command = &gb_cli_encode,
                                   .version = 1,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_DIVIDED,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_encode = {
    .name = "encode",
    .summary = "write vectors of passages or queries, all or a shard of them",
    .description =
        "Write vectors of the passages, or with --split of the queries of a split: vectors.npy "
        "and ids.txt (an id a line) in the artifact's folder, which is printed. "
        "--shard-index and --shard-count take one of several equal parts. A killed command goes on "
        "where it was. gabbro search reads the shards. A model of sparse vectors (SPLADE) gives "
        "vectors.jsonl, for gabbro search-sparse and Anserini. A model of late interaction "
        "(ColBERT, "
        "COIL) gives vectors of tokens, for gabbro search: starts.npy has the first row of each "
        "text, and of COIL tags.npy the ids of the tokens and whole.npy the vectors of [CLS].",
    .run = run,
    .makes = true};
