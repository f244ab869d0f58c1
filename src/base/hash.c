/* SHA-256 of bytes, files and folders. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READ_BYTES = 1 << 16, MAX_DEPTH = 64 };
#define SHOWN_BYTES (1 << 29) /* of a file whose hashing is shown: it takes seconds */

static void to_hex(const unsigned char *digest, char hex[GB_HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < GB_OS_SUM_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[GB_HASH_SIZE - 1] = '\0';
}

void gb_hash_bytes(const void *bytes, size_t length, char hex[GB_HASH_SIZE])
{
    unsigned char digest[GB_OS_SUM_BYTES];
    gb_os_sha256(bytes, length, digest);
    to_hex(digest, hex);
}

static bool hash_stream(FILE *file, const char *path, char hex[GB_HASH_SIZE], gb_status *status)
{
    unsigned char buffer[READ_BYTES], digest[GB_OS_SUM_BYTES];
    errno = ENOMEM;
    gb_os_sum *sum = gb_fault(GB_FAULT_MEMORY) ? NULL : gb_os_sum_begin(GB_OS_SHA256);
    if (!sum)
        return errno == ENOMEM
                   ? gb_fail_memory(status, "hashing a file")
                   : gb_fail(status, GB_INTERNAL, path, NULL, "this machine gives no SHA-256");
    struct stat info;
    gb_progress progress;
    uint64_t bytes = 0;
    bool shown = fstat(fileno(file), &info) == 0 && info.st_size >= SHOWN_BYTES;
    if (shown)
        gb_progress_begin(&progress, "hash", "KB", (uint64_t)info.st_size / 1000, 0);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;) {
        gb_os_sum_add(sum, buffer, got);
        bytes += got;
        if (shown)
            gb_progress_update(&progress, bytes / 1000, path);
    }
    if (shown)
        gb_progress_end_long(&progress, bytes / 1000);
    bool ok = !ferror(file) || gb_fail(status, GB_DATA, path, "check the path and its permissions",
                                       "cannot read: %s", strerror(errno));
    gb_os_sum_end(sum, digest);
    to_hex(digest, hex);
    return ok;
}

bool gb_hash_file(const char *path, char hex[GB_HASH_SIZE], gb_status *status)
{
    FILE *file = GB_TRY_OPEN(gb_os_fopen(path, "rb"));
    if (!file)
        return gb_fail(status, GB_DATA, path, "check the path and its permissions",
                       "cannot open: %s", strerror(errno));
    bool ok = hash_stream(file, path, hex, status);
    fclose(file);
    return ok;
}

typedef struct tree_list {
    char **paths;     /* regular files, relative to the root */
    size_t count;     /* paths in use */
    size_t capacity;  /* paths allocated */
    const char *root; /* the folder being listed */
} tree_list;

static bool list_folder(tree_list *list, const char *folder, int depth, gb_status *status);

/* Adds the file, or what the folder holds; `path` is relative to the root and given away. */
static bool list_entry(tree_list *list, char *path, int depth, gb_status *status)
{
    struct stat info;
    char *full = gb_path_join(status, list->root, path);
    bool ok = full != NULL, kept = false;
    if (ok && stat(full, &info) != 0)
        ok = gb_fail(status, GB_DATA, full, "check the path and its permissions", "cannot read: %s",
                     strerror(errno));
    else if (ok && S_ISDIR(info.st_mode))
        ok = list_folder(list, path, depth + 1, status);
    else if (ok && S_ISREG(info.st_mode)) {
        ok = kept =
            gb_grow(&list->paths, &list->capacity, list->count + 1, sizeof *list->paths, status);
        if (kept)
            list->paths[list->count++] = path;
    }
    free(full);
    if (!kept)
        free(path);
    return ok;
}

/* folder: relative to the root, "" for the root itself. */
static bool list_folder(tree_list *list, const char *folder, int depth, gb_status *status)
{
    if (depth > MAX_DEPTH)
        return gb_fail(status, GB_DATA, list->root, "look for a link to a folder above it",
                       "folders nest too deeply");
    gb_entries entries = {0};
    char *full = gb_path_join(status, list->root, folder);
    bool ok = full && gb_entries_all(full, &entries, status);
    for (size_t i = 0; ok && i < entries.count; i++) {
        char *path = gb_path_join(status, folder, entries.names[i]);
        ok = path && list_entry(list, path, depth, status);
    }
    gb_entries_free(&entries);
    free(full);
    return ok;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool gb_hash_tree(const char *path, char hex[GB_HASH_SIZE], gb_status *status)
{
    tree_list list = {.root = path};
    gb_text text = {0};
    bool ok = list_folder(&list, "", 0, status);
    if (ok && list.count)
        qsort(list.paths, list.count, sizeof *list.paths, compare_paths);
    for (size_t i = 0; ok && i < list.count; i++) {
        char file_hex[GB_HASH_SIZE];
        char *full = gb_path_join(status, path, list.paths[i]);
        ok = full && gb_hash_file(full, file_hex, status);
        free(full);
        if (ok) {
            gb_text_append(&text, list.paths[i], strlen(list.paths[i]) + 1);
            gb_text_append(&text, file_hex, GB_HASH_SIZE - 1);
        }
    }
    if (ok && text.failed)
        ok = gb_fail_memory(status, "hashing a folder");
    if (ok)
        gb_hash_bytes(text.data, text.length, hex);
    for (size_t i = 0; i < list.count; i++)
        free(list.paths[i]);
    free(list.paths);
    gb_text_free(&text);
    return ok;
}
