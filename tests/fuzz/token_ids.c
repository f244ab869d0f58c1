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
    gb_status status = {0};
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_import_variant variant = {0};
    char path[192], out[128];
    params.vocab = vocabulary();
    snprintf(path, sizeof path, "%s", fuzz_file("ids.jsonl", data, size));
    snprintf(out, sizeof out, "%s/collection", fuzz_folder);
    params.path = path;
    bool ok = gb_collection_import_as(&params, &variant, out, &status);
    fuzz_check(ok, &status);
    gb_collection *collection = ok ? gb_collection_open(out, &status) : NULL;
    if (ok && !collection)
        abort();
    gb_collection_close(collection);
    if (!gb_remove_tree(out, NULL))
        abort();
    return 0;
}
