/* gabbro mine: rank passages for the queries of a split with a retriever, from which hard negatives
 * are taken. */
#include "mining.h"

#include <gabbro/experiment.h>

typedef struct settings {
    const char *model, *tokens; /* retriever's artifact; tokens of the collection */
    gb_sparse_settings sparse;  /* what is kept of sparse vectors */
    cli_mining mining;
} settings;

static bool cost(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    (void)maker;
    return gb_print_encoding_cost(&(gb_retriever_params){.model = o->model, .tokens = o->tokens},
                                  o->mining.collection, o->mining.split, stdout, status);
}

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    maker->kernels = GB_USER_SEARCH;
    return gb_retriever_users(o->model, &maker->kernels, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_mining_make(&o->mining, maker, o->model, o->tokens, &o->sparse, NULL, status);
}

static bool after(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_mining_after(&o->mining, maker, status);
}

static int mine(const gb_call *call)
{
    settings o = {.mining = CLI_MINING};
    const gb_option options[] = {{"model", GB_OPTION_TEXT, &o.model,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
                                  "retriever: artifact or model folder"},
                                 {"collection", GB_OPTION_TEXT, &o.mining.collection,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT", "collection"},
                                 {"tokens", GB_OPTION_TEXT, &o.tokens,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT", "its tokens"},
                                 {0}};
    const gb_option_table tables[] = {{NULL, cli_mining_options, &o.mining},
                                      {"Sparse vectors", gb_sparse_options, &o.sparse},
                                      {0}};
    const gb_make_params params = {.command = &gb_cli_mine,
                                   .version = 1,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_DIVIDED,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .check = check,
                                   .cost = cost,
                                   .make = make,
                                   .after = after};
    return gb_make(&params, call);
}

const gb_command gb_cli_mine = {
    .name = "mine",
    .summary = "rank passages for the queries of a split with a retriever",
    .description = "Rank passages for the queries of a split with a retriever, for gabbro finetune "
                   "--negatives. Prints the artifact's folder; the run is its run.trec.",
    .run = mine,
    .makes = true};
