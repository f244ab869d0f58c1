/* gabbro data list: what can be fetched; and what its sister commands share. */
#include "data.h"

#include <gabbro/data.h>

#include <stdlib.h>
#include <unistd.h>
#include <string.h>

char *cli_data_import(const gb_config *config, const char *path, gb_status *status)
{
    char *folder = gb_temporary_folder(config, "data", status);
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

gb_collection *cli_data_open(const gb_config *config, const char *path, char **imported,
                             gb_status *status)
{
    char *inside = gb_path_join(status, path, "collection/collection.json");
    bool is_artifact = inside && !access(inside, R_OK);
    free(inside);
    if (is_artifact) {
        char *folder = gb_path_join(status, path, "collection");
        gb_collection *collection = folder ? gb_collection_open(folder, status) : NULL;
        free(folder);
        return collection;
    }
    *imported = cli_data_import(config, path, status);
    return *imported ? gb_collection_open(*imported, status) : NULL;
}

const char *cli_data_rule(const gb_source *source)
{
    return source->drop_identical ? "queries are passages, too; a passage with the id of the query "
                                    "does not count (gabbro evaluate --drop-identical, reproduce "
                                    "--set drop_identical=yes)"
                                  : NULL;
}

static int run_list(const gb_call *call)
{
    const char *given = NULL;
    const gb_option options[] = {DATA_MANIFEST_OPTION(given), {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_data_list, options, call, NULL, &code))
        return code;
    gb_manifest manifest = {0};
    bool ok = gb_manifest_open(call->config, given, &manifest, &status);
    for (size_t i = 0; i < manifest.count; i++) {
        const gb_source *source = &manifest.sources[i];
        uint32_t unknown;
        double mb = (double)gb_source_bytes(source, &unknown) / 1e6;
        if (unknown && mb == 0)
            printf("%-24s %14s  %s\n", source->name, "size unknown", source->about);
        else
            printf("%-24s %10.1f MB%s  %s\n", source->name, mb, unknown ? "+" : " ", source->about);
    }
    if (ok)
        printf("\n+: and files of unknown size. Terms: gabbro data fetch NAME --dry-run\n");
    gb_manifest_free(&manifest);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_list = {
    .name = "data list", .summary = "list what can be fetched, with sizes", .run = run_list};
