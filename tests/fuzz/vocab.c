/* vocab.txt; a vocabulary that was read tokenises the same bytes. */
#include "fuzz.h"

#include <gabbro/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_vocab *vocab = gb_vocab_load(fuzz_file("vocab.txt", data, size), &status);
    fuzz_check(vocab != NULL, &status);
    gb_tokenizer *tokenizer =
        vocab ? gb_tokenizer_create(vocab, GB_TOKENIZER_DEFAULTS, &status) : NULL;
    if (tokenizer) {
        gb_ids ids = {0};
        fuzz_check(gb_tokenize(tokenizer, (const char *)data, size, &ids, &status), &status);
        for (size_t i = 0; i < ids.count; i++)
            if (ids.data[i] >= gb_vocab_size(vocab))
                abort();
        free(ids.data);
    }
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
    return 0;
}
