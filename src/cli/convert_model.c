/* gabbro convert-model: an encoder as a file of other programs. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/folder.h>

#include <stdlib.h>

/* What a GGUF file cannot hold. */
static bool say_left_out(const gb_folder *folder, gb_status *status)
{
    gb_text_prompts prompts = {0};
    bool ok = gb_folder_prompts(folder, &prompts, status);
    if (ok && (prompts.query || prompts.passage))
        gb_log(GB_LOG_WARN, "the model's prompts are not in the file: put them before texts%s%s",
               prompts.query ? "; of queries " : "", prompts.query ? prompts.query : "");
    gb_text_prompts_free(&prompts);
    return ok;
}

static bool convert(const gb_config *config, const char *model, bool half, const char *out,
                    gb_status *status)
{
    char *found = gb_find_model(config, model, status);
    char *path = found ? gb_find_model_folder(found, status) : NULL;
    gb_folder *folder = path ? gb_folder_open(path, status) : NULL;
    bool ok = folder && gb_gguf_write(folder, half, out, status) && say_left_out(folder, status);
    gb_folder_close(folder);
    free(path);
    free(found);
    return ok;
}

static int run(const gb_call *call)
{
    static const char *const numbers[] = {"float32", "float16", NULL};
    const char *out = NULL;
    uint32_t half = 0;
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &out, GB_OPTION_REQUIRED, "FILE", "GGUF file that is written"},
        {"numbers", GB_OPTION_CHOICE, &half, 0, NULL, "type of the numbers in its matrices",
         numbers},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_convert_model, options, call, &words, &code))
        return code;
    convert(call->config, words.items[0], half, out, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_convert_model = {
    .name = "convert-model",
    .summary = "write an encoder as a GGUF file for llama.cpp",
    .operands = "MODEL",
    .needs = "a model",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Write a BERT encoder with its tokenizer and pooling as a GGUF file, from which llama.cpp "
        "and what is built on it make the same vectors. MODEL is as in gabbro embed. Models that "
        "llama.cpp would compute otherwise are refused: cased tokenizers, sparse vectors, vectors "
        "of tokens, encoders of other architectures.",
    .run = run};
