/* Report module: compares the results of a table with the published ones. It reads published
 * numbers and claims, results, and recorded results of many seeds, judges claims and cells, and
 * writes the table in several forms and a site. tables/README.md describes the data files. */
#ifndef GABBRO_REPORT_H
#define GABBRO_REPORT_H

#include <gabbro/store.h>

#include <stdio.h>

/* ---- a table as data ---- */

/* Where the numbers of a row come from. */
typedef enum gb_row_role {
    GB_ROW_QUOTED,   /* quoted in the paper, not reproduced here */
    GB_ROW_BASELINE, /* quoted in the paper, reproduced here */
    GB_ROW_TRAINED,  /* trained in the paper and here */
    GB_ROW_EXTRA,    /* only here */
    GB_ROW_ROLES
} gb_row_role;
const char *gb_row_role_name(gb_row_role role); /* "quoted", "baseline", "trained", "extra" */

/* A row of a table. Strings are "" if the file has none; they live as long as the spec. */
typedef struct gb_spec_row {
    const char *key;       /* name in results; "" for rows that are only quoted */
    const char *published; /* "row @ group" in the published table; "" for extra rows */
    const char *group;     /* heading that the row is printed under */
    const char *label;     /* name that is printed */
    gb_row_role role;      /* where its numbers come from */
} gb_spec_row;

/* A column of a table. */
typedef struct gb_spec_column {
    const char *name;     /* "<set>:<measure>" as published */
    const char *obtained; /* names in results that fill it, separated by spaces */
    const char *header;   /* short heading */
    const char *label;    /* long heading */
    double scale;         /* factor from fractions to the unit that is printed (100: percent) */
    int decimals;         /* decimals that are printed */
} gb_spec_column;

/* A published value. */
typedef struct gb_cell {
    bool present;       /* the paper prints a value */
    double value;       /* the value, in the unit in which it is printed */
    int decimals;       /* printed decimals */
    const char *marks;  /* the paper's marks, such as "bold" */
    const char *status; /* ok, corrected, doubtful */
    const char *note;   /* reason for that status */
} gb_cell;

/* What a claim says of its rows: see docs/design/verdicts.md. A claim has rows on its left and on
 * its right side. */
typedef enum gb_claim_kind {
    GB_CLAIM_ABOVE,     /* "gt": every left is above every right */
    GB_CLAIM_BELOW,     /* "lt": every left is below every right */
    GB_CLAIM_BEST,      /* "best": like "gt", or like "lt" if lower is better */
    GB_CLAIM_NOT_BELOW, /* "ge:E": no left is below a right by E or more */
    GB_CLAIM_NEAR,      /* "near:E": every left and right differ by less than E */
    GB_CLAIM_RISING,    /* "order:E": left, right, right ... never falls by E or more */
    GB_CLAIM_FALLING,   /* "not-order": it falls somewhere */
    GB_CLAIM_PAIRS,     /* "each": the first left is above the first right, and so on */
    GB_CLAIM_MEANS,     /* "mean": the mean of the lefts is above the mean of the rights */
    GB_CLAIM_WINS,      /* "wins:N": left is above right in at least N of the columns */
} gb_claim_kind;

/* The kind of a claim with its parameters. */
typedef struct gb_claim_rule {
    gb_claim_kind kind; /* what it says */
    double margin;      /* E, in the column's unit, or as a share of the right value */
    bool relative;      /* margin is a share: "near:2.4%" has a margin of .024 */
    uint32_t wins;      /* N of "wins:N" */
} gb_claim_rule;
/* Reads a rule from its text. False if the text is not a kind of claim. */
bool gb_claim_rule_parse(const char *text, gb_claim_rule *rule);

/* A claim of a paper about rows of a table. */
typedef struct gb_claim {
    const char *id;        /* "qac-02" */
    const char *kind;      /* "gt", "near:2.4%", "wins:13" ... */
    gb_claim_rule rule;    /* the same, parsed */
    const char *column;    /* published column, or a pattern of several ("beir-*") */
    const char *statement; /* the claim in words */
    const char *given;     /* "assumption: WHY", "construction: WHY", or "" */
    const char *where;     /* place of the sentence in the paper */
    size_t *sides;         /* [count] rows of the spec: the lefts, then the rights */
    size_t lefts;          /* number of lefts */
    size_t count;          /* number of lefts and rights */
    bool holds;            /* the paper's own cells satisfy it, or it has none to compare */
} gb_claim;

/* A difference between a reproduction and its paper. */
typedef struct gb_deviation {
    const char *id, *topic; /* number and subject */
    const char *paper;      /* what the paper did */
    const char *here;       /* what is done here */
    const char *why;        /* reason */
    const char *scales;     /* scales to which it applies */
} gb_deviation;

/* Everything that tables/ says of one table. */
typedef struct gb_table_spec {
    gb_arena *arena;          /* owns everything below */
    const char *name;         /* "qac/table1" */
    const char *title;        /* in words */
    const char *source;       /* "arXiv 2212.09598 Table 1" */
    gb_spec_row *rows;        /* [row_count] in print order */
    size_t row_count;         /* rows */
    gb_spec_column *columns;  /* [column_count] */
    size_t column_count;      /* columns */
    gb_cell *cells;           /* [row_count, column_count] */
    gb_claim *claims;         /* [claim_count] */
    size_t claim_count;       /* claims of this table */
    gb_deviation *deviations; /* [deviation_count] deviations that name this table */
    size_t deviation_count;   /* deviations */
} gb_table_spec;
/* Reads what tables/ says of a table. NULL and GB_DATA, naming file and line, if it is damaged. */
gb_table_spec *gb_table_spec_load(const char *tables_dir, const char *name, gb_status *status);
void gb_table_spec_free(gb_table_spec *spec);
/* Finds the folder of the table data: `given` (--tables) if it is not NULL, else $GABBRO_TABLES,
 * tables/ of the source tree that the binary was built in, share/gabbro/tables beside the binary's
 * bin/, or the installed place. Caller frees. */
char *gb_tables_find(const gb_config *config, const char *given, gb_status *status);

/* ---- verdicts ---- */

/* What is said of a claim. They are printed from the last to the first. */
typedef enum gb_verdict {
    GB_NOT_JUDGED,   /* for a reason that is printed */
    GB_UNDECIDED,    /* the interval contains zero, or there are fewer than three seeds */
    GB_CONTRADICTED, /* the interval lies below zero */
    GB_SUPPORTED,    /* the interval lies above zero */
    GB_VERDICTS
} gb_verdict;
const char *gb_verdict_name(gb_verdict verdict); /* "supported" ... "not judged" */
/* Adds the claims of a table.json by verdict. */
void gb_count_verdicts(const json_t *table, size_t counts[GB_VERDICTS]);

#define GB_MIN_SEEDS 3 /* fewer seeds decide nothing */

/* One difference that a claim is about: the mean of some sides minus the mean of others. */
typedef struct gb_comparison {
    size_t above, above_count; /* first of the sides expected above, and their number */
    size_t below, below_count; /* first of the sides expected below, and their number */
    size_t right;              /* side of whose value a relative margin is a share */
} gb_comparison;
/* Lists the comparisons within one column that a rule makes of `count` sides, of which the first
 * `lefts` are left. Returns their number; out [that number] gets them unless it is NULL. */
size_t gb_claim_comparisons(const gb_claim_rule *rule, size_t lefts, size_t count,
                            bool lower_is_better, gb_comparison *out);
/* Says how many of so many comparisons must hold: one for "falls somewhere", N for "wins:N",
 * otherwise all. */
size_t gb_claim_needs(const gb_claim_rule *rule, size_t comparisons);
/* Computes the difference of a comparison from the values of the sides, positive if it is as
 * claimed. *margin gets the amount by which it may fall short. */
double gb_comparison_difference(const gb_comparison *comparison, const gb_claim_rule *rule,
                                const double *values, double *margin);

/* The verdict on a claim over seeds. Differences are positive in the claimed direction. */
typedef struct gb_judgement {
    gb_verdict verdict;   /* the verdict */
    const char *reason;   /* why it was not judged, or is undecided for good; or "" */
    const char *left_out; /* rows and columns that were not compared, and why, or "" */
    const char *weak;     /* rows that did not converge, or "" */
    const char *shown_as; /* name of the comparison shown, "SEED", or "" if there is only one */
    size_t seeds;         /* differences of each comparison */
    size_t comparisons;   /* comparisons of the claim */
    size_t needed;        /* number of them that must hold */
    size_t shown;         /* the comparison whose end decides; undecided: the needed-th greatest */
    double margin;        /* amount by which that one may fall short; 0: it must be above */
    double mean;          /* its mean difference; NAN without any */
    double published;     /* the same difference of the paper's cells; NAN if it lacks one */
    double sd;            /* standard deviation of its differences (n - 1); NAN for one seed */
    double low, high;     /* see gb_judge; NAN for one seed */
    uint32_t more_seeds;  /* if undecided: further seeds that would probably decide; 0: unknown */
    size_t unconverged;   /* seeds in which a row of the claim did not converge */
    double query_p;       /* p of a paired t-test over the queries of the first seed; NAN: none */
    size_t queries;       /* queries of that test */
} gb_judgement;
/* Judges the statement "at least `needed` of the comparisons have a mean above zero" from
 * differences [c * stride + seed] of n seeds, to which margins have been added. The claim is
 * supported if the needed-th greatest lower end of the comparisons' t-intervals is above zero, and
 * contradicted if the needed-th greatest upper end is below zero. Each of the two is wrong in at
 * most 2.5% of cases, by Bonferroni over the comparisons of which one must err: a lower end lies
 * above its mean with probability .025 / (comparisons - needed + 1), an upper end below with
 * probability .025 / needed. If all must hold, the lower ends are those of plain 95% intervals (an
 * intersection-union test). `shown` is the comparison whose end decides, with its mean and both its
 * ends as `low` and `high`. Of an undecided claim it is the one with the needed-th greatest mean,
 * and `low` and `high` are the needed-th greatest ends of all. */
bool gb_judge(const double *differences, size_t stride, size_t n, size_t comparisons, size_t needed,
              gb_judgement *judgement, gb_status *status);
/* Sets more_seeds: so many more seeds are needed for t-tests to find differences like these, as
 * many of them as decide the claim and all at once, with probability .8: the chances of missing
 * each of them (as in gb_seeds_needed) sum to at most .2. */
bool gb_judge_more_seeds(const double *differences, size_t stride, size_t n,
                         gb_judgement *judgement, gb_status *status);
#define GB_MOST_SIDES 64 /* most rows of a claim */
/* Says whether lower values of a column are better, as they are for losses and times only. */
bool gb_lower_is_better(const char *column);
/* Says whether the greatest possible value of a column is 1, as for all but losses, times and
 * gains. */
bool gb_has_ceiling(const char *column);

/* How a row compares with the encoder that it was trained from, in one column and over the queries
 * of the first seed. */
typedef struct gb_against {
    double difference; /* mean difference; positive: the row is above */
    double p;          /* p of a paired two-sided t-test */
    size_t queries;    /* queries of that test; 0: there is nothing to compare */
} gb_against;

/* Where a published value lies in relation to the results of many seeds. */
typedef enum gb_cell_verdict {
    GB_CELL_NONE,
    GB_CELL_OK,
    GB_CELL_HIGH,
    GB_CELL_LOW
} gb_cell_verdict;
/* Compares a published value (of one training, printed with `decimals`) with the mean of n seeds
 * with standard deviation sd, all in the same unit. The value is OK within the 95% prediction
 * interval for one more seed, t sd sqrt(1 + 1/n), but at least `least`, plus half a unit of the
 * last printed digit. NONE for n < 2. */
gb_cell_verdict gb_judge_cell(double published, int decimals, double mean, double sd, size_t n,
                              double least);
const char *gb_cell_verdict_text(gb_cell_verdict verdict); /* "[OK]", "[HIGH]", "[LOW]", "" */

/* ---- results ---- */

/* Results are a file of JSON lines. The first line says what was reproduced:
 *   {"table": "qac/table1", "scale": "mini", "collection_kind": "world",
 *    "collection": "<folder of an artifact, or a name>", "settings": {...},
 *    "recipe": "<hash of the table's commands>", "times": {...},
 *    "recipes_on_request": {"<row>": "<hash of its commands>"}}
 * where the recipe is that of a plain run, and rows that it leaves out have one each.
 * collection_kind is "world" for the mini world, "public" for the public files that a scale names,
 * "own" for any other. "device", "driver" and "kernels" may be in the first line; otherwise they
 * come from the run.json of the evaluations. Every other line gives a row, either by the folders of
 * an evaluation and of the model behind it,
 *   {"row": "cotmae-query-r1", "seed": 42, "evaluation": "<folder>", "model": "<folder>"}
 * or a single value:
 *   {"row": ..., "seed": ..., "column": "msmarco-dev:MRR@10", "value": 0.43, "converged": true,
 *    "queries": 1500, "per_query": "<TSV file: id, value>", "step": "evaluate-..."}
 * The metrics.json of an evaluation maps columns to a number or to {"value", "queries",
 * "per_query": "<file in the folder>", "name": "<column of that file>"}; for a plain number, the
 * file is per-query/<set>.tsv and the name is the measure. Whether training converged is
 * "converged" in the facts of the model's run.json. An evaluation on another set of the world has
 * "set": its columns are then named "<set>/<column>". The set "before" is the evaluation of the
 * row's encoder before any fine-tuning. "drop_identical": true says that the evaluation left out
 * passages with the id of the query. Paths may be relative to the file of results. Values are
 * fractions. */

/* The results of one seed, over the rows of the spec and the columns of the report. */
typedef struct gb_seed_run {
    uint64_t seed;       /* seed of the training */
    double *values;      /* [rows, columns] fractions; NAN: none */
    int8_t *converged;   /* [rows] 1 yes, 0 no, -1 not known */
    const char **steps;  /* [rows] name of the evaluation's artifact, or "" */
    const char *device;  /* device that computed them */
    const char *driver;  /* its driver */
    const char *kernels; /* hash of the kernels */
} gb_seed_run;

/* The results of several seeds. */
typedef struct gb_seed_runs {
    gb_seed_run *items; /* [count] by ascending seed */
    size_t count;       /* seeds */
    size_t capacity;    /* seeds allocated */
} gb_seed_runs;

/* Which table to report, and from which results. */
typedef struct gb_report_params {
    const char *tables_dir; /* folder of the table data, see gb_tables_find */
    const char *table;      /* "qac/table1" */
    const char *scale;      /* "mini", "squad", "small", "paper" */
    const char *results;    /* file of JSON lines */
    bool judged;            /* add a column Judged@10 for each split that a column is measured on */
} gb_report_params;

/* Everything that the forms of a table show. */
typedef struct gb_report {
    gb_table_spec *spec;         /* owned */
    gb_arena *arena;             /* owns strings and arrays below */
    const char *scale;           /* "mini" */
    const char *collection_kind; /* "world", "public" or "own" */
    bool own_collection;         /* "own": no published values are printed beside the results */
    const char *collection;      /* name of the collection, with its size if known */
    const char *collection_id;   /* identity that recorded results must share */
    const char *generator;       /* generator of the queries, or "" */
    const char *notes;           /* sentences on what was done to the collection at import, or "" */
    const char *rankings;        /* what was left out of rankings, and in which sets, or "" */
    json_t *settings;            /* settings of the scale, owned; NULL: not known */
    const char *recipe;          /* hash of the table's commands and their options, or "" */
    json_t *row_recipes;         /* the same of each row on request, by key, owned; NULL: none */
    json_t *times;               /* "times" of the results, owned; NULL: none */
    gb_spec_column *columns;     /* [column_count] shown; the spec's, or made from the results */
    size_t column_count;         /* columns shown */
    size_t judged_count;         /* of them, at the end: those that gb_report_params.judged added */
    double *chance;              /* [column_count] value of a random order; NAN: not known */
    gb_seed_runs here;     /* results of the file; its list is owned, its strings are the arena's */
    gb_seed_runs recorded; /* recorded results, if they fit */
    char recorded_note[240];  /* why there are none, or "" */
    char outdated[240];       /* rows of them that were made with other settings and are left out */
    gb_judgement *judgements; /* [spec->claim_count] */
    gb_against *against;      /* [spec->row_count]; NULL without a row of the encoder itself */
    size_t against_column;    /* column of that test: nDCG@10 if it is shown, else the first */
} gb_report;
/* Reads the results, judges them, and collects what the forms show. NULL and status on failure. */
gb_report *gb_report_build(const gb_report_params *params, gb_status *status);
void gb_report_free(gb_report *report);

/* Adds the seeds of a report to tables_dir/recorded/<table>.<scale>.json. Of a seed that is there
 * already, its rows take the place of theirs and the others stay. It fails if the recorded ones
 * have other settings or another collection, or if rows of another device or other kernels would
 * stay. */
bool gb_report_record(const gb_report *report, const char *tables_dir, gb_status *status);

/* Append the forms of a report to out. The same report always gives the same bytes; only "times" of
 * the JSON differ between equal results. */
void gb_report_text(const gb_report *report, gb_text *out); /* ASCII */
void gb_report_markdown(const gb_report *report, gb_text *out);
void gb_report_html(const gb_report *report, gb_text *out); /* one file, no scripts */
/* The content of that page, for pages that have more. */
void gb_report_content(const gb_report *report, gb_text *out);
bool gb_report_json(const gb_report *report, gb_text *out, gb_status *status);
void gb_report_csv(const gb_report *report, gb_text *out);   /* one line a cell, RFC 4180 */
void gb_report_latex(const gb_report *report, gb_text *out); /* a tabular, no packages needed */
/* Writes table.md, table.json, table.html, table.csv and table.tex into a folder. */
bool gb_report_write(const gb_report *report, const char *folder, gb_status *status);

/* ---- the site ---- */

/* What a site is made of. */
typedef struct gb_site_params {
    const char *const *folders; /* [count] folders of gb_report_write, or of figures */
    size_t count;               /* folders */
    const char *store;          /* root of the store; NULL: where results.jsonl says */
    const char *seen;           /* folder of what others sent (gb_seen_write); NULL: none */
} gb_site_params;

/* Writes a static site to `out`: index.html (verdicts by paper, tables, figures), a page for each
 * table, and a page for each row that says where the value of each cell came from: commands,
 * settings, inputs and outputs with their hashes, devices, times, training curves. Links are
 * relative, and nothing needs scripts or a server. Folders of figures (with a coverage.html,
 * tsne.html or figure.html) are copied. */
bool gb_site_write(const gb_site_params *params, const char *out, gb_status *status);

/* Appends a small <figure> of a training's losses (losses.tsv), its `label` below. */
bool gb_report_spark(const char *path, const char *label, gb_text *out, gb_status *status);
/* Appends the same of the losses (values [count]) that a running training has printed; nothing of
 * fewer than two. */
void gb_report_spark_so_far(const double *values, size_t count, gb_text *out);

/* ---- results of others ---- */

/* What is sent of a table that was made. */
typedef struct gb_seen_params {
    const char *folder;      /* of results.jsonl and table.json */
    const char *name;        /* of who made it, UTF-8; NULL: not said */
    int doctor;              /* exit code of gabbro doctor: 0 where all kernels are right */
    const char *doctor_says; /* what it found wrong, and its last line */
    const char *gpu_check;   /* file of bench/gpu-check, which is taken in if it is there and of the
                              * table's device and driver; or NULL */
} gb_seen_params;
/* Writes one JSON file with device, driver, identity (as keys of artifacts have it), kernels, build
 * and machine, speed, all values by seed, how they compare with the recorded ones, verdicts, and
 * gpu-check; and "sha256", that of the file's other lines. It holds no names of users, hosts or
 * folders but params->name. A site shows the files of tables/seen. */
bool gb_seen_write(const gb_seen_params *params, const char *path, gb_status *status);
/* Appends a line for each such file *.json of a folder, with the columns of the site's page, below
 * a line that names them; nothing where there is none. GB_DATA, naming the file, for one that is
 * not as it was written. */
bool gb_seen_print(const char *folder, gb_text *out, gb_status *status);

/* ---- an evaluation for other tools ---- */

/* An evaluation, and what its files say that it does not know. */
typedef struct gb_export_params {
    gb_store *store;         /* where it is */
    const char *evaluation;  /* its folder */
    const char *tag;         /* of its runs, and the model's name; NULL: the model's artifact */
    const char *team, *goal; /* actor and research goal of ir_metadata; NULL: not said */
    const char *task;        /* name of the task; NULL: the collection's */
    const char *revision;    /* of the task's data set; NULL: not known */
    const char *language;    /* of the task, as MTEB writes it: eng-Latn */
    bool model;              /* copy the model's files too */
} gb_export_params;
/* Writes into the folder `out`: runs/SPLIT.trec with ir_metadata (ir-metadata.org) in comments,
 * mteb/TASK.json and mteb/model_meta.json as MTEB keeps results, README.md, a model card, and, if
 * asked for, the model's folder with that card. Existing files are replaced. GB_USAGE for what is
 * no evaluation. */
bool gb_export_write(const gb_export_params *params, const char *out, gb_status *status);

/* ---- a table that can be checked without a device ---- */

/* What a bundle is made of. */
typedef struct gb_bundle_params {
    const char *folder;     /* of results.jsonl and table.json, as gabbro reproduce writes it */
    const char *tables_dir; /* published numbers, claims, records */
} gb_bundle_params;
/* Writes the folder `out`, which must not be there: table and results, evaluations/NAME with their
 * runs, collections/NAME with judgements, records/NAME.json of all artifacts behind them, tables/,
 * and bundle.json with the SHA-256 of every file. */
bool gb_bundle_write(const gb_bundle_params *params, const char *out, gb_status *status);
/* Checks a bundle and prints what was found: hashes of its files, evaluations against their
 * records, measures against their runs (as deep as these are kept) and their values of queries, and
 * the table with its verdicts against one made anew. *held: all of it. False if it cannot be
 * checked. */
bool gb_bundle_check(const gb_config *config, const char *folder, FILE *out, bool *held,
                     gb_status *status);

/* ---- two reproductions of a table ---- */

/* Prints the cells of two folders of gb_report_write side by side, with their differences, and with
 * the position of B's among the recorded results. GB_USAGE if they are of different tables. */
bool gb_compare_tables(const char *a, const char *b, FILE *out, gb_status *status);

/* Prints how far a table.json agrees with `original`, another one, or with the published values in
 * it if that is NULL, for each column over the rows that have both values: Kendall's tau-b, RMSE, p
 * of a paired t-test, and for each row the effect ratio and the delta of the relative improvements
 * over the row `base` (NULL: the column's first row). A value is the mean over the
 * seeds; of a table in which nothing was run, the recorded mean. */
bool gb_tables_agree(const char *original, const char *run, const char *base, FILE *out,
                     gb_status *status);

/* ---- noise ---- */

enum { GB_NOISE_COLUMNS = 64 };

/* One column over all trained rows of a table, without regard to which row is which; fractions. */
typedef struct gb_noise_column {
    char name[96];          /* "msmarco-dev:MRR@10" */
    size_t values;          /* number of values: rows times seeds */
    double least, greatest; /* smallest and largest mean of a row over its seeds */
    double sd;              /* deviation between seeds of a row, over all rows; NAN for one seed */
    size_t at_ceiling;      /* values of .995 or more */
    size_t at_floor;        /* values at most two points above that of a random order */
} gb_noise_column;

/* What gb_noise_read finds. */
typedef struct gb_noise {
    size_t rows;                               /* trained rows */
    size_t runs, converged;                    /* their trainings, and those that converged */
    gb_noise_column columns[GB_NOISE_COLUMNS]; /* [column_count] columns of fractions only */
    size_t column_count;                       /* columns */
} gb_noise;
/* Reads from the table.json of a folder how noisy and how hard a table is. It shows nothing of
 * single rows, so that world and settings can be chosen by it without favouring a row. */
bool gb_noise_read(const char *folder, gb_noise *noise, gb_status *status);

#endif
