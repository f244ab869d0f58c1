/* gabbro data show: some documents of a collection with all that is asked about them, for reading.
 */
#include "data.h"

#include <gabbro/data.h>

#include <stdlib.h>
#include <unistd.h>

/* An artifact's collection, or NULL and *imported, a temporary folder, of files of other tools. */
static gb_collection *open_any(const gb_config *config, const char *path, char **imported,
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

static int run(const gb_call *call)
{
    gb_collection_sample how = GB_COLLECTION_SAMPLE;
    const gb_option options[] = {
        {"documents", GB_OPTION_U32, &how.documents, 0, NULL,
         "documents, evenly spread over the collection"},
        {"queries", GB_OPTION_U32, &how.queries, 0, NULL,
         "generated queries of a passage, the first ones"},
        {"topics", GB_OPTION_U32, &how.topics, 0, NULL, "questions of a split with grades"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    char *imported = NULL;
    int code;
    if (!gb_command_begin(&gb_cli_data_show, options, call, &words, &code))
        return code;
    gb_install_signals();
    gb_collection *collection = open_any(call->config, words.items[0], &imported, &status);
    if (collection)
        gb_collection_show(collection, &how, stdout, &status);
    gb_collection_close(collection);
    if (imported)
        gb_temporary_remove(imported);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_show = {
    .name = "data show",
    .summary = "show some documents of a collection with all that is asked about them",
    .operands = "PATH",
    .needs = "one folder or file",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Print some documents of a collection as Markdown: their passages, under each the "
        "questions "
        "that it answers (in a split with several grades those of grade 2 and above) and its "
        "generated queries. Then questions of every split with several grades, with the passages "
        "judged for them. PATH is an artifact of gabbro collection, or what gabbro collection "
        "--from reads.",
    .run = run};
