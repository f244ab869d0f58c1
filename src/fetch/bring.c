/* Fetches an entry of the manifest, file by file, and records what has been fetched. */
#include "gabbro/fetch.h"

#include <gabbro/store.h>

#include <stdlib.h>
#include <string.h>

/* ---- fetched.tsv ---- */

static const char record_head[] = "file\tbytes\tsha256\tmd5\tfrom\tcompared_with\n";

/* The sha256 that fetched.tsv has for a file, or empty; its other lines go to `others`. */
static bool read_record(const char *path, const char *name, char sha256[65], gb_text *others,
                        gb_status *status)
{
    sha256[0] = '\0';
    if (!gb_file_exists(path))
        return true;
    gb_lines *lines = gb_lines_open(path, status);
    char *line;
    size_t length, own = strlen(name);
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (length > own && line[own] == '\t' && !strncmp(line, name, own)) {
            const char *sum = strchr(line + own + 1, '\t');
            if (sum)
                snprintf(sha256, 65, "%.*s", (int)strcspn(sum + 1, "\t"), sum + 1);
        } else if (gb_lines_number(lines) > 1) {
            gb_text_printf(others, "%s\n", line);
        }
    }
    gb_lines_close(lines);
    return got == 0;
}

/* "md5 of 2026-11-21", "size of ...", "nothing". */
static void compared_with(const gb_source_file *file, const gb_seen *seen, char text[80])
{
    const gb_version *v = seen->version >= 0 ? &file->versions[seen->version] : NULL;
    if (!v)
        snprintf(text, 80, "%s", file->version_count ? "no accepted version" : "nothing");
    else
        snprintf(text, 80, "%s of %s",
                 v->sha256[0]                ? "sha256"
                 : v->md5[0] && seen->md5[0] ? "md5"
                                             : "size",
                 v->date);
}

static bool record(const char *folder, const gb_source_file *file, const gb_seen *seen,
                   gb_status *status)
{
    char sha256[65], compared[80];
    gb_text text = {0};
    char *path = gb_path_join(status, folder, "fetched.tsv");
    gb_file_lock lock = {.fd = -1};
    gb_text_printf(&text, "%s", record_head);
    bool ok = path && gb_file_lock_take(&lock, path, status) &&
              read_record(path, file->name, sha256, &text, status);
    compared_with(file, seen, compared);
    gb_text_printf(&text, "%s\t%llu\t%s\t%s\t%s\t%s\n", file->name, (unsigned long long)seen->bytes,
                   seen->sha256, seen->md5, seen->from, compared);
    ok = ok && gb_text_write(&text, path, status);
    gb_file_lock_drop(&lock);
    gb_text_free(&text);
    free(path);
    if (ok)
        gb_log(seen->version < 0 ? GB_LOG_WARN : GB_LOG_INFO,
               "%s: %llu bytes, sha256 %s, compared with %s", file->name,
               (unsigned long long)seen->bytes, seen->sha256, compared);
    return ok;
}

/* Is the file there already? One that is neither accepted nor noted is nobody's to overwrite. */
static bool is_there(const char *folder, const gb_source_file *file, const gb_bring_params *o,
                     bool *there, gb_status *status)
{
    char noted[65];
    gb_seen seen = {.version = -1};
    gb_text others = {0};
    char *path = gb_path_join(status, folder, file->name);
    char *notes = gb_path_join(status, folder, "fetched.tsv");
    *there = path && gb_file_exists(path);
    bool ok = path && notes;
    if (ok && *there) {
        gb_log(GB_LOG_INFO, "%s: there already, its sums are looked at", file->name);
        ok = gb_fetch_check(path, file, &seen, status) &&
             read_record(notes, file->name, noted, &others, status);
        bool as_noted = ok && !strcmp(noted, seen.sha256) &&
                        (file->version_count == 0 || o->network.any_version);
        if (ok && seen.version < 0 && !as_noted)
            ok = gb_fail(
                status, GB_DATA, path, "move it away, or take it with --from and another --to",
                "a file of this name is there and is no accepted version (sha256 %s)", seen.sha256);
        else if (ok && !as_noted && strcmp(noted, seen.sha256) != 0)
            ok = record(folder, file, &seen, status);
    }
    gb_seen_free(&seen);
    gb_text_free(&others);
    free(path);
    free(notes);
    return ok;
}

static bool take_from_folder(const char *from, const char *folder, const gb_source_file *file,
                             bool any_version, gb_seen *seen, bool *taken, gb_status *status)
{
    gb_entries entries;
    if (!gb_entries_read(from, "*", &entries, status))
        return false;
    bool ok = true;
    for (size_t i = 0; i < entries.count; i++) {
        char *path = ok && !*taken ? gb_path_join(status, from, entries.names[i]) : NULL;
        if (path)
            ok = gb_fetch_import(file, folder, path, any_version, seen, taken, status);
        free(path);
    }
    gb_entries_free(&entries);
    return ok;
}

/* 1: it stands in the folder, 0: the place at hand has it not, -1: error. */
static int bring(const gb_source_file *file, const gb_bring_params *o, gb_status *status)
{
    bool there = false, taken = true;
    gb_seen seen = {.version = -1};
    if (!is_there(o->to, file, o, &there, status))
        return -1;
    if (there)
        return 1;
    bool ok;
    if (!o->from) {
        ok = gb_fetch_file(file, o->to, &o->network, &seen, status);
    } else {
        taken = false;
        bool any = o->network.any_version;
        ok = gb_dir_exists(o->from)
                 ? take_from_folder(o->from, o->to, file, any, &seen, &taken, status)
                 : gb_fetch_import(file, o->to, o->from, any, &seen, &taken, status);
    }
    ok = ok && (!taken || record(o->to, file, &seen, status));
    gb_seen_free(&seen);
    return ok ? taken : -1;
}

/* Whether a file of the wanted name lies where files are taken from. */
static bool is_named(const char *from, const char *name, gb_status *status)
{
    const char *slash = strrchr(from, '/');
    char *path = gb_path_join(status, from, name);
    bool named = path && (gb_file_exists(path) || !strcmp(slash ? slash + 1 : from, name));
    free(path);
    return named;
}

bool gb_source_bring(const gb_source *source, const gb_bring_params *o, gb_status *status)
{
    size_t have = 0;
    for (size_t i = 0; i < source->file_count; i++) {
        int got = bring(&source->files[i], o, status);
        if (got < 0)
            return false;
        have += got == 1;
        if (got == 0)
            gb_log(GB_LOG_WARN, "%s: still missing%s", source->files[i].name,
                   is_named(o->from, source->files[i].name, status)
                       ? "; the file of this name there is no accepted version (--any-version "
                         "takes it)"
                       : "");
    }
    if (have == 0)
        return gb_fail(status, GB_DATA, o->from,
                       "gabbro data fetch NAME --dry-run says what is known", "holds no file of %s",
                       source->name);
    if (have == source->file_count && source->unpack)
        gb_log(GB_LOG_INFO, "%s: to unpack it, in %s: %s", source->name, o->to, source->unpack);
    return true;
}
