/* Eval module: reads and writes rankings and judgements in any common layout, and measures the one
 * by the other. It stands on base, rows, text, json and data. */
#ifndef GABBRO_EVAL_H
#define GABBRO_EVAL_H

#include <gabbro/base.h>
#include <gabbro/data.h>
#include <gabbro/rows.h>

#include <gabbro/json.h>

/* ---- names: the external ids of rows ---- */

/* In memory, queries and passages are row numbers (uint32). Names give the external ids of these
 * rows, which files carry and by which trec_eval breaks ties. */
typedef struct gb_names gb_names;
/* Makes empty names, which grow as new ids are met. */
gb_names *gb_names_create(gb_status *status);
/* Makes names of the ids of a row file (row = row). They are fixed, and the row file must outlive
 * them. */
gb_names *gb_names_from_row_file(const gb_row_file *file, gb_status *status);
void gb_names_destroy(gb_names *names);
uint32_t gb_names_count(const gb_names *names);
/* Id of `row` (below the count), not NUL-terminated. */
const char *gb_names_get(const gb_names *names, uint32_t row, size_t *length);
/* Finds the row of an id. Growing names add an unknown id; fixed ones give GB_MAP_NONE. False only
 * when out of memory. Not thread-safe. */
bool gb_names_row(gb_names *names, const char *id, size_t length, uint32_t *row, gb_status *status);
/* Compares the ids of two rows in byte order; the result is like that of strcmp. */
int gb_names_compare(const gb_names *names, uint32_t a, uint32_t b);

/* The ids that runs and judgements use for their rows. Runs that are compared with one another or
 * with judgements share these names, because finding an id needs a hash table of all ids. */
typedef struct gb_run_names {
    gb_names *queries;               /* ids of query rows */
    gb_names *passages;              /* ids of passage rows */
    const gb_collection *collection; /* whose they are, or NULL; finds queries by their texts */
} gb_run_names;
/* Makes empty names, which grow. Free with gb_run_names_free. */
bool gb_run_names_create(gb_run_names *names, gb_status *status);
/* Makes the names of a collection's queries and passages. The collection must outlive them. */
bool gb_run_names_of(const gb_collection *collection, gb_run_names *names, gb_status *status);
void gb_run_names_free(gb_run_names *names);

/* ---- runs ---- */

#define GB_NO_PASSAGE UINT32_MAX /* an empty rank of an MS MARCO run; never relevant */

/* A passage in a ranking. */
typedef struct gb_hit {
    uint32_t passage; /* row, or GB_NO_PASSAGE */
    double score;     /* higher is better */
} gb_hit;

/* The ranking for one query, in the order of the search or of the file. */
typedef struct gb_run_list {
    uint32_t query; /* row */
    uint32_t count; /* hits in the list */
    size_t first;   /* index of its first hit in gb_run.hits */
} gb_run_list;

/* A TREC run: the rankings for some queries. Zero-initialise it; free with gb_run_free. */
typedef struct gb_run {
    gb_hit *hits;         /* the hits of all lists, list after list */
    size_t hit_count;     /* hits in use */
    size_t hit_capacity;  /* hits allocated */
    gb_run_list *lists;   /* one list for each query, no query twice */
    size_t list_count;    /* lists in use */
    size_t list_capacity; /* lists allocated */
    uint32_t *places;     /* by query: the number of its list, from 1; 0: it has none */
    size_t place_count;   /* queries that places has room for */
} gb_run;
void gb_run_free(gb_run *run);
/* Sorts hits by their scores, the best first, and of equal ones by the passages' numbers. */
void gb_hits_sort(gb_hit *hits, size_t count);
/* Sorts each list by the scores, the best first, and equal ones as they are. */
bool gb_run_sort(gb_run *run, gb_status *status);
/* Appends the list of a query that the run must not have yet (not checked); hits are copied.
 * GB_DATA: a score that is not a number. */
bool gb_run_add(gb_run *run, uint32_t query, const gb_hit *hits, uint32_t count, gb_status *status);
/* The list of a query, or NULL. */
const gb_run_list *gb_run_find(const gb_run *run, uint32_t query);
/* Whether a passage (a row or GB_NO_PASSAGE) has the id of a query, as in ArguAna and Quora, where
 * queries are passages, too. */
bool gb_is_the_query(const gb_run_names *names, uint32_t query, uint32_t passage);
/* Takes passages that have the id of their query out of a run, in place; of every list the first
 * `depth` others stay. */
void gb_run_drop_identical(gb_run *run, const gb_run_names *names, uint32_t depth);

/* Layouts of run files. */
typedef enum gb_run_format {
    GB_RUN_AUTO,    /* recognised: DPR's if the file begins with '[' or '{'; TREC if lines have 5 or
                       more fields; if they have 3, MS MARCO if the third is a whole number that
                       counts from 1 for every query, without gaps and repetitions, or rises from
                       line to line for every query, otherwise scores; the log says which */
    GB_RUN_TREC,    /* qid Q0 docno rank score tag; the rank is ignored */
    GB_RUN_RANKED,  /* the same line, but only the rank decides the order; or MS MARCO's or DPR's */
    GB_RUN_MSMARCO, /* qid pid rank; ranks without a passage stay empty (GB_NO_PASSAGE) */
    GB_RUN_SCORES,  /* qid pid score (Tevatron's ranking file) */
    GB_RUN_DPR,     /* JSON of DPR's retrieval (src/eval/dpr.c); read, it is also Pyserini's */
    GB_RUN_PYSERINI, /* that of Pyserini; gb_run_write_dpr writes the two */
} gb_run_format;
/* Words for layouts that are read, ended by NULL, the help of an option that takes one, and what
 * they mean. */
extern const char *const gb_run_words[];
extern const char gb_run_words_help[];
extern const gb_run_format gb_run_word_formats[];
/* Reads a run, plain or gzip; blank lines and lines that start with '#' are skipped. Lists come in
 * the order in which the file first names their queries, and hits in the order of the file; where
 * ranks decide, hits come by rank, with score = -rank. Unknown ids of fixed names, a passage that
 * occurs twice for a query, and unreadable numbers are errors that name file and line. tag (may be
 * NULL) gets the run's tag, which the caller frees. */
bool gb_run_read(const char *path, gb_run_format format, const gb_run_names *names, gb_run *run,
                 char **tag, gb_status *status);
/* Reads the run of an artifact of the store, which is the file run.trec of its folder. */
bool gb_run_read_artifact(const char *artifact, const gb_run_names *names, gb_run *run,
                          gb_status *status);
/* How a run is written. */
typedef struct gb_run_style {
    gb_run_format format; /* GB_RUN_AUTO writes TREC */
    const char *tag;      /* last field of TREC's lines; NULL: "gabbro" */
    uint32_t depth;       /* most passages of a query; 0: all */
    const char *header;   /* lines before the first, each beginning with '#'; NULL: none */
} gb_run_style;
/* False and GB_USAGE where `tag` is not one word, which is all that a line of TREC's can have of
 * it. NULL: as in gb_run_style. */
bool gb_run_tag_check(const char *tag, gb_status *status);
/* Writes a run, atomically. The rank is the position in the list; scores get as many digits as are
 * needed to read the same value back. */
bool gb_run_write(const gb_run *run, const gb_run_names *names, const gb_run_style *style,
                  const char *path, gb_status *status);
/* Prints a score as runs have it. */
void gb_run_print_score(double score, char text[40]);
/* Writes a run of a collection as GB_RUN_DPR or GB_RUN_PYSERINI, with the texts, and with answers
 * and which passages hold one (gb_answers_hold) where the collection has answers of a query. names:
 * the collection's. */
bool gb_run_write_dpr(const gb_run *run, const gb_collection *collection, const gb_run_names *names,
                      const gb_run_style *style, const char *path, gb_status *status);

/* What a training file for other kits is made of. */
typedef struct gb_training_file {
    const gb_collection *collection; /* texts and judgements */
    const char *split;               /* whose judgements are the positives */
    uint32_t skip, depth;            /* negatives: passages of a query from rank skip + 1 to depth
                                        that are not judged relevant; depth 0: to the end */
} gb_training_file;
/* Writes a run of a collection's rows as Tevatron's JSON lines, atomically: {"query_id", "query",
 * "positive_passages": [{"docid", "title", "text"}], "negative_passages": [...]} for each query of
 * the split that has positives, in the order of rows. */
bool gb_run_write_training(const gb_run *run, const gb_training_file *how, const char *path,
                           gb_status *status);

/* ---- fusion of runs ---- */

/* How several rankings become one. */
typedef enum gb_fusion_method {
    GB_FUSION_RANKS, /* reciprocal ranks (Cormack, Clarke and Buettcher, SIGIR 2009) */
    GB_FUSION_SUM,   /* sum of scores, each list scaled to [0, 1] by its least and largest score */
    GB_FUSION_TURNS, /* the first passage of each run, then the second of each, and so on, each
                        passage where it comes first (GAR, Mao et al., 2021) */
} gb_fusion_method;
extern const char *const gb_fusion_names[]; /* words of the methods, ended by NULL */

/* Which rankings are fused, and how. */
typedef struct gb_fusion {
    gb_fusion_method method; /* method */
    double k;                /* of reciprocal ranks; the paper's: 60 */
    const double *weights;   /* [runs] factor of each run's part; NULL: 1 of each */
    uint32_t depth;          /* passages of a query in the result; 0: all */
} gb_fusion;
/* Fuses runs of the same names. The score of a passage is the sum over the runs that list it of
 * weight / (k + rank), or of weight (score - least) / (largest - least); in a list whose scores are
 * all equal, the fraction is 1. By turns it is 1 / (its place in the result), without weights.
 * Ranks are by falling score, equal scores in the order of the list. Queries come in the order in
 * which the runs first name them, passages by falling score, equal ones in the order in which the
 * runs name them. */
bool gb_run_fuse(const gb_run *runs, size_t count, const gb_fusion *how, gb_run *fused,
                 gb_status *status);

/* How it is known which passages hold an answer. */
typedef enum gb_answer_rule {
    GB_ANSWERS_GIVEN, /* a file of retrieved passages says so: "has_answer" */
    GB_ANSWERS_WORDS, /* the words of an answer follow each other in the text */
    GB_ANSWERS_REGEX, /* answers are regular expressions that are searched for in the text */
} gb_answer_rule;
extern const char *const gb_answer_rule_names[]; /* words of the rules, ended by NULL */

/* Reads judgements in any of three layouts, recognised by their fields: TREC (qid iter docno rel),
 * MS MARCO (qid 0 pid 1), BEIR (query-id corpus-id score with a header line); or from DPR's results
 * of retrieval, grade 1 for passages that hold an answer, otherwise 0. Rows get sorted by
 * (query, passage). A repeated line counts once; contradicting lines are an error. */
bool gb_qrels_read(const char *path, const gb_run_names *names, gb_qrels *qrels, gb_status *status);
/* The first row of a query, or of the next one that has rows: where it would be. */
size_t gb_qrels_first(const gb_qrels *qrels, uint32_t query);
/* The same; in results of DPR's retrieval, passages hold an answer by the rule. GB_USAGE for other
 * files, unless it is GB_ANSWERS_GIVEN. */
bool gb_qrels_read_by(gb_answer_rule rule, const char *path, const gb_run_names *names,
                      gb_qrels *qrels, gb_status *status);

/* ---- splits of a collection ---- */

/* The queries of a split and their judgements. Free with gb_split_free. */
typedef struct gb_split {
    char *name;        /* e.g. "dev" */
    gb_qrels qrels;    /* judgements; a query that has only answers is in none of them */
    uint32_t *queries; /* [count] rows, ascending */
    uint32_t count;    /* queries */
} gb_split;
#define GB_UNLABELLED "unlabelled" /* the queries of a collection that are in no split */
/* Reads the queries and judgements of a split; its name must be one of the collection's, or
 * GB_UNLABELLED, of which there are no judgements. GB_DATA if there are no such queries. */
bool gb_split_open(const gb_collection *collection, const char *name, gb_split *split,
                   gb_status *status);
void gb_split_free(gb_split *split);

/* Several splits. Free with gb_splits_free. */
typedef struct gb_splits {
    gb_split *items; /* in the collection's order */
    size_t count;    /* splits */
} gb_splits;
/* Reads all splits by which a model can be judged. Left out are "train", and a split that holds all
 * training queries, as there is if the training split was cut out of it; the log names that one. */
bool gb_splits_open(const gb_collection *collection, gb_splits *splits, gb_status *status);
void gb_splits_free(gb_splits *splits);

/* ---- answers ---- */

/* The answers of questions: a file like answers.tsv of a collection, with lines
 * "query-id<TAB>answer<TAB>answer...". */
typedef struct gb_answers gb_answers;
/* Reads a file of answers, to be looked for by words or as regular expressions. An unknown query, a
 * line without answers and a wrong expression are errors that name file and line. */
gb_answers *gb_answers_read(const char *path, gb_answer_rule rule, gb_names *queries,
                            gb_status *status);
/* Reads the answers of a collection; *answers is NULL if it has none. */
bool gb_answers_of(const gb_collection *collection, gb_names *queries, gb_answers **answers,
                   gb_status *status);
void gb_answers_destroy(gb_answers *answers);
/* Finds out whether a text contains an answer of the query, by DPR's rule (src/eval/answers.c).
 * *held is false if the query has no answers. Returns false only on failure: where memory is short,
 * or GB_DATA where a regular expression takes too long. Not from several threads at once. */
bool gb_answers_hold(const gb_answers *answers, uint32_t query, const char *text, size_t length,
                     bool *held, gb_status *status);
/* Makes judgements of the first `depth` passages of each query of a split that has answers: grade 1
 * for a passage that contains an answer, otherwise 0; a query for which the run has none counts 0.
 * Hit@k by these judgements is what papers on question answering call top@k. The caller frees
 * qrels->rows. */
bool gb_answers_qrels(const gb_answers *answers, const gb_split *split, const gb_run *run,
                      const gb_row_file *texts, uint32_t depth, gb_qrels *qrels, gb_status *status);

/* ---- what generators write for questions ---- */

typedef enum gb_generated {
    GB_GENERATED_NONE,
    GB_GENERATED_ANSWER,   /* its first answer */
    GB_GENERATED_SENTENCE, /* of its passage, the first sentence that holds an answer; without
                           answers the one that shares most terms with it */
    GB_GENERATED_TITLE,    /* of its passage */
} gb_generated;
extern const char *const gb_generated_names[]; /* ended by NULL */
/* Writes a BEIR folder in which questions are the passages, and what is to be generated for them is
 * their query: the questions of all splits, and targets of those of the training split. So a
 * generator of queries becomes one of GAR's. GB_DATA if no training query has such a target. */
bool gb_targets_write(const gb_collection *collection, gb_generated kind, const char *folder,
                      gb_status *status);

/* ---- measures ---- */

#define GB_UNJUDGED INT32_MIN /* grade of a passage without judgement */

/* What a measure sees of one query: grades by rank, after sorting and cutting off. */
typedef struct gb_judged {
    const int32_t *grades; /* [retrieved] grade of rank i + 1, or GB_UNJUDGED */
    uint32_t retrieved;    /* number of ranks */
    const int32_t *ideal;  /* [judged] all judged grades >= 0 of the query, descending */
    uint32_t judged;       /* number of judged passages */
    uint32_t relevant;     /* number of judged passages with grade >= level */
    int32_t level;         /* smallest relevant grade */
} gb_judged;

/* Value of a measure for one query. parameter is the cut-off rank, a recall level, or 0. */
typedef double gb_measure_fn(const gb_judged *query, double parameter);
/* Expected value for one query if all orders of `passages` passages are equally likely.
 * query->retrieved is the number of ranks that would be looked at, at most `passages`;
 * query->grades is NULL. */
typedef double gb_chance_fn(const gb_judged *query, double parameter, uint64_t passages);

/* What the parameter of a measure is. */
typedef enum gb_parameter_kind {
    GB_PARAMETER_NONE,
    GB_PARAMETER_CUT,    /* a rank >= 1 */
    GB_PARAMETER_RECALL, /* a level of recall, 0 to 1 */
} gb_parameter_kind;

/* How the values of all queries become one. */
typedef enum gb_total {
    GB_TOTAL_MEAN,
    GB_TOTAL_SUM,
    GB_TOTAL_GEOMETRIC, /* exp of the mean logarithm; values below 1e-5 count as 1e-5 */
} gb_total;

/* A measure: one line of the registry (src/eval/measures.c). */
typedef struct gb_measure {
    const char *name;       /* trec_eval's name if it has the measure, e.g. "ndcg_cut" */
    gb_measure_fn *value;   /* value for a query, in src/eval/measures/ */
    gb_chance_fn *chance;   /* value of a random order, in the same file; NULL: not known */
    gb_parameter_kind kind; /* what the parameter is */
    const char *parameters; /* default parameters, "5,10,15", or NULL */
    char separator;         /* between name and parameter when printed: '_' or '@' */
    gb_total total;         /* how the values of all queries become one */
    bool integer;           /* printed without decimals */
    bool summary_only;      /* has no line per query */
    bool official;          /* in trec_eval's default output */
    bool all_grades;        /* the relevance level has no effect, as in nDCG */
    const char *help;       /* one line */
} gb_measure;
/* Measure `index` in the order in which trec_eval prints; NULL behind the last one. */
const gb_measure *gb_measure_at(size_t index);

/* A measure with its parameter, e.g. ndcg_cut at 10. */
typedef struct gb_metric {
    const gb_measure *measure; /* registry line */
    double parameter;          /* rank, recall level, or 0 */
    int32_t level;             /* smallest relevant grade for it alone; 0: that of the evaluation */
} gb_metric;

/* A growable set of metrics in registry order. Zero-initialise it; free(metrics.items). */
typedef struct gb_metrics {
    gb_metric *items; /* metrics */
    size_t count;     /* metrics in use */
    size_t capacity;  /* metrics allocated */
} gb_metrics;
/* Adds the metrics that `text` names: "map", "ndcg_cut.10,100", "ndcg_cut_10", "MRR@10", "P"
 * (default cut-offs), "official" or "all"; or one of ir-measures' names: "nDCG@10", "RR@10", "AP",
 * "P(rel=2)@5", "R@1000". Those that are already there are not repeated. */
bool gb_metrics_add(gb_metrics *metrics, const char *text, gb_status *status);
/* Whether all are means over queries, as comparisons by query need. GB_USAGE: one is not. */
bool gb_metrics_are_means(const gb_metrics *metrics, gb_status *status);
#define GB_METRIC_NAME 40
/* Writes the name of a metric: "ndcg_cut_10", "MRR@10", "iprec_at_recall_0.10", "P(rel=2)_5". */
void gb_metric_name(const gb_metric *metric, char name[GB_METRIC_NAME]);
#define GB_METRIC_LABEL 64
/* Writes the name of a metric for tables and files. It has the relevance level, in the form of
 * ir-measures, if the level is not 1 and has an effect: "recall(rel=2)_1000", "MRR(rel=2)@10".
 * (`gabbro eval` prints trec_eval's own names.) */
void gb_metric_label(const gb_metric *metric, int32_t level, char label[GB_METRIC_LABEL]);

/* How hits with equal scores are ordered. */
typedef enum gb_ties {
    GB_TIES_TREC,      /* docno descending in byte order, as trec_eval sorts */
    GB_TIES_ASCENDING, /* docno ascending */
    GB_TIES_INPUT,     /* as in the list */
    GB_TIES_BEST,      /* higher grades first: the upper bound over all orders */
    GB_TIES_WORST,     /* lower grades first: the lower bound */
} gb_ties;

/* How a run is evaluated. */
typedef struct gb_eval_params {
    int32_t level;       /* smallest relevant grade; default 1. No effect on nDCG */
    uint32_t depth;      /* only this many first ranks count (trec_eval -M); 0 = all */
    gb_ties ties;        /* order of equal scores */
    bool keep_order;     /* the order of the list is the ranking; scores are ignored */
    bool complete;       /* average over all judged queries, those that the run lacks count 0
                            (trec_eval -c); otherwise over the judged queries of the run */
    bool drop_identical; /* remove a passage whose id equals the query's before ranking */
    bool judged_only;    /* remove unjudged passages, of those that a cut leaves (trec_eval -J) */
    uint32_t passages;   /* passages of the whole collection, for `chances`; 0: no chances */
    const gb_metrics *metrics; /* what is measured; read by gb_evaluate only */
} gb_eval_params;
/* The three conventions of the field. Each gives other numbers, so they are never mixed. */
#define GB_EVAL_TREC    ((gb_eval_params){.level = 1})
#define GB_EVAL_MSMARCO ((gb_eval_params){.level = 1, .keep_order = true, .complete = true})
#define GB_EVAL_BEIR    ((gb_eval_params){.level = 1, .drop_identical = true})

/* The values of all metrics for all evaluated queries. Free with gb_evaluation_free. */
typedef struct gb_evaluation {
    gb_metric *metrics;       /* [metric_count] what was measured */
    size_t metric_count;      /* number of metrics */
    uint32_t *queries;        /* [query_count] rows of the evaluated queries, ascending */
    size_t query_count;       /* number of evaluated queries */
    double *values;           /* [metric_count, query_count] value of each query */
    double *totals;           /* [metric_count] mean, sum or geometric mean over the queries */
    double *chances;          /* [metric_count] mean value that a random order of the collection
                                 has in expectation; NAN if not asked for or not known */
    gb_eval_params params;    /* how it was evaluated */
    uint32_t judged_queries;  /* queries with judgements */
    uint32_t missing_queries; /* judged queries that are not in the run */
    uint32_t ignored_queries; /* queries of the run without judgements */
    uint32_t tied_queries;    /* evaluated queries where equal scores touch the first 10 ranks */
    uint64_t identical;       /* passages removed because their id was the query's */
} gb_evaluation;
/* Evaluates a run by judgements. The names of passages decide ties, and both names show identical
 * ids; names that params do not need may be NULL. GB_DATA for a run without any judged query, or
 * with a score that is not a number. */
bool gb_evaluate(const gb_run *run, const gb_qrels *qrels, const gb_run_names *names,
                 const gb_eval_params *params, gb_evaluation *evaluation, gb_status *status);
void gb_evaluation_free(gb_evaluation *evaluation);
/* A passage at its rank in an evaluation. */
typedef struct gb_ranked {
    uint32_t passage; /* row, or GB_NO_PASSAGE */
    int32_t grade;    /* of its judgement, or GB_UNJUDGED */
} gb_ranked;
/* Ranks the list of one query as gb_evaluate does: *hits [*count], which the caller frees; no
 * passages if the run does not have the query. */
bool gb_evaluate_list(const gb_run *run, uint32_t query, const gb_qrels *qrels,
                      const gb_run_names *names, const gb_eval_params *params, gb_ranked **hits,
                      uint32_t *count, gb_status *status);
/* Total over the queries, and chance, of the metric of that name; NAN if it was not measured. */
double gb_evaluation_total(const gb_evaluation *evaluation, const char *name);
double gb_evaluation_chance(const gb_evaluation *evaluation, const char *name);
/* Writes the values of all queries as TSV with 17 digits: a header line with "query" and the labels
 * of the metrics, then one line a query. */
bool gb_evaluation_write(const gb_evaluation *evaluation, const gb_names *queries, const char *path,
                         gb_status *status);
#define GB_EVAL_RESAMPLES 10000 /* rounds of the bootstrap and of the randomisation test */
/* What gb_evaluation_print prints. */
typedef struct gb_print_params {
    bool per_query;  /* values of every query, in the byte order of their ids (-q) */
    bool no_summary; /* leave out the values over all queries (-n) */
    bool interval;   /* put the ends of the 95% bootstrap interval over queries behind every mean */
    uint64_t seed;   /* of the bootstrap */
    const char *run_name; /* printed as "runid"; NULL: not printed */
} gb_print_params;
/* Prints an evaluation as trec_eval does: "measure<TAB>query or all<TAB>value"; with `interval`,
 * "<TAB>low<TAB>high" behind the means of all queries. */
bool gb_evaluation_print(const gb_evaluation *evaluation, const gb_names *queries,
                         const gb_print_params *params, FILE *out, gb_status *status);
/* Prints the block that MS MARCO's script prints, of an evaluation with MRR@10. `ranked` is the
 * number of queries in the run. */
void gb_evaluation_print_msmarco(const gb_evaluation *evaluation, size_t ranked, FILE *out);

/* Two runs, A and B, that are compared. */
typedef struct gb_compare_params {
    const char *a, *b; /* names of the runs */
    uint64_t seed;     /* seed of the randomised tests */
} gb_compare_params;
/* Compares two runs by paired two-sided tests and prints, for every metric, both values, the
 * difference with its bootstrap interval, p of the t-test, the same p adjusted by Holm over all
 * of them, and p of the randomisation test. Metrics that are no means over queries (counts, gm_map)
 * are left out; GB_USAGE if there are no others. Both evaluations must be `complete`, with the same
 * metrics and judgements. */
bool gb_evaluation_compare(const gb_evaluation *a, const gb_evaluation *b,
                           const gb_compare_params *params, FILE *out, gb_status *status);

/* One of two runs that are compared query by query. */
typedef struct gb_diff_side {
    const char *name;                /* name of the run */
    const gb_run *run;               /* its rankings */
    const gb_evaluation *evaluation; /* of it; its first metric is compared */
} gb_diff_side;
/* Two runs, and what is shown of them. */
typedef struct gb_diff_params {
    gb_diff_side a, b;               /* runs; both evaluations are `complete` */
    const gb_qrels *qrels;           /* judgements of both */
    const gb_run_names *names;       /* ids of both */
    const gb_eval_params *how;       /* how both were evaluated */
    const gb_collection *collection; /* texts, found by their ids; NULL: only ids are shown */
    uint32_t queries;                /* queries shown that each run won; 0: all */
    uint32_t passages;               /* passages of each run shown for a query */
} gb_diff_params;
/* Prints which queries each run won: their number and mean values, over all queries and, where
 * there are texts, by length and first word; then the queries that A won by most and those that B
 * did, with the first passages of both side by side. */
bool gb_evaluation_diff(const gb_diff_params *params, FILE *out, gb_status *status);

/* A run and the one that it reproduces. */
typedef struct gb_agree_params {
    const char *qrels;                /* file of judgements of both */
    const char *original, *run;       /* files of runs */
    const char *original_base, *base; /* files of their baselines, or NULL both */
    const char *const *measures;      /* [measure_count] names for gb_metrics_add */
    size_t measure_count;             /* 0: map, recip_rank, ndcg_cut.10, recall.100 */
    int32_t level;                    /* smallest relevant grade */
    uint32_t depth;                   /* passages of a query whose order is compared; 0: all */
    double persistence;               /* of the rank-biased overlap */
} gb_agree_params;
/* Prints how far they agree: gb_tau_union and gb_rank_biased_overlap, mean over the queries of
 * both; for every measure, over all judged queries, both values, the RMSE and p of a paired t-test,
 * and with baselines the effect ratio and the delta of the relative improvements (gabbro/stats.h).
 */
bool gb_runs_agree(const gb_agree_params *params, FILE *out, gb_status *status);

/* Which files to judge, and how to print the result: as trec_eval does, as MS MARCO's script does,
 * or in comparison with another run. */
typedef struct gb_judge_params {
    const char *qrels, *run;         /* files of judgements and of the run */
    gb_answer_rule answers;          /* of gb_qrels_read_by */
    const char *other;               /* file of a run to compare with, or NULL */
    const char *diff;                /* file of a run to compare with query by query, or NULL */
    const gb_collection *collection; /* texts that are shown with diff, or NULL */
    uint32_t diff_queries;           /* of gb_diff_params: queries */
    uint32_t diff_passages;          /* passages */
    gb_run_format format;            /* of both runs; AUTO with msmarco: MS MARCO's */
    bool single;                 /* round scores to single precision, as trec_eval up to 9.0.8 */
    bool msmarco;                /* print the block of MS MARCO's script */
    const char *const *measures; /* [measure_count] names for gb_metrics_add, or "runid" */
    size_t measure_count;        /* 0: the usual measures for what is printed */
    gb_eval_params how;          /* how to evaluate; its metrics are set from `measures` */
    gb_print_params print;       /* what to print; its run_name is set from the run if asked for */
    uint64_t seed;               /* seed of the randomised tests and of intervals */
    const char *values;          /* file to write the values of every query to, or NULL */
} gb_judge_params;
/* Judges a run and prints the result to out. Ties, and queries that count in no average, are
 * logged. */
bool gb_judge_run(const gb_judge_params *params, FILE *out, gb_status *status);

/* ---- measuring a split as tables show it ---- */

/* What the measures of a split depend on besides its run. */
typedef struct gb_split_params {
    const gb_collection *collection; /* collection of the split; NULL: it is not known, nor are
                                        values of a random order */
    const gb_run_names *names;       /* names of the collection */
    const gb_answers *answers;       /* answers of the collection, or NULL */
    uint32_t depth;                  /* passages of a query that are measured */
    bool drop_identical;             /* a passage with the query's id does not count */
    bool skip_empty;    /* of runs in files, an empty one counts as none; else GB_DATA */
    const char *folder; /* folder that per-query/<split>.<form>.tsv are written to */
} gb_split_params;
/* Measures the run of a split for the columns of tables (src/eval/split_measures.c): MS MARCO's
 * measures as its script computes them, TREC's over all judged queries, and those by answers if
 * there are answers. Passages are relevant from grade 1; if there are higher grades, further
 * measures take them as relevant from grade 2. Adds "split:measure" -> {"value", "chance",
 * "per_query": file, "name"} to metrics; chance is the expected value of a random order of all
 * passages, if it is known. */
bool gb_split_measure(const gb_split *split, const gb_run *run, const gb_split_params *params,
                      json_t *metrics, gb_status *status);
/* As gb_split_measure, of 1,000 passages a query, from files: of every split that has judgements of
 * any layout in a folder, SPLIT.tsv, and a run of any format in another one, SPLIT.trec, .txt or
 * .tsv. Either may be packed. Of params it takes drop_identical, skip_empty and folder alone.
 * GB_DATA names a file and line. */
bool gb_splits_measure_files(const char *qrels, const char *runs, const gb_split_params *params,
                             json_t *metrics, gb_status *status);

/* ---- measured values in files ---- */

/* Reads metrics.json of a folder: measure -> a number, or {"value": number, ...}. NULL and GB_DATA
 * if it is absent or is not such an object. The caller calls json_decref. */
json_t *gb_measures_read(const char *folder, gb_status *status);
/* Puts the number of a measure, called `name`, into *value. GB_DATA if measure is NULL or has no
 * number. */
bool gb_measure_value(const json_t *measure, const char *folder, const char *name, double *value,
                      gb_status *status);
/* Averages the measures that all folders have, every folder with the same weight: measure ->
 * {"value", "chance"}, with "chance" if all have it. NULL and GB_DATA if the folders have no
 * measure in common. The caller calls json_decref. */
json_t *gb_measures_mean(const char *const *folders, size_t count, gb_status *status);

/* ---- texts of queries and corpora, streamed from files ---- */

/* Is called for each text of a file. Its arguments are NUL-terminated and valid during the call. If
 * it returns false, reading stops and fails with what the function left in status. */
typedef bool gb_text_fn(void *ctx, const char *id, const char *title, const char *text,
                        gb_status *status);
/* Reads JSON lines {"_id" or "id", "title" (optional), "text" or "contents"}, plain or gzip. */
bool gb_read_jsonl(const char *path, gb_text_fn *each, void *ctx, gb_status *status);
/* Reads texts of queries, plain or gzip: JSON lines as above, "qid<TAB>text" lines, or TREC topics
 * of the form <DOC> <DOCNO> 1 </DOCNO> text </DOC>, recognised by the file's first character. */
bool gb_read_queries(const char *path, gb_text_fn *each, void *ctx, gb_status *status);

/* Gives the text of a query row, not NUL-terminated. */
typedef const char *gb_query_fn(const void *ctx, uint32_t query, size_t *length);
/* Texts of queries in memory. Zero-initialise it; free with gb_topics_free. */
typedef struct gb_topics {
    gb_names *names; /* ids; row = position in the file */
    gb_text texts;   /* all texts, one behind the other */
    size_t *starts;  /* [count + 1] byte at which the text of a row starts */
    size_t capacity; /* starts allocated */
} gb_topics;
/* Reads a file into memory by gb_read_queries. */
bool gb_topics_read(const char *path, gb_topics *topics, gb_status *status);
/* Text of a row; `topics` is a gb_topics. It is a gb_query_fn. */
const char *gb_topics_text(const void *topics, uint32_t row, size_t *length);
void gb_topics_free(gb_topics *topics);

#endif
