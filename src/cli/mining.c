/* What gabbro mine and gabbro bm25-run share. */
#include "mining.h"

#include "training_jsonl.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#define FIELD(member) GB_FIELD(cli_mining, member)
const gb_option cli_mining_options[] = {
    {"split", GB_OPTION_TEXT, FIELD(ranking.split), 0, "NAME",
     "split of the queries; " GB_UNLABELLED ": those in none"},
    {"depth", GB_OPTION_U32, FIELD(ranking.depth), 0, NULL, "passages a query", .max = INT32_MAX},
    {"drop-identical", GB_OPTION_FLAG, FIELD(ranking.drop_identical), 0, NULL,
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
    bool ok = collection && gb_ranker_open(&ranker, maker, model, tokens, sparse, bm25, status) &&
              gb_ranker_write(&ranker, maker, &o->ranking, status);
    gb_ranker_close(&ranker);
    gb_collection_close(collection);
    return ok;
}

bool cli_mining_after(const cli_mining *o, gb_maker *maker, gb_status *status)
{
    const cli_training training = {o->jsonl, o->collection, o->ranking.split, o->skip,
                                   o->ranking.depth};
    return cli_write_training(&training, gb_maker_folder(maker), status);
}
