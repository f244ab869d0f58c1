/* Inside the site: tables as read, chains of steps. */
#ifndef GABBRO_REPORT_SITE_H
#define GABBRO_REPORT_SITE_H

#include "gabbro/report.h"
#include "gabbro/store.h"

/* A result folder. */
typedef struct site_table {
    const char *folder; /* as given */
    json_t *root;       /* its table.json */
    char slug[96];      /* name in links, unique in the site */
    gb_store *store;    /* where its steps are, or NULL */
} site_table;

/* A step and all steps behind it, inputs before what needs them. */
typedef struct chain_step {
    char *name;  /* "<kind>-<key>" or "sha256:..." of a file */
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
double report_json_real_of(const json_t *object, const char *name); /* NAN when there is none */
/* Mean and deviation of this run's seeds times scale; NAN without any, sd NAN for one. */
double report_site_here(const json_t *here, double scale, double *sd);
/* What stands on top of every page: where one is. up: "" or "../". */
void report_site_begin(gb_text *out, const char *title, const char *up, const char *table_slug,
                       const char *table_title);

/* Pages of a table; false after a failure. */
bool report_site_table_page(const site_table *table, const char *out, gb_status *status);
/* claims.html: all claims of all tables. */
bool report_site_claims_page(const site_table *tables, size_t count, const char *out_dir,
                             gb_status *status);
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
