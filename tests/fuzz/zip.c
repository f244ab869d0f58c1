/* ZIP archives of a collection. No file may appear outside of the draft. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("archive.zip", data, size);
    return 0;
}
