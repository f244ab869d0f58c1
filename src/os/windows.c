/* Windows, by mingw-w64: the beginning of the program, and what is known of the machine. */
#include "windows_only.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <psapi.h>

/* ---- the beginning ---- */

/* Gives a variable that POSIX has the value of the one that Windows has. */
static void name_as_posix(const char *name, const char *of_windows)
{
    const char *value = getenv(of_windows);
    if (!getenv(name) && value)
        _putenv_s(name, value);
}

/* The same path with '/', in a variable of the environment. */
static void use_slashes_in(const char *name)
{
    const char *value = getenv(name);
    char *path = value && strchr(value, '\\') ? _strdup(value) : NULL;
    if (!path)
        return;
    windows_use_slashes(path);
    _putenv_s(name, path);
    free(path);
}

/* Before main: bytes are bytes, terminals know UTF-8 and escapes, and HOME and TMPDIR are there. */
static __attribute__((constructor)) void begin(void)
{
    static const char *const paths[] = {
        "HOME",          "TMPDIR",         "GABBRO_STORE",    "GABBRO_SHADERS",
        "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HOME"};
    DWORD mode;
    _fmode = _O_BINARY;
    for (int file = 0; file < 3; file++)
        _setmode(file, _O_BINARY);
    HANDLE terminal = GetStdHandle(STD_ERROR_HANDLE);
    if (GetConsoleMode(terminal, &mode)) {
        SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        SetConsoleOutputCP(CP_UTF8);
    }
    name_as_posix("HOME", "USERPROFILE");
    name_as_posix("TMPDIR", "TEMP");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        use_slashes_in(paths[i]);
}

/* ---- for the other files ---- */

void windows_use_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

/* errno of the last error; returns -1. */
int windows_failed(void)
{
    static const struct {
        DWORD error; /* of Windows */
        int number;  /* of C */
    } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_BAD_EXE_FORMAT, ENOEXEC},
        {ERROR_NOT_SUPPORTED, ENOSYS},
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            errno = known[i].number;
    return -1;
}

HANDLE windows_handle(int file)
{
    return (HANDLE)_get_osfhandle(file);
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
