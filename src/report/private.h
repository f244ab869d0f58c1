/* Inside the report module. */
#ifndef GABBRO_REPORT_PRIVATE_H
#define GABBRO_REPORT_PRIVATE_H

#include "gabbro/report.h"

/* A file of tab-separated lines with a header; fields are found by the header's names. */
typedef struct tsv {
    gb_lines *lines;        /* the file */
    const char **wanted;    /* [count] names of the fields to give */
    const char *fields[16]; /* [count] fields of the current line, valid until the next */
    size_t places[16];      /* [count] place of each wanted field in a line */
    size_t count;           /* wanted fields */
    size_t width;           /* fields of the header line */
    char *copy;             /* the current line, cut at its tabs */
    size_t capacity;        /* bytes of copy */
} tsv;
bool report_tsv_open(tsv *file, const char *path, const char *const *wanted, size_t count,
                     gb_status *status);
int report_tsv_next(tsv *file, gb_status *status); /* 1, 0 at the end, -1 */
void report_tsv_close(tsv *file);

const char *report_copy(gb_arena *arena, const char *text, gb_status *status); /* copy; NULL: "" */
/* "qac/table1" -> tables_dir/folder/qac-table1<end> */
char *report_table_path(const char *tables_dir, const char *folder, const char *table,
                        const char *end, gb_status *status);
size_t report_spec_row(const gb_table_spec *spec, const char *key); /* by result key; SIZE_MAX */
size_t report_spec_column(const gb_table_spec *spec,
                          const char *name); /* by published name; SIZE_MAX */
/* Whether a list, with any of these characters between its words, has one. */
bool report_listed(const char *list, const char *separators, const char *word);
bool report_word_in(const char *words, const char *word); /* of a space-separated list */

/* ---- what tells nothing of a system ---- */

#define REPORT_CEILING .995 /* a value at its ceiling, as a share of the greatest possible one */
#define REPORT_CHANCE  .02  /* a row at chance is at most so much above a random order */

/* ---- results ---- */

/* Where the per-query values of a cell lie. */
typedef struct per_query {
    const char *path; /* TSV file */
    const char *name; /* its column, or NULL for the second one */
} per_query;

typedef struct result_cell {
    size_t row;         /* of the spec */
    const char *column; /* name as in the results */
    uint64_t seed;      /* of training */
    double value;       /* fraction */
    double chance;      /* what a random order scores there, fraction; NAN: not known */
    per_query queries;  /* path NULL: none */
} result_cell;

typedef struct result_row {
    size_t row;       /* of the spec */
    uint64_t seed;    /* of training */
    int8_t converged; /* 1, 0, -1 */
    const char *step; /* evaluation step */
} result_row;

/* A results file as read. */
typedef struct results {
    json_t *header;                        /* first line; owned */
    result_cell *cells;                    /* [cell_count] */
    size_t cell_count;                     /* values */
    size_t cell_capacity;                  /* allocated */
    result_row *rows;                      /* [row_count] one a row and seed */
    size_t row_count;                      /* rows */
    size_t row_capacity;                   /* allocated */
    gb_text dropped;                       /* see note_dropped; sets, with blanks between */
    const char *device, *driver, *kernels; /* of the first evaluation that has them, or "" */
} results;
bool report_results_read(const char *path, const gb_table_spec *spec, gb_arena *arena, results *out,
                         gb_status *status);
void report_results_free(results *read);
/* Per-query values of two cells for the queries that both have, in order of the ids; free both. */
bool report_results_pair(const per_query *a, const per_query *b, double **va, double **vb,
                         size_t *count, gb_status *status);

enum { GB_MOST_COLUMNS = 64 };
/* Column of the report that a result fills, or SIZE_MAX. */
size_t report_column_of(const gb_report *report, const char *name);
/* Adds a column Judged@10 for each split that a column is measured on. */
bool report_judged_add(gb_report *report, const results *read, gb_status *status);
/* Columns without those: what is recorded, judged, and has published values. */
size_t report_table_columns(const gb_report *report);
/* What stands above a column where there is room: of one that is made from results its name. */
const char *report_column_heading(const gb_report *report, size_t column);
/* Whether a pattern "beir-*:nDCG@10" (gb_matches) names a column that is no mean or gain of others.
 */
bool report_column_like(const gb_spec_column *column, const char *pattern);
/* Columns "gain:COLUMN": how far a row is above the table's first one that is obtained. */
void report_fill_gains(const gb_report *report, const gb_seed_runs *runs);
gb_seed_run *report_seed_run_get(gb_report *report, gb_seed_runs *runs, uint64_t seed,
                                 gb_status *status);
const gb_seed_run *report_seed_run_find(const gb_seed_runs *runs, uint64_t seed);
double report_run_value(const gb_report *report, const gb_seed_run *run, size_t row, size_t column);
bool report_claims_judge(gb_report *report, gb_status *status); /* fills report->judgements */
bool report_recorded_read(gb_report *report, const char *tables_dir, gb_status *status);

/* ---- what the forms share ---- */

typedef enum here_mark {
    HERE_NONE,   /* nothing to compare with */
    HERE_EQUAL,  /* the same bits as the recorded run of this seed */
    HERE_WITHIN, /* within the spread of the recorded seeds */
    HERE_BEYOND, /* outside of it */
} here_mark;

/* Seeds with a value. */
typedef struct moments {
    size_t count;    /* how many */
    double mean, sd; /* of them; sd NAN for one */
} moments;

/* All about one cell, in the unit shown. */
typedef struct shown {
    const gb_cell *published; /* NULL: none */
    moments recorded;         /* recorded seeds with a value */
    moments here;             /* seeds of this run with a value */
    here_mark mark;           /* this run's (first) seed against the recorded ones */
    gb_cell_verdict verdict;  /* paper scale only */
} shown;
void report_shown_cell(const gb_report *report, size_t row, size_t column, shown *out);
/* Whether a table has the row: not where nothing was obtained (recorded or here) of one that is
 * ours alone, or on a collection of one's own. */
bool report_row_shown(const gb_report *report, size_t row);
/* "did not converge here, 2/5 recorded; below the baseline; +2.4 nDCG@10 against the encoder as it
 * is ...", or "". Appended to an empty text. */
void report_row_note(const gb_report *report, size_t row, gb_text *out);
char report_mark_char(here_mark mark); /* '=', '~', '!' or ' ' */
/* How a form writes the rows of the table: the head of a group where one begins, and each row. */
typedef struct row_writer {
    void (*group)(const gb_report *report, const char *name, gb_text *out);
    void (*row)(const gb_report *report, size_t row, gb_text *out);
} row_writer;
/* Writes all rows that are shown, in order. */
void report_write_rows(const gb_report *report, const row_writer *writer, gb_text *out);
/* Text as it stands, in a table of Markdown or outside of one. */
void report_markdown_escaped(gb_text *out, const char *text);
/* Mean and, of several seeds, `between` and the deviation; nothing of no seeds. */
void report_moments_text(const moments *m, int digits, const char *between, gb_text *out);
/* What stands behind this run's mean: how it compares with the records, and the verdict. */
void report_here_text(const shown *cell, gb_text *out);
/* " (needs 4 more seeds)" behind an undecided verdict, by its more_seeds. */
void report_more_seeds_text(long long more, gb_text *out);
/* "supported", "undecided (needs 4 more seeds)" ... */
void report_verdict_text(const gb_judgement *judgement, gb_text *out);
/* The value, or 0 where it would print as -0.0. */
double report_no_minus_zero(double value, int decimals);
/* Text, signed difference, text; a difference that rounds to zero has no sign. */
void report_difference_text(gb_text *out, const char *before, double difference, int decimals,
                            const char *behind);
bool report_claim_has_left(const gb_claim *claim, size_t row);
/* Which of a claim's differences its judgement shows, " (least of 5: ICT)", " (the deciding one of
 * 5: ICT)"; nothing of one alone. */
void report_comparison_text(const gb_judgement *judgement, gb_text *out);
/* What one must know of a verdict: "not compared: ...; did not converge: ...; given: ...", or "".
 */
void report_caution_text(const gb_claim *claim, const gb_judgement *judgement, gb_text *out);
/* A line of the table of claims. */
typedef struct claim_line {
    gb_text paper;    /* difference that the paper prints */
    gb_text mean;     /* difference here */
    gb_text interval; /* of it, and the margin */
    gb_text query_p;  /* over queries */
    gb_text caution;  /* see report_caution_text */
} claim_line;
/* The line of a claim, by its number; free with report_claim_line_free. */
void report_claim_line_of(const gb_report *report, size_t index, claim_line *line);
void report_claim_line_free(claim_line *line);
/* Digits to show for the differences of a claim. */
int report_claim_decimals(const gb_report *report, const gb_claim *claim);
/* What the report is about: the table's title, or whose collection its systems ran on. */
void report_title_text(const gb_report *report, gb_text *out);
/* Paragraphs of the report in plain words: how to read it. */
size_t report_reading_lines(const gb_report *report, const char *lines[8]);
/* "TABLE, SOURCE. Scale ..., collection .... This run: ...; recorded: ...." */
void report_origin_text(const gb_report *report, gb_text *out);
/* Device, driver and kernels of this run between two texts; nothing where they are not known. */
void report_device_text(const gb_report *report, const char *before, const char *behind,
                        gb_text *out);
/* "seed 42" or "5 seeds (42 43 44 45 46)" */
void report_seeds_text(const gb_seed_runs *runs, gb_text *out);
/* The same of the recorded results, or why there are none. */
void report_recorded_text(const gb_report *report, gb_text *out);
bool report_deviation_applies(const gb_report *report, const gb_deviation *deviation);
/* What table.json has; NULL: memory was short. The caller calls json_decref. */
json_t *report_table_json(const gb_report *report);
/* How many cells of this run equal the recorded run of its seed, and so on. */
typedef struct compared {
    size_t equal, within, beyond; /* cells */
} compared;
compared report_compare_all(const gb_report *report);

#endif
