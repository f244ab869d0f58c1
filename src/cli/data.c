/* gabbro data: what can be fetched, and fetching it. */
#include "cli.h"
#include "data.h"

#include <gabbro/data.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: gabbro data COMMAND [options]      (gabbro data COMMAND --help)\n\n"
    "  check    a collection as its files are, beside the official counts\n"
    "  list     what can be fetched, with sizes and terms\n"
    "  fetch    fetch a collection or a model: resumed, compared with its sums\n"
    "  show     some documents of a collection with all that is asked about them\n"
    "  slice    a part of a collection: all that was judged, and some others\n";

bool data_manifest(const char *given, gb_manifest *manifest, gb_status *status)
{
    char *path = gb_manifest_path(given, status);
    bool ok = path && gb_manifest_read(path, manifest, status);
    free(path);
    return ok;
}

char *data_import(const char *path, gb_status *status)
{
    char *folder = gb_temporary_folder("data", status);
    if (!folder)
        return NULL;
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = path;
    params.queries_per_passage = 1;
    params.keep_splits = params.skip_unknown_qrels = true;
    if (gb_collection_import(&params, folder, status) &&
        (!gb_interrupted() || gb_fail(status, GB_INTERRUPTED, path, "run it again", "stopped")))
        return folder;
    gb_temporary_remove(folder);
    return NULL;
}

int data_exit(bool ok, const gb_status *status)
{
    if (!ok)
        gb_status_print(status);
    return ok ? GB_OK : (int)status->code;
}

int data_bad_option(const char *command, char **argv)
{
    gb_status status = {0};
    gb_fail(&status, GB_USAGE, NULL, "see --help", "data %s: unknown or incomplete option %s",
            command, argv[optind - 1]);
    return data_exit(false, &status);
}

int data_list(int argc, char **argv)
{
    static const struct option options[] = {
        {"manifest", required_argument, NULL, 'm'}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *given = NULL;
    gb_status status = {0};
    optind = opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'm')
            given = optarg;
        else if (option == 'h') {
            printf("usage: gabbro data list [--manifest FILE]\n");
            return GB_OK;
        } else
            return data_bad_option("list", argv);
    }
    gb_manifest manifest = {0};
    bool ok = data_manifest(given, &manifest, &status);
    for (size_t i = 0; i < manifest.count; i++) {
        const gb_source *source = &manifest.sources[i];
        uint32_t unknown;
        double mb = (double)gb_source_bytes(source, &unknown) / 1e6;
        printf("%-24s %10.1f MB%s  %s\n", source->name, mb, unknown ? "+" : " ", source->about);
    }
    if (ok)
        printf(
            "\n+: the size of some file is not known. Terms: gabbro data fetch NAME --dry-run\n");
    gb_manifest_free(&manifest);
    return data_exit(ok, &status);
}

int gb_cli_data(int argc, char **argv)
{
    static const struct {
        const char *name;                  /* as typed */
        int (*run)(int argc, char **argv); /* returns the exit code */
    } commands[] = {
        {"check", data_check}, {"fetch", data_fetch}, {"list", data_list}, {"show", data_show},
        {"slice", data_slice}};
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return GB_OK;
    }
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    gb_status status = {0};
    gb_fail(&status, GB_USAGE, NULL, "see gabbro data --help",
            "data needs one of check, fetch, list, show, slice");
    return data_exit(false, &status);
}
