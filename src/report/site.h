/* Inside the site: tables as read, chains of steps. */
#ifndef GABBRO_REPORT_SITE_H
#define GABBRO_REPORT_SITE_H

#include "gabbro/report.h"
#include "gabbro/store.h"

/* A result folder. */
typedef struct site_table {
    const char *folder; /* as given */
    json_t *root;       /* its table.json */
    char slug[96];      /* name in links, unique in the site; "": a page alone, without links */
    gb_store *store;    /* where its steps are, or NULL */
} site_table;

/* A step and all steps behind it, inputs before what needs them. */
typedef struct chain_step {
    char *name;  /* "<kind>-<key>"; files that it was made of are none */
    char *path;  /* its folder, NULL when it is not in the store */
    json_t *run; /* its run.json, or NULL */
} chain_step;
typedef struct chain {
    chain_step *steps; /* [count] */
    size_t count;      /* steps */
    size_t capacity;   /* allocated */
} chain;
bool report_chain_add(chain *all, gb_store *store, const char *name, gb_status *status);
void report_chain_free(chain *all);
/* "gabbro finetune --init STORE/pretrain-... --batch 16 ..."; paths as words of the shell. */
void report_chain_command(const chain_step *step, gb_text *out);

/* Letters, digits, '.', '_' and '-' of text, '-' for the rest. */
void report_site_slug(const char *text, char *slug, size_t size);
/* Of a row's name; "" of a row without results, which has no page. */
void report_site_row_slug(const json_t *row, char *slug, size_t size);
bool report_site_row_ran(const json_t *row); /* whether it has values besides recorded ones */
double report_json_real_of(const json_t *object, const char *name); /* NAN when there is none */
/* Mean and deviation of this run's seeds times scale; NAN without any, sd NAN for one. */
double report_site_here(const json_t *here, double scale, double *sd);
/* What stands on top of every page: where one is. up: "" or "../". */
void report_site_begin(gb_text *out, const char *title, const char *up, const char *table_slug,
                       const char *table_title);

/* ---- claims ---- */

/* The class of a number of claims with a verdict. */
const char *report_site_count_class(gb_verdict verdict, size_t count);
bool report_site_same_scale(const site_table *a, const site_table *b);
enum { SITE_TITLE = 128 };
/* The tables of[0 .. *of_count) of the paper and scale that table `first` is of, and their title,
 * which names another scale than that of the site's first table; false where an earlier table is of
 * the same paper and scale. of: room for `count`. */
bool report_site_paper(const site_table *tables, size_t count, size_t first, size_t *of,
                       size_t *of_count, char title[SITE_TITLE]);
/* The front page's claims. */
bool report_site_forest(const site_table *tables, size_t count, gb_text *out, gb_status *status);

/* ---- intervals as drawings ---- */

typedef struct site_bar {
    double mean, low, high; /* low and high NAN: no interval */
    double published;       /* the same of the paper; NAN: none */
    double margin;          /* of a claim */
    double range[2];        /* shown */
    int digits;             /* of numbers in the text alternative */
} site_bar;
/* Mean and interval of a cell, with a stroke at the published value. Nothing without an interval.
 */
void report_site_cell_bar(const site_bar *bar, gb_text *out);
/* Difference and interval of a claim beside zero, with a stroke at the paper's difference. */
void report_site_claim_bar(const site_bar *bar, const char *verdict, gb_text *out);
/* What stands above claims: numbers of the range. */
void report_site_axis(const double range[2], gb_text *out);
void report_site_range(double most, double range[2]); /* round numbers around -most .. most */
/* Difference, interval and margin of a claim in the unit of its table, times the factor. */
site_bar report_site_claim_difference(const site_table *table, const json_t *claim, double factor);
/* The same as cells of a table: the paper's difference, the mean, and its interval with the margin.
 */
void report_site_claim_numbers(const json_t *claim, const site_bar *bar, gb_text *out);
/* What the difference of a claim counts that is not in points: "MLM-loss" of "mlm-eval:MLM-loss".
 */
const char *report_site_claim_unit(const json_t *claim);
/* Difference and interval of a claim, in points; false, and in the unit of its column, where that
 * is no share. */
bool report_site_claim_points(const site_table *table, const json_t *claim, site_bar *bar);

/* ---- pages ---- */

/* The content of a table's page. Links lead to rows and files where the table has a slug. */
void report_site_table_content(const site_table *table, gb_text *out);
/* The training curves of all rows of a table. */
bool report_site_table_curves(const site_table *table, const char *out_dir, gb_text *out,
                              gb_status *status);
/* Pages of a table; false after a failure. */
bool report_site_table_page(const site_table *table, const char *out, gb_status *status);
/* claims.html: all claims of all tables. */
bool report_site_claims_page(const site_table *tables, size_t count, const char *out_dir,
                             gb_status *status);
/* What others sent, the files *.json of a folder in the order of their names: an array, the
 * caller's. NULL and GB_DATA for a file that is not as it was written. */
json_t *report_seen_read(const char *folder, gb_status *status);
/* devices.html: what others sent, the files *.json of a folder (NULL: none); *written tells whether
 * there are any. */
bool report_site_seen_page(const char *folder, const char *out_dir, bool *written,
                           gb_status *status);
/* A claim's verdict with its reason and what one must know of it, for a cell. */
void report_site_verdict(const json_t *claim, gb_text *out);
bool report_site_row_page(const site_table *table, const json_t *row, const char *out,
                          gb_status *status);
/* curves/<step>.svg of a step with losses.tsv; *drawn tells whether there is one. */
bool report_site_curve(const chain_step *step, const char *out, bool *drawn, gb_status *status);

#endif
