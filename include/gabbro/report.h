/* Report module: published numbers and claims as data, results of runs, recorded results of many
 * seeds, verdicts, the table in several forms, and the site. Stands on base, store and retrieve
 * (significance). The data files are described in tables/README.md. */
#ifndef GABBRO_REPORT_H
#define GABBRO_REPORT_H

#include <gabbro/store.h>

#include <stdio.h>

/* ---- a table as data --------------------------------------------------------------------------
 */

typedef enum gb_row_role {
    GB_ROW_QUOTED,   /* quoted in the paper, not obtained here */
    GB_ROW_BASELINE, /* quoted in the paper, obtained here */
    GB_ROW_TRAINED,  /* trained in the paper and here */
    GB_ROW_EXTRA,    /* ours alone */
} gb_row_role;

/* Strings are "" when the file has nothing; they live as long as the spec. */
typedef struct gb_spec_row {
    const char *key;       /* name in results, "" for rows that are only quoted */
    const char *published; /* "row @ group" in the published table, "" for extra rows */
    const char *group;     /* heading it stands under */
    const char *label;     /* as shown */
    gb_row_role role;      /* see above */
} gb_spec_row;

typedef struct gb_spec_column {
    const char *name;     /* "<set>:<measure>" as published */
    const char *obtained; /* names in results that fill it, separated by spaces */
    const char *header;   /* short heading */
    const char *label;    /* long heading */
    double scale;         /* obtained fractions times this are in the unit shown (100: percent) */
    int decimals;         /* digits shown */
} gb_spec_column;

typedef struct gb_cell {
    bool present;       /* the paper prints a value */
    double value;       /* as printed, in its unit */
    int decimals;       /* printed decimals */
    const char *marks;  /* the paper's marks */
    const char *status; /* ok, corrected, doubtful */
    const char *note;   /* why */
} gb_cell;

/* What a claim says of its rows: see docs/design/verdicts.md. */
typedef enum gb_claim_kind {
    GB_CLAIM_ABOVE,     /* "gt": every left above every right */
    GB_CLAIM_BELOW,     /* "lt": every left below every right */
    GB_CLAIM_BEST,      /* "best": as "gt", or "lt" where lower is better */
    GB_CLAIM_NOT_BELOW, /* "ge:E": no left below a right by E or more */
    GB_CLAIM_NEAR,      /* "near:E": every left and right differ by less than E */
    GB_CLAIM_RISING,    /* "order:E": left, right, right ... never falls by E or more */
    GB_CLAIM_FALLING,   /* "not-order": it falls somewhere */
    GB_CLAIM_PAIRS,     /* "each": the first left above the first right, the second ... */
    GB_CLAIM_MEANS,     /* "mean": the mean of the lefts above the mean of the rights */
    GB_CLAIM_WINS,      /* "wins:N": left above right in N of the columns, or more */
} gb_claim_kind;

typedef struct gb_claim_rule {
    gb_claim_kind kind; /* see above */
    double margin;      /* E, in the column's unit, or as a share of the right value */
    bool relative;      /* a share: "near:2.4%" has a margin of .024 */
    uint32_t wins;      /* N of "wins:N" */
} gb_claim_rule;
/* False for a text that is no kind of claim. */
bool gb_claim_rule_parse(const char *text, gb_claim_rule *rule);

typedef struct gb_claim {
    const char *id;        /* "qac-02" */
    const char *kind;      /* "gt", "near:2.4%", "wins:13" ... */
    gb_claim_rule rule;    /* the same, read */
    const char *column;    /* published column, or a pattern of several ("beir-*") */
    const char *statement; /* in words */
    const char *given;     /* "assumption: WHY", "construction: WHY", or "" */
    const char *where;     /* place of the sentence in the paper */
    size_t *sides;         /* [count] rows of the spec: the lefts, then the rights */
    size_t lefts;          /* of them left */
    size_t count;          /* lefts and rights */
    double printed_delta;  /* difference that the paper states, NAN when it does not */
    bool holds;            /* the paper's own cells satisfy it, or it has none to ask */
} gb_claim;

typedef struct gb_deviation {
    const char *id, *topic; /* number and subject */
    const char *paper;      /* what the paper did */
    const char *here;       /* what is done here */
    const char *why;        /* the reason */
    const char *scales;     /* where it applies */
} gb_deviation;

/* Everything that tables/ says of one table. */
typedef struct gb_table_spec {
    gb_arena *arena;          /* owns all below */
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
    gb_deviation *deviations; /* [deviation_count] that name this table */
    size_t deviation_count;   /* deviations */
} gb_table_spec;
gb_table_spec *gb_table_spec_load(const char *tables_dir, const char *name, gb_status *status);
void gb_table_spec_free(gb_table_spec *spec);
/* Folder of the table data: `given` (--tables) when not NULL, $GABBRO_TABLES, tables/ of the source
 * tree that the binary was built in, share/gabbro/tables beside the binary's bin/, the installed
 * place. Caller frees. */
char *gb_tables_find(const gb_config *config, const char *given, gb_status *status);

/* ---- verdicts ---------------------------------------------------------------------------------
 */

typedef enum gb_verdict {
    GB_NOT_JUDGED,   /* see the reason */
    GB_UNDECIDED,    /* the interval holds zero, or fewer than three seeds */
    GB_SUPPORTED,    /* the interval lies above zero */
    GB_CONTRADICTED, /* the interval lies below zero */
} gb_verdict;

#define GB_MIN_SEEDS 3 /* fewer decide nothing */

/* One difference that a claim is about: the mean of some sides less the mean of others. */
typedef struct gb_comparison {
    size_t above, above_count; /* first side expected above, and how many stand together */
    size_t below, below_count; /* the same of those expected below */
    size_t right;              /* the side that a relative margin is a share of */
} gb_comparison;
/* The comparisons of a rule about `count` sides, the first `lefts` of them left, within one column.
 * Returns how many; `out` (NULL: count alone) has room for that many. */
size_t gb_claim_comparisons(const gb_claim_rule *rule, size_t lefts, size_t count,
                            bool lower_is_better, gb_comparison *out);
/* How many of so many comparisons must hold: one of "falls somewhere", N of "wins:N", else all. */
size_t gb_claim_needs(const gb_claim_rule *rule, size_t comparisons);
/* Its difference for the sides' values, positive as claimed; `margin` gets what it may fall short
 * by. */
double gb_comparison_difference(const gb_comparison *comparison, const gb_claim_rule *rule,
                                const double *values, double *margin);

/* Verdict over seeds. Differences are positive in the claimed direction. */
typedef struct gb_judgement {
    gb_verdict verdict;   /* see above */
    const char *reason;   /* why it was not judged, or "" */
    const char *left_out; /* rows and columns that were not compared, and why, or "" */
    const char *weak;     /* rows that did not converge, or "" */
    const char *shown_as; /* the comparison shown, "SEED", or "" where there is one alone */
    size_t seeds;         /* differences of each comparison */
    size_t comparisons;   /* of the claim */
    size_t needed;        /* of them must hold */
    size_t shown;         /* the one that decides: the `needed`th by its mean, greatest first */
    double margin;        /* by which that one may fall short; 0: it must be above */
    double mean;          /* its mean difference; NAN without any */
    double sd;            /* of those differences, n - 1 in the denominator; NAN for one */
    double low, high;     /* see gb_judge; NAN for one */
    uint32_t more_seeds;  /* undecided: further seeds that would probably decide; 0: no telling */
    size_t unconverged;   /* seeds in which a row of the claim did not converge */
    double query_p;       /* paired t-test over the queries of the run's first seed; NAN: none */
    size_t queries;       /* of that test */
} gb_judgement;
/* Judges "at least `needed` of the comparisons' means are above zero" from differences
 * [c * stride + seed] of n seeds, margins already added. `low` is the needed-th greatest lower end
 * of the comparisons' t-intervals, `high` the needed-th greatest upper end; supported where low >
 * 0, contradicted where high < 0. Each of the two is wrong in at most 2.5% of cases (Bonferroni
 * over the comparisons of which one must err: a lower end has probability .025 / (comparisons -
 * needed + 1) of lying above its mean, an upper end .025 / needed of lying below; where all must
 * hold the lower ends are those of plain 95% intervals, an intersection-union test). */
bool gb_judge(const double *differences, size_t stride, size_t n, size_t comparisons, size_t needed,
              gb_judgement *judgement, gb_status *status);
/* Fills more_seeds: with so many more a t-test finds differences like these with probability .8
 * (gb_seeds_needed), in as many comparisons as decide the claim. */
bool gb_judge_more_seeds(const double *differences, size_t stride, size_t n,
                         gb_judgement *judgement, gb_status *status);
#define GB_MOST_SIDES 64 /* rows of a claim */
/* Losses and times; every other measure is better when higher. */
bool gb_lower_is_better(const char *column);
/* Whether a column's greatest possible value is 1: not of losses, times and gains. */
bool gb_has_ceiling(const char *column);

/* A row against the encoder it was trained from, over the queries of the run's first seed, in one
 * column. */
typedef struct gb_against {
    double difference; /* mean; positive: the row is above */
    double p;          /* paired t-test, two-sided */
    size_t queries;    /* of it; 0: there is nothing to compare */
} gb_against;

typedef enum gb_cell_verdict {
    GB_CELL_NONE,
    GB_CELL_OK,
    GB_CELL_HIGH,
    GB_CELL_LOW
} gb_cell_verdict;
/* A published value (one run, printed with `decimals`) against the mean of n seeds with deviation
 * sd, all in the same unit: the 95% prediction interval for one more run, t sd sqrt(1 + 1/n), but
 * at least `least`, plus half a unit of the last printed digit. NONE for n < 2. */
gb_cell_verdict gb_judge_cell(double published, int decimals, double mean, double sd, size_t n,
                              double least);
const char *gb_cell_verdict_text(gb_cell_verdict verdict); /* "[OK]", "[HIGH]", "[LOW]", "" */

/* ---- results ----------------------------------------------------------------------------------
 */

/* Results are JSON lines. The first says what was run:
 *   {"table": "qac/table1", "scale": "mini", "collection_kind": "world",
 *    "collection": "<folder of a step, or a name>", "settings": {...}, "recipe": "<sum of
 *    the table's commands>", "times": {...}}
 * (collection_kind: "world" the built-in one, "paper" the paper's, "own" any other).
 * The others give rows, either by the folders of an evaluation and of the model behind it
 *   {"row": "cotmae-query-r1", "seed": 42, "evaluation": "<folder>", "model": "<folder>"}
 * or value by value
 *   {"row": ..., "seed": ..., "column": "msmarco-dev:MRR@10", "value": 0.43, "converged": true,
 *    "queries": 1500, "per_query": "<TSV file: id, value>", "step": "evaluate-..."}
 * An evaluation's metrics.json maps columns to a number or to {"value", "queries", "per_query":
 * "<file in the folder>", "name": "<column of that file>"}; for a plain number the file is
 * per-query/<set>.tsv and the name the measure. Whether training converged is "converged" in the
 * facts of the model's run.json. An evaluation on another set of the world has "set": its columns
 * are then named "<set>/<column>"; set "before" is what the encoder of the row has before any
 * fine-tuning. Paths may be relative to the results file. Values are fractions.
 * "device", "driver" and "kernels" may stand in the first line; else they come from the run.json of
 * the evaluations. */

/* One seed of a table, over the rows of the spec and the columns of the report. */
typedef struct gb_seed_run {
    uint64_t seed;       /* of training */
    double *values;      /* [rows, columns] fractions; NAN: none */
    int8_t *converged;   /* [rows] 1 yes, 0 no, -1 not known */
    const char **steps;  /* [rows] name of the evaluation step, or "" */
    const char *device;  /* what it ran on */
    const char *driver;  /* of the device */
    const char *kernels; /* hash of the kernel set */
} gb_seed_run;

typedef struct gb_seed_runs {
    gb_seed_run *items; /* by ascending seed */
    size_t count;       /* seeds */
    size_t capacity;    /* seeds allocated */
} gb_seed_runs;

typedef struct gb_report_params {
    const char *tables_dir; /* gb_tables_find */
    const char *table;      /* "qac/table1" */
    const char *scale;      /* "mini", "small", "paper" */
    const char *results;    /* JSON lines file */
} gb_report_params;

/* Everything the four forms of a table show. */
typedef struct gb_report {
    gb_table_spec *spec;         /* owned */
    gb_arena *arena;             /* owns strings and arrays below */
    const char *scale;           /* "mini" */
    const char *collection_kind; /* "world", "paper" or "own" */
    bool own_collection;         /* "own": nothing published stands beside it */
    const char *collection;      /* name of the collection, with its size where known */
    const char *collection_id;   /* identity that recorded results must share */
    const char *generator;       /* who wrote the generated queries, or "" */
    const char *notes;           /* what was done to the collection at import, sentences, or "" */
    json_t *settings;            /* of the scale, owned; NULL: not told */
    const char *recipe;          /* sum of the table's commands and their options, or "" */
    json_t *times;               /* passed on, owned; NULL: none */
    gb_spec_column *columns;     /* [column_count] shown; the spec's, or made from the results */
    size_t column_count;         /* columns shown */
    double *chance;              /* [column_count] what a random order scores; NAN: not known */
    gb_seed_runs here;           /* this run, items owned by the arena */
    gb_seed_runs recorded;       /* recorded results, when they fit this run */
    char recorded_note[240];     /* why there are none, or "" */
    gb_judgement *judgements;    /* [spec->claim_count] */
    gb_against *against;         /* [spec->row_count]; NULL without a row of the encoder itself */
    size_t against_column;       /* where: nDCG@10 if it is shown, else the first */
} gb_report;
gb_report *gb_report_build(const gb_report_params *params, gb_status *status);
void gb_report_free(gb_report *report);

/* Adds the seeds of this run to tables_dir/recorded/<table>.<scale>.json, replacing those it has.
 * Results made with other settings or another collection are refused. */
bool gb_report_record(const gb_report *report, const char *tables_dir, gb_status *status);

/* The forms, appended to out. The same report always gives the same bytes; only the JSON's "times"
 * differ between equal runs. */
void gb_report_text(const gb_report *report, gb_text *out); /* at most 112 columns, ASCII */
void gb_report_markdown(const gb_report *report, gb_text *out);
void gb_report_html(const gb_report *report, gb_text *out); /* one file, no scripts */
bool gb_report_json(const gb_report *report, gb_text *out, gb_status *status);
void gb_report_csv(const gb_report *report, gb_text *out);   /* one line a cell, RFC 4180 */
void gb_report_latex(const gb_report *report, gb_text *out); /* a tabular, no packages needed */
/* table.md, table.json, table.html, table.csv, table.tex in a folder. */
bool gb_report_write(const gb_report *report, const char *folder, gb_status *status);

/* ---- the site ---------------------------------------------------------------------------------
 */

typedef struct gb_site_params {
    const char *const *folders; /* [count] with the table.json of gb_report_write, or a figure */
    size_t count;               /* folders */
    const char *store;          /* root of the run store; NULL: where results.jsonl says */
} gb_site_params;

/* A static site in `out`: index.html (verdicts by paper, tables, figures), a page a table, and for
 * every row a page that tells of each of its cells where the value came from: commands, settings,
 * inputs and outputs with their hashes, devices, times, training curves. Links are relative,
 * nothing needs scripts or a server. Folders of figures (a coverage.html, tsne.html or figure.html)
 * are copied. */
bool gb_site_write(const gb_site_params *params, const char *out, gb_status *status);

/* ---- two runs of a table ---- */

/* Print the cells of two folders of gb_report_write side by side, with their differences and where
 * B's lie among the recorded results. GB_USAGE where they are of two tables. */
bool gb_compare_tables(const char *a, const char *b, FILE *out, gb_status *status);

/* ---- noise ------------------------------------------------------------------------------------
 */

enum { GB_NOISE_COLUMNS = 64 };

/* One column over all trained rows of a table, whoever they are; fractions. */
typedef struct gb_noise_column {
    char name[96];          /* "msmarco-dev:MRR@10" */
    size_t values;          /* rows and seeds */
    double least, greatest; /* mean of a row over its seeds */
    double sd;              /* between seeds of a row, over all rows; NAN where all have one seed */
    size_t at_ceiling;      /* values of .995 or more */
    size_t at_floor;        /* values of no more than two points above what a random order scores */
} gb_noise_column;

typedef struct gb_noise {
    size_t rows;                               /* that are trained */
    size_t runs, converged;                    /* of them, a row and seed each */
    gb_noise_column columns[GB_NOISE_COLUMNS]; /* [column_count] shares only */
    size_t column_count;                       /* columns */
} gb_noise;
/* Of the run in a folder's table.json: what a choice of world and settings may look at. */
bool gb_noise_read(const char *folder, gb_noise *noise, gb_status *status);

#endif
