/* gabbro data show: some documents of a collection with all that is asked about them, for reading.
 */
#include "data.h"

#include <gabbro/data.h>

static int run(const gb_call *call)
{
    gb_collection_sample how = GB_COLLECTION_SAMPLE;
    const gb_option options[] = {
        {"documents", GB_OPTION_U32, &how.documents, 0, NULL,
         "documents, evenly spread over those that have questions"},
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
    gb_collection *collection = cli_data_open(call->config, words.items[0], &imported, &status);
    if (collection)
        gb_collection_show(collection, &how, stdout, &status);
    gb_collection_close(collection);
    gb_temporary_remove(imported);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_show = {
    .name = "data show",
    .summary = "show some documents of a collection, with their queries and judgements",
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
