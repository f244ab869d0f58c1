/* config.json of a model folder. */
#include "fuzz.h"

#include <gabbro/folder.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_bert_config config;
    bool ok = gb_bert_config_read(fuzz_file("config.json", data, size), &config, &status);
    fuzz_check(ok, &status);
    if (ok && !gb_bert_config_check(&config, "fuzz", &status))
        abort();
    return 0;
}
