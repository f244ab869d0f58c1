/* gabbro agreement: a run or a table beside the one that it reproduces. */
#include "cli.h"

#include <gabbro/eval.h>
#include <gabbro/report.h>

#include <string.h>

/* Two runs by judgements, or tables without them. */
static bool agree(const gb_agree_params *given, const gb_words *files, const char *base,
                  gb_status *status)
{
    gb_agree_params p = *given;
    bool two = files->count == 2;
    if (p.persistence <= 0 || p.persistence >= 1)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--persistence must be between 0 and 1");
    if (!p.qrels)
        return gb_tables_agree(two ? files->items[0] : NULL, files->items[two], base, stdout,
                               status);
    if (!two)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "give two runs: ORIGINAL RUN");
    if (!base != !p.original_base)
        return gb_fail(status, GB_USAGE, NULL, "an effect is that of a run over its baseline",
                       "--base and --original-base go together");
    p.original = files->items[0];
    p.run = files->items[1];
    p.base = base;
    return gb_runs_agree(&p, stdout, status);
}

static int run(const gb_call *call)
{
    gb_agree_params p = {.persistence = 0.8, .depth = 1000, .level = 1};
    gb_words files = {0}, measures = {0};
    const char *base = NULL;
    uint32_t level = 1;
    const gb_option options[] = {
        {"qrels", GB_OPTION_TEXT, &p.qrels, 0, "FILE", "judgements: compare two runs"},
        {"base", GB_OPTION_TEXT, &base, 0, "RUN|ROW",
         "baseline that RUN is better than, for effects; of tables a row (default: the first)"},
        {"original-base", GB_OPTION_TEXT, &p.original_base, 0, "RUN", "that of ORIGINAL",
         .with = "qrels"},
        {"measure", GB_OPTION_LIST, &measures, 0, "MEASURE",
         "measures of gabbro eval (default map, recip_rank, ndcg_cut.10, recall.100)",
         .letter = 'm', .with = "qrels"},
        {"level_for_rel", GB_OPTION_U32, &level, 0, NULL, "smallest grade that is relevant",
         .letter = 'l', .max = INT32_MAX, .with = "qrels"},
        {"depth", GB_OPTION_U32, &p.depth, 0, NULL,
         "passages of a query whose order is compared; 0: all", .with = "qrels"},
        {"persistence", GB_OPTION_REAL, &p.persistence, 0, NULL,
         "p of the rank-biased overlap: the smaller, the more the first ranks count", .min = 0,
         .max = 1, .with = "qrels"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_agreement, options, call, &files, &code))
        return code;
    p.measures = measures.items;
    p.measure_count = measures.count;
    p.level = (int32_t)level;
    agree(&p, &files, base, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_agreement = {
    .name = "agreement",
    .summary = "say how far a run or a table agrees with its original",
    .operands = "[ORIGINAL] REPRODUCTION",
    .needs = "a table, two tables, or two runs with --qrels",
    .operands_min = 1,
    .operands_max = 2,
    .description =
        "Compare a reproduction with its original, by the measures of Breuer et al. (SIGIR 2020) "
        "and repro_eval. Two runs with --qrels: Kendall's tau union and rank-biased overlap of the "
        "orders of passages; for each measure the root mean squared error over queries and p of a "
        "paired t-test; with baselines the effect ratio (1: the same effect) and the delta of the "
        "relative improvements (0: the same). Two files table.json of gabbro reproduce, or one, "
        "which is compared with the published values in it: for each column Kendall's tau of the "
        "rows, RMSE and p over the rows, and the effects of each row over a baseline.",
    .run = run};
