/* A file of the manifest: from the network, address by address, or from a local copy. */
#include "fetch/private.h"
#include <gabbro/os.h>

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const double MAX_WAIT_S = 30, MAX_ASKED_WAIT_S = 120;

void gb_seen_free(gb_seen *seen)
{
    free(seen->from);
    *seen = (gb_seen){.version = -1};
}

bool gb_fetch_check(const char *path, const gb_source_file *file, gb_seen *seen, gb_status *status)
{
    gb_sums *sums = fetch_sums_create(status);
    gb_seen fresh = {.version = -1, .from = gb_strdup(path, status)};
    bool ok = sums && fresh.from && fetch_sums_add_file(sums, path, &fresh.bytes, status);
    if (ok) {
        fetch_sums_end(sums, fresh.sha256, fresh.md5);
        fresh.version = fetch_version_of(file, &fresh);
        *seen = fresh;
    } else {
        gb_seen_free(&fresh);
    }
    fetch_sums_destroy(sums);
    return ok;
}

/* ---- the part ---- */

/* An empty part goes; one that another process holds is not ours to clean. */
static void part_close(gb_part *part)
{
    struct stat info;
    if (part->stream && part->bytes == 0) {
        if (stat(part->path, &info) == 0 && info.st_size == 0)
            gb_os_remove(part->path);
        gb_os_remove(part->state);
    }
    if (part->stream)
        fclose(part->stream); /* and unlock */
    fetch_sums_destroy(part->sums);
    free(part->path);
    free(part->state);
}

static bool part_lock(gb_part *part, gb_status *status)
{
    int fd = GB_TRY_CALL(gb_os_open(part->path, O_RDWR | O_CREAT | O_APPEND));
    if (fd < 0)
        return gb_fail(status, GB_DATA, part->path, "check the path and its permissions",
                       "cannot write: %s", strerror(errno));
    /* Whoever held it may have put it into place or removed it. */
    if (gb_os_lock(fd) != 0 || !gb_os_is_at(fd, part->path)) {
        close(fd);
        return gb_fail(status, GB_BUSY, part->path, "wait for it", "another process fetches it");
    }
    part->stream = fdopen(fd, "ab");
    if (!part->stream) {
        close(fd);
        return gb_fail_memory(status, "opening a file");
    }
    return true;
}

/* What an earlier run left is hashed; bytes of unknown origin are thrown away. */
static bool part_open(gb_part *part, const gb_source_file *file, const char *folder,
                      gb_status *status)
{
    part->file = file;
    part->path = gb_format(status, "%s/%s.part", folder, file->name);
    part->state = gb_format(status, "%s/%s.part.state", folder, file->name);
    part->sums = fetch_sums_create(status);
    if (!part->path || !part->state || !part->sums || !part_lock(part, status))
        return false;
    struct stat info;
    if (fstat(fileno(part->stream), &info) != 0 || info.st_size == 0)
        return fetch_part_empty(part, status);
    bool known = fetch_remote_load(part->state, &part->remote);
    if (!known || (part->remote.total && part->remote.total < (uint64_t)info.st_size)) {
        gb_log(GB_LOG_WARN, "%s: of unknown origin, fetched anew", part->path);
        return fetch_part_empty(part, status);
    }
    if (!fetch_sums_add_file(part->sums, part->path, &part->bytes, status))
        return false;
    part->highest = part->bytes;
    gb_log(GB_LOG_INFO, "%s: %llu bytes are there from before", file->name,
           (unsigned long long)part->bytes);
    return true;
}

/* The disk must hold what is still to come, where the size is known. */
static bool part_room(const gb_part *part, gb_status *status)
{
    uint64_t whole = gb_newest_bytes(part->file);
    uint64_t room_bytes;
    if (whole <= part->bytes || gb_os_room(part->path, &room_bytes) != 0)
        return true;
    if (whole - part->bytes <= room_bytes)
        return true;
    return gb_fail(status, GB_DATA, part->path, "free space, or choose another folder with --to",
                   "%llu bytes are to come and the disk has room for %llu",
                   (unsigned long long)(whole - part->bytes), (unsigned long long)room_bytes);
}

/* ---- addresses ---- */

/* Sleep, woken by a signal; false when interrupted. */
static bool pause_s(double seconds)
{
    for (double end = gb_now_s() + seconds; gb_now_s() < end && !gb_interrupted();) {
        struct timespec step = {.tv_nsec = 50 * 1000 * 1000};
        nanosleep(&step, NULL);
    }
    return !gb_interrupted();
}

/* One address, again and again. */
static gb_outcome ask(gb_part *part, const char *url, const gb_fetch_params *params, char why[300],
                      gb_status *status)
{
    double wait_s = params->wait_s;
    uint32_t tries = 0;
    for (;;) {
        uint64_t highest = part->highest;
        double asked_s;
        gb_outcome outcome = fetch_transfer(part, url, why, &asked_s, status);
        if (outcome == GB_GOT_ALL || outcome == GB_GIVE_UP || outcome == GB_STOP)
            return outcome;
        if (part->highest > highest) { /* it moves: patience begins anew */
            tries = 0;
            wait_s = params->wait_s;
        }
        if (++tries >= params->tries)
            return GB_GIVE_UP;
        double pause = fmin(fmax(wait_s, asked_s), MAX_ASKED_WAIT_S);
        gb_log(GB_LOG_WARN, "%s: %s %s; again in %.3g s", part->file->name, url, why, pause);
        if (!pause_s(pause)) {
            gb_fail(status, GB_INTERRUPTED, part->path, "the same command goes on from there",
                    "interrupted");
            return GB_STOP;
        }
        wait_s = fmin(wait_s * 2, MAX_WAIT_S);
    }
}

/* The part is whole: is it the file? */
static bool is_wanted(gb_part *part, const char *url, gb_seen *seen, char why[300],
                      gb_status *status)
{
    seen->bytes = part->bytes;
    fetch_sums_end(part->sums, seen->sha256, seen->md5);
    free(seen->from);
    seen->from = gb_strdup(url, status);
    seen->version = fetch_version_of(part->file, seen);
    if (seen->version >= 0 || part->file->version_count == 0 || part->any_version)
        return seen->from != NULL;
    snprintf(why, 300, "gave %llu bytes with sha256 %s, md5 %s: no accepted version",
             (unsigned long long)seen->bytes, seen->sha256, seen->md5[0] ? seen->md5 : "unknown");
    return false;
}

static bool part_commit(gb_part *part, const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, part->file->name);
    bool ok = path != NULL;
    errno = 0;
    if (ok && (GB_TRY_CALL(fflush(part->stream)) != 0 || ferror(part->stream) ||
               GB_TRY_CALL(gb_os_sync(fileno(part->stream))) != 0 ||
               GB_TRY_CALL(gb_os_rename(part->path, path)) != 0))
        ok = gb_fail(status, GB_DATA, path, "free space and run again", "cannot write: %s",
                     errno ? strerror(errno) : "a write failed");
    if (ok)
        gb_os_remove(part->state);
    free(path);
    return ok;
}

/* One address to its end. 1: the file stands in the folder; 0: another address may have it; -1. */
static int try_address(gb_part *part, const char *url, const char *folder,
                       const gb_fetch_params *params, gb_seen *seen, char why[300],
                       gb_status *status)
{
    bool resumed = part->bytes > 0; /* with bytes of another time or address */
    gb_outcome outcome = ask(part, url, params, why, status);
    if (outcome == GB_STOP)
        return -1;
    if (outcome == GB_GOT_ALL) {
        if (is_wanted(part, url, seen, why, status))
            return part_commit(part, folder, status) ? 1 : -1;
        if (!seen->from || !fetch_part_empty(part, status))
            return -1;
        if (resumed) {
            gb_log(GB_LOG_INFO, "%s: what was there is no beginning of it; from the beginning",
                   part->file->name);
            return try_address(part, url, folder, params, seen, why, status);
        }
    }
    gb_log(GB_LOG_WARN, "%s: %s %s", part->file->name, url, why);
    return 0;
}

static int try_addresses(gb_part *part, const char *folder, const gb_fetch_params *params,
                         gb_seen *seen, gb_status *status)
{
    const gb_source_file *file = part->file;
    char why[300] = "";
    int got = 0;
    if (params->mirror) {
        char *url = gb_path_join(status, params->mirror, file->name);
        got = url ? try_address(part, url, folder, params, seen, why, status) : -1;
        free(url);
    }
    for (size_t i = 0; i < file->url_count && got == 0; i++)
        got = try_address(part, file->urls[i], folder, params, seen, why, status);
    if (got == 0)
        gb_fail(status, GB_DATA, file->name,
                "try again later, give --mirror URL, or fetch it otherwise and give --from FILE",
                why[0] ? "no address gave it; the last one %s" : "no address is known for it%s",
                why);
    return got;
}

bool gb_fetch_file(const gb_source_file *file, const char *folder, const gb_fetch_params *params,
                   gb_seen *seen, gb_status *status)
{
    gb_part part = {.any_version = params->any_version, .stall_s = params->stall_s};
    *seen = (gb_seen){.version = -1};
    if (gb_fault(GB_FAULT_MEMORY) || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return gb_fail_memory(status, "starting libcurl");
    bool ok = gb_make_dirs(folder, status) && part_open(&part, file, folder, status) &&
              part_room(&part, status);
    if (ok) {
        gb_progress_begin(&part.progress, file->name, "KB", gb_newest_bytes(file) / 1000,
                          part.bytes / 1000);
        ok = try_addresses(&part, folder, params, seen, status) == 1;
    }
    if (ok)
        gb_progress_end(&part.progress, part.bytes / 1000, NULL);
    part_close(&part);
    curl_global_cleanup();
    if (!ok)
        gb_seen_free(seen);
    return ok;
}

/* ---- a place at hand ---- */

/* Copy and hash in one pass: what lies there may change. */
static bool copy_file(const char *from, gb_out *out, gb_sums *sums, uint64_t *bytes,
                      gb_status *status)
{
    FILE *in = GB_TRY_OPEN(gb_os_fopen(from, "rb"));
    if (!in)
        return gb_fail(status, GB_DATA, from, "check the path and its permissions",
                       "cannot open: %s", strerror(errno));
    char buffer[1 << 16];
    gb_progress progress;
    fetch_progress_begin(&progress, "copy", in);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, in)) > 0 && !gb_interrupted();) {
        fetch_sums_add(sums, buffer, got);
        fwrite(buffer, 1, got, gb_out_stream(out)); /* checked at commit */
        *bytes += got;
        gb_progress_update(&progress, *bytes / 1000, from);
    }
    gb_progress_end_long(&progress, *bytes / 1000);
    bool ok = !ferror(in) || gb_fail(status, GB_DATA, from, "check the disk", "cannot read");
    fclose(in);
    if (ok && gb_interrupted())
        ok = gb_fail(status, GB_INTERRUPTED, from, "run again", "interrupted");
    return ok;
}

bool gb_fetch_import(const gb_source_file *file, const char *folder, const char *path,
                     bool any_version, gb_seen *seen, bool *taken, gb_status *status)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    bool named = strcmp(slash ? slash + 1 : path, file->name) == 0;
    bool any = named && (any_version || file->version_count == 0);
    *taken = false;
    *seen = (gb_seen){.version = -1};
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        (!any && (file->version_count == 0 || !fetch_size_fits(file, (uint64_t)info.st_size))))
        return true;
    char *to = gb_path_join(status, folder, file->name);
    gb_sums *sums = fetch_sums_create(status);
    gb_out *out = to && sums && gb_make_dirs(folder, status) ? gb_out_open(to, status) : NULL;
    seen->from = gb_strdup(path, status);
    bool ok = out && seen->from && copy_file(path, out, sums, &seen->bytes, status);
    if (ok) {
        fetch_sums_end(sums, seen->sha256, seen->md5);
        seen->version = fetch_version_of(file, seen);
        *taken = seen->version >= 0 || any;
    }
    if (ok && *taken)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    if (!ok || !*taken)
        gb_seen_free(seen);
    fetch_sums_destroy(sums);
    free(to);
    return ok;
}
