/* gabbro data fetch: an entry of the manifest, file by file. */
#include "data.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fetch_options {
    const char *name;       /* entry */
    const char *to;         /* folder */
    const char *from;       /* place at hand, or NULL */
    const char *manifest;   /* given file, or NULL */
    gb_fetch_params params; /* of the network */
    bool accept;            /* the terms */
    bool dry_run;           /* only say */
    bool quiet;             /* no progress */
} fetch_options;

/* ---- what is said before ------------------------------------------------------------------- */

static void say_file(const gb_source_file *file, const char *folder)
{
    char *path = gb_path_join(NULL, folder, file->name);
    const gb_version *newest = gb_version_newest(file);
    if (newest && newest->bytes)
        printf("  %-44s %14llu bytes", file->name, (unsigned long long)newest->bytes);
    else
        printf("  %-44s %14s      ", file->name, "size unknown");
    if (!newest || (!newest->md5[0] && !newest->sha256[0]))
        printf("  no sum to compare with");
    else
        printf("  %s of %s", newest->sha256[0] ? "sha256" : "md5", newest->date);
    printf("%s\n", path && gb_file_exists(path) ? "  (there)" : "");
    for (size_t i = 0; i < file->url_count; i++)
        printf("    %s\n", file->urls[i]);
    free(path);
}

static void say_source(const gb_source *source, const char *folder)
{
    uint32_t unknown;
    uint64_t bytes = gb_source_bytes(source, &unknown);
    printf("%s: %s\nterms: %s\ninto %s, %.1f MB", source->name, source->about, source->terms,
           folder, (double)bytes / 1e6);
    if (unknown)
        printf(" and %u file%s of unknown size", unknown, unknown == 1 ? "" : "s");
    printf(":\n");
    for (size_t i = 0; i < source->file_count; i++)
        say_file(&source->files[i], folder);
}

static bool terms_accepted(const gb_source *source, const fetch_options *o, gb_status *status)
{
    if (o->accept) {
        gb_log(GB_LOG_INFO, "%s: terms accepted: %s", source->name, source->terms);
        return true;
    }
    fprintf(stderr, "%s: %s\nterms: %s\n", source->name, source->about, source->terms);
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
        char answer[16] = "";
        fprintf(stderr, "Accept these terms? [y/N] ");
        if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
            return true;
    }
    return gb_fail(status, GB_USAGE, NULL, "read them and give --accept",
                   "the terms of %s are not accepted", source->name);
}

/* ---- fetched.tsv --------------------------------------------------------------------------- */

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
    gb_text_printf(&text, "%s", record_head);
    bool ok = path && read_record(path, file->name, sha256, &text, status);
    compared_with(file, seen, compared);
    gb_text_printf(&text, "%s\t%llu\t%s\t%s\t%s\t%s\n", file->name, (unsigned long long)seen->bytes,
                   seen->sha256, seen->md5, seen->from, compared);
    ok = ok && gb_text_write(&text, path, status);
    gb_text_free(&text);
    free(path);
    if (ok)
        gb_log(seen->version < 0 ? GB_LOG_WARN : GB_LOG_INFO,
               "%s: %llu bytes, sha256 %s, compared with %s", file->name,
               (unsigned long long)seen->bytes, seen->sha256, compared);
    return ok;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Is the file there already? One that is neither accepted nor noted is nobody's to overwrite. */
static bool is_there(const char *folder, const gb_source_file *file, const fetch_options *o,
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
        ok = gb_fetch_look(path, file, &seen, status) &&
             read_record(notes, file->name, noted, &others, status);
        bool as_noted = ok && !strcmp(noted, seen.sha256) &&
                        (file->version_count == 0 || o->params.any_version);
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
                             gb_seen *seen, bool *taken, gb_status *status)
{
    struct dirent **names;
    int count = scandir(from, &names, NULL, alphasort);
    if (count < 0)
        return gb_fail(status, GB_DATA, from, "check the path and its permissions", "cannot read");
    bool ok = true;
    for (int i = 0; i < count; i++) {
        char *path = ok && !*taken ? gb_path_join(status, from, names[i]->d_name) : NULL;
        if (path)
            ok = gb_fetch_take(file, folder, path, seen, taken, status);
        free(path);
        free(names[i]);
    }
    free(names);
    return ok;
}

/* 1: it stands in the folder, 0: the place at hand has it not, -1: error. */
static int bring(const gb_source_file *file, const fetch_options *o, gb_status *status)
{
    bool there = false, taken = true;
    gb_seen seen = {.version = -1};
    if (!is_there(o->to, file, o, &there, status))
        return -1;
    if (there)
        return 1;
    bool ok;
    if (!o->from) {
        ok = gb_fetch_file(file, o->to, &o->params, &seen, status);
    } else {
        taken = false;
        ok = gb_dir_exists(o->from) ? take_from_folder(o->from, o->to, file, &seen, &taken, status)
                                    : gb_fetch_take(file, o->to, o->from, &seen, &taken, status);
    }
    ok = ok && (!taken || record(o->to, file, &seen, status));
    gb_seen_free(&seen);
    return ok ? taken : -1;
}

static bool fetch_all(const gb_source *source, const fetch_options *o, gb_status *status)
{
    size_t have = 0;
    for (size_t i = 0; i < source->file_count; i++) {
        int got = bring(&source->files[i], o, status);
        if (got < 0)
            return false;
        have += got == 1;
        if (got == 0)
            gb_log(GB_LOG_WARN, "%s: still missing", source->files[i].name);
    }
    if (have == 0)
        return gb_fail(status, GB_DATA, o->from,
                       "gabbro data fetch NAME --dry-run says what is known", "holds no file of %s",
                       source->name);
    if (have == source->file_count && source->unpack)
        gb_log(GB_LOG_INFO, "%s: next, in %s: %s", source->name, o->to, source->unpack);
    return true;
}

static bool fetch_run(const gb_config *config, fetch_options *o, gb_status *status)
{
    gb_manifest manifest = {0};
    if (!data_manifest(config, o->manifest, &manifest, status))
        return false;
    const gb_source *source = gb_manifest_find(&manifest, o->name, status);
    bool ok = source != NULL;
    if (ok && o->from && access(o->from, R_OK) != 0)
        ok = gb_fail(status, GB_DATA, o->from, "check the path and its permissions", "cannot read");
    if (ok && !o->to)
        o->to = source->name;
    if (ok && o->dry_run)
        say_source(source, o->to);
    else if (ok)
        ok = terms_accepted(source, o, status) && fetch_all(source, o, status);
    gb_manifest_free(&manifest);
    return ok;
}

/* ---- options ------------------------------------------------------------------------------- */

static int run(const gb_call *call)
{
    fetch_options o = {.params = GB_FETCH_DEFAULTS};
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &o.to, 0, "DIR", "folder to write (default: NAME)"},
        {"accept", GB_OPTION_FLAG, &o.accept, 0, NULL,
         "accept the terms (else they are asked for on a terminal)"},
        {"from", GB_OPTION_TEXT, &o.from, 0, "FILE|DIR",
         "take files from there, recognised by their sums, not from the network"},
        {"mirror", GB_OPTION_TEXT, &o.params.mirror, 0, "URL",
         "try URL/FILE before the addresses of the manifest"},
        {"any-version", GB_OPTION_FLAG, &o.params.any_version, 0, NULL,
         "keep a file that no accepted sum agrees with"},
        {"dry-run", GB_OPTION_FLAG, &o.dry_run, 0, NULL,
         "print what would be fetched, and the terms"},
        {"quiet", GB_OPTION_FLAG, &o.quiet, 0, NULL, "print warnings and errors only"},
        {"tries", GB_OPTION_U32, &o.params.tries, 0, NULL,
         "tries of each address, in a row without a new byte", .least = 1, .most = 1000},
        {"wait", GB_OPTION_REAL, &o.params.wait_s, 0, "S",
         "seconds before the second try; doubles up to 30", .most = 3600},
        {"stall", GB_OPTION_REAL, &o.params.stall_s, 0, "S",
         "seconds without a byte until a try is given up", .least = 1, .most = 3600},
        DATA_MANIFEST_OPTION(o.manifest),
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_data_fetch, options, call, &words, &code))
        return code;
    if (o.quiet)
        gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    o.name = words.items[0];
    fetch_run(call->config, &o, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_fetch = {
    .name = "data fetch",
    .summary = "fetch a public collection or model: resumed, compared with its sums",
    .operands = "NAME",
    .needs = "one NAME of gabbro data list",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Fetch an entry of the manifest (gabbro data list). What has come stays in FILE.part and "
        "is "
        "resumed by the same command; a file appears when its size and sum agree with an accepted "
        "one. DIR/fetched.tsv notes size, sums and origin of every file.",
    .run = run};
