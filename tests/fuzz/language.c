/* config.json of T5 and LLaMA folders; what was read is a model that can be built. */
#include "fuzz.h"

#include <gabbro/folder.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_lm_config c;
    bool ok = gb_lm_config_read(fuzz_file("config.json", data, size), &c, &status);
    fuzz_check(ok, &status);
    if (ok && (!c.vocab_size || !c.hidden_size || !c.decoder_layers || !c.heads || !c.kv_heads ||
               !c.head_dim || !c.intermediate_size || c.heads % c.kv_heads ||
               c.start_id >= c.vocab_size || c.end_id >= c.vocab_size))
        abort();
    return 0;
}
