/* gabbro bm25: index a collection, search its queries, measure. */
#include "cli.h"

#include <gabbro/options.h>
#include <gabbro/retrieve.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro bm25 --collection DIR [options]\n"
    "\n"
    "Search with BM25 as Lucene scores it (Porter stems, Lucene's stop words, one-byte lengths) "
    "and\n"
    "measure. DIR is what gabbro collection prints, or a folder with corpus.jsonl[.gz] as BEIR's;\n"
    "a passage is its title, a blank and its text.\n"
    "\n"
    "  --split NAME     judgements of DIR: qrels/NAME.tsv (default test, else dev)\n"
    "  --queries FILE   queries instead of DIR's: JSON lines, qid<TAB>text, or TREC topics\n"
    "                   (<DOC> <DOCNO>1</DOCNO> text </DOC>)\n"
    "  --qrels FILE     judgements instead of DIR's: TREC, MS MARCO or BEIR layout\n"
    "  --k1 X --b X     BM25's parameters (default 0.9 and 0.4)\n"
    "  --vocab FILE     terms are WordPieces of this vocab.txt instead of stemmed words\n"
    "  --depth N        passages a query (default 1000)\n"
    "  --level N        a passage is relevant from grade N on (default 1)\n"
    "  --drop-identical drop a passage whose id is the query's (ArguAna, Quora)\n"
    "  --run FILE       write the run\n"
    "  --format F       of the run: trec (default), msmarco, scores\n"
    "  --tag NAME       of the run (default gabbro-bm25)\n"
    "  --threads N      searching threads (default: all processors)\n"
    "  -h, --help       this text\n";

/* The command line. */
typedef struct options {
    gb_bm25_folder_params folder; /* what is searched for what, and BM25's parameters */
    const char *run;              /* --run, or NULL */
    gb_run_style style;           /* --format, --tag */
    uint32_t depth;               /* --depth */
    uint32_t level;               /* --level */
    uint32_t threads;             /* --threads; 0: all */
    bool drop_identical;          /* --drop-identical */
} options;

/* ---- options ---- */

enum {
    OPT_COLLECTION = 256,
    OPT_SPLIT,
    OPT_QUERIES,
    OPT_QRELS,
    OPT_K1,
    OPT_B,
    OPT_VOCAB,
    OPT_DEPTH,
    OPT_LEVEL,
    OPT_IDENTICAL,
    OPT_RUN,
    OPT_FORMAT,
    OPT_TAG,
    OPT_THREADS
};

static const struct option long_options[] = {
    {"collection", required_argument, NULL, OPT_COLLECTION},
    {"split", required_argument, NULL, OPT_SPLIT},
    {"queries", required_argument, NULL, OPT_QUERIES},
    {"qrels", required_argument, NULL, OPT_QRELS},
    {"k1", required_argument, NULL, OPT_K1},
    {"b", required_argument, NULL, OPT_B},
    {"vocab", required_argument, NULL, OPT_VOCAB},
    {"depth", required_argument, NULL, OPT_DEPTH},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"drop-identical", no_argument, NULL, OPT_IDENTICAL},
    {"run", required_argument, NULL, OPT_RUN},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"tag", required_argument, NULL, OPT_TAG},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool parse_format(const char *text, gb_run_format *format, gb_status *status)
{
    if (strcmp(text, "trec") == 0)
        *format = GB_RUN_TREC;
    else if (strcmp(text, "msmarco") == 0)
        *format = GB_RUN_MSMARCO;
    else if (strcmp(text, "scores") == 0)
        *format = GB_RUN_SCORES;
    else
        return gb_fail(status, GB_USAGE, NULL, "trec, msmarco or scores",
                       "unknown format \"%.40s\"", text);
    return true;
}

static bool parse_tag(const char *text, const char **tag, gb_status *status)
{
    if (!*text || strpbrk(text, " \t\r\n"))
        return gb_fail(status, GB_USAGE, NULL, NULL, "--tag needs one word");
    *tag = text;
    return true;
}

static bool parse_option(options *o, int option, const char *value, gb_status *status)
{
    switch (option) {
    case OPT_COLLECTION:
        o->folder.folder = value;
        return true;
    case OPT_SPLIT:
        o->folder.split = value;
        return true;
    case OPT_QUERIES:
        o->folder.queries = value;
        return true;
    case OPT_QRELS:
        o->folder.qrels = value;
        return true;
    case OPT_K1:
        return gb_parse_real("--k1", value, 0, 1e30, &o->folder.k1, status);
    case OPT_B:
        return gb_parse_real("--b", value, 0, 1, &o->folder.b, status);
    case OPT_VOCAB:
        o->folder.vocab = value;
        return true;
    case OPT_DEPTH:
        return gb_parse_u32("--depth", value, 1, INT32_MAX, &o->depth, status);
    case OPT_LEVEL:
        return gb_parse_u32("--level", value, 1, INT32_MAX, &o->level, status);
    case OPT_IDENTICAL:
        o->drop_identical = true;
        return true;
    case OPT_RUN:
        o->run = value;
        return true;
    case OPT_FORMAT:
        return parse_format(value, &o->style.format, status);
    case OPT_TAG:
        return parse_tag(value, &o->style.tag, status);
    case OPT_THREADS:
        return gb_parse_u32("--threads", value, 1, INT32_MAX, &o->threads, status);
    default:
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help",
                       "unknown or incomplete option %s", value);
    }
}

static bool parse(int argc, char **argv, options *o, bool *help, gb_status *status)
{
    int option;
    optind = 0; /* a fresh scan */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            *help = true;
            return false;
        }
        if (!parse_option(o, option, option == '?' ? argv[optind - 1] : optarg, status))
            return false;
    }
    if (optind < argc)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help", "what is \"%.60s\"?",
                       argv[optind]);
    if (!o->folder.folder)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help", "--collection is missing");
    return true;
}

/* ---- searching and measuring ---- */

static bool print_form(const gb_bm25_folder *f, const options *o, const gb_run *run,
                       const char *form, gb_eval_params params, const char *const *measures,
                       uint32_t *tied, gb_status *status)
{
    gb_metrics metrics = {0};
    gb_evaluation evaluation = {0};
    bool ok = true;
    params.level = (int32_t)o->level;
    params.drop_identical = o->drop_identical;
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

/* The forms apart: their numbers differ, and so do their names. */
static bool print_measures(const gb_bm25_folder *f, const options *o, const gb_run *run,
                           gb_status *status)
{
    static const char *const trec[] = {"map",         "recip_rank", "P.10,30", "recall.100,1000",
                                       "ndcg_cut.10", "Judged@10",  NULL};
    static const char *const msmarco[] = {"MRR@10", "Hit@50,1000", NULL};
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
    printf("index        BM25 k1 %g b %g, %s, %u terms, %.1f s\n", params->k1, params->b,
           params->vocab ? "WordPiece" : "Porter stems without Lucene's stop words",
           gb_bm25_terms(f->index), f->index_s);
}

static bool run_bm25(const options *o, gb_status *status)
{
    gb_bm25_folder f = {0};
    gb_run run = {0};
    if (!gb_bm25_folder_open(&o->folder, &f, status))
        return false;
    print_index(&f, &o->folder);
    double start_s = gb_now_s();
    bool ok = gb_bm25_folder_search(&f, o->depth, o->threads, &run, status);
    if (ok) {
        printf("queries      %zu", run.list_count);
        if (f.split)
            printf(" of split %s", f.split);
        if (f.qrels.count)
            printf(", %zu judgements", f.qrels.count);
        printf(", depth %u, %.1f s\n", o->depth, gb_now_s() - start_s);
    }
    if (ok && o->run)
        ok = gb_run_write(&run, &f.names, &o->style, o->run, status);
    if (ok && f.qrels.count)
        ok = print_measures(&f, o, &run, status);
    gb_run_free(&run);
    gb_bm25_folder_close(&f);
    return ok;
}

int gb_cli_bm25(int argc, char **argv)
{
    options o = {.folder = {.k1 = 0.9, .b = 0.4},
                 .depth = 1000,
                 .level = 1,
                 .style = {.format = GB_RUN_TREC, .tag = "gabbro-bm25"}};
    gb_status status = {0};
    bool help = false;
    gb_install_signals();
    bool ok = parse(argc, argv, &o, &help, &status) && run_bm25(&o, &status);
    if (help)
        fputs(usage, stdout);
    else if (!ok)
        gb_status_print(&status);
    return help || ok ? GB_OK : (int)status.code;
}
