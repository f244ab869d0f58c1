/* TREC's documents. No file may appear outside of the draft. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("docs.trec", data, size);
    return 0;
}
