/* gabbro eval: judge a run as trec_eval, as the MS MARCO script, or against another run. */
#include "cli.h"

#include <gabbro/eval.h>
#include <gabbro/options.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro eval [options] QRELS RUN\n"
    "\n"
    "Judge a ranked run. QRELS: TREC, MS MARCO or BEIR judgements. RUN: TREC (qid Q0 docno rank\n"
    "score tag), MS MARCO (qid pid rank) or qid pid score. Both plain, gzip or zstd.\n"
    "Prints \"measure<TAB>query or all<TAB>value\" as trec_eval does.\n"
    "\n"
    "  -q             also print the values of every query\n"
    "  -n             do not print the values over all queries\n"
    "  -c             average over all judged queries; those missing in the run count 0\n"
    "  -l N           a passage is relevant from grade N on (default 1); nDCG takes all grades\n"
    "  -m MEASURE     what to print, may be repeated: map, P.5,10, ndcg_cut.10, MRR@10, Hit@50,\n"
    "                 official (default), all\n"
    "  -M N           look at the first N passages of each query only\n"
    "  -J             leave unjudged passages out of the ranking\n"
    "  -N N           passages of the collection; no measure here asks for it\n"
    "  -R qrels -T trec_results  the only forms of judgements and runs that trec_eval's -R and -T\n"
    "                 may name here\n"
    "  -v             print the version\n"
    "                 (also by trec_eval's long names, such as --level_for_rel N)\n"
    "  --ties ORDER   equal scores: trec (docno descending, default), asc (docno ascending),\n"
    "                 input (as in the file), rank (the rank column decides everything),\n"
    "                 best, worst (bounds over all orders)\n"
    "  --format F     of RUN: auto (default), trec, msmarco, scores; auto takes a third column of\n"
    "                 three for ranks where it counts from 1 for every query, else for scores\n"
    "  --float        scores in single precision, as trec_eval up to 9.0.8 kept them\n"
    "  --drop-identical  drop a passage whose id is the query's, as BEIR does\n"
    "  --msmarco      print the block of the MS MARCO script (RUN is then in its format)\n"
    "  --compare RUN2 paired tests of RUN against RUN2 over all judged queries\n"
    "  --seed N       of the randomised tests (default 42)\n"
    "  --values FILE  write the values of every query as TSV\n"
    "  -h, --help     this text\n"
    "\n"
    "Measures:\n";

/* The command line. */
typedef struct options {
    gb_eval_params params; /* form */
    gb_metrics metrics;    /* what to print */
    gb_run_format format;  /* of the runs */
    bool runid;            /* print the run's tag */
    bool per_query;        /* -q */
    bool no_summary;       /* -n */
    bool msmarco;          /* --msmarco */
    bool single;           /* --float */
    uint64_t seed;         /* --seed */
    const char *compare;   /* --compare, or NULL */
    const char *values;    /* --values, or NULL */
    const char *qrels;     /* first argument */
    const char *run;       /* second argument */
} options;

/* What was read. */
typedef struct inputs {
    gb_run_names names; /* ids; rows in the order of the run, then of the judgements */
    gb_run run;         /* RUN */
    gb_run other;       /* RUN2 of --compare */
    gb_qrels qrels;     /* QRELS */
    char *tag;          /* of RUN */
    char *other_tag;    /* of RUN2 */
} inputs;

static void print_usage(void)
{
    const gb_measure *measure;
    fputs(usage, stdout);
    for (size_t i = 0; (measure = gb_measure_at(i)); i++)
        printf("  %-16s %-32s %s\n", measure->name, measure->parameters ? measure->parameters : "",
               measure->help);
}

static bool parse_ties(options *o, const char *text, gb_status *status)
{
    static const struct {
        const char *name; /* on the command line */
        gb_ties ties;     /* meaning */
    } orders[] = {{"trec", GB_TIES_TREC},
                  {"asc", GB_TIES_ASCENDING},
                  {"input", GB_TIES_INPUT},
                  {"best", GB_TIES_BEST},
                  {"worst", GB_TIES_WORST}};
    o->params.keep_order = strcmp(text, "rank") == 0;
    if (o->params.keep_order)
        return true;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(text, orders[i].name) == 0) {
            o->params.ties = orders[i].ties;
            return true;
        }
    return gb_fail(status, GB_USAGE, NULL, "trec, asc, input, rank, best or worst",
                   "unknown order of ties \"%.40s\"", text);
}

static bool parse_format(options *o, const char *text, gb_status *status)
{
    static const char *const names[] = {"auto", "trec", NULL, "msmarco", "scores"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i] && strcmp(text, names[i]) == 0) {
            o->format = (gb_run_format)i;
            return true;
        }
    return gb_fail(status, GB_USAGE, NULL, "auto, trec, msmarco or scores",
                   "unknown format \"%.40s\"", text);
}

enum {
    OPT_TIES = 256,
    OPT_FORMAT,
    OPT_FLOAT,
    OPT_IDENTICAL,
    OPT_MSMARCO,
    OPT_COMPARE,
    OPT_SEED,
    OPT_VALUES
};

static const struct option long_options[] = {
    {"ties", required_argument, NULL, OPT_TIES},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"float", no_argument, NULL, OPT_FLOAT},
    {"drop-identical", no_argument, NULL, OPT_IDENTICAL},
    {"msmarco", no_argument, NULL, OPT_MSMARCO},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"values", required_argument, NULL, OPT_VALUES},
    {"help", no_argument, NULL, 'h'},
    /* trec_eval's long names */
    {"version", no_argument, NULL, 'v'},
    {"query_eval_wanted", no_argument, NULL, 'q'},
    {"nosummary", no_argument, NULL, 'n'},
    {"complete_rel_info_wanted", no_argument, NULL, 'c'},
    {"Judged_docs_only", no_argument, NULL, 'J'},
    {"level_for_rel", required_argument, NULL, 'l'},
    {"measure", required_argument, NULL, 'm'},
    {"Max_retrieved_per_topic", required_argument, NULL, 'M'},
    {"Number_docs_in_coll", required_argument, NULL, 'N'},
    {"Rel_info_format", required_argument, NULL, 'R'},
    {"Results_format", required_argument, NULL, 'T'},
    {0},
};

static bool add_measure(options *o, const char *text, gb_status *status)
{
    bool set = strcmp(text, "official") == 0 || strcmp(text, "all") == 0;
    o->runid = o->runid || set || strcmp(text, "runid") == 0;
    return strcmp(text, "runid") == 0 || gb_metrics_add(&o->metrics, text, status);
}

static bool parse_option(options *o, int option, const char *value, gb_status *status)
{
    uint32_t number = 0;
    bool ok = true;
    switch (option) {
    case 'q':
        o->per_query = true;
        break;
    case 'n':
        o->no_summary = true;
        break;
    case 'c':
        o->params.complete = true;
        break;
    case 'J':
        o->params.judged_only = true;
        break;
    case 'm':
        return add_measure(o, value, status);
    case 'l':
        ok = gb_parse_u32("-l", value, 0, INT32_MAX, &number, status);
        o->params.level = (int32_t)number;
        return ok;
    case 'M':
        return gb_parse_u32("-M", value, 1, INT32_MAX, &o->params.depth, status);
    case 'N':
        return gb_parse_u32("-N", value, 0, INT32_MAX, &number, status);
    case 'R':
    case 'T':
        return strcmp(value, option == 'R' ? "qrels" : "trec_results") == 0 ||
               gb_fail(status, GB_USAGE, NULL, "-R qrels, -T trec_results",
                       "-%c %.40s is not read here", option, value);
    case OPT_TIES:
        return parse_ties(o, value, status);
    case OPT_FORMAT:
        return parse_format(o, value, status);
    case OPT_FLOAT:
        o->single = true;
        break;
    case OPT_IDENTICAL:
        o->params.drop_identical = true;
        break;
    case OPT_MSMARCO:
        o->msmarco = true;
        break;
    case OPT_COMPARE:
        o->compare = value;
        break;
    case OPT_SEED:
        return gb_parse_u64("--seed", value, 0, UINT64_MAX, &o->seed, status);
    case OPT_VALUES:
        o->values = value;
        break;
    default:
        return gb_fail(status, GB_USAGE, NULL, "see gabbro eval --help",
                       "unknown or incomplete option %s", value);
    }
    return true;
}

/* Fill in what follows from other options. */
static bool settle(options *o, gb_status *status)
{
    if (o->msmarco) {
        o->params.keep_order = o->params.complete = true;
        if (o->format == GB_RUN_AUTO)
            o->format = GB_RUN_MSMARCO;
        return gb_metrics_add(&o->metrics, "MRR@10", status);
    }
    if (o->params.keep_order && o->format <= GB_RUN_TREC)
        o->format = GB_RUN_RANKED;
    if (o->compare)
        o->params.complete = true;
    if (o->metrics.count || o->runid)
        return true;
    if (o->compare)
        return gb_metrics_add(&o->metrics, "map", status) &&
               gb_metrics_add(&o->metrics, "recip_rank", status) &&
               gb_metrics_add(&o->metrics, "ndcg_cut.10", status) &&
               gb_metrics_add(&o->metrics, "recall.100", status);
    return add_measure(o, "official", status);
}

/* Returns false after gb_fail, or with *help set to the 'h' or 'v' that was asked for. */
static bool parse(int argc, char **argv, options *o, int *help, gb_status *status)
{
    int option;
    optind = 0; /* a fresh scan */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "qncJl:m:M:N:R:T:hv", long_options, NULL)) != -1) {
        if (option == 'h' || option == 'v') {
            *help = option;
            return false;
        }
        if (!parse_option(o, option, option == '?' ? argv[optind - 1] : optarg, status))
            return false;
    }
    if (argc - optind != 2)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro eval --help",
                       "eval needs two files, QRELS and RUN");
    o->qrels = argv[optind];
    o->run = argv[optind + 1];
    return settle(o, status);
}

static bool read_run(const options *o, const char *path, inputs *in, gb_run *run, char **tag,
                     gb_status *status)
{
    if (!gb_run_read(path, o->format, &in->names, run, tag, status))
        return false;
    for (size_t i = 0; o->single && i < run->hit_count; i++)
        run->hits[i].score = (float)run->hits[i].score;
    return true;
}

/* The run first: its order of queries is the order in which the MS MARCO script adds. */
static bool read_inputs(const options *o, inputs *in, gb_status *status)
{
    return gb_run_names_create(&in->names, status) &&
           read_run(o, o->run, in, &in->run, &in->tag, status) &&
           (!o->compare || read_run(o, o->compare, in, &in->other, &in->other_tag, status)) &&
           gb_qrels_read(o->qrels, &in->names, &in->qrels, status);
}

static void free_inputs(inputs *in)
{
    gb_run_names_free(&in->names);
    gb_run_free(&in->run);
    gb_run_free(&in->other);
    free(in->qrels.rows);
    free(in->tag);
    free(in->other_tag);
}

/* ---- output ---- */

static bool print_comparison(const options *o, const inputs *in, const gb_evaluation *a,
                             const gb_evaluation *b, gb_status *status)
{
    size_t count = a->metric_count;
    gb_metric_comparison *rows = gb_alloc(count, sizeof *rows, status);
    bool ok = rows && gb_evaluation_compare(a, b, o->seed, rows, status);
    if (ok)
        printf("# %zu queries; A %s, B %s; paired two-sided tests, Holm over %zu measures\n"
               "# measure\tA\tB\tA-B\t95%% bootstrap low\thigh\tp t-test\tp Holm\t"
               "p randomisation\n",
               a->query_count, in->tag, in->other_tag, count);
    for (size_t m = 0; ok && m < count; m++) {
        char label[GB_METRIC_LABEL];
        const gb_metric_comparison *row = &rows[m];
        gb_metric_label(&a->metrics[m], o->params.level, label);
        printf("%s\t%.4f\t%.4f\t%+.4f\t%+.4f\t%+.4f\t%.4g\t%.4g\t%.4g\n", label, a->totals[m],
               b->totals[m], row->mean, row->low, row->high, row->p, row->holm, row->randomisation);
    }
    free(rows);
    return ok;
}

static bool print_compared(const options *o, const inputs *in, const gb_eval_params *params,
                           const gb_evaluation *evaluation, gb_status *status)
{
    gb_evaluation other = {0};
    bool ok = gb_evaluate(&in->other, &in->qrels, &in->names, params, &other, status) &&
              print_comparison(o, in, evaluation, &other, status);
    gb_evaluation_free(&other);
    return ok;
}

/* What the averages do not show. */
static void log_notes(const options *o, const gb_evaluation *evaluation)
{
    if (evaluation->tied_queries)
        gb_log(GB_LOG_INFO, "%u of %zu queries have equal scores within the first 10 ranks",
               evaluation->tied_queries, evaluation->query_count);
    if (evaluation->ignored_queries)
        gb_log(GB_LOG_INFO, "%u queries of the run have no judgements and are not measured",
               evaluation->ignored_queries);
    if (evaluation->missing_queries && !o->params.complete)
        gb_log(GB_LOG_WARN, "%u judged queries are not in the run and not in the averages (-c)",
               evaluation->missing_queries);
}

static bool run_eval(const options *o, inputs *in, gb_status *status)
{
    gb_evaluation evaluation = {0};
    gb_eval_params params = o->params;
    params.metrics = &o->metrics;
    bool ok = read_inputs(o, in, status) &&
              gb_evaluate(&in->run, &in->qrels, &in->names, &params, &evaluation, status);
    if (ok && o->values)
        ok = gb_evaluation_write(&evaluation, in->names.queries, o->values, status);
    if (ok && o->msmarco)
        gb_evaluation_print_msmarco(&evaluation, in->run.list_count, stdout);
    else if (ok && o->compare)
        ok = print_compared(o, in, &params, &evaluation, status);
    else if (ok)
        ok = gb_evaluation_print(&evaluation, in->names.queries,
                                 &(gb_print_params){.per_query = o->per_query,
                                                    .no_summary = o->no_summary,
                                                    .run_name = o->runid ? in->tag : NULL},
                                 stdout, status);
    if (ok)
        log_notes(o, &evaluation);
    gb_evaluation_free(&evaluation);
    return ok;
}

int gb_cli_eval(int argc, char **argv)
{
    options o = {.params = GB_EVAL_TREC, .seed = 42};
    inputs in = {0};
    gb_status status = {0};
    int help = 0;
    bool ok = parse(argc, argv, &o, &help, &status) && run_eval(&o, &in, &status);
    if (help == 'v')
        printf("gabbro %s\n", GABBRO_VERSION);
    else if (help)
        print_usage();
    else if (!ok)
        gb_status_print(&status);
    free_inputs(&in);
    free(o.metrics.items);
    return help || ok ? GB_OK : (int)status.code;
}
