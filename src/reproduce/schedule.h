/* Making the artifacts of a graph by processes, several at once. */
#ifndef GABBRO_REPRODUCE_SCHEDULE_H
#define GABBRO_REPRODUCE_SCHEDULE_H

#include "graph.h"
#include "process.h"

enum { REPRO_MAX_JOBS = 64 };

/* A process that makes an artifact. */
typedef struct repro_job {
    repro_node *node;      /* that it makes; NULL: the slot is free */
    repro_process process; /* that does it */
    double begun_s;        /* when it was started */
} repro_job;

typedef struct repro_schedule {
    repro_graph *graph;       /* whose nodes are made */
    bool *needed;             /* [nodes] those that are to be made; may change between calls */
    const char *program;      /* that is run; NULL: this one */
    const char *const *flags; /* that every command gets, up to a NULL */
    const char *const *environment; /* that every process gets, up to a NULL; or NULL */
    uint32_t jobs;                  /* slots: processes at once */
    const char *threads;       /* LP_NUM_THREADS=N of a process beside others; NULL: as it is */
    const char *threads_alone; /* of one that runs alone */
    /* Called before a process starts where there is one slot, whose progress is its own. */
    void (*begin)(void *context, const repro_node *node);
    /* Called when an artifact is there, after so many seconds, with what its process said. */
    bool (*done)(void *context, repro_node *node, double seconds, const gb_text *said,
                 gb_status *status);
    void *context;                   /* of both */
    repro_job slots[REPRO_MAX_JOBS]; /* [jobs] */
    double ask_again_s;              /* when what others make is asked for again */
} repro_schedule;

/* Starts what can start, in the order of the graph, and waits until an artifact is there, a process
 * failed, or for a second. Where there are several slots an artifact that somebody else makes is
 * left for later, and what needs it. *failed gets a node whose process failed, NULL: none; *code
 * its exit code. False for GB_INTERRUPTED, when a signal asked to stop or a process was stopped by
 * one. */
bool repro_schedule_advance(repro_schedule *schedule, repro_node **failed, int *code,
                            gb_status *status);
/* Stops processes whose artifacts are not needed any more, and waits for them. */
void repro_schedule_trim(repro_schedule *schedule);
/* Stops all and waits for them: they can be resumed. */
void repro_schedule_stop(repro_schedule *schedule);

#endif
