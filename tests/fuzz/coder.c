/* The files beside a language model's tokenizer, over WordPiece ('0') and, where libsentencepiece
 * is there, over the small models of tests/golden/pieces ('1' T5's, '2' LLaMA's); the last part is
 * a text to encode and decode. The bytes of a model itself are parsed by that library, in C++ of
 * its own and not instrumented here: they are not damaged. */
#include "fuzz.h"

#include <gabbro/folder.h>

static const char *const names[] = {"tokenizer_config.json", "special_tokens_map.json",
                                    "added_tokens.json", "text", NULL};
static const char t5[] = "{\"model_type\":\"t5\",\"vocab_size\":512,\"d_model\":16,\"d_kv\":4,"
                         "\"d_ff\":16,\"num_heads\":4,\"num_layers\":1}";
static const char llama[] = "{\"model_type\":\"llama\",\"vocab_size\":608,\"hidden_size\":32,"
                            "\"intermediate_size\":32,\"num_attention_heads\":4,"
                            "\"num_hidden_layers\":1}";
static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\n!\n";

static void prepare(uint8_t kind)
{
    const char *config = kind == 2 ? llama : t5;
    fuzz_file("coder/config.json", (const uint8_t *)config, strlen(config));
    if (!kind)
        fuzz_file("coder/vocab.txt", (const uint8_t *)words, sizeof words - 1);
    else if (symlink(kind == 2 ? GOLDEN "/pieces/llama.model" : GOLDEN "/pieces/t5.model",
                     fuzz_path(kind == 2 ? "coder/tokenizer.model" : "coder/spiece.model")))
        abort();
}

static void use(const gb_coder *coder)
{
    gb_status status = {0};
    gb_ids ids = {0};
    gb_text text = {0};
    size_t length = 0;
    char *bytes = gb_read_file(fuzz_path("coder/text"), &length, NULL);
    fuzz_check(gb_coder_encode(coder, bytes ? bytes : "", length, &ids, &status), &status);
    for (size_t i = 0; i < ids.count; i++)
        if (ids.data[i] >= gb_coder_size(coder))
            abort();
    fuzz_check(gb_coder_decode(coder, ids.data, ids.count, &text, &status), &status);
    gb_text_free(&text);
    free(ids.data);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    if (!size)
        return 0;
    fuzz_parts("coder", names, data + 1, size - 1);
    prepare(data[0] % 3);
    gb_coder *coder = gb_coder_open(fuzz_path("coder"), &status);
    fuzz_check(coder != NULL, &status);
    if (coder)
        use(coder);
    gb_coder_close(coder);
    return 0;
}
