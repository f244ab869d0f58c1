/* gabbro weigh-words: writes the words of passages with their weights (DeepCT). */
#include "cli.h"

#include <gabbro/train.h>

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_word_weights(maker, self, status);
}

static int run(const gb_call *call)
{
    gb_word_weights_params o = {.scale = 100};
    const gb_option options[] = {
        {"model", GB_OPTION_TEXT, &o.model, GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "model of gabbro pretrain deepct: artifact or folder"},
        {"collection", GB_OPTION_TEXT, &o.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of the passages"},
        {"tokens", GB_OPTION_TEXT, &o.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
         "its tokens"},
        {"scale", GB_OPTION_REAL, &o.scale, 0, NULL,
         "what weights are multiplied by before they are rounded"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_weigh_words,
                                   .version = 1,
                                   .kernels = GB_USER_ENCODE,
                                   .flags = GB_MAKES_DIVIDED,
                                   .options = options,
                                   .self = &o,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_weigh_words = {
    .name = "weigh-words",
    .summary = "write the words of passages with their weights (DeepCT)",
    .description =
        "Write the words of the passages with the frequencies that a model of gabbro pretrain "
        "deepct gives them, for --term-weights of BM25: vectors.jsonl, a line {\"id\": \"p1\", "
        "\"contents\": \"\", \"vector\": {\"word\": 12}} a passage, in the artifact's folder, "
        "which is printed. A killed command goes on where it was.",
    .run = run,
    .makes = true};
