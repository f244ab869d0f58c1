/* Windows: processes, pipes and how they are stopped. */
#include "windows_only.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is kept of a process. */
typedef struct kept {
    HANDLE process; /* itself */
    HANDLE job;     /* closed with this process, which ends it */
} kept;

/* Appends a word as CommandLineToArgvW reads it. */
static char *put_word(char *to, const char *word)
{
    *to++ = '"';
    for (size_t backslashes = 0;; word++) {
        if (*word == '\\') {
            backslashes++;
            *to++ = *word;
            continue;
        }
        if (*word == '"' || !*word)
            for (; backslashes; backslashes--)
                *to++ = '\\';
        if (!*word)
            break;
        if (*word == '"')
            *to++ = '\\';
        *to++ = *word;
        backslashes = 0;
    }
    *to++ = '"';
    return to;
}

static char *command_line(const char *program, const char *const *words)
{
    size_t room = 2 * strlen(program) + 4;
    for (size_t i = 1; words[0] && words[i]; i++)
        room += 2 * strlen(words[i]) + 4;
    char *line = malloc(room), *end = line;
    if (!line)
        return NULL;
    end = put_word(end, program);
    for (size_t i = 1; words[0] && words[i]; i++) {
        *end++ = ' ';
        end = put_word(end, words[i]);
    }
    *end = '\0';
    return line;
}

/* Whether one of the variables, NAME=VALUE, has the name of `variable`. */
static bool has_name_of(const char *const *variables, const char *variable)
{
    size_t name = 1 + strcspn(variable + 1, "=") + 1; /* "=C:=C:\\": a drive's folder */
    for (; variables && *variables; variables++)
        if (!_strnicmp(variable, *variables, name))
            return true;
    return false;
}

/* This environment with more in it, as CreateProcess takes it; the later of two in `more` holds. */
static char *environment_with(const char *const *more)
{
    char *now = GetEnvironmentStringsA(), *end;
    size_t room = 2;
    for (const char *at = now; *at; at += strlen(at) + 1)
        room += strlen(at) + 1;
    for (size_t i = 0; more && more[i]; i++)
        room += strlen(more[i]) + 1;
    char *all = end = malloc(room);
    for (const char *at = now; all && *at; at += strlen(at) + 1)
        if (!has_name_of(more, at))
            end = (char *)memcpy(end, at, strlen(at) + 1) + strlen(at) + 1;
    for (size_t i = 0; all && more && more[i]; i++)
        if (!has_name_of(more + i + 1, more[i]))
            end = (char *)memcpy(end, more[i], strlen(more[i]) + 1) + strlen(more[i]) + 1;
    if (all)
        *end = '\0';
    FreeEnvironmentStringsA(now);
    return all;
}

/* A handle that a child gets. */
static HANDLE to_hand_on(int file, DWORD standard)
{
    HANDLE copy = NULL, from = file >= 0 ? windows_handle(file) : GetStdHandle(standard);
    HANDLE self = GetCurrentProcess();
    if (!DuplicateHandle(self, from, self, &copy, 0, TRUE, DUPLICATE_SAME_ACCESS))
        return NULL;
    return copy;
}

/* Starts it suspended; it gets these handles [3] and no others. */
static bool create(char *line, char *environment, HANDLE handles[3], PROCESS_INFORMATION *made)
{
    SIZE_T size = 0, count = 0;
    HANDLE given[3];
    for (int i = 0; i < 3; i++)
        if (handles[i])
            given[count++] = handles[i];
    InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    STARTUPINFOEXA start = {.StartupInfo = {.cb = sizeof start,
                                            .dwFlags = STARTF_USESTDHANDLES,
                                            .hStdInput = handles[0],
                                            .hStdOutput = handles[1],
                                            .hStdError = handles[2]},
                            .lpAttributeList = malloc(size)};
    bool ok = start.lpAttributeList &&
              InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size) &&
              (!count || UpdateProcThreadAttribute(start.lpAttributeList, 0,
                                                   PROC_THREAD_ATTRIBUTE_HANDLE_LIST, given,
                                                   count * sizeof *given, NULL, NULL)) &&
              CreateProcessA(NULL, line, NULL, NULL, TRUE,
                             EXTENDED_STARTUPINFO_PRESENT | CREATE_SUSPENDED, environment, NULL,
                             &start.StartupInfo, made);
    DWORD error = GetLastError();
    free(start.lpAttributeList);
    SetLastError(error);
    return ok;
}

int gb_os_start(const gb_os_command *command, gb_os_process *process)
{
    char self[4 * MAX_PATH];
    const char *program = command->program ? command->program : self;
    *process = (gb_os_process){0};
    if (!command->program && !gb_os_program(self, sizeof self))
        return windows_failed();
    char *line = command_line(program, command->words);
    char *environment = environment_with(command->environment);
    kept *keep = malloc(sizeof *keep);
    HANDLE handles[3] = {to_hand_on(-1, STD_INPUT_HANDLE),
                         to_hand_on(command->output, STD_OUTPUT_HANDLE),
                         to_hand_on(command->errors, STD_ERROR_HANDLE)};
    PROCESS_INFORMATION made = {0};
    bool ok = line && environment && keep && create(line, environment, handles, &made);
    int error = 0;
    if (!ok) {
        windows_failed();
        error = line && environment && keep ? errno : ENOMEM;
    }
    for (int i = 0; i < 3; i++)
        if (handles[i])
            CloseHandle(handles[i]);
    free(line);
    free(environment);
    if (!ok) {
        free(keep);
        errno = error;
        return -1;
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {
        .BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}};
    *keep = (kept){made.hProcess, CreateJobObjectA(NULL, NULL)};
    SetInformationJobObject(keep->job, JobObjectExtendedLimitInformation, &limit, sizeof limit);
    AssignProcessToJobObject(keep->job, made.hProcess);
    ResumeThread(made.hThread);
    CloseHandle(made.hThread);
    *process = (gb_os_process){made.dwProcessId, keep};
    return 0;
}

bool gb_os_ended(gb_os_process *process, bool wait, int *code)
{
    kept *keep = process->handles;
    DWORD how;
    if (!keep || WaitForSingleObject(keep->process, wait ? INFINITE : 0) != WAIT_OBJECT_0)
        return false;
    *code = GetExitCodeProcess(keep->process, &how) ? (int)how : -1;
    CloseHandle(keep->process);
    CloseHandle(keep->job);
    free(keep);
    process->handles = NULL;
    return true;
}

/* Name of the event that asks a process to stop. */
static void name_event(char name[64], DWORD process)
{
    snprintf(name, 64, "Local\\gabbro-stop-%lu", process);
}

void gb_os_stop(const gb_os_process *process)
{
    char name[64];
    name_event(name, (DWORD)process->id);
    HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name);
    if (!event) { /* it has nothing to save */
        gb_os_kill(process);
        return;
    }
    SetEvent(event);
    CloseHandle(event);
}

void gb_os_stop_launched(const gb_os_process *launcher)
{
    gb_os_stop(launcher);
}

void gb_os_kill(const gb_os_process *process)
{
    const kept *keep = process->handles;
    if (keep)
        TerminateProcess(keep->process, GB_OS_KILLED);
}

void gb_os_kill_this(void)
{
    TerminateProcess(GetCurrentProcess(), GB_OS_KILLED);
}

int gb_os_pipe(int ends[2])
{
    return _pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT);
}

/* Bytes in a pipe; -1: it is at its end. */
static int64_t waiting(int pipe)
{
    DWORD bytes = 0;
    return PeekNamedPipe(windows_handle(pipe), NULL, 0, NULL, &bytes, NULL) ? (int64_t)bytes : -1;
}

int64_t gb_os_read_now(int pipe, void *bytes, size_t size)
{
    int64_t there = waiting(pipe);
    if (there < 0)
        return 0;
    if (there > 0)
        return _read(pipe, bytes, there < (int64_t)size ? (unsigned)there : (unsigned)size);
    errno = EAGAIN;
    return -1;
}

bool gb_os_reader_gone(int file)
{
    (void)file;
    return false;
}

bool gb_os_input_there(int file)
{
    (void)file;
    return true; /* reads wait, and Ctrl-C ends them */
}

void gb_os_wait(const int *pipes, size_t count, int most_ms)
{
    for (int waited_ms = 0; waited_ms < most_ms; waited_ms += LOOK_MS) {
        for (size_t i = 0; i < count; i++)
            if (waiting(pipes[i]) != 0)
                return;
        Sleep(LOOK_MS);
    }
}

int gb_os_set_variable(const char *name, const char *value)
{
    return _putenv_s(name, value ? value : "") ? -1 : 0;
}

bool gb_os_program(char *path, size_t size)
{
    DWORD length = GetModuleFileNameA(NULL, path, (DWORD)size);
    if (length == 0 || length >= size)
        return false;
    windows_use_slashes(path);
    return true;
}

void *gb_os_function(const char *library, const char *name)
{
    HMODULE module = LoadLibraryA(library);
    return module ? (void *)(uintptr_t)GetProcAddress(module, name) : NULL;
}

static void (*stop_handler)(int); /* the process's own, like the signals of POSIX */

static DWORD WINAPI wait_for_stop(void *event)
{
    WaitForSingleObject(event, INFINITE);
    stop_handler(SIGTERM);
    return 0;
}

static BOOL WINAPI on_control(DWORD kind)
{
    static LONG times;
    if (kind == CTRL_C_EVENT && InterlockedIncrement(&times) > 1)
        return FALSE;
    stop_handler(kind == CTRL_C_EVENT ? SIGINT : SIGTERM);
    if (kind != CTRL_C_EVENT && kind != CTRL_BREAK_EVENT)
        Sleep(INFINITE); /* Windows ends the process when this returns, or a few seconds from now */
    return TRUE;
}

void gb_os_on_stop(void (*stop)(int))
{
    char name[64];
    if (stop_handler)
        return;
    stop_handler = stop;
    SetConsoleCtrlHandler(on_control, TRUE);
    name_event(name, GetCurrentProcessId());
    HANDLE event = CreateEventA(NULL, TRUE, FALSE, name);
    HANDLE thread = event ? CreateThread(NULL, 0, wait_for_stop, event, 0, NULL) : NULL;
    if (thread)
        CloseHandle(thread);
}
