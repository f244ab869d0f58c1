/* gabbro data slice: a part of a collection that a small device can train on. */
#include "data.h"

#include <gabbro/data.h>

#include <stdio.h>

typedef struct slice_options {
    const char *path; /* source */
    const char *to;   /* folder */
    uint32_t others;  /* passages beside the judged ones */
    uint64_t seed;    /* of their choice */
} slice_options;

static bool cut(const slice_options *o, const char *imported, gb_status *status)
{
    gb_collection *whole = gb_collection_open(imported, status);
    bool ok = whole && gb_collection_slice(whole, o->others, o->seed, o->to, status);
    gb_collection_close(whole);
    if (ok)
        printf("%s\n", o->to);
    return ok;
}

static int run(const gb_call *call)
{
    slice_options o = {.others = 10000, .seed = 42};
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &o.to, GB_OPTION_REQUIRED, "DIR", "folder to write"},
        {"others", GB_OPTION_U32, &o.others, 0, NULL, "passages beside the judged ones"},
        {"seed", GB_OPTION_U64, &o.seed, 0, NULL, "seed of their choice"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_data_slice, options, call, &words, &code))
        return code;
    gb_install_signals();
    o.path = words.items[0];
    char *imported = cli_data_import(call->config, o.path, &status);
    if (imported)
        cut(&o, imported, &status);
    gb_temporary_remove(imported);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_slice = {
    .name = "data slice",
    .summary = "write a part of a collection: all judged passages, and some others",
    .operands = "PATH",
    .needs = "one folder or file",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Write a part of a collection (what gabbro collection --from reads) as a BEIR folder: "
        "every "
        "judged query, every passage that was judged for one, and some of the other passages. "
        "Measures on it are higher than on the whole.",
    .run = run};
