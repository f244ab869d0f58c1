/* gabbro data fetch: an entry of the manifest, file by file. */
#include "data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fetch_options {
    const char *name;       /* entry */
    const char *manifest;   /* given file, or NULL */
    gb_bring_params params; /* where from, and where to */
    bool accept;            /* the terms */
    bool dry_run;           /* only say */
    bool quiet;             /* no progress */
} fetch_options;

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
    printf("%s: %s\nterms: %s\ninto %s, ", source->name, source->about, source->terms, folder);
    if (bytes || !unknown)
        printf("%.1f MB%s", (double)bytes / 1e6, unknown ? " and " : "");
    if (unknown)
        printf("%u file%s of unknown size", unknown, unknown == 1 ? "" : "s");
    printf(":\n");
    for (size_t i = 0; i < source->file_count; i++)
        say_file(&source->files[i], folder);
    if (cli_data_rule(source))
        printf("measured: %s\n", cli_data_rule(source));
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

static bool fetch_run(const gb_config *config, fetch_options *o, gb_status *status)
{
    gb_manifest manifest = {0};
    if (!gb_manifest_open(config, o->manifest, &manifest, status))
        return false;
    const gb_source *source = gb_manifest_find(&manifest, o->name, status);
    bool ok = source != NULL;
    if (ok && o->params.from && access(o->params.from, R_OK) != 0)
        ok = gb_fail(status, GB_DATA, o->params.from, "check the path and its permissions",
                     "cannot read");
    if (ok && !o->params.to)
        o->params.to = source->name;
    if (ok && o->dry_run)
        say_source(source, o->params.to);
    else if (ok)
        ok = terms_accepted(source, o, status) && gb_source_bring(source, &o->params, status);
    if (ok && !o->dry_run && cli_data_rule(source))
        gb_log(GB_LOG_INFO, "%s: measured: %s", source->name, cli_data_rule(source));
    gb_manifest_free(&manifest);
    return ok;
}

static int run(const gb_call *call)
{
    fetch_options o = {.params.network = GB_FETCH_DEFAULTS};
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &o.params.to, 0, "DIR", "folder to write (default: NAME)"},
        {"accept", GB_OPTION_FLAG, &o.accept, 0, NULL,
         "accept the terms (else they are asked for on a terminal)"},
        {"from", GB_OPTION_TEXT, &o.params.from, 0, "FILE|DIR",
         "take files from there, recognised by their sums, not from the network"},
        {"mirror", GB_OPTION_TEXT, &o.params.network.mirror, 0, "URL",
         "try URL/FILE before the addresses of the manifest"},
        {"any-version", GB_OPTION_FLAG, &o.params.network.any_version, 0, NULL,
         "keep a file that no accepted sum agrees with"},
        {"dry-run", GB_OPTION_FLAG, &o.dry_run, 0, NULL,
         "print what would be fetched, and the terms"},
        {"quiet", GB_OPTION_FLAG, &o.quiet, 0, NULL, "print warnings and errors only"},
        {"tries", GB_OPTION_U32, &o.params.network.tries, 0, NULL,
         "tries of each address, in a row without a new byte", .min = 1, .max = 1000},
        {"wait", GB_OPTION_REAL, &o.params.network.wait_s, 0, "S",
         "seconds before the second try; doubles up to 30", .max = 3600},
        {"stall", GB_OPTION_REAL, &o.params.network.stall_s, 0, "S",
         "seconds without a byte until a try is given up", .min = 1, .max = 3600},
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
    .summary = "download a public collection or model, and compare it with its checksums",
    .operands = "NAME",
    .needs = "one NAME of gabbro data list",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Fetch an entry of the manifest (gabbro data list). An unfinished download "
        "stays in FILE.part, and the same command resumes it; a file appears when its size and "
        "sum agree with an accepted one. DIR/fetched.tsv notes size, sums and origin of every "
        "file.",
    .run = run};
