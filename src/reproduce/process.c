/* Starting and watching processes. */
#include "process.h"
#include <gabbro/os.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_S = 60 }; /* of a process that was asked to stop */
/* Until a process that closed its pipes, or never had any, is asked for its status again. */
enum { STATUS_MS = 10, WATCH_MS = 200 };

/* ---- starting ---- */

static bool open_pipe(bool wanted, int ends[2], gb_status *status)
{
    ends[0] = ends[1] = -1;
    return !wanted || GB_TRY_CALL(gb_os_pipe(ends)) == 0 ||
           gb_fail(status, GB_DATA, NULL, "raise the limit of open files (ulimit -n)",
                   "no pipe can be made: %s", strerror(errno));
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

bool repro_process_start(repro_process *process, const repro_command *command, gb_status *status)
{
    size_t count = 0;
    int output[2] = {-1, -1}, errors[2] = {-1, -1};
    while (command->words[count])
        count++;
    *process = (repro_process){.output = -1, .errors = -1};
    const char **argv = gb_alloc(count + 2, sizeof *argv, status);
    bool ok = argv && open_pipe(command->catch_output, output, status) &&
              open_pipe(command->catch_errors, errors, status);
    if (ok) {
        argv[0] = command->program ? command->program : "gabbro";
        memcpy(argv + 1, command->words, count * sizeof *argv);
        fflush(stdout);
        const gb_os_command started = {.program = command->program,
                                       .words = argv,
                                       .environment = command->environment,
                                       .output = output[1],
                                       .errors = errors[1]};
        if (GB_TRY_CALL(gb_os_start(&started, &process->process)) != 0)
            ok = gb_fail(status, errno == EAGAIN || errno == EIO ? GB_DATA : GB_USAGE,
                         command->program ? command->program : argv[0],
                         errno == EAGAIN ? "run fewer processes at once (--jobs)"
                         : errno == ENOENT
                             ? "look at GABBRO; after an update, give the command again"
                             : NULL,
                         "cannot be run: %s", strerror(errno));
    }
    close_end(&output[1]);
    close_end(&errors[1]);
    if (ok) {
        process->output = output[0];
        process->errors = errors[0];
    } else {
        process->ended = true;
        close_end(&output[0]);
        close_end(&errors[0]);
    }
    free(argv);
    return ok;
}

void repro_process_stop(const repro_process *process)
{
    if (process->process.id && !process->ended)
        gb_os_stop(&process->process);
}

void repro_process_free(repro_process *process)
{
    close_end(&process->output);
    close_end(&process->errors);
    gb_text_free(&process->printed);
    gb_text_free(&process->said);
    *process = (repro_process){.output = -1, .errors = -1};
}

/* "gabbro: LABEL: 10/100 steps  10.0% ...", or the same as JSON. */
static bool is_progress(const char *line, size_t length)
{
    static const char event[] = "{\"event\": \"progress\"";
    if (length >= sizeof event && !memcmp(line, event, sizeof event - 1))
        return true;
    if (length < 8 || strncmp(line, "gabbro: ", 8) != 0)
        return false;
    if (!strncmp(line, "gabbro: device: ", 16))
        return true;
    for (size_t i = 8; i + 1 < length; i++)
        if (line[i] == '/' && line[i - 1] >= '0' && line[i - 1] <= '9' && line[i + 1] >= '0' &&
            line[i + 1] <= '9')
            return memchr(line + i, '%', length - i) != NULL;
    return false;
}

void repro_process_print_said(const gb_text *said)
{
    for (size_t at = 0; at < said->length;) {
        const char *line = said->data + at, *end = memchr(line, '\n', said->length - at);
        size_t length = end ? (size_t)(end - line) + 1 : said->length - at;
        if (!is_progress(line, length))
            fwrite(line, 1, length, stderr);
        at += length;
    }
}

bool repro_process_ok(const char *name, int code, gb_status *status)
{
    enum { SIGNALLED = 128, KILLED = GB_OS_KILLED - SIGNALLED };
    static const char hint[] = "the same command goes on where it stopped";
    if (code == GB_OS_KILLED)
        return gb_fail(
            status, GB_MEMORY, name, hint,
            "its process was killed (signal %d), as the system does when memory is short", KILLED);
    if (code < 0) /* a crash under Windows */
        return gb_fail(status, GB_INTERNAL, name, hint, "its process ended with 0x%08x",
                       (unsigned)code);
    if (code > SIGNALLED)
        return gb_fail(status, GB_INTERNAL, name, hint, "its process was ended by signal %d",
                       code - SIGNALLED);
    return !code || gb_fail(status, (gb_code)code, NULL, NULL, "%s", "");
}

/* ---- watching ---- */

/* Takes what is in a pipe, and closes it at its end. all: up to where nothing is in it. */
static void take(int *pipe_end, gb_text *text, bool all)
{
    char bytes[4096];
    while (*pipe_end >= 0) {
        int64_t got = gb_os_read_now(*pipe_end, bytes, sizeof bytes);
        if (got > 0)
            gb_text_append(text, bytes, (size_t)got);
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            close_end(pipe_end);
        if (!all || (got < 0 && errno == EAGAIN))
            return;
    }
}

/* Whether it has ended; what it wrote last is taken then. */
static bool look(repro_process *process)
{
    take(&process->output, &process->printed, false);
    take(&process->errors, &process->said, false);
    if (process->ended || !gb_os_ended(&process->process, false, &process->code))
        return process->ended;
    process->ended = true;
    take(&process->output, &process->printed, true);
    take(&process->errors, &process->said, true);
    return true;
}

void repro_process_watch(repro_process *const *processes, size_t count, int max_ms)
{
    enum { MAX_PROCESSES = 256 };
    int pipes[2 * MAX_PROCESSES];
    double until = gb_now_s() + max_ms / 1000.;
    bool ended = false;
    if (count > MAX_PROCESSES)
        count = MAX_PROCESSES;
    while (!ended && !gb_interrupted() && gb_now_s() < until) {
        size_t open = 0;
        int wait_ms = max_ms < WATCH_MS ? max_ms : WATCH_MS;
        for (size_t i = 0; i < count; i++) {
            size_t before = open;
            if (processes[i]->output >= 0)
                pipes[open++] = processes[i]->output;
            if (processes[i]->errors >= 0)
                pipes[open++] = processes[i]->errors;
            if (open == before && wait_ms > STATUS_MS)
                wait_ms = STATUS_MS;
        }
        gb_os_wait(pipes, open, wait_ms);
        for (size_t i = 0; i < count; i++)
            ended = look(processes[i]) || ended;
    }
}

void repro_process_wait_all(repro_process *const *processes, size_t count)
{
    double begun = gb_now_s();
    bool killed = false;
    for (bool left = true; left;) {
        left = false;
        for (size_t i = 0; i < count; i++)
            left = (processes[i]->process.id && !look(processes[i])) || left;
        if (left)
            gb_os_wait(NULL, 0, STATUS_MS);
        bool kill = left && !killed && gb_now_s() - begun > PATIENCE_S;
        for (size_t i = 0; kill && i < count; i++)
            if (processes[i]->process.id && !processes[i]->ended)
                gb_os_kill(&processes[i]->process);
        killed = killed || kill;
    }
}

bool repro_process_run(const repro_command *command, gb_text *printed, int *code, gb_status *status)
{
    repro_process process, *one = &process;
    repro_command watched = *command;
    watched.catch_output = printed != NULL;
    if (!repro_process_start(&process, &watched, status))
        return false;
    while (!process.ended && !gb_interrupted())
        repro_process_watch(&one, 1, WATCH_MS);
    bool ok = process.ended;
    if (!ok) {
        repro_process_stop(&process);
        repro_process_wait_all(&one, 1);
        gb_fail(status, GB_INTERRUPTED, NULL, "run again to resume", "stopped");
    }
    *code = process.code;
    size_t length = process.printed.length;
    if (ok && printed && length) {
        bool line = process.printed.data[length - 1] == '\n';
        gb_text_append(printed, process.printed.data, length - line);
    }
    repro_process_free(&process);
    return ok;
}
