/* Queries in all forms: TREC's, TREC CAsT's, JSON lines, lines with tabs. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_topics("topics", data, size);
    return 0;
}
