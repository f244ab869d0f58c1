/* gabbro embed: makes vectors of texts. */
#include "cli.h"

#include <gabbro/serve.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(const gb_call *call)
{
    static const char *const poolings[] = {"cls", "mean", "last", NULL};
    gb_embed_params o = {.config = call->config, .how = {.size = sizeof o.how}, .input = "-"};
    uint32_t pooling = GB_OPEN;
    bool quiet = false;
    const gb_option options[] = {
        {"query", GB_OPTION_FLAG, &o.queries, 0, NULL,
         "the texts are queries, not passages: put the model's prompt for queries before them"},
        {"out", GB_OPTION_TEXT, &o.out, 0, "FILE",
         "write to this file: FILE.npy or FILE.jsonl (default: JSON lines to standard output)"},
        {"numbers", GB_OPTION_CHOICE, &o.numbers, 0, NULL,
         "of vectors in FILE.npy; int8 has scales.npy beside it", gb_number_names, .with = "out"},
        {"dims", GB_OPTION_U32, &o.how.dims, 0, NULL,
         "dimensions of a vector that are kept, as Matryoshka models allow; what was of length 1 "
         "is "
         "made so again; 0: all"},
        {"pooling", GB_OPTION_CHOICE, &pooling, 0, NULL,
         "how states become a vector (default: as the model's folder says)", poolings},
        {"device", GB_OPTION_TEXT, &o.how.device, 0, "NAME",
         "device to compute on: index, name, UUID or cpu (default: the best)", .letter = 'd'},
        {"quiet", GB_OPTION_FLAG, &quiet, 0, NULL, "no progress", .letter = 'q'},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_embed, options, call, &words, &code))
        return code;
    o.model = words.items[0];
    if (words.count > 1)
        o.input = words.items[1];
    if (pooling != GB_OPEN)
        o.how.pooling = poolings[pooling];
    o.preview = !o.out && isatty(STDOUT_FILENO);
    o.label = quiet || o.preview ? NULL : "embed";
    gb_install_signals();
    gb_embed_texts(&o, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_embed = {
    .name = "embed",
    .summary = "make vectors of texts, with an encoder or a LLaMA",
    .operands = "MODEL [FILE]",
    .needs = "a model, and a file of texts or texts on standard input",
    .operands_min = 1,
    .operands_max = 2,
    .description =
        "Make a vector of every text of FILE, or of standard input: one text a line, or lines of "
        "JSON with a \"text\" and perhaps a \"title\" and an \"_id\". MODEL is a folder as Hugging "
        "Face's tools write it, an artifact, or the name of a model in Hugging Face's cache, such "
        "as all-MiniLM-L6-v2; nothing is downloaded. Prompts, pooling and normalisation are the "
        "model's, as in sentence-transformers' encode_document(), and with --query in "
        "encode_query().\n\n"
        "A line of JSON is written for each text: its \"_id\" if it has one, its \"text\" and its "
        "\"vector\". On a terminal the first numbers of each vector are shown instead.\n\n"
        "  echo 'What is basalt?' | gabbro embed all-MiniLM-L6-v2 --query",
    .run = run};
