/* Files of token ids as collections. */
#include "import.h"

static const gb_vocab *vocabulary(void)
{
    static const char tokens[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nlake\nhill\n##s\nlie\n.\n#\n##\n";
    static gb_vocab *vocab; /* of this process */
    gb_status status = {0};
    if (!vocab &&
        !(vocab = gb_vocab_load(fuzz_file("vocab.txt", (const uint8_t *)tokens, sizeof tokens - 1),
                                &status)))
        abort();
    return vocab;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const gb_vocab *vocab = vocabulary(); /* whose file is written first */
    fuzz_import_path(fuzz_file("ids.jsonl", data, size), (gb_import_variant){0}, vocab);
    return 0;
}
