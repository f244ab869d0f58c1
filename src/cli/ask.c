/* gabbro ask: finds passages of a collection that answer a question. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/serve.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *model, *collection; /* inputs of the index */
    char *model_path, *path;        /* the same, where they were found */
    uint32_t passages;              /* of an answer */
    bool whole, json;               /* how it is printed */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    gb_config config = *maker->config;
    const char *question = maker->operands.count > 2 ? maker->operands.items[2] : NULL;
    if (maker->store_root)
        config.store = maker->store_root;
    if (question && (!*question || !gb_utf8_valid(question, strlen(question))))
        return gb_fail(status, GB_USAGE, NULL, NULL, "the question is %s",
                       *question ? "no UTF-8" : "empty");
    o->model = o->model_path = gb_find_model(&config, maker->operands.items[0], status);
    if (o->model)
        o->collection = o->path = gb_find_collection(&config, maker->operands.items[1], status);
    return o->collection != NULL;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    const gb_index_params params = {.model = o->model, .collection = o->collection};
    return gb_index_make(maker, &params, status);
}

static bool answer(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    const gb_ask_params params = {.encoder = {.config = maker->config,
                                              .model = o->model,
                                              .device = maker->device_name,
                                              .pooling = gb_pooling_named(maker->pooling)},
                                  .index = gb_maker_folder(maker),
                                  .question =
                                      maker->operands.count > 2 ? maker->operands.items[2] : NULL,
                                  .passages = o->passages,
                                  .whole = o->whole,
                                  .json = o->json};
    return gb_ask(&params, status);
}

static int run(const gb_call *call)
{
    settings o = {.passages = 10};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_INPUT | GB_OPTION_HIDDEN, "MODEL", ""},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_INPUT | GB_OPTION_HIDDEN, "PATH",
         ""},
        {"passages", GB_OPTION_U32, &o.passages, GB_OPTION_NO_KEY, NULL, "passages of an answer",
         .letter = 'n', .min = 1, .max = 1000},
        {"whole", GB_OPTION_FLAG, &o.whole, GB_OPTION_NO_KEY, NULL,
         "print the texts whole, not their beginnings"},
        {"json", GB_OPTION_FLAG, &o.json, GB_OPTION_NO_KEY, NULL,
         "print a line of JSON for each question"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_ask,
                                   .kind = "index",
                                   .version = 1,
                                   .kernels = GB_USER_ENCODE,
                                   .flags = GB_MAKES_ENCODING | GB_MAKES_UNSEEN,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make,
                                   .after = answer};
    int code = gb_make(&params, call);
    free(o.model_path);
    free(o.path);
    return code;
}

const gb_command gb_cli_ask = {
    .name = "ask",
    .summary = "find passages of a collection that answer a question",
    .operands = "MODEL COLLECTION [QUESTION]",
    .needs = "a model, a collection, and a question or questions on standard input",
    .operands_min = 2,
    .operands_max = 3,
    .description =
        "Print the passages that are nearest to a question: rank, score, id, title, and how the "
        "text begins. Without QUESTION every line of standard input is one. MODEL is as in gabbro "
        "embed: a folder, an artifact, or a model in Hugging Face's cache. COLLECTION is a folder "
        "or file in any layout that gabbro collection imports, or an artifact.\n\n"
        "The first question makes vectors of all passages, which the store keeps; a killed command "
        "goes on where it was, and the next question is answered at once.\n\n"
        "  gabbro ask all-MiniLM-L6-v2 data/beir-scifact 'Does aspirin lower the risk of cancer?'",
    .run = run};
