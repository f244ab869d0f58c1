/* Starting and watching processes. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60 }; /* of a process that was asked to stop */
/* Until a process that closed its pipes, or never had any, is asked for its status again. */
enum { STATUS_MS = 10, WATCH_MS = 200 };

/* ---- starting ---- */

/* In the child: becomes the program. */
static void become(const repro_command *command, char *const *argv, int output, int errors,
                   pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(GB_INTERRUPTED);
    signal(SIGPIPE, SIG_DFL);
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    if (errors >= 0)
        dup2(errors, STDERR_FILENO);
    for (const char *const *at = command->environment; at && *at; at++)
        putenv((char *)*at);
    execv(command->program ? command->program : "/proc/self/exe", argv);
    dprintf(STDERR_FILENO, "gabbro: %s: cannot be run: %s\n", argv[0], strerror(errno));
    _exit(GB_USAGE);
}

static bool open_pipe(bool wanted, int ends[2], gb_status *status)
{
    ends[0] = ends[1] = -1;
    return !wanted || GB_TRY_CALL(pipe2(ends, O_CLOEXEC)) == 0 ||
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
    pid_t parent = getpid();
    if (ok) {
        argv[0] = command->program ? command->program : "gabbro";
        memcpy(argv + 1, command->words, count * sizeof *argv);
        fflush(stdout);
        process->pid = GB_TRY_CALL(fork());
        if (process->pid == 0)
            become(command, (char *const *)argv, output[1], errors[1], parent);
        if (process->pid < 0)
            ok = gb_fail(status, GB_DATA, NULL, "run fewer processes at once (--jobs)",
                         "no process can be started: %s", strerror(errno));
    }
    close_end(&output[1]);
    close_end(&errors[1]);
    if (ok) {
        process->output = output[0];
        process->errors = errors[0];
    } else {
        process->pid = 0;
        process->ended = true;
        close_end(&output[0]);
        close_end(&errors[0]);
    }
    free(argv);
    return ok;
}

void repro_process_stop(const repro_process *process)
{
    if (process->pid > 0 && !process->ended)
        kill(process->pid, SIGTERM);
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

/* ---- watching ---- */

/* Takes what is in a pipe, and closes it at its end. all: up to where nothing is in it. */
static void take(int *pipe_end, gb_text *text, bool all)
{
    char bytes[4096];
    do {
        struct pollfd ready = {.fd = *pipe_end, .events = POLLIN};
        if (*pipe_end < 0 || poll(&ready, 1, 0) <= 0)
            return;
        ssize_t got = read(*pipe_end, bytes, sizeof bytes);
        if (got > 0)
            gb_text_append(text, bytes, (size_t)got);
        else if (got == 0 || errno != EINTR)
            close_end(pipe_end);
    } while (all);
}

/* Whether it has ended; what it wrote last is taken then. */
static bool look(repro_process *process)
{
    int how;
    take(&process->output, &process->printed, false);
    take(&process->errors, &process->said, false);
    if (process->ended || waitpid(process->pid, &how, WNOHANG) != process->pid)
        return process->ended;
    process->code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    process->ended = true;
    take(&process->output, &process->printed, true);
    take(&process->errors, &process->said, true);
    return true;
}

void repro_process_watch(repro_process *const *processes, size_t count, int max_ms)
{
    enum { MAX_PROCESSES = 256 };
    struct pollfd ends[2 * MAX_PROCESSES];
    double until = gb_now_s() + max_ms / 1000.;
    bool ended = false;
    if (count > MAX_PROCESSES)
        count = MAX_PROCESSES;
    while (!ended && !gb_interrupted() && gb_now_s() < until) {
        nfds_t open = 0;
        int wait_ms = max_ms < WATCH_MS ? max_ms : WATCH_MS;
        for (size_t i = 0; i < count; i++) {
            nfds_t before = open;
            if (processes[i]->output >= 0)
                ends[open++] = (struct pollfd){.fd = processes[i]->output, .events = POLLIN};
            if (processes[i]->errors >= 0)
                ends[open++] = (struct pollfd){.fd = processes[i]->errors, .events = POLLIN};
            if (open == before && wait_ms > STATUS_MS)
                wait_ms = STATUS_MS;
        }
        poll(ends, open, wait_ms);
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
            left = (processes[i]->pid > 0 && !look(processes[i])) || left;
        if (left)
            poll(NULL, 0, STATUS_MS);
        for (size_t i = 0; left && !killed && gb_now_s() - begun > PATIENCE_S && i < count; i++)
            if (processes[i]->pid > 0 && !processes[i]->ended)
                kill(processes[i]->pid, SIGKILL);
        killed = gb_now_s() - begun > PATIENCE_S;
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
