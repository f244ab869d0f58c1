/* What commands share that rank the queries of a split to find hard negatives. */
#ifndef GABBRO_CLI_MINING_H
#define GABBRO_CLI_MINING_H

#include "cli.h"

#include <gabbro/retrieve.h>

typedef struct cli_mining {
    const char *collection; /* artifact */
    const char *split;      /* of the queries */
    uint32_t depth;         /* passages a query */
    bool drop_identical;    /* no passage with the query's id */
    const char *jsonl;      /* file for other kits, or NULL */
    uint32_t skip;          /* its negatives begin behind so many */
} cli_mining;
#define CLI_MINING                                                                                 \
    {                                                                                              \
        .split = "train", .depth = 200                                                             \
    }
/* Of a cli_mining, but for its collection. */
extern const gb_option cli_mining_options[];

/* Ranks the collection with a retriever and its tokens, or by BM25 if model is NULL, and writes the
 * run of a command's artifact. */
bool cli_mining_make(const cli_mining *o, gb_maker *maker, const char *model, const char *tokens,
                     const gb_sparse_settings *sparse, const gb_bm25_settings *bm25,
                     gb_status *status);
/* Writes the file for other kits of that artifact's run. */
bool cli_mining_after(const cli_mining *o, gb_maker *maker, gb_status *status);

#endif
