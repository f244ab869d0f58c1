/* Making tables: their artifacts, then their results and reports. */
#ifndef GABBRO_REPRODUCE_RUN_H
#define GABBRO_REPRODUCE_RUN_H

#include "schedule.h"
#include "session.h"

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
    bool made;            /* one at least was made now, not found */
} repro_progress;
/* One of the artifacts to be made. */
void repro_progress_expect(repro_progress *progress, const repro_node *node);
/* It is there, and took so long when it was made; its command took so long now. */
void repro_progress_note(repro_progress *progress, const repro_node *node, double seconds,
                         double now_seconds);
/* "37 of 861 artifacts, about 110 minutes left", where so many are made at once. Artifacts of a
 * kind take as long as each other. Kinds of training that were not made yet count by their texts,
 * as those that were, other kinds as the mean of all. Until the first pre-training was made, no
 * time is given where one is left: what is quick comes first. Nor is one until an artifact was made
 * now: of those in the store it is not known how many there are. */
void repro_progress_text(const repro_progress *progress, uint32_t jobs, char text[96]);
/* Artifacts that are made, of all. */
void repro_progress_count(const repro_progress *progress, size_t *made, size_t *all);
/* Seconds that an artifact of a node's kind took on average; NAN: none was made here. */
double repro_progress_usual(const repro_progress *progress, const repro_node *node);

/* ---- what is made ---- */

/* One of the tables being made. */
typedef struct repro_making {
    const repro_entry *entry; /* which */
    repro_table table;        /* what its recipe declared */
    const char *out;          /* folder of its results */
    int code;                 /* exit code of what failed, 0: nothing did */
    bool finished;            /* its results are written */
} repro_making;

typedef struct repro_page repro_page;
/* What is being made. */
typedef struct repro_work {
    const repro_session *session; /* of the call */
    repro_graph *graph;           /* of all tables */
    repro_making *makings;        /* [count] in the order in which they are made */
    size_t count;                 /* tables */
    size_t alone;            /* of them, the first ones, measure times: nothing runs beside them */
    repro_schedule schedule; /* of the graph */
    repro_progress progress; /* of all artifacts */
    repro_page *page;        /* that shows it, or NULL */
} repro_work;
/* Makes the table of the session, or all. */
bool repro_run(const repro_session *session, gb_status *status);

/* A number of the record of an artifact (run.json), or of another file of its folder: the first
 * that has this name. False where there is none. */
bool repro_record_number(const char *folder, const char *file, const char *name, double *value);

/* ---- results ---- */

/* Whether what a result names has been measured. */
bool repro_result_done(const repro_result *result);
/* Writes the lines of results.jsonl of what is done of a table. */
bool repro_results_lines(const repro_session *session, const repro_table *table, const char *path,
                         gb_status *status);
/* Whether results can be written to a folder: better now than after the training. */
bool repro_results_check(const char *out, gb_status *status);
/* Writes results.jsonl of a finished table to a folder and has it reported. seconds:
 * that its making took. */
bool repro_results_finish(const repro_session *session, const repro_table *table, const char *out,
                          int64_t seconds, gb_status *status);
/* A site of what lies in these folders. */
bool repro_results_site(const repro_session *session, const char *const *folders, size_t count,
                        gb_status *status);
/* Prints how many claims of a paper came out how, of its tables in these folders. */
void repro_results_summary(const char *paper, const char *const *folders, size_t count);
/* Prints what is behind a row of the results in the session's folder. */
bool repro_explain(const repro_session *session, gb_status *status);

/* ---- the page that follows ---- */

#define REPRO_PAGE_RUNNING "running"
#define REPRO_PAGE_STOPPED "stopped: nobody writes this page any more; the same command goes on"
/* A page of a run, progress.html in the folder of its results; NULL: memory was short. */
repro_page *repro_page_open(const repro_work *work);
/* Writes it anew where it is time; news: something is done. */
void repro_page_update(repro_page *page, bool news);
/* Writes how it ended, and frees. NULL ok. */
void repro_page_close(repro_page *page, const gb_status *status);

#endif
