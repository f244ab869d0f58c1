/* gabbro filter-queries: the step that drops generated queries: repeated ones, and those whose
 * passage a retriever does not find. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/querygen.h>

static const char usage[] =
    "usage: gabbro filter-queries --collection STEP --queries STEP [--unique]\n"
    "           [--keep-if-ranked K --retriever MODEL --tokens STEP] [options]\n\n"
    "Queries of a step of gabbro generate or gabbro queries that are worth keeping. The tokens "
    "are\n"
    "those of gabbro tokenize --generated with the same queries. Prints the step's folder, for\n"
    "gabbro tokenize --generated: queries.jsonl with the lines that are left, generated.gbt,\n"
    "queries.json.\n";

typedef struct settings {
    const char *collection;  /* step */
    gb_filter_params filter; /* which queries are kept */
} settings;

static bool filter(step_run *run, const settings *o, gb_status *status)
{
    gb_filter_counts counts;
    gb_collection *collection = gb_open_collection(o->collection, status);
    bool ok = collection && gb_queries_filter(run, collection, &o->filter, &counts, status);
    gb_collection_close(collection);
    if (!ok)
        return false;
    json_t *facts = json_pack("{s:i, s:i, s:i}", "queries_before", (int)counts.before, "repeated",
                              (int)counts.repeated, "ranked_too_low", (int)counts.lost);
    gb_log(GB_LOG_INFO, "%u queries: %u repeated, %u whose passage ranks too low, %u left",
           counts.before, counts.repeated, counts.lost,
           counts.before - counts.repeated - counts.lost);
    ok = step_end(run, facts, status);
    json_decref(facts);
    return ok;
}

int gb_cli_filter_queries(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {0};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"queries", OPTION_TEXT, &o.filter.queries, true, true, "step of its generated queries"},
        {"unique", OPTION_FLAG, &o.filter.unique, false, false,
         "drop repeated queries of a passage"},
        {"keep-if-ranked", OPTION_U32, &o.filter.ranked, false, false,
         "keep queries whose passage is among the first K (0: do not rank)"},
        {"retriever", OPTION_TEXT, &o.filter.retriever, false, true,
         "that ranks: step or model folder"},
        {"tokens", OPTION_TEXT, &o.filter.tokens, false, true, "step of tokens of the queries"},
        {0}};
    step_run run = {.kind = "filter-queries", .options = options, .encodes = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    const gb_filter_params *how = &o.filter;
    bool ok = true;
    if (!how->unique && !how->ranked)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help",
                     "give --unique or --keep-if-ranked: there is nothing to do");
    else if (how->ranked ? !how->retriever || !how->tokens : how->retriever || how->tokens)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help",
                     "--keep-if-ranked, --retriever and --tokens are given together");
    if (ok && step_begin(&run, 1, how->ranked > 0, NULL, &status)) {
        if (gb_step_done(run.step))
            step_end(&run, NULL, &status);
        else
            filter(&run, &o, &status);
    }
    return step_close(&run, &status);
}
