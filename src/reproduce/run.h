/* Making tables: their artifacts, then their results and reports. */
#ifndef GABBRO_REPRODUCE_RUN_H
#define GABBRO_REPRODUCE_RUN_H

#include "schedule.h"
#include "session.h"

/* Makes the table of the session, or all. */
bool repro_run(const repro_session *session, gb_status *status);

/* A number of the record of an artifact (run.json), or of another file of its folder: the first
 * that has this name. False where there is none. */
bool repro_record_number(const char *folder, const char *file, const char *name, double *value);

/* ---- results ---- */

/* Whether results can be written to a folder: better now than after the training. */
bool repro_results_check(const char *out, gb_status *status);
/* Writes results.jsonl of a finished table to a folder and has it reported. sum: of its recipe;
 * seconds: that its making took. */
bool repro_results_finish(const repro_session *session, const repro_table *table, const char *out,
                          const char *sum, int64_t seconds, gb_status *status);
/* A site of what lies in these folders; those of tables that failed have nothing to show. */
bool repro_results_site(const repro_session *session, const char *const *folders, size_t count,
                        gb_status *status);
/* Prints how many claims of a paper came out how, of its tables in these folders. */
void repro_results_summary(const char *paper, const char *const *folders, size_t count);
/* Prints what is behind a row of the results in the session's folder. */
bool repro_explain(const repro_session *session, gb_status *status);

/* ---- how far ---- */

/* Kinds of artifacts, how many there are and were made, and what that took. */
typedef struct repro_kind {
    char name[64];      /* "finetune", "pretrain-cotmae" */
    size_t total, made; /* artifacts */
    double texts;       /* that each sees on average */
    double seconds;     /* that the made ones took */
} repro_kind;

typedef struct repro_progress {
    repro_kind kinds[64]; /* [count] */
    size_t count;         /* of them */
} repro_progress;
/* One of the artifacts to be made. */
void repro_progress_expect(repro_progress *progress, const repro_node *node);
/* It is there, and took so long when it was made. */
void repro_progress_note(repro_progress *progress, const repro_node *node, double seconds);
/* "37 of 861 steps, about 110 minutes left", where so many are made at once. Artifacts of a kind
 * take as long as each other. Kinds of training that were not made yet count by their texts, as
 * those that were, other kinds as the mean of all. */
void repro_progress_text(const repro_progress *progress, uint32_t jobs, char text[96]);

#endif
