/* gabbro export: an evaluation for other people's tools. */
#include "cli.h"

#include <gabbro/report.h>
#include <gabbro/store.h>

#include <stdlib.h>

static bool export(const gb_call *call, const char *root, gb_export_params *p, const char *artifact,
                   const char *out, gb_status *status)
{
    char *found = gb_store_root_find(call->config, root, status), *evaluation = NULL;
    gb_store *store = found ? gb_store_open(found, status) : NULL;
    size_t length;
    bool ok = store && (evaluation = gb_store_find(store, gb_path_name(artifact, &length), status));
    p->store = store;
    p->evaluation = evaluation;
    ok = ok && gb_export_write(p, out, status);
    gb_store_close(store);
    free(evaluation);
    free(found);
    return ok;
}

static int run(const gb_call *call)
{
    gb_export_params p = {.language = "eng-Latn"};
    const char *root = NULL, *out = NULL;
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &out, GB_OPTION_REQUIRED, "DIR", "folder to write"},
        {"model", GB_OPTION_FLAG, &p.model, 0, NULL, "with the model's files, as model/"},
        {"tag", GB_OPTION_TEXT, &p.tag, 0, "TEXT",
         "tag of the runs and name of the model, one word (default: the model's artifact)"},
        {"team", GB_OPTION_TEXT, &p.team, 0, "TEXT", "actor of ir_metadata"},
        {"goal", GB_OPTION_TEXT, &p.goal, 0, "TEXT", "research goal of ir_metadata"},
        {"task", GB_OPTION_TEXT, &p.task, 0, "NAME",
         "name of the task, as MTEB calls it (default: the collection's)"},
        {"revision", GB_OPTION_TEXT, &p.revision, 0, "TEXT", "revision of its data set"},
        {"language", GB_OPTION_TEXT, &p.language, 0, "CODE", "its language and script"},
        {"store", GB_OPTION_TEXT, &root, 0, "DIR", "store of artifacts (default $GABBRO_STORE)"},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_export, options, call, &words, &code))
        return code;
    export(call, root, &p, words.items[0], out, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_export = {
    .name = "export",
    .summary = "write an evaluation with all that is behind it for other tools",
    .operands = "EVALUATION",
    .needs = "an evaluation",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Write an evaluation of the store, found by its folder or any unique beginning of its "
        "name, "
        "in other tools' forms: runs/SPLIT.trec with ir_metadata before the lines, in comments "
        "that "
        "trec_eval 10 and gabbro skip; mteb/TASK.json and model_meta.json as MTEB keeps results; "
        "and "
        "README.md, a model card with data, settings, results and the commands that made it. With "
        "--model the model's files are written, too, into model/, with the card.",
    .run = run};
