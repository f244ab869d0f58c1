/* gabbro eval: judges a run as trec_eval, as the MS MARCO script, or against another run. */
#include "data.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>

/* Orders of equal scores, by gb_ties; the last is no order of them. */
static const char *const ties[] = {"trec", "asc", "input", "best", "worst", "rank", NULL};
enum { TIES_RANK = 5 };
/* Judge, with the texts at `path` if there are any. */
static void judge(const gb_config *config, gb_judge_params *p, const char *path, gb_status *status)
{
    char *imported = NULL;
    gb_collection *collection = path ? cli_data_open(config, path, &imported, status) : NULL;
    p->collection = collection;
    if (p->diff && (p->other || p->msmarco))
        gb_fail(status, GB_USAGE, NULL, "give one of them", "%s and --diff print different things",
                p->other ? "--compare" : "--msmarco");
    else if (p->msmarco && (p->other || p->measure_count))
        gb_fail(status, GB_USAGE, NULL, "leave --msmarco out",
                "--msmarco prints MRR@10 of one run, as the script of MS MARCO does");
    else if ((p->print.interval || p->print.per_query || p->print.no_summary) &&
             (p->other || p->diff || p->msmarco))
        gb_fail(status, GB_USAGE, NULL, NULL,
                "--interval, -q and -n are for the measures of one run");
    else if (!path || collection)
        gb_judge_run(p, stdout, status);
    gb_collection_close(collection);
    gb_temporary_remove(imported);
}

static int run(const gb_call *call)
{
    gb_judge_params p = {.how = GB_EVAL_TREC, .seed = 42, .diff_queries = 10, .diff_passages = 3};
    const char *collection = NULL;
    gb_words measures = {0}, files = {0};
    uint32_t level = 1, order = 0, format = 0, answers = GB_ANSWERS_GIVEN;
    const gb_option options[] = {
        {"query_eval_wanted", GB_OPTION_FLAG, &p.print.per_query, 0, NULL,
         "also print the values of every query", .letter = 'q'},
        {"nosummary", GB_OPTION_FLAG, &p.print.no_summary, 0, NULL,
         "do not print the values over all queries", .letter = 'n'},
        {"complete_rel_info_wanted", GB_OPTION_FLAG, &p.how.complete, 0, NULL,
         "average over all judged queries; those missing in the run count 0", .letter = 'c'},
        {"interval", GB_OPTION_FLAG, &p.print.interval, 0, NULL,
         "print the ends of the 95% bootstrap interval over queries behind every mean"},
        {"level_for_rel", GB_OPTION_U32, &level, 0, NULL,
         "smallest grade that is relevant; nDCG takes all grades", .letter = 'l', .max = INT32_MAX},
        {"measure", GB_OPTION_LIST, &measures, 0, "MEASURE",
         "what to print: map, P.5,10, ndcg_cut.10, MRR@10, official (default), all; or as "
         "ir-measures "
         "names it: nDCG@10, RR@10, AP, P(rel=2)@5, R@1000",
         .letter = 'm'},
        {"Max_retrieved_per_topic", GB_OPTION_U32, &p.how.depth, 0, NULL,
         "look at the first passages of each query only; 0: all", .letter = 'M', .max = INT32_MAX},
        {"Judged_docs_only", GB_OPTION_FLAG, &p.how.judged_only, 0, NULL,
         "leave unjudged passages out of the ranking", .letter = 'J'},
        {"ties", GB_OPTION_CHOICE, &order, 0, NULL,
         "order of equal scores: by docno, descending (trec) or ascending; as in the file; the "
         "bounds over all orders; or the rank column decides everything",
         ties},
        {"format", GB_OPTION_CHOICE, &format, 0, NULL, gb_run_words_help, gb_run_words},
        {"answers", GB_OPTION_CHOICE, &answers, 0, NULL,
         "of JSON of DPR or Pyserini as QRELS, which passages hold an answer: as the file says "
         "(has_answer); by DPR's rule for words; or by regular expressions (CuratedTREC)",
         gb_answer_rule_names},
        {"float", GB_OPTION_FLAG, &p.single, 0, NULL,
         "round scores to single precision, as trec_eval did up to 9.0.8"},
        {"drop-identical", GB_OPTION_FLAG, &p.how.drop_identical, 0, NULL,
         "drop a passage whose id is the query's, as BEIR does"},
        {"msmarco", GB_OPTION_FLAG, &p.msmarco, 0, NULL,
         "print the block of the MS MARCO script; RUN is then in its format"},
        {"compare", GB_OPTION_TEXT, &p.other, 0, "RUN2",
         "print paired tests of RUN against RUN2 over all judged queries"},
        {"diff", GB_OPTION_TEXT, &p.diff, 0, "RUN2",
         "print which queries RUN won against RUN2 by one measure (-m; default ndcg_cut.10), which "
         "it lost, and their passages"},
        {"collection", GB_OPTION_TEXT, &collection, 0, "PATH",
         "with --diff, show texts, and tell queries by length and first word: an artifact of "
         "gabbro collection, or what gabbro collection --from reads",
         .with = "diff"},
        {"diff-queries", GB_OPTION_U32, &p.diff_queries, 0, NULL,
         "queries shown that each run won; 0: all", .with = "diff"},
        {"diff-passages", GB_OPTION_U32, &p.diff_passages, 0, NULL, "passages shown of each",
         .with = "diff"},
        {"seed", GB_OPTION_U64, &p.seed, 0, NULL, "seed of the randomised tests and intervals",
         .with = "compare|interval"},
        {"values", GB_OPTION_TEXT, &p.values, 0, "FILE", "write the values of every query as TSV"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_eval, options, call, &files, &code))
        return code;
    p.qrels = files.items[0];
    p.run = files.items[1];
    p.measures = measures.items;
    p.measure_count = measures.count;
    p.format = gb_run_word_formats[format];
    p.answers = (gb_answer_rule)answers;
    p.how.level = (int32_t)level;
    p.how.keep_order = order == TIES_RANK;
    if (order != TIES_RANK)
        p.how.ties = (gb_ties)order;
    judge(call->config, &p, collection, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_eval = {
    .name = "eval",
    .summary = "measure a run file as trec_eval does",
    .operands = "QRELS RUN",
    .needs = "two files, QRELS and RUN",
    .operands_min = 2,
    .operands_max = 2,
    .description =
        "Judge a ranked run. QRELS has judgements of TREC, MS MARCO or BEIR. RUN is of TREC (qid "
        "Q0 docno rank score tag), of MS MARCO (qid pid rank), has lines of qid, pid and score, or "
        "is JSON of DPR's retrieval or Pyserini's. Such JSON can be QRELS, too: a passage with "
        "has_answer is relevant; --answers searches the texts for the answers instead. "
        "Both are plain, gzip or zstd; one of them can be -, standard input (plain or gzip). "
        "Prints \"measure<TAB>query or all<TAB>value\" as trec_eval "
        "does; letters and long names of its options mean the same.\n\n"
        "Measures, and their cut-offs unless others are named:\n"
        "  num_q                                             queries evaluated\n"
        "  num_ret                                           passages retrieved\n"
        "  num_rel                                           relevant passages\n"
        "  num_rel_ret                                       relevant passages retrieved\n"
        "  map                                               mean average precision\n"
        "  gm_map                                            geometric mean of average precision\n"
        "  Rprec                                             precision at R, R = relevant "
        "passages\n"
        "  bpref                                             binary preference\n"
        "  recip_rank                                        reciprocal rank of the first relevant "
        "passage, whole list\n"
        "  iprec_at_recall  0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1   interpolated precision at a level of "
        "recall\n"
        "  P                5,10,15,20,30,100,200,500,1000   precision at k\n"
        "  recall           5,10,15,20,30,100,200,500,1000   share of the relevant passages in the "
        "top k (not Hit@k)\n"
        "  ndcg                                              nDCG of the whole list, gain = grade\n"
        "  ndcg_cut         5,10,15,20,30,100,200,500,1000   nDCG at k\n"
        "  map_cut          5,10,15,20,30,100,200,500,1000   average precision at k\n"
        "  success          1,5,10                           share of queries with a relevant "
        "passage in the top k\n"
        "  MRR              10                               MS MARCO's reciprocal rank at k\n"
        "  Hit              1,50,1000                        as success; the R@k of MS MARCO "
        "papers\n"
        "  Judged           10                               share of the top k with a judgement",
    .run = run};
