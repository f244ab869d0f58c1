/* Eval module: rankings and judgements of any layout, and the measures of one against the other.
 * Stands on base, rows, text, data. */
#ifndef GABBRO_EVAL_H
#define GABBRO_EVAL_H

#include <gabbro/base.h>
#include <gabbro/data.h>
#include <gabbro/rows.h>

#include <gabbro/json.h>

/* ---- names: the external ids of rows ---- */

/* Queries and passages are rows (uint32) everywhere; names give their external ids, which files
 * carry and by which trec_eval breaks ties. */
typedef struct gb_names gb_names;
gb_names *gb_names_create(gb_status *status); /* empty; grows as names are met */
/* The ids of a stored table (row = row); fixed. The table must outlive the names. */
gb_names *gb_names_from_table(const gb_table *table, gb_status *status);
void gb_names_destroy(gb_names *names);
uint32_t gb_names_count(const gb_names *names);
/* Id of `row` (< count); not NUL-terminated. */
const char *gb_names_get(const gb_names *names, uint32_t row, size_t *length);
/* Row of an id. Growing names add an unknown id; fixed ones answer GB_MAP_NONE. False only when
 * out of memory. Not thread-safe. */
bool gb_names_row(gb_names *names, const char *id, size_t length, uint32_t *row, gb_status *status);
int gb_names_compare(const gb_names *names, uint32_t a, uint32_t b); /* byte order, like strcmp */

/* What the rows of runs and judgements are called in their files. Runs that are compared with one
 * another or with judgements share these names: looking an id up needs a hash table of all ids. */
typedef struct gb_run_names {
    gb_names *queries;  /* ids of query rows */
    gb_names *passages; /* ids of passage rows */
} gb_run_names;
bool gb_run_names_create(gb_run_names *names, gb_status *status); /* empty; they grow */
/* Those of a collection, which must outlive them. */
bool gb_run_names_of(const gb_collection *collection, gb_run_names *names, gb_status *status);
void gb_run_names_free(gb_run_names *names);

/* ---- runs ---- */

#define GB_NO_PASSAGE UINT32_MAX /* an empty rank of an MS MARCO run; never relevant */

typedef struct gb_hit {
    uint32_t passage; /* row, or GB_NO_PASSAGE */
    double score;     /* higher is better */
} gb_hit;

/* The list of one query, in the order of the search or of the file. */
typedef struct gb_run_list {
    uint32_t query; /* row */
    uint32_t count; /* hits in the list */
    size_t first;   /* index of its first hit in gb_run.hits */
} gb_run_list;

/* Ranked lists of some queries. Zero-initialise; free with gb_run_free. */
typedef struct gb_run {
    gb_hit *hits;         /* the hits of all lists, list after list */
    size_t hit_count;     /* hits in use */
    size_t hit_capacity;  /* hits allocated */
    gb_run_list *lists;   /* one a query, no query twice */
    size_t list_count;    /* lists in use */
    size_t list_capacity; /* lists allocated */
} gb_run;
void gb_run_free(gb_run *run);
/* Append the list of a query that the run does not have yet (not checked); hits are copied. */
bool gb_run_add(gb_run *run, uint32_t query, const gb_hit *hits, uint32_t count, gb_status *status);
/* List of a query, or NULL. Quick when lists were added by ascending query, else a scan. */
const gb_run_list *gb_run_find(const gb_run *run, uint32_t query);

typedef enum gb_run_format {
    GB_RUN_AUTO, /* told from the file: lines of 5 or more fields TREC; 3 fields MS MARCO where the
                    third counts from 1 for every query, without gaps and repetitions, else
                    scores, and a line of the log says which */
    GB_RUN_TREC, /* qid Q0 docno rank score tag; the rank is ignored */
    GB_RUN_RANKED,  /* the same line, but the rank column alone decides the order */
    GB_RUN_MSMARCO, /* qid pid rank; ranks without a passage stay empty (GB_NO_PASSAGE) */
    GB_RUN_SCORES,  /* qid pid score (Tevatron's ranking file) */
} gb_run_format;
/* Read a run (plain or gzip; blank lines and lines starting with '#' are skipped). Lists come in
 * the order in which the file first names their queries, hits in file order; where ranks decide,
 * hits come by rank with score = -rank. Unknown ids of fixed names, a passage twice for a query
 * and unreadable numbers are errors with file:line. tag (may be NULL) gets the run's tag, to be
 * freed by the caller. */
bool gb_run_read(const char *path, gb_run_format format, const gb_run_names *names, gb_run *run,
                 char **tag, gb_status *status);
/* How a run is written. */
typedef struct gb_run_style {
    gb_run_format format; /* GB_RUN_AUTO writes TREC */
    const char *tag;      /* last field of TREC's lines; NULL: "gabbro" */
    uint32_t depth;       /* passages of a query at most; 0: all */
} gb_run_style;
/* Write a run atomically; rank = place in the list, scores with enough digits to read back the
 * same value. */
bool gb_run_write(const gb_run *run, const gb_run_names *names, const gb_run_style *style,
                  const char *path, gb_status *status);

/* Read judgements in any of three layouts, told apart by their fields: TREC (qid iter docno rel),
 * MS MARCO (qid 0 pid 1), BEIR (query-id corpus-id score with a header line). Rows sorted by
 * (query, passage). A repeated line counts once; contradicting ones are an error. */
bool gb_qrels_read(const char *path, const gb_run_names *names, gb_qrels *qrels, gb_status *status);

/* ---- splits of a collection ---- */

/* The queries of a split and their judgements. Free with gb_split_free. */
typedef struct gb_split {
    char *name;        /* e.g. "dev" */
    gb_qrels qrels;    /* judgements; questions that have answers alone are in none */
    uint32_t *queries; /* [count] rows, ascending */
    uint32_t count;    /* queries */
} gb_split;
bool gb_split_open(const gb_collection *collection, const char *name, gb_split *split,
                   gb_status *status);
void gb_split_free(gb_split *split);

/* Several splits. Free with gb_splits_free. */
typedef struct gb_splits {
    gb_split *items; /* in the collection's order */
    size_t count;    /* splits */
} gb_splits;
/* All splits by which a model can be judged: not "train", nor a split that holds all training
 * queries, as there is where the training split was cut out of it; the log names such a one. */
bool gb_splits_open(const gb_collection *collection, gb_splits *splits, gb_status *status);
void gb_splits_free(gb_splits *splits);

/* ---- answers ---- */

/* Answer strings of questions: answers.tsv of a collection, "query-id<TAB>answer<TAB>answer...". */
typedef struct gb_answers gb_answers;
/* An unknown query and a line without answers are errors with file:line. */
gb_answers *gb_answers_read(const char *path, gb_names *queries, gb_status *status);
/* The answers of a collection, *answers NULL where it has none. */
bool gb_answers_of(const gb_collection *collection, gb_names *queries, gb_answers **answers,
                   gb_status *status);
void gb_answers_destroy(gb_answers *answers);
/* Does a text hold an answer of the query, by DPR's rule (src/eval/answers.c)? Never where the
 * query has none. False only on failure. */
bool gb_answers_hold(const gb_answers *answers, uint32_t query, const char *text, size_t length,
                     bool *held, gb_status *status);
/* Judgements of the first `depth` passages of each query of a run that has answers: 1 those that
 * hold one, else 0. Top@k of question answering papers is Hit@k with them. Owned: free(rows). */
bool gb_answers_qrels(const gb_answers *answers, const gb_run *run, const gb_table *texts,
                      uint32_t depth, gb_qrels *qrels, gb_status *status);

/* ---- measures ---- */

#define GB_UNJUDGED INT32_MIN /* grade of a passage without judgement */

/* What a measure sees of one query: grades by rank, after sorting and cutting. */
typedef struct gb_judged {
    const int32_t *grades; /* [retrieved] grade of rank i + 1, or GB_UNJUDGED */
    uint32_t retrieved;    /* number of ranks */
    const int32_t *ideal;  /* [judged] all judged grades >= 0 of the query, descending */
    uint32_t judged;       /* number of judged passages */
    uint32_t relevant;     /* of them with grade >= level */
    int32_t level;         /* smallest relevant grade */
} gb_judged;

/* Value of one query. parameter: the cut-off rank, a recall level, or 0. */
typedef double gb_measure_fn(const gb_judged *query, double parameter);
/* Expected value of one query over all orders of `passages` passages, each as likely. Of `query`,
 * retrieved is the number of ranks that would be looked at, at most `passages`; grades is NULL. */
typedef double gb_chance_fn(const gb_judged *query, double parameter, uint64_t passages);

typedef enum gb_parameter_kind {
    GB_PARAMETER_NONE,
    GB_PARAMETER_CUT,    /* a rank >= 1 */
    GB_PARAMETER_RECALL, /* a level of recall, 0 to 1 */
} gb_parameter_kind;

typedef enum gb_total {
    GB_TOTAL_MEAN,
    GB_TOTAL_SUM,
    GB_TOTAL_GEOMETRIC, /* exp of the mean log, values below 1e-5 taken as 1e-5 */
} gb_total;

/* One line of the registry (src/eval/measures.c). */
typedef struct gb_measure {
    const char *name;       /* trec_eval's name where it has the measure, e.g. "ndcg_cut" */
    gb_measure_fn *value;   /* per-query function, in src/eval/measures/ */
    gb_chance_fn *chance;   /* what a random order has, beside it; NULL: not known here */
    gb_parameter_kind kind; /* what the parameter is */
    const char *parameters; /* default parameters, "5,10,15", or NULL */
    char separator;         /* between name and parameter when printed: '_' or '@' */
    gb_total total;         /* how queries are put together */
    bool integer;           /* printed without decimals */
    bool summary_only;      /* has no line per query */
    bool official;          /* in trec_eval's default output */
    bool all_grades;        /* the relevance level plays no part, as in nDCG */
    const char *help;       /* one line */
} gb_measure;
const gb_measure *gb_measure_at(size_t index); /* NULL behind the last; trec_eval's print order */

/* A measure with its parameter, e.g. ndcg_cut at 10. */
typedef struct gb_metric {
    const gb_measure *measure; /* registry line */
    double parameter;          /* rank, recall level, or 0 */
} gb_metric;

/* Growable set of metrics in registry order. Zero-initialise; free(metrics.items). */
typedef struct gb_metrics {
    gb_metric *items; /* metrics */
    size_t count;     /* metrics in use */
    size_t capacity;  /* metrics allocated */
} gb_metrics;
/* Add what `text` names: "map", "ndcg_cut.10,100", "ndcg_cut_10", "MRR@10", "P" (default
 * cut-offs), "official" or "all". Already present ones are not repeated. */
bool gb_metrics_add(gb_metrics *metrics, const char *text, gb_status *status);
#define GB_METRIC_NAME 40
/* "ndcg_cut_10", "MRR@10", "iprec_at_recall_0.10". */
void gb_metric_name(const gb_metric *metric, char name[GB_METRIC_NAME]);
#define GB_METRIC_LABEL 64
/* The name for tables and files, with the relevance level where it is not 1 and matters, in the
 * form of ir-measures: "recall(rel=2)_1000", "MRR(rel=2)@10". What `eval` prints has trec_eval's
 * own names. */
void gb_metric_label(const gb_metric *metric, int32_t level, char label[GB_METRIC_LABEL]);

/* Order of hits with equal scores. */
typedef enum gb_ties {
    GB_TIES_TREC,      /* docno descending in byte order, as trec_eval sorts */
    GB_TIES_ASCENDING, /* docno ascending */
    GB_TIES_INPUT,     /* as in the list */
    GB_TIES_BEST,      /* higher grades first: the upper bound over all orders */
    GB_TIES_WORST,     /* lower grades first: the lower bound */
} gb_ties;

typedef struct gb_eval_params {
    int32_t level;       /* smallest relevant grade; default 1. No effect on nDCG */
    uint32_t depth;      /* only this many first ranks count (trec_eval -M); 0 = all */
    gb_ties ties;        /* order of equal scores */
    bool keep_order;     /* the list's order is the ranking; scores are not looked at */
    bool complete;       /* average over all judged queries, missing ones count 0 (trec_eval -c);
                            else over the queries that are both judged and in the run */
    bool drop_identical; /* a passage whose id equals the query's is removed before ranking */
    bool judged_only;    /* unjudged passages are removed before ranking (trec_eval -J) */
    uint32_t passages;   /* of the collection, all of them, for `chances`; 0: not asked for */
    const gb_metrics *metrics; /* what is measured; read by gb_evaluate only */
} gb_eval_params;
/* The three forms of the field, never mixed: each gives other numbers. */
#define GB_EVAL_TREC    ((gb_eval_params){.level = 1})
#define GB_EVAL_MSMARCO ((gb_eval_params){.level = 1, .keep_order = true, .complete = true})
#define GB_EVAL_BEIR    ((gb_eval_params){.level = 1, .drop_identical = true})

/* Values of all metrics for all evaluated queries. Owned: gb_evaluation_free. */
typedef struct gb_evaluation {
    gb_metric *metrics;       /* [metric_count] what was measured */
    size_t metric_count;      /* number of metrics */
    uint32_t *queries;        /* [query_count] rows of the evaluated queries, ascending */
    size_t query_count;       /* number of evaluated queries */
    double *values;           /* [metric_count, query_count] */
    double *totals;           /* [metric_count] mean, sum or geometric mean over the queries */
    double *chances;          /* [metric_count] mean that a random order of the collection has in
                                 expectation; NAN where not asked for or not known */
    gb_eval_params params;    /* as evaluated */
    uint32_t judged_queries;  /* queries with judgements */
    uint32_t missing_queries; /* of them those not in the run */
    uint32_t ignored_queries; /* queries of the run without judgements */
    uint32_t tied_queries;    /* evaluated queries where equal scores touch the first 10 ranks */
    uint64_t identical;       /* passages removed because their id was the query's */
} gb_evaluation;
/* passage names decide ties, both names the identical ids; one that params do not need may be NULL.
 * A run without any judged query or with a score that is no number is an error (GB_DATA). */
bool gb_evaluate(const gb_run *run, const gb_qrels *qrels, const gb_run_names *names,
                 const gb_eval_params *params, gb_evaluation *evaluation, gb_status *status);
void gb_evaluation_free(gb_evaluation *evaluation);
/* Per-query values of a metric, [query_count], or NULL when it was not measured. */
const double *gb_evaluation_values(const gb_evaluation *evaluation, const char *name);
double gb_evaluation_total(const gb_evaluation *evaluation, const char *name); /* NAN when absent */
double gb_evaluation_chance(const gb_evaluation *evaluation, const char *name); /* the same */
/* Write all per-query values as TSV: header "query", metric labels; one line a query; 17 digits. */
bool gb_evaluation_write(const gb_evaluation *evaluation, const gb_names *queries, const char *path,
                         gb_status *status);
/* How trec_eval prints an evaluation: "measure<TAB>query or all<TAB>value". */
typedef struct gb_print_params {
    bool per_query;       /* the values of every query, in the byte order of their ids (-q) */
    bool no_summary;      /* leave the values over all queries out (-n) */
    const char *run_name; /* printed as "runid"; NULL: it is not */
} gb_print_params;
bool gb_evaluation_print(const gb_evaluation *evaluation, const gb_names *queries,
                         const gb_print_params *params, FILE *out, gb_status *status);
/* The block that the MS MARCO script prints of an evaluation with MRR@10: `ranked` queries are in
 * the run. */
void gb_evaluation_print_msmarco(const gb_evaluation *evaluation, size_t ranked, FILE *out);

/* Two runs, A and B, that are compared. */
typedef struct gb_compare_params {
    const char *a, *b; /* names of the runs */
    uint64_t seed;     /* of the randomised tests */
} gb_compare_params;
/* Print paired two-sided tests of evaluations of the same metrics with the same judgements,
 * `complete` both: of every metric both values, the difference with its bootstrap interval, and p
 * of the t-test, the same adjusted by Holm over all metrics, and p of the randomisation test. */
bool gb_evaluation_compare(const gb_evaluation *a, const gb_evaluation *b,
                           const gb_compare_params *params, FILE *out, gb_status *status);

/* Files to judge, and how that is printed: as by trec_eval, as by the MS MARCO script, or in
 * comparison with another run. */
typedef struct gb_judge_params {
    const char *qrels, *run;     /* judgements and run */
    const char *other;           /* run to compare with, or NULL */
    gb_run_format format;        /* of the runs; AUTO: MS MARCO's for its script */
    bool single;                 /* scores rounded to single precision, as trec_eval to 9.0.8 */
    bool msmarco;                /* print the block of the MS MARCO script */
    const char *const *measures; /* [measure_count] for gb_metrics_add, or "runid" */
    size_t measure_count;        /* 0: those that are usual for what is printed */
    gb_eval_params how;          /* metrics are those of `measures` */
    gb_print_params print;       /* run_name is that of the run where it is asked for */
    uint64_t seed;               /* of the randomised tests */
    const char *values;          /* file for the values of every query, or NULL */
} gb_judge_params;
/* Ties and queries that are in no average are logged. */
bool gb_judge_run(const gb_judge_params *params, FILE *out, gb_status *status);

/* ---- measuring a split as tables show it ---- */

/* What the measures of a split depend on beside its run. */
typedef struct gb_split_params {
    const gb_collection *collection; /* of the split */
    const gb_run_names *names;       /* of the collection */
    const gb_answers *answers;       /* of the collection, or NULL */
    uint32_t depth;                  /* passages of a query that are measured */
    bool drop_identical;             /* a passage with the query's id does not count */
    const char *folder;              /* where per-query/<split>.<form>.tsv are written */
} gb_split_params;
/* Measure the run of a split by the columns of tables (src/eval/split_measures.c): MS MARCO's
 * measures as its script has them, those of TREC over all judged queries, and those by answers
 * where there are some. A passage is relevant from grade 1 on, and where there are higher grades
 * also from grade 2 on, in measures of their own. Adds "split:measure" -> {"value", "chance",
 * "per_query": file, "name"} to metrics; chance is what a random order of all passages has in
 * expectation, where that is known. */
bool gb_split_measure(const gb_split *split, const gb_run *run, const gb_split_params *params,
                      json_t *metrics, gb_status *status);

/* ---- measured values in files ---- */

/* metrics.json of a folder: measure -> a number, or {"value": number, ...}. NULL and GB_DATA when
 * it is not there or is no such object. Caller: json_decref. */
json_t *gb_measures_read(const char *folder, gb_status *status);
/* The number of one of them, called `name`, into *value; GB_DATA when it has none or is NULL. */
bool gb_measure_value(const json_t *measure, const char *folder, const char *name, double *value,
                      gb_status *status);
/* Measure -> {"value", "chance"}: means over the folders, every folder counting alike, of the
 * measures that all of them have; "chance" where all have it. NULL and GB_DATA where they have no
 * measure in common. Caller: json_decref. */
json_t *gb_measures_mean(const char *const *folders, size_t count, gb_status *status);

/* ---- texts of queries and corpora, streamed from files ---- */

/* Called for each text of a file; fields are NUL-terminated and valid during the call. Returning
 * false stops the reading, which then fails with what the function left in status. */
typedef bool gb_text_fn(void *ctx, const char *id, const char *title, const char *text,
                        gb_status *status);
/* JSON lines {"_id" or "id", "title" (optional), "text" or "contents"}, plain or gzip. */
bool gb_read_jsonl(const char *path, gb_text_fn *each, void *ctx, gb_status *status);
/* Query texts, plain or gzip: JSON lines as above, "qid<TAB>text" lines, or TREC topics of the form
 * <DOC> <DOCNO> 1 </DOCNO> text </DOC>; told apart by the first character of the file. */
bool gb_read_queries(const char *path, gb_text_fn *each, void *ctx, gb_status *status);

/* Text of a query row; not NUL-terminated. */
typedef const char *gb_query_fn(const void *ctx, uint32_t query, size_t *length);
/* Query texts held in memory. Zero-initialise; free with gb_topics_free. */
typedef struct gb_topics {
    gb_names *names; /* ids; row = order in the file */
    gb_text texts;   /* all texts, one behind the other */
    size_t *starts;  /* [count + 1] where the text of a row starts */
    size_t capacity; /* starts allocated */
} gb_topics;
bool gb_topics_read(const char *path, gb_topics *topics,
                    gb_status *status); /* by gb_read_queries */
const char *gb_topics_text(const void *topics, uint32_t row, size_t *length); /* a gb_query_fn */
void gb_topics_free(gb_topics *topics);

#endif
