/* gabbro ask: finds passages of a collection that answer a question. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>
#include <gabbro/serve.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    gb_index_params index;    /* what is searched */
    char *model, *collection; /* the same, where they were found */
    uint32_t passages;        /* of an answer */
    bool whole, json;         /* how it is printed */
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
    o->index.model = o->model = gb_find_model(&config, maker->operands.items[0], status);
    if (o->model)
        o->collection = gb_find_collection(&config, maker->operands.items[1], status);
    o->index.collection = o->collection;
    return o->collection != NULL;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_index_make(maker, &o->index, status);
}

static bool answer(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    const gb_ask_params params = {
        .config = maker->config,
        .model = o->model,
        .how = {sizeof params.how, maker->device_name, maker->pooling, o->index.dims},
        .index = gb_maker_folder(maker),
        .question = maker->operands.count > 2 ? maker->operands.items[2] : NULL,
        .passages = o->passages,
        .whole = o->whole,
        .json = o->json};
    return gb_ask(&params, status);
}

static int run(const gb_call *call)
{
    settings o = {.passages = 10};
    const gb_option options[] = {{"passages", GB_OPTION_U32, &o.passages, GB_OPTION_NO_KEY, NULL,
                                  "passages of an answer", .letter = 'n', .min = 1, .max = 1000},
                                 {"whole", GB_OPTION_FLAG, &o.whole, GB_OPTION_NO_KEY, NULL,
                                  "print the texts whole, not their beginnings"},
                                 {"json", GB_OPTION_FLAG, &o.json, GB_OPTION_NO_KEY, NULL,
                                  "print a line of JSON for each question"},
                                 {0}};
    const gb_option_table tables[] = {{.options = gb_index_options, .base = &o.index}, {0}};
    gb_make_params params = gb_index_making();
    params.command = &gb_cli_ask;
    params.options = options;
    params.tables = tables;
    params.self = &o;
    params.check = check;
    params.make = make;
    params.after = answer;
    int code = gb_make(&params, call);
    free(o.model);
    free(o.collection);
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
