/* gabbro bm25: indexes a collection, searches for its queries, measures. */
#include "cli.h"

#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"trec", "msmarco", "scores", NULL};
static const gb_run_format format_of[] = {GB_RUN_TREC, GB_RUN_MSMARCO, GB_RUN_SCORES};

typedef struct settings {
    gb_bm25_folder_params folder; /* what is searched for what, and BM25's parameters */
    const char *run, *tag;        /* file, or NULL; of its lines */
    uint32_t format;              /* number of its word */
    uint32_t depth;               /* passages a query */
    uint32_t level;               /* smallest relevant grade */
    uint32_t threads;             /* 0: all */
    bool drop_identical;          /* a passage whose id is the query's is left out of the run */
} settings;

static bool print_form(const gb_bm25_folder *f, const settings *o, const gb_run *run,
                       const char *form, gb_eval_params params, const char *const *measures,
                       uint32_t *tied, gb_status *status)
{
    gb_metrics metrics = {0};
    gb_evaluation evaluation = {0};
    bool ok = true;
    params.level = (int32_t)o->level;
    params.metrics = &metrics;
    for (; ok && *measures; measures++)
        ok = gb_metrics_add(&metrics, *measures, status);
    ok = ok && gb_evaluate(run, &f->qrels, &f->names, &params, &evaluation, status);
    for (size_t m = 0; ok && m < metrics.count; m++) {
        char label[GB_METRIC_LABEL];
        gb_metric_label(&metrics.items[m], params.level, label);
        printf("%-12s %-22s %.4f\n", form, label, evaluation.totals[m]);
    }
    *tied = evaluation.tied_queries;
    gb_evaluation_free(&evaluation);
    free(metrics.items);
    return ok;
}

static const char *const trec[] = {"map",         "recip_rank", "P.10,30", "recall.100,1000",
                                   "ndcg_cut.10", "Judged@10",  NULL};
static const char *const msmarco[] = {"MRR@10", "Hit@50,1000", NULL};

/* The forms apart: their numbers differ, and so do their names. */
static bool print_measures(const gb_bm25_folder *f, const settings *o, const gb_run *run,
                           gb_status *status)
{
    gb_eval_params complete = GB_EVAL_TREC;
    complete.complete = true;
    uint32_t tied;
    printf("\nform         measure                value (all judged queries)\n");
    if (!print_form(f, o, run, "trec_eval -c", complete, trec, &tied, status) ||
        !print_form(f, o, run, "msmarco", GB_EVAL_MSMARCO, msmarco, &tied, status))
        return false;
    printf(
        "\n%u queries have equal scores within the first 10 ranks: trec_eval orders them by id,\n"
        "descending; the msmarco form by row\n",
        tied);
    return true;
}

static void print_index(const gb_bm25_folder *f, const gb_bm25_folder_params *params)
{
    printf("collection   %s: %u passages, title + \" \" + text\n", params->folder,
           gb_bm25_count(f->index));
    printf("index        BM25 k1 %g b %g%s, %s, %u terms, %.1f s\n", params->bm25.k1,
           params->bm25.b, params->bm25.rm3 ? " with RM3" : "",
           params->vocabulary ? "tokens of a vocabulary"
                              : "Porter stems without Lucene's stop words",
           gb_bm25_terms(f->index), f->index_s);
}

static bool run_bm25(const settings *o, gb_status *status)
{
    gb_bm25_folder f = {0};
    gb_run run = {0};
    const gb_run_style style = {.format = format_of[o->format], .tag = o->tag};
    if (!gb_bm25_folder_open(&o->folder, &f, status))
        return false;
    print_index(&f, &o->folder);
    double start_s = gb_now_s();
    /* A passage more, where one may be dropped. */
    bool ok = gb_bm25_folder_search(&f, o->depth + o->drop_identical, o->threads, &run, status);
    if (ok && o->drop_identical)
        gb_run_drop_identical(&run, &f.names, o->depth);
    if (ok) {
        printf("queries      %zu", run.list_count);
        if (f.split)
            printf(" of split %s", f.split);
        if (f.qrels.count)
            printf(", %zu judgements", f.qrels.count);
        printf(", depth %u, %.1f s\n", o->depth, gb_now_s() - start_s);
    }
    if (ok && o->run)
        ok = gb_run_write(&run, &f.names, &style, o->run, status);
    if (ok && f.qrels.count)
        ok = print_measures(&f, o, &run, status);
    gb_run_free(&run);
    gb_bm25_folder_close(&f);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {{.bm25 = GB_BM25_SETTINGS}, .depth = 1000, .level = 1, .tag = "gabbro-bm25"};
    const gb_option options[] = {
        {"collection", GB_OPTION_TEXT, &o.folder.folder, GB_OPTION_REQUIRED, "DIR",
         "collection's artifact, or a folder with corpus.jsonl[.gz] as BEIR's"},
        {"split", GB_OPTION_TEXT, &o.folder.split, 0, "NAME",
         "judgements of DIR: qrels/NAME.tsv (default: test, else dev; of --queries none)"},
        {"queries", GB_OPTION_TEXT, &o.folder.queries, 0, "FILE",
         "search for these queries instead of DIR's judged ones: JSON lines, qid<TAB>text, or TREC "
         "topics"},
        {"qrels", GB_OPTION_TEXT, &o.folder.qrels, 0, "FILE",
         "judgements instead of DIR's, in the layout of TREC, MS MARCO or BEIR"},
        {"vocabulary", GB_OPTION_TEXT, &o.folder.vocabulary, 0, "DIR",
         "take tokens of this vocabulary's artifact, or of this model's folder, for terms instead "
         "of stemmed words"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query", .min = 1, .max = INT32_MAX},
        {"level", GB_OPTION_U32, &o.level, 0, NULL, "smallest grade that is relevant", .min = 1,
         .max = INT32_MAX},
        {"drop-identical", GB_OPTION_FLAG, &o.drop_identical, 0, NULL,
         "drop a passage whose id is the query's (ArguAna, Quora)"},
        {"run", GB_OPTION_TEXT, &o.run, 0, "FILE", "write the run"},
        {"format", GB_OPTION_CHOICE, &o.format, 0, NULL, "format of the run", formats,
         .with = "run"},
        {"tag", GB_OPTION_TEXT, &o.tag, 0, "NAME", "tag of the run, one word", .with = "run"},
        {"threads", GB_OPTION_U32, &o.threads, 0, NULL, "threads that search; 0: all processors",
         .max = INT32_MAX},
        {0}};
    gb_status status = {0};
    const gb_option_table tables[] = {
        {.options = options}, {"BM25", gb_bm25_options, &o.folder.bm25}, {0}};
    if (gb_command_parse(&gb_cli_bm25, tables, call->argc, call->argv, NULL, &status) !=
        GB_PARSED_RUN)
        return gb_command_end(&status);
    gb_install_signals();
    if (gb_run_tag_check(o.tag, &status))
        run_bm25(&o, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_bm25 = {.name = "bm25",
                                .summary = "index, search and measure with BM25",
                                .description =
                                    "Search with BM25 as Lucene scores it (Porter stems, Lucene's "
                                    "stop words, one-byte lengths) and measure. A passage is "
                                    "\"title text\".",
                                .run = run};
