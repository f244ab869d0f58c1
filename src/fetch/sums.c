/* SHA-256 and MD5 of bytes as they stream by: MD5 only because old collections publish it. */
#include "fetch/private.h"
#include <gabbro/os.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { READ_BYTES = 1 << 16 };

struct gb_sums {
    gb_os_sum *sha256; /* NULL behind the end */
    gb_os_sum *md5;    /* NULL too where the machine refuses it */
};

bool fetch_sums_reset(gb_sums *sums, gb_status *status)
{
    gb_os_sum_drop(sums->sha256);
    gb_os_sum_drop(sums->md5);
    sums->md5 = NULL;
    bool ok = (sums->sha256 = gb_os_sum_begin(GB_OS_SHA256)) &&
              ((sums->md5 = gb_os_sum_begin(GB_OS_MD5)) || errno != ENOMEM);
    if (ok)
        return true;
    return errno == ENOMEM
               ? gb_fail_memory(status, "hashing a file")
               : gb_fail(status, GB_INTERNAL, NULL, NULL, "this machine gives no SHA-256");
}

gb_sums *fetch_sums_create(gb_status *status)
{
    gb_sums *sums = gb_alloc(1, sizeof *sums, status);
    if (!sums)
        return NULL;
    if (!fetch_sums_reset(sums, status)) {
        fetch_sums_destroy(sums);
        return NULL;
    }
    return sums;
}

void fetch_sums_destroy(gb_sums *sums)
{
    if (!sums)
        return;
    gb_os_sum_drop(sums->sha256);
    gb_os_sum_drop(sums->md5);
    free(sums);
}

void fetch_sums_add(gb_sums *sums, const void *bytes, size_t length)
{
    gb_os_sum_add(sums->sha256, bytes, length);
    if (sums->md5)
        gb_os_sum_add(sums->md5, bytes, length);
}

void fetch_progress_begin(gb_progress *progress, const char *label, FILE *file)
{
    struct stat info;
    bool known = fstat(fileno(file), &info) == 0;
    gb_progress_begin(progress, label, "KB", known ? (uint64_t)info.st_size / 1000 : 0, 0);
}

bool fetch_sums_add_file(gb_sums *sums, const char *path, uint64_t *bytes, gb_status *status)
{
    FILE *file = GB_TRY_OPEN(gb_os_fopen(path, "rb"));
    if (!file)
        return errno == ENOENT ||
               gb_fail(status, GB_DATA, path, "check the path and its permissions",
                       "cannot open: %s", strerror(errno));
    char buffer[READ_BYTES];
    gb_progress progress;
    fetch_progress_begin(&progress, "sums", file);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0 && !gb_interrupted();) {
        fetch_sums_add(sums, buffer, got);
        *bytes += got;
        gb_progress_update(&progress, *bytes / 1000, path);
    }
    gb_progress_end_long(&progress, *bytes / 1000);
    bool ok = !ferror(file);
    fclose(file);
    if (!ok)
        return gb_fail(status, GB_DATA, path, "check the disk", "cannot read");
    return !gb_interrupted() ||
           gb_fail(status, GB_INTERRUPTED, path, "run again to go on", "interrupted");
}

/* Ends the sum and takes it away. */
static void to_hex(gb_os_sum **sum, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[GB_OS_SUM_BYTES];
    size_t length = gb_os_sum_end(*sum, digest);
    *sum = NULL;
    for (size_t i = 0; i < length; i++) {
        *hex++ = digits[digest[i] >> 4];
        *hex++ = digits[digest[i] & 15];
    }
    *hex = '\0';
}

void fetch_sums_end(gb_sums *sums, char sha256[65], char md5[33])
{
    to_hex(&sums->sha256, sha256);
    md5[0] = '\0';
    if (sums->md5)
        to_hex(&sums->md5, md5);
}

int fetch_version_of(const gb_source_file *file, const gb_seen *seen)
{
    for (size_t i = 0; i < file->version_count; i++) {
        const gb_version *v = &file->versions[i];
        bool sum = v->sha256[0] || (v->md5[0] && seen->md5[0]);
        if ((v->bytes && v->bytes != seen->bytes) ||
            (v->sha256[0] && strcmp(v->sha256, seen->sha256) != 0) ||
            (v->md5[0] && seen->md5[0] && strcmp(v->md5, seen->md5) != 0))
            continue;
        if (sum || v->bytes)
            return (int)i;
    }
    return -1;
}

bool fetch_size_fits(const gb_source_file *file, uint64_t bytes)
{
    for (size_t i = 0; i < file->version_count; i++)
        if (!file->versions[i].bytes || file->versions[i].bytes == bytes)
            return true;
    return file->version_count == 0;
}
