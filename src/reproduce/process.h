/* Processes of this program that are watched, several at once. */
#ifndef GABBRO_REPRODUCE_PROCESS_H
#define GABBRO_REPRODUCE_PROCESS_H

#include <gabbro/base.h>
#include <gabbro/os.h>

/* What is started. */
typedef struct repro_command {
    const char *program;      /* path; NULL: this program itself */
    const char *const *words; /* arguments behind the program's name, up to a NULL */
    const char *const
        *environment;  /* NAME=VALUE that it gets beside its parent's, up to a NULL; or NULL */
    bool catch_output; /* keep what it prints; else it goes where that of the parent goes */
    bool catch_errors; /* keep what it says on stderr */
} repro_command;

typedef struct repro_process {
    gb_os_process process; /* its id 0: none */
    int output;            /* pipe from its stdout, -1: none */
    int errors;            /* and from its stderr */
    gb_text printed;       /* so far */
    gb_text said;          /* so far */
    bool ended;            /* nothing more will come */
    int code;              /* exit code, or 128 and the signal that ended it */
} repro_process;
/* Starts it; it is asked to stop (SIGTERM) when this process dies. Free with repro_process_free. */
bool repro_process_start(repro_process *process, const repro_command *command, gb_status *status);
/* Asks it to stop, with the means to go on later. */
void repro_process_stop(const repro_process *process);
/* Takes what processes wrote, until one of them has ended, a signal came, or after so long. */
void repro_process_watch(repro_process *const *processes, size_t count, int max_ms);
/* Waits until all have ended; after a minute they are killed. */
void repro_process_wait_all(repro_process *const *processes, size_t count);
void repro_process_free(repro_process *process);
/* Prints what it said, without its device and its progress, which would mix with that of others. */
void repro_process_print_said(const gb_text *said);

/* True for the exit code 0. Otherwise it fails with the code, and with no text, for the process has
 * said why; but where it was ended before it could, the text says that of `name`, and the code is
 * one of gabbro's. */
bool repro_process_ok(const char *name, int code, gb_status *status);

/* Starts one and waits for its end. printed (may be NULL) gets what it printed, without the last
 * end of line. GB_INTERRUPTED when a signal asks to stop, after it was handed on. */
bool repro_process_run(const repro_command *command, gb_text *printed, int *code,
                       gb_status *status);

#endif
