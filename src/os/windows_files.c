/* Windows: files, folders and locks. */
#include "windows_only.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4 * MAX_PATH }; /* bytes of a path, a MAX_PATH of characters in UTF-8 */

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
                 : flags & O_CREAT ? (flags & O_TRUNC ? CREATE_ALWAYS : OPEN_ALWAYS)
                 : flags & O_TRUNC ? TRUNCATE_EXISTING
                                   : OPEN_EXISTING;
    HANDLE handle;
    int waited_ms = 0;
    do
        handle = CreateFileA(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                             NULL, what, FILE_ATTRIBUTE_NORMAL, NULL);
    while (handle == INVALID_HANDLE_VALUE && try_again(path, waited_ms) && (waited_ms += LOOK_MS));
    if (handle == INVALID_HANDLE_VALUE) {
        windows_failed();
        DWORD kind = GetFileAttributesA(path);
        if (errno == EACCES && kind != INVALID_FILE_ATTRIBUTES && kind & FILE_ATTRIBUTE_DIRECTORY)
            errno = EISDIR;
        return -1;
    }
    int file =
        _open_osfhandle((intptr_t)handle, way | (flags & O_APPEND) | _O_BINARY | _O_NOINHERIT);
    if (file < 0)
        CloseHandle(handle);
    return file;
}

FILE *gb_os_fopen(const char *path, const char *mode)
{
    int way = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    int made = *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT | O_APPEND : 0;
    int file = gb_os_open(path, way | made | (strchr(mode, 'x') ? O_EXCL : 0));
    const char plain[] = {*mode, 'b', way == O_RDWR ? '+' : '\0', '\0'};
    FILE *stream = file < 0 ? NULL : _fdopen(file, plain);
    if (file >= 0 && !stream)
        _close(file);
    return stream;
}

int gb_os_open_input(void)
{
    return _dup(0);
}

int gb_os_open_nameless(const char *path)
{
    static LONG counter;
    char name[LONGEST];
    if (snprintf(name, sizeof name, "%s.spool-%lu-%ld", path, GetCurrentProcessId(),
                 InterlockedIncrement(&counter)) >= LONGEST) {
        errno = ENAMETOOLONG;
        return -1;
    }
    HANDLE handle =
        CreateFileA(name, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_DELETE, NULL,
                    CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return windows_failed();
    return _open_osfhandle((intptr_t)handle, _O_RDWR | _O_BINARY | _O_NOINHERIT);
}

static OVERLAPPED place_of(uint64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

/* Reads, or writes where `out` is not NULL. Windows moves the file's own place with it, unlike
 * POSIX: it is put back. */
static int64_t transfer_at(int file, void *in, const void *out, size_t size, uint64_t offset)
{
    OVERLAPPED place = place_of(offset);
    LARGE_INTEGER nowhere = {0}, before;
    DWORD wanted = size < 1u << 30 ? (DWORD)size : 1u << 30, done = 0;
    HANDLE handle = windows_handle(file);
    bool known = SetFilePointerEx(handle, nowhere, &before, FILE_CURRENT);
    bool ok =
        out ? WriteFile(handle, out, wanted, &done, &place)
            : ReadFile(handle, in, wanted, &done, &place) || GetLastError() == ERROR_HANDLE_EOF;
    if (!ok)
        return windows_failed();
    if (known)
        SetFilePointerEx(handle, before, NULL, FILE_BEGIN);
    return done;
}

int64_t gb_os_read_at(int file, void *bytes, size_t size, uint64_t offset)
{
    return transfer_at(file, bytes, NULL, size, offset);
}

int64_t gb_os_write_at(int file, const void *bytes, size_t size, uint64_t offset)
{
    return transfer_at(file, NULL, bytes, size, offset);
}

int gb_os_keep_permissions(int file, const char *path)
{
    (void)file; /* those of its folder */
    return _access(path, 2);
}

int gb_os_sync(int file)
{
    return FlushFileBuffers(windows_handle(file)) ? 0 : windows_failed();
}

int gb_os_sync_path(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES)
        return windows_failed();
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

/* Whether a path is that of a file, and not of a folder. */
static bool is_file(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    return kind != INVALID_FILE_ATTRIBUTES && !(kind & FILE_ATTRIBUTE_DIRECTORY);
}

int gb_os_rename(const char *from, const char *to)
{
    for (int waited_ms = 0;; waited_ms += LOOK_MS) {
        if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
            return 0;
        DWORD error = GetLastError();
        /* A file that somebody reads cannot be replaced. */
        bool held = error == ERROR_ACCESS_DENIED && is_file(from) && is_file(to);
        SetLastError(held ? ERROR_SHARING_VIOLATION : error);
        if (!try_again(from, waited_ms))
            return windows_failed();
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
    if (*path && !strcmp(path + 1, ":"))
        return 0; /* a drive */
    return CreateDirectoryA(path, NULL) ? 0 : windows_failed();
}

int gb_os_remove(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES)
        return windows_failed();
    if (kind & FILE_ATTRIBUTE_READONLY)
        SetFileAttributesA(path, kind & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    for (int waited_ms = 0;; waited_ms += LOOK_MS) {
        if (kind & FILE_ATTRIBUTE_DIRECTORY ? RemoveDirectoryA(path) : DeleteFileA(path))
            return 0;
        if (!try_again(path, waited_ms))
            return windows_failed();
    }
}

int gb_os_stat_link(const char *path, struct stat *info)
{
    return stat(path, info);
}

/* folder/name into path[LONGEST]; ENAMETOOLONG where it does not fit. */
static int join(char *path, const char *folder, const char *name)
{
    if (snprintf(path, LONGEST, "%s/%s", folder, name) < LONGEST)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static int copy_folder(const char *from, const char *to)
{
    char pattern[LONGEST], inner[LONGEST], copy[LONGEST];
    WIN32_FIND_DATAA found;
    int code = gb_os_make_folder(to, false) || join(pattern, from, "*") ? -1 : 0;
    HANDLE search = code ? INVALID_HANDLE_VALUE : FindFirstFileA(pattern, &found);
    for (bool more = search != INVALID_HANDLE_VALUE; more && code == 0;
         more = FindNextFileA(search, &found)) {
        if (strcmp(found.cFileName, ".") == 0 || strcmp(found.cFileName, "..") == 0)
            continue;
        code = join(inner, from, found.cFileName) || join(copy, to, found.cFileName)
                   ? -1
                   : gb_os_link(inner, copy);
    }
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
    return code;
}

int gb_os_link(const char *file, const char *path)
{
    DWORD kind = GetFileAttributesA(file);
    if (kind != INVALID_FILE_ATTRIBUTES && kind & FILE_ATTRIBUTE_DIRECTORY)
        return copy_folder(file, path);
    return CopyFileA(file, path, TRUE) ? 0 : windows_failed();
}

char *gb_os_real_path(const char *path)
{
    DWORD kind = GetFileAttributesA(path);
    if (kind == INVALID_FILE_ATTRIBUTES) {
        windows_failed();
        return NULL;
    }
    char *whole = _fullpath(NULL, path, 0);
    if (whole)
        windows_use_slashes(whole);
    for (size_t end = whole ? strlen(whole) : 0; end > 3 && whole[end - 1] == '/'; end--)
        whole[end - 1] = '\0';
    return whole;
}

void gb_os_begin(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        char *last = strrchr(words[i], '\\');
        if (!last)
            continue;
        bool top = last == words[i] || last[-1] == ':'; /* of a drive */
        char kept = last[top];
        last[top] = '\0';
        DWORD kind = GetFileAttributesA(words[i]);
        last[top] = kept;
        if (kind != INVALID_FILE_ATTRIBUTES && kind & FILE_ATTRIBUTE_DIRECTORY)
            windows_use_slashes(words[i]);
    }
}

bool gb_os_is_absolute(const char *path)
{
    bool drive = ((*path | 32) >= 'a' && (*path | 32) <= 'z') && path[1] == ':';
    path += drive ? 2 : 0;
    return *path == '/' || *path == '\\';
}

void *gb_os_utf8_begin(void)
{
    return NULL; /* they are: windows.manifest */
}

/* What a thread had before gb_os_c_locale_begin. */
typedef struct locale_before {
    int kind;    /* of this thread or of all */
    char name[]; /* of setlocale */
} locale_before;

void *gb_os_c_locale_begin(void)
{
    const char *name = setlocale(LC_ALL, NULL);
    locale_before *before = malloc(sizeof *before + strlen(name) + 1);
    if (!before)
        return NULL;
    strcpy(before->name, name);
    before->kind = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    setlocale(LC_ALL, "C");
    return before;
}

void gb_os_locale_end(void *self)
{
    locale_before *before = self;
    if (!before)
        return;
    setlocale(LC_ALL, before->name);
    _configthreadlocale(before->kind);
    free(before);
}

int gb_os_lock(int file)
{
    /* Locks keep others from the bytes: one is taken that no file has. */
    OVERLAPPED place = place_of(UINT64_C(1) << 62);
    return LockFileEx(windows_handle(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0,
                      1, 0, &place)
               ? 0
               : windows_failed();
}

bool gb_os_is_at(int file, const char *path)
{
    BY_HANDLE_FILE_INFORMATION held, named;
    HANDLE there = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                               NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (there == INVALID_HANDLE_VALUE)
        return false;
    bool same = GetFileInformationByHandle(windows_handle(file), &held) &&
                GetFileInformationByHandle(there, &named) &&
                held.dwVolumeSerialNumber == named.dwVolumeSerialNumber &&
                held.nFileIndexHigh == named.nFileIndexHigh &&
                held.nFileIndexLow == named.nFileIndexLow;
    CloseHandle(there);
    return same;
}

int gb_os_room(const char *path, uint64_t *bytes)
{
    char folder[LONGEST];
    ULARGE_INTEGER room;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    if (!GetDiskFreeSpaceExA(slash ? folder : NULL, &room, NULL, NULL))
        return windows_failed();
    *bytes = room.QuadPart;
    return 0;
}

const void *gb_os_map(int file, size_t size)
{
    HANDLE mapping = CreateFileMappingA(windows_handle(file), NULL, PAGE_READONLY, 0, 0, NULL);
    const void *bytes = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size) : NULL;
    if (!bytes)
        windows_failed();
    if (mapping)
        CloseHandle(mapping); /* the view keeps it */
    return bytes;
}

void gb_os_unmap(const void *bytes, size_t size)
{
    (void)size;
    UnmapViewOfFile(bytes);
}
