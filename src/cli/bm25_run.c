/* gabbro bm25-run: rank passages for the queries of a split with BM25, from which hard negatives
 * are taken. */
#include "mining.h"

#include <gabbro/experiment.h>

typedef struct settings {
    gb_bm25_settings bm25;
    cli_mining mining;
} settings;

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_mining_make(&o->mining, maker, NULL, NULL, NULL, &o->bm25, status);
}

static bool after(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return cli_mining_after(&o->mining, maker, status);
}

static int bm25_run(const gb_call *call)
{
    settings o = {.bm25 = GB_BM25_SETTINGS, .mining = CLI_MINING};
    const gb_option options[] = {{"collection", GB_OPTION_TEXT, &o.mining.collection,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT", "collection"},
                                 {0}};
    const gb_option_table tables[] = {
        {NULL, cli_mining_options, &o.mining}, {NULL, gb_bm25_options, &o.bm25}, {0}};
    const gb_make_params params = {.command = &gb_cli_bm25_run,
                                   .version = 1,
                                   .options = options,
                                   .tables = tables,
                                   .self = &o,
                                   .make = make,
                                   .after = after};
    return gb_make(&params, call);
}

const gb_command gb_cli_bm25_run = {
    .name = "bm25-run",
    .summary = "rank passages for the queries of a split with BM25",
    .description = "Rank passages for the queries of a split with BM25, for gabbro finetune "
                   "--negatives. Prints the artifact's folder; the run is its run.trec.",
    .run = bm25_run,
    .makes = true};
