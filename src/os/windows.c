/* Windows, by mingw-w64. Paths are UTF-8 because the program's manifest says so. */
#include "gabbro/os.h"

#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* windows.h comes before what builds on it. */
#include <windows.h>

#include <psapi.h>

enum { PATIENCE_MS = 500, LOOK_MS = 5 }; /* until what somebody holds for a moment is given free */

/* ---- the beginning ---- */

static void use_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

/* Gives a variable that POSIX has the value of the one that Windows has. */
static void name_as_posix(const char *name, const char *of_windows)
{
    const char *value = getenv(of_windows);
    char path[MAX_PATH];
    if (getenv(name) || !value || strlen(value) >= sizeof path)
        return;
    snprintf(path, sizeof path, "%s", value);
    use_slashes(path);
    _putenv_s(name, path);
}

/* Before main: bytes are bytes, terminals know escapes, and HOME and TMPDIR are there. */
static __attribute__((constructor)) void begin(void)
{
    DWORD mode;
    _set_fmode(_O_BINARY);
    for (int file = 0; file < 3; file++)
        _setmode(file, _O_BINARY);
    HANDLE terminal = GetStdHandle(STD_ERROR_HANDLE);
    if (GetConsoleMode(terminal, &mode))
        SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    name_as_posix("HOME", "USERPROFILE");
    name_as_posix("TMPDIR", "TEMP");
}

/* ---- files ---- */

/* errno of the last error; returns -1. */
static int failed(void)
{
    static const struct {
        DWORD error; /* of Windows */
        int number;  /* of C */
    } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},      {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE}, {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EBUSY},    {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_WRITE_PROTECT, EROFS},        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},      {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DISK_FULL, ENOSPC},           {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},   {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_NOT_SAME_DEVICE, EXDEV},      {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_BROKEN_PIPE, EPIPE},          {ERROR_INVALID_HANDLE, EBADF},
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            errno = known[i].number;
    return -1;
}

static HANDLE handle_of(int file)
{
    return (HANDLE)_get_osfhandle(file);
}

/* Whether it is worth while to try once more: somebody has the file open for a moment, or it is
 * being removed. */
static bool try_again(const char *path, int waited_ms)
{
    DWORD error = GetLastError();
    bool held = error == ERROR_SHARING_VIOLATION;
    if (error == ERROR_ACCESS_DENIED)
        held = GetFileAttributesA(path) == INVALID_FILE_ATTRIBUTES &&
               GetLastError() == ERROR_ACCESS_DENIED;
    SetLastError(error);
    if (!held || waited_ms >= PATIENCE_MS)
        return false;
    Sleep(LOOK_MS);
    return true;
}

int gb_os_open(const char *path, int flags)
{
    int way = flags & (O_RDONLY | O_WRONLY | O_RDWR);
    DWORD access = way == O_RDONLY   ? GENERIC_READ
                   : way == O_WRONLY ? GENERIC_WRITE
                                     : GENERIC_READ | GENERIC_WRITE;
    DWORD what = flags & O_EXCL    ? CREATE_NEW
                 : flags & O_CREAT ? OPEN_ALWAYS
                 : flags & O_TRUNC ? TRUNCATE_EXISTING
                                   : OPEN_EXISTING;
    HANDLE handle;
    int waited_ms = 0;
    do
        handle = CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                             NULL, what, FILE_ATTRIBUTE_NORMAL, NULL);
    while (handle == INVALID_HANDLE_VALUE && try_again(path, waited_ms) && (waited_ms += LOOK_MS));
    if (handle == INVALID_HANDLE_VALUE)
        return failed();
    int file =
        _open_osfhandle((intptr_t)handle, way | (flags & O_APPEND) | _O_BINARY | _O_NOINHERIT);
    if (file < 0)
        CloseHandle(handle);
    return file;
}

FILE *gb_os_fopen(const char *path, const char *mode)
{
    char whole[8];
    snprintf(whole, sizeof whole, "%sN", mode);
    return fopen(path, whole);
}

int gb_os_open_input(void)
{
    return _dup(0);
}

int gb_os_open_nameless(const char *path)
{
    static LONG counter;
    char name[4 * MAX_PATH];
    snprintf(name, sizeof name, "%s.spool-%lu-%ld", path, GetCurrentProcessId(),
             InterlockedIncrement(&counter));
    HANDLE handle =
        CreateFileA(name, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_DELETE, NULL,
                    CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return failed();
    return _open_osfhandle((intptr_t)handle, _O_RDWR | _O_BINARY | _O_NOINHERIT);
}

static OVERLAPPED place_of(uint64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

int64_t gb_os_read_at(int file, void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED place = place_of(offset);
    LARGE_INTEGER nowhere = {0}, before;
    DWORD got = 0;
    HANDLE handle = handle_of(file);
    bool known = SetFilePointerEx(handle, nowhere, &before, FILE_CURRENT);
    bool read = ReadFile(handle, bytes, size < 1u << 30 ? (DWORD)size : 1u << 30, &got, &place) ||
                GetLastError() == ERROR_HANDLE_EOF;
    if (!read)
        return failed();
    if (known) /* Windows moves it, unlike POSIX */
        SetFilePointerEx(handle, before, NULL, FILE_BEGIN);
    return got;
}

int64_t gb_os_write_at(int file, const void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED place = place_of(offset);
    DWORD put = 0;
    if (!WriteFile(handle_of(file), bytes, size < 1u << 30 ? (DWORD)size : 1u << 30, &put, &place))
        return failed();
    return put;
}

int gb_os_sync(int file)
{
    return FlushFileBuffers(handle_of(file)) ? 0 : failed();
}

int gb_os_sync_path(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES)
        return failed();
    if (kind & FILE_ATTRIBUTE_DIRECTORY) /* NTFS keeps a journal of names */
        return 0;
    int file = gb_os_open(path, O_RDWR);
    if (file < 0)
        return -1;
    int code = gb_os_sync(file), error = errno;
    _close(file);
    errno = error;
    return code;
}

int gb_os_rename(const char *from, const char *to)
{
    for (int waited_ms = 0;; waited_ms += LOOK_MS) {
        if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
            return 0;
        if (!try_again(from, waited_ms))
            return failed();
    }
}

int gb_os_exchange(const char *a, const char *b)
{
    (void)a;
    (void)b;
    errno = ENOSYS;
    return -1;
}

int gb_os_make_folder(const char *path, bool is_private)
{
    (void)is_private; /* what lies in a user's folders is the user's */
    return CreateDirectoryA(path, NULL) ? 0 : failed();
}

int gb_os_remove(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES)
        return failed();
    if (kind & FILE_ATTRIBUTE_READONLY)
        SetFileAttributesA(path, kind & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    for (int waited_ms = 0;; waited_ms += LOOK_MS) {
        if (kind & FILE_ATTRIBUTE_DIRECTORY ? RemoveDirectoryA(path) : DeleteFileA(path))
            return 0;
        if (!try_again(path, waited_ms))
            return failed();
    }
}

int gb_os_stat_link(const char *path, struct stat *info)
{
    return stat(path, info);
}

int gb_os_link(const char *file, const char *path)
{
    return CopyFileA(file, path, TRUE) ? 0 : failed();
}

char *gb_os_real_path(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES) {
        failed();
        return NULL;
    }
    char *whole = _fullpath(NULL, path, 0);
    if (whole)
        use_slashes(whole);
    for (size_t end = whole ? strlen(whole) : 0; end > 3 && whole[end - 1] == '/'; end--)
        whole[end - 1] = '\0';
    return whole;
}

bool gb_os_is_absolute(const char *path)
{
    bool drive = ((*path | 32) >= 'a' && (*path | 32) <= 'z') && path[1] == ':';
    path += drive ? 2 : 0;
    return *path == '/' || *path == '\\';
}

int gb_os_lock(int file)
{
    /* Locks keep others from the bytes: one is taken that no file has. */
    OVERLAPPED place = place_of(UINT64_C(1) << 62);
    return LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                      &place)
               ? 0
               : failed();
}

bool gb_os_is_at(int file, const char *path)
{
    BY_HANDLE_FILE_INFORMATION held, named;
    HANDLE there = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                               NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (there == INVALID_HANDLE_VALUE)
        return false;
    bool same = GetFileInformationByHandle(handle_of(file), &held) &&
                GetFileInformationByHandle(there, &named) &&
                held.dwVolumeSerialNumber == named.dwVolumeSerialNumber &&
                held.nFileIndexHigh == named.nFileIndexHigh &&
                held.nFileIndexLow == named.nFileIndexLow;
    CloseHandle(there);
    return same;
}

int gb_os_room(const char *path, uint64_t *bytes)
{
    char folder[4 * MAX_PATH];
    ULARGE_INTEGER room;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    if (!GetDiskFreeSpaceExA(slash ? folder : NULL, &room, NULL, NULL))
        return failed();
    *bytes = room.QuadPart;
    return 0;
}

const void *gb_os_map(int file, size_t size)
{
    HANDLE mapping = CreateFileMappingA(handle_of(file), NULL, PAGE_READONLY, 0, 0, NULL);
    const void *bytes = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size) : NULL;
    if (!bytes)
        failed();
    if (mapping)
        CloseHandle(mapping); /* the view keeps it */
    return bytes;
}

void gb_os_unmap(const void *bytes, size_t size)
{
    (void)size;
    UnmapViewOfFile(bytes);
}

/* ---- processes ---- */

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

/* This environment with more in it, as CreateProcess takes it. */
static char *environment_with(const char *const *more)
{
    char *now = GetEnvironmentStringsA(), *end;
    size_t room = 2;
    for (const char *at = now; *at; at += strlen(at) + 1)
        room += strlen(at) + 1;
    for (size_t i = 0; more && more[i]; i++)
        room += strlen(more[i]) + 1;
    char *all = end = malloc(room);
    for (const char *at = now; all && *at; at += strlen(at) + 1) {
        size_t name = 1 + strcspn(at + 1, "=") + 1;
        bool replaced = false;
        for (size_t i = 0; more && more[i]; i++)
            replaced = replaced || !_strnicmp(at, more[i], name);
        if (!replaced)
            end = (char *)memcpy(end, at, strlen(at) + 1) + strlen(at) + 1;
    }
    for (size_t i = 0; all && more && more[i]; i++)
        end = (char *)memcpy(end, more[i], strlen(more[i]) + 1) + strlen(more[i]) + 1;
    if (all)
        *end = '\0';
    FreeEnvironmentStringsA(now);
    return all;
}

/* A handle that a child gets. */
static HANDLE to_hand_on(int file, DWORD standard)
{
    HANDLE copy = NULL, from = file >= 0 ? handle_of(file) : GetStdHandle(standard);
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
    free(start.lpAttributeList);
    return ok;
}

int gb_os_start(const gb_os_command *command, gb_os_process *process)
{
    char self[4 * MAX_PATH];
    const char *program = command->program ? command->program : self;
    *process = (gb_os_process){0};
    if (!command->program && !gb_os_program(self, sizeof self))
        return failed();
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
        failed();
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
    return PeekNamedPipe(handle_of(pipe), NULL, 0, NULL, &bytes, NULL) ? (int64_t)bytes : -1;
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
    use_slashes(path);
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

/* ---- the machine ---- */

uint32_t gb_os_processors(void)
{
    DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count ? count : 1;
}

double gb_os_load(void)
{
    return 0;
}

uint64_t gb_os_peak_bytes(void)
{
    PROCESS_MEMORY_COUNTERS used;
    return GetProcessMemoryInfo(GetCurrentProcess(), &used, sizeof used) ? used.PeakWorkingSetSize
                                                                         : 0;
}

unsigned gb_os_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    return GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info)
               ? (unsigned)(info.srWindow.Right - info.srWindow.Left + 1)
               : 0;
}

void gb_os_facts_read(gb_os_facts *facts)
{
    typedef LONG(WINAPI version_fn)(OSVERSIONINFOW *);
    typedef const char *(*wine_fn)(void);
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    HMODULE ntdll = GetModuleHandleA("ntdll.dll");
    version_fn *get = (version_fn *)(uintptr_t)GetProcAddress(ntdll, "RtlGetVersion");
    wine_fn wine = (wine_fn)(uintptr_t)GetProcAddress(ntdll, "wine_get_version");
    SYSTEM_INFO system;
    DWORD host = sizeof facts->host, processor = sizeof facts->processor;
    *facts = (gb_os_facts){.system = "Windows", .libc = "msvcrt"};
    if (get && get(&version) == 0)
        snprintf(facts->release, sizeof facts->release, "%lu.%lu.%lu%s%s", version.dwMajorVersion,
                 version.dwMinorVersion, version.dwBuildNumber, wine ? ", Wine " : "",
                 wine ? wine() : "");
    GetNativeSystemInfo(&system);
    snprintf(facts->architecture, sizeof facts->architecture, "%s",
             system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
             : system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64 ? "aarch64"
                                                                             : "unknown");
    GetComputerNameA(facts->host, &host);
    if (RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                     "ProcessorNameString", RRF_RT_REG_SZ, NULL, facts->processor,
                     &processor) != ERROR_SUCCESS)
        snprintf(facts->processor, sizeof facts->processor, "%s", facts->architecture);
}
