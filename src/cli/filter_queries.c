/* gabbro filter-queries: drops generated queries: repeated ones, those whose passage a retriever
 * does not find, and those that a cross-encoder scores low. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/querygen.h>
#include <gabbro/retrieve.h>

typedef struct settings {
    const char *collection;  /* artifact */
    gb_filter_params filter; /* which queries are kept */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    const gb_filter_params *how = &((const settings *)self)->filter;
    bool scored = how->keep_share < 1 || how->min_score != GB_OPEN_REAL;
    if (!how->unique && !how->ranked && !scored)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --unique, --keep-if-ranked, --keep-share or --min-score: there is "
                       "nothing to do");
    if (!how->cross == scored)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "--cross-encoder is given with --keep-share or --min-score");
    if (how->ranked ? !how->retriever || !how->tokens : how->retriever || how->tokens)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "--keep-if-ranked, --retriever and --tokens are given together");
    if (!how->ranked)
        maker->flags &= ~GB_MAKES_ENCODING;
    maker->kernels = (how->ranked ? GB_USER_SEARCH : 0) | (how->cross ? GB_USER_ENCODE : 0);
    return !how->ranked || gb_retriever_users(how->retriever, &maker->kernels, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_filter_counts counts;
    gb_collection *collection = gb_open_collection(o->collection, status);
    bool ok = collection && gb_queries_filter(maker, collection, &o->filter, &counts, status);
    gb_collection_close(collection);
    if (!ok)
        return false;
    json_object_update_new(
        maker->facts, json_pack("{s:i, s:i, s:i}", "queries_before", (int)counts.before, "repeated",
                                (int)counts.repeated, "ranked_too_low", (int)counts.lost));
    if (o->filter.cross)
        json_object_set_new(maker->facts, "scored_too_low", json_integer(counts.low));
    gb_log(
        GB_LOG_INFO,
        "%u queries: %u repeated, %u whose passage ranks too low, %u that score too low, %u left",
        counts.before, counts.repeated, counts.lost, counts.low,
        counts.before - counts.repeated - counts.lost - counts.low);
    return true;
}

static int run(const gb_call *call)
{
    settings o = {.filter = {.keep_share = 1, .min_score = GB_OPEN_REAL}};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection"},
        {"queries", GB_OPTION_TEXT, &o.filter.queries, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "its generated queries"},
        {"unique", GB_OPTION_FLAG, &o.filter.unique, 0, NULL, "drop repeated queries of a passage"},
        {"keep-if-ranked", GB_OPTION_U32, &o.filter.ranked, 0, "K",
         "keep queries whose passage is among the first K; 0: do not rank"},
        {"retriever", GB_OPTION_TEXT, &o.filter.retriever, GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "retriever that ranks: artifact or model folder"},
        {"tokens", GB_OPTION_TEXT, &o.filter.tokens, GB_OPTION_INPUT, "ARTIFACT",
         "tokens of these queries"},
        {"cross-encoder", GB_OPTION_TEXT, &o.filter.cross, GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "cross-encoder that scores each query with its passage: artifact or folder"},
        {"keep-share", GB_OPTION_RATIO, &o.filter.keep_share, 0, "S",
         "keep this share of the queries, those that it scores best (Doc2Query--: .3)"},
        {"min-score", GB_OPTION_RATIO, &o.filter.min_score, 0, "P",
         "keep queries to which it gives at least this probability"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_filter_queries,
                                   .version = 1,
                                   .flags = GB_MAKES_ENCODING,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_filter_queries = {
    .name = "filter-queries",
    .summary = "drop generated queries that do not find or fit their passage",
    .description =
        "Keep those generated queries (of gabbro generate or gabbro queries) that pass the tests "
        "of the options below. The tokens are those of gabbro tokenize --generated with the same "
        "queries. Prints the artifact's folder, for gabbro tokenize --generated: queries.jsonl "
        "with the lines that are left, generated.gbt, queries.json.",
    .run = run,
    .makes = true};
