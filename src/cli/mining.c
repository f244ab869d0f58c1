/* What gabbro mine and gabbro bm25-run share. */
#include "mining.h"

#include "training_jsonl.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#define FIELD(member) GB_FIELD(cli_mining, member)
const gb_option cli_mining_options[] = {
    {"split", GB_OPTION_TEXT, FIELD(split), 0, "NAME",
     "split of the queries; " GB_UNLABELLED ": those in none"},
    {"depth", GB_OPTION_U32, FIELD(depth), 0, NULL, "passages a query", .min = 1, .max = INT32_MAX},
    {"drop-identical", GB_OPTION_FLAG, FIELD(drop_identical), 0, NULL,
     "drop a passage whose id is the query's (ArguAna, Quora): it is no negative"},
    CLI_TRAINING_OPTIONS(FIELD(jsonl), FIELD(skip)),
    {0}};
#undef FIELD

bool cli_mining_make(const cli_mining *o, gb_maker *maker, const char *model, const char *tokens,
                     const gb_sparse_settings *sparse, const gb_bm25_settings *bm25,
                     gb_status *status)
{
    gb_collection *collection = gb_open_collection(o->collection, status);
    gb_ranker ranker = {.collection = collection};
    gb_split split = {0};
    const gb_ranking ranking = {&split, o->depth, o->drop_identical};
    /* A split that is not there is told before passages are encoded. */
    bool ok = collection && gb_split_open(collection, o->split, &split, status) &&
              gb_ranker_open(&ranker, maker, model, tokens, sparse, bm25, status) &&
              gb_ranker_write(&ranker, maker, &ranking, status);
    gb_split_free(&split);
    gb_ranker_close(&ranker);
    gb_collection_close(collection);
    return ok;
}

bool cli_mining_after(const cli_mining *o, gb_maker *maker, gb_status *status)
{
    const cli_training training = {o->jsonl, o->collection, o->split, o->skip, o->depth};
    return cli_write_training(&training, gb_maker_folder(maker), status);
}
